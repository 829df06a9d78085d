"""Lower a Python function, for given argument types, to a core function."""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any

from tapec.errors import Span, TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays import array_creation, packed_lists
from tapec.frontend.arrays.copies_of_views import refuse_shared
from tapec.frontend.calls import inlining
from tapec.frontend.calls.recursion import finished
from tapec.frontend.evaluator.evaluator import Evaluator, Prepare
from tapec.frontend.evaluator.frames import DeadCode
from tapec.frontend.evaluator.symbolic_extents import AssumedExtents
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import (
    Complex,
    Contents,
    Items,
    Lst,
    Poison,
    Record,
    SameAs,
    Static,
    Sym,
    Tup,
    Value,
    describe,
)
from tapec.frontend.full_evaluator import FullEvaluator
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.operations.registered_derivatives import registered
from tapec.frontend.source.function_source import source_of
from tapec.frontend.structures import named_tuples
from tapec.syntax.core import Atom, Block, Function, Name, Return, changed, walk
from tapec.syntax.renaming import USERS_OWN, renamed
from tapec.syntax.types import Array


@dataclass(frozen=True)
class Lowered:
    """A core function and what is known about how it was made.

    function            the core function; its body ends with one Return of all leaves
    result              the structure of what the Python function returns, over the returned leaves
    constants           arrays of modules and closures, by core name
    roots               for each array name, the allocations and parameters whose memory it may share
    reads               names read from modules and closures, with their values (for cache keys)
    functions           every Python function reached
    callees             recursive functions, called by name
    bindings            what the user's variables are given, by the place of the assignment
    heap                what lists hold in the end
    seen                attributes of objects from outside that were read: owner, name and value
    users_names         names in `function` of values that `bindings` and `heap` have under the compiler's
    may_broadcast       whether operands of expressions in loops may have to be broadcast
    extents_may_change  whether arrays that loops set anew may change their extents
    boundscheck         whether a function is reached whose decorator asks for checks of bounds
    """

    function: Function
    result: Any
    constants: dict[str, Any]
    roots: dict[str, frozenset[str]]
    reads: dict[tuple[Any, str], Any] = field(default_factory=dict)
    functions: tuple[Any, ...] = ()
    callees: tuple[Function, ...] = ()
    bindings: dict[tuple[Span | None, str], Value] = field(default_factory=dict)
    heap: dict[Lst, Contents] = field(default_factory=dict)
    seen: tuple[tuple[Any, str, Any], ...] = ()
    users_names: dict[str, str] = field(default_factory=dict)
    may_broadcast: bool = False
    extents_may_change: bool = False
    boundscheck: bool = False

    @property
    def written(self) -> frozenset[str]:
        """The parameters whose memory the function may store into."""
        arrays = {array for stmt in walk(self.function.body) for array in changed(stmt)}
        return frozenset(self.function.params).intersection(
            root for array in arrays for root in self.roots.get(array, (array,))
        )


