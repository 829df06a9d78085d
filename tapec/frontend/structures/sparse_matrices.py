"""Matrices of `scipy.sparse`: what operators, attributes and methods make of them.

Such a matrix is a `Record`: its numbers, what says where they stand, and its extents.  `rules/scipy_sparse.py` has
the loops.  What it is differentiated by are its numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedType
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    Lst,
    Method,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_none,
    is_scalar,
    number,
    static_int,
)
from tapec.frontend.structures.sparse_classes import HELD, class_of, classes, stand_in
from tapec.rules import scipy_sparse as loops
from tapec.rules import sparse_pairs as pairs
from tapec.syntax.types import Array

_TURNED = {"csr": "csc", "csc": "csr", "coo": "coo"}


def from_outside(ev: Evaluator, obj: Any, node: Any) -> Record:
    """A sparse matrix that is found in a module, a closure or an object: its arrays, as they are read from there."""
    try:
        cls = class_of(obj)
    except UnsupportedType as error:
        ev.fail(UnsupportedType, error.message, node, reason=error.reason, hint=error.hint)
    shape = ev.get_attribute(Static(obj), "_shape", node)
    assert isinstance(shape, Tup)
    if obj.format == "coo":
        coords = ev.get_attribute(Static(obj), "coords", node)
        assert isinstance(coords, Tup)
        return Record((ev.get_attribute(Static(obj), "data", node), *coords.items, *shape.items), stand_in(cls))
    arrays = (ev.get_attribute(Static(obj), name, node) for name in HELD["csr"])
    return Record((*arrays, *shape.items), stand_in(cls))


def is_matrix(obj: Any) -> bool:
    """Whether an object of `scipy.sparse` is a matrix."""
    return hasattr(type(obj), "tocsr")


def is_sparse(value: Value | None) -> bool:
    return isinstance(value, Record) and hasattr(value.cls, "sparse")


class Matrix:
    """A sparse matrix while a program is lowered, with what SciPy makes of it."""

    def __init__(self, ev: Evaluator, value: Record, node: Any) -> None:
        self.ev, self.value, self.node = ev, value, node
        self.kind: str = value.cls.sparse
        self.parts, self.extents = value.items[:3], Tup(value.items[3:])

    def loops(self, function: Callable[..., Any], *args: Value) -> Value:
        found: Value = self.ev.inline_library(function, list(args), {}, self.node)
        return found

    def refuse(self, what: str, hint: str) -> Any:
        title = self.value.cls.object_class.__name__
        self.ev.fail(UnsupportedFunction, f"{what} of a {title} is not supported", self.node, hint=hint)

    def made(self, parts: tuple[Value, ...], kind: str = "", extents: tuple[Value, ...] | None = None) -> Record:
        """A matrix of the same family."""
        cls = classes()[kind or self.kind, self.value.cls.like_array]
        return Record((*parts, *(self.extents.items if extents is None else extents)), stand_in(cls))

    def with_data(self, data: Value) -> Record:
        return self.made((self.ev.materialise(data), *self.parts[1:]))

    def places(self) -> tuple[Value, Value, Value]:
        """The numbers, and where each of them stands."""
        data, first, second = self.parts
        if self.kind == "coo":
            return data, first, second
        major = self.loops(loops.majors, first, second)
        return (data, major, first) if self.kind == "csr" else (data, first, major)

    def transpose(self) -> Record:
        data, first, second = self.parts
        parts = (data, second, first) if self.kind == "coo" else self.parts
        return self.made(parts, _TURNED[self.kind], self.extents.items[::-1])

    def product(self, x: Value) -> Value:
        """`self @ x`."""
        if isinstance(x, Record) and is_sparse(x):
            return self.product_of_sparse(x)
        whole = self.real(x)
        if not 1 <= whole.type.ndim <= 2:
            self.refuse(f"a product with an array of {whole.type.ndim} axes", "use vectors and matrices")
        return self.loops(_PRODUCTS[self.kind], *self.parts, self.extents, whole)

    def dot(self, other: Value) -> Value:
        return self.times(other) if is_scalar(other) else self.product(other)

    def product_from_left(self, x: Value) -> Value:
        """`x @ self`."""
        whole = self.real(x)
        turned = Matrix(self.ev, self.transpose(), self.node)
        if whole.type.ndim == 1:
            return turned.product(whole)
        return self.ev.get_attribute(turned.product(self.ev.get_attribute(whole, "T", self.node)), "T", self.node)

    def real(self, x: Value) -> Any:
        """A value that has to be a real array."""
        whole = self.ev.materialise(self.ev.as_array(x, self.node) if isinstance(x, Tup | Lst) else x)
        if not isinstance(whole, Sym) or not isinstance(whole.type, Array):
            self.refuse(f"a product with {describe(x)}", "use real arrays")
        return whole

    def times(self, other: Value) -> Value:
        """The elements times a number, or those of an array."""
        if is_scalar(other):
            return self.with_data(self.ev.binary("*", self.parts[0], other, self.node))
        if isinstance(other, Record) and is_sparse(other):
            one, two = self.alike(other)
            return one.made(one.with_another(pairs.multiplied_elements, two, one.minors()))
        data, row, column = self.places()
        found = self.loops(loops.multiplied, data, row, column, self.extents, self.real(other))
        return self.made((found, row, column), "coo")

    def operator(self, fn: str, other: Value, from_left: bool) -> Value:
        """`self fn other`, or `other fn self`."""
        is_like_array = self.value.cls.like_array
        if fn == "@" or (fn == "*" and not is_like_array and not is_scalar(other)):
            return self.product_from_left(other) if from_left else self.product(other)
        if fn == "*":
            return self.times(other)
        if fn == "/" and not from_left and is_scalar(other):
            return self.with_data(self.ev.binary("/", self.parts[0], other, self.node))
        if fn in ("+", "-") and isinstance(other, Record) and is_sparse(other):
            one, two = self.alike(other)
            return one.made(one.with_another(pairs.added, two, one.minors(), number(1 if fn == "+" else -1)))
        if fn in ("+", "-") and is_array(other) and is_like_array:
            whole = self.toarray()
            return self.ev.binary(fn, *((other, whole) if from_left else (whole, other)), self.node)
        return self.refuse(f"`{fn}`", "compute with `A.toarray()`, or with `A.data`")

    def alike(self, other: Record) -> tuple[Matrix, Matrix]:
        """This matrix and another one, both compressed as this one is, or by rows."""
        kind = "csr" if self.kind == "coo" else self.kind
        one, two = (Matrix(self.ev, matrix, self.node).compressed(kind) for matrix in (self.value, other))
        return Matrix(self.ev, one, self.node), Matrix(self.ev, two, self.node)

    def minors(self) -> Value:
        """How many places a row of the matrix has, or a column that it is compressed by."""
        return self.extents.items[self.kind == "csr"]

    def with_another(self, function: Callable[..., Any], other: Matrix, *args: Value) -> tuple[Value, ...]:
        """The parts of what a function makes of two compressed matrices."""
        given = [*self.parts, self.extents, *other.parts, other.extents, *args]
        made = self.loops(function, *given)
        assert isinstance(made, Tup)
        return made.items

    def product_of_sparse(self, other: Record) -> Record:
        """`self @ other`, which is sparse."""
        one, two = self.alike(other)
        extents = self.extents.items[0], two.extents.items[1]
        if one.kind == "csr":
            return one.made(one.with_another(pairs.multiplied_matrices, two, two.minors()), extents=extents)
        # by columns, the product of the transposes in the other order
        left, right = (Matrix(self.ev, matrix.transpose(), self.node) for matrix in (two, one))
        made = left.with_another(pairs.multiplied_matrices, right, right.minors())
        return one.made(made, extents=extents)

    def toarray(self) -> Value:
        return self.loops(loops.dense, *self.places(), self.extents)

    def todense(self) -> Value:
        return self.toarray() if self.value.cls.like_array else self.refuse("`todense`", "use `toarray`")

    def diagonal(self, k: Value | None = None) -> Value:
        return self.loops(loops.diagonal, *self.places(), self.extents, k or number(0))

    def trace(self, offset: Value | None = None) -> Value:
        return self.loops(loops.trace, *self.places(), self.extents, offset or number(0))

    def sum(self, axis: Value | None = None) -> Value:
        data, row, column = self.places()
        if axis is None or is_none(axis):
            if self.kind == "coo":
                self.refuse("`sum`, which sorts its elements where they are,", "use `A.data.sum()`")
            return self.loops(loops.total, data, row)
        place = static_int(axis)
        if place not in (-2, -1, 0, 1):
            self.refuse("a sum along several axes", "use axis=0 or axis=1")
        if not self.value.cls.like_array:
            self.refuse("`sum` along an axis, which makes a matrix,", "use the class `csr_array`, or `A @ np.ones(n)`")
        over_rows = place in (-2, 0)
        return self.loops(loops.totals, data, column if over_rows else row, self.extents.items[over_rows])

    def mean(self, axis: Value | None = None) -> Value:
        rows, columns = self.extents.items
        if axis is None or is_none(axis):
            data, row, _ = self.places()
            total = self.loops(loops.total, data, row)
            return self.ev.binary("/", total, self.ev.binary("*", rows, columns), self.node)
        divisor = rows if static_int(axis) in (-2, 0) else columns
        return self.ev.binary("/", self.sum(axis), divisor, self.node)

    def copy(self) -> Record:
        return self.made(tuple(self.ev.call_object(np.copy, [part], {}, self.node) for part in self.parts))

    def tocoo(self) -> Record:
        data, row, column = self.places()
        return self.made((self.ev.call_object(np.copy, [data], {}, self.node), row, column), "coo")

    def tocsr(self) -> Record:
        return self.compressed("csr")

    def tocsc(self) -> Record:
        return self.compressed("csc")

    def compressed(self, kind: str) -> Record:
        if self.kind == kind:
            return self.value
        rows, columns = self.extents.items if kind == "csr" else self.extents.items[::-1]
        data, first, second = self.parts
        if self.kind == "coo":
            first, second = (first, second) if kind == "csr" else (second, first)
            made = self.loops(loops.compressed, data, first, second, rows, columns)
        else:
            made = self.loops(loops.turned, data, first, second, rows)
        assert isinstance(made, Tup)
        return self.made(made.items, kind)

    def solve(self, b: Value) -> Value:
        """The solution of a system with the matrix."""
        if is_sparse(b):
            self.refuse("a system whose right side is sparse", "pass `B.toarray()`")
        one = Matrix(self.ev, self.tocsc(), self.node) if self.kind == "coo" else self
        return self.loops(loops.solution, *one.parts, self.extents, self.real(b), number(one.kind == "csr"))


_PRODUCTS = {
    "csr": loops.product_by_rows,
    "csc": loops.product_by_columns,
    "coo": loops.product_by_elements,
}

# methods with their parameters, and how many of them are needed
METHODS: dict[str, tuple[tuple[str, ...], int, Callable[..., Value]]] = {
    "dot": (("other",), 1, Matrix.dot),
    "multiply": (("other",), 1, Matrix.times),
    "transpose": ((), 0, Matrix.transpose),
    "toarray": ((), 0, Matrix.toarray),
    "todense": ((), 0, Matrix.todense),
    "diagonal": (("k",), 0, Matrix.diagonal),
    "trace": (("offset",), 0, Matrix.trace),
    "sum": (("axis",), 0, Matrix.sum),
    "mean": (("axis",), 0, Matrix.mean),
    "copy": ((), 0, Matrix.copy),
    "tocoo": ((), 0, Matrix.tocoo),
    "tocsr": ((), 0, Matrix.tocsr),
    "tocsc": ((), 0, Matrix.tocsc),
}


def attribute(ev: Evaluator, owner: Record, attr: str, node: Any) -> Value:
    """`A.attr`."""
    matrix, names = Matrix(ev, owner, node), owner.cls.object_names[:3]
    if attr in names:
        return owner.items[names.index(attr)]
    if attr in METHODS:
        return Method(owner, attr)
    match attr:
        case "shape":
            return matrix.extents
        case "T":
            return matrix.transpose()
        case "ndim":
            return number(2)
        case "format":
            return Static(matrix.kind)
        case "dtype":
            return ev.get_attribute(owner.items[0], "dtype", node)
        case "coords" if matrix.kind == "coo":
            return Tup(owner.items[1:3])
        case "nnz" | "size":
            if matrix.kind == "coo":
                return ev.length(owner.items[0], node)
            return matrix.loops(loops.count, owner.items[2])
        case "__class__":
            return Static(owner.cls.object_class)
    return matrix.refuse(f"`{attr}`", "compute with `A.data`, or with `A.toarray()`")


def method(ev: Evaluator, owner: Record, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`A.name(...)`."""
    params, needed, make = METHODS[name]
    given = dict(zip(params, args, strict=False)) | kwargs
    if len(args) > len(params) or not given.keys() <= {*params} or not given.keys() >= {*params[:needed]}:
        title = f"{owner.cls.object_class.__name__}.{name}"
        taken = ", ".join(f"`{one}`" for one in params) or "no arguments"
        ev.fail(TypeMismatch, f"wrong arguments for `{title}`", node, hint=f"it takes {taken} here")
    return make(Matrix(ev, owner, node), **given)


def operator(ev: Evaluator, fn: str, left: Value, right: Value, node: Any) -> Value:
    """An operator of which one side at least is a sparse matrix."""
    if isinstance(left, Record) and is_sparse(left):
        return Matrix(ev, left, node).operator(fn, right, False)
    assert isinstance(right, Record)
    return Matrix(ev, right, node).operator(fn, left, True)


def unary(ev: Evaluator, fn: str, value: Record, node: Any) -> Value:
    """`-A`."""
    matrix = Matrix(ev, value, node)
    return matrix.times(number(-1)) if fn == "neg" else matrix.refuse(f"`{fn}`", "compute with `A.data`")
