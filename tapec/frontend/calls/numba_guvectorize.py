"""Calls of functions under Numba's `@guvectorize`: the function itself, in a loop over the axes that it does not know.

The signature `(n),()->(n)` says which last axes a call of the function gets.  The axes before those are looped over, in
outputs and in the inputs that have them; inputs with fewer axes are the same in all iterations.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend.calls.inlining import call_function
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Slice,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_complex,
    is_scalar,
    number,
)
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.operations.allocation import allocate
from tapec.frontend.operations.python_errors import raise_if
from tapec.frontend.source.numba_decorators import of_ufunc
from tapec.frontend.statements.loops import counted_loop

_NOTHING: frozenset[str] = frozenset()


def call(ev: Evaluator, ufunc: Any, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`ufunc(x, y)`, which makes its outputs, and `ufunc(x, y, out)`, which writes into them."""
    builder = ufunc.gufunc_builder
    inputs, outputs = len(builder.sin), len(builder.sout)
    name = f"`{ufunc.__name__}`, a function under @guvectorize,"
    out = kwargs.pop("out", None)
    if kwargs or builder.writable_args:
        what = f"is given `{min(kwargs)}=`" if kwargs else "writes into its inputs"
        ev.fail(UnsupportedSyntax, f"{name} {what}", node, hint="call a function under @njit in a loop")
    if out is not None:
        args = [*args, *(out.items if isinstance(out, Tup) else (out,))]
    if len(args) not in (inputs, inputs + outputs):
        ev.fail(TypeMismatch, f"{name} takes {inputs} inputs and {outputs} outputs, not {len(args)} arguments", node)
    values = [_operand(ev, arg, node) for arg in args]
    given, results = values[:inputs], values[inputs:]
    for place, result in enumerate(results, inputs):
        if not is_array(result) or any(_share(ev, result, other) for k, other in enumerate(values) if k != place):
            message = f"{name} writes into {describe(result)}, which shares memory with another argument"
            ev.fail(UnsupportedFunction, message, node, hint="give it an array of its own")
    given, made = _converted(ev, ufunc, given, results, node)
    cores = [*builder.sin, *builder.sout]
    loops = max((_rank(one) - len(core) for one, core in zip([*given, *results], cores, strict=False)), default=0)
    if min(_rank(one) - len(core) for one, core in zip([*given, *results], cores, strict=False)) < 0:
        shown = ", ".join(map(describe, given))
        ev.fail(TypeMismatch, f"{name} has the signature {builder.signature}, and gets ({shown})", node)
    outer, known = _extents(ev, ufunc, [*given, *results], cores, loops, node)
    if not results:
        results = [
            # a call that gives numbers has arrays with one element for them
            allocate(ev, dtype, tuple([*outer, *(known[axis] for axis in core)]) or (number(1),))
            for dtype, core in zip(made, builder.sout, strict=True)
        ]
    function, said = builder.py_func, of_ufunc(ufunc._dispatcher)

    def fill(index: tuple[Sym, ...]) -> None:
        if len(index) < loops:
            header = ("ijklmn"[len(index) % 6], number(0), outer[len(index)], number(1), False, None)
            counted_loop(ev, header, lambda k: fill((*index, k)), _NOTHING, _NOTHING, node)
            return
        items = [_part(ev, one, index, core, node) for one, core in zip(given, builder.sin, strict=True)]
        items += [_part(ev, one, index, core, node, True) for one, core in zip(results, builder.sout, strict=True)]
        call_function(ev, function, items, {}, node, jitted=said)

    fill(())
    if len(args) > inputs and ev.frame.flags is not None:
        return NONE
    if not loops and len(args) == inputs:
        results = [
            one if core else ev.load(one, number(0), node) for one, core in zip(results, builder.sout, strict=True)
        ]
    return results[0] if outputs == 1 else Tup(tuple(results))


def _operand(ev: Evaluator, arg: Value, node: Any) -> Any:
    value = ev.materialise(arg)
    if not (is_scalar(value) or is_array(value) or is_complex(value)):
        value = ev.as_array(value, node)
    return value


def _rank(value: Any) -> int:
    return value.type.ndim if value.is_array else 0


