"""Partial derivatives stored where the matrix has them, in the order of a run.

    t = u[i - 1] * u[i]                  values[places[count]] = rate * u[i]
    r[i] = rate * t             ->       values[places[count + 1]] = rate * u[i - 1]
                                         count = count + 2

Which derivatives those are, `local_partials` says; where they go, `recorded_partials` has found.
"""

from __future__ import annotations

from tapec.syntax.core import Const, For, Function, If, Name, Op, Return, Store
from tapec.syntax.types import BOOL, INT64, Array, Scalar
from tapec.transforms.decision_digests import digest_of
from tapec.transforms.emitter import Emitter
from tapec.transforms.local_partials import LocalPartials, with_carried
from tapec.transforms.meeting_partials import Read, Stored
from tapec.transforms.ssa import to_ssa


def stored_partials(
    function: Function,
    sources: tuple[str, ...],
    constants: frozenset[str],
    integers: tuple[str, ...],
    dtype: str,
    adds: bool,
) -> Function:
    """The function that stores the values of the elements, and returns a digest of the decisions.

    integers  those among its parameters that decide anything
    dtype     of the values
    adds      whether an element may be met several times, or not at all

    Parameters beside those of the function:

    begins    int64: for each digest, where its places begin
    places    int32: where partial derivatives go in `values`, in the order of the run
    values    of the elements of the matrix
    traces    int64: the digests for which that is known; for others values are left as they are

    raises  NotLocal
    """
    return with_carried(lambda carried: _Values(function, sources, constants, carried, dtype, adds).elements(integers))


class _Values(LocalPartials):
    def __init__(
        self,
        function: Function,
        sources: tuple[str, ...],
        constants: frozenset[str],
        carried: dict[str, int],
        dtype: str,
        adds: bool,
    ) -> None:
        super().__init__(function, sources, constants, carried)
        self.adds = adds
        kinds = {"begins": "int64", "places": "int64", "values": dtype, "traces": "int64"}
        self.given = {
            name: Name(self.out.fresh(name, Array(kind, 1, "C")))
            for name, kind in kinds.items()
        }
        self.count = self.out.fresh("count", INT64)

    def elements(self, integers: tuple[str, ...]) -> Function:
        out, given = self.out, self.given
        trace = out.let("trace", Op("tapec_runtime.noted", (digest_of(integers, out), Const(0))), INT64)
        out.assign(self.count, Const(-1))
        each, k = out.child(), Name(out.fresh("k", INT64))
        same = each.atom(Op("==", (Op("load", (given["traces"], k)), trace)))
        inner = each.child()
        inner.assign(self.count, inner.let("t", Op("load", (given["begins"], k)), INT64))
        each.add(If(same, tuple(inner.out), (), out.span))
        size = out.let("size", Op("dim", (given["traces"], Const(0))), INT64)
        out.add(For(k.id, Const(0), size, Const(1), tuple(each.out), span=out.span))
        body = out.child()
        values = given["values"].id
        kind = self.types[values]
        assert isinstance(kind, Array)
        zero = body.cast(Const(0.0), kind.element) if self.adds else None
        if zero is not None:
            body.each(values, lambda one, index: one.add(Store(values, index, zero)))
        for source in self.sources:
            if isinstance(self.types[source], Scalar):
                self.number(source, {Read(): Const(1.0)}, None)
        self.follow(self.function.body[:-1], body)
        self.results_stored(body)
        known = out.let("known", Op(">=", (Name(self.count), Const(0))), BOOL)
        out.add(If(known, tuple(body.out), (), out.span))
        params = (*self.function.params, *(name.id for name in given.values()))
        whole = (*out.out, Return((trace,)))
        return to_ssa(Function(f"{self.function.name}_elements", params, whole, self.types), self.constants)

    def write(self, stored: Stored, out: Emitter) -> None:
        values = self.given["values"].id
        kind = self.types[values]
        assert isinstance(kind, Array)
        for k, value in enumerate(stored.partials.values()):
            number = out.atom(Op("+", (Name(self.count), Const(k)))) if k else Name(self.count)
            place = out.let("place", Op("load", (self.given["places"], number)), INT64)
            out.add(Store(values, (place,), out.atom(value, kind.element), self.adds, out.span))
        if stored.partials:
            out.assign(self.count, Op("+", (Name(self.count), Const(len(stored.partials)))))
