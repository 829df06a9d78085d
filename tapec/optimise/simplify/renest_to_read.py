"""Put values back into the expressions that use them, as a person does who writes for readers.

More than `renest.py`, for files at level 1.  Lines are longer.  What is short and cheap is written wherever it is read:
an element of an array, an extent, `-scale`, a test for zero, a product of two names.  What is added to one place, one
after another, is one sum, in which equal terms are counted:

    negative = -scale
    product = negative * x_i
    x_bar[i] += np.cos(x_i) + product          ->        x_bar[i] += np.cos(x[i]) + 2.0 * (-scale * x[i])
    x_bar[i] += product

Sums of adjoints have no order in the user's source; those of the user's stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.optimise.name_origins import Fresh, is_adjoint
from tapec.optimise.simplify.renest import Pending, PlacedStatement, Renest, Waiting, elementwise, signs, width
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    Function,
    Name,
    Op,
    Push,
    Stmt,
    Store,
    map_blocks,
    names_in,
    reads,
    substitute,
    walk,
    writes,
)
from tapec.syntax.types import FLOAT64, Array, Scalar

_WIDTH = 112
# what is written several times: how often, and how wide it is
_ELEMENTS, _ELEMENT = 4, 22
_TERMS, _TERM = 2, 18
_CHEAP = frozenset({"+", "-", "*", "<", "<=", ">", ">=", "==", "!="})
_ZERO = Const(0.0)
_ALL = Op("slice", (Const(None), Const(None), Const(None)))


def renest_to_read(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with nested expressions, and short ones written wherever they are read; see the module."""
    function = with_steps(function)
    kept: set[str] = set()
    while True:
        worker = _ToRead(function, frozenset(kept))
        body = worker.block(function.body, {})
        # what cannot be written in all places is a name in all of them
        partly = {name for name, one, uses in worker.offered if 0 < one.left < uses}
        # `i + 1` may be written in some places alone
        if partly <= kept:
            return replace(function, body=body)
        kept |= partly


