"""Give the values of one variable one name again.

Two names can be one if neither is set while the other is still needed.  First copies are made to
vanish (`s_2 = s + t; s = s_2` becomes `s = s + t`), then the versions of a variable of the user's
get its name back.  What the compiler made up is called after what it holds.
"""

from __future__ import annotations

import builtins
import keyword
from dataclasses import dataclass, replace

from tapec.analyses.liveness import Liveness
from tapec.analyses.varying_extents import VaryingExtents
from tapec.optimise.name_origins import Vocabulary
from tapec.optimise.simplify.temporary_names import TemporaryNames
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    distinct,
    key_field,
    reads,
    substitute,
    walk,
    writes,
)
from tapec.syntax.types import Scalar, Stack, Type

_RESERVED = frozenset({*keyword.kwlist, *dir(builtins), "np", "math", "numba", "tapec_runtime"})


def coalesce(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with as few names as its values allow; no new name is one of `constants`."""
    function = replace(function, body=distinct(function.body))
    classes = _Classes(function, constants)
    if any(isinstance(stmt, For) and stmt.parallel for stmt in walk(function.body)):
        for first, second in VaryingExtents(function).apart():
            classes.part(first, second)
    for first, second in _copies(function):
        classes.join(first, second)
    classes.join_versions()
    names = _Naming(classes, function, constants).run()
    types = {names[old]: function.types[old] for old in names if old in function.types}
    return replace(function, body=under_names(function.body, names), types=types)


def coalesce_carried(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with one name for what a loop hands on to the loops inside it, and takes from them.

        for p in range(m):                     for p in range(m):
            s_1 = s                                for q in range(k):
            for q in range(k):         ->              s = s + x[p, q]
                s_1 = s_1 + x[p, q]
            s = s_1
    """
    function = replace(function, body=distinct(function.body))
    copies = set(_copies(function))
    pairs = [(one, other) for one, other in sorted(copies) if one < other and (other, one) in copies]
    pairs = [pair for pair in pairs if all(isinstance(function.types.get(name), Scalar) for name in pair)]
    if not pairs:
        return function
    classes = _Classes(function, constants)
    for first, second in pairs:
        classes.join(first, second)
    names = {name: min(one.members, key=len) for name, one in classes.of.items()}
    return replace(function, body=under_names(function.body, names))


def _copies(function: Function) -> list[tuple[str, str]]:
    """Pairs of names that a copy connects, those in the innermost loops first."""
    found: list[tuple[int, str, str]] = []

    def visit(block: Block, depth: int) -> None:
        for stmt in block:
            if isinstance(stmt, Assign) and isinstance(stmt.value, Name):
                found.append((-depth, stmt.target, stmt.value.id))
            elif isinstance(stmt, If):
                visit(stmt.body, depth)
                visit(stmt.orelse, depth)
            elif isinstance(stmt, For | Loop):
                visit(stmt.body, depth + 1)

    visit(function.body, 0)
    return [(target, source) for _, target, source in sorted(found, key=lambda pair: pair[0])]


@dataclass
class _Class:
    """Names that become one.

    conflicts  the names needed where one of them is set
    stems      the user's variables that they are versions of
    """

    members: list[str]
    bits: int
    conflicts: int
    stems: frozenset[str]
    param: bool
    key: int = key_field()


class _Classes:
    """Which names are one.  Names are taken in order of appearance."""

    def __init__(self, function: Function, constants: frozenset[str]) -> None:
        self.types = function.types
        self.words = Vocabulary(function)
        self.constants = constants
        self.params = frozenset(function.params)
        self.live = Liveness(function)
        self.of: dict[str, _Class] = {}
        self.counters: set[str] = set()
        entry = self.live.entry
        for param in function.params:
            self._set(param, entry)
        for stmt in walk(function.body):
            after = self.live.after[stmt.key]
            if isinstance(stmt, For):
                self.counters.add(stmt.var)
                self._set(stmt.var, self.live.iteration[stmt.key])
                continue
            if isinstance(stmt, Assign) and isinstance(stmt.value, Name):
                # a copy holds the same value
                after &= ~self.live.names.bit(stmt.value.id)
            for name in writes(stmt):
                self._set(name, after)

    def _set(self, name: str, needed: int) -> None:
        bit = self.live.names.bit(name)
        if name not in self.of:
            stems = frozenset({self.words.stem(name)} if self.words.is_users(name) else ())
            self.of[name] = _Class([name], bit, 0, stems, name in self.params)
        self.of[name].conflicts |= needed & ~bit

    def part(self, first: str, second: str) -> None:
        """Let two names never be one."""
        self._set(first, self.live.names.bit(second))

    def join(self, first: str, second: str) -> bool:
        """Make two names one, if that is possible; whether they are one now."""
        if first not in self.of or second not in self.of:
            return False
        one, other = self.of[first], self.of[second]
        if one is other:
            return True
        if self._disjoint(one, other) or one.conflicts & other.bits or other.conflicts & one.bits:
            return False
        other.members, other.bits = one.members + other.members, one.bits | other.bits
        other.conflicts |= one.conflicts
        other.stems |= one.stems
        other.param |= one.param
        for name in one.members:
            self.of[name] = other
        return True

    def _disjoint(self, one: _Class, other: _Class) -> bool:
        """Names of different types, of different parameters, or of different variables of the user's."""
        first, second = one.members[0], other.members[0]
        type_ = self.types.get(first)
        if type_ != self.types.get(second) or isinstance(type_, Stack):
            return True
        if first in self.constants or second in self.constants or (one.param and other.param):
            return True
        return len(one.stems | other.stems) > 1

    def join_versions(self) -> None:
        """Join what versions of one variable allow."""
        scopes_of: dict[tuple[str, Type | None], list[str]] = {}
        for name in self.of:
            if not self.words.is_users(name) and name not in self.counters:
                continue
            known = scopes_of.setdefault((self.words.stem(name), self.types.get(name)), [])
            if not any(self.join(name, other) for other in known):
                known.append(name)


class _Naming:
    """Chooses the name of each class."""

    def __init__(self, classes: _Classes, function: Function, avoid: frozenset[str]) -> None:
        self.classes = classes
        self.words = classes.words
        self.taken = set(function.params) | avoid | _RESERVED
        self.params = frozenset(function.params)
        self.names: dict[int, str] = {}
        # the last number that a stem was given: large programs have thousands of one stem
        self.last: dict[str, int] = {}
        self.read = {name for stmt in walk(function.body) for name in reads(stmt)}
        # where loops run on threads, `t_1` is what Numba calls a second value of `t`
        threads = any(isinstance(stmt, For) and stmt.parallel for stmt in walk(function.body))
        self.between = "_0" if threads else "_"
        self.temporaries = TemporaryNames(function, self.words, self.chosen)

    def chosen(self, name: str) -> str | None:
        """What a name is called from now on, if that is known."""
        one = self.classes.of.get(name)
        return name if one is None else self.names.get(one.key)

    def run(self) -> dict[str, str]:
        classes = list({one.key: one for one in self.classes.of.values()}.values())
        # the user's variables have the first choice
        classes.sort(key=lambda one: not any(self.words.is_users(name) for name in one.members))
        suffixed = []
        for one in classes:
            param = next((name for name in one.members if name in self.params), None)
            if param is not None:
                self.names[one.key] = param
            elif self.words.split(self.best(one))[1]:
                suffixed.append(one)
            else:
                stem = self.words.stem(self.best(one))
                if self.words.is_temporary(self.best(one)):
                    stem = self.temporaries.base(one.members)
                # a loop variable that the user did not read may be a subscript now
                unread = self.read.isdisjoint(one.members)
                self.names[one.key] = self.free("k" if stem == "_" and not unread else stem)
        for one in suffixed:
            core, suffix = self.words.split(self.best(one))
            scope = self.classes.of.get(core)
            stem = ("" if scope is None else self.names.get(scope.key)) or self.words.stem(core)
            self.names[one.key] = self.free(stem + suffix)
        names = {name: self.names[one.key] for name, one in self.classes.of.items()}
        return names | {name: name for name in self.classes.constants}

    def best(self, one: _Class) -> str:
        """The member to name a class after: one of the user's, the shortest, the first."""
        return min(one.members, key=lambda name: (not self.words.is_users(name), len(name)))

    def free(self, stem: str) -> str:
        if stem == "return":
            stem = "result"
        name, count = stem, self.last.get(stem, 0)
        while name in self.taken:
            count += 1
            name = f"{stem}{self.between}{count}"
        self.last[stem] = count
        self.taken.add(name)
        return name


def under_names(block: Block, names: dict[str, str]) -> Block:
    """The block under new names, without copies of a name to itself."""
    values: dict[str, Expr] = {old: Name(new) for old, new in names.items() if old != new}

    def name(old: str) -> str:
        return names.get(old, old)

    def expr(value: Expr) -> Atom:
        # after nesting, places of atoms hold expressions
        return substitute(value, values)  # type: ignore[return-value]

    def inside(stmts: Block) -> Block:
        return tuple(new for stmt in stmts if (new := one(stmt)) is not None)

    def one(stmt: Stmt) -> Stmt | None:
        match stmt:
            case Assign(target=target, value=value):
                own, new = name(target), expr(value)
                if isinstance(new, Name) and new.id == own:
                    return None
                return stmt if own == target and new is value else Assign(own, new, stmt.span)
            case Store(array=array, index=index, value=value):
                return replace(stmt, array=name(array), index=tuple(map(expr, index)), value=expr(value))
            case If(test=test, body=body, orelse=orelse):
                first, second = inside(body), inside(orelse)
                return replace(stmt, test=expr(test), body=first, orelse=second) if first or second else None
            case For(var=var, start=start, stop=stop, step=step, body=body):
                inner = inside(body)
                # copies of the loop's variable into its own name vanish, but the loop sets it
                set_here = {name(target) for inner_stmt in walk(body) for target in writes(inner_stmt)}
                if not inner and name(var) not in set_here:
                    return None
                slots = None if stmt.slots is None else expr(stmt.slots)
                made = replace(stmt, var=name(var), start=expr(start), stop=expr(stop), step=expr(step), body=inner)
                return replace(made, slots=slots)
            case Loop(body=body):
                return replace(stmt, body=inside(body))
            case Push(stack=stack, value=value):
                return replace(stmt, stack=name(stack), value=expr(value))
            case Call(targets=targets, args=args):
                return replace(stmt, targets=tuple(map(name, targets)), args=tuple(map(expr, args)))
            case Raise(args=args) | Print(args=args):
                return replace(stmt, args=tuple(map(expr, args)))
            case Return(values=values):
                return replace(stmt, values=tuple(map(expr, values)))
        return stmt

    return inside(block)
