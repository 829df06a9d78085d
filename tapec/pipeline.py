"""The stages in order, for each kind of derivative.

    source ─lower→ typed core ─differentiate→ adjoint core ─optimise→ ─print→ Python source
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Any

from tapec.backend import printer
from tapec.backend.boundary import Boundary, combined, renamed
from tapec.backend.callee_text import callees_text, kernels_text
from tapec.backend.directions import Direction, trees, with_directions
from tapec.backend.kernels import with_kernels
from tapec.backend.pairs import grouped
from tapec.backend.program import Program, resolve_wrt
from tapec.errors import UnsupportedSyntax
from tapec.frontend.alike import lowered_alike
from tapec.frontend.evaluator import RESERVED
from tapec.frontend.lower import Lowered, lower
from tapec.frontend.source import parameters
from tapec.frontend.values import Tup
from tapec.optimise import alone_for, forms, prepare, tidy, used
from tapec.optimise.shapes.versions import OTHER_FORM, Versions
from tapec.optimise.simplify.unset_names import initialise_unset
from tapec.options import Options, no_aux, no_limit
from tapec.remarks import Listener, heard_by, stage
from tapec.results import check_target, is_number, refuse_complex
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Expr,
    Function,
    If,
    Name,
    Note,
    Op,
    Raise,
    Return,
    Stmt,
    blocks,
    map_blocks,
    walk,
)
from tapec.syntax.types import Stack, Type
from tapec.transforms.compressed import SPARSE, sparse_program
from tapec.transforms.forward import forward
from tapec.transforms.index_guards import with_guards
from tapec.transforms.jacobian import JACOBIANS, blocks_of, directed
from tapec.transforms.memory_limit import limited
from tapec.transforms.overlap_guards import separate_arguments, separate_elements
from tapec.transforms.recursive_callees import with_lists
from tapec.transforms.recursive_residuals import CallerLists
from tapec.transforms.residual_requests import Unhandable
from tapec.transforms.reverse import Reversed, kept_by_loops, reverse, targets_of
from tapec.transforms.scaled_pullback import is_linear, scaled
from tapec.transforms.seed_shapes import with_checked_seeds, with_checked_tangents
from tapec.transforms.split import Split, split
from tapec_runtime.locking import compiling

KINDS = (
    "primal", "grad", "value_and_grad", "vjp", "jvp", "augmented", "pullback",
    "jacobian", "jacfwd", "jacrev", "hessian", "hvp", *SPARSE,
)  # fmt: skip


@compiling
def build(
    function: types.FunctionType,
    arguments: tuple[Any, ...],
    kind: str,
    wrt: Any = 0,
    options: Options | None = None,
    listener: Listener | None = None,
    given: tuple[Any, ...] | None = None,
    taken: tuple[Any, ...] = (),
) -> Program:
    """Run the pipeline for one function and signature.

    `arguments` holds one structure of core types per parameter, or a Static; `listener` hears of stages
    and remarks.  Of a program that has several forms, that for the arguments `given` is made, if there are any.
    `taken` holds the structures of the tangents, the cotangent or the vector that follow the arguments; if there are
    none, they have the types that they should have.
    """
    options = options or Options()
    if kind not in ("grad", "value_and_grad"):
        no_aux(options, f"tapec.{kind}")
    with heard_by(listener):
        stage("lowering")
    with heard_by(None):
        lowered = lower(function, arguments, prepare=prepare if options.fast else None)
        options = options.with_checks(lowered.boundscheck)
        alike = None
        if kind in ("grad", "value_and_grad") and options.fast and options.memory is None:
            alike = lowered_alike(function, arguments, prepare, lowered)
    with heard_by(listener):
        stage("differentiating")
        program = _build(lowered, function, arguments, kind, wrt, options, alike, given, taken)
    with heard_by(None):
        callees = callees_text(program, lowered, options) if lowered.callees else ""
    prelude = "\n\n".join(filter(None, (callees, program.prelude)))
    return replace(program, prelude=prelude, options=used(options, program.core))


def _build(
    lowered: Lowered,
    function: types.FunctionType,
    arguments: tuple[Any, ...],
    kind: str,
    wrt: Any,
    options: Options,
    alike: tuple[Function, tuple[tuple[Expr, Expr], ...]] | None,
    given: tuple[Any, ...] | None,
    taken: tuple[Any, ...],
) -> Program:
    core = lowered.function
    labels = _labels(function, len(arguments))
    structure = Boundary(labels, arguments, core.params)
    whole = {part: pair.whole for pair in structure.pairs() for part in (pair.re, pair.im)}

    def guards(function: Function) -> Block:
        elements = separate_elements(function, lowered.roots, whole, structure.contiguous)
        return (*elements, *separate_arguments(function, lowered.roots, whole))

    core = replace(core, body=(*guards(core), *core.body))
    name = f"{core.name}_{kind}" if core.name.isidentifier() else f"function_{kind}"
    constants = frozenset(lowered.constants)
    if kind == "primal":
        doc = f"The value of `{printer.harmless(function.__name__)}`."
        made = Function(name, core.params, core.body, core.types, doc)

        def value(values: tuple[Expr, ...]) -> str:
            return structure.result(lowered.result, values)

        return _finish(made, value, lowered, structure, options)
    positions, single = resolve_wrt(function, wrt)
    sources = structure.sources(positions, function)
    if kind != "jvp":
        check_target(lowered, function, kind, options.has_aux)
    several_runs = kind in JACOBIANS or kind in SPARSE
    if several_runs:
        refuse_complex(function, structure, sources, SPARSE.get(kind, kind))
        # the runs of a Jacobian are behind the checks
        core = replace(lowered.function, name=name)
    if kind == "hvp" or several_runs:
        no_limit(options, f"tapec.{SPARSE.get(kind, kind)}")
    several = None
    if options.fast and options.memory is None and kind in ("grad", "value_and_grad"):
        if alike is not None:
            first, equal = alike
            alike = replace(first, body=(*guards(first), *first.body)), equal
        several = forms(core, constants, alike)
    shapes = None
    if given is not None and kind in ("grad", "value_and_grad"):
        shapes = structure.shapes(given)
    if several is not None:
        several = several if shapes is None else alone_for(several, shapes)
        core = several.first
    if options.fast:
        core = prepare(core, constants)
    core = replace(core, strong_zero=options.strong_zero)
    def taking(directions: Iterable[Direction]) -> Boundary:
        typed = (replace(one, given=given) for one, given in zip_longest(directions, taken))
        # of emitted source the caller's tangents are those of what the function leaves in its arguments
        return with_directions(structure, typed, copied=bool(lowered.written and taken))

    if kind in ("jvp", "hvp"):
        if kind == "jvp":
            core = with_guards(core, sources, targets_of(core, shared=False, outputs=None), reads=True)
            made = with_checked_tangents(forward(core, sources, constants, name), len(core.params), sources)
        else:
            made = directed(core, sources, constants, options.fast)
        dots = dict(zip(sources, made.params[len(core.params) :], strict=True))
        by = [structure.labels[p] for p in positions]
        made = replace(made, name=name, doc=_doc(kind, function, by))
        tangents = [
            Direction(f"{label}_dot", f"the tangent of `{label}`", renamed(tree, dots), like)
            for label, (tree, like) in zip(by, (structure.trees[p] for p in positions), strict=True)
        ]
        if kind == "jvp":
            return _tangents(made, lowered, taking(tangents), options)
        tuples = tuple(one.tree for one in tangents), Tup(tuple(one.like for one in tangents))
        vector = Direction("v", "the vector", *((tangents[0].tree, tangents[0].like) if single else tuples))

        def product(values: tuple[Expr, ...]) -> str:
            return structure.gradients(positions, single, dict(zip(sources, values, strict=True)))

        return _finish(made, product, lowered, taking([vector]), options)
    if kind in JACOBIANS:
        made = blocks_of(kind, core, sources, constants, options.fast)
        doc = _doc(kind, function, [structure.labels[p] for p in positions])
        # names of their own beside those of the runs
        checks = guards(replace(lowered.function, types=made.types))
        made = replace(made, body=(*checks, *made.body), doc=doc)
        order = 2 if kind == "hessian" else 1

        def blocks(values: tuple[Expr, ...]) -> str:
            return structure.blocks(lowered.result, positions, single, sources, order, values)

        return _finish(made, blocks, lowered, structure, options)
    if kind in SPARSE:
        made, seeds = sparse_program(kind, core, sources, constants, options.fast)
        doc = _doc(kind, function, [structure.labels[p] for p in positions])
        checks = guards(replace(lowered.function, types=made.types))
        made = replace(made, name=name, body=(*checks, *made.body), doc=doc)
        if kind.endswith("sparsity"):
            # it runs once, and joining sets is no work for vectors
            options = replace(options, level=min(options.level, 1))

        def digests(values: tuple[Expr, ...]) -> str:
            return ", ".join(map(printer.expression, values))

        further = structure.of_residuals([*structure.labels, *seeds], structure.unpack)
        return _finish(made, digests, lowered, further, options)
    apart = kind in ("augmented", "pullback")
    scales = apart and options.fast and is_number(lowered.result) and is_linear((core, *lowered.callees))
    unit_seed = scales or kind in ("grad", "value_and_grad")
    fuse = options.fast and (scales or not apart)
    if options.memory is not None:
        stored = partial(kept_by_loops, sources=sources, constants=constants, unit_seed=unit_seed, fuse=fuse)
        with heard_by(None):
            core = limited(core, constants, options.memory, stored)
    handed = None
    alone = options.memory is None and not options.threads
    if lowered.callees and options.fast and alone and (scales or not apart):
        handed = with_lists(lowered.callees, constants, core.body)
    back = partial(
        _swept, sources=sources, constants=constants, unit_seed=unit_seed, fuse=fuse, grow=options.fast, handed=handed
    )
    swept = back(core)
    if apart:
        label = core.name if core.name.isidentifier() else "function"
        parts = scaled(swept, label) if scales else split(swept, label, constants)
        if kind == "augmented":
            return _augmented(function, parts, lowered, structure, options)
        return _pullback(function, parts, lowered, structure, positions, sources, options)
    if kind == "vjp":
        swept = with_checked_seeds(swept)
        tree, like = trees(lowered.result, iter(swept.seeds), swept.types)
        structure = taking([Direction("cotangent", "the cotangent", tree, like)])
    # a gradient alone comes with what is returned beside the number
    kept = swept.values[1 if options.has_aux else len(swept.values) :] if kind == "grad" else swept.values
    left_out, count = len(swept.values) - len(kept), len(kept)

    doc = _doc(kind, function, [structure.labels[p] for p in positions])

    def sweeps(swept: Reversed) -> Function:
        results: tuple[Atom, ...] = (*swept.values[left_out:], *swept.adjoints)
        body = (Note("forward sweep"), *swept.forward, Note("reverse sweep"), *swept.backward, Return(results))
        return Function(name, (*core.params, *swept.seeds), body, swept.types, doc)

    def text(values: tuple[Expr, ...]) -> str:
        gradient = structure.gradients(positions, single, dict(zip(sources, values[count:], strict=True)))
        if kind != "grad":
            return f"{structure.result(lowered.result, values[:count])}, {gradient}"
        if not options.has_aux:
            return gradient
        # places in a result count the number, too
        return f"{gradient}, {structure.result(lowered.result[2][1], (values[0], *values[:count]))}"

    made = sweeps(swept)
    if several is not None:

        def derived(program: Function) -> Function:
            if program is begun:
                return made
            with heard_by(None):  # all remarks are on the first one
                prepared = replace(prepare(program, constants), strong_zero=options.strong_zero)
                return sweeps(back(prepared))

        begun = several.first
        several = several.of(derived)
    return _finish(made, text, lowered, structure, options, several=several, shapes=shapes)


def _swept(function: Function, handed: CallerLists | None, **given: Any) -> Reversed:
    """Both sweeps, with the lists for the recursive functions that are called."""
    if handed is None:
        return reverse(function, **given)
    try:
        return handed.begun(reverse(function, asked=handed.asked, **given))
    except Unhandable:
        return reverse(function, **given)


def _doc(kind: str, function: types.FunctionType, labels: list[str]) -> str:
    """The docstring of a generated function."""
    by = ", ".join(f"`{label}`" for label in labels)
    what = {
        "grad": "The gradient of `{f}` with respect to {by}.",
        "value_and_grad": "The value of `{f}` and its gradient with respect to {by}.",
        "jvp": "The value of `{f}` and its tangent, for given tangents of {by}.",
        "vjp": "The value of `{f}`, and the adjoints of {by} for given adjoints of the result.",
        "jacobian": "The Jacobian of `{f}` with respect to {by}.",
        "jacfwd": "The Jacobian of `{f}` with respect to {by}, by columns.",
        "jacrev": "The Jacobian of `{f}` with respect to {by}, by rows.",
        "hvp": "The product of the Hessian of `{f}` with respect to {by} and a vector.",
        "hessian": "The second derivatives of `{f}` with respect to {by}.",
        "sparsity": "The elements of {by} that each result of `{f}` depends on, as numbers of sets.",
        "columns": "Tangents of `{f}` in the directions of all elements of {by} that have one colour.",
        "rows": "Adjoints of {by} in the directions of all elements of the results of `{f}` that have one colour.",
        "hessian_sparsity": "The elements of {by} that each gradient of `{f}` depends on, as numbers of sets.",
        "hessian_columns": "Products of the Hessian of `{f}` by {by} with all elements of one colour.",
        "pullback": "The adjoints of {by} for given adjoints of the result of `{f}`.",
    }
    return printer.harmless(what[kind].format(f=function.__name__, by=by))


def _labels(function: types.FunctionType, count: int) -> tuple[str, ...]:
    """The parameters of a generated function, whose text must find its own names: `range`, `np`."""
    names = list(parameters(function))
    names = [f"{name}_" if name in RESERVED and f"{name}_" not in names else name for name in names]
    return tuple(names[k] if k < len(names) else f"{names[-1]}_{k}" for k in range(count))


def _tangents(
    made: Function, lowered: Lowered, structure: Boundary, options: Options
) -> Program:
    """The function that returns the value and its tangent, of the one that returns the parts of both."""
    places: list[int] = []
    dots: dict[int, int] = {}
    position = 0
    for k, value in enumerate(lowered.function.results):
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
            return structure.make(tree[1], [tangent(item, values) for item in tree[2]])
        if tree[0] == "complex":
            return combined(tree, *(tangent(part, values) for part in tree[2]))
        return printer.expression(values[dots[tree[0]]]) if tree[0] in dots else "0"

    return _finish(made, text, lowered, structure, options)


def _augmented(
    function: types.FunctionType, parts: Split, lowered: Lowered, structure: Boundary, options: Options
) -> Program:
    """A function that returns the value and two tuples of residuals."""
    doc = f"The value of `{printer.harmless(function.__name__)}`, and what its pullback reads and changes."
    made = replace(initialise_unset(parts.augmented, frozenset(lowered.constants)), doc=doc)
    kinds = [made.types[name] for name in (*parts.kept, *parts.state)]
    first = len(made.results) - len(kinds)

    def text(values: tuple[Expr, ...]) -> str:
        residuals = [_leaving(value, kind) for value, kind in zip(values[first:], kinds, strict=True)]
        kept, state = residuals[: len(parts.kept)], residuals[len(parts.kept) :]
        value = structure.result(lowered.result, values[:first])
        return f"{value}, {structure.make(None, kept)}, {structure.make(None, state)}"

    return _finish(made, text, lowered, structure, options)


def _leaving(value: Expr, kind: Type) -> str:
    """The text of a residual; a list leaves compiled code as an array."""
    text = printer.expression(value)
    if not isinstance(kind, Stack):
        return text
    dtype = kind.element.dtype
    return f"np.array({text}, np.{'bool_' if dtype == 'bool' else dtype})"


def _pullback(
    function: types.FunctionType,
    parts: Split,
    lowered: Lowered,
    structure: Boundary,
    positions: tuple[int, ...],
    sources: tuple[str, ...],
    options: Options,
) -> Program:
    """A function of the two tuples of residuals and the seeds that returns the adjoints."""
    made = replace(parts.pullback, doc=_doc("pullback", function, [structure.labels[p] for p in positions]))
    taken = {*made.types, *lowered.constants}
    labels, unpack = [], []
    for packed, names in (("kept", parts.kept), ("state", parts.state)):
        while packed in taken:
            packed += "_"
        labels.append(packed)
        if names:
            unpack.append(f"{structure.make(None, list(names))[1:-1]} = {packed}")
    unpack += [f"{n} = list({n})" for n in parts.kept if isinstance(made.types[n], Stack)]

    def text(values: tuple[Expr, ...]) -> str:
        return structure.gradients(positions, False, dict(zip(sources, values, strict=True)))

    seeds = made.params[len(parts.kept) + len(parts.state) :]
    return _finish(made, text, lowered, structure.of_residuals(labels, unpack), options, seeds)


def _same_extents(block: Block, partners: dict[str, str]) -> Block:
    """A block that asks for the extents of real parts in place of those of imaginary parts, `partners`."""
    if not partners:
        return block

    def same(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(value=Op(fn="dim", args=(Name(id=array), axis))) if array in partners:
                return replace(stmt, value=Op("dim", (Name(partners[array]), axis)))
        return map_blocks(stmt, lambda inner: _same_extents(inner, partners))

    return tuple(same(stmt) for stmt in block)


def _complex_results(lowered: Lowered) -> list[tuple[int, int]]:
    """The positions of the parts of each complex result, among the results that are floats."""
    floats = [_is_float(value, lowered.function.types) for value in lowered.function.results]
    found: list[tuple[int, int]] = []

    def visit(tree: Any) -> None:
        if tree is not None and tree[0] == "complex":
            first = sum(floats[: tree[2][0][0]])
            found.append((first, first + 1))
        elif tree is not None and tree[0] in ("tuple", "list"):
            for item in tree[2]:
                visit(item)

    visit(lowered.result)
    return found


def _is_float(value: Atom, types_: dict[str, Type]) -> bool:
    if isinstance(value, Name):
        return types_[value.id].is_float
    return isinstance(value.value, float)


def _check_depth(block: Block, loops: int = 0, depth: int = 1) -> None:
    """Refuse what Python's own compiler does not take: many loops inside each other, and very deep indentation."""
    for stmt in block:
        inside = loops + (not isinstance(stmt, If))
        inner = blocks(stmt)
        if inner and (inside > _LOOPS or depth > _DEPTH):
            raise UnsupportedSyntax(
                f"the derivative has {inside} loops inside each other, {depth} levels deep",
                stmt.span,
                reason=f"Python compiles {_LOOPS} loops inside each other, and {_DEPTH} levels",
                hint="run over several indices in one loop, with divmod",
            )
        for block_ in inner:
            _check_depth(block_, inside, depth + 1)


