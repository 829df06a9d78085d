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

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from tapec_runtime.addresses import PREFIX, call_loop, known_address, loop_of
from tapec_runtime.incomplete_functions import _betainc_slope_a, _betainc_slope_b, _gammainc_slope  # noqa: F401
from tapec_runtime.registration import register

# how many numbers each takes
ARITIES = {
    1: "bei beip ber berp cosdg cosm1 cotdg dawsn ellipe ellipk ellipkm1 entr erfcinv erfcx erfi erfinv exp1"
    " exp10 expi expit exprel gamma gammaln i0 i0e i1 i1e it2struve0 itmodstruve0 itstruve0 j0 j1 k0 k0e k1"
    " k1e kei keip ker kerp kolmogi kolmogorov log_expit log_ndtr loggamma logit ndtr ndtri ndtri_exp psi"
    " rgamma sindg spence tandg wrightomega y0 y1 zetac",
    2: "agm beta betaln binom boxcox boxcox1p chdtr chdtrc chdtri chdtriv ellipeinc ellipkinc elliprc"
    " eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_laguerre eval_legendre eval_sh_chebyt"
    " eval_sh_chebyu eval_sh_legendre expn gammainc gammaincc gammainccinv gammaincinv huber hyp0f1 inv_boxcox"
    " inv_boxcox1p iv ive jv jve kl_div kn kv kve modstruve owens_t pdtr pdtrc pdtrik poch powm1 pseudo_huber"
    " rel_entr stdtr stdtridf stdtrit struve tklmbda xlog1py xlogy yn yv yve",
    3: "bdtrik bdtrin besselpoly betainc betaincc betainccinv betaincinv btdtria btdtrib chndtr chndtrinc"
    " chndtrix elliprd elliprf elliprg eval_gegenbauer eval_genlaguerre fdtr fdtrc fdtri fdtridfd gdtr gdtrc"
    " gdtria gdtrib gdtrix hyp1f1 hyperu log_wright_bessel lpmv nbdtr nbdtrc nbdtrik nbdtrin nrdtrimn nrdtrisd"
    " voigt_profile wright_bessel",
    4: "eval_jacobi eval_sh_jacobi hyp2f1 ncfdtr ncfdtri ncfdtrinc",
}
# functions of several results, or of complex numbers, or that Cython does not have: a ufunc of SciPy's, a loop of it,
# and which of the real numbers that it gives is meant; complex numbers are two
LOOPS: dict[str, tuple[str, str, int]] = {
    **{f"sici_{k}": ("sici", "d->dd", k) for k in range(2)},
    **{f"shichi_{k}": ("shichi", "d->dd", k) for k in range(2)},
    **{f"fresnel_{k}": ("fresnel", "d->dd", k) for k in range(2)},
    **{f"airy_{k}": ("airy", "d->dddd", k) for k in range(4)},
    **{f"ellipj_{k}": ("ellipj", "dd->dddd", k) for k in range(4)},
    **{f"itj0y0_{k}": ("itj0y0", "d->dd", k) for k in range(2)},
    **{f"iti0k0_{k}": ("iti0k0", "d->dd", k) for k in range(2)},
    **{f"{name}_{k}": (name, "d->dd", k) for name in ("it2j0y0", "it2i0k0") for k in range(2)},
    **{f"{name}_{k}": (name, "d->dddd", k) for name in ("airye", "itairy") for k in range(4)},
    **{f"{name}_{k}": (name, "dd->dd", k) for name in ("pbdv", "pbvv", "pbwa") for k in range(2)},
    **{f"wofz_{k}": ("wofz", "D->D", k) for k in range(2)},
    "_zeta": ("_zeta", "dd->d", 0),
    "_riemann_zeta": ("_riemann_zeta", "d->d", 0),
    "_kolmogp": ("_kolmogp", "d->d", 0),
    **{name: (name, "ld->d", 0) for name in ("_spherical_jn", "_spherical_yn", "_spherical_in", "_spherical_kn")},
    **{name: (name, "ld->d", 0) for name in ("smirnov", "smirnovi", "_smirnovp")},
    **{name: (name, "ld->d", 0) for name in ("eval_hermite", "eval_hermitenorm", "pdtri")},
    **{name: (name, "dld->d", 0) for name in ("bdtr", "bdtrc", "bdtri")},
    "nbdtri": ("nbdtri", "lld->d", 0),
}


