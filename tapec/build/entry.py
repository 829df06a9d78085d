"""The C source of a library's entries: check arguments, call compiled functions, deliver results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tapec.build.boundary_values import Block, Foreign, Form, Nothing, Number
from tapec.build.interface import C_TYPES, Interface, Parameter, Result
from tapec.build.native_types import arguments_of, result_members

_SIZES = {name: int("".join(ch for ch in name if ch.isdigit()) or 8) // 8 for name in C_TYPES}


@dataclass(frozen=True)
class EntryParts:
    """What an entry is made from.

    arguments  forms of the Python arguments
    returned   the form of the result
    outputs    positions of results whose memory the compiled function takes after its arguments
    """

    interface: Interface
    arguments: tuple[Form, ...]
    returned: Form
    outputs: tuple[int, ...] = ()

    @property
    def native(self) -> list[str]:
        """The C types of the compiled function's arguments."""
        results = [self.interface.results[k] for k in self.outputs]
        blocks = tuple(Block(one.dtype, one.rank, one.layout) for one in results)
        return arguments_of((*self.arguments, *blocks))


def entries_source(prefix: str, header: str, entries: Sequence[EntryParts]) -> str:
    """The C file with the entries of a library.

    prefix  begins the names of all that is shared in the library
    header  file name of the library's header
    """
    parts = [
        f'#include "native.h"\n\n#ifdef EXPORTED\n#pragma GCC visibility push(default)\n#endif\n#include "{header}"\n'
        "#ifdef EXPORTED\n#pragma GCC visibility pop\n#endif\n\n#include <stdlib.h>\n#include <string.h>\n"
    ]
    parts += [_entry(prefix, one) for one in entries]
    return "\n".join(parts)


def _entry(prefix: str, parts: EntryParts) -> str:
    """The compiled function's declaration, and its entry."""
    native = f"{prefix}_{parts.interface.entry}_native"
    members = result_members(parts.returned)
    kinds = ", ".join([f"struct {native}_result *", "failure **", *parts.native])
    lines = [f"struct {native}_result {{", *_indented(members.declarations), "};", ""]
    lines += [f"#pragma GCC visibility push(hidden)\nint32_t {native}({kinds});\n#pragma GCC visibility pop\n"]
    lines += [parts.interface.prototype, "{"]
    lines += _indented(_body(parts, native, members.paths))
    lines.append("}")
    return "\n".join(lines) + "\n"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _body(parts: EntryParts, native: str, paths: tuple[str, ...]) -> list[str]:
    interface = parts.interface
    outputs = [interface.results[k] for k in parts.outputs]
    arrays = [one for one in interface.parameters if one.array]
    handed = [one for one in interface.results if one.allocated]
    lines = ["int status = 0;"]
    passed_arrays: tuple[Parameter | Result, ...] = (*arrays, *outputs)
    lines += [f"int64_t {one.name}_count, {one.name}_steps[{max(one.rank, 1)}];" for one in passed_arrays]
    for one in arrays:
        lines += _checked(one, f"{one.name}_shape", f"{one.name}_strides" if one.strided else "NULL")
    for one in arrays:
        if one.like is not None and one.rank:
            other = interface.parameters[one.like]
            lines.append(f"if (memcmp({one.name}_shape, {other.name}_shape, {one.rank} * sizeof(int64_t)) != 0)")
            lines.append("    return SHAPE_MISMATCH;")
    lines += [f"if ({_missing(interface, one)})\n        return NULL_POINTER;" for one in interface.results]
    for output in outputs:
        lines += _checked(output, f"{_source(interface, output).name}_shape", "NULL")
    lines += [f"*{result.name} = NULL;" for result in handed]
    passed = ", ".join(["&result", "&raised", *_passed(interface, parts.arguments), *_memory(interface, outputs)])
    lines += [
        f"struct {native}_result result;",
        "failure *raised = NULL;",
        f"if ({native}({passed}) > 0)",
        "    return LOCAL(status_of)(raised);",
    ]
    for k, (result, path) in enumerate(zip(interface.results, paths, strict=True)):
        # what the function wrote itself is in place
        lines += [] if k in parts.outputs else _delivered(interface, result, f"result.{path}")
    if handed:
        lines.append("if (status != 0) {")
        for result in handed:
            lines += [f"    free(*{result.name});", f"    *{result.name} = NULL;"]
        lines.append("}")
    lines.append("return status;")
    return lines