class _ToRead(Renest):
    room = _WIDTH

    def __init__(self, function: Function, kept: frozenset[str]) -> None:
        super().__init__(function)
        self.kept = kept
        self.offered: list[tuple[str, Pending, int]] = []
        # what is kept has a name by which it is kept, and what a branch or an iteration hands on one by which it does
        self.named = {stmt.value.id for stmt in walk(function.body) if _hands_on(stmt)}  # type: ignore[union-attr]
        self.steps = {name for stmt in walk(function.body) for name in self.steps_to(stmt)}

    def steps_to(self, stmt: Stmt) -> list[str]:
        """The adjoint to which a statement adds, for the next value of it."""
        match stmt:
            case Assign(target=target, value=Op(fn="+" | "-", args=args)) if is_adjoint(target):
                stem = self.words.stem(target)
                names = [arg.id for arg in args if isinstance(arg, Name)]
                return [one for one in names if one != target and is_adjoint(one) and self.words.stem(one) == stem]
        return []

    # which values go where they are read

    def offer(self, stmt: Assign, place: PlacedStatement, waiting: Waiting) -> None:
        super().offer(stmt, place, waiting)
        if (one := waiting.get(stmt.target)) is not None and one.place is place:
            self.offered.append((stmt.target, one, self.uses[stmt.target]))

    def keeps_name(self, name: str) -> bool:
        return super().keeps_name(name) and not (name in self.steps and self.uses[name] == 1)

    def repeats(self, target: str, value: Op, uses: int) -> bool:
        if target in self.kept or self.words.is_users(target):
            return False
        if target in self.named and value.fn != "load":
            return False
        if value.fn == "load" or value.fn == "dim":
            return uses <= _ELEMENTS and width(value) <= _ELEMENT
        alone = isinstance(self.types[target], Scalar) or (value.fn == "!=" and value.args[1] == _ZERO)
        if value.fn == "neg" and not isinstance(value.args[0], Op):
            return alone and uses <= _ELEMENTS
        return alone and value.fn in _CHEAP and uses <= _TERMS and width(value) <= _TERM

    def statement(self, stmt: Stmt, place: PlacedStatement, waiting: Waiting) -> Stmt:
        new = super().statement(stmt, place, waiting)
        match new:
            case Assign(target=target, value=Op(fn="+" | "-") as value) if is_adjoint(target):
                if self.types[target] == FLOAT64:
                    return replace(new, value=self.gathered(value, self.words.stem(target)))
            case Store(array=array, value=value, accumulate=True):
                type_ = self.types[array]
                if isinstance(type_, Array) and type_.dtype == "float64":
                    return replace(new, value=self.gathered(value))  # type: ignore[arg-type]
        return new

    # sums

    def put(self, expr: Expr, waiting: Waiting, room: list[int]) -> Expr:
        new = super().put(expr, waiting, room)
        match new:
            case Op(fn="+", args=(first, second)) if _mark(first) == _mark(second) and self.is_float(first):
                users = any(self.words.is_users(name) and not is_adjoint(name) for name in names_in(first))
                if not users or any(map(is_adjoint, names_in(first))):
                    return _times(2, first)
        return new

    def gathered(self, value: Expr, stem: str = "") -> Expr:
        """A sum in which equal terms are counted, and come after the variable that it begins with."""
        terms = _terms(value)
        if len(terms) < 2 or not all(self.is_number(term) for _, term in terms):
            return value
        sign, begin = terms[0]
        first = begin if sign == 1 and isinstance(begin, Name) and self.words.stem(begin.id) == stem else None
        counted: dict[tuple[str, ...], tuple[int, Expr]] = {}
        for sign, term in terms[first is not None :]:
            mark = _mark(term)
            count, known = counted.get(mark, (0, term))
            counted[mark] = count + sign, known
        rest = [(count, term) for count, term in counted.values() if count]
        if all(count < 0 for count, _ in rest):
            less = _sum([(-count, term) for count, term in rest])
            return Op("neg", (less,)) if first is None else Op("-", (first, less))
        # a sum does not begin with a minus
        rest.sort(key=lambda one: one[0] < 0)
        return _sum(rest) if first is None else Op("+", (first, _sum(rest)))

    def is_float(self, term: Expr) -> bool:
        """Whether a term is surely one of 64 bits that is no integer."""
        types = [self.types.get(name) for name in names_in(term)]
        return self.is_number(term) and any(isinstance(one, Scalar | Array) and one.is_float for one in types)

    def is_number(self, term: Expr) -> bool:
        """Whether a term is a number, or an array of numbers, of 64 bits."""
        for name in names_in(term):
            type_ = self.types.get(name)
            if isinstance(type_, Scalar | Array) and type_.dtype in ("float64", "int64", "bool", "intp"):
                continue
            return False
        return not isinstance(term, Const)

    # what is added to one place of an array

    def placed(self, place: PlacedStatement, out: list[PlacedStatement]) -> None:
        stmt = place.stmt
        if not isinstance(stmt, Store) or not stmt.accumulate:
            return
        if self.aliases.find(stmt.array) in self.contents(stmt.value):
            return
        for earlier in reversed(out[:-1]):
            if earlier.gone:
                continue
            match earlier.stmt:
                case Assign(target=array, value=value) if array == stmt.array:
                    if set(stmt.index) == {_ALL} and (made := self.is_made(value)) is not None:
                        summed = Op("+", (made, stmt.value))
                        if width(summed) <= _WIDTH and self.is_number(summed):
                            earlier.stmt = replace(earlier.stmt, value=self.gathered(signs(summed)))
                            place.gone = True
                    return
                case Store(array=array, index=index, value=value, accumulate=True) if array == stmt.array:
                    if index == stmt.index:
                        summed = Op("+", (value, stmt.value))
                        if width(summed) <= _WIDTH and self.is_number(summed):
                            total = self.gathered(signs(summed))
                            earlier.stmt = replace(earlier.stmt, value=total)  # type: ignore[arg-type]
                            place.gone = True
                        return
            if not self.passes(earlier.stmt, stmt):
                return

    def is_made(self, value: Expr) -> Expr | None:
        """What an array is set to that is made there, in C's order: a sum with it is another such array."""
        if not isinstance(value, Op):
            return None
        if value.fn == "copy":
            return value.args[0] if all(map(self.in_order, names_in(value))) else None
        return value if elementwise(value.fn) and all(map(self.in_order, names_in(value))) else None

    def in_order(self, name: str) -> bool:
        """Whether a name is no array in another order than C's."""
        type_ = self.types.get(name)
        return not isinstance(type_, Array) or type_.layout == "C"

    def passes(self, stmt: Stmt, added: Store) -> bool:
        """Whether what is added may be added before a statement."""
        shared = self.aliases.find(added.array)
        match stmt:
            case Assign(target=target, value=value):
                mentioned = {*names_in(value), target}
                return target not in reads(added) and all(self.aliases.find(one) != shared for one in mentioned)
        return False


