"""Products of arrays that a text or their ranks describe, and other functions whose arguments are structure."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend import dicts
from tapec.frontend.allocation import dim, rank_of
from tapec.frontend.call_arguments import Args, Kwargs
from tapec.frontend.creation import as_array
from tapec.frontend.detached import detach
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.open_blocks import OpenIf
from tapec.frontend.values import (
    NONE,
    Dct,
    Iteration,
    Lst,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_none,
    is_scalar,
    known_text,
    mapping,
    number,
    static_int,
)
from tapec.rules import arrays_pad, arrays_tensor
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
    return _summed(ev, arrays, inputs, output, node)


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


# what each mode of `np.pad` takes beside the widths
_PAD_MODES: dict[str, str] = {
    "constant": "constant_values",
    "edge": "",
    "linear_ramp": "end_values",
    **dict.fromkeys(("maximum", "minimum", "mean", "median"), "stat_length"),
    **dict.fromkeys(("reflect", "symmetric"), "reflect_type"),
    "wrap": "",
    "empty": "",
}


def pad(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.pad(array, widths, mode, ...)`."""
    given = dict(zip(("array", "pad_width", "mode"), args, strict=False)) | kwargs
    array = array_of(ev, given.pop("array"), node)
    rank = rank_of(array)
    pairs = _pairs(ev, given.pop("pad_width"), rank, "widths", node)
    mode = known_text(given.pop("mode", Static("constant")))
    if mode not in _PAD_MODES:
        ev.fail(UnsupportedFunction, f"`np.pad` in another mode than {', '.join(_PAD_MODES)}", node)
    taken = _PAD_MODES[mode]
    if unread := given.keys() - {taken}:
        ev.fail(TypeMismatch, f"`np.pad` takes no `{min(unread)}` in mode {mode!r}", node)
    more = given.get(taken, NONE)
    before, after = (Tup(tuple(pair[side] for pair in pairs)) for side in (0, 1))
    sides = [array, before, after]
    if mode == "empty":
        return ev.inline_library(arrays_pad.unset, sides, {}, node)
    if mode == "edge":
        return ev.inline_library(arrays_pad.extended, sides, {}, node)
    if mode == "constant" and (is_none(more) or is_scalar(more)):
        return ev.inline_library(arrays_pad.padded, [*sides, number(0) if is_none(more) else more], {}, node)
    if taken == "reflect_type" and known_text(more) == "odd":
        return ev.inline_library(arrays_pad.turned, [*sides, Static(mode)], {}, node)
    if taken in ("reflect_type", ""):
        return ev.inline_library(arrays_pad.mirrored, [*sides, Static(mode)], {}, node)
    values = NONE if is_none(more) else Tup(tuple(map(Tup, _pairs(ev, more, rank, f"`{taken}`", node))))
    if taken == "stat_length":
        return ev.inline_library(arrays_pad.statistics, [*sides, Static(mode), values], {}, node)
    if is_none(values):
        values = Tup((Tup((number(0), number(0))),) * rank)
    body = arrays_pad.constants if mode == "constant" else arrays_pad.ramps
    return ev.inline_library(body, [*sides, values], {}, node)


def _pairs(ev: Evaluator, value: Value, rank: int, what: str, node: Any) -> list[tuple[Value, Value]]:
    """What stands before and behind each axis."""
    value = ev.materialise(value)
    if is_scalar(value):
        return [(value, value)] * rank
    if isinstance(value, Dct) or mapping(value) is not None:
        return _by_axis(ev, dicts.pairs(ev, value, node), rank, what, node)
    items = ev.known_items(value, node)
    pairs = [items] if all(map(is_scalar, items)) else [ev.known_items(item, node) for item in items]
    if len(pairs) not in (1, rank) or any(len(pair) not in (1, 2) for pair in pairs):
        ev.fail(TypeMismatch, f"the {what} of `np.pad` do not fit an array of rank {rank}", node)
    return [(pair[0], pair[-1]) for pair in (pairs if len(pairs) == rank else pairs * rank)]


def _by_axis(
    ev: Evaluator, given: dict[Any, Value], rank: int, what: str, node: Any
) -> list[tuple[Value, Value]]:
    """What stands before and behind each axis, of a dict that has axes as its keys."""
    axes = [key for key in given if isinstance(key, int)]
    if what != "widths" or len(axes) < len(given):
        ev.fail(TypeMismatch, f"the {what} of `np.pad` in a dict", node, hint="write a tuple of pairs")
    places = _in_range(ev, axes, rank, node)
    found: list[tuple[Value, Value]] = [(number(0), number(0))] * rank
    for place, value in zip(places, given.values(), strict=True):
        found[place] = _pairs(ev, value, 1, what, node)[0]
    return found


def sliding_window_view(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.lib.stride_tricks.sliding_window_view(array, window_shape)`."""
    given = dict(zip(("x", "window_shape", "axis"), args, strict=False)) | kwargs
    array = array_of(ev, given["x"], node)
    shape = ev.materialise(given["window_shape"])
    sizes = (shape,) if is_scalar(shape) else ev.known_items(shape, node)
    axes = given.get("axis", NONE)
    rank = rank_of(array)
    chosen = [*range(rank)] if is_none(axes) else _in_range(ev, _integers(ev, axes, node), rank, node)
    if len(sizes) != len(chosen):
        ev.fail(TypeMismatch, "`sliding_window_view` takes as many extents as axes", node)
    places = Tup(tuple(number(one) for one in chosen))
    made = ev.inline_library(arrays_tensor.windows, [array, Tup(tuple(sizes)), places], {}, node)
    return detach(ev, made, array, "sliding_window_view")


def unstack(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.unstack(x, axis=axis)`: the parts along an axis, to iterate over, unpack or ask for."""
    if len(args) != 1 or kwargs.keys() - {"axis"}:
        ev.fail(TypeMismatch, "`np.unstack` takes an array, and `axis=`", node)
    array = array_of(ev, args[0], node)
    moved = ev.call_object(np.moveaxis, [array, kwargs.get("axis", number(0)), number(0)], {}, node)
    return Iteration("items", (moved,))


SPECIAL: dict[Any, Any] = {
    # NumPy 1 has none
    **({np.unstack: unstack} if hasattr(np, "unstack") else {}),
    np.einsum: einsum,
    np.tensordot: tensordot,
    **({np.linalg.tensordot: tensordot} if hasattr(np.linalg, "tensordot") else {}),
    np.pad: pad,
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
}
