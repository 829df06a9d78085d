"""`custom_gradient`: functions that come with their own derivative."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import linecache
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gast
import numpy as np

from tapec.errors import NotDifferentiable, TapecError, UnsupportedSyntax, UsageError
from tapec.frontend.attributes import global_array
from tapec.frontend.complex_arithmetic import joined, parts
from tapec.frontend.evaluator import DeadCode, Evaluator, Frame
from tapec.frontend.lower import new_evaluator
from tapec.frontend.merge import leaves, rebuild
from tapec.frontend.opaque_calls import OpaqueFunction, has_derivative, note_registered
from tapec.frontend.open_blocks import freeze
from tapec.frontend.source import parameters, undecorated
from tapec.frontend.values import Complex, Func, Lst, Static, Sym, Tup, Value, describe, is_none, number
from tapec.syntax.core import Atom, Block, Name, Op
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import Array, Scalar
from tapec.tape.object_standins import Refusing
from tapec.transforms.emitter import Emitter
from tapec_runtime.variables import stop_gradient

_serial = itertools.count(1)


def with_gradient(f: Callable[..., Any]) -> Any:
    """A function of the same parameters that returns what `f` returns first; see `custom_gradient`."""
    function = undecorated(f)
    if function is None:
        raise UsageError(f"{f!r} is not a function with Python source")
    names: list[str] = []
    for parameter in parameters(function).values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise UsageError(f"`{function.__name__}` has a parameter `{parameter}`, which custom_gradient cannot take")
        names.append(parameter.name)
    label = function.__name__ if function.__name__.isidentifier() and function.__name__ != "<lambda>" else "function"
    listed = ", ".join(names)
    text = f"def {label}({listed}):\n    return carrier({listed})\n"
    file = f"<tapec custom_gradient {label} {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    carrier = _Carrier(function)
    namespace: dict[str, Any] = {"carrier": carrier, "__name__": function.__module__}
    exec(compile(text, file, "exec"), namespace)
    made: types.FunctionType = namespace[label]
    # calls in lowered code need not go through the text above
    setattr(made, "__tapec_lower__", carrier.__tapec_lower__)  # noqa: B010
    made.__doc__, made.__qualname__, made.__defaults__ = function.__doc__, function.__qualname__, function.__defaults__
    return made


def registered(function: Callable[..., Any], vjp: Callable[..., Any], result: Any) -> None:
    """Give a derivative to a function; see `tapec.register`."""
    if not callable(function) or not callable(vjp):
        raise UsageError("tapec.register needs a function, and one that computes adjoints")
    if has_derivative(function):
        raise UsageError(f"{function!r} has a derivative")
    parameters_ = list(inspect.signature(vjp).parameters)[2:]
    listed = ", ".join(parameters_)
    text = (
        f"def registered({listed}):\n"
        f"    y = function({listed})\n"
        f"    def gradient(y_bar):\n"
        f"        return vjp(y_bar, y, {listed})\n"
        f"    return y, gradient\n"
    )
    file = f"<tapec register {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"function": OpaqueFunction(function, result), "vjp": vjp, "__name__": __name__}
    exec(compile(text, file, "exec"), space)
    note_registered(function, _Carrier(space["registered"]))


def inner_opaque(args: list[Value]) -> Value:
    """`opaque(function, result)` of a function that is known while code is lowered."""
    known: list[Any] = [arg.obj if isinstance(arg, Static) else None for arg in args]
    if not known or not callable(known[0]):
        raise UsageError("tapec.opaque needs a function that is known")
    return Static(OpaqueFunction(known[0], *known[1:]))


class _Carrier:
    """Calls the user's function, or lowers it where differentiated code calls it.

    function  a Python function, or a function that is known while code is lowered
    """

    def __init__(self, function: types.FunctionType | Func) -> None:
        self.function = function
        self.name = function.node.name if isinstance(function, Func) else function.__name__

    def __call__(self, *args: Any) -> Any:
        assert not isinstance(self.function, Func)
        result = self.function(*args)
        if not isinstance(result, tuple) or len(result) != 2 or not callable(result[1]):
            raise UsageError(
                f"`{self.name}` must return its value and a function, as custom_gradient asks"
            )
        return result[0]

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        args = [ev.materialise(arg) for arg in args]
        function = self.function if isinstance(self.function, Func) else Static(self.function)
        before, ev.calls_as_is = ev.calls_as_is, True
        try:
            result = ev.apply(function, args, kwargs, node)
        finally:
            ev.calls_as_is = before
        if not isinstance(result, Tup) or len(result.items) != 2 or not isinstance(result.items[1], Func):
            ev.fail(
                UnsupportedSyntax,
                f"`{self.name}` must return its value and a function defined inside it",
                node,
            )
        value, gradient = result.items
        assert isinstance(gradient, Func)
        value = ev.materialise(ev.call_object(stop_gradient, [value], {}, node))
        if not isinstance(value, Sym | Complex):
            message = f"a custom gradient of {describe(value)}"
            ev.fail(UnsupportedSyntax, message, node, hint="return one number or array")
        # the parts of a complex result are rows of one array: the rule is asked for them together
        whole = value
        value = _packed(ev, value) if isinstance(value, Complex) else value
        given = [_operand(ev, arg, node) for arg in args]
        operands = [part for one in given for part in parts(one)]
        environment = _environment(ev, gradient, node)
        kept = [leaf for item in environment.values() for _, leaf in leaves(item)]
        rule = _Rule(len(operands), self.name, gradient, environment, [k.type for k in kept],
                     [_type(one) for one in given], _type(whole), ev.live is not None, ev.constants)
        rule.find_constants(ev, value, (*operands, *kept), node)
        arguments = (value.atom, *(o.atom for o in operands), *(k.atom for k in kept))
        made = ev.assign(Op(Custom(f"custom_gradient;{next(_serial)}", rule), arguments), value.type)
        if isinstance(made.type, Array) and isinstance(made.atom, Name):
            ev.roots[made.atom.id] = frozenset({made.atom.id})
        return _unpacked(ev, made) if isinstance(whole, Complex) else made


def _type(value: Sym | Complex) -> Any:
    """A value's type; of a complex one those of its parts."""
    return Complex(value.re.type, value.im.type) if isinstance(value, Complex) else value.type