def _source(interface: Interface, one: Result) -> Parameter:
    assert one.like is not None
    return interface.parameters[one.like]


def _memory(interface: Interface, outputs: Sequence[Result]) -> Iterator[str]:
    """The arguments for results that the compiled function writes in place."""
    for one in outputs:
        shape = f"{_source(interface, one).name}_shape"
        yield from ("NULL", "NULL", f"{one.name}_count", str(_SIZES[one.dtype]), one.name)
        yield from (f"{shape}[{k}]" for k in range(one.rank))
        yield from (f"{one.name}_steps[{k}]" for k in range(one.rank))


def _checked(one: Parameter | Result, shape: str, strides: str) -> list[str]:
    order = "F" if one.layout == "F" else "C"
    call = (
        f"LOCAL(argument)({one.name}, {shape if one.rank else 'NULL'}, {strides}, {one.rank}, {_SIZES[one.dtype]}, "
        f"'{order}', &{one.name}_count, {one.name}_steps)"
    )
    return [f"if ((status = {call}) != 0)", "    return status;"]


def _missing(interface: Interface, one: Result) -> str:
    """The condition under which a result has no place to go."""
    if one.like is not None:
        return f"{one.name} == NULL && {interface.parameters[one.like].name}_count != 0"
    if one.allocated and one.rank:
        return f"{one.name} == NULL || {one.name}_shape == NULL"
    return f"{one.name} == NULL"


def _passed(interface: Interface, arguments: tuple[Form, ...]) -> Iterator[str]:
    """The arguments of the compiled function."""
    leaves = iter(interface.parameters)

    def walk(form: Form) -> Iterator[str]:
        match form:
            case Number():
                yield next(leaves).name
            case Block(dtype=dtype, rank=rank):
                one = next(leaves)
                yield from ("NULL", "NULL", f"{one.name}_count", str(_SIZES[dtype]))
                yield one.name if one.written else f"({C_TYPES[dtype]} *){one.name}"
                yield from (f"{one.name}_shape[{k}]" for k in range(rank))
                yield from (f"{one.name}_steps[{k}]" for k in range(rank))
            case Nothing(passed=passed):
                yield from ("NULL",) * passed
            case Foreign():
                raise AssertionError(form)
            case _:
                for item in form.items:
                    yield from walk(item)

    for form in arguments:
        yield from walk(form)


def _delivered(interface: Interface, one: Result, place: str) -> list[str]:
    """Bring a result to the caller, and give back what the compiled function holds."""
    if not one.array:
        return [f"*{one.name} = {place};"]
    shape, strides = (f"{place}.shape", f"{place}.strides") if one.rank else ("NULL", "NULL")
    size = _SIZES[one.dtype]
    if one.allocated:
        extents = f"{one.name}_shape" if one.rank else "NULL"
        lines = [
            "if (status == 0)",
            f"    status = LOCAL(hand_over)((void **){one.name}, {extents}, {place}.data, {shape}, {strides}, "
            f"{one.rank}, {size});",
        ]
    else:
        source = _source(interface, one)
        deliver = f"LOCAL(deliver)({one.name}, {place}.data, {shape}, {strides}, {one.rank}, {size}, '{one.layout}');"
        if one.rank:
            lines = [
                f"if (memcmp({shape}, {source.name}_shape, {one.rank} * sizeof(int64_t)) != 0)",
                "    status = SHAPE_MISMATCH;",
                "else",
                f"    {deliver}",
            ]
        else:
            lines = [deliver]
    return [*lines, f"LOCAL(NRT_decref)({place}.owner);"]
