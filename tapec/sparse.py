"""Sparse Jacobians and Hessians, whose patterns are found from the program.

The pattern comes from a generated program that carries sets of sources along; columns that share no row are computed
together, in runs of a second generated program.  Both are made at the first call.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Unpack, overload

import numpy as np

from tapec.backend.description import docstring, shown
from tapec.backend.program import resolve_wrt
from tapec.bound import Bound, unbound
from tapec.callables import P, Sources
from tapec.captured import with_captured_arguments
from tapec.errors import NotDifferentiable, UnsupportedFunction, UsageError
from tapec.frontend.source.function_source import parameters
from tapec.on_demand import CALLS, load
from tapec.options import Keywords, Options, chosen, no_aux, no_limit
from tapec.plain_functions import plain_function
from tapec.products import _carrier, _plain, _shared, flat
from tapec_runtime import variables

if TYPE_CHECKING:
    from tapec.sparsity_pattern import Pattern

# how many times more room there is for sets where there was not enough, and room beside that for each source
_MORE, _FIRST = 4, 1024
# a pattern that serves for several ways through a program has at most that many times the elements of the last one
_WIDER = 2
# the arrays of ours that a program takes: one that finds a pattern, one that stores elements, others
_OURS = {"sparsity": 1, "sets": 1, "elements": 4, "sums": 4, "columns": 6, "rows": 6}
# ways through a program for which places are kept; how often an element may be met at most, and numbers of a record
_WAYS, _MET, _RECORD = 8, 8, 2**26


@overload
def sparse_jacobian(f: Callable[P, Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> SparseDerivative[P]: ...
@overload
def sparse_jacobian(
    f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]
) -> Callable[[Callable[P, Any]], SparseDerivative[P]]: ...
def sparse_jacobian(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The Jacobian of a function as a sparse matrix, whose pattern is found from the program.

    f        as for `jacobian`: a function that returns a float, a float array, or tuples of those
    wrt      position or name of a parameter, or a tuple of those
    options  as for `grad`, but for memory
    returns  a function of the same arguments: a `scipy.sparse.csr_array` of shape (m, n), float32 if all sources are,
             else float64.  Its rows are the elements of the results, one result after the other, each by rows; its
             columns those of the sources
    raises   UsageError  without SciPy;  TapecError (see tapec.errors)  as `jacobian`

    An element is in the pattern if the result may depend on the source by a derivative, for all numbers for which the
    function takes the same branches and subscripts.  Where a call takes others, the pattern is found anew.  Columns
    that share no row are computed in one run (Curtis, Powell & Reid 1974), long rows in reverse mode.
    Matrices of one pattern have the arrays of their indices in common, which are read-only; `jacobian.fill(matrix,
    *args)` writes the values at other arguments into one.

    >>> import numpy as np
    >>> def differences(x):
    ...     return x[1:] ** 2 - x[:-1]
    >>> jacobian = sparse_jacobian(differences)
    >>> jacobian(np.array([1.0, 2.0, 3.0])).toarray()
    array([[-1.,  4.,  0.],
           [ 0., -1.,  6.]])
    """
    return _made(f, wrt, "sparse_jacobian", chosen(options))