def _packed(ev: Evaluator, value: Complex) -> Sym:
    """An array of both parts."""
    return ev.sym(ev.materialise(ev.call_object(_pack, [value.re, value.im], {}, None)))


def _unpacked(ev: Evaluator, value: Sym) -> Value:
    """The complex value of an array of both parts."""
    re, im = (ev.sym(ev.materialise(ev.call_object(_row, [value, number(k)], {}, None))) for k in (0, 1))
    return joined(ev, re, im) if isinstance(re.type, Array) else Complex(re, im)


def _pack(re: Any, im: Any) -> Any:
    return np.stack((re, im)) if np.ndim(re) > 0 else np.array([re, im])


def _row(both: Any, k: Any) -> Any:
    return both[k]


def inner_with_gradient(function: Value) -> Value:
    """`custom_gradient` of a function that is known while code is lowered."""
    if isinstance(function, Func):
        return Static(_Carrier(function))
    if not isinstance(function, Static):
        raise UsageError(f"{describe(function)} is not a function")
    return Static(with_gradient(function.obj))


def _operand(ev: Evaluator, value: Value, node: Any) -> Sym | Complex:
    if isinstance(value, Sym | Complex):
        return value
    ev.fail(UnsupportedSyntax, f"an argument of a custom gradient is {describe(value)}", node,
            hint="pass numbers and arrays one by one")


def _environment(ev: Evaluator, func: Func, node: Any) -> dict[str, Value]:
    """What the gradient function reads from around it, as it is when the function returns."""
    own = {arg.id for arg in func.node.args.args}
    read = {
        child.id for child in gast.walk(func.node) if isinstance(child, gast.Name) and isinstance(child.ctx, gast.Load)
    }
    found: dict[str, Value] = {}
    for name in sorted(read - own):
        frame: Frame | None = func.frame
        value: Value | None = None
        while frame is not None and value is None:
            value = frame.env.get(name)
            if value is None and frame.parent is None:
                value = frame.names(name)
            frame = frame.parent
        if isinstance(value, Lst):
            ev.fail(UnsupportedSyntax, f"a custom gradient reads the list `{name}`", node, hint="use a tuple or array")
        if value is not None:
            found[name] = value
    return found


