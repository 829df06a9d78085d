"""The stages in order, for each kind of derivative.

    source ─lower→ typed core ─differentiate→ adjoint core ─optimise→ ─print→ Python source
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tapec.backend import printer
from tapec.backend.program import Program, resolve_wrt
from tapec.errors import NotDifferentiable, Span, UsageError
from tapec.frontend.lower import Lowered, lower
from tapec.frontend.source import source_of
from tapec.frontend.values import SameAs, Static, Tup
from tapec.optimise import tidy
from tapec.options import Options
from tapec.syntax.core import Atom, Expr, Function, Name, Note, Return
from tapec.syntax.types import FLOAT64, Array, Scalar, Type
from tapec.transforms.callees import called
from tapec.transforms.forward import forward
from tapec.transforms.guards import separate_arguments
from tapec.transforms.reverse import reverse

KINDS = ("primal", "grad", "value_and_grad", "vjp", "jvp")


def build(
    function: types.FunctionType,
    arguments: tuple[Any, ...],
    kind: str,
    wrt: Any = 0,
    options: Options | None = None,
) -> Program:
    """Run the pipeline for one function and signature.

    `arguments` holds one structure of core types per parameter, or a Static.
    """
    options = options or Options()
    lowered = lower(function, arguments)
    program = _build(lowered, function, arguments, kind, wrt, options)
    return replace(program, prelude=callees_text(program, lowered, options)) if lowered.callees else program


def callees_text(program: Program, lowered: Lowered, options: Options) -> str:
    """The recursive functions that a derivative calls, and their derivatives."""
    constants = frozenset(lowered.constants)
    made = called(program.core.body, lowered.callees, constants)
    texts = []
    for core in made:
        final = tidy(core, constants) if options.level > 0 else core
        texts.append(f"{_decorator(core)}\n{printer.function(final, options.quote)}")
    return "\n\n".join(texts)


def _decorator(core: Function) -> str:
    """Numba's decorator with the argument types: a function that calls itself is typed by them."""
    arguments = ", ".join(_signature(core.types[param]) for param in core.params)
    last = core.body[-1]
    assert isinstance(last, Return)
    types_ = [core.types[v.id] if isinstance(v, Name) else FLOAT64 for v in last.values]
    results = [_signature(type_) for type_ in types_]
    result = results[0] if len(results) == 1 else f"Tuple(({', '.join(results)}))"
    flags = 'error_model="numpy", fastmath={"reassoc", "contract"}'
    return f'@numba.njit("{result if results else "none"}({arguments})", {flags})'


def _signature(type_: Type) -> str:
    if isinstance(type_, Array):
        axes = [":"] * type_.ndim
        if type_.layout == "C" and axes:
            axes[-1] = "::1"
        elif type_.layout == "F" and axes:
            axes[0] = "::1"
        return f"{type_.dtype}[{', '.join(axes)}]"
    return "boolean" if str(type_) == "bool" else str(type_)


def _build(
    lowered: Lowered,
    function: types.FunctionType,
    arguments: tuple[Any, ...],
    kind: str,
    wrt: Any,
    options: Options,
) -> Program:
    core = lowered.function
    core = replace(core, body=(*separate_arguments(core, lowered.roots), *core.body))
    labels = _labels(function, len(arguments))
    structure = _Structure(labels, arguments, core.params)
    name = f"{core.name}_{kind}" if core.name.isidentifier() else f"function_{kind}"
    constants = frozenset(lowered.constants)
    if kind == "primal":
        made = Function(name, core.params, core.body, core.types, f"The value of `{function.__name__}`.")

        def value(values: tuple[Expr, ...]) -> str:
            return structure.result(lowered.result, values)

        return _finish(made, value, lowered, structure, options)
    positions, single = resolve_wrt(function, wrt)
    sources = structure.sources(positions, function)
    if kind == "jvp":
        made = forward(core, sources, constants, name)
        return _tangents(function, made, lowered, structure, options)
    check_target(lowered, function, kind)
    swept = reverse(core, sources, constants, unit_seed=kind != "vjp")
    count = 0 if kind == "grad" else len(swept.values)
    results: tuple[Atom, ...] = (*swept.values[:count], *swept.adjoints)

    def text(values: tuple[Expr, ...]) -> str:
        gradient = structure.gradients(positions, single, dict(zip(sources, values[count:], strict=True)))
        return gradient if kind == "grad" else f"{structure.result(lowered.result, values[:count])}, {gradient}"

    sweeps = (Note("forward sweep"), *swept.forward, Note("reverse sweep"), *swept.backward)
    doc = _doc(kind, function, [structure.labels[p] for p in positions])
    made = Function(name, core.params, (*sweeps, Return(results)), swept.types, doc)
    return _finish(made, text, lowered, structure, options, swept.seeds)