def _hands_on(stmt: Stmt) -> bool:
    """Whether a statement keeps a number, or gives it another name."""
    return isinstance(stmt, Assign | Store | Push) and isinstance(stmt.value, Name) and not _adds(stmt)


def _adds(stmt: Stmt) -> bool:
    return isinstance(stmt, Store) and (stmt.accumulate or is_adjoint(stmt.array))


def with_steps(function: Function) -> Function:
    """The function with a name for each value of an adjoint that only the next one is computed from."""
    fresh = Fresh(function.types)
    body = _with_steps(function.body, fresh)
    return replace(function, body=body, types=fresh.types)


def _with_steps(block: Block, fresh: Fresh) -> Block:
    out = [map_blocks(stmt, lambda inner: _with_steps(inner, fresh)) for stmt in block]
    mentioned = [{name for one in walk((stmt,)) for name in (*reads(one), *writes(one))} for stmt in out]
    for k, stmt in enumerate(out):
        if not isinstance(stmt, Assign) or not is_adjoint(stmt.target) or fresh.types[stmt.target] != FLOAT64:
            continue
        name = stmt.target
        later = next((j for j in range(k + 1, len(out)) if name in mentioned[j]), None)
        after = None if later is None else out[later]
        match after:
            case Assign(target=target, value=Op(fn="+" | "-", args=args)) if target == name:
                if sum(one == name for one in names_in(after.value)) == 1 and Name(name) in args:
                    step = fresh(name, FLOAT64)
                    out[k] = replace(stmt, target=step)
                    assert later is not None
                    out[later] = replace(after, value=substitute(after.value, {name: Name(step)}))
                    mentioned[k] = mentioned[k] - {name} | {step} | set(names_in(stmt.value))
    return tuple(out)


def _terms(value: Expr, sign: int = 1) -> list[tuple[int, Expr]]:
    """The terms of a sum, each with its sign."""
    match value:
        case Op(fn="+", args=(first, second)):
            return [*_terms(first, sign), *_terms(second, sign)]
        case Op(fn="-", args=(first, second)):
            return [*_terms(first, sign), *_terms(second, -sign)]
        case Op(fn="neg", args=(first,)):
            return _terms(first, -sign)
    return [(sign, value)]


def _mark(term: Expr) -> tuple[str, ...]:
    """What terms have in common that differ by the order of their factors."""
    return tuple(sorted(map(repr, _factors(term))))


def _factors(term: Expr) -> list[Expr]:
    match term:
        case Op(fn="*", args=(first, second)):
            return [*_factors(first), *_factors(second)]
    return [term]


def _sum(terms: list[tuple[int, Expr]]) -> Expr:
    """A sum of terms, each so many times; the first is not taken away."""
    if not terms:
        return _ZERO
    (count, first), *rest = terms
    found = _times(count, first)
    for count, term in rest:
        found = Op("+" if count > 0 else "-", (found, _times(abs(count), term)))
    return found


def _times(count: int, term: Expr) -> Expr:
    if count == 1:
        return term
    match term:
        case Op(fn="*", args=(Const(value=float(factor)), rest)):
            return rest if factor * count == 1.0 else Op("*", (Const(factor * count), rest))
        case Op(fn="*", args=(first, rest)):
            # the number stands in front
            return Op("*", (_times(count, first), rest))
    return Op("*", (Const(float(count)), term))
