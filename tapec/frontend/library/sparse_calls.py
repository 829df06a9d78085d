"""Functions and classes of `scipy.sparse`: systems, tests of classes, and matrices that a program makes."""

from __future__ import annotations

import sys
from typing import Any

from tapec.errors import UnsupportedFunction, UnsupportedType
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import NONE, Lst, Record, Tup, Value, describe, number
from tapec.frontend.library.argument_checks import in_order
from tapec.frontend.structures.sparse_classes import classes, stand_in
from tapec.frontend.structures.sparse_matrices import Matrix, is_sparse


def call(ev: Evaluator, obj: Any, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A function or class of `scipy.sparse` that is taken; None for other objects."""
    if not str(getattr(obj, "__module__", None)).startswith("scipy.sparse."):
        return None
    sparse: Any = sys.modules["scipy.sparse"]
    if obj in (sparse.issparse, sparse.isspmatrix):
        own = is_sparse(args[0]) and (obj is sparse.issparse or not args[0].cls.like_array)  # type: ignore[attr-defined]
        return number(own)
    solver = getattr(sys.modules.get("scipy.sparse.linalg"), "spsolve", None)
    if obj is solver:
        matrix, b, *_ = in_order(ev, ("A", "b"), "spsolve", args, kwargs, node, needed=2)
        if not isinstance(matrix, Record) or not is_sparse(matrix):
            ev.fail(UnsupportedType, f"`spsolve` needs a sparse matrix, not {describe(matrix)}", node)
        return Matrix(ev, matrix, node).solve(b)
    if obj in classes().values():
        return _constructed(ev, obj, args, kwargs, node)
    return None


def _constructed(ev: Evaluator, cls: Any, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`csr_array((data, indices, indptr), shape=...)`, `coo_array((data, (row, column)), shape=...)`."""
    given, shape = in_order(ev, ("arg1", "shape"), cls.__name__, args, kwargs, node, needed=1, gaps={"shape": NONE})
    made = stand_in(cls)
    if isinstance(given, Record) and is_sparse(given):
        found = Matrix(ev, given, node)
        one = Matrix(ev, found.tocoo() if made.sparse == "coo" else found.compressed(made.sparse), node)
        return Record(Matrix(ev, one.value, node).copy().items, made)
    if not isinstance(given, Tup) or len(given.items) not in (2, 3) or not isinstance(shape, Tup):
        ev.fail(
            UnsupportedFunction,
            f"`{cls.__name__}` is made of {describe(given)}",
            node,
            reason="where its elements stand has to be known apart from their values",
            hint="make it of (data, (row, column)) or (data, indices, indptr), with `shape=`",
        )
    arrays = [ev.materialise(ev.as_array(one, node) if isinstance(one, Tup | Lst) else one) for one in _flat(given)]
    rows, columns = shape.items
    if len(given.items) == 3:
        return Record((*arrays, rows, columns), made)
    coo = Record((*arrays, rows, columns), stand_in(classes()["coo", made.like_array]))
    return coo if made.sparse == "coo" else Matrix(ev, coo, node).compressed(made.sparse)


def _flat(given: Tup) -> list[Value]:
    return [one for item in given.items for one in (item.items if isinstance(item, Tup) else (item,))]
