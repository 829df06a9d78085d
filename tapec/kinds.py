"""Each kind of derivative, from lowered code to a program: a table, and a function for each."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

from tapec.backend import printer
from tapec.backend.boundary import Boundary, combined, renamed
from tapec.backend.directions import Direction, trees, with_directions, with_directions_first
from tapec.backend.program import Program, resolve_wrt
from tapec.finishing import finish, is_float
from tapec.frontend.evaluator.evaluator import RESERVED
from tapec.frontend.evaluator.values import Tup
from tapec.frontend.lower import Lowered
from tapec.frontend.source.function_source import parameters
from tapec.optimise import alone_for, prepare, prepare_in_order, program_versions
from tapec.optimise.shapes.versions import Versions
from tapec.optimise.simplify.unset_names import initialise_unset
from tapec.options import Options, no_limit
from tapec.remarks import heard_by
from tapec.results import check_returns, check_target, is_number, refuse_complex, refuse_complex_result
from tapec.syntax.core import Atom, Block, Expr, Function, Note, Return
from tapec.syntax.types import Stack, Type
from tapec.transforms.compressed import SPARSE, sparse_program
from tapec.transforms.forward import forward
from tapec.transforms.index_guards import with_guards
from tapec.transforms.jacobian import JACOBIANS, blocks_of, directed
from tapec.transforms.jacobian_strips import WIDTH
from tapec.transforms.memory_limit import limited
from tapec.transforms.overlap_guards import separate_arguments, separate_elements
from tapec.transforms.recursive_callees import with_lists
from tapec.transforms.recursive_residuals import CallerLists
from tapec.transforms.residual_requests import Unhandable
from tapec.transforms.reverse import Reversed, kept_by_loops, reverse, targets_of
from tapec.transforms.scaled_pullback import is_linear, scaled
from tapec.transforms.seed_shapes import with_checked_seeds, with_checked_tangents
from tapec.transforms.several_directions import pulled_together, pushed_together
from tapec.transforms.split import Split, split
from tapec.transforms.taylor import taylor

# the program for operands that need no broadcasting, lowered by itself, and what is equal for that
Unbroadcast = tuple[Function, tuple[tuple[Expr, Expr], ...]]


@dataclass(frozen=True)
class Asked:
    """What is asked for.

    unbroadcast  the program for operands that need no broadcasting, if it has been lowered by itself
    given  the arguments, if only the version that they need is to be made
    taken  the structures of the tangents, the cotangent or the vector that follow the arguments, if they are known
    lanes  how many directions a program for several has at once, if that is chosen
    apart  whether versions are functions by themselves
    """

    lowered: Lowered
    function: types.FunctionType
    arguments: tuple[Any, ...]
    kind: str
    wrt: Any
    options: Options
    unbroadcast: Unbroadcast | None
    given: tuple[Any, ...] | None
    taken: tuple[Any, ...]
    lanes: int | None = None
    apart: bool = False


class Derivation:
    """What the kinds share: the boundary of the function that is made, its name, and its sources."""

    def __init__(self, asked: Asked) -> None:
        self.asked, self.kind, self.options = asked, asked.kind, asked.options
        self.lowered, self.function = asked.lowered, asked.function
        core = asked.lowered.function
        labels = _labels(asked.function, len(asked.arguments))
        self.structure = Boundary(labels, asked.arguments, core.params)
        self.constants = frozenset(asked.lowered.constants)
        self.name = f"{core.name}_{self.kind}" if core.name.isidentifier() else f"function_{self.kind}"

    def by(self) -> Derivation:
        """Itself, with what it is to be differentiated by."""
        self.positions, self.single = resolve_wrt(self.function, self.asked.wrt)
        self.sources = self.structure.sources(self.positions, self.function)
        return self

    def checks(self, function: Function) -> Block:
        """What stands before a function: tests that arguments share no memory where that would matter."""
        structure, roots = self.structure, self.lowered.roots
        whole = {part: pair.whole for pair in structure.pairs() for part in (pair.re, pair.im)}
        elements = separate_elements(function, roots, whole, structure.contiguous)
        return (*elements, *separate_arguments(function, roots, whole))

    def checked(self, function: Function) -> Function:
        return replace(function, body=(*self.checks(function), *function.body))

    def prepared(self, function: Function) -> Function:
        """A function as the transforms take it."""
        if self.options.fast:
            function = prepare(function, self.constants)
        elif self.options.level and not self.options.strict:
            function = prepare_in_order(function, self.constants)
        return replace(function, strong_zero=self.options.strong_zero)

    def described(self, made: Function) -> Function:
        """A derivative with its name, and what it says of itself."""
        by = [self.structure.labels[position] for position in self.positions]
        return replace(made, name=self.name, doc=_doc(self.kind, self.function, by))

    def taking(self, directions: Iterable[Direction]) -> Boundary:
        """The boundary of a function that takes tangents, a cotangent or a vector after the arguments."""
        taken = self.asked.taken
        typed = (replace(one, given=given) for one, given in zip_longest(directions, taken))
        # of emitted source the caller's tangents are those of what the function leaves in its arguments
        return with_directions(self.structure, typed, copied=bool(self.lowered.written and taken))

    def gradients(self, values: tuple[Expr, ...]) -> str:
        """The text of what a function returns for its sources."""
        return self.structure.gradients(self.positions, self.single, dict(zip(self.sources, values, strict=True)))

    def tangents(self, made: Function) -> list[Direction]:
        """The tangents that a function takes after the parameters of the lowered one."""
        dots = dict(zip(self.sources, made.params[len(self.lowered.function.params) :], strict=True))
        found = []
        for position in self.positions:
            label, (tree, like) = self.structure.labels[position], self.structure.trees[position]
            found.append(Direction(f"{label}_dot", f"the tangent of `{label}`", renamed(tree, dots), like))
        return found

    def check_target(self) -> None:
        check_target(self.lowered, self.function, self.kind, self.options.has_aux)

    def for_runs(self, shown: str) -> Function:
        """The function for derivatives that run it several times: the checks stand before the runs."""
        self.check_target()
        refuse_complex(self.function, self.structure, self.sources, shown)
        no_limit(self.options, f"tapec.{shown}")
        return self.prepared(replace(self.lowered.function, name=self.name))

    def after_checks(self, made: Function) -> Function:
        # names of their own beside those of the runs
        checks = self.checks(replace(self.lowered.function, types=made.types))
        return self.described(replace(made, body=(*checks, *made.body)))

    def limited(self, core: Function, unit_seed: bool, fuse: bool) -> Function:
        """A function within the limit of memory, if there is one."""
        if self.options.memory is None:
            return core
        stored = partial(kept_by_loops, **self._ways(unit_seed, fuse))
        with heard_by(None):
            return limited(core, self.constants, self.options.memory, stored)

    def reversing(self, core: Function, unit_seed: bool, fuse: bool) -> Callable[[Function], Reversed]:
        """What gives both sweeps of a function that calls the recursive functions of `core`."""
        handed = None
        if self.lowered.callees and fuse and self.options.memory is None and not self.options.threads:
            handed = with_lists(self.lowered.callees, self.constants, core.body)
        brief = self.options.whole_arrays
        ways = self._ways(unit_seed, fuse or (brief and unit_seed))
        return partial(_swept, grow=self.options.fast, handed=handed, brief=brief, **ways)

    def _ways(self, unit_seed: bool, fuse: bool) -> dict[str, Any]:
        """How `reverse` is to go."""
        return {"sources": self.sources, "constants": self.constants, "unit_seed": unit_seed, "fuse": fuse}


def _swept(function: Function, handed: CallerLists | None, **given: Any) -> Reversed:
    """Both sweeps, with the lists for the recursive functions that are called."""
    if handed is None:
        return reverse(function, **given)
    try:
        return handed.begun(reverse(function, asked=handed.asked, **given))
    except Unhandable:
        return reverse(function, **given)


def _primal(asked: Asked) -> Program:
    made = Derivation(asked)
    core = made.checked(asked.lowered.function)
    doc = f"The value of `{printer.harmless(asked.function.__name__)}`."

    def value(values: tuple[Expr, ...]) -> str:
        return made.structure.result(asked.lowered.result, values)

    whole = Function(made.name, core.params, core.body, core.types, doc)
    return finish(whole, value, asked.lowered, made.structure, asked.options)


def _gradient(asked: Asked) -> Program:
    """`grad` and `value_and_grad`, in versions for operands that need no broadcasting, and others, where that pays."""
    made = Derivation(asked).by()
    made.check_target()
    options, several, shapes = asked.options, None, None
    # recursive functions stand before the one function that calls them
    apart = asked.apart and not asked.lowered.callees
    if asked.given is not None:
        shapes = made.structure.shapes(asked.given)
    core = made.checked(asked.lowered.function)
    if options.in_versions:
        unbroadcast = None if asked.unbroadcast is None else (made.checked(asked.unbroadcast[0]), asked.unbroadcast[1])
        several = program_versions(core, made.constants, unbroadcast, options.fast, apart or shapes is not None)
    if several is not None:
        several = several if shapes is None else alone_for(several, shapes)
        several = replace(several, apart=apart)
        core = several.first
    core = made.limited(made.prepared(core), True, options.fast)
    back = made.reversing(core, True, options.fast)
    swept = back(core)
    # a gradient alone comes with what is returned beside the number
    first = 0
    if asked.kind == "grad":
        first = 1 if options.has_aux else len(swept.values)
    count = len(swept.values) - first

    def text(values: tuple[Expr, ...]) -> str:
        gradient, result = made.gradients(values[count:]), asked.lowered.result
        if asked.kind == "value_and_grad":
            return f"{made.structure.result(result, values[:count])}, {gradient}"
        return _with_aux(made, gradient, 1, values[:count])

    whole = _both_sweeps(made, core, swept, first)
    if several is not None:
        several = _derived(made, several, whole, back, first)
    return finish(whole, text, asked.lowered, made.structure, options, several=several, shapes=shapes)


def _derived(
    made: Derivation, several: Versions, first: Function, back: Callable[[Function], Reversed], kept: int
) -> Versions:
    """The derivatives of all versions, of which that of the first one has been made."""

    def derived(program: Function) -> Function:
        if program is begun:
            return first
        with heard_by(None):  # all remarks are on the first one
            return _both_sweeps(made, program, back(made.prepared(program)), kept)

    begun = several.first
    return several.of(derived)


def _both_sweeps(made: Derivation, core: Function, swept: Reversed, first: int = 0) -> Function:
    """The function that runs both sweeps; it returns the values from the `first` on, and the adjoints."""
    results: tuple[Atom, ...] = (*swept.values[first:], *swept.adjoints)
    body = (Note("forward sweep"), *swept.forward, Note("reverse sweep"), *swept.backward, Return(results))
    return made.described(Function(made.name, (*core.params, *swept.seeds), body, swept.types))


def _vjp(asked: Asked) -> Program:
    made = Derivation(asked).by()
    made.check_target()
    fast = asked.options.fast
    core = made.limited(made.prepared(made.checked(asked.lowered.function)), False, fast)
    swept = with_checked_seeds(made.reversing(core, False, fast)(core))
    tree, like = trees(asked.lowered.result, iter(swept.seeds), swept.types)
    structure = made.taking([Direction("cotangent", "the cotangent", tree, like)])
    count = len(swept.values)

    def text(values: tuple[Expr, ...]) -> str:
        adjoints = dict(zip(made.sources, values[count:], strict=True))
        result = structure.result(asked.lowered.result, values[:count])
        return f"{result}, {structure.gradients(made.positions, made.single, adjoints)}"

    return finish(_both_sweeps(made, core, swept), text, asked.lowered, structure, asked.options)


def _jvp(asked: Asked) -> Program:
    made = Derivation(asked).by()
    check_returns(asked.lowered, made.function)
    core = made.prepared(made.checked(asked.lowered.function))
    core = with_guards(core, made.sources, targets_of(core, shared=False, outputs=None), reads=True)
    pushed = forward(core, made.sources, made.constants, made.name)
    pushed = made.described(with_checked_tangents(pushed, len(core.params), made.sources))
    return _tangents(asked, pushed, made.taking(made.tangents(pushed)))


def _taylor(asked: Asked) -> Program:
    """Taylor coefficients, along a line or, of the kind `taylor_series`, along a curve that the caller gives."""
    made = Derivation(asked).by()
    check_returns(asked.lowered, made.function)
    no_limit(asked.options, "tapec.taylor")
    order, along_curve = asked.options.order, asked.kind == "taylor_series"
    core = made.prepared(made.checked(asked.lowered.function))
    core = with_guards(core, made.sources, targets_of(core, shared=False, outputs=None), reads=True)
    given = order if along_curve else 1
    found = taylor(core, made.sources, made.constants, order, made.name, given)
    repeated = tuple(source for source in made.sources for _ in range(given))
    found = made.described(with_checked_tangents(found, len(core.params), repeated))
    names = iter(found.params[len(core.params) :])
    taken = {source: [next(names) for _ in range(given)] for source in made.sources}
    directions = []
    for position in made.positions:
        label, (tree, like) = made.structure.labels[position], made.structure.trees[position]
        moved = tuple(renamed(tree, {one: found[k] for one, found in taken.items()}) for k in range(given))
        if along_curve:
            directions.append(Direction(f"{label}_series", f"the series of `{label}`", moved, Tup((like,) * order)))
        else:
            directions.append(Direction(f"{label}_dot", f"the tangent of `{label}`", moved[0], like))
    return _coefficients(asked, found, made.taking(directions))


def _coefficients(asked: Asked, made: Function, structure: Boundary) -> Program:
    """The function that returns a tuple of Taylor coefficients, of the one that returns the parts of all."""
    lowered, order = asked.lowered, asked.options.order
    first: list[int] = []
    position = 0
    moves = [is_float(value, lowered.function.types) for value in lowered.function.results]
    for one in moves:
        first.append(position)
        position += 1 + order * one

    def coefficient(tree: Any, values: tuple[Expr, ...], k: int) -> str:
        if tree is None:
            return "None"
        if tree[0] in ("tuple", "list"):
            return structure.make(tree[1], [coefficient(item, values, k) for item in tree[2]])
        if tree[0] == "complex":
            return combined(tree, *(coefficient(part, values, k) for part in tree[2]))
        return printer.expression(values[first[tree[0]] + k]) if moves[tree[0]] else "0"

    def text(values: tuple[Expr, ...]) -> str:
        value = structure.result(lowered.result, tuple(values[place] for place in first))
        return ", ".join([value, *(coefficient(lowered.result, values, k) for k in range(1, order + 1))])

    return finish(made, text, lowered, structure, asked.options)


def _pushes(asked: Asked) -> Program:
    """`jvp` in several directions."""
    made = Derivation(asked).by()
    check_returns(asked.lowered, made.function)
    found = pushed_together(_for_directions(made), made.sources, made.constants)
    found = made.after_checks(found)
    tangents = (with_directions_first(one) for one in made.tangents(found))
    return _tangents(asked, found, made.taking(tangents))


def _pulls(asked: Asked) -> Program:
    """`vjp` of several cotangents."""
    made = Derivation(asked).by()
    made.check_target()
    found = pulled_together(_for_directions(made), made.sources, made.constants)
    found = made.after_checks(found)
    seeds = found.params[len(asked.lowered.function.params) :]
    tree, like = trees(asked.lowered.result, iter(seeds), found.types)
    one = with_directions_first(Direction("cotangent", "the cotangent", tree, like))
    structure = made.taking([one])
    count = len(asked.lowered.function.results)

    def text(values: tuple[Expr, ...]) -> str:
        adjoints = dict(zip(made.sources, values[count:], strict=True))
        result = structure.result(asked.lowered.result, values[:count])
        return f"{result}, {structure.gradients(made.positions, made.single, adjoints)}"

    return finish(found, text, asked.lowered, structure, asked.options)


def _for_directions(made: Derivation) -> Function:
    """The function for derivatives in several directions, of real numbers and arrays."""
    no_limit(made.options, "a derivative in several directions")
    shown = f"{made.kind.removesuffix('_directions')}_fun(directions=True)"
    refuse_complex(made.function, made.structure, made.sources, shown)
    refuse_complex_result(made.function, made.lowered.result, shown)
    return made.prepared(made.lowered.function)


def _hvp(asked: Asked) -> Program:
    made = Derivation(asked).by()
    made.check_target()
    no_limit(asked.options, "tapec.hvp")
    core = made.prepared(made.checked(asked.lowered.function))
    product = made.described(directed(core, made.sources, made.constants, asked.options.fast))
    tangents = made.tangents(product)
    tuples = tuple(one.tree for one in tangents), Tup(tuple(one.like for one in tangents))
    vector = Direction("v", "the vector", *((tangents[0].tree, tangents[0].like) if made.single else tuples))
    count = len(made.sources)

    def text(values: tuple[Expr, ...]) -> str:
        return _with_aux(made, made.gradients(values[:count]), 1, values[count:])

    return finish(product, text, asked.lowered, made.taking([vector]), asked.options)


def _jacobian(asked: Asked) -> Program:
    made = Derivation(asked).by()
    core = made.for_runs(asked.kind)
    result, first = _differentiated(asked)
    beside = len(core.results) - first
    found = blocks_of(asked.kind, core, made.sources, made.constants, asked.options.fast, beside)
    found = made.after_checks(found)
    order = 2 if asked.kind == "hessian" else 1

    def blocks(values: tuple[Expr, ...]) -> str:
        text = made.structure.blocks(result, made.positions, made.single, made.sources, order, values)
        return _with_aux(made, text, first, values[len(values) - beside :])

    return finish(found, blocks, asked.lowered, made.structure, asked.options)


def _differentiated(asked: Asked) -> tuple[Any, int]:
    """What is differentiated of a function's result, and how many numbers and arrays of core that is."""
    result = asked.lowered.result
    if not asked.options.has_aux:
        return result, len(asked.lowered.function.results)
    return result[2][0], len(_places(result[2][0]))


