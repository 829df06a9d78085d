"""Give every value one name: copies and constants are propagated, repeated work is found.

Each assignment gets a name of its own.  Where ways meet and bring different values, a merge name
takes a copy on each way; a loop carries a merge name only for what really changes from iteration to
iteration.  To find that out, a loop is first read as if nothing changed, and read again with the names
for which that was wrong.

Wegman & Zadeck, Constant propagation with conditional branches, ACM TOPLAS 13 (1991) 181-210.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.facts import facts
from tapec.analyses.liveness import Liveness
from tapec.errors import Span
from tapec.optimise.name_origins import Vocabulary, is_adjoint
from tapec.optimise.simplify.available_values import Available
from tapec.optimise.simplify.branch_outcomes import Env, Outcomes
from tapec.optimise.simplify.identities import fold
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    blocks,
    distinct,
    map_blocks,
    reads,
    same,
    with_args,
    writes,
)
from tapec.syntax.renaming import renamed
from tapec.syntax.types import BOOL, FLOAT64, INT64, Scalar, Text, Type

_CONSTANT_TYPES: dict[type, Type] = {bool: BOOL, int: INT64, float: FLOAT64, str: Text()}


def number_values(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with one name per value; see the module."""
    function = replace(function, body=distinct(function.body))
    worker = _Single(function, constants)
    out: list[Stmt] = []
    env: Env = {}
    for name in (*function.params, *sorted(constants)):
        worker.hold(env, name, Name(name))
    if worker.block(function.body, env, out) is None:
        # whatever the arguments are, it raises an error: what it would return has no value
        return function
    names = worker.telling_names()
    if not names:
        return replace(function, body=tuple(out), types=worker.types)
    types = {names.get(name, name): type_ for name, type_ in worker.types.items()}
    return replace(function, body=renamed(tuple(out), names), types=types)


@dataclass(eq=False)
class _Exit:
    """A way out of a loop by `break`: the variables there, and the copies that it takes.

    It stands in the output before its `break` until the loop is complete.
    """

    env: Env
    copies: list[Stmt] = field(default_factory=list)


@dataclass
class _Written:
    """What a statement and those inside it assign, in order, and the memory that they store into."""

    names: dict[str, None] = field(default_factory=dict)
    classes: dict[str, None] = field(default_factory=dict)