def _doc(kind: str, function: types.FunctionType, labels: list[str]) -> str:
    """The docstring of a generated function."""
    by = ", ".join(f"`{label}`" for label in labels)
    what = {
        "grad": "The gradient of `{f}` with respect to {by}.",
        "value_and_grad": "The value of `{f}` and its gradient with respect to {by}.",
        "vjp": "The value of `{f}`, and the adjoints of {by} for given adjoints of the result.",
    }
    return what[kind].format(f=function.__name__, by=by)


def check_target(lowered: Lowered, function: types.FunctionType, kind: str) -> None:
    """`grad` needs one float number."""
    span = _definition(function)
    if lowered.result is None:
        raise NotDifferentiable(
            f"`{function.__name__}` returns nothing", span, hint="return the number to differentiate"
        )
    if kind == "vjp":
        return
    result = lowered.result
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Scalar)):
        found = result[1] if isinstance(result, tuple) and len(result) == 2 else "a tuple"
        raise NotDifferentiable(
            f"`{function.__name__}` must return one number to have a gradient; it returns {found}",
            span,
            hint="use tapec.vjp or tapec.jacobian for other results",
        )
    if not result[1].is_float:
        raise NotDifferentiable(
            f"`{function.__name__}` returns {result[1]}, which has no derivative", span, hint="return a float"
        )


def _definition(function: types.FunctionType) -> Span:
    source = source_of(function)
    return source.span(source.node)


def _labels(function: types.FunctionType, count: int) -> tuple[str, ...]:
    names = list(inspect.signature(function).parameters)
    return tuple(names[k] if k < len(names) else f"{names[-1]}_{k}" for k in range(count))


def _results(core: Function) -> tuple[Atom, ...]:
    last = core.body[-1]
    assert isinstance(last, Return)
    return last.values


class _Structure:
    """How the arguments of the Python function map to core parameters and back."""

    def __init__(self, labels: tuple[str, ...], arguments: tuple[Any, ...], params: tuple[str, ...]) -> None:
        self.namespace: dict[str, Any] = {}
        self.unpack: list[str] = []
        remaining = list(params)
        self.labels: list[str] = []
        self.trees: list[Any] = []
        for label, argument in zip(labels, arguments, strict=True):
            tree = self._tree(argument, remaining)
            self.trees.append((tree, argument))
            if isinstance(tree, str):
                self.labels.append(tree)
            else:
                self.labels.append(label)
                if isinstance(tree, tuple):
                    self.unpack.append(f"{self._target(tree)} = {label}")

    def _tree(self, argument: Any, remaining: list[str]) -> Any:
        """Core parameter names in the argument's structure; None for what is static."""
        if isinstance(argument, Static | SameAs):
            return None
        if isinstance(argument, Tup):
            return tuple(self._tree(item, remaining) for item in argument.items)
        return remaining.pop(0)

    def _target(self, tree: Any) -> str:
        if tree is None:
            return "_"
        if isinstance(tree, str):
            return tree
        inner = ", ".join(self._target(item) for item in tree)
        return f"({inner},)" if len(tree) == 1 else f"({inner})"

    def sources(self, positions: tuple[int, ...], function: types.FunctionType) -> tuple[str, ...]:
        """The core parameters to differentiate by; integers among them are an error."""
        found: list[str] = []
        for position in positions:
            if position >= len(self.trees):
                raise UsageError(f"`{function.__name__}` was called without argument {position}")
            tree, argument = self.trees[position]
            self._collect(tree, argument, found, function, self.labels[position])
        return tuple(dict.fromkeys(found))

    def _collect(self, tree: Any, argument: Any, found: list[str], function: Any, label: str) -> None:
        if isinstance(tree, tuple):
            for item, inner in zip(tree, argument.items, strict=True):
                self._collect(item, inner, found, function, label)
            return
        if isinstance(argument, Scalar | Array) and argument.is_float:
            found.append(tree)
            return
        if isinstance(argument, SameAs):
            raise UsageError(
                f"`{label}` is the same array as another argument and is written: it has no gradient of its own",
                hint="differentiate by one of them, or pass a copy",
            )
        kind = "a constant" if isinstance(argument, Static) else str(argument)
        raise NotDifferentiable(
            f"`{label}` is {kind}, which has no derivative",
            _definition(function),
            reason="gradients are taken with respect to floats",
            hint=f"pass `{label}` as float64, or leave it out of wrt",
        )

    def gradients(self, positions: tuple[int, ...], single: bool, bars: dict[str, Expr]) -> str:
        texts = [self._gradient(self.trees[p][0], self.trees[p][1], bars) for p in positions]
        if single:
            return texts[0]
        return "(" + ", ".join(texts) + ("," if len(texts) == 1 else "") + ")"

    def _gradient(self, tree: Any, argument: Any, bars: dict[str, Expr]) -> str:
        if isinstance(tree, str):
            return printer.expression(bars[tree])
        items = [self._gradient(item, inner, bars) for item, inner in zip(tree, argument.items, strict=True)]
        return self._make(argument.cls, items)

    def _make(self, cls: Any, items: list[str]) -> str:
        if cls is not None:
            # two classes may have one name
            name, count = cls.__name__, 0
            while self.namespace.setdefault(name, cls) is not cls:
                count += 1
                name = f"{cls.__name__}_{count}"
            return f"{name}({', '.join(items)})"
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"

    def result(self, structure: Any, values: tuple[Expr, ...]) -> str:
        """The text of a returned structure; `values` are its leaves."""
        if structure is None:
            return "None"
        if structure[0] in ("tuple", "list"):
            return self._make(structure[1], [self.result(item, values) for item in structure[2]])
        return printer.expression(values[structure[0]])


