"""Functions that compiled code alone calls, without machine code of their own.

For each type of argument of `np.sum` and the like, Numba compiles functions, and for each of those machine code and
two entries for callers outside.  Nobody is outside: what calls them has their LLVM code linked in, and makes machine
code of that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding
from numba.core import codegen, dispatcher, typed_passes

_PASS: Any = typed_passes.BaseNativeLowering  # type: ignore[attr-defined, unused-ignore]
# an environment, which a function reads in whichever module it ends up, is a variable of such a name
_ENVIRONMENT = "_ZN08NumbaEnv"
# and the address of a function that calls itself, through others
_UNRESOLVED = codegen.RuntimeLinker.PREFIX


class LinkedLibrary(codegen.JITCodeLibrary):
    """The code of a function, to be linked."""

    def _finalize_final_module(self) -> None:
        variables = list(self._final_module.global_variables)
        if any(one.name.startswith(_UNRESOLVED) for one in variables):
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        environments = [one for one in variables if one.name.startswith(_ENVIRONMENT)]
        if environments:
            owner: Any = self._codegen
            text = "\n".join((f'target triple = "{self._final_module.triple}"', *map(str, environments)))
            owner._add_module(binding.parse_assembly(text))
            owner._engine.finalize_object()
        self._finalized = True


@contextmanager
def linked(chosen: Callable[[Any], bool]) -> Iterator[None]:
    """A while in which functions that are compiled have no machine code where they are `chosen`."""
    run = _PASS.run_pass

    def run_pass(self: Any, state: Any) -> bool:
        if state.library is not None or not chosen(state.func_id.func):
            return bool(run(self, state))
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        flags = state.flags
        state.flags = flags.copy()
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        try:
            return bool(run(self, state))
        finally:
            state.flags = flags

    if run.__name__ == run_pass.__name__ and run.__module__ == __name__:
        yield  # a compilation inside another one
        return
    _PASS.run_pass = run_pass
    try:
        yield
    finally:
        _PASS.run_pass = run


def is_part_of_numba(function: Any) -> bool:
    """Whether a function is one of Numba's, and none that Python calls."""
    module = function.__module__ or ""
    if not module.startswith("numba."):
        return False
    return not isinstance(getattr(sys.modules.get(module), function.__qualname__, None), dispatcher.Dispatcher)
