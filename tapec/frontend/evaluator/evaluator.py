"""The evaluator's state, and how it writes core statements.

`Evaluator` walks a function's tree with the types of its arguments at hand.  Structure is
executed; numbers are named.  `full_evaluator.py` has the table of the handlers for each kind of node.
"""

from __future__ import annotations

import builtins
import keyword
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NoReturn, Self

import gast
import numpy as np

from tapec.errors import Span, TapecError, TypeMismatch, UndefinedName, UnsupportedSyntax, UnsupportedType
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.frames import DeadCode, Frame, Raised
from tapec.frontend.evaluator.literal_folding import folded, is_too_large, unchanged
from tapec.frontend.evaluator.lowering_methods import LoweringMethods
from tapec.frontend.evaluator.running_program import Decider, Live
from tapec.frontend.evaluator.symbolic_extents import ExtentSums
from tapec.frontend.evaluator.unfinished_blocks import OpenIf, OpenIteration
from tapec.frontend.evaluator.values import (
    ARGUMENT_TEXT,
    Contents,
    Items,
    Lst,
    MaybeNone,
    Poison,
    State,
    Sym,
    Unseen,
    Value,
    describe,
    is_array,
    number,
    plain_number,
)
from tapec.frontend.source.function_source import FunctionSource, source_of
from tapec.frontend.source.refused_syntax import OF_TAPES, words
from tapec.rules.formula import INTEGERS
from tapec.syntax.core import Assign, Atom, Block, Const, Expr, Function, Name, Op, Raise, changed
from tapec.syntax.custom_rule import Opaque
from tapec.syntax.renaming import TEMPORARIES, USERS_OWN
from tapec.syntax.types import BOOL, INT64, Array, Scalar, Type

# what rewrites a program before it is differentiated; the names are those of its constants
Prepare = Callable[[Function, frozenset[str]], Function]

RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "math", "numba", "tapec_runtime", "_"}
)

_BY_A_TAPE = "take the gradient by a tape, which follows the program as it runs"


@dataclass(frozen=True)
class CopyOfView:
    """A copy of what NumPy's `function`, called at `span`, shares with `memory`; `guard` raises where it does."""

    memory: frozenset[str]
    function: str
    span: Span | None
    guard: Block = ()


