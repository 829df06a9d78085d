"""How compiled functions take arguments and leave results, in C's types.

Arguments come flat: an array is its owner, its parent object, counts, data, extents and strides.
The result is one structure, with structures for arrays and tuples in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tapec.build.boundary_values import Block, Foreign, Form, Nothing, Number
from tapec.build.interface import C_TYPES

_LLVM = {"double": "double", "float": "float", "bool": "i8", **{f"int{n}_t": f"i{n}" for n in (8, 16, 32, 64)}}


@dataclass(frozen=True)
class Members:
    """The members of a result's structure, and the path to each leaf, in order."""

    declarations: tuple[str, ...]
    paths: tuple[str, ...]


def arguments_of(forms: tuple[Form, ...]) -> list[str]:
    """The C types of a compiled function's arguments."""
    return [kind for form in forms for kind in _flat(form)]


def _flat(form: Form) -> Iterator[str]:
    match form:
        case Number(dtype):
            yield C_TYPES[dtype]
        case Block(dtype, rank, _):
            yield from ("void *", "void *", "int64_t", "int64_t", f"{C_TYPES[dtype]} *")
            yield from ("int64_t",) * (2 * rank)
        case Nothing(passed):
            yield from ("void *",) * passed
        case Foreign():
            raise AssertionError(form)
        case _:
            for item in form.items:
                yield from _flat(item)


def llvm_types(kinds: list[str]) -> tuple[str, ...]:
    """LLVM's types for C types, to compare with what was compiled."""
    return tuple("ptr" if kind.endswith("*") else _LLVM[kind.removeprefix("u")] for kind in kinds)


def result_members(form: Form) -> Members:
    """The members of the structure that a result of this form is left in."""
    paths: list[str] = []
    lines = tuple(_member(form, "r", "", paths))
    return Members(lines, tuple(paths))


def _member(form: Form, name: str, before: str, paths: list[str]) -> Iterator[str]:
    """The declaration of one member; a line for each member in it."""
    path = f"{before}{name}"
    match form:
        case Number(dtype):
            paths.append(path)
            yield f"{C_TYPES[dtype]} {name};"
        case Block(dtype, rank, _):
            paths.append(path)
            extents = f" int64_t shape[{rank}], strides[{rank}];" if rank else ""
            yield f"struct {{ void *owner, *parent; int64_t count, size; {C_TYPES[dtype]} *data;{extents} }} {name};"
        case Nothing():
            yield f"void *{name};"
        case Foreign():
            raise AssertionError(form)
        case _:
            # C has no empty structures, and an empty tuple takes no room
            if form.items:
                yield "struct {"
                for k, item in enumerate(form.items):
                    yield from (f"    {line}" for line in _member(item, f"r{k}", f"{path}.", paths))
                yield f"}} {name};"
