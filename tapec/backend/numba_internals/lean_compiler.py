"""Numba's compiler, less what generated functions never need.

Generated functions define no functions inside, and most have no array expressions left.  The passes that
look for those take a twelfth of the time that Numba needs.

Where Numba or llvmlite is built otherwise than expected, its own way is taken.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import numpy as np
from llvmlite import binding
from numba.core import codegen, compiler, ir, typed_passes, types, untyped_passes
from numba.core.compiler_machinery import register_pass
from numba.np.ufunc.dufunc import DUFunc

from tapec.backend.numba_internals import argument_classes, direct_calls
from tapec.backend.numba_internals.lean_lowering import Lower
from tapec.backend.numba_internals.linked_functions import is_part_of_numba, linked
from tapec.backend.numba_internals.operator_types import remembered
from tapec.backend.numba_internals.single_assignments import SingleAssignments, known_lives
from tapec.options import Options
from tapec_runtime.locking import compiling


class Library(codegen.JITCodeLibrary):
    """A library that optimises functions one by one only where it matters.

    All of them are optimised together later.  For the function itself once is not enough: vectorised loops and
    eliminations become up to twice as slow.  For what takes its arguments from Python and gives results back, it is.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        owner: Any = self._codegen
        manager = getattr(binding, "FunctionPassManager", None)
        if not hasattr(manager, "add_sroa_pass") or not hasattr(owner, "_pass_builder"):
            super()._optimize_functions(ll_module)
            return
        ll_module.data_layout = owner._data_layout
        passes, builder = owner._function_pass_manager()
        if ll_module.name == "wrapper":
            passes = binding.create_new_function_pass_manager()
            passes.add_sroa_pass()
            passes.add_simplify_cfg_pass()
            passes.add_instruction_combine_pass()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineClosures(untyped_passes.InlineClosureLikes):
    """Numba's pass, for functions that may have something for it."""

    _name = "tapec_inline_closures"

    def run_pass(self, state: Any) -> bool:
        code: CodeType = state.func_id.code
        inner = any(isinstance(constant, CodeType) for constant in code.co_consts)
        return bool(super().run_pass(state)) if inner or _names_array(state) else False


@register_pass(mutates_CFG=True, analysis_only=False)
class Inference(typed_passes.NopythonTypeInference):
    """Numba's pass, with operators that it has met before, and calls that need no functions of Numba's."""

    _name = "tapec_inference"

    def run_pass(self, state: Any) -> bool:
        direct_calls.redirect(state.func_ir)
        with remembered(state.typingctx):
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class Rewrites(typed_passes.NopythonRewrites):
    """Numba's pass after inference, for functions that may have something for it."""

    _name = "tapec_rewrites"

    def run_pass(self, state: Any) -> bool:
        return bool(super().run_pass(state)) if _names_array(state) or _has_array_expression(state) else False


@register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(typed_passes.NativeLowering):
    """Numba's pass, into a library of ours."""

    _name = "tapec_lowering"

    @property
    def lowering_class(self) -> Any:
        return Lower

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            state.library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class ParallelLowering(typed_passes.NativeParforLowering):
    """Numba's pass for functions with loops that run on threads."""

    _name = "tapec_parallel_lowering"

    @property
    def lowering_class(self) -> Any:
        return argument_classes.ParallelLower


_REPLACED = {
    untyped_passes.InlineClosureLikes: InlineClosures,
    untyped_passes.ReconstructSSA: SingleAssignments,
    typed_passes.NopythonTypeInference: Inference,
    typed_passes.NopythonRewrites: Rewrites,
    typed_passes.NativeLowering: Lowering,
}


def flags(options: Options) -> dict[str, Any]:
    """What to call `numba.njit` with for a generated function."""
    if options.threads:
        return {**options.flags, "pipeline_class": ParallelCompiler}
    return {**options.flags, "pipeline_class": Compiler, "no_cfunc_wrapper": True}


class ParallelCompiler(compiler.CompilerBase):  # type: ignore[misc, unused-ignore]
    """What `numba.njit` takes as `pipeline_class` for a function with loops that run on threads."""

    replaced: dict[Any, Any] = {typed_passes.NativeParforLowering: ParallelLowering}

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(self.replaced.get(kind, kind), about) for kind, about in passes.passes]
        passes.finalize()
        return [passes]


class Compiler(ParallelCompiler):
    """The same for all other functions."""

    replaced = _REPLACED

    def compile_extra(self, func: Any) -> Any:
        with uncollected(), known_lives(), linked(is_part_of_numba):
            return super().compile_extra(func)


@compiling
def with_c_entry(result: Any) -> Any:
    """A compilation result in whose library a pointer to the function can be had, as C would call it.

    Numba makes that entry for every function; generated functions get it when it is asked for.
    """
    context, described = result.target_context, result.fndesc
    library = context.codegen().create_library(described.llvm_cfunc_wrapper_name)
    with context.push_code_library(library):
        context.create_cfunc_wrapper(library, described, result.environment, result.call_helper)
    library.add_linking_library(result.library)
    library.finalize()
    return result._replace(library=library)


def _names_array(state: Any) -> bool:
    """Whether a function may call `np.array`, some of whose calls Numba writes out."""
    return "array" in state.func_id.code.co_names


def _has_array_expression(state: Any) -> bool:
    """Whether a typed function has an operation on whole arrays, which Numba makes a loop."""
    known = state.typemap
    for block in state.func_ir.blocks.values():
        for assigned in block.find_insts(ir.Assign):
            value = assigned.value
            if isinstance(value, ir.Expr) and isinstance(known.get(assigned.target.name), types.Array):
                if value.op in ("unary", "binop"):
                    return True
                if value.op == "call" and _is_ufunc(known[value.func.name]):
                    return True
    return False


def _is_ufunc(kind: Any) -> bool:
    return isinstance(getattr(kind, "typing_key", None), np.ufunc | DUFunc)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's search for cycles, which goes through all that a compilation holds, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
