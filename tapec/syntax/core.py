"""Core form: the one intermediate representation of the compiler.

Core is a small, structured, statically single-assigned subset of Python.  Nodes are frozen;
a pass builds new ones.  The grammar:

    function  := name(params) block, with a type for every name
    block     := statement*
    statement := Assign   name = expr              one operation; defines `name`
               | Store    array[index] = atom      or `+= atom`
               | If       if atom: block else: block
               | For      for name in range(atom, atom, atom): block   perhaps with few snapshots
               | Loop     while True: block        leaves by Break alone
               | Break    only where nothing follows it in the loop's body
               | Push     stack.append(atom)
               | Raise    raise Exception(message)
               | Print    print(...)
               | Call     names = function(atoms)  a callee that is not inlined
              | Note     a comment of its own in generated text
               | Return   return atoms             once, last
    expr      := atom | Op(fn, atoms)              formulas of rules nest; `flatten` un-nests them
    atom      := Name | Const

A name is assigned at one place, except for *merge names*, which take a copy of an atom on each
way into a point where ways meet: after an `If`, and at the head and exit of a loop.  Within one
iteration of a loop a name therefore keeps its value until the copies that end the iteration.

A statement has a key, which `replace` keeps: what is known of a statement is filed by it.  Keys are
unique in a function; of a statement that stands there twice, one is given another key (`distinct`).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tapec.errors import Span
from tapec.syntax.types import Scalar, Type


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    id: str

    # what a dataclass would have makes two tuples: names are compared and looked up more than anything else
    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Name and self.id == other.id)

    def __hash__(self) -> int:
        return hash(self.id)


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A literal: int, float, bool, str or None.  `1`, `1.0` and `True` are different constants."""

    value: int | float | bool | str | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const):
            return False
        one, two = self.value, other.value
        if one is two or type(one) is not type(two):
            return one is two
        # one zero is not the other, and nan is itself
        return repr(one) == repr(two) if type(one) is float else one == two

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[type, object]:
        return type(self.value), repr(self.value) if type(self.value) is float else self.value


@dataclass(frozen=True, slots=True)
class Op:
    """One operation.  `fn` is an operator sign, a dotted function name, or one of

    load(a, i, ...)      an element               view(a, sub, ...)   a view; subs may be slices
    slice(lo, hi, step)  within a view            dim(a, k)           a.shape[k]
    transpose(a)         a.T, a view              reshape(a, d, ...)  a view of a contiguous array
    empty/zeros(dtype, d, ...)  a fresh array     ifelse(c, a, b)     a if c else b, both evaluated
    cast.DTYPE(x)        a conversion             stack(TYPE)/pop(s)  a list used as a stack
    neg, not, ~, and the infix signs of Python
    """

    fn: str
    args: tuple[Expr, ...]


Expr = Name | Const | Op
Atom = Name | Const
# an array, and subscripts of an element
Element = tuple[str, tuple[Expr, ...]]


new_key = itertools.count().__next__


def key_field() -> int:
    """The field of a key: a new one, unless `replace` hands one on; it tells no two statements apart."""
    made: int = field(default_factory=new_key, kw_only=True, compare=False, repr=False)
    return made


class _Asked:
    """A statement, with the answers of `reads` and `walk`, which are asked of it again and again."""

    __slots__ = ("inside", "names_read")
    names_read: tuple[str, ...]
    inside: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Assign(_Asked):
    target: str
    value: Expr
    span: Span | None = None
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class Store(_Asked):
    array: str
    index: tuple[Atom, ...]
    value: Atom
    accumulate: bool = False
    span: Span | None = None
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class If(_Asked):
    test: Atom
    body: Block
    orelse: Block = ()
    span: Span | None = None
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class For(_Asked):
    """A counted loop; with `slots`, its reverse sweep keeps that many snapshots, and its iterations count 0, 1, 2, ...

    Of one that is `independent`, no iteration touches an element that another one stores; LLVM is told so.
    """

    var: str
    start: Atom
    stop: Atom
    step: Atom
    body: Block
    parallel: bool = False
    span: Span | None = None
    slots: Atom | None = None
    independent: bool = False
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class Loop(_Asked):
    body: Block
    span: Span | None = None
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class Break(_Asked):
    span: Span | None = None
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class Push(_Asked):
    stack: str
    value: Atom
    span: Span | None = None
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class Raise(_Asked):
    """Raise an exception; `cls` is the class that its name stands for, unless that is a builtin's.

    `users` says that the user's code raises it, not a check of ours.
    """

    exception: str
    args: tuple[Atom, ...] = ()
    span: Span | None = None
    cls: type[Exception] | None = None
    users: bool = False
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class Print(_Asked):
    args: tuple[Atom, ...]
    span: Span | None = None
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class Call(_Asked):
    """A call of another generated function, by name; it may define several names.

    `changes` are the positions of the arrays among the arguments that it may write into.
    """

    targets: tuple[str, ...]
    function: str
    args: tuple[Atom, ...]
    span: Span | None = None
    changes: tuple[int, ...] = ()
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class Note(_Asked):
    """A comment in generated text, such as where the reverse sweep begins."""

    text: str
    span: Span | None = None
    key: int = key_field()


