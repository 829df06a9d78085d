"""Elementary functions that stay fast in loops.

Numba calls the C library for `exp` and the like, one number at a time.  So do the functions declared
here; but each call tells LLVM the name of a function that does the same for a whole vector
("vector function ABI").  Where LLVM vectorises a loop it calls that one, which is written as a formula
(`machine_numbers.py`) and inlined into the loop afterwards (`vector_calls.py`).  In other places nothing changes.

On processors without fused multiplication all calls go to the C library.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from tapec_runtime import machine_loops, vector_calls
from tapec_runtime.machine_numbers import Lane
from tapec_runtime.registration import register


@dataclass(frozen=True)
class Usual:
    """A result that is good for usual arguments.

    result  in all lanes
    good    in which lanes it is good; nearly always in all
    rest    makes the result of the other lanes, in code that runs only where there are some; the C library
            computes them if it is None
    """

    result: Lane
    good: Lane
    rest: Callable[[], Lane | Usual] | None = None


Formula = Callable[..., Lane | Usual]

_DOUBLE = ir.DoubleType()
_FLOAT = ir.FloatType()
_PURE = ("nounwind", "willreturn", "readnone")


def elementwise(
    symbol: str, library: Callable[..., Any], scalar: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Declare a function by the formula that stands below; jitted code and Python can call it.

    symbol   the C library's function for float64; the one for float32 has an `f` behind
    library  what a call from Python calls
    scalar   a function of one number that jitted code calls where the C library has none; then `symbol` is a
             new name

    Where the formula says that its result is not good and has no other one, the C library or `scalar` computes it.
    """

    def declare(formula: Formula) -> Callable[..., Any]:
        def function(*args: Any) -> Any:
            return library(*args)

        function.__name__ = function.__qualname__ = formula.__name__
        function.__module__ = formula.__module__
        function.__doc__ = formula.__doc__
        code = _Code(formula, symbol, scalar)
        register(function, code.resolve, code.lower, *[types.Any] * code.arity)
        return function

    return declare


def _vector_widths(codegen: Any) -> tuple[int, ...]:
    """How many float64 the vectors of the target processor hold; none without fused multiplication."""
    triple, _, features = codegen.magic_tuple()
    if "+fma" in features.split(","):
        return (4, 8) if "+avx512f" in features.split(",") else (4,)
    return (2,) if triple.startswith(("aarch64", "arm64")) else ()


def _widen(function: Any, blocks: list[Any]) -> None:
    """Ask for vectors of 512 bits where formulas stand in outermost loops only.

    For Intel's processors LLVM prefers half of that, which suits loads and sums; formulas take up to half the time on
    whole vectors.  Loops inside others are often short, and vectors as long as them leave more elements over.
    """
    loops = machine_loops.found(machine_loops.successors(function)).values()
    depths = {sum(block in inside for _, inside in loops) for block in blocks}
    if depths - {0} == {1}:
        # llvmlite's own list has no attributes with values
        set.add(function.attributes, '"prefer-vector-width"="512"')


