"""Calls of functions under Numba's decorators: arguments, results and variables become what the decorator says."""

from __future__ import annotations

from typing import Any, NoReturn

from numba.core import types as nt

from tapec.errors import Span, TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Frame
from tapec.frontend.evaluator.values import Value, describe
from tapec.frontend.source.numba_decorators import Jitted
from tapec.frontend.structures import numba_conversions
from tapec.frontend.structures.numba_conversions import Unconvertible


def enter(ev: Evaluator, frame: Frame, jitted: Jitted | None, definition: Any, node: Any) -> None:
    """Note in the frame of a function what its decorator says, for a call from the frame of the evaluator."""
    caller = None if ev.frame is None else ev.frame.flags
    if jitted is None:
        # Numba inlines what is neither a dispatcher nor Python's
        frame.flags = frame.flags or caller
        return
    if jitted.refused:
        raise UnsupportedSyntax(
            f"cannot differentiate `{_name(definition)}`, as its decorator asks for something that is not supported",
            decorator(frame, definition),
            jitted.refused,
        )
    frame.flags = jitted.flags(caller)
    ev.boundscheck |= frame.flags is not None and frame.flags.boundscheck
    if caller is None or jitted.inline == "never":
        frame.jitted = jitted
    elif jitted.inline == "asked" and jitted.asks:
        raise UnsupportedSyntax(
            f"cannot differentiate a call of `{_name(definition)}`, whose `inline=` is a function",
            decorator(frame, definition),
            "what its decorator says holds only where Numba does not inline the call",
            'write inline="never", or inline="always"',
        )


def taken(ev: Evaluator, frame: Frame, env: dict[str, Value], definition: Any, node: Any) -> dict[str, Value]:
    """The arguments of a call, as the function takes them; notes what it gives."""
    jitted = frame.jitted
    if jitted is None:
        return env
    env = {name: env[name] for name in _parameters(definition)}
    if jitted.signatures:
        types_ = tuple(numba_conversions.type_of(ev, value) for value in env.values())
        compiled = ev.frame is not None and ev.frame.flags is not None
        found = None
        if all(one is not None for one in types_):
            try:
                found = numba_conversions.chosen(jitted.signatures, types_, compiled)  # type: ignore[arg-type]
            except TypeError:
                known = " and ".join(str(one) for one in jitted.signatures)
                message = f"several signatures of `{_name(definition)}` fit {_listed(env)} equally well"
                ev.fail(TypeMismatch, message, node, f"its decorator has {known}")
        if found is None:
            _mismatch(ev, frame, jitted, env, definition, node)
        made = dict[str, Value]()
        for (name, value), kind in zip(env.items(), found.args, strict=True):
            try:
                made[name] = numba_conversions.converted(ev, value, kind, node)
            except Unconvertible:
                _unsupported(frame, definition, f"it takes {describe(value)} as `{name}`, which is {kind} there")
        env, frame.returns = made, found.return_type
    return {name: variable(ev, frame, name, value, node) for name, value in env.items()}


def given(ev: Evaluator, frame: Frame, value: Value, definition: Any, node: Any) -> Value:
    """The result of a call, as the function gives it."""
    kind = frame.returns
    if kind is None or isinstance(kind, nt.NoneType):
        return value
    try:
        return numba_conversions.converted(ev, ev.materialise(value), kind, node)
    except Unconvertible:
        _unsupported(frame, definition, f"it returns {describe(value)}, which is {kind} there")


def variable(ev: Evaluator, frame: Frame, name: str, value: Value, node: Any) -> Value:
    """The value of a variable, of the type that the decorator's `locals=` has for it."""
    kind = None if frame.jitted is None else dict(frame.jitted.variables).get(name)
    if kind is None:
        return value
    try:
        return numba_conversions.converted(ev, ev.materialise(value), kind, node)
    except Unconvertible:
        definition = frame.source.node
        _unsupported(frame, definition, f"`{name}` is {describe(value)}, which is {kind} there")


def decorator(frame: Frame, definition: Any) -> Span:
    """The place of a function's decorator; of a function that is passed to one, its own."""
    above = getattr(definition, "decorator_list", None)
    return frame.source.span(above[-1] if above else definition)


def _unsupported(frame: Frame, definition: Any, reason: str) -> NoReturn:
    message = f"cannot differentiate `{_name(definition)}` with the types that its decorator gives"
    raise TypeMismatch(message, decorator(frame, definition), reason)


def _mismatch(
    ev: Evaluator, frame: Frame, jitted: Jitted, env: dict[str, Value], definition: Any, node: Any
) -> NoReturn:
    known = " and ".join(f"({', '.join(map(str, one.args))})" for one in jitted.signatures)
    message = f"no signature of `{_name(definition)}` takes {_listed(env)}"
    if node is None:
        raise TypeMismatch(message, decorator(frame, definition), f"its decorator has {known}")
    ev.fail(TypeMismatch, message, node, f"its decorator has {known}")


def _parameters(definition: Any) -> list[str]:
    spec = definition.args
    extra = [spec.vararg] if spec.vararg is not None else []
    named = [spec.kwarg] if spec.kwarg is not None else []
    return [one.id for one in (*spec.posonlyargs, *spec.args, *extra, *spec.kwonlyargs, *named)]


def _listed(env: dict[str, Value]) -> str:
    return f"({', '.join(describe(value) for value in env.values())})"


def _name(definition: Any) -> str:
    return getattr(definition, "name", "<lambda>")