def _places(result: Any) -> list[int]:
    """The places in the results of core that a result has."""
    if result is None:
        return []
    if result[0] in ("tuple", "list", "complex"):
        return [place for item in result[2] for place in _places(item)]
    return [result[0]]


def _with_aux(made: Derivation, text: str, first: int, values: tuple[Expr, ...]) -> str:
    """The text of a derivative, and of what the function returns beside, with `values` from place `first` on."""
    if not made.options.has_aux:
        return text
    # places in a result count those before
    places = (*made.lowered.function.results[:first], *values)
    return f"{text}, {made.structure.result(made.lowered.result[2][1], places)}"


def _sparse(asked: Asked) -> Program:
    made = Derivation(asked).by()
    options = asked.options
    core = made.for_runs(SPARSE[asked.kind])
    found, seeds = sparse_program(asked.kind, core, made.sources, made.constants, asked.lanes or WIDTH, options.fast)
    found = made.after_checks(found)
    if asked.kind.endswith(("sparsity", "sets")):
        # it runs once, and joining sets is no work for vectors
        options = replace(options, level=min(options.level, 1))

    def digests(values: tuple[Expr, ...]) -> str:
        return ", ".join(map(printer.expression, values))

    structure = made.structure.of_residuals([*made.structure.labels, *seeds], made.structure.unpack)
    return finish(found, digests, asked.lowered, structure, options)


