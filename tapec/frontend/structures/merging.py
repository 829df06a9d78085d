"""Where ways meet: one value from the values that a variable has on each way.

After an `if` and at the head of a loop a variable may come from several places.  Numbers and
arrays then get a merge name, which each way sets by a copy; tuples merge item by item; structure
must be the same on all ways, or reading it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Complex,
    Contents,
    Growing,
    Items,
    Iteration,
    Lazy,
    Lst,
    Maybe,
    MaybeNone,
    Poison,
    Rebuilt,
    Record,
    Static,
    Sym,
    Template,
    Tup,
    Value,
    describe,
    is_none,
    is_scalar,
    number,
)
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.operations.allocation import id_of
from tapec.frontend.source.tail_exits import RETURN
from tapec.frontend.structures.rebuilt_containers import gathered, share, spread
from tapec.syntax.core import Assign, Atom, Const, Name, Op
from tapec.syntax.types import FLOAT64, Array, Scalar, Text, Type


@dataclass
class Way:
    """One way into a meeting point: where copies go, and the contents of lists at its end."""

    block: list[Any]
    heap: dict[Lst, Contents]

    @contextmanager
    def end(self, ev: Evaluator) -> Iterator[None]:
        """What is written here stands at the end of the way."""
        outer = ev.block, ev.heap
        ev.block, ev.heap = self.block, self.heap
        try:
            yield
        finally:
            ev.block, ev.heap = outer


def merge(ev: Evaluator, name: str, first: Value | None, second: Value | None, ways: tuple[Way, Way]) -> Value | None:
    """The value of `name` after two ways meet; copies are appended to the ways' blocks."""
    if first is second or first == second:
        return first
    if first is None or second is None:
        return _merge_missing(ev, name, first, second, ways)
    if isinstance(first, Maybe) or isinstance(second, Maybe):
        return _merge_maybe(ev, name, first, second, ways)
    if isinstance(first, MaybeNone) or isinstance(second, MaybeNone):
        return _merge_optional(ev, name, first, second, ways)
    first, second = _text(first), _text(second)
    if isinstance(first, Sym) and isinstance(second, Sym):
        type_ = numba_types.unify(first.type, second.type)
        if type_ is None:
            return _poison(name, first, second)
        label = "t" if name.startswith("$select") else name
        target = ev.define(label, type_, temporary=label == "t")
        sources = []
        for way, value in zip(ways, (first, second), strict=True):
            with way.end(ev):
                sources.append(value.now)
            copy_to(ev, way.block, target, sources[-1])
        note_roots(ev, target, *sources)
        return met(ev, Sym(Name(target), type_), first, second)
    if isinstance(first, Complex) or isinstance(second, Complex):
        return _merge_complex(ev, name, first, second, ways)
    if isinstance(first, Tup) and isinstance(second, Tup) and len(first.items) == len(second.items):
        items = [merge(ev, name, a, b, ways) for a, b in zip(first.items, second.items, strict=True)]
        return Tup(tuple(item for item in items if item is not None), first.cls)
    if isinstance(first, Record) and isinstance(second, Record) and first.cls is second.cls:
        items = [merge(ev, name, a, b, ways) for a, b in zip(first.items, second.items, strict=True)]
        return Record(tuple(item for item in items if item is not None), first.cls)
    if isinstance(first, Iteration) and isinstance(second, Iteration):
        return _merge_ranges(ev, name, first, second, ways)
    one, other = (_spread(ev, value, way) for way, value in zip(ways, (first, second), strict=True))
    if isinstance(one, Rebuilt) and isinstance(other, Rebuilt):
        for met_here, way in zip((first, second), ways, strict=True):
            with way.end(ev):
                share(ev, met_here)
        return _merge_containers(ev, name, one, other, ways)
    return _poison(name, first, second)


