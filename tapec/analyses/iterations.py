"""What ties the iterations of a loop together.

Iterations may run in any order if each works on elements of its own, apart from sums that all of them
add to.  A sum is a variable that an iteration only adds to, or an element that it only accumulates into:

    for i in range(n):
        total = total + w[i] * x[i]       a sum in a variable
        x_bar[i] = w[i] * y_bar           an element of this iteration alone
        w_bar[k[i]] += x[i] * y_bar       a sum in an element

Expects one name per value, as `number_values` leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tapec.analyses.aliases import VIEWS, Aliases, is_memory
from tapec.analyses.buffer_rotation import begun_with
from tapec.analyses.dependence import Affine, Dependence
from tapec.analyses.facts import facts
from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    may_leave,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.linear import Sum
from tapec.syntax.types import Scalar

_EFFECTS = (Raise, Print, Push, Call, Return)
# what makes an array, or hands one on as it is
_MADE = frozenset({"empty", "zeros", "copy", "ifelse", "stack", "pop"})
_NO_CONTENTS = frozenset({"dim", "stride", "empty", "zeros", *VIEWS})


@dataclass(frozen=True)
class Access:
    """A statement that reads or writes elements of `array`; `index` is None for the whole array."""

    stmt: Stmt
    array: str
    index: tuple[Expr, ...] | None
    kind: str  # "load", "store" or "add"


class Iterations:
    """Questions about the loops of one function."""

    def __init__(self, function: Function) -> None:
        self.types = function.types
        self.few = frozenset(function.few)
        self._facts = facts(function)

    @property
    def aliases(self) -> Aliases:
        """Classes of arrays that may share memory."""
        return self._facts.aliases

    @property
    def scopes(self) -> Scopes:
        """Where statements and names live."""
        return self._facts.scopes

    @property
    def dependence(self) -> Dependence:
        """What is known of subscripts."""
        return self._facts.dependence

    # order

    def is_parallel(self, loop: For) -> bool:
        """Whether the iterations of a loop can run in any order, up to the order of summation."""
        known = self._facts.parallel.get(loop.key)
        if known is not None and known[0] is loop:
            return known[1]
        found = self.free_of_effects(loop.body) and self.carried_variable(loop) is None and self.conflict(loop) is None
        self._facts.parallel[loop.key] = loop, found
        return found

    def is_independent(self, loop: For) -> bool:
        """Whether the iterations of a loop can run in any order, and no two of them add to the same element."""
        anyhow = self.free_of_effects(loop.body) and self.carried_variable(loop) is None
        return anyhow and self.conflict(loop, adding=True) is None

    def free_of_effects(self, body: Block) -> bool:
        """Whether the order in which a block's runs happen shows in values alone."""
        if may_leave(body):
            return False
        for stmt in walk(body):
            if type(stmt) is Assign:
                if type(stmt.value) is Op and (stmt.value.fn == "pop" or stmt.value.fn.startswith("np.random")):
                    return False
            elif isinstance(stmt, _EFFECTS):
                return False
        return True

    def carried_variable(self, loop: For) -> str | None:
        """A variable that leaves an iteration and is no sum; None if there is none."""
        inside = {stmt.key for stmt in walk((loop,))}
        written = dict.fromkeys(name for stmt in walk(loop.body) for name in writes(stmt))
        if self._read_outside(loop.var, inside):
            return loop.var
        sums: set[str] = set()
        for name in written:
            carried = any(stmt.key not in inside for stmt in self.scopes.defs[name])
            if not carried and not self._read_outside(name, inside):
                continue
            found = self.sum_of(name, inside) if carried and isinstance(self.types[name], Scalar) else None
            if found is None:
                return name
            sums |= found
        partial = (one for one in sorted(sums) if self._only_inside(one, inside) and self._read_outside(one, inside))
        return next(partial, None)

    def left_over(self, loop: For, names: set[str]) -> bool:
        """Whether any of the names, which a loop's iterations set, is read outside the loop or handed on by an
        iteration.
        """
        inside = {stmt.key for stmt in walk(loop.body)}
        return any(
            self._read_outside(name, inside) or not self._only_inside(name, inside) for name in names
        ) or self._read_outside(loop.var, inside)

    def _only_inside(self, name: str, inside: set[int]) -> bool:
        return all(stmt.key in inside for stmt in self.scopes.defs[name])

    def _read_outside(self, name: str, inside: set[int]) -> bool:
        return any(stmt.key not in inside for stmt in self._facts.readers.get(name, ()))

    def sum_of(self, name: str, inside: set[int]) -> set[str] | None:
        """The names that hold partial sums of `name` in a loop; None if it is more than added to.

        Two sums that iterations exchange are not sums: which one an iteration adds to depends on the iterations before.
        """
        type_ = self.types[name]
        found, pending = {name}, [name]
        while pending:
            for stmt in self._facts.readers.get(pending.pop(), ()):
                if stmt.key not in inside:
                    continue
                if not isinstance(stmt, Assign) or not self._adds(stmt.value, found, type_):
                    return None
                if stmt.target not in found:
                    found.add(stmt.target)
                    pending.append(stmt.target)
        for one in found:
            for stmt in self.scopes.defs[one]:
                if stmt.key in inside and not (isinstance(stmt, Assign) and self._adds(stmt.value, found, type_)):
                    return None
            exchanged = one != name and not self._only_inside(one, inside)
            if exchanged or self.types[one] != type_:
                return None
        return found

    def _adds(self, value: Expr, sums: set[str], type_: object) -> bool:
        """Whether a value is one of `sums`, or one of them plus something else."""
        if isinstance(value, Name):
            return value.id in sums
        if not isinstance(value, Op) or value.fn not in ("+", "-") or len(value.args) != 2:
            return False
        first, second = (isinstance(arg, Name) and arg.id in sums for arg in value.args)
        return first != second and (first or value.fn == "+")

    def conflict(self, loop: For, adding: bool = False) -> Access | None:
        """An access to elements that another iteration reads or overwrites, too; None if there is none.

        adding  whether iterations meet, too, that only add to an element
        """
        harmless = ({"load"},) if adding else ({"load"}, {"add"})
        made = self._made_in(loop.body)
        for group in self.groups(loop.body):
            kinds = {access.kind for access in group}
            apart = self.aliases.find(group[0].array) in made or kinds in harmless
            if not apart and not self.elements_disjoint(loop, group):
                return next(access for access in group if access.kind != "load")
        return None

    def groups(self, body: Block) -> list[list[Access]]:
        """The accesses of a block, those that may touch the same memory together."""
        # a few arrays have many accesses; those of other classes are no matter
        found: list[tuple[dict[str, Access], list[Access], str]] = []
        written: frozenset[str] | None = None
        for access in self.accesses(body):
            apart, arrays, joined = [], {access.array: access}, []
            cls = self.aliases.find(access.array)
            for group in found:
                if group[2] != cls:
                    apart.append(group)
                    continue
                near = [one for one in group[0].values() if self.may_share(access.array, one.array)]
                if near and access.array not in group[0]:
                    if written is None:
                        written = frozenset(written_in(body))
                    near = [one for one in near if not self.new_disjoint(access, one, written)]
                if near:
                    arrays |= group[0]
                    joined += group[1]
                else:
                    apart.append(group)
            found = [*apart, (arrays, [*joined, access], cls)]
        return [group for _, group, _ in found]

    def may_share(self, first: str, second: str) -> bool:
        """Whether two arrays may share memory at a time when both are set."""
        if self.aliases.find(first) != self.aliases.find(second):
            return False
        return first == second or self._facts.buffers.get(first, 0) != self._facts.buffers.get(second, -1)

    def new_disjoint(self, first: Access, second: Access, written: frozenset[str]) -> bool:
        """Whether an array is new in an iteration of a loop around two accesses, and the other one is not.

        written  names that are set where the two may meet
        """
        arrays = self._viewed(first.array), self._viewed(second.array)
        if not written.isdisjoint(arrays):
            return False
        places = [self.scopes.of.get(access.stmt.key) for access in (first, second)]
        for new, old in (arrays, arrays[::-1]):
            passed, iteration = self._facts.carried_arrays.get(new), self._facts.renewed.get(new)
            if passed is not None and passed.carried == old:
                iteration = passed.iteration
            inside = iteration is not None and all(place is not None and place.inside(iteration) for place in places)
            if iteration is not None and inside and begun_with(old, iteration, self.scopes):
                return True
        return False

    def _viewed(self, array: str) -> str:
        """The array that a name is a view of, or a view of a view."""
        match self.definition(Name(array)):
            case Op(fn=fn, args=(Name(id=owner), *_)) if fn in VIEWS:
                return self._viewed(owner)
        return array

    def _made_in(self, body: Block) -> frozenset[str]:
        """Classes of which every name is set inside `body`: each iteration has memory of its own."""
        first = body[0].key if body else None
        known = self._facts.made.get(first)
        if known is not None and known[0] is body:
            return known[1]
        inside = {name for stmt in walk(body) for name in writes(stmt) if is_memory(self.types.get(name))}
        classes = {self.aliases.find(name) for name in inside}
        found = frozenset(cls for cls in classes if self._facts.members[cls] <= inside)
        self._facts.made[first] = body, found
        return found

    def elements_disjoint(self, loop: For, group: list[Access]) -> bool:
        """Whether no iteration touches an element that another one stores, of one array or of views of it."""
        indexed = [(one.array, one.index) for one in group if one.index is not None]
        written = written_in(loop.body)
        names = {array for array, _ in indexed}
        if len(names) == 1 and names.isdisjoint(written):
            # one array, or one view: what it is a view of is no matter
            elements = [(array, list(map(self.dependence.integers.sum, index))) for array, index in indexed]
        else:
            elements = [self.dependence.element(array, index) for array, index in indexed]
        arrays = {array for array, _ in elements}
        if len(elements) != len(group) or not arrays.isdisjoint(written):
            return False
        if len(arrays) != 1 and not all(map(self._whole, arrays)):
            return False
        # an element is met by others, and by itself in other iterations
        pairs = {
            (tuple(subs), tuple(others))
            for place, (one, (_, subs)) in enumerate(zip(group, elements, strict=True))
            for other, (_, others) in zip(group[place:], elements[place:], strict=True)
            if one.kind != "load" or other.kind != "load"
        }
        return all(self._disjoint(loop, subs, others) for subs, others in pairs)

    def _whole(self, array: str) -> bool:
        """Whether what an array may share memory with is the same array: names for arrays as they were made."""
        members = self._facts.members[self.aliases.find(array)]
        if sum(name in self.scopes.params for name in members) > 1:
            return False
        for stmt in (stmt for name in members for stmt in self.scopes.defs.get(name, (None,))):
            value = stmt.value if isinstance(stmt, Assign) else None
            if not isinstance(value, Name) and not (isinstance(value, Op) and value.fn in _MADE):
                return False
        return True

    def _disjoint(self, loop: For, subs: tuple[Sum | None, ...], others: tuple[Sum | None, ...]) -> bool:
        """Whether subscripts differ in different iterations, on one axis at least, and none counts from the end."""
        integers = self.dependence.integers
        (here,) = self.scopes.body.get(loop.key, (None,))
        for one, other in zip(subs, others, strict=True):
            counted = integers.never_negative(one, here) and integers.never_negative(other, here)
            if counted and integers.disjoint(one, other, loop):
                return True
        return False

    def own(self, array: str, body: Block) -> bool:
        """Whether each run of a block has memory of its own for an array."""
        return self.aliases.find(array) in self._made_in(body)

    # elements

    def subscript(self, sub: Expr) -> Affine | None:
        """A subscript as a name plus a number."""
        return self.dependence.affine(sub) if isinstance(sub, Name | Const) else None

    def signed(self, sub: Expr) -> Expr:
        """A subscript as it was before it lost its sign, where `optimise.vectors.unsigned` has taken that."""
        match self.definition(sub) if isinstance(sub, Name) else None:
            case Op(fn="cast.uint64", args=(number,)):
                return number
        return sub

    def different(self, first: tuple[Expr, ...], second: tuple[Expr, ...], where: Stmt | None = None) -> bool:
        """Whether two subscripts of one array, read at the same time, are never the same element.

        where  a statement that runs at that time, if one is known
        """
        if len(first) != len(second):
            return False
        integers, here = self.dependence.integers, self.region(where)
        for one, other in zip(first, second, strict=True):
            a, b = integers.sum(one), integers.sum(other)
            if a is None or b is None or a == b:
                continue
            if not a.terms and not b.terms and (a.number < 0) == (b.number < 0):
                return True
            counted = integers.never_negative(a, here) and integers.never_negative(b, here)
            if counted and integers.different(a, b, here):
                return True
        return False

    def region(self, stmt: Stmt | None) -> Scope | None:
        """Where a statement stands, if it is one of the function's."""
        return None if stmt is None else self.scopes.of.get(stmt.key)

    def accesses(self, block: Block) -> Iterator[Access]:
        """The reads and writes of elements in a block."""
        found = self._facts.accesses
        for stmt in walk(block):
            known = found.get(stmt.key)
            if known is None or known[0] is not stmt:
                known = found[stmt.key] = stmt, tuple(self._accesses(stmt))
            yield from known[1]

    def _accesses(self, stmt: Stmt) -> Iterator[Access]:
        match stmt:
            case Store(array=array, index=index):
                yield Access(stmt, array, index, "add" if stmt.accumulate else "store")
            case Assign(value=Op(fn="load", args=(Name(id=array), *index))):
                yield Access(stmt, array, tuple(index), "load")
            case Assign(value=Op(fn=fn)) if fn in _NO_CONTENTS:
                pass
            case Assign(value=Name()):
                pass
            case _:
                kind = "store" if isinstance(stmt, Call) else "load"
                for name in reads(stmt):
                    if is_memory(self.types.get(name)):
                        yield Access(stmt, name, None, kind)

    def never_negative(self, number: Expr, where: Stmt | None = None) -> bool:
        """Whether an integer is proved not to be below zero, where a statement reads it."""
        return self.dependence.integers.never_negative(self.dependence.integers.sum(number), self.region(where))

    def fixed(self, atom: Atom) -> bool:
        """Whether an atom has one value wherever it is defined."""
        return isinstance(atom, Const) or len(self.scopes.defs.get(atom.id, ())) <= 1

    def is_few(self, number: Expr) -> bool:
        """Whether a number is known to be at most a small extent."""
        match self.definition(number) if isinstance(number, Name) else number:
            case Op(fn="dim") as extent:
                return extent in self.few
            case Op(fn="min", args=args):
                return any(map(self.is_few, args))
            case Op(fn="max", args=args):
                return all(arg == Const(0) or self.is_few(arg) for arg in args)
        return False

    def definition(self, atom: Atom) -> Expr | None:
        """What computes a name that is assigned once."""
        if isinstance(atom, Name):
            defs = self.scopes.defs.get(atom.id, ())
            if len(defs) == 1 and isinstance(defs[0], Assign):
                return defs[0].value
        return None
