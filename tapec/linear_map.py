"""The derivative of a function at one point, as a linear map that is kept and applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from tapec.callables import R
from tapec.errors import UsageError
from tapec.on_demand import CALLS, load
from tapec.options import Keywords, Options, chosen, no_aux
from tapec.products import copied_arguments, directional, flat, is_float, tangent_like, vjp_by, zeros_of
from tapec.structure import rebuilt
from tapec_runtime import variables

Vector = np.ndarray[Any, Any]


def linearize(f: Callable[..., R], *primals: Any, **options: Unpack[Keywords]) -> tuple[R, LinearMap]:
    """The value of a function and its derivative at a point, as a linear map.

    f        as for `grad`; it may return a number, an array or tuples of those
    primals  the arguments; those of float type may move.  They are copied
    options  as for `grad`
    returns  (value, map): `map(*tangents)` is the tangent of the value, `map.T(cotangent)` a tuple of adjoints
    raises   UsageError  where no argument is a float;  TapecError (see tapec.errors)

    Both are compiled once for each function and types of arguments.  A tangent runs the function again beside its
    derivative; the transposed map keeps what its first call has computed of the function, as `vjp` does.

    >>> import numpy as np
    >>> value, map = linearize(lambda x, a: a * x ** 2, np.array([1.0, 2.0]), 3.0)
    >>> map(np.array([1.0, 0.5]), None)
    array([6., 6.])
    >>> map.T(np.array([1.0, 1.0]))
    (array([ 6., 12.]), 5.0)
    >>> map.shape, map.matvec(np.array([1.0, 0.5, 0.0]))
    ((2, 3), array([6., 6.]))
    """
    load(*CALLS)
    made = LinearMap(f, primals, no_aux(chosen(options), "tapec.linearize"))
    value: R = made.value
    return value, made


class LinearMap:
    """What `linearize` returns beside the value: the map, and its transpose `T`.

    SciPy's solvers take it as it is (`scipy.sparse.linalg.cg(map, b)`), since it has what
    `scipy.sparse.linalg.aslinearoperator` asks for: as a matrix it maps the numbers of all arguments of float type, one
    after the other, to those of the value.
    """

    def __init__(self, f: Callable[..., Any], primals: tuple[Any, ...], options: Options) -> None:
        from tapec.backend import structured_arguments

        self._f, self._options = f, options
        self._primals = copied_arguments(tuple(variables.plain(one) for one in primals))
        plain = [structured_arguments.plain(one, f"argument {k}") for k, one in enumerate(self._primals)]
        self._leaves = {k: flat(one) for k, one in enumerate(plain) if any(map(is_float, flat(one)))}
        if not self._leaves:
            raise UsageError("no argument is a float, so that nothing can move", hint="pass a float64")
        self._plain = plain
        self._moving = tuple(self._leaves)
        self._derivative = directional(f, self._moving, options)
        self.value = self._pushed([zeros_of(plain[k]) for k in self._moving])[0]
        self._results = structured_arguments.plain(self.value, "value")

    def __call__(self, *tangents: Any) -> Any:
        """The tangent of the value for tangents of the arguments, None for those that do not move."""
        if len(tangents) != len(self._primals):
            raise UsageError(f"{len(self._primals)} primals but {len(tangents)} tangents")
        if any(one is not None and k not in self._leaves for k, one in enumerate(tangents)):
            raise UsageError("a tangent of an argument that is no float", hint="pass None for it")
        given = ((self._plain[k], tangents[k]) for k in self._moving)
        return self._pushed([zeros_of(primal) if one is None else one for primal, one in given])[1]

    def _pushed(self, tangents: list[Any]) -> Any:
        primals = self._primals
        seeds = [tangent_like(one, primals[k], k) for k, one in zip(self._moving, tangents, strict=True)]
        # a function may write into its arguments
        return self._derivative(*copied_arguments(primals), *seeds)

    @cached_property
    def T(self) -> TransposedMap:  # noqa: N802
        """The transposed map: from a cotangent of the value to a tuple with the adjoint of each argument."""
        return TransposedMap(self)

    @cached_property
    def pullback(self) -> Callable[[Any], tuple[Any, ...]]:
        """What `vjp` returns for the function and its arguments."""
        return vjp_by(self._f, self._moving, copied_arguments(self._primals), self._options)[1]

    @cached_property
    def shape(self) -> tuple[int, int]:
        """The number of numbers in the value, and in the arguments."""
        return _count(flat(self._results)), sum(map(_count, self._leaves.values()))

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """That of the vectors that the products return."""
        everything = [*flat(self._results), *(leaf for leaves in self._leaves.values() for leaf in leaves)]
        found = np.result_type(*(np.asarray(leaf).dtype for leaf in everything if is_float(leaf)))
        if found.kind == "c":
            raise UsageError("a linear map by complex numbers is no matrix of them", hint="call the map, or its `T`")
        return found

    def matvec(self, vector: Any) -> Vector:
        """The product of the matrix and a vector of shape (n,) or (n, 1)."""
        given = _Pieces(vector, self.shape[1])
        found = self._pushed([rebuilt(self._plain[k], given.of(self._leaves[k])) for k in self._moving])[1]
        return _vector(found, flat(self._results), self.dtype)

    def rmatvec(self, vector: Any) -> Vector:
        """The product of the transposed matrix and a vector of shape (m,) or (m, 1)."""
        given = _Pieces(vector, self.shape[0])
        adjoints = self.pullback(rebuilt(self._results, given.of(flat(self._results))))
        return np.concatenate([_vector(adjoints[k], self._leaves[k], self.dtype) for k in self._moving])

    def matmat(self, columns: Any) -> Vector:
        """The product of the matrix and one of shape (n, k), column by column."""
        return np.stack([self.matvec(column) for column in np.transpose(columns)], axis=1)

    def rmatmat(self, columns: Any) -> Vector:
        """The product of the transposed matrix and one of shape (m, k), column by column."""
        return np.stack([self.rmatvec(column) for column in np.transpose(columns)], axis=1)

    def __repr__(self) -> str:
        return f"<tapec derivative of {getattr(self._f, '__name__', 'f')} at a point>"


class TransposedMap:
    """The transpose of a `LinearMap`, with the same methods."""

    def __init__(self, transposed: LinearMap) -> None:
        self.T = transposed
        self.matvec, self.rmatvec = transposed.rmatvec, transposed.matvec
        self.matmat, self.rmatmat = transposed.rmatmat, transposed.matmat

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """The adjoint of each argument for a cotangent of the value, None for those that are no floats."""
        return self.T.pullback(cotangent)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of numbers in the arguments, and in the value."""
        return self.T.shape[1], self.T.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the vectors that the products return."""
        return self.T.dtype

    def __repr__(self) -> str:
        return f"<transpose of {self.T!r}>"


class _Pieces:
    """A vector that is handed out piece by piece."""

    def __init__(self, vector: Any, count: int) -> None:
        found = np.asarray(vector)
        if found.shape not in ((count,), (count, 1)):
            raise ValueError(f"a vector of shape {found.shape}, where ({count},) is needed")
        self.vector, self.first = found.reshape(-1), 0

    def of(self, leaves: list[Any]) -> Iterator[Any]:
        """The next numbers, in the shapes of leaves; of others than floats, the leaves themselves."""
        for leaf in leaves:
            if not is_float(leaf):
                yield leaf
                continue
            count = np.size(leaf)
            piece = self.vector[self.first : self.first + count]
            self.first += count
            yield piece.reshape(np.shape(leaf)) if isinstance(leaf, np.ndarray) else piece[0]


def _vector(value: Any, leaves: list[Any], dtype: np.dtype[Any]) -> Vector:
    """The floats in a value of the structure of `leaves`, one after the other."""
    from tapec.backend import structured_arguments

    found = zip(flat(structured_arguments.plain(value, "value")), leaves, strict=True)
    return np.concatenate([np.ravel(one).astype(dtype, copy=False) for one, leaf in found if is_float(leaf)])


def _count(leaves: list[Any]) -> int:
    return sum(int(np.size(leaf)) for leaf in leaves if is_float(leaf))