@overload
def sparse_hessian(f: Callable[P, Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> SparseDerivative[P]: ...
@overload
def sparse_hessian(
    f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]
) -> Callable[[Callable[P, Any]], SparseDerivative[P]]: ...
def sparse_hessian(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The Hessian of a function as a sparse matrix, whose pattern is found from the program.

    f        as for `grad`: a function that returns one float
    wrt      position or name of a parameter, or a tuple of those
    options  as for `grad`, but for memory
    returns  a function of the same arguments: a `scipy.sparse.csr_array` of shape (n, n), whose rows and columns are
             the elements of the sources, one after the other, each by rows
    raises   UsageError  without SciPy;  TapecError (see tapec.errors)  as `hessian`

    The pattern is that of the Jacobian of the generated gradient, found as for `sparse_jacobian`; columns are computed
    together by a star colouring (Gebremedhin, Manne & Pothen 2005), in forward over reverse mode.

    >>> import numpy as np
    >>> def chain(x):
    ...     return np.sum((x[1:] - x[:-1]) ** 4)
    >>> sparse_hessian(chain)(np.array([1.0, 2.0, 4.0])).toarray()
    array([[ 12., -12.,   0.],
           [-12.,  60., -48.],
           [  0., -48.,  48.]])
    """
    return _made(f, wrt, "sparse_hessian", chosen(options))


def _made(f: Any, wrt: Any, kind: str, options: Options) -> Any:
    if f is None:
        return functools.partial(_made, wrt=wrt, kind=kind, options=options)
    return SparseDerivative(f, wrt, kind, no_limit(no_aux(options, f"tapec.{kind}"), f"tapec.{kind}"))


class SparseDerivative(Generic[P]):
    """A sparse Jacobian or Hessian: call it as the function.

    The pattern is kept for arguments of the same shapes.  All matrices of one pattern have the arrays of their indices
    in common, which are read-only; their values are their own.
    """

    def __init__(self, f: Any, wrt: Any, kind: str, options: Options) -> None:
        load(*CALLS, "tapec.sparsity_pattern", "tapec_runtime.index_sets")
        bound = unbound(f)
        function = plain_function(bound.function)
        wrt = tuple(wrt) if isinstance(wrt, list) else wrt
        self._f, self._wrt, self.kind, self._options = f, wrt, kind, options
        by = wrt if bound.is_free else bound.wrt(wrt, parameters(function))
        resolve_wrt(function, by)
        self._shown = shown(function, kind, by)
        self.__name__, self.__doc__ = function.__name__, docstring(function, kind, by)
        self.__qualname__, self.__module__ = function.__qualname__, function.__module__
        # a function by itself is what it is at each call
        self._bound = bound if bound.is_free and not getattr(f, "__closure__", None) else None
        self._functions: dict[Any, _Programs] = {}
        self._strict: SparseDerivative[...] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The matrix at these arguments."""
        return self._of(args, kwargs, None)

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        """A derivative in a class is a method, as a function is."""
        return self if owner is None else types.MethodType(self, owner)

    def fill(self, matrix: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Write the values at other arguments into a matrix that a call has returned.

        returns  the matrix
        raises   UsageError  if the function now takes other branches or subscripts, so that the pattern is another one
        """
        return self._of(args, kwargs, matrix)

    def source(self) -> str:
        """The generated source of all programs so far."""
        texts = [one.source() for known in self._functions.values() for one in known.made.values()]
        return "\n\n".join(filter(None, texts))

    def _of(self, args: tuple[Any, ...], kwargs: dict[str, Any], into: Any) -> Any:
        if self._bound is not None:
            return self._evaluated(self._bound, args, kwargs, into)
        return with_captured_arguments(self._f, self.kind, lambda bound: self._evaluated(bound, args, kwargs, into))

    def _evaluated(self, bound: Bound, args: tuple[Any, ...], kwargs: dict[str, Any], into: Any) -> Any:
        known = self._functions.get(bound.function)
        if known is None:
            function = _shared(plain_function(bound.function))
            known = self._functions[bound.function] = _Programs(function, self.kind, self._options)
        names = known.names
        if kwargs or not bound.is_free or len(args) != len(names):
            args = bound.arguments(names, args, kwargs)
        call = _Call(known, known.positions(self._wrt if bound.is_free else bound.wrt(self._wrt, names)), args)
        values, pattern = call.values(into)
        if pattern is None:
            return self._strictly()._of(args, {}, into)
        from tapec.sparsity_pattern import matrix

        return matrix(pattern, values) if into is None else into

    def _strictly(self) -> SparseDerivative[...]:
        """The derivative whose programs round alike, so that they decide alike."""
        if self._strict is None:
            from dataclasses import replace

            self._strict = SparseDerivative(
                self._f, self._wrt, self.kind, replace(self._options, strict=True, math="libm")
            )
        return self._strict

    def __tapec_lower__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        ev.fail(
            UnsupportedFunction,
            f"the {self.kind} of `{self.__name__}` inside a function that is compiled",
            node,
            reason="it is a matrix of SciPy",
            hint=f"use tapec.{self.kind.removeprefix('sparse_')} there, or call it from Python",
        )

    def __reduce__(self) -> Any:
        from tapec.backend.derivative_base import reduced

        return reduced(self, (_made, self._f, self._wrt, self.kind, self._options))

    def __repr__(self) -> str:
        return self._shown


class _Programs:
    """The programs of a function, and the patterns that were found for shapes of arguments."""

    # whether elements are not to be stored in the order of the run
    by_colours_alone = False

    def __init__(self, function: Any, kind: str, options: Options) -> None:
        self.function, self.kind, self.options = function, kind, options
        self.names = parameters(function)
        self.made: dict[Any, Any] = {}
        self.patterns: dict[Any, Pattern] = {}
        self.by_rows_alone = False
        self._positions: dict[Any, tuple[int, ...]] = {}

    def positions(self, wrt: Any) -> tuple[int, ...]:
        """Where the sources stand among the arguments."""
        if wrt not in self._positions:
            self._positions[wrt] = tuple(dict.fromkeys(resolve_wrt(self.function, wrt)[0]))
        return self._positions[wrt]

    def program(self, part: str, wrt: tuple[int, ...], count: int, lanes: int | None = None) -> Any:
        """What computes a part of the derivative, sparsity, columns or rows, so many of them at once."""
        key = part, wrt, count, lanes
        if key not in self.made:
            kind = f"hessian_{part}" if self.kind == "sparse_hessian" else part
            self.made[key] = _seeded(self.function, kind, wrt, count, _OURS[part], lanes, self.options)
        return self.made[key]

    def lanes(self, part: str, wrt: tuple[int, ...], count: int, colours: int) -> int:
        """How many columns or rows are computed at once; as many as in a program that there is already."""
        from tapec.sparsity_pattern import lanes_for

        made = [key[-1] for key in self.made if key[:-1] == (part, wrt, count)]
        return max(made) if made else lanes_for(colours)


def _seeded(
    function: types.FunctionType,
    kind: str,
    wrt: tuple[int, ...],
    count: int,
    further: int,
    lanes: int | None,
    options: Options,
) -> Any:
    """A program that takes arrays of our own after the arguments."""
    from tapec.backend.dispatcher import make_derivative
    from tapec.backend.fingerprint import Request

    labels = list(parameters(function))

    def make_program(argument_types: tuple[Any, ...], _: Any) -> Any:
        from tapec.backend.signature import arguments
        from tapec.pipeline import build

        return build(function, arguments(argument_types[:count], labels), kind, wrt, options, lanes=lanes)

    carrier = _carrier(function, [*(f"argument_{k}" for k in range(count)), *(f"array_{k}" for k in range(further))])
    recipe = _seeded, function, kind, wrt, count, further, lanes, options
    return make_derivative(carrier, make_program, recipe, Request(function, kind, wrt, count, options, lanes=lanes))


class _Call:
    """One call of a sparse derivative."""

    def __init__(self, programs: _Programs, positions: tuple[int, ...], args: tuple[Any, ...]) -> None:
        self.programs, self.positions = programs, positions
        self.primals = _plain(programs.function, variables.plain(tuple(args)))
        sources = [k for k in self.positions if k < len(self.primals)]
        leaves = [leaf for k in sources for leaf in flat(self.primals[k]) if leaf is not None]
        self.count = sum(np.size(leaf) for leaf in leaves)
        single = bool(leaves) and all(getattr(leaf, "dtype", None) == np.float32 for leaf in leaves)
        self.dtype = np.float32 if single else np.float64
        self.leaves = [leaf for leaf in flat(self.primals) if isinstance(leaf, np.ndarray)]
        self.key = self.positions, _kind_of(self.primals), _repeated(self.leaves)

    def run(self, part: str, lanes: int | None, *given: Any) -> Any:
        return self.programs.program(part, self.positions, len(self.primals), lanes)(*self.primals, *given)

    def values(self, into: Any) -> tuple[Any, Pattern | None]:
        """The values and their pattern; no values where rounding leads the programs to different decisions."""
        known = self.programs.patterns
        if self.key not in known:
            known[self.key] = self.found()
        values = self.computed(into)
        if values is None:
            known[self.key] = self.renewed(known[self.key])
            values = self.computed(into)
        if values is None and self.programs.options.strict:
            raise UsageError(
                f"`{self.programs.function.__name__}` takes another way through its program at each run",
                hint="what it decides has to follow from its arguments alone",
            )
        return values, None if values is None else known[self.key]

    def computed(self, into: Any) -> Any:
        """The values of the elements of the pattern; None where the runs take another way than the pattern is for."""
        programs, count = self.programs, len(self.primals)
        pattern = programs.patterns[self.key]
        values = self.target(pattern, into)
        if pattern.in_order:
            return self.stored(pattern, values)
        # what a run reads may be the values of a matrix
        apart = values is None or any(np.may_share_memory(values, leaf) for leaf in self.leaves)
        found = np.empty(pattern.columns.size, self.dtype) if apart else values
        for part, colours in zip(("columns", "rows"), pattern.counts, strict=True):
            if colours == 0:
                continue
            lanes = programs.lanes(part, self.positions, count, colours)
            try:
                trace = self.run(part, lanes, *pattern.strips(part, lanes), found, pattern.known)
            except NotDifferentiable:
                if part == "rows" or programs.kind == "sparse_hessian":
                    raise
                # a custom gradient has no forward mode
                programs.by_rows_alone = True
                programs.patterns.clear()
                programs.patterns[self.key] = self.found()
                return self.computed(into)
            if trace not in pattern.traces:
                return None
        if apart and values is not None:
            values[:] = found
            return values
        return found

    def stored(self, pattern: Pattern, values: Any) -> Any:
        """`computed`, by a run that stores each element."""
        given, size = pattern.run_in_order
        spare = size > pattern.columns.size
        apart = values is None or spare or any(np.may_share_memory(values, leaf) for leaf in self.leaves)
        found = np.empty(size, self.dtype) if apart else values
        if self.run("sums" if pattern.adds else "elements", None, *given, found, pattern.known) not in pattern.traces:
            return None
        found = found[: pattern.columns.size] if spare else found
        if apart and values is not None:
            values[:] = found
            return values
        return found

    def target(self, pattern: Pattern, into: Any) -> Any:
        """Where the values go, if that is given."""
        if into is None:
            return None
        indices, starts = pattern.indices
        same = into.shape == pattern.shape and _are_equal(into.indices, indices) and _are_equal(into.indptr, starts)
        if not same or into.data.dtype != self.dtype:
            raise UsageError(
                "the matrix has not the pattern that the derivative has at these arguments",
                hint="call the derivative for a new matrix",
            )
        return into.data

    def found(self) -> Pattern:
        """The pattern at the arguments."""
        from tapec.sparsity_pattern import Pattern
        from tapec_runtime.index_sets import elements, is_full, room_for_sets, room_of
        from tapec_runtime.recorded_elements import is_recorded, length_of_record, recorded

        programs, part = self.programs, "sets" if self.programs.by_colours_alone else "sparsity"
        sets = room_for_sets(self.count, 2 * self.count + _FIRST)
        found, trace = self.run(part, None, sets)
        while is_full(sets) and length_of_record(sets) <= _RECORD:
            sets = room_for_sets(self.count, max(_MORE * room_of(sets), length_of_record(sets)))
            found, trace = self.run(part, None, sets)
        if is_recorded(sets):
            in_order = None if is_full(sets) else recorded(sets, found, self.count)
            if in_order is None or in_order.places.size > _MET * in_order.columns.size:
                programs.by_colours_alone = True
                programs.patterns.clear()
                return self.found()
            starts, columns, places, adds = in_order
            traces = frozenset({trace})
            return Pattern(starts, columns, self.count, traces, places={trace: places}, adds=adds)
        return Pattern(
            *elements(sets, found),
            self.count,
            frozenset({trace}),
            programs.kind == "sparse_hessian",
            programs.by_rows_alone,
        )

    def renewed(self, before: Pattern) -> Pattern:
        """The pattern at arguments for which `before` does not hold, together with it if that pays."""
        pattern = self.found()
        if pattern.shape != before.shape:
            return pattern
        if pattern.in_order:
            fits = before.in_order and len(before.in_order) < _WAYS
        elif before.in_order:
            fits = False
        elif before.holds(pattern.starts, pattern.columns):
            before.traces |= pattern.traces
            return before
        else:
            fits = True
        if not fits:
            return pattern
        both = before.joined(pattern)
        return both if both.columns.size <= _WIDER * pattern.columns.size else pattern


def _kind_of(leaf: Any) -> Any:
    """What of an argument a pattern belongs to, apart from its numbers."""
    if isinstance(leaf, np.ndarray):
        return leaf.shape, leaf.dtype
    if isinstance(leaf, tuple):
        # dicts and objects are named tuples of classes of their own here
        return type(leaf), *map(_kind_of, leaf)
    if isinstance(leaf, bool | int | float | complex | np.generic):
        return type(leaf)
    try:
        hash(leaf)
    except TypeError:
        return id(leaf)
    return leaf


def _repeated(arrays: list[Any]) -> tuple[int, ...]:
    """For each array the first place where it stands: of one that is passed twice, what is written is read twice."""
    if len(arrays) < 2:
        return ()
    begins = [array.__array_interface__["data"][0] if array.size else -k for k, array in enumerate(arrays)]
    return tuple(map(begins.index, begins))


def _are_equal(first: Any, second: Any) -> bool:
    return first is second or np.array_equal(first, second)
