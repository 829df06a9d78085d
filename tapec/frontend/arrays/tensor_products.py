"""Products of arrays that a text or their ranks describe: `np.einsum`, `np.tensordot`."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays.array_creation import as_array
from tapec.frontend.arrays.copies_of_views import copy_of_view
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import (
    Lst,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_scalar,
    known_text,
    number,
    static_int,
)
from tapec.frontend.operations.allocation import dim, rank_of
from tapec.rules import arrays_tensor
from tapec.syntax.types import Array


def array_of(ev: Evaluator, value: Value, node: Any) -> Sym:
    value = ev.materialise(value)
    if isinstance(value, Tup | Lst):
        value = as_array(ev, value, node)
    if not isinstance(value, Sym) or not isinstance(value.type, Array):
        ev.fail(TypeMismatch, f"an array is needed, not {describe(value)}", node)
    return value


# einsum


def einsum(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.einsum("ij,jk->ik", a, b)`, and `np.einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    if kwargs.keys() - {"optimize"}:
        ev.fail(UnsupportedSyntax, f"`np.einsum` with `{min(kwargs.keys() - {'optimize'})}=`", node)
    text = known_text(args[0])
    if text is None and len(args) > 1 and not isinstance(args[0], Static):
        text, args = _as_text(ev, args, node)
    if text is None:
        ev.fail(UnsupportedSyntax, "the subscripts of `np.einsum` are not known text", node)
    arrays = [array_of(ev, arg, node) for arg in args[1:]]
    inputs, output = _subscripts(ev, text, arrays, node)
    made = _summed(ev, arrays, inputs, output, node)
    # NumPy gives a view where there is nothing to add up
    views = len(arrays) == 1 and set(inputs[0]) == set(output)
    return copy_of_view(ev, made, arrays[0], "np.einsum") if views else made


def _as_text(ev: Evaluator, args: Args, node: Any) -> tuple[str, Args]:
    """Subscripts that are given as lists of numbers behind each array, as text."""
    places = [*args[1::2], *(args[-1:] if len(args) % 2 else ())]
    words = []
    for one in places:
        items = ev.known_items(one, node)
        letters = [_letter(... if isinstance(item, Static) else static_int(item)) for item in items]
        if None in letters:
            ev.fail(UnsupportedSyntax, "the subscripts of `np.einsum` are numbers from 0 to 51, or `...`", node)
        words.append("".join(letter for letter in letters if letter is not None))
    count = len(args) // 2
    arrow = "->" + words[-1] if len(args) % 2 else ""
    return ",".join(words[:count]) + arrow, [args[0], *args[: 2 * count : 2]]


def _letter(place: Any) -> str | None:
    if place is ...:
        return "..."
    # capital letters come first where NumPy sorts the subscripts of a result
    letters = string.ascii_uppercase + string.ascii_lowercase
    return letters[place] if place is not None and 0 <= place < len(letters) else None


def _subscripts(ev: Evaluator, text: str, arrays: list[Sym], node: Any) -> tuple[list[str], str]:
    """One letter for each axis of each array, and of the result."""
    given, arrow, output = text.replace(" ", "").partition("->")
    inputs = given.split(",")
    if len(inputs) != len(arrays):
        ev.fail(TypeMismatch, f"{text!r} is for {len(inputs)} arrays, not {len(arrays)}", node)
    unused = [letter for letter in string.ascii_letters if letter not in text]
    widths = [rank_of(array) - len(one.replace("...", "")) for one, array in zip(inputs, arrays, strict=True)]
    widest = max([width for one, width in zip(inputs, widths, strict=True) if "..." in one], default=0)
    for k, (one, width) in enumerate(zip(inputs, widths, strict=True)):
        if width < 0 or (width and "..." not in one):
            ev.fail(TypeMismatch, f"{one!r} does not fit an array of rank {rank_of(arrays[k])}", node)
        # the axes of an ellipsis are aligned at their ends
        inputs[k] = one.replace("...", "".join(unused[widest - width : widest]))
    if not arrow:
        letters = "".join(inputs)
        own = sorted(letter for letter in set(letters) if letters.count(letter) == 1 and letter not in unused[:widest])
        output = "".join(own) if "..." not in text else "..." + "".join(own)
    output = output.replace("...", "".join(unused[:widest]))
    if len(set(output)) < len(output) or set(output) - set("".join(inputs)):
        ev.fail(TypeMismatch, f"the result's subscripts in {text!r} are not subscripts of the arrays", node)
    return inputs, output


def _broadcast(ev: Evaluator, arrays: list[Sym], inputs: list[str], node: Any) -> tuple[list[Sym], list[str]]:
    """Without the axes that are known to have one element where the same subscript has others in another array."""
    pairs = list(zip(arrays, inputs, strict=True))
    places = [(n, k) for n, one in enumerate(inputs) for k in range(len(one))]
    single = {(n, k) for n, k in places if dim(ev, arrays[n], k).constant == 1}
    longer = {letter for n, one in enumerate(inputs) for k, letter in enumerate(one) if (n, k) not in single}
    made = []
    for n, (array, one) in enumerate(pairs):
        axes = [k for k, letter in enumerate(one) if (n, k) in single and letter in longer]
        if axes:
            array = ev.materialise(ev.call_object(np.squeeze, [array, Tup(tuple(map(number, axes)))], {}, node))
        made.append((array, "".join(letter for k, letter in enumerate(one) if k not in axes)))
    return [array for array, _ in made], [one for _, one in made]


def _summed(ev: Evaluator, arrays: list[Sym], inputs: list[str], output: str, node: Any) -> Value:
    arrays, inputs = _broadcast(ev, arrays, inputs, node)
    letters = [*output, *sorted(set("".join(inputs)) - set(output))]
    extents: dict[str, Sym] = {}
    for array, one in zip(arrays, inputs, strict=True):
        for axis, letter in enumerate(one):
            extent = dim(ev, array, axis)
            known = extents.setdefault(letter, extent)
            require_equal(ev, known, extent, f"`{letter}` has different extents, and none of them is known to be 1")
    places = Tup(tuple(Tup(tuple(number(letters.index(letter)) for letter in one)) for one in inputs))
    shape = Tup(tuple(extents[letter] for letter in letters))
    if not output:
        return ev.inline_library(arrays_tensor.total_of_products, [Tup(tuple(arrays)), places, shape], {}, node)
    given = [Tup(tuple(arrays)), places, shape, number(len(output))]
    return ev.inline_library(arrays_tensor.summed_products, given, {}, node)


def require_equal(ev: Evaluator, first: Sym, second: Sym, message: str) -> None:
    """Raise ValueError, when the program runs, where two extents differ."""
    differ = ev.op("!=", first, second)
    if ev.deciding and ev.trying:
        differ = ev.decided(differ)
        if differ.constant is True:
            ev.fails(ValueError, message)
    if differ.constant is False:
        return
    side: list[Any] = []
    outer, ev.block = ev.block, side
    ev.raise_("ValueError", message)
    ev.block = outer
    ev.emit(OpenIf(differ.atom, side, [], ev.span))


def tensordot(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.tensordot(a, b, axes)`."""
    first, second = (array_of(ev, arg, node) for arg in args[:2])
    axes = kwargs.get("axes", args[2] if len(args) > 2 else number(2))
    count = static_int(axes)
    ranks = rank_of(first), rank_of(second)
    if count is not None:
        if not 0 <= count <= min(ranks):
            ev.fail(TypeMismatch, f"cannot sum over {count} axes of arrays of ranks {ranks[0]} and {ranks[1]}", node)
        pairs = [[*range(ranks[0] - count, ranks[0])], [*range(count)]]
    elif is_scalar(axes):
        ev.fail(UnsupportedSyntax, "how many axes are summed over is what only the run knows", node)
    else:
        pairs = [known_integers(ev, one, node) for one in ev.known_items(axes, node)]
        if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
            ev.fail(TypeMismatch, "`np.tensordot` sums over as many axes of one array as of the other", node)
        pairs = [axes_in_range(ev, one, rank, node) for one, rank in zip(pairs, ranks, strict=True)]
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in range(ranks[0])]
    right = [next(letters) for _ in range(ranks[1])]
    for mine, other in zip(*pairs, strict=True):
        right[other] = left[mine]
    kept = [letter for letter in (*left, *right) if (letter in left) != (letter in right)]
    return _summed(ev, [first, second], ["".join(left), "".join(right)], "".join(kept), node)


def known_integers(ev: Evaluator, value: Value, node: Any) -> list[int]:
    items = (value,) if is_scalar(value) else ev.known_items(value, node)
    known = [static_int(item) for item in items]
    if None in known:
        ev.fail(UnsupportedSyntax, "axes that only the run knows", node)
    return [one for one in known if one is not None]


def axes_in_range(ev: Evaluator, axes: list[int], rank: int, node: Any) -> list[int]:
    """Axes that may count from the end, as NumPy's own functions take them."""
    for axis in axes:
        if not -rank <= axis < rank:
            ev.fail(TypeMismatch, f"an array of rank {rank} has no axis {axis}", node)
    return [axis % rank for axis in axes]


# padding and windows


SPECIAL: dict[Any, Any] = {
    np.einsum: einsum,
    np.tensordot: tensordot,
    **({np.linalg.tensordot: tensordot} if hasattr(np.linalg, "tensordot") else {}),
}