class _Code:
    """The machine code of one function."""

    def __init__(self, formula: Formula, symbol: str, scalar: Callable[..., Any] | None) -> None:
        self.formula = formula
        self.symbol = symbol
        self.own = scalar
        self.arity = formula.__code__.co_argcount

    def resolve(self, context: Any) -> Callable[..., Any]:
        """The type of a call: float32 for such arguments, float64 for other real numbers."""

        def result(*args: Any) -> Any:
            if not all(isinstance(arg, types.Integer | types.Float | types.Boolean) for arg in args):
                return None
            return types.float32 if all(arg == types.float32 for arg in args) else types.float64

        # Numba binds the arguments of a call to the parameters
        return (lambda x, z: result(x, z)) if self.arity == 2 else (lambda x: result(x))

    def lower(self, context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """A call in LLVM's language."""
        kind = signature.return_type
        values = [context.cast(builder, v, t, kind) for v, t in zip(args, signature.args, strict=True)]
        element, symbol = _element(kind), self.named(kind)
        scalar = self.scalar(context, builder.module, kind)
        call = builder.call(scalar, values)
        call.attributes = _attributes(*_PURE)
        codegen, known = context.codegen(), vector_calls.attached(context.active_code_library)
        widths = _vector_widths(codegen)
        if known is not None and widths:
            if 8 in widths:
                machine_loops.when_written(builder.function, _widen, builder.block)
            narrow = 2 if element == _FLOAT else 1
            variants = [_Variant(self, symbol, element, narrow * width) for width in widths]
            for variant in variants:
                known.ask(variant.name, _bitcode(variant, codegen))
            names = ",".join(variant.mangled for variant in variants)
            call.attributes.add(f'"vector-function-abi-variant"="{names}"')
        return call

    def named(self, kind: Any) -> str:
        return f"{self.symbol}f" if kind == types.float32 else self.symbol

    def scalar(self, context: Any, module: Any, kind: Any) -> ir.Function:
        """The function of one number, with a body in this module where the C library has none."""
        element = _element(kind)
        function = cgutils.get_or_insert_function(
            module, ir.FunctionType(element, [element] * self.arity), self.named(kind)
        )
        if self.own is not None and function.is_declaration:
            self._define(function, self.own, context, kind)
            if kind == types.float32:
                # what the function of whole vectors calls
                self.scalar(context, module, types.float64)
        return function

    def _define(self, function: ir.Function, own: Callable[..., Any], context: Any, kind: Any) -> None:
        """Give a scalar function its body, which LLVM must not inline before it vectorises."""
        function.linkage = "linkonce_odr"
        function.attributes = _attributes("noinline", *_PURE)
        builder = ir.IRBuilder(function.append_basic_block())
        x = context.cast(builder, function.args[0], kind, types.float64)
        if _vector_widths(context.codegen()):
            # the bits of whole vectors
            made = self.formula(Lane(builder, x))
            assert isinstance(made, Usual)
            with builder.if_then(made.good.value, likely=True):
                builder.ret(context.cast(builder, made.result.value, types.float64, kind))
        signature = types.float64(types.float64)
        compiled = context.compile_subroutine(builder, own, signature)
        _, other = context.call_internal_no_propagate(builder, compiled.fndesc, signature, [x])
        builder.ret(context.cast(builder, other, types.float64, kind))


def _element(kind: Any) -> ir.Type:
    return _FLOAT if kind == types.float32 else _DOUBLE


@dataclass(frozen=True)
class _Variant:
    """A function of a whole vector of `count` numbers."""

    code: _Code
    symbol: str
    element: ir.Type
    count: int

    @property
    def name(self) -> str:
        return f"tapec.{self.symbol.removeprefix('tapec.')}.x{self.count}"

    @property
    def mangled(self) -> str:
        """What LLVM knows it by."""
        return f"_ZGV_LLVM_N{self.count}{'v' * self.code.arity}_{self.symbol}({self.name})"


@functools.cache
def _bitcode(variant: _Variant, codegen: Any) -> bytes:
    """A module of nothing but this function, which no flag lets LLVM reorder or contract."""
    module = codegen._create_empty_module(variant.name)
    kind = ir.VectorType(variant.element, variant.count)
    arity = variant.code.arity
    function = ir.Function(module, ir.FunctionType(kind, [kind] * arity), variant.name)
    function.attributes = _attributes("alwaysinline", *_PURE)
    # kept although nothing calls it yet, and merged with the one of another module
    function.linkage = "weak_odr"
    builder = ir.IRBuilder(function.append_basic_block())
    wide = ir.VectorType(_DOUBLE, variant.count)
    values = list(function.args) if kind == wide else [builder.fpext(arg, wide) for arg in function.args]
    made = variant.code.formula(*(Lane(builder, value) for value in values))
    result = _completed(builder, made, None, values, variant.code.symbol)
    builder.ret(result if kind == wide else builder.fptrunc(result, kind))
    return vector_calls.compiled(codegen, module)


def _completed(builder: Any, made: Lane | Usual, settled: Any, args: list[Any], symbol: str) -> Any:
    """What a formula has made, good in all lanes but the settled ones, which do not count."""
    if isinstance(made, Lane):
        return made.value
    result, good = made.result.value, made.good.value
    if settled is not None:
        good = builder.or_(good, settled)
    count = result.type.count
    mask = ir.IntType(count)
    begin = builder.block
    rare = builder.icmp_unsigned("!=", builder.bitcast(good, mask), mask(2**count - 1))
    with builder.if_then(rare, likely=False):
        if made.rest is None:
            other = _by_library(builder, args, symbol)
        else:
            other = _completed(builder, made.rest(), good, args, symbol)
        # a result does not depend on what stands in other lanes
        other = builder.select(good, result, other)
        end = builder.block
    merged = builder.phi(result.type)
    merged.add_incoming(result, begin)
    merged.add_incoming(other, end)
    return merged


def _by_library(builder: Any, args: list[Any], symbol: str) -> Any:
    """The C library's results, lane by lane."""
    library = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_DOUBLE, [_DOUBLE] * len(args)), symbol)
    result = ir.Constant(args[0].type, ir.Undefined)
    for k in range(args[0].type.count):
        lane = ir.Constant(ir.IntType(32), k)
        call = builder.call(library, [builder.extract_element(arg, lane) for arg in args])
        call.attributes = _attributes(*_PURE)
        result = builder.insert_element(result, call, lane)
    return result


class _Attributes(ir.values.FunctionAttributes):
    """Attributes of a function or a call, also those that llvmlite has no list of."""

    def add(self, name: str) -> None:
        set.add(self, name)


def _attributes(*names: str) -> _Attributes:
    found = _Attributes()
    for name in names:
        found.add(name)
    return found
