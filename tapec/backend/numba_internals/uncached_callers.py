"""Keep jitted callers of a derivative out of Numba's own cache.

A user's `@njit(cache=True)` function that calls a derivative has the derivative's machine code
inside, but Numba's key covers the text of the user's file alone: an edit of the differentiated
function elsewhere would go unnoticed.  Numba does not cache code that holds an address of the running
process, which it sees by the name of a global variable.  A library with such a variable is linked
to every jitted caller, directly or through other functions.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba.core.registry import cpu_target

# the name that Numba looks for; what follows the last dot is free
_VARIABLE = "numba.dynamic.globals.tapec"


def mark(result: Any) -> None:
    """Link the variable to all code that calls this compilation result from now on."""
    context = cpu_target.target_context
    context.remove_user_function(result.entry_point)
    context.insert_user_function(result.entry_point, result.fndesc, [result.library, _library()])


@functools.cache
def _library() -> Any:
    """A library with nothing but the variable, and a function, without which Numba links no library."""
    library = cpu_target.target_context.codegen().create_library("tapec.uncached")
    module = library.create_ir_module("tapec.uncached")
    pointer = ir.IntType(8).as_pointer()
    variable = ir.GlobalVariable(module, pointer, _VARIABLE)
    variable.linkage = "linkonce"
    variable.initializer = ir.Constant(pointer, None)
    # the optimiser drops variables that nothing reads
    kind = ir.ArrayType(pointer, 1)
    used = ir.GlobalVariable(module, kind, "llvm.compiler.used")
    used.linkage = "appending"
    used.section = "llvm.metadata"
    used.initializer = ir.Constant(kind, [variable.bitcast(pointer)])
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), ()), "tapec.uncached.nothing")
    ir.IRBuilder(function.append_basic_block()).ret_void()
    library.add_ir_module(module)
    library.finalize()
    return library