def _tangents(
    function: types.FunctionType, made: Function, lowered: Lowered, structure: _Structure, options: Options
) -> Program:
    places: list[int] = []
    dots: dict[int, int] = {}
    position = 0
    for k, value in enumerate(_results(lowered.function)):
        places.append(position)
        position += 1
        if _is_float(value, lowered.function.types):
            dots[k] = position
            position += 1

    def text(values: tuple[Expr, ...]) -> str:
        primal = tuple(values[place] for place in places)
        return f"{structure.result(lowered.result, primal)}, {tangent(lowered.result, values)}"

    def tangent(tree: Any, values: tuple[Expr, ...]) -> str:
        if tree is None:
            return "None"
        if tree[0] in ("tuple", "list"):
            return structure._make(tree[1], [tangent(item, values) for item in tree[2]])
        return printer.expression(values[dots[tree[0]]]) if tree[0] in dots else "0"

    doc = f"The value of `{function.__name__}` and its tangent, for given tangents of its arguments."
    made = Function(made.name, made.params, made.body, made.types, doc)
    seeds = made.params[len(lowered.function.params) :]
    return _finish(made, text, lowered, structure, options, seeds)


def _is_float(value: Atom, types_: dict[str, Type]) -> bool:
    if isinstance(value, Name):
        return types_[value.id].is_float
    return isinstance(value.value, float)


def _finish(
    core: Function,
    returned: Callable[[tuple[Expr, ...]], str],
    lowered: Lowered,
    structure: _Structure,
    options: Options,
    seeds: tuple[str, ...] = (),
) -> Program:
    """Optimise and print; `returned` gives the text of the result from what the last statement returns."""
    labels = (*structure.labels, *seeds)
    # for the classes of named tuples, whose names are taken
    result = returned(_results(core))
    if options.level > 0:
        taken = (*lowered.constants, *structure.namespace, *labels)
        core = tidy(core, frozenset(taken).difference(core.params))
        result = returned(_results(core))
    lines = [f"def {core.name}({', '.join(labels)}):", f'    """{core.doc}"""']
    lines += [f"    {line}" for line in structure.unpack]
    if len(core.body) > 1:
        lines += printer.statements(core.body[:-1], 1, options.quote)
    lines.append(f"    return {result}")
    text = "\n".join(lines) + "\n"
    namespace = {**structure.namespace, **lowered.constants}
    return Program(core.name, text, namespace, core, lowered, labels, tuple(seeds))
