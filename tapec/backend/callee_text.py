"""The text of recursive functions, which a derivative calls by name."""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.activity import reach
from tapec.analyses.aliases import aliases
from tapec.backend import printer
from tapec.backend.program import Program
from tapec.frontend.lower import Lowered
from tapec.optimise import tidy, used
from tapec.options import Options
from tapec.syntax.core import Call, Function, Name, Store, walk
from tapec.syntax.types import FLOAT64, Array, Stack, Type
from tapec.transforms.recursive_callees import called


def callees_text(program: Program, lowered: Lowered, options: Options) -> str:
    """The recursive functions that a derivative calls, and their derivatives."""
    constants = frozenset(lowered.constants)
    made = called(program.core.body, lowered.callees, constants)
    calls = {core.name: {stmt.function for stmt in walk(core.body) if isinstance(stmt, Call)} for core in made}
    texts = []
    # what a function calls stands before it: Numba compiles each where it is defined
    for core in sorted(made, key=lambda one: len(reach({one.name}, calls))):
        final = tidy(core, constants, options)
        texts.append(f"{_decorator(core, used(options, final))}\n{printer.function(final, options.quote)}")
    return "\n\n".join(texts)


def kernels_text(kernels: tuple[Function, ...], options: Options) -> str:
    """The functions that a long program calls in place of loops (`kernels.py`)."""
    # the program's types are theirs, as where an array may not be written; nobody else calls them
    texts = []
    for core in kernels:
        texts.append(f"@numba.njit({used(options, core).flags_text})\n{printer.function(core, options.quote)}")
    return "\n\n".join(texts)


def _decorator(core: Function, options: Options) -> str:
    """Numba's decorator with the argument types: a function that calls itself is typed by them."""
    only_read = _only_read(core)
    arguments = ", ".join(_signature(core.types[param], param in only_read) for param in core.params)
    types_ = [core.types[v.id] if isinstance(v, Name) else FLOAT64 for v in core.results]
    results = [_signature(type_) for type_ in types_]
    result = results[0] if len(results) == 1 else f"Tuple(({', '.join(results)}))"
    return f'@numba.njit("{result if results else "none"}({arguments})", {options.flags_text})'


def _only_read(core: Function) -> set[str]:
    """The arrays that a function only reads: it takes them from callers that may not write them, too."""
    classes = aliases(replace(core, shared=()))
    others = {classes.find(value.id) for value in core.results if isinstance(value, Name)}
    for stmt in walk(core.body):
        match stmt:
            case Store(array=array):
                others.add(classes.find(array))
            case Call(args=args, changes=changes):
                others.update(classes.find(args[k].id) for k in changes)  # type: ignore[union-attr]
    return {p for p in core.params if isinstance(core.types[p], Array) and classes.find(p) not in others}


def _signature(type_: Type, only_read: bool = False) -> str:
    if isinstance(type_, Stack):
        return f"List({_signature(type_.element)})"
    if isinstance(type_, Array) and (only_read or type_.readonly):
        return f"Array({_dtype(type_.dtype)}, {type_.ndim}, '{type_.layout}', readonly=True)"
    if isinstance(type_, Array):
        axes = [":"] * type_.ndim
        if type_.layout == "C" and axes:
            axes[-1] = "::1"
        elif type_.layout == "F" and axes:
            axes[0] = "::1"
        return f"{_dtype(type_.dtype)}[{', '.join(axes)}]"
    return _dtype(str(type_))


def _dtype(name: str) -> str:
    return "boolean" if name == "bool" else name