def _halves(asked: Asked) -> Program:
    """One of the two functions that `tapec.vjp` makes: the augmented primal, and the pullback."""
    made = Derivation(asked).by()
    made.check_target()
    core = made.prepared(made.checked(asked.lowered.function))
    scales = asked.options.fast and is_number(asked.lowered.result) and is_linear((core, *asked.lowered.callees))
    core = made.limited(core, scales, scales)
    swept = made.reversing(core, scales, scales)(core)
    label = core.name if core.name.isidentifier() else "function"
    parts = scaled(swept, label, core.strong_zero) if scales else split(swept, label, made.constants)
    return (_augmented if asked.kind == "augmented" else _pullback)(made, parts)


def _tangents(asked: Asked, made: Function, structure: Boundary) -> Program:
    """The function that returns the value and its tangent, of the one that returns the parts of both."""
    lowered = asked.lowered
    places: list[int] = []
    dots: dict[int, int] = {}
    position = 0
    for k, value in enumerate(lowered.function.results):
        places.append(position)
        position += 1
        if is_float(value, lowered.function.types):
            dots[k] = position
            position += 1

    def text(values: tuple[Expr, ...]) -> str:
        return f"{primal(lowered.result, values)}, {tangent(lowered.result, values)}"

    def primal(tree: Any, values: tuple[Expr, ...]) -> str:
        return structure.result(tree, tuple(values[place] for place in places))

    def tangent(tree: Any, values: tuple[Expr, ...]) -> str:
        if tree is None:
            return "None"
        if tree[0] in ("tuple", "list"):
            if hasattr(tree[1], "has_places"):
                # where elements stand
                items = [tangent(item, values) if item[0] in dots else primal(item, values) for item in tree[2]]
                return structure.make(tree[1], items)
            return structure.make(tree[1], [tangent(item, values) for item in tree[2]])
        if tree[0] == "complex":
            return combined(tree, *(tangent(part, values) for part in tree[2]))
        return printer.expression(values[dots[tree[0]]]) if tree[0] in dots else "0"

    return finish(made, text, lowered, structure, asked.options)