@dataclass
class _Rule:
    """A gradient function with the values it reads; `pull_back` writes it into a reverse sweep.

    operands  how many numbers and arrays it is a function of; both parts of complex arguments
    types     of the arguments, and `result` of the result; of complex ones those of the parts
    """

    operands: int
    label: str
    func: Func
    environment: dict[str, Value]
    kept: list[Any]
    types: list[Any]
    result: Any
    alive: bool
    constants: dict[str, Any]

    def find_constants(self, ev: Evaluator, value: Sym, given: tuple[Sym, ...], node: Any) -> None:
        """Make the arrays of modules and closures that the gradient function reads constants of the program."""
        emitter = Emitter(dict(ev.types), set(ev.types), ev.span)
        seed = emitter.fresh("seed", value.type)
        found = dict(self.constants)
        self.constants, shared = found, self.constants
        # errors are told when a derivative is asked for
        with contextlib.suppress(TapecError):
            self.pull_back(emitter, Name(seed), (value.atom, *(one.atom for one in given)))
        self.constants = shared
        for name, array in found.items():
            if name not in shared:
                global_array(ev, array, node)

    def pull_back(self, emitter: Emitter, seed: Atom, arguments: tuple[Atom, ...]) -> tuple[Block, list[Atom | None]]:
        """Statements that compute the operands' adjoints, and the adjoints."""
        ev = new_evaluator(frozenset(emitter.taken) | frozenset(emitter.types))
        ev.types = emitter.types
        ev.span = emitter.span
        ev.calls_as_is = True
        ev.constants = self.constants
        if self.alive:
            ev.live = Refusing(ev, f"the gradient function of `{self.label}` calls a function")
        atoms = iter(arguments[self.operands :])
        types_ = iter(self.kept)

        def bound(path: Any, leaf: Sym) -> Sym:
            return _symbol(ev, next(atoms), next(types_))

        frame = Frame(self.func.frame.source, lambda ident: None)
        frame.env = {name: rebuild(value, bound) for name, value in self.environment.items()}
        frame.liveness = self.func.frame.liveness
        ev.frame = frame
        ev.frames.append(frame)
        closure = Func(self.func.node, frame, self.func.defaults, self.func.kw_defaults)
        try:
            result = ev.apply(closure, [self._seed(ev, seed)], {}, None)
        except DeadCode:
            return freeze(ev.root), [None] * self.operands
        given = result.items if isinstance(result, Tup) else (result,)
        if len(given) != len(self.types):
            raise NotDifferentiable(
                f"the gradient function of `{self.label}` returns {len(given)} values for {len(self.types)} arguments",
                emitter.span,
            )
        adjoints = [
            atom
            for one, type_ in zip(given, self.types, strict=True)
            for atom in self._adjoints(ev, ev.materialise(one), type_)
        ]
        emitter.taken |= ev.taken
        return freeze(ev.root), adjoints

    def _seed(self, ev: Evaluator, seed: Atom) -> Value:
        if not isinstance(self.result, Complex):
            return _symbol(ev, seed, self.result)
        part = self.result.re
        packed = Array(part.dtype, part.ndim + 1 if isinstance(part, Array) else 1)
        return _unpacked(ev, _symbol(ev, seed, packed))

    def _adjoints(self, ev: Evaluator, value: Value, type_: Any) -> list[Atom | None]:
        if not isinstance(type_, Complex):
            return [self._adjoint(ev, value, type_)]
        if is_none(value):
            return [None, None]
        if not isinstance(value, Complex):
            nothing = ev.call_object(np.zeros_like, [value], {}, None) if type_.is_array else number(0.0)
            value = Complex(value, ev.materialise(nothing))
        return [self._adjoint(ev, part, own) for part, own in zip(parts(value), (type_.re, type_.im), strict=True)]

    def _adjoint(self, ev: Evaluator, value: Value, type_: Any) -> Atom | None:
        if is_none(value) or not type_.is_float:
            return None
        if isinstance(type_, Scalar):
            return ev.cast(ev.scalar(value), type_).atom
        if not isinstance(value, Sym) or not isinstance(value.type, Array) or value.type.ndim != type_.ndim:
            raise NotDifferentiable(
                f"the gradient function of `{self.label}` returns {describe(value)} for an argument of {type_}", ev.span
            )
        return value.atom


def _symbol(ev: Evaluator, atom: Atom, type_: Any) -> Sym:
    if isinstance(type_, Array) and isinstance(atom, Name):
        ev.roots[atom.id] = frozenset({atom.id})
    return Sym(atom, type_)