@dataclass(frozen=True, slots=True)
class Return(_Asked):
    values: tuple[Atom, ...]
    span: Span | None = None
    key: int = key_field()


Stmt = Assign | Store | If | For | Loop | Break | Push | Raise | Print | Call | Note | Return
Block = tuple[Stmt, ...]


@dataclass(frozen=True)
class Function:
    """A core function: its parameters, its body, and one type per name.

    `shared` lists parameters that may share memory with one another; others do not.  One that is `wide` runs on the
    widest vectors of the processor; LLVM is told so.  `few` are extents of parameters that are known to be small.
    Of one with a `strong_zero`, adjoints of zero contribute zero where a partial derivative is infinite, too.  The
    derivative of one that is differentiated `again` is itself differentiated.
    """

    name: str
    params: tuple[str, ...]
    body: Block
    types: dict[str, Type] = field(compare=False)
    doc: str = ""
    shared: tuple[frozenset[str], ...] = ()
    wide: bool = False
    few: tuple[Expr, ...] = ()
    strong_zero: bool = True
    again: bool = False

    @property
    def leaving(self) -> Return:
        """The statement that ends it; a function that always raises an error has none."""
        last = self.body[-1]
        assert isinstance(last, Return)
        return last

    @property
    def results(self) -> tuple[Atom, ...]:
        """What it returns."""
        return self.leaving.values


# The passes ask these questions hundreds of thousands of times: they look at exact types, the common ones first.


def names_in(expr: Expr) -> Iterator[str]:
    """The names an expression reads, left to right, with repetitions."""
    if type(expr) is Name:
        return iter((expr.id,))
    found: list[str] = []
    if type(expr) is Op:
        _add_names(expr, found)
    return iter(found)


def mentions(expr: Expr, names: Container[str]) -> bool:
    """Whether an expression reads one of some names."""
    return any(name in names for name in names_in(expr))


def _add_names(expr: Op, found: list[str]) -> None:
    for arg in expr.args:
        if type(arg) is Name:
            found.append(arg.id)
        elif type(arg) is Op:
            _add_names(arg, found)


def zero_of(type_: Scalar) -> Expr:
    """Zero, as a number of a type; a literal if the type has some."""
    match type_.dtype:
        case "float64":
            return Const(0.0)
        case "int64":
            return Const(0)
        case "bool":
            return Const(False)
    return Op(f"cast.{type_.dtype}", (Const(0.0 if type_.is_float else 0),))


def substitute(expr: Expr, values: dict[str, Expr]) -> Expr:
    """`expr` with names replaced by expressions."""
    if isinstance(expr, Name):
        return values.get(expr.id, expr)
    return with_args(expr, [substitute(arg, values) for arg in expr.args]) if isinstance(expr, Op) else expr


def with_args(op: Op, args: Sequence[Expr]) -> Op:
    """An operation on other operands; the object itself where they are its own."""
    return op if all(map(operator.is_, args, op.args)) else Op(op.fn, tuple(args))


def reads(stmt: Stmt) -> tuple[str, ...]:
    """The names a statement itself reads; not those of its blocks."""
    try:
        return stmt.names_read
    except AttributeError:
        pass
    found = [stmt.array] if type(stmt) is Store else [stmt.stack] if type(stmt) is Push else []
    for part in (stmt.value,) if type(stmt) is Assign else _parts_read(stmt):
        if type(part) is Name:
            found.append(part.id)
        elif type(part) is Op:
            _add_names(part, found)
    names = tuple(found)
    object.__setattr__(stmt, "names_read", names)
    return names