def _merge_ranges(ev: Evaluator, name: str, first: Iteration, second: Iteration, ways: tuple[Way, Way]) -> Value:
    """Two ranges, bound by bound and step by step."""
    if first.kind != "range" or replace(first, args=second.args) != second:
        return _poison(name, first, second)
    bounds = [merge(ev, name, a, b, ways) for a, b in zip(first.args, second.args, strict=True)]
    return replace(first, args=tuple(bound for bound in bounds if bound is not None))


def _spread(ev: Evaluator, value: Value, way: Way) -> Value | None:
    """What a container holds at the end of a way."""
    with way.end(ev):
        return value if isinstance(value, Rebuilt) else spread(ev, value)


def _merge_containers(ev: Evaluator, name: str, first: Rebuilt, second: Rebuilt, ways: tuple[Way, Way]) -> Value:
    """Lists of one length, dicts with the same keys, or objects of one class, item by item."""
    if (first.keys, first.cls) != (second.keys, second.cls) or len(first.items) != len(second.items):
        return _poison(name, first, second)
    items = [merge(ev, name, a, b, ways) for a, b in zip(first.items, second.items, strict=True)]
    poison = next((item for item in items if isinstance(item, Poison)), None)
    if poison is not None:
        return poison
    made: Value = gathered(ev, replace(first, items=tuple(item for item in items if item is not None)))
    return made


def _merge_complex(ev: Evaluator, name: str, first: Value, second: Value, ways: tuple[Way, Way]) -> Value:
    """Complex numbers, of which one may be real, or complex arrays."""
    a, b = as_complex(first), as_complex(second)
    if a is None or b is None or a.is_array != b.is_array:
        return _poison(name, first, second)
    dtypes = [part.type.dtype for part in (a.re, a.im, b.re, b.im) if not isinstance(part.atom, Const)]
    if not a.is_array and len({"float64", *dtypes}) > 1 and set(dtypes) != {"float32"}:
        a, b = (_in_double(ev, one, way) for one, way in zip((a, b), ways, strict=True))
    labels = (name, name) if name.startswith("$") else (f"{name}_re", f"{name}_im")
    re = merge(ev, labels[0], a.re, b.re, ways)
    im = merge(ev, labels[1], a.im, b.im, ways)
    if not isinstance(re, Sym) or not isinstance(im, Sym):
        return _poison(name, first, second)
    return complex_arithmetic.joined(ev, re, im) if a.is_array else Complex(re, im)


def _in_double(ev: Evaluator, value: Complex, way: Way) -> Complex:
    """A number with parts in double precision, converted on its way."""
    with way.end(ev):
        return Complex(ev.cast(value.re, FLOAT64), ev.cast(value.im, FLOAT64))


def met(ev: Evaluator, made: Sym, *sources: Sym) -> Sym:
    """A merge name, for which `sources` come together."""
    return made if ev.live is None else ev.live.met(made, sources)


def as_complex(value: Value) -> Complex | None:
    """A number as a complex one; None for what is neither a number nor complex."""
    if isinstance(value, Complex):
        return value
    return Complex(value, number(0.0)) if is_scalar(value) else None


def _text(value: Value) -> Value:
    """Known text as a value of the run: another way may bring other text."""
    if isinstance(value, Static) and isinstance(value.obj, str) and not isinstance(value.obj, Template):
        return Sym(Const(value.obj), Text())
    return value


def _poison(name: str, first: Value, second: Value) -> Poison:
    for value in (first, second):
        if isinstance(value, Poison):
            return Poison(value.reason, name)
    one, other = describe(first), describe(second)
    other = "another" if one == other else other
    return Poison(f"it is {one} on one way and {other} on another way", name)


def _merge_missing(
    ev: Evaluator, name: str, first: Value | None, second: Value | None, ways: tuple[Way, Way]
) -> Value | None:
    present = first if first is not None else second
    if present is None or isinstance(present, Poison) or (name == RETURN and is_none(present)):
        return present
    if isinstance(present, Static | Lazy):
        return Poison("it is set on one way only", name)
    missing_way = ways[1] if second is None else ways[0]
    dummy = blank(ev, present, missing_way.block)
    if dummy is None:
        return Poison("it is set on one way only", name)
    values = (first or dummy, second or dummy)
    if name.startswith("$"):
        return merge(ev, name, *values, ways)
    maybes = [v if isinstance(v, Maybe) else Maybe(v, Const(v is present), name) for v in values]
    return _merge_maybe(ev, name, maybes[0], maybes[1], ways)