def _augmented(whole: Derivation, parts: Split) -> Program:
    """A function that returns the value and two tuples of residuals."""
    doc = f"The value of `{printer.harmless(whole.function.__name__)}`, and what its pullback reads and changes."
    made = replace(initialise_unset(parts.augmented, whole.constants), doc=doc)
    kinds = [made.types[name] for name in (*parts.kept, *parts.state)]
    first = len(made.results) - len(kinds)

    def text(values: tuple[Expr, ...]) -> str:
        residuals = [_leaving(value, kind) for value, kind in zip(values[first:], kinds, strict=True)]
        kept, state = residuals[: len(parts.kept)], residuals[len(parts.kept) :]
        value = whole.structure.result(whole.lowered.result, values[:first])
        return f"{value}, {whole.structure.make(None, kept)}, {whole.structure.make(None, state)}"

    return finish(made, text, whole.lowered, whole.structure, whole.options)


def _leaving(value: Expr, kind: Type) -> str:
    """The text of a residual; a list leaves compiled code as an array."""
    text = printer.expression(value)
    if not isinstance(kind, Stack):
        return text
    dtype = kind.element.dtype
    return f"np.array({text}, np.{'bool_' if dtype == 'bool' else dtype})"


def _pullback(whole: Derivation, parts: Split) -> Program:
    """A function of the two tuples of residuals and the seeds that returns the adjoints."""
    structure, name = whole.structure, parts.pullback.name
    made = replace(whole.described(parts.pullback), name=name)
    taken = {*made.types, *whole.lowered.constants}
    labels, unpack = [], []
    for packed, names in (("kept", parts.kept), ("state", parts.state)):
        while packed in taken:
            packed += "_"
        labels.append(packed)
        if names:
            unpack.append(f"{structure.make(None, list(names))[1:-1]} = {packed}")
    unpack += [f"{n} = list({n})" for n in parts.kept if isinstance(made.types[n], Stack)]

    def text(values: tuple[Expr, ...]) -> str:
        return structure.gradients(whole.positions, False, dict(zip(whole.sources, values, strict=True)))

    seeds = made.params[len(parts.kept) + len(parts.state) :]
    return finish(made, text, whole.lowered, structure.of_residuals(labels, unpack), whole.options, seeds)