def __getattr__(name: str) -> int:
    """The address of a C function, or of the data of a loop, as compiled code asks for it."""
    if not name.startswith(PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function, _, data = name.removeprefix(PREFIX).partition("__")
    # names may begin with an underscore
    if name.removeprefix(PREFIX).startswith("_"):
        function, _, data = name.removeprefix(f"{PREFIX}_").partition("__")
        function = f"_{function}"
    if function in LOOPS:
        home, kind, _ = LOOPS[function]
        return loop_of(_ufunc(home), kind)[data == "data"]
    return address(function)


def _ufunc(name: str) -> Any:
    import scipy.special._ufuncs

    return getattr(scipy.special._ufuncs, name)


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

    def of_several(*numbers: Any) -> Any:
        ufunc, kind, wanted = LOOPS[name]
        pairs = zip(kind, numbers, strict=False)
        given = [np.asarray(number).astype(int) if one == "l" else number for one, number in pairs]
        if kind.startswith("D"):
            given = [numbers[0] + 1j * np.asarray(numbers[1])]
        made = _ufunc(ufunc)(*given)
        if kind.endswith("D"):
            return np.asarray((made.real, made.imag)[wanted])[()]
        return made[wanted] if isinstance(made, tuple) else made

    made = of_several if name in LOOPS else function
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"`scipy.special.{LOOPS[name][0] if name in LOOPS else name}`, also in compiled code."
    return made


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
    missing = f"compiled code needs SciPy with scipy.special.{name}"

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        numbers = [
            context.cast(builder, arg, given, types.float64) for arg, given in zip(args, signature.args, strict=True)
        ]
        pointer = known_address(context, builder, __name__, name, missing)
        if name in LOOPS:
            found = _by_loop(context, builder, name, pointer, numbers, missing)
        else:
            kind = ir.FunctionType(double, [*[double] * len(args), ir.IntType(32)])
            function = builder.bitcast(pointer, kind.as_pointer())
            found = builder.call(function, [*numbers, ir.Constant(ir.IntType(32), 0)])
        return context.cast(builder, found, types.float64, signature.return_type)

    return lower


def _by_loop(context: Any, builder: Any, name: str, loop: Any, numbers: list[Any], missing: str) -> Any:
    """The result of a ufunc's loop that is run once."""
    _, kind, wanted = LOOPS[name]
    taken, _, given = kind.partition("->")
    data = known_address(context, builder, __name__, f"{name}__data", missing)
    room = cgutils.alloca_once(builder, ir.DoubleType(), size=_width(taken) + _width(given))
    places, offset = [], 0
    for letter in taken + given:
        places.append(_at(builder, room, offset))
        offset += _width(letter)
    for letter, place in zip(_numbers_of(taken), range(_width(taken)), strict=True):
        number, pointer = numbers[place], _at(builder, room, place)
        if letter == "l":
            number = builder.fptosi(number, ir.IntType(8 * ctypes.sizeof(ctypes.c_long)))
            pointer = builder.bitcast(pointer, number.type.as_pointer())
        builder.store(number, pointer)
    step = ir.Constant(ir.IntType(64), 0)
    call_loop(builder, loop, data, places, [ir.Constant(ir.IntType(64), 1)], [step] * len(places))
    return builder.load(_at(builder, room, _width(taken) + wanted))


def _at(builder: Any, room: Any, offset: int) -> Any:
    return builder.gep(room, [ir.Constant(ir.IntType(32), offset)])


def _numbers_of(kind: str) -> str:
    """A letter for each real number of operands: a complex one has two."""
    return kind.replace("D", "dd")


def _width(kind: str) -> int:
    return len(_numbers_of(kind))


def _taken() -> dict[str, int]:
    """How many numbers each function takes."""
    plain = {name: count for count, names in ARITIES.items() for name in names.split()}
    return plain | {name: _width(kind.partition("->")[0]) for name, (_, kind, _) in LOOPS.items()}


for _name, _count in _taken().items():
    globals()[_name] = _called(_name)
    register(globals()[_name], _resolving(_count), _lowering(_name), *[types.Any] * _count)