def _merge_maybe(ev: Evaluator, name: str, first: Value, second: Value, ways: tuple[Way, Way]) -> Value:
    a = first if isinstance(first, Maybe) else Maybe(first, Const(True), name)
    b = second if isinstance(second, Maybe) else Maybe(second, Const(True), name)
    value = merge(ev, name, a.value, b.value, ways)
    flag = merge(ev, f"{name}_set", _flag(a.flag), _flag(b.flag), ways)
    if value is None or isinstance(value, Poison):
        return Poison("it is set on one way only", name)
    assert isinstance(flag, Sym)
    return value if flag.constant is True else Maybe(value, flag.atom, name)


def _merge_optional(ev: Evaluator, name: str, first: Value, second: Value, ways: tuple[Way, Way]) -> Value:
    """Numbers of which one at least may be None."""
    a = MaybeNone(first, Const(True)) if isinstance(first, Sym) else first
    b = MaybeNone(second, Const(True)) if isinstance(second, Sym) else second
    if not isinstance(a, MaybeNone) or not isinstance(b, MaybeNone):
        return _poison(name, first, second)
    value = merge(ev, name, a.value, b.value, ways)
    flag = merge(ev, f"{name}_set", _flag(a.present), _flag(b.present), ways)
    if not isinstance(value, Sym):
        return _poison(name, first, second)
    assert isinstance(flag, Sym)
    return MaybeNone(value, flag.atom)


def _flag(atom: Atom) -> Sym:
    return Sym(atom, Scalar("bool"))


def blank(ev: Evaluator, like: Value, block: list[Any]) -> Value | None:
    """A value of the same structure, zero or empty, for a way on which there is none."""
    match like:
        case Complex(re=re, im=im):
            first, second = blank(ev, re, block), blank(ev, im, block)
            assert isinstance(first, Sym) and isinstance(second, Sym)
            return complex_arithmetic.joined(ev, first, second) if like.is_array else Complex(first, second)
        case Sym(type=Scalar(dtype=dtype)):
            zero: Any = False if dtype == "bool" else 0.0 if dtype in ("float32", "float64") else 0
            return number(zero)
        case Sym(type=Array() as type_):
            name = ev.define("t", type_, temporary=True)
            dims = (Const(0),) * type_.ndim
            block.append(Assign(name, Op("empty", (Const(type_.dtype), *dims)), ev.span))
            ev.types[name] = Array(type_.dtype, type_.ndim, "C")
            ev.roots[name] = frozenset({name})
            return Sym(Name(name), ev.types[name])
        case Tup(items=items, cls=cls) | Record(items=items, cls=cls):
            blanks = [blank(ev, item, block) for item in items]
            if any(item is None for item in blanks):
                return None
            return type(like)(tuple(item for item in blanks if item is not None), cls)
        case Maybe(value=value):
            return blank(ev, value, block)
        case Static():
            return like
    return None


def copy_to(ev: Evaluator, block: list[Any], target: str, value: Sym) -> None:
    """Append `target = value`, converted to the target's type."""
    type_ = ev.types[target]
    outer, ev.block = ev.block, block
    # a literal is of the type that it is written with
    literal = value.atom.value if isinstance(value.atom, Const) else None
    plain = number(literal) if isinstance(literal, int | float) and type_ == Scalar("float32") else value
    converted = ev.cast(plain, type_)
    ev.emit(Assign(target, converted.atom, ev.span))
    ev.block = outer


