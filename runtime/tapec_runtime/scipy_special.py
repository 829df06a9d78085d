"""SciPy's special functions of real numbers, in compiled code.

Each function of `scipy.special` has a C function behind it, which Cython modules may call
(`scipy.special.cython_special`).  Compiled code asks for its address when it is first called, and keeps it.  So code
from a cache finds the functions of the SciPy that is there.  Threads of a `prange` that waits with Python's lock held
cannot ask: loops of ours that call these functions do not run on threads.

>>> float(jv(0.5, 1.0))
0.6713967071418031
"""

from __future__ import annotations

import ctypes
import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from tapec_runtime.registration import register

# how many numbers each takes
ARITIES = {
    1: "bei beip ber berp cosdg cosm1 cotdg dawsn ellipe ellipk ellipkm1 entr erfcinv erfcx erfi erfinv exp1 exp10 expi"
    " expit exprel gamma gammaln i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e kei keip ker kerp log_expit log_ndtr loggamma logit"
    " ndtr ndtri ndtri_exp psi rgamma sindg spence tandg wrightomega y0 y1",
    2: "beta betaln binom boxcox boxcox1p chdtr chdtrc chdtri expn gammainc gammaincc gammainccinv gammaincinv huber"
    " hyp0f1 inv_boxcox inv_boxcox1p iv ive jv jve kl_div kn kv kve modstruve owens_t pdtr pdtrc poch pseudo_huber"
    " rel_entr stdtr stdtrit struve xlog1py xlogy yn yv yve",
    3: "betainc betaincc betainccinv betaincinv elliprd fdtr fdtrc gdtr gdtrc hyp1f1 hyperu nbdtr nbdtrc"
    " wright_bessel",
    4: "hyp2f1",
}
# before the name of a function, the attribute of this module that is its address
_ADDRESS = "address_of_"


def __getattr__(name: str) -> int:
    """The address of a C function, as compiled code asks for it."""
    if not name.startswith(_ADDRESS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return address(name.removeprefix(_ADDRESS))


@cache
def address(name: str) -> int:
    """Where the C function of a function of `scipy.special` is, for numbers of type double.

    raises  ImportError without SciPy, or if it has none of that name
    """
    from scipy.special import cython_special

    named = ctypes.pythonapi.PyCapsule_GetName
    named.restype, named.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    count = next(number for number, names in ARITIES.items() if name in names.split())
    wanted = re.compile(rf"double \({', '.join(['double'] * count)}, int __pyx_skip_dispatch\)")
    for key, capsule in cython_special.__pyx_capi__.items():
        signature = named(capsule)
        if re.sub(r"^__pyx_fuse_\d+(_\d+)*", "", key) == name and wanted.fullmatch(signature.decode()):
            found = pointer(capsule, signature)
            assert isinstance(found, int)
            return found
    raise ImportError(f"this SciPy has no C function for scipy.special.{name}")


def _called(name: str) -> Callable[..., Any]:
    def function(*numbers: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*numbers)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.special.{name}`, also in compiled code."
    return function


def _resolving(count: int) -> Callable[..., Any]:
    def result(*numbers: Any) -> Any:
        if not all(isinstance(one, types.Number | types.Boolean) for one in numbers):
            return None
        floats = [one for one in numbers if isinstance(one, types.Float)]
        single = floats and len(floats) == len(numbers) and all(one == types.float32 for one in floats)
        return types.float32 if single else types.float64

    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    taken = inspect.Signature([inspect.Parameter(f"x{k}", place) for k in range(count)])
    result.__signature__ = taken  # type: ignore[attr-defined]
    return lambda _context: result


def _lowering(name: str) -> Callable[..., Any]:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        kind = ir.FunctionType(double, [*[double] * len(args), ir.IntType(32)])
        held = f"tapec_scipy_special_{name}"
        if held in builder.module.globals:
            known = builder.module.globals[held]
        else:
            known = cgutils.add_global_variable(builder.module, cgutils.voidptr_t, held)
            known.initializer, known.linkage = ir.Constant(cgutils.voidptr_t, None), "internal"
        with builder.if_then(cgutils.is_null(builder, builder.load(known)), likely=False):
            builder.store(_asked(context, builder, name), known)
            with builder.if_then(cgutils.is_null(builder, builder.load(known)), likely=False):
                message = f"compiled code needs SciPy with scipy.special.{name}"
                context.call_conv.return_user_exc(builder, ImportError, (message,))
        numbers = [
            context.cast(builder, arg, given, types.float64) for arg, given in zip(args, signature.args, strict=True)
        ]
        function = builder.bitcast(builder.load(known), kind.as_pointer())
        found = builder.call(function, [*numbers, ir.Constant(ir.IntType(32), 0)])
        return context.cast(builder, found, types.float64, signature.return_type)

    return lower


def _asked(context: Any, builder: Any, name: str) -> Any:
    """The address, from Python; null if there is none."""
    python = context.get_python_api(builder)
    lock = python.gil_ensure()
    module = python.import_module(context.insert_const_string(builder.module, __name__))
    found = cgutils.alloca_once_value(builder, ir.Constant(cgutils.voidptr_t, None))
    with builder.if_then(cgutils.is_not_null(builder, module)):
        number = python.object_getattr_string(module, f"{_ADDRESS}{name}")
        with builder.if_then(cgutils.is_not_null(builder, number)):
            builder.store(python.long_as_voidptr(number), found)
            python.decref(number)
        python.decref(module)
    python.err_clear()
    python.gil_release(lock)
    return builder.load(found)


for _count, _names in ARITIES.items():
    for _name in _names.split():
        globals()[_name] = _called(_name)
        register(globals()[_name], _resolving(_count), _lowering(_name), *[types.Any] * _count)