class _Single:
    def __init__(self, function: Function, constants: frozenset[str]) -> None:
        self.old = function.types
        self.types: dict[str, Type] = {
            name: function.types[name] for name in (*function.params, *sorted(constants)) if name in function.types
        }
        self.taken = set(function.types)
        self.fixed = frozenset((*function.params, *constants))
        self.used = set(self.fixed)
        self.made: list[str] = []
        # the block in the making that sets a name; what temporaries are copied to
        self.home: dict[str, list[Stmt]] = {}
        self.copied_to: dict[str, str] = {}
        self.aliases = facts(function).aliases
        self.classes = {name: self.aliases.find(name) for name in self.types}
        self.available = Available(self.types, self.classes)
        self.live = Liveness(function)
        self.words = Vocabulary(function)
        self.definitions: dict[str, Expr] = {}
        self.outcomes = Outcomes(self.definitions, self.types)
        self.carried: dict[int, set[str]] = {}
        self.exits: list[list[_Exit]] = []
        self.written: dict[int, _Written] = {}
        for stmt in function.body:
            self._collect(stmt)

    # facts

    def _collect(self, stmt: Stmt) -> _Written:
        own = _Written(dict.fromkeys(writes(stmt)))
        if isinstance(stmt, Store):
            own.classes[self.aliases.find(stmt.array)] = None
        elif isinstance(stmt, Call):
            arrays = [n for n in reads(stmt) if is_memory(self.old.get(n))]
            own.classes.update(dict.fromkeys(self.aliases.find(n) for n in arrays))
        for body in blocks(stmt):
            for inner in body:
                if type(inner) is Assign:
                    own.names[inner.target] = None
                    continue
                found = self._collect(inner)
                own.names |= found.names
                own.classes |= found.classes
        self.written[stmt.key] = own
        return own

    def type_of(self, atom: Atom) -> Type | None:
        if isinstance(atom, Const):
            return _CONSTANT_TYPES.get(type(atom.value))
        return self.types.get(atom.id)

    def definition(self, atom: Atom) -> Expr | None:
        return self.definitions.get(atom.id) if isinstance(atom, Name) else None

    # names

    def define(self, name: str) -> str:
        """A new name for a value of the variable `name`."""
        new, count = name, 1
        while new in self.used or (new != name and new in self.taken):
            count += 1
            new = f"{name}_{count}"
        self.used.add(new)
        self.made.append(new)
        self.types[new] = self.old[name]
        self.classes[new] = self.aliases.find(name)
        return new

    def undo(self, mark: int) -> None:
        """Forget the names made since `mark`."""
        for name in self.made[mark:]:
            self.used.discard(name)
            self.types.pop(name, None)
            self.definitions.pop(name, None)
            self.copied_to.pop(name, None)
            self.outcomes.forget(name)
        del self.made[mark:]

    def telling_names(self) -> dict[str, str]:
        """Names for temporaries that have none but a number, and are copied to variables that say more."""
        names: dict[str, str] = {}
        taken = {*self.fixed, *self.types}
        for name, target in self.copied_to.items():
            if name in self.types and name not in self.fixed:
                new, count = target, 1
                while new in taken:
                    count += 1
                    new = f"{target}_{count}"
                taken.add(new)
                names[name] = new
        return names

    # expressions

    def atom(self, value: Atom, env: Env) -> Atom:
        if type(value) is not Name:
            return value
        found = env.get(value.id, value)
        # the object itself where the name stays, so that statements stay, too
        return value if type(found) is Name and found.id == value.id else found

    def atoms(self, values: tuple[Atom, ...], env: Env) -> tuple[Atom, ...]:
        found = tuple([self.atom(value, env) for value in values])
        return values if all(map(operator.is_, found, values)) else found

    def expr(self, value: Expr, env: Env, adjoint: bool = False) -> Expr:
        if not isinstance(value, Op):
            return self.atom(value, env)
        args = [self.expr(arg, env) if type(arg) is Op else self.atom(arg, env) for arg in value.args]  # type: ignore[arg-type]
        return fold(with_args(value, args), self, adjoint)

    def hold(self, env: Env, variable: str, atom: Atom) -> None:
        """A variable has a value from now on."""
        env[variable] = atom
        self.outcomes.held(variable, atom)

    def array(self, name: str, env: Env) -> str:
        found = env.get(name, Name(name))
        assert isinstance(found, Name)
        return found.id

    # statements

    def block(self, block: Block, env: Env, out: list[Stmt]) -> Env | None:
        """Rewrite a block; the variables after it, None if it does not end normally."""
        current: Env | None = env
        for stmt in block:
            if current is None:
                break
            if type(stmt) is Assign:
                # most statements are
                self.assign(stmt, current, out)
            else:
                current = self.statement(stmt, current, out)
        return current

    def statement(self, stmt: Stmt, env: Env, out: list[Stmt]) -> Env | None:
        match stmt:
            case Store():
                self.store(stmt, env, out)
            case If():
                return self.branch(stmt, env, out)
            case For() | Loop():
                return self.loop(stmt, env, out)
            case Break():
                exit_ = _Exit(dict(env))
                self.exits[-1].append(exit_)
                out += [exit_, stmt]  # type: ignore[list-item]
                return None
            case Raise(args=args):
                found = self.atoms(args, env)
                out.append(stmt if found is args else replace(stmt, args=found))
                return None
            case Push(stack=stack, value=value):
                out.append(replace(stmt, stack=self.array(stack, env), value=self.atom(value, env)))
            case Print(args=args):
                found = self.atoms(args, env)
                out.append(stmt if found is args else replace(stmt, args=found))
            case Call(targets=targets, args=args):
                new_args = self.atoms(args, env)
                self.available.changed(self.written[stmt.key].classes)
                new = tuple(self.define(target) for target in targets)
                self.home |= dict.fromkeys(new, out)
                out.append(replace(stmt, targets=new, args=new_args))
                for old, name in zip(targets, new, strict=True):
                    self.hold(env, old, Name(name))
            case Return(values=values):
                found = self.atoms(values, env)
                out.append(stmt if found is values else replace(stmt, values=found))
            case _:
                out.append(stmt)
        return env

    def assign(self, stmt: Assign, env: Env, out: list[Stmt]) -> None:
        value = self.expr(stmt.value, env, is_adjoint(stmt.target))
        type_ = self.old[stmt.target]
        known: Atom | None = None
        key = None
        if isinstance(value, Name | Const):
            known = value
        elif isinstance(type_, Scalar):
            key = self.available.key(value)
            known = self.available.find(key)
        if known is not None and self.type_of(known) == type_ and not self._names_it(stmt.target, known, out):
            self.hold(env, stmt.target, known)
            return
        new = self.define(stmt.target)
        self.home[new] = out
        self.definitions[new] = value
        name = Name(new)
        self.hold(env, stmt.target, name)
        if key is not None:
            self.available.put(key, name)
        out.append(stmt if new == stmt.target and value is stmt.value else Assign(new, value, stmt.span))

    def _names_it(self, target: str, known: Atom, out: list[Stmt]) -> bool:
        """Whether a copy stays since it gives a value a name that says more.

        Where it stands in the block that sets the value, the value takes that name in its place.
        """
        if not isinstance(known, Name) or not self.words.tells_more(target, known.id):
            return False
        if self.home.get(known.id) is out:
            self.copied_to.setdefault(known.id, target)
            return False
        return isinstance(self.types[known.id], Scalar) and self.words.is_users(target)

    def store(self, stmt: Store, env: Env, out: list[Stmt]) -> None:
        array = self.array(stmt.array, env)
        index = self.atoms(stmt.index, env)
        value = self.atom(stmt.value, env)
        element = Op("load", (Name(array), *index))
        if not stmt.accumulate and self.available.find(self.available.key(element)) == value:
            return  # it is there already
        stays = array == stmt.array and index is stmt.index and value is stmt.value
        out.append(stmt if stays else Store(array, index, value, stmt.accumulate, stmt.span))
        self.available.changed(self.written[stmt.key].classes)
        type_ = getattr(self.types.get(array), "element", None)
        if not stmt.accumulate and self.type_of(value) == type_:
            self.available.add(element, value)

    def branch(self, stmt: If, env: Env, out: list[Stmt]) -> Env | None:
        test = self.atom(stmt.test, env)
        if isinstance(test, Const):
            return self.block(stmt.body if test.value else stmt.orelse, env, out)
        first_out: list[Stmt] = []
        second_out: list[Stmt] = []
        with self.available.scope():
            self.available.assume(self.definition(test), True)
            first = self.block(stmt.body, self.outcomes.chosen(test, env, True), first_out)
        # the other side begins with the memory that the first one began with
        self.available.changed(self.written[stmt.key].classes)
        with self.available.scope():
            self.available.assume(self.definition(test), False)
            second = self.block(stmt.orelse, self.outcomes.chosen(test, env, False), second_out)
        self.available.changed(self.written[stmt.key].classes)
        if first is not None and second is not None:
            env = self.merge(stmt, test, env, (first, first_out), (second, second_out))
        if first_out or second_out:
            body, orelse = tuple(first_out), tuple(second_out)
            stays = test is stmt.test and same(body, stmt.body) and same(orelse, stmt.orelse)
            out.append(stmt if stays else If(test, body, orelse, stmt.span))
        # where one side raises, what follows knows how the test came out
        if first is None:
            return None if second is None else self.outcomes.decided(second, test, False, first_out)
        return self.outcomes.decided(first, test, True, second_out) if second is None else env

    def merge(self, stmt: If, test: Name, env: Env, one: tuple[Env, list[Stmt]], other: tuple[Env, list[Stmt]]) -> Env:
        (first, first_out), (second, second_out) = one, other
        merged: dict[tuple[Atom, Atom, Type], str] = {}
        for name in self.written[stmt.key].names:
            if not self.live.live_after(stmt, name):
                continue
            a, b = first.get(name), second.get(name)
            if a is None or b is None or a == b:
                # on a way that does not set it nothing reads it
                found = a if b is None else b
                if found is not None:
                    self.hold(env, name, found)
                continue
            key = (a, b, self.old[name])
            if key not in merged:
                merged[key] = self.define(name)
                first_out.append(Assign(merged[key], a, _cause(stmt.body, name) or stmt.span))
                second_out.append(Assign(merged[key], b, _cause(stmt.orelse, name) or stmt.span))
                self.outcomes.note(test, merged[key], (a, b))
            self.hold(env, name, Name(merged[key]))
        return env

    def loop(self, stmt: For | Loop, env: Env, out: list[Stmt]) -> Env | None:
        """Rewrite a loop, as often as it takes to know what it carries."""
        if isinstance(stmt, For):
            bounds = [self.atom(bound, env) for bound in (stmt.start, stmt.stop, stmt.step)]
            slots = None if stmt.slots is None else self.atom(stmt.slots, env)
        written = self.written[stmt.key]
        needed = self.live.head[stmt.key] | self.live.after[stmt.key]
        names = [name for name in written.names if needed & self.live.names.bit(name)]
        carried = self.carried.setdefault(stmt.key, set())
        while True:
            mark = len(self.made)
            merges = {name: self.define(name) for name in names if name in carried}
            head = dict(env)
            for name, merge in merges.items():
                self.hold(head, name, Name(merge))
            body: list[Stmt] = []
            self.available.changed(written.classes)
            self.exits.append([])
            inner = dict(head)
            var = ""
            if isinstance(stmt, For):
                var = self.define(stmt.var)
                self.hold(inner, stmt.var, Name(var))
            with self.available.scope():
                end = self.block(stmt.body, inner, body)
            exits = self.exits.pop()
            changed = self._changed(stmt, names, head, end, exits) - carried
            if not changed:
                break
            carried |= changed
            self.undo(mark)
        self.available.changed(written.classes)
        if end is not None:
            body += self._copies(merges, end, stmt)
        after = self._after(stmt, names, merges, head, exits)
        for name, merge in merges.items():
            if name in env:
                out.append(Assign(merge, env[name], stmt.span))
        if isinstance(stmt, For):
            start, stop, step = bounds
            made: Stmt = For(var, start, stop, step, _complete(body), stmt.parallel, stmt.span, slots)
        else:
            made = Loop(_complete(body), stmt.span)
        out.append(stmt if _stays(stmt, made) else made)
        return after

    def _changed(self, stmt: For | Loop, names: list[str], head: Env, end: Env | None, exits: list[_Exit]) -> set[str]:
        """The names that need a merge name: their values differ between iterations, or at the exits of a `for`."""
        at_head, after = self.live.head[stmt.key], self.live.after[stmt.key]
        found = set()
        for name in names:
            bit = self.live.names.bit(name)
            if (
                end is not None
                and at_head & bit
                and end.get(name) != head.get(name)
                or isinstance(stmt, For)
                and after & bit
                and len(self._ways_out(stmt, name, head, exits)) > 1
            ):
                found.add(name)
        return found

    def _ways_out(self, stmt: For | Loop, name: str, head: Env, exits: list[_Exit]) -> set[Atom]:
        """The values that a name can have after a loop."""
        ways = [exit_.env.get(name) for exit_ in exits]
        if isinstance(stmt, For):
            ways.append(head.get(name))
        return {way for way in ways if way is not None}

    def _after(
        self, stmt: For | Loop, names: list[str], merges: dict[str, str], head: Env, exits: list[_Exit]
    ) -> Env | None:
        """The variables after a loop; values that differ between its exits are copied at each."""
        if isinstance(stmt, Loop) and not exits:
            return None
        after = dict(head)
        at_exits: dict[str, str] = {}
        for name in names:
            if not self.live.live_after(stmt, name):
                continue
            ways = self._ways_out(stmt, name, head, exits)
            if len(ways) > 1:
                # a `for` that ends normally leaves the value in the name that its iterations carry
                at_exits[name] = merges[name] if isinstance(stmt, For) else self.define(name)
                self.hold(after, name, Name(at_exits[name]))
            elif ways:
                self.hold(after, name, *ways)
        for exit_ in exits:
            exit_.copies += self._copies(at_exits, exit_.env, stmt)
        return after

    def _copies(self, merges: dict[str, str], env: Env, stmt: For | Loop) -> list[Stmt]:
        """Set merge names all at once: each before the value that it replaces is lost."""
        pending = {merge: env[name] for name, merge in merges.items() if env.get(name, Name(merge)) != Name(merge)}
        made: list[Stmt] = []
        while pending:
            read = {value.id for value in pending.values() if isinstance(value, Name)}
            free = next((merge for merge in pending if merge not in read), None)
            if free is not None:
                made.append(Assign(free, pending.pop(free), stmt.span))
                continue
            # a cycle: keep one of the values
            merge = next(iter(pending))
            kept = self.define(next(name for name, m in merges.items() if m == merge))
            made.append(Assign(kept, Name(merge), stmt.span))
            pending = {m: Name(kept) if v == Name(merge) else v for m, v in pending.items()}
        return made


def _cause(block: Block, name: str) -> Span | None:
    """Where the user's statement is that a side of a branch sets a name for last, if that is one of its own."""
    last = next((stmt for stmt in reversed(block) if name in writes(stmt)), None)
    return last.span if isinstance(last, Assign) else None


def _stays(loop: For | Loop, made: Stmt) -> bool:
    """Whether a loop that has been rewritten is what it was."""
    if not isinstance(made, For | Loop) or not same(made.body, loop.body):
        return False
    return isinstance(loop, Loop) or made == loop


def _complete(block: Iterable[Stmt]) -> Block:
    """A loop's body with the copies at its exits in place."""
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, _Exit):
            out += stmt.copies
        elif isinstance(stmt, If):
            out.append(map_blocks(stmt, _complete))
        else:
            out.append(stmt)
    return tuple(out)