def lower(
    function: types.FunctionType,
    arguments: tuple[Any, ...],
    name: str | None = None,
    prepare: Prepare | None = None,
    assumed: AssumedExtents | None = None,
) -> Lowered:
    """Lower `function` for arguments given as a structure of types.

    An argument is a core type, a tuple of arguments, a `Static` for one that is known, or `SameAs`.
    Those of keyword-only parameters follow the others.  `prepare` rewrites what a derivative is taken of while its
    caller is lowered, so that it is faster.  Extents of parameters are `assumed` to be others where operands
    would have to be broadcast (`assumed_extents.py`).
    """
    source = source_of(function)
    ev = FullEvaluator()
    ev.prepare = prepare
    ev.lengths.assumed = assumed
    params: list[str] = []
    held = getattr(function, "captured", ())
    names = [*held, *(arg.id for arg in (*source.node.args.posonlyargs, *source.node.args.args))]
    ev.span = source.span(source.node)

    def parameter(label: str, given: Any) -> Any:
        if isinstance(given, Static):
            return ev.wrap(given.obj)
        if isinstance(given, Tup) and hasattr(given.cls, "object_names"):
            cls: Any = given.cls
            named = zip(cls.object_names, given.items, strict=True)
            return Record(tuple(parameter(f"{label}_{name.strip('_')}", item) for name, item in named), given.cls)
        if isinstance(given, Tup) and hasattr(given.cls, "packed"):
            fields: Any = given.cls._fields  # type: ignore[union-attr]
            parts = [parameter(f"{label}_{name}", part) for name, part in zip(fields, given.items, strict=True)]
            return packed_lists.packed(given.cls.packed, parts)  # type: ignore[union-attr]
        if isinstance(given, Tup):
            if given.cls is not None:
                named_tuples.check(ev, given.cls, source.node)
            items = tuple(parameter(f"{label}_{k}", item) for k, item in enumerate(given.items))
            return Tup(items, given.cls, is_argument=True)
        if isinstance(given, Complex):
            # its own name is that of the argument in the generated function
            whole = ev.fresh(label)
            re, im = (parameter(f"{whole}_{part}", given.re) for part in ("re", "im"))
            return complex_arithmetic.joined(ev, re, im) if given.is_array else Complex(re, im)
        ident = ev.fresh(label)
        ev.types[ident] = given
        params.append(ident)
        if isinstance(given, Array):
            ev.roots[ident] = frozenset({ident})
            ev.parameters[ident] = Sym(Name(ident), given)
        return Sym(Name(ident), given)

    extra = source.node.args.vararg
    positional = len(names) if extra is None else len(arguments)
    names += [arg.id for arg in source.node.args.kwonlyargs]
    labels = [
        names[k] if k < len(names) else f"{extra.id if extra is not None else 'arg'}_{k - len(names)}"
        for k in range(len(arguments))
    ]
    values: list[Value] = []
    for label, given in zip(labels, arguments, strict=True):
        values.append(values[given.position] if isinstance(given, SameAs) else parameter(label, given))
    try:
        keywords = dict(zip(names[positional:], values[positional:], strict=False))
        own = registered(function)
        if own is None:
            result = inlining.call_function(ev, function, values[:positional], keywords, None)
        else:
            ev.source_of(function)
            result = own(ev, values[:positional], keywords, None)
    except DeadCode:
        result = Static(None)
    leaves: list[Atom] = []
    # what is differentiated is a number on every way that it takes
    result = ev.present(result)
    structure = flatten_result(ev, result, leaves, source.span(source.node))
    body: Block = (*freeze(ev.root), Return(tuple(leaves), source.span(source.node)))
    body, callees = finished(ev.callees, body)
    body = refuse_shared(ev, tuple(params), body)
    users = _users_names(ev)
    for old, new in users.items():
        ev.types[new] = ev.types.pop(old)
    body = renamed(body, users)
    roots = {
        users.get(array, array): frozenset(users.get(root, root) for root in found) for array, found in ev.roots.items()
    }
    core = Function(name or function.__name__, tuple(params), body, ev.types, function.__doc__ or "")
    functions = tuple(ev.functions)
    seen = tuple((owner, name, value) for (_, name), (owner, value) in ev.seen.items())
    return Lowered(
        *(core, structure, ev.constants, roots, ev.reads, functions, callees, ev.bindings, ev.heap, seen, users),
        may_broadcast=ev.may_broadcast,
        extents_may_change=ev.extents_may_change,
        boundscheck=ev.boundscheck,
    )


def _users_names(ev: Evaluator) -> dict[str, str]:
    """What values that lowering named are called after the variables of the user's that are given them first."""
    names: dict[str, str] = {}
    for (_, ident), value in ev.bindings.items():
        atom = value.atom if isinstance(value, Sym) else None
        if isinstance(atom, Name) and atom.id in ev.temporary and atom.id in ev.types and atom.id not in names:
            names[atom.id] = ev.fresh(USERS_OWN.get(ident, ident))
    return names


def flatten_result(ev: Evaluator, value: Value, leaves: list[Atom], span: Span | None) -> Any:
    """The structure of a returned value with its leaves numbered."""
    match value:
        case Complex(re=re, im=im):
            return ("complex", value.type, [flatten_result(ev, part, leaves, span) for part in (re, im)])
        case Sym():
            leaves.append(value.atom)
            return len(leaves) - 1, value.type
        case Tup(items=items, cls=cls) | Record(items=items, cls=cls):
            return ("tuple", cls, [flatten_result(ev, item, leaves, span) for item in items])
        case Lst():
            contents = ev.heap[value]
            if isinstance(contents, Items):
                return ("list", None, [flatten_result(ev, item, leaves, span) for item in contents.values])
            return flatten_result(ev, array_creation.as_array(ev, value, None), leaves, span)
        case Static(obj=None):
            return None
        case Poison(reason=reason):
            ev.fail(TypeMismatch, "a part of what is returned has different types", None, reason=reason)
    message = f"cannot return {describe(value)}"
    ev.fail(UnsupportedSyntax, message, None, hint="return numbers, arrays, or tuples and named tuples of those")