def copy_all(ev: Evaluator, block: list[Any], pairs: list[tuple[str, Sym]]) -> None:
    """Append `target = value` for all pairs at once, as Python's tuple assignment would."""
    pairs = [(target, value) for target, value in pairs if value.atom != Name(target)]
    written: set[str] = set()
    ready: list[tuple[str, Sym]] = []
    later = {value.atom.id for _, value in pairs if isinstance(value.atom, Name)}
    for target, value in pairs:
        if isinstance(value.atom, Name) and value.atom.id in {t for t, _ in pairs} & later:
            # read before any target is overwritten
            outer, ev.block = ev.block, block
            kept = ev.assign(value.atom, value.type, f"{value.atom.id}_old")
            ev.roots[id_of(kept)] = ev.roots.get(value.atom.id, frozenset())
            value = kept
            ev.block = outer
        ready.append((target, value))
        written.add(target)
    for target, value in ready:
        copy_to(ev, block, target, value)


def note_roots(ev: Evaluator, target: str, *sources: Sym) -> None:
    """An array name may stand for the memory of any of its sources."""
    roots: frozenset[str] = frozenset()
    for source in sources:
        if isinstance(source.atom, Name):
            roots |= ev.roots.get(source.atom.id, frozenset())
    if isinstance(ev.types[target], Array):
        ev.roots[target] = roots


def leaves(value: Value | Contents | None, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Sym]]:
    """The numbers and arrays inside a value, each with its path."""
    match value:
        case Sym():
            return [(path, value)]
        case Complex(re=re, im=im):
            return [((*path, "re"), re), ((*path, "im"), im)]
        case Tup(items=items) | Record(items=items) | Items(values=items) | Rebuilt(items=items):
            return [leaf for k, item in enumerate(items) for leaf in leaves(item, (*path, k))]
        case Iteration(kind="range", args=bounds):
            return [leaf for k, bound in enumerate(bounds) for leaf in leaves(bound, (*path, k))]
        case Maybe(value=inner, flag=flag) | MaybeNone(value=inner, present=flag):
            return [*leaves(inner, (*path, "value")), ((*path, "flag"), _flag(flag))]
        case Growing(buffer=buffer, count=count):
            return [*leaves(buffer, (*path, "buffer")), ((*path, "count"), count)]
    return []


def rebuild(value: Any, new: Callable[[tuple[Any, ...], Sym], Sym], path: tuple[Any, ...] = ()) -> Any:
    """`value` with each leaf replaced by `new(path, leaf)`."""
    match value:
        case Sym():
            return new(path, value)
        case Complex(re=re, im=im):
            new_re, new_im = new((*path, "re"), re), new((*path, "im"), im)
            same = new_re is re and new_im is im
            return value if same else Complex(new_re, new_im, contiguous=value.contiguous)
        case Tup(items=items, cls=cls) | Record(items=items, cls=cls):
            return type(value)(tuple(rebuild(item, new, (*path, k)) for k, item in enumerate(items)), cls)
        case Iteration(kind="range", args=bounds):
            return replace(value, args=tuple(rebuild(bound, new, (*path, k)) for k, bound in enumerate(bounds)))
        case Rebuilt(items=items):
            return replace(value, items=tuple(rebuild(item, new, (*path, k)) for k, item in enumerate(items)))
        case Maybe(value=inner, flag=flag, name=name):
            flag_sym = new((*path, "flag"), _flag(flag))
            return Maybe(rebuild(inner, new, (*path, "value")), flag_sym.atom, name)
        case MaybeNone(value=inner, present=flag):
            flag_sym = new((*path, "flag"), _flag(flag))
            return MaybeNone(rebuild(inner, new, (*path, "value")), flag_sym.atom)
        case Growing(buffer=buffer, count=count):
            return Growing(rebuild(buffer, new, (*path, "buffer")), new((*path, "count"), count))
        case Items(values=values):
            return Items(tuple(rebuild(item, new, (*path, k)) for k, item in enumerate(values)))
    return value


def common_type(first: Type, second: Type) -> Type | None:
    return numba_types.unify(first, second)
