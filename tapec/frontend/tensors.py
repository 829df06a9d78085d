"""Products of arrays that a text or their ranks describe, and other functions whose arguments are structure."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend.allocation import dim, rank_of
from tapec.frontend.call_arguments import Args, Kwargs
from tapec.frontend.creation import as_array
from tapec.frontend.detached import detach
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.open_blocks import OpenIf
from tapec.frontend.values import (
    NONE,
    Lst,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_none,
    is_scalar,
    known_text,
    number,
    static_int,
)
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
    """`np.einsum("ij,jk->ik", a, b)`."""
    text = known_text(args[0])
    if text is None:
        ev.fail(UnsupportedSyntax, "the subscripts of `np.einsum` are not known text", node)
    if kwargs.keys() - {"optimize"}:
        ev.fail(UnsupportedSyntax, f"`np.einsum` with `{min(kwargs.keys() - {'optimize'})}=`", node)
    arrays = [array_of(ev, arg, node) for arg in args[1:]]
    inputs, output = _subscripts(ev, text, arrays, node)
    return _summed(ev, arrays, inputs, output, node)


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


def _summed(ev: Evaluator, arrays: list[Sym], inputs: list[str], output: str, node: Any) -> Value:
    letters = [*output, *sorted(set("".join(inputs)) - set(output))]
    extents: dict[str, Sym] = {}
    for array, one in zip(arrays, inputs, strict=True):
        for axis, letter in enumerate(one):
            extent = dim(ev, array, axis)
            known = extents.setdefault(letter, extent)
            require_equal(ev, known, extent, f"`{letter}` has different extents")
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
        differ = ev.known(differ)
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
        pairs = [_integers(ev, one, node) for one in ev.known_items(axes, node)]
        if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
            ev.fail(TypeMismatch, "`np.tensordot` sums over as many axes of one array as of the other", node)
        pairs = [_in_range(ev, one, rank, node) for one, rank in zip(pairs, ranks, strict=True)]
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in range(ranks[0])]
    right = [next(letters) for _ in range(ranks[1])]
    for mine, other in zip(*pairs, strict=True):
        right[other] = left[mine]
    kept = [letter for letter in (*left, *right) if (letter in left) != (letter in right)]
    return _summed(ev, [first, second], ["".join(left), "".join(right)], "".join(kept), node)


def _integers(ev: Evaluator, value: Value, node: Any) -> list[int]:
    items = (value,) if is_scalar(value) else ev.known_items(value, node)
    known = [static_int(item) for item in items]
    if None in known:
        ev.fail(UnsupportedSyntax, "axes that only the run knows", node)
    return [one for one in known if one is not None]


def _in_range(ev: Evaluator, axes: list[int], rank: int, node: Any) -> list[int]:
    """Axes that may count from the end, as NumPy's own functions take them."""
    for axis in axes:
        if not -rank <= axis < rank:
            ev.fail(TypeMismatch, f"an array of rank {rank} has no axis {axis}", node)
    return [axis % rank for axis in axes]


# padding and windows


def pad(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.pad(array, widths, mode, constant_values=value)`."""
    given = dict(zip(("array", "pad_width", "mode"), args, strict=False)) | kwargs
    if unread := given.keys() - {"array", "pad_width", "mode", "constant_values"}:
        ev.fail(UnsupportedSyntax, f"`np.pad` with `{min(unread)}=`", node)
    array = array_of(ev, given["array"], node)
    mode = given.get("mode", Static("constant"))
    if not isinstance(mode, Static) or mode.obj not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        modes = '"constant", "edge", "reflect", "symmetric" and "wrap"'
        ev.fail(UnsupportedFunction, f"`np.pad` in another mode than {modes}", node)
    pairs = _widths(ev, given["pad_width"], rank_of(array), node)
    before, after = (Tup(tuple(pair[side] for pair in pairs)) for side in (0, 1))
    if mode.obj != "constant" and "constant_values" in given:
        ev.fail(TypeMismatch, f"`np.pad` takes no `constant_values` in mode \"{mode.obj}\"", node)
    if mode.obj not in ("constant", "edge"):
        return ev.inline_library(arrays_tensor.mirrored, [array, before, after, mode], {}, node)
    if mode.obj == "edge":
        return ev.inline_library(arrays_tensor.extended, [array, before, after], {}, node)
    value = given.get("constant_values", number(0))
    if not is_scalar(value):
        ev.fail(UnsupportedFunction, "`np.pad` with more than one constant value", node)
    return ev.inline_library(arrays_tensor.padded, [array, before, after, value], {}, node)


def _widths(ev: Evaluator, value: Value, rank: int, node: Any) -> list[tuple[Value, Value]]:
    value = ev.materialise(value)
    if is_scalar(value):
        return [(value, value)] * rank
    items = ev.known_items(value, node)
    pairs = [items] if all(map(is_scalar, items)) else [ev.known_items(item, node) for item in items]
    if len(pairs) not in (1, rank) or any(len(pair) not in (1, 2) for pair in pairs):
        ev.fail(TypeMismatch, f"the widths of `np.pad` do not fit an array of rank {rank}", node)
    return [(pair[0], pair[-1]) for pair in (pairs if len(pairs) == rank else pairs * rank)]


def sliding_window_view(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.lib.stride_tricks.sliding_window_view(array, window_shape)`."""
    given = dict(zip(("x", "window_shape", "axis"), args, strict=False)) | kwargs
    array = array_of(ev, given["x"], node)
    shape = ev.materialise(given["window_shape"])
    sizes = (shape,) if is_scalar(shape) else ev.known_items(shape, node)
    axes = given.get("axis", NONE)
    rank = rank_of(array)
    chosen = [*range(rank)] if is_none(axes) else _in_range(ev, _integers(ev, axes, node), rank, node)
    if len(sizes) != len(chosen) or chosen != [*range(rank)]:
        ev.fail(UnsupportedFunction, "`sliding_window_view` along some of the axes", node)
    made = ev.inline_library(arrays_tensor.windows, [array, Tup(tuple(sizes))], {}, node)
    return detach(ev, made, array, "sliding_window_view")


SPECIAL: dict[Any, Any] = {
    np.einsum: einsum,
    np.tensordot: tensordot,
    np.pad: pad,
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
}
