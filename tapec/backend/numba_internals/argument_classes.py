"""Arguments whose class decides what they mean, refused where compiled code takes them from Python.

Numba's C code finds the type of an argument by what it holds: a float of any class is a float, also in a tuple, and
after the first one nobody asks Python again.  So the code that unboxes a number or tuple looks at its class.  For
those of Python itself that is one comparison of addresses; of another class a flag says whether a program defines it,
and then Python code is asked, at every call (`derived_classes.py`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, lowering
from numba.core import types as nt
from numba.core.callwrapper import PyCallWrapper
from numba.core.pythonapi import NativeValue
from numba.parfors.parfor_lowering import ParforLower

from tapec.frontend.structures import derived_classes

_BIT, _WORD = ir.IntType(1), ir.IntType(64)
# an object ends its head with its class
_CLASS_OFFSET = object.__basicsize__ - tuple.__itemsize__


class LookingLower(lowering.Lower):  # type: ignore[misc, unused-ignore]
    """Numba's lowering of a typed function, which looks at the classes of its arguments."""

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        context, described = self.context, self.fndesc
        module = context.create_module("wrapper")
        kind = context.call_conv.get_function_type(described.restype, described.argtypes)
        called = ir.Function(module, kind, described.llvm_func_name)
        _Wrapper(context, module, called, described, self.env, self.call_helper, release_gil).build()
        self.library.add_ir_module(module)


class ParallelLower(LookingLower, ParforLower):  # type: ignore[misc, unused-ignore]
    """The same for a function with loops that run on threads."""


class _Wrapper(PyCallWrapper):  # type: ignore[misc, unused-ignore]
    """What takes the arguments of a function from Python."""

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        given = zip(self.fndesc.args, self.fndesc.argtypes, strict=True)
        names = iter([name for name, kind in given if not isinstance(kind, nt.Omitted)])
        unbox, around = api.to_native_value, ""

        def unboxed(kind: Any, value: Any) -> Any:
            nonlocal around
            outer, name = around, around or next(names)
            around = name
            native = unbox(kind, value)
            around = outer
            exact = _exact(kind)
            return native if exact is None else self._looked_at(api, native, value, exact, name)

        api.to_native_value = unboxed
        super().build_wrapper(api, builder, closure, args, kws)

    def _looked_at(self, api: Any, native: Any, value: Any, exact: str, name: str) -> Any:
        """What was unboxed: an error, too, if the class of the argument called `name` gives it another meaning."""
        builder = api.builder
        failed = cgutils.alloca_once_value(builder, native.is_error)
        place = cgutils.pointer_add(builder, value, _CLASS_OFFSET, value.type.as_pointer())
        other = builder.icmp_unsigned("!=", builder.load(place), api.get_c_object(exact))
        with builder.if_then(builder.and_(other, builder.not_(native.is_error)), likely=False):
            label = self.context.insert_const_string(self.module, name)
            builder.store(builder.call(self._is_refused(), [value, label]), failed)
        return NativeValue(native.value, is_error=builder.load(failed), cleanup=native.cleanup)

    def _is_refused(self) -> Any:
        """A function of an object and its name: whether it is refused, with the exception set."""
        name = "tapec.is_refused"
        if name in self.module.globals:
            return self.module.globals[name]
        text = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(_BIT, [self.context.get_argument_type(nt.pyobject), text])
        function = ir.Function(self.module, kind, name)
        function.linkage = "internal"
        builder = ir.IRBuilder(function.append_basic_block())
        api = self.context.get_python_api(builder)
        value, label = function.args
        flags = cgutils.get_or_insert_function(self.module, ir.FunctionType(_WORD, [value.type]), "PyType_GetFlags")
        found = builder.call(flags, [api.get_type(value)])
        defined = builder.icmp_unsigned("!=", builder.and_(found, _WORD(derived_classes.HEAP)), _WORD(0))
        with builder.if_then(builder.not_(defined)):
            builder.ret(_BIT(0))
        module = api.import_module(self.context.insert_const_string(self.module, derived_classes.__name__))
        asked = api.object_getattr_string(module, derived_classes.check_argument.__name__)
        spoken = api.string_from_string(label)
        builder.ret(cgutils.is_null(builder, api.call_function_objargs(asked, [value, spoken])))
        return function


def _exact(kind: Any) -> str | None:
    """The class of Python's own that most arguments of a type have; None where a class gives no other meaning."""
    if isinstance(kind, nt.BaseTuple):
        return None if isinstance(kind, nt.BaseNamedTuple) else "PyTuple_Type"
    names = {nt.Float: "PyFloat_Type", nt.Integer: "PyLong_Type", nt.Complex: "PyComplex_Type"}
    return next((name for one, name in names.items() if isinstance(kind, one)), None)
