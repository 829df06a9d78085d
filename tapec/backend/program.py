"""What the pipeline hands to the backend, and what a request says of its parameters.

Nothing here needs the compiler: a program that is found in the cache runs without it.
"""

from __future__ import annotations

import re
import types
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tapec.errors import UnsupportedType, UsageError
from tapec.frontend.source.function_source import parameters
from tapec.options import DEFAULT, Options

if TYPE_CHECKING:
    from tapec.frontend.lower import Lowered
    from tapec.syntax.core import Function


@dataclass(frozen=True)
class Program:
    """Generated source of one function.

    name       the function's name in `source`
    source     its text, without imports
    namespace  what the text reads besides np, math and tapec_runtime: arrays, named tuples
    core       the core function that was printed, before parts of it became `kernels`
    lowered    the primal it came from
    params     the labels of the function's parameters
    prelude    the recursive functions that `source` calls, compiled on their own
    options    what it was compiled with
    version       which of several versions it is alone, by its position; None for all that there are
    kernels    the functions in the prelude that stand for parts of the source (`kernels.py`)
    versions   the functions that the source calls for arguments that are not for it, each by itself
    """

    name: str
    source: str
    namespace: dict[str, Any]
    core: Function
    lowered: Lowered
    params: tuple[str, ...] = ()
    prelude: str = ""
    options: Options = DEFAULT
    version: int | None = None
    kernels: tuple[str, ...] = ()
    versions: tuple[Program, ...] = ()

    @property
    def bindings(self) -> dict[str, Any]:
        """The namespace, with classes of exceptions that are not builtins, and functions that are called as they are.

        Of such a function that compiled code calls.
        """
        from tapec.syntax.core import Raise, walk
        from tapec.syntax.custom_rule import opaque_functions

        found = dict(self.namespace)
        for function in (self.core, *(one.core for one in self.versions), *self.lowered.callees):
            found |= {name: one.compiled for name, one in opaque_functions(function.body).items()}
            for stmt in walk(function.body):
                if not isinstance(stmt, Raise) or stmt.cls is None:
                    continue
                if found.setdefault(stmt.exception, stmt.cls) is not stmt.cls:
                    raise UnsupportedType(f"two classes of exceptions are called `{stmt.exception}`", stmt.span)
        return found

    @property
    def text(self) -> str:
        """The prelude and the source."""
        return f"{self.prelude}\n\n{self.source}" if self.prelude else self.source

    @property
    def functions(self) -> tuple[Program, ...]:
        """The program, and its versions that are functions by themselves."""
        return (self, *self.versions)

    def named(self, name: str) -> Program:
        """The program with its function under another name, after which its versions are called."""
        assert self.source.startswith(f"def {self.name}(")
        names = {one.name: name + one.name.removeprefix(self.name) for one in self.functions}
        own = re.compile(rf"\b({'|'.join(names)})\b")

        def renamed(one: Program) -> Program:
            source = own.sub(lambda found: names[found.group()], one.source)
            return replace(one, name=names[one.name], source=source)

        return replace(renamed(self), versions=tuple(map(renamed, self.versions)))


def resolve_wrt(function: types.FunctionType, wrt: Any) -> tuple[tuple[int, ...], bool]:
    """Positions of the parameters that `wrt` names, and whether it was a single one."""
    single = not isinstance(wrt, tuple | list)
    names = list(parameters(function))
    extra = next((name for name, one in parameters(function).items() if one.kind is one.VAR_POSITIONAL), None)
    positions: list[int] = []
    for one in (wrt,) if single else wrt:
        if isinstance(one, str):
            if one not in names:
                raise UsageError(f"`{function.__name__}` has no parameter `{one}`", hint=f"it has {', '.join(names)}")
            if one == extra:
                raise UsageError(
                    f"`{one}` of `{function.__name__}` stands for any number of arguments",
                    hint=f"name them by position, from {names.index(one)} on",
                )
            positions.append(names.index(one))
        elif isinstance(one, int) and not isinstance(one, bool):
            if extra is not None and one < 0:
                raise UsageError(
                    f"position {one} of `{function.__name__}`, which takes any number of arguments, is not known",
                    hint="count from the first argument",
                )
            if not -len(names) <= one < len(names) and extra is None:
                raise UsageError(f"`{function.__name__}` has no parameter {one}", hint=f"it has {len(names)}")
            positions.append(one % len(names) if -len(names) <= one < len(names) else one)
        else:
            raise UsageError(f"wrt must be a position, a name, or a tuple of those, not {one!r}")
    return tuple(positions), single


def directions(function: types.FunctionType, kind: str, wrt: Any) -> tuple[str, ...]:
    """The names of what a derivative of some kind takes after the arguments: tangents, a cotangent or a vector."""
    kind = kind.removesuffix("_directions")
    if kind == "vjp":
        return ("cotangent",)
    if kind not in ("jvp", "taylor", "taylor_series", "hvp", "gnvp"):
        return ()
    names = list(parameters(function))
    positions, _ = resolve_wrt(function, wrt)
    labels = [names[one] if one < len(names) else f"argument_{one}" for one in positions]
    if twice := next((label for k, label in enumerate(labels) if label in labels[:k]), None):
        what = "vector" if kind in ("hvp", "gnvp") else "tangent"
        raise UsageError(f"wrt names `{twice}` twice", hint=f"an argument has one {what}")
    if kind in ("hvp", "gnvp"):
        return ("v",)
    if kind == "taylor_series":
        return tuple(f"{label}_series" for label in labels)
    return tuple(f"{label}_dot" for label in labels)