def _parts_read(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that a statement itself reads."""
    if type(stmt) is Store:
        return (*stmt.index, stmt.value)
    if type(stmt) is If:
        return (stmt.test,)
    match stmt:
        case For(start=start, stop=stop, step=step, slots=slots):
            return (start, stop, step) if slots is None else (start, stop, step, slots)
        case Push(value=value):
            return (value,)
        case Raise(args=args) | Print(args=args) | Call(args=args) | Return(values=args):
            return args
    return ()


def operations(stmt: Stmt) -> Iterator[Op]:
    """The operations that a statement itself holds; not those of its blocks."""
    pending = [stmt.value] if type(stmt) is Assign else list(_parts_read(stmt))
    while pending:
        expr = pending.pop()
        if type(expr) is Op:
            yield expr
            pending += expr.args


def writes(stmt: Stmt) -> tuple[str, ...]:
    """The names a statement itself defines; not those of its blocks."""
    if type(stmt) is Assign:
        return (stmt.target,)
    if type(stmt) is For:
        return (stmt.var,)
    return stmt.targets if type(stmt) is Call else ()


def changed(stmt: Stmt) -> tuple[str, ...]:
    """The arrays that a statement itself writes into."""
    match stmt:
        case Store(array=array):
            return (array,)
        case Call(args=args, changes=changes):
            return tuple(arg.id for k in changes if isinstance(arg := args[k], Name))
    return ()


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks directly inside a statement."""
    if type(stmt) is If:
        return (stmt.body, stmt.orelse)
    return (stmt.body,) if type(stmt) is For or type(stmt) is Loop else ()


def map_blocks(stmt: Stmt, change: Callable[[Block], Block]) -> Stmt:
    """The statement with the blocks directly inside it changed; one without blocks, or with the same ones, as it is."""
    if type(stmt) is If:
        body, orelse = change(stmt.body), change(stmt.orelse)
        if same(body, stmt.body) and same(orelse, stmt.orelse):
            return stmt
        return If(stmt.test, body, orelse, stmt.span)
    if type(stmt) is For or type(stmt) is Loop:
        body = change(stmt.body)
        return stmt if same(body, stmt.body) else replace(stmt, body=body)
    return stmt


def same(first: Block, second: Block) -> bool:
    """Whether two blocks are made of the same objects."""
    return first is second or (len(first) == len(second) and all(map(operator.is_, first, second)))


def distinct(block: Block, seen: set[int] | None = None) -> Block:
    """The same block with a key of its own for every statement; itself if that is so already."""
    seen = set() if seen is None else seen
    out: list[Stmt] = []
    for stmt in block:
        if type(stmt) is If or type(stmt) is For or type(stmt) is Loop:
            stmt = map_blocks(stmt, lambda block: distinct(block, seen))
        if stmt.key in seen:
            stmt = replace(stmt, key=new_key())
        seen.add(stmt.key)
        out.append(stmt)
    return block if same(block, found := tuple(out)) else found


def element_of(stmt: Stmt) -> Element | None:
    """The element that a statement loads or stores."""
    if type(stmt) is Assign:
        value = stmt.value
        if type(value) is Op and value.fn == "load":
            array, *index = value.args
            return (array.id, tuple(index)) if type(array) is Name else None
    elif type(stmt) is Store:
        return stmt.array, stmt.index
    return None


def literal_range(loop: For) -> range | None:
    """What a loop's variable counts through, where all three bounds are literals."""
    match loop:
        case For(start=Const(int() as start), stop=Const(int() as stop), step=Const(int() as step)) if step:
            return range(start, stop, step)
    return None


def loop_depth(block: Block) -> int:
    """How many loops a block has inside one another."""
    inner = (loop_depth(body) + isinstance(stmt, For | Loop) for stmt in block for body in blocks(stmt))
    return max(inner, default=0)


def may_leave(block: Block, *ways: type[Stmt]) -> bool:
    """Whether a statement of some kinds, `Break` if none are given, may end the loop whose body this is.

    Those of loops inside do not count.
    """
    return any(
        isinstance(stmt, ways or Break)
        or (isinstance(stmt, If) and (may_leave(stmt.body, *ways) or may_leave(stmt.orelse, *ways)))
        for stmt in block
    )


def leaves(block: Block) -> bool:
    """Whether what follows a block is never reached from its end."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, If):
        return leaves(last.body) and leaves(last.orelse)
    return isinstance(last, Break | Raise)


def has_checkpoints(block: Block) -> bool:
    """Whether a block, or one inside it, has a checkpointed loop."""
    return any(isinstance(stmt, For) and stmt.slots is not None for stmt in walk(block))


def ends_in_error(block: Block) -> bool:
    """Whether a block's last statement raises an error."""
    return bool(block) and isinstance(block[-1], Raise)


def walk(block: Iterable[Stmt]) -> Iterator[Stmt]:
    """Every statement of a block and of the blocks inside it, in program order."""
    found: list[Stmt] = []
    _add_statements(block, found)
    return iter(found)


def written_in(block: Iterable[Stmt]) -> set[str]:
    """The names that the statements of a block, and of the blocks inside it, define."""
    return {name for stmt in walk(block) for name in writes(stmt)}


def _add_statements(block: Iterable[Stmt], found: list[Stmt]) -> None:
    for stmt in block:
        found.append(stmt)
        if type(stmt) is If or type(stmt) is For or type(stmt) is Loop:
            try:
                found += stmt.inside
            except AttributeError:
                found += _statements_inside(stmt)


def _statements_inside(stmt: If | For | Loop) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for block in blocks(stmt):
        _add_statements(block, found)
    inside = tuple(found)
    object.__setattr__(stmt, "inside", inside)
    return inside