# CO_MAXBLOCKS of Python's compiler, and the deepest indentation of its tokenizer, less the function's own
_LOOPS, _DEPTH = 20, 98


def _finish(
    core: Function,
    returned: Callable[[tuple[Expr, ...]], str],
    lowered: Lowered,
    structure: Boundary,
    options: Options,
    seeds: tuple[str, ...] = (),
    several: Versions | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> Program:
    """Optimise and print; `returned` gives the text of the result from what the last statement returns.

    several  the forms of which `core` is the first one
    shapes   those of parameters, where the form for them may be made alone
    """
    stage("optimising")
    seeds, taken_apart = grouped(seeds, _complex_results(lowered) if seeds else [], core.types)
    labels = (*structure.labels, *seeds)
    taken = (*lowered.constants, *structure.namespace, *labels, *(pair.whole for pair in structure.pairs()))
    partners = {pair.im: pair.re for pair in structure.pairs() if pair.re in core.params}
    core = replace(core, body=_same_extents(core.body, partners))
    if several is not None:
        several = several.of(lambda program: replace(program, body=_same_extents(program.body, partners)))
        several = replace(several, special=tuple(form.asked_of(partners) for form in several.special))
    core = tidy(core, frozenset(taken).difference(core.params), options, several, shapes)
    _check_depth(core.body)
    whole = core
    core, kernels = with_kernels(core) if options.fast else (core, ())
    # a function that always raises returns nothing
    ends = isinstance(core.body[-1], Return)
    # for the classes of named tuples, whose names are taken
    result = returned(core.results) if ends else None
    lines = [f"def {core.name}({', '.join(labels)}):", f'    """{core.doc}"""']
    lines += [f"    {line}" for line in (*structure.unpack, *taken_apart)]
    if core.wide:
        lines.append(f"    {printer.WIDE}")
    body = core.body[:-1] if ends else core.body
    if body:
        lines += printer.statements(body, 1, options.quote)
    if ends:
        lines.append(f"    return {result}")
    text = "\n".join(lines) + "\n"
    namespace = {**structure.namespace, **lowered.constants}
    only = None if several is None else several.only
    if only is None and any(isinstance(stmt, Raise) and stmt.exception == OTHER_FORM for stmt in walk(core.body)):
        only = 0
    return Program(
        *(core.name, text, namespace, whole, lowered, labels),
        form=only,
        prelude=kernels_text(kernels, options),
        kernels=tuple(kernel.name for kernel in kernels),
    )