def _doc(kind: str, function: types.FunctionType, labels: list[str]) -> str:
    """The docstring of a generated function."""
    by = ", ".join(f"`{label}`" for label in labels)
    what = {
        "grad": "The gradient of `{f}` with respect to {by}.",
        "value_and_grad": "The value of `{f}` and its gradient with respect to {by}.",
        "jvp": "The value of `{f}` and its tangent, for given tangents of {by}.",
        "vjp": "The value of `{f}`, and the adjoints of {by} for given adjoints of the result.",
        "taylor": "The Taylor coefficients of `{f}`, for given tangents of {by}.",
        "taylor_series": "The Taylor coefficients of `{f}`, for given coefficients of {by}.",
        "jvp_directions": "The value of `{f}` and its tangents, for several tangents of {by}.",
        "vjp_directions": "The value of `{f}`, and the adjoints of {by} for several adjoints of the result.",
        "jacobian": "The Jacobian of `{f}` with respect to {by}.",
        "jacfwd": "The Jacobian of `{f}` with respect to {by}, by columns.",
        "jacrev": "The Jacobian of `{f}` with respect to {by}, by rows.",
        "hvp": "The product of the Hessian of `{f}` with respect to {by} and a vector.",
        "hessian": "The second derivatives of `{f}` with respect to {by}.",
        "sparsity": "The elements of {by} that each result of `{f}` depends on, as numbers of sets.",
        "sets": "The elements of {by} that each result of `{f}` depends on, as numbers of sets.",
        "elements": "The elements of the Jacobian of `{f}` with respect to {by}, stored in the order of the run.",
        "sums": "The elements of the Jacobian of `{f}` with respect to {by}, added up in the order of the run.",
        "columns": "Tangents of `{f}` in the directions of all elements of {by} that have one colour.",
        "rows": "Adjoints of {by} in the directions of all elements of the results of `{f}` that have one colour.",
        "hessian_sparsity": "The elements of {by} that each gradient of `{f}` depends on, as numbers of sets.",
        "hessian_sets": "The elements of {by} that each gradient of `{f}` depends on, as numbers of sets.",
        "hessian_elements": "The elements of the Hessian of `{f}` by {by}, stored in the order of the run.",
        "hessian_sums": "The elements of the Hessian of `{f}` by {by}, added up in the order of the run.",
        "hessian_columns": "Products of the Hessian of `{f}` by {by} with all elements of one colour.",
        "pullback": "The adjoints of {by} for given adjoints of the result of `{f}`.",
    }
    return printer.harmless(what[kind].format(f=function.__name__, by=by))


def _labels(function: types.FunctionType, count: int) -> tuple[str, ...]:
    """The parameters of a generated function, whose text must find its own names: `range`, `np`."""
    names = list(parameters(function))
    names = [f"{name}_" if name in RESERVED and f"{name}_" not in names else name for name in names]
    return tuple(names[k] if k < len(names) else f"{names[-1]}_{k}" for k in range(count))


# what makes a derivative of each kind; `augmented` and `pullback` are the halves of `tapec.vjp`
KINDS: dict[str, Callable[[Asked], Program]] = {
    "primal": _primal,
    "grad": _gradient,
    "value_and_grad": _gradient,
    "vjp": _vjp,
    "jvp": _jvp,
    "taylor": _taylor,
    "taylor_series": _taylor,
    "jvp_directions": _pushes,
    "vjp_directions": _pulls,
    "hvp": _hvp,
    "augmented": _halves,
    "pullback": _halves,
    **dict.fromkeys(JACOBIANS, _jacobian),
    **dict.fromkeys(SPARSE, _sparse),
}
