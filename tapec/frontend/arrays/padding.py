"""`np.pad`, `sliding_window_view` and `np.unstack`, whose arguments are structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction
from tapec.frontend.arrays.copies_of_views import copy_of_view
from tapec.frontend.arrays.tensor_products import array_of, axes_in_range, known_integers
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Iteration,
    Static,
    Tup,
    Value,
    is_none,
    is_scalar,
    known_text,
    number,
)
from tapec.frontend.operations.allocation import rank_of
from tapec.rules import arrays_pad, arrays_tensor

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
    items = ev.known_items(value, node)
    pairs = [items] if all(map(is_scalar, items)) else [ev.known_items(item, node) for item in items]
    if len(pairs) not in (1, rank) or any(len(pair) not in (1, 2) for pair in pairs):
        ev.fail(TypeMismatch, f"the {what} of `np.pad` do not fit an array of rank {rank}", node)
    return [(pair[0], pair[-1]) for pair in (pairs if len(pairs) == rank else pairs * rank)]


def sliding_window_view(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.lib.stride_tricks.sliding_window_view(array, window_shape)`."""
    given = dict(zip(("x", "window_shape", "axis"), args, strict=False)) | kwargs
    array = array_of(ev, given["x"], node)
    shape = ev.materialise(given["window_shape"])
    sizes = (shape,) if is_scalar(shape) else ev.known_items(shape, node)
    axes = given.get("axis", NONE)
    rank = rank_of(array)
    chosen = [*range(rank)] if is_none(axes) else axes_in_range(ev, known_integers(ev, axes, node), rank, node)
    if len(sizes) != len(chosen):
        ev.fail(TypeMismatch, "`sliding_window_view` takes as many extents as axes", node)
    places = Tup(tuple(number(one) for one in chosen))
    made = ev.inline_library(arrays_tensor.windows, [array, Tup(tuple(sizes)), places], {}, node)
    return copy_of_view(ev, made, array, "sliding_window_view")


def unstack(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.unstack(x, axis=axis)`: the parts along an axis, to iterate over, unpack or ask for."""
    if len(args) != 1 or kwargs.keys() - {"axis"}:
        ev.fail(TypeMismatch, "`np.unstack` takes an array, and `axis=`", node)
    array = array_of(ev, args[0], node)
    moved = ev.call_object(np.moveaxis, [array, kwargs.get("axis", number(0)), number(0)], {}, node)
    return Iteration("items", (moved,))


PADDING: dict[Any, Any] = {
    # NumPy 1 has none
    **({np.unstack: unstack} if hasattr(np, "unstack") else {}),
    np.pad: pad,
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
}