class Evaluator(LoweringMethods):
    """The state of lowering one function, and everything that it calls, to core."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.types: dict[str, Type] = {}
        self.taken: set[str] = set(RESERVED) | set(reserved)
        self.temporary: set[str] = set()
        self.roots: dict[str, frozenset[str]] = {}
        self.dim_keys: dict[tuple[str, int], tuple[Any, int]] = {}
        self.lengths = ExtentSums()
        # whether operands in loops may have to be broadcast, and arrays that loops set anew may change their extents
        self.may_broadcast = False
        self.extents_may_change = False
        self.parameters: dict[str, Sym] = {}
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.exceptions: dict[type[Exception], str] = {}
        self.block: list[Any] = []
        self.frame: Frame = None  # type: ignore[assignment]
        self.frames: list[Frame] = []
        # the same of who waits for a generator, and of generators that wait; by their progress, how those run
        self.waiting: list[list[Frame]] = []
        self.coroutines: dict[Any, Any] = {}
        self.heap: dict[Lst, Contents] = {}
        self.dims: dict[tuple[str, int], Atom] = {}
        # parts of parameters' extents, by their names in sums (`symbolic_extents.ExtentPart`)
        self.parts: dict[str, Atom] = {}
        # how expressions of certain arrays are read (`broadcasting.Broadcast`)
        self.broadcasts: dict[tuple[str, ...], Any] = {}
        # how often memory was written into so far, by its root
        self.written: dict[str, int] = {}
        # set for the rules of primitives: their arrays fit by construction
        self.same_extents = False
        # whether code is reached that is compiled with checks of bounds
        self.boundscheck = False
        # functions that are called as they are, by what they are given; and whether others that cannot be read may be
        self.opaque: dict[Any, Opaque] = {}
        self.calls_as_is = False
        # functions with derivatives of their own, in whose rules this is: what these read is being found
        self.finding: tuple[Any, ...] = ()
        self.dead = False
        # how many `try` statements are around what is lowered, where every decision is known
        self.trying = 0
        self.span: Span | None = None
        self.loops: list[Any] = []
        self.functions: dict[Any, FunctionSource] = {}
        self.reads: dict[tuple[Any, str], Any] = {}
        # what a function that is lowered apart reads from the frames of others
        self.captured: dict[tuple[Frame, str], Value] = {}
        # attributes of objects that were read, by the object's id: the object and the value
        self.seen: dict[tuple[int, str], tuple[Any, Any]] = {}
        # what the user's variables are given, by the place of the assignment
        self.bindings: dict[tuple[Span | None, str], Value] = {}
        # the functions that are being inlined, with what is known of their arguments
        self.inlining: list[tuple[Any, tuple[Any, ...]]] = []
        # what cached functions gave, by function and arguments
        self.cached: dict[Any, Value] = {}
        # names of copies that stand for the same object of the user's program as another name
        self.copies: dict[str, str] = {}
        # imaginary parts of complex arrays, with the real parts, whose extents are theirs
        self.partners: dict[str, str] = {}
        # complex arrays of modules and closures by their ids, with their parts
        self.complex_constants: dict[int, tuple[Any, Sym, Sym]] = {}
        # lists and dicts of modules and closures by their ids, with what stands for them
        self.containers: dict[tuple[type, int], tuple[Any, Any]] = {}
        # numbers that are no negative zero
        self.unsigned: set[str] = set()
        # names that the derivative of a part of the program computes once more
        self.recomputed: dict[str, tuple[str, ...] | None] = {}
        # the arrays of which a tape's block takes rows, under names of their own: the rows, and their numbers
        self.gathers: dict[str, tuple[str, str]] | None = None
        # arrays that hold the elements of lists; such an element is an object of the user's program
        self.list_memory: set[str] = set()
        # what factors of products took to compute (`repeated_factors.py`)
        self.factors: dict[Any, Any] = {}
        # copies of what NumPy shares (`copies_of_views.py`)
        self.copies_of_views: dict[str, CopyOfView] = {}
        # memory that NumPy may keep in columns (`memory_order.py`)
        self.in_columns: set[str] = set()
        # the counted loops around, of step 1
        self.open_iterations: list[OpenIteration] = []
        # the first and last bound of what loops count
        self.counters: dict[str, tuple[Atom, Atom]] = {}
        # names that no undone attempt gives back: those of arrays and of live objects
        self.fixed: set[str] = set()
        # what knows the live objects of a running program, where a tape's body is lowered
        self.live: Live | None = None
        # what knows the numbers of the running program: branches are then decided and loops unrolled
        self.decider: Decider | None = None
        self.broke = False
        self.iterations = 0
        self.callees: Any = None
        # rewrites a program that is differentiated while its caller is lowered; None if it is to stay as it is
        self.prepare: Prepare | None = None
        self.root = self.block
        self.empty_items = Items(())
        # lists, and what the keys of dicts and objects are, for which another name may stand (`rebuilt_containers.py`)
        self.shared: set[Lst] = set()
        # the number that the last fresh name of a base ends in
        self.counts: dict[str, int] = {}

    def another(self) -> Self:
        """An evaluator for a function that is lowered apart, as a recursive one is."""
        made = type(self)(frozenset(self.taken))
        made.callees, made.prepare = self.callees, self.prepare
        if self.live is not None:
            self.live.lowered_apart(made)
        return made

    def source_of(self, function: FunctionType) -> FunctionSource:
        """The source of a function, which is reached."""
        source = source_of(function)
        self.functions.setdefault(function, source)
        return source

    # names

    def fresh(self, base: str) -> str:
        """A name that nothing uses yet: `base`, or `base_1`, `base_2`, ..."""
        base = base.lstrip("$") or "t"
        name, count = base, self.counts.get(base, 0)
        if f"{base}_{count}" not in self.taken:
            count = 0  # a trial of a loop's body has given its names back
        while name in self.taken or self.callees.are_called(name):
            count += 1
            name = f"{base}_{count}"
        self.counts[base] = count
        self.taken.add(name)
        return name

    def define(self, base: str, type_: Type, temporary: bool = False) -> str:
        name = self.fresh(base if temporary else USERS_OWN.get(base, base))
        self.types[name] = type_
        # a trial of a loop's body has given the name back
        self.copies_of_views.pop(name, None)
        self.in_columns.discard(name)
        self.counters.pop(name, None)
        self.partners.pop(name, None)
        self.unsigned.discard(name)
        self.lengths.forget(name)
        for axis in range(type_.ndim if isinstance(type_, Array) else 0):
            self.dim_keys.pop((name, axis), None)
        if temporary:
            self.temporary.add(name)
        return name

    # state

    def snapshot(self) -> State:
        return State(dict(self.frame.env), dict(self.heap), dict(self.dims), dict(self.parts), dict(self.broadcasts))

    def restore(self, state: State) -> None:
        self.frame.env = dict(state.env)
        self.heap = dict(state.heap)
        self.dims = dict(state.dims)
        self.parts = dict(state.parts)
        self.broadcasts = dict(state.broadcasts)

    # errors

    def where(self, node: Any = None) -> Span | None:
        """The user's line for `node`; inside library code, the line of the call."""
        frame = self.frame
        if node is None or frame is None or frame.library or frame.source.is_of_python or not hasattr(node, "lineno"):
            return self.span
        return frame.source.span(node, frame.called_from)

    def fail(
        self, cls: type[TapecError], message: str, node: Any = None, reason: str = "", hint: str = ""
    ) -> NoReturn:
        if ARGUMENT_TEXT in message:
            hint = 'it may be compared; for more write it into the call: `lambda x: f(x, "text")`'
        raise cls(message, self.where(node), reason, hint)

    def refuse(self, node: Any) -> NoReturn:
        """Refuse syntax for what it is."""
        of_user = not (self.frame.library or self.frame.source.is_of_python)
        hint = self.or_by_a_tape() if of_user and isinstance(node, OF_TAPES) else ""
        self.fail(UnsupportedSyntax, f"cannot differentiate {words(node)}", node, hint=hint)

    def or_by_a_tape(self, hint: str = "") -> str:
        """The hint where a tape would take what is refused: it follows the running program, which has decided."""
        if self.live is not None:
            return hint
        return f"{hint}, or {_BY_A_TAPE}" if hint else _BY_A_TAPE

    def lacks(self, what: str, attr: str, node: Any) -> NoReturn:
        """Refuse an attribute that an object does not have, which a function of arrays asks for as it were one."""
        if self.frame is not None and self.frame.library:
            hint = "give it a number, an array, a list or a tuple"
            self.fail(TypeMismatch, f"a function of arrays cannot take {what}", node, hint=hint)
        self.fail(UndefinedName, f"{what} has no attribute `{attr}`", node)

    def fails(
        self,
        raised: type[Exception],
        message: str,
        node: Any = None,
        hint: str = "",
        refusal: type[TapecError] = TypeMismatch,
    ) -> NoReturn:
        """The program raises an exception here: refused, unless every decision is known and it may be caught."""
        if self.deciding:
            raise Raised(raised, f"{message} ({self.where(node)})")
        self.fail(refusal, message, node, hint=hint)

    # deciding

    @property
    def deciding(self) -> bool:
        """Whether the user's branches are decided and loops unrolled here."""
        return self.decider is not None and not self.frame.library and self.block is self.root

    def decided(self, sym: Sym, node: Any = None) -> Sym:
        """`sym` as a literal where decisions are known; else as it is."""
        if isinstance(sym.atom, Const) or not self.deciding:
            return sym
        assert self.decider is not None
        return number(self.decider.decide(sym, node))

    # walking

    def expr(self, node: Any) -> Value:
        handler = self.expression_handlers.get(type(node))
        if handler is None:
            self.refuse(node)
        value = handler(self, node) if self.live is None else self.live.evaluated(node, handler)
        if type(value) is Poison and isinstance(node, gast.Subscript | gast.Attribute):
            self.fail(TypeMismatch, "this cannot be used here", node, reason=value.reason)
        return value

    def statements(self, stmts: list[Any]) -> None:
        for stmt in stmts:
            if self.dead:
                return
            self.statement(stmt)

    def statement(self, stmt: Any) -> None:
        handler = self.statement_handlers.get(type(stmt))
        if handler is None:
            self.refuse(stmt)
        outer = self.span
        self.span = self.where(stmt)
        try:
            if self.trying and self.deciding:
                assert self.decider is not None
                self.decider.attempt(handler, stmt)
            else:
                handler(self, stmt)
        except DeadCode:
            self.dead = True
        finally:
            self.span = outer

    # emission

    def emit(self, stmt: Any) -> None:
        for array in changed(stmt):
            for root in self.roots_of(array):
                self.written[root] = self.written.get(root, 0) + 1
        self.block.append(stmt)

    def roots_of(self, array: str) -> frozenset[str]:
        """The allocations and parameters whose memory an array may share."""
        return self.roots.get(array, frozenset({array}))

    def assign(self, value: Expr, type_: Type, base: str = "t") -> Sym:
        """Emit `name = value` under a fresh name."""
        match value:
            case Op(fn="cast.float64", args=(Name(id=test),)) if self.types.get(test) == BOOL:
                # Numba has no `float` of a boolean
                value = Op("ifelse", (Name(test), Const(1.0), Const(0.0)))
        name = self.define(base, type_, temporary=base in TEMPORARIES)
        self.emit(Assign(name, value, self.span))
        return Sym(Name(name), type_)

    def op(self, fn: str, *args: Value, type_: Type | None = None, node: Any = None) -> Sym:
        """Emit a scalar operation, typed by Numba; literals are folded."""
        syms = [self.scalar(arg, node) for arg in args]
        if type_ is None:
            type_ = self.scalar_type(fn, syms, node)
        if fn in ("+", "-") and all(sym.type == BOOL for sym in syms):
            # the sum of two of NumPy's booleans is a boolean, of Python's and Numba's an integer
            syms = [self.cast(sym, INT64) for sym in syms]
        known = folded(fn, syms, type_) or unchanged(fn, syms, type_)
        if known is not None:
            return known
        # integers of Numba's wrap around, those of Python do not
        if is_too_large(fn, syms) and (self.frame is None or self.frame.jitted is None):
            self.fail(UnsupportedType, "an integer beyond 64 bits is not supported", node)
        if fn == "<" and syms[0].type == INT64 and syms[1].atom == Const(0) and self.lengths.is_count(syms[0].atom):
            return number(False)
        operands = tuple(self._promoted(fn, place, sym, type_).atom for place, sym in enumerate(syms))
        made = self.assign(Op(fn, operands), type_)
        if type_ == INT64 and isinstance(made.atom, Name):
            self.lengths.note(made.atom.id, fn, operands)
            if fn == "//":
                return self._part_known_before(made, made.atom)
        return made

    def _part_known_before(self, made: Sym, name: Name) -> Sym:
        """The name that a part of an extent has already, if it has one: slices by either are equally long."""
        part = self.lengths.own_axes.get(name.id)
        if part is not None:
            return Sym(self.parts.setdefault(part.name, name), INT64)
        same = self.lengths.sum(name)
        return Sym(Name(same.terms[0][0]), INT64) if same.number == 0 and [f for _, f in same.terms] == [1] else made

    def _promoted(self, fn: str, place: int, sym: Sym, type_: Type) -> Sym:
        """Spell out a promotion that NumPy scalars would make differently from Numba."""
        if fn in ("ifelse", "not", "and", "or", "stop_gradient", "known", "strong") or fn.startswith("cast."):
            return sym
        if not (isinstance(type_, Scalar) and isinstance(sym.type, Scalar)):
            return sym
        plain = ("float64", "int64", "bool")
        if sym.type == type_ or (sym.type.dtype in plain and type_.dtype in plain):
            return sym
        if type_.is_float and (sym.type.is_float or (fn, place) not in INTEGERS):
            return self.cast(sym, type_)
        return sym

    def scalar_type(self, fn: str, syms: list[Sym], node: Any = None) -> Scalar:
        """The type of a scalar operation, from Numba."""
        found = numba_types.operation_type(fn, tuple(sym.type for sym in syms))
        if found is None:
            types = ", ".join(str(sym.type) for sym in syms)
            self.fail(TypeMismatch, f"`{fn}` does not accept ({types})", node, reason="Numba has no such operation")
        return found

    def present(self, value: Value) -> Value:
        """`value` where a number or array is needed: what may be None raises, as arithmetic with None does."""
        if isinstance(value, Unseen):
            self.fail(TypeMismatch, f"`{value.name}` cannot be used here", reason=value.reason)
        if not isinstance(value, MaybeNone):
            return value
        missing = self.op("not", Sym(value.present, BOOL))
        side: list[Any] = []
        outer, self.block = self.block, side
        self.raise_("TypeError", "what is None here is used as a number")
        self.block = outer
        self.emit(OpenIf(missing.atom, side, [], self.span))
        return value.value

    def all_present(self, values: list[Value]) -> list[Value]:
        """Arguments of a function that takes numbers and arrays."""
        return [self.present(value) for value in values]

    def sym(self, value: Value) -> Sym:
        """A value that is a number or an array."""
        found = self.present(value)
        assert isinstance(found, Sym)
        return found

    def scalar(self, value: Value, node: Any = None) -> Sym:
        """`value` as a number; a 0-d array gives its element."""
        value = plain_number(value)
        if isinstance(value, MaybeNone):
            value = self.sym(value)
        if isinstance(value, Sym) and isinstance(value.type, Scalar):
            return value
        if isinstance(value, Sym) and isinstance(value.type, Array) and value.type.ndim == 0:
            return self.assign(Op("load", (value.atom,)), value.type.element)
        what = "an array" if is_array(value) else describe(value)
        self.fail(TypeMismatch, f"a number is needed here, not {what}", node)

    def cast(self, sym: Sym, type_: Type) -> Sym:
        """`sym` converted to the scalar type `type_`."""
        if sym.type == type_ or not isinstance(type_, Scalar):
            return sym
        if isinstance(sym.atom, Const) and isinstance(sym.atom.value, (int, float)):
            if type_.dtype == "float64":
                return number(float(sym.atom.value))
            if type_.dtype == "int64" and math.isfinite(sym.atom.value):
                return number(int(sym.atom.value))
            if type_.dtype == "bool":
                return number(bool(sym.atom.value))
        return self.assign(Op(f"cast.{type_.dtype}", (sym.atom,)), type_)

    def exception(self, cls: type[Exception]) -> tuple[str, type[Exception] | None]:
        """What generated code calls a class of exceptions, and the class if the name is not a builtin's."""
        if getattr(builtins, cls.__name__, None) is cls:
            return cls.__name__, None
        name = self.exceptions.get(cls) or (self.fresh(cls.__name__) if cls.__name__ in self.taken else cls.__name__)
        self.exceptions[cls] = name
        # a trial of a loop's body gives names back
        self.taken.add(name)
        return name, cls

    def raise_(self, exception: str, *args: str) -> None:
        if self.deciding and self.trying and isinstance(known := getattr(builtins, exception, None), type):
            raise Raised(known, *args[:1])
        self.emit(Raise(exception, tuple(Const(arg) for arg in args), self.span))