def _share(ev: Evaluator, one: Any, other: Any) -> bool:
    """Whether two arguments may share memory."""
    return bool(_roots(ev, one) & _roots(ev, other))


def _roots(ev: Evaluator, value: Any) -> frozenset[str]:
    if isinstance(value, Complex):
        return _roots(ev, value.re) | _roots(ev, value.im)
    return ev.roots_of(value.atom.id) if value.is_array else frozenset()


def _converted(
    ev: Evaluator, ufunc: Any, given: list[Any], results: list[Any], node: Any
) -> tuple[list[Any], list[str]]:
    """The inputs with the dtypes of the signature that they fit, and the dtypes of its outputs."""
    own = [value.type.dtype for value in given]
    signatures = [[str(getattr(one, "dtype", one)) for one in sig.args] for sig in ufunc.gufunc_builder._sigs]
    if ufunc._is_dynamic and not signatures:
        if not results:
            message = f"`{ufunc.__name__}` has no signature that tells the dtypes of its outputs"
            ev.fail(TypeMismatch, message, node, hint="give it an array to write into")
        return given, []
    count = len(given)
    found = next((sig for sig in signatures if sig[:count] == own), None)
    certain = len(signatures) == 1 or all(value.is_array for value in given)
    if found is None and certain:
        fitting = (sig for sig in signatures if all(map(np.can_cast, own, sig[:count])))
        found = next(fitting, None)
    if found is None or any(one.type.dtype != dtype for one, dtype in zip(results, found[count:], strict=False)):
        shown = ", ".join(map(describe, [*given, *results]))
        ev.fail(TypeMismatch, f"no signature of `{ufunc.__name__}` fits ({shown})", node)
    taken = [
        value
        if value.type.dtype == dtype
        else ev.method(value, "astype", [Static(np.dtype(dtype))], {}, node)
        if value.is_array
        else complex_arithmetic.converted(ev, value, dtype)
        for value, dtype in zip(given, found[:count], strict=True)
    ]
    return taken, found[count:]


def _extents(
    ev: Evaluator, ufunc: Any, values: list[Any], cores: list[Any], loops: int, node: Any
) -> tuple[list[Sym], dict[str, Sym]]:
    """The extents of the loops, and those of the axes that the signature names."""
    outer: dict[int, Sym] = {}
    known: dict[str, Sym] = {}
    # extents of outputs come first, to which inputs have to fit
    for value, core in reversed(list(zip(values, cores, strict=False))):
        shape = ev.get_attribute(value, "shape", node).items if value.is_array else ()  # type: ignore[attr-defined]
        before = len(shape) - len(core)
        for axis, extent in enumerate(shape[:before]):
            _same(ev, ufunc, outer, axis + loops - before, extent, node)
        for axis, extent in zip(core, shape[before:], strict=True):
            _same(ev, ufunc, known, axis, extent, node)
    return [outer[k] for k in range(loops)], known


def _same(ev: Evaluator, ufunc: Any, extents: dict[Any, Sym], axis: Any, extent: Sym, node: Any) -> None:
    if axis not in extents:
        extents[axis] = extent
        return
    wrong = ev.op("!=", extents[axis], extent)
    raise_if(ev, wrong, "ValueError", f"arguments of {ufunc.__name__} have axes of different extents")


def _part(ev: Evaluator, value: Any, index: tuple[Sym, ...], core: Any, node: Any, written: bool = False) -> Value:
    """What one call of the function gets of an argument; of an output that is a number, an array with one element."""
    rank = _rank(value)
    last = index[len(index) - (rank - len(core)) :] if rank > len(core) else ()
    if written and not core:
        if not last:
            return value if rank == 1 else ev.method(value, "reshape", [number(1)], {}, node) or value
        one = Slice(last[-1], ev.op("+", last[-1], number(1)), None)
        part: Value = ev.load(value, Tup((*last[:-1], one)), node)
        return part
    if not last:
        return value if core or not value.is_array else ev.load(value, Tup(()), node)
    found: Value = ev.load(value, Tup(last), node)
    return found


def is_generalised(obj: Any) -> bool:
    """Whether an object is a function under `@guvectorize`."""
    return type(obj).__name__ == "GUFunc" and isinstance(obj.gufunc_builder.py_func, types.FunctionType)
