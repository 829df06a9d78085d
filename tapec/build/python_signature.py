"""The Python side of a built function: its parameters, docstring and type stub."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapec.build.build_target import DerivedTarget
from tapec.build.interface import Interface, Parameter, ParameterGroup, Result, Tree
from tapec.errors import UnsupportedType
from tapec.frontend.source.function_source import definition, parameters

REQUIRED = inspect.Parameter.empty
_PYTHON = {"f": "float", "i": "int", "u": "int", "b": "bool"}


@dataclass(frozen=True)
class Argument:
    """A parameter of the Python function.

    name     as the user spells it
    tree     its leaves among the C parameters
    default  its value if it is left out, or `REQUIRED`
    """

    name: str
    tree: Tree
    default: Any = REQUIRED


@dataclass(frozen=True)
class Prototype:
    """What Python callers see.

    name       the function's name
    arguments  its parameters
    interface  the C entry behind it
    summary    what it computes
    note       what the user says about the function that it is made of
    subject    what tells it from others: the function, the kind of derivative, the sources
    """

    name: str
    arguments: tuple[Argument, ...]
    interface: Interface
    summary: str
    note: str
    subject: tuple[Any, ...]

    @property
    def text_signature(self) -> str:
        """The signature in the form that `inspect.signature` reads from a docstring."""
        defaults = ["" if one.default is REQUIRED else f"={literal(one.default)}" for one in self.arguments]
        parts = [f"{one.name}{default}" for one, default in zip(self.arguments, defaults, strict=True)]
        return f"{self.name}({', '.join(parts)})"

    @property
    def labels(self) -> dict[int, str]:
        """What messages call each leaf of the arguments, such as `x` or `weights[0]`."""
        return {leaf: label for one in self.arguments for leaf, label in _labelled(one.name, one.tree)}

    @property
    def doc(self) -> str:
        """The docstring."""
        return "\n\n".join(part for part in (self.summary, self.table, self.note) if part)

    @property
    def table(self) -> str:
        """The types of the arguments, a line for each."""
        width = max((len(one.name) for one in self.arguments), default=0)
        return "\n".join(f"{one.name:{width}}  {self._words(one)}" for one in self.arguments)

    @property
    def words(self) -> str:
        """The types of the arguments."""
        return ", ".join(f"{one.name}: {self._words(one)}" for one in self.arguments)

    def _words(self, argument: Argument) -> str:
        return _words(argument.tree, self.interface.parameters)

    @property
    def annotated(self) -> tuple[str, ...]:
        """The types of the arguments as a type checker sees them."""
        return tuple(_annotation(one.tree, self.interface.parameters) for one in self.arguments)

    @property
    def stub(self) -> str:
        """The lines of the function in a .pyi file."""
        parts = []
        for one, annotation in zip(self.arguments, self.annotated, strict=True):
            default = "" if one.default is REQUIRED else f" = {literal(one.default)}"
            parts.append(f"{one.name}: {annotation}{default}")
        returned = _annotation(self.interface.returned, self.interface.results)
        head = f"def {self.name}({', '.join(parts)}) -> {returned}:"
        if len(head) > 100:
            head = f"def {self.name}(\n" + "".join(f"    {part},\n" for part in parts) + f") -> {returned}:"
        said = "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in self.doc)
        doc = said.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').replace("\n", "\n    ")
        doc = f'{doc[:-1]}\\"' if doc.endswith('"') else doc
        lines = [line.rstrip() for line in f'    """{doc}"""'.split("\n")]
        return "\n".join([head, *lines])


def parts(label: str, group: ParameterGroup) -> Iterator[tuple[str, Tree]]:
    """The items of a tuple, each with what messages call it."""
    for k, item in enumerate(group.items):
        yield (f"{label}.{group.fields[k]}" if group.fields else f"{label}[{k}]"), item


def _labelled(label: str, tree: Tree) -> Iterator[tuple[int, str]]:
    if isinstance(tree, ParameterGroup):
        for inner, item in parts(label, tree):
            yield from _labelled(inner, item)
    elif tree is not None:
        yield tree, label


def prototype_of(derived: DerivedTarget, interface: Interface) -> Prototype:
    """The Python function of a target; its name and its parameters are those of the derivative from `tapec.grad`."""
    own = list(parameters(derived.function).values())
    variadic = any(one.kind is one.VAR_POSITIONAL for one in own)
    # tangents, a cotangent or a vector must not follow a default
    extra = derived.own < len(interface.arguments)
    arguments: list[Argument] = []
    for k, (label, tree) in enumerate(interface.arguments):
        if variadic or k >= derived.own:
            arguments.append(Argument(_vector(own) if derived.target.mode in ("hvp", "gnvp") else label, tree))
            continue
        default = REQUIRED if extra else own[k].default
        if default is not REQUIRED and not _fits(default, tree, interface.parameters):
            raise UnsupportedType(
                f"the default of `{own[k].name}`, {default!r}, does not fit its type in the signature",
                definition(derived.function),
                hint="give the parameter another type, or leave it and all that follow out of the signature",
            )
        arguments.append(Argument(own[k].name, tree, default))
    for before, after in zip(arguments, arguments[1:], strict=False):
        if before.default is not REQUIRED and after.default is REQUIRED:
            raise UnsupportedType(
                f"`{derived.function.__name__}` has a keyword-only parameter `{after.name}` without default "
                "after one with",
                definition(derived.function),
                hint="give it a default",
            )
    target = derived.target
    subject = (derived.function, target.mode, target.wrt)
    said = inspect.getdoc(derived.function)
    note = f"{derived.function.__name__}: {said}" if said else ""
    return Prototype(target.name, tuple(arguments), interface, derived.program.core.doc, note, subject)


def _vector(own: list[inspect.Parameter]) -> str:
    """What `tapec.hvp` calls the vector."""
    name = "v"
    while name in [one.name for one in own]:
        name += "_"
    return name


def _fits(default: Any, tree: Tree, leaves: tuple[Parameter, ...]) -> bool:
    """Whether a default can be written as a constant of C."""
    if tree is None:
        return default is None
    if isinstance(tree, ParameterGroup):
        if not isinstance(default, tuple) or len(default) != len(tree.items):
            return False
        return all(_fits(value, item, leaves) for value, item in zip(default, tree.items, strict=True))
    if leaves[tree].array:
        return False
    kind = np.dtype(leaves[tree].dtype).kind
    if kind == "b":
        return isinstance(default, bool | np.bool_)
    if kind == "f":
        return isinstance(default, int | float | np.integer | np.floating)
    if not isinstance(default, int | np.integer):
        return False
    limits = np.iinfo(leaves[tree].dtype)
    return limits.min <= int(default) <= limits.max


def literal(default: Any) -> str:
    """A default as Python source; `...` where it has none that a signature may hold.

    >>> literal(2), literal((1.5, None)), literal(float("nan"))
    ('2', '(1.5, None)', '...')
    """
    if isinstance(default, np.generic):
        default = default.item()
    if isinstance(default, tuple):
        items = [literal(item) for item in default]
        if "..." in items:
            return "..."
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return "..." if isinstance(default, float) and not math.isfinite(default) else repr(default)


def _annotation(tree: Tree, leaves: tuple[Parameter, ...] | tuple[Result, ...]) -> str:
    """The type of an argument or a result in a stub."""
    if tree is None:
        return "None"
    if isinstance(tree, ParameterGroup):
        if tree.name:
            return tree.name
        items = ", ".join(_annotation(item, leaves) for item in tree.items)
        return f"tuple[{items or '()'}]"
    leaf = leaves[tree]
    if leaf.array:
        return f"NDArray[np.{'bool_' if leaf.dtype == 'bool' else leaf.dtype}]"
    return _PYTHON[np.dtype(leaf.dtype).kind]


def _words(tree: Tree, leaves: tuple[Parameter, ...]) -> str:
    """An argument's type in words."""
    if tree is None:
        return "None"
    if isinstance(tree, ParameterGroup):
        return f"tuple ({', '.join(_words(item, leaves) for item in tree.items)})"
    leaf = leaves[tree]
    if not leaf.array:
        return leaf.dtype
    layout = {"C": ", C-contiguous", "F": ", Fortran-contiguous", "A": ""}[leaf.layout] if leaf.rank else ""
    written = ", written" if leaf.written else ""
    return f"array of {leaf.dtype}, {leaf.rank} {'axis' if leaf.rank == 1 else 'axes'}{layout}{written}"
