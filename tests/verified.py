"""What every pass leaves behind is well formed; the whole suite and the fuzzers ask after each one."""

from __future__ import annotations

from tapec.optimise.driver import Watcher, name_of
from tapec.optimise.passes import IN_STATEMENTS, READABLE
from tapec.syntax.core import Function
from tapec.syntax.verify import faults

# what comes after names have been joined sees those of the user
_JOINED = IN_STATEMENTS[[name_of(change) for change in IN_STATEMENTS].index("coalesce") :]
_READABLE = {name_of(change) for change in (*READABLE, *_JOINED)}


class Verified(Watcher):
    """Raises AssertionError at the pass that leaves a program which is not well formed."""

    def ran(self, name: str, before: Function, after: Function, constants: frozenset[str], seconds: float) -> None:
        unchanged = after.body is before.body and after.params == before.params and after.types == before.types
        if unchanged and name != "to_ssa":
            return
        found = faults(after, constants, single=name == "to_ssa", readable=name in _READABLE)
        assert not found, f"{name} leaves a program that is not well formed: {'; '.join(found)}"
