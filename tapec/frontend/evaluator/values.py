"""What an expression evaluates to while a function is lowered.

Numbers and arrays are names of core (`Sym`).  Everything else is structure and is known here.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tapec.syntax.core import Atom, Const
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Scalar, Text, Type

if TYPE_CHECKING:
    from tapec.frontend.evaluator.frames import Frame
    from tapec.frontend.source.numba_decorators import Jitted


class Value:
    """Base of everything an expression can evaluate to.

    changing  whether it is a variable, or may be one, which assignments change
    """

    changing = False

    @property
    def now(self) -> Any:
        """The value as it is now, for those who use it later."""
        return self


@dataclass(frozen=True)
class Sym(Value):
    """A number or array: an atom of core and its type."""

    atom: Atom
    type: Type

    @property
    def is_array(self) -> bool:
        return isinstance(self.type, Array)

    @property
    def constant(self) -> Any:
        """The literal's value; None if this is not a literal."""
        return self.atom.value if isinstance(self.atom, Const) else None


@dataclass(frozen=True)
class MaybeNone(Value):
    """A number or array, such as a gradient, that is None unless `present` holds when the program runs."""

    value: Sym | Complex
    present: Atom


@dataclass(frozen=True)
class Complex(Value):
    """A complex number or array: its real and imaginary parts, two numbers or two arrays of one shape.

    It is structure, as a tuple is: core has the parts alone.  A `Lazy` of a complex dtype is what has not been
    written yet.  As the type of an argument it holds the types of the parts, and whether the whole is contiguous.
    """

    re: Any
    im: Any
    contiguous: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.re, Sym):
            object.__setattr__(self, "re", self.re.now)
            object.__setattr__(self, "im", self.im.now)

    @property
    def type(self) -> Any:
        """The type of the whole, which no name of core has."""
        part = self._part
        if isinstance(part, Array):
            return Array(COMPLEX_OF[part.dtype], part.ndim, part.layout, part.readonly)
        return Scalar(COMPLEX_OF[part.dtype])

    @property
    def is_array(self) -> bool:
        return isinstance(self._part, Array)

    @property
    def _part(self) -> Any:
        return self.re.type if isinstance(self.re, Sym) else self.re


@dataclass(frozen=True)
class Lazy(Value):
    """An elementwise expression on arrays that has not been written into memory yet."""

    fn: str
    args: tuple[Value, ...]
    type: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple(arg.now for arg in self.args))


@dataclass(frozen=True)
class Tup(Value):
    """A tuple or named tuple (`cls`); one that an argument is may be a list."""

    items: tuple[Value, ...]
    cls: type | None = None
    is_argument: bool = field(default=False, compare=False)


def mapping(value: Value | None) -> dict[str, Value] | None:
    """The items of a dict that an argument is, which comes as a named tuple; None of anything else."""
    keys = getattr(value.cls, "mapping_keys", None) if isinstance(value, Tup) else None
    return None if keys is None else dict(zip(keys, value.items, strict=True))  # type: ignore[union-attr]


def with_keys(value: Value) -> Value:
    """What a loop runs over: of a dict that an argument is, its keys."""
    items = mapping(value)
    return value if items is None else Tup(tuple(map(Static, items)))


@dataclass(frozen=True)
class Record(Value):
    """An object that an argument is: its numbers and arrays; what else it holds is in `cls`, as its methods are."""

    items: tuple[Value, ...]
    cls: Any


@dataclass(frozen=True)
class PackedList(Value):
    """A list argument whose items have one structure (`packed_lists.py`): `count` items from the `first` one on."""

    form: Any
    parts: tuple[Value, ...]
    first: Sym
    count: Sym


@dataclass(frozen=True)
class Static(Value):
    """A Python object that is known: None, a string, a module, a function, a dtype."""

    obj: Any


@dataclass(frozen=True)
class Declared(Static):
    """A Python function, and what a decorator of Numba's that is applied in the program says of it."""

    jitted: Jitted


@dataclass(frozen=True)
class NumberClass(Static):
    """NumPy's class of a number that may be of Python's as well."""


class Template(str):
    """Text with places that the run fills; it shows what the user wrote there.

    holes  the numbers that it is made of;  make  makes it of them; None where it is good for a message alone
    """

    holes: tuple[Sym, ...] = ()
    make: Callable[..., Any] | None = None

    @classmethod
    def of(cls, shown: str, holes: tuple[Sym, ...], make: Callable[..., Any]) -> Template:
        made = cls(shown)
        made.holes, made.make = holes, make
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Template) or not str.__eq__(self, other):
            return False
        return (self.make is None and other.make is None) or (self.holes == other.holes and self.make is other.make)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def known_text(value: Value | None) -> str | None:
    """The text that a value is, if all of it is known."""
    text = value.obj if isinstance(value, Static) else None
    return text if isinstance(text, str) and not isinstance(text, Template) else None


@dataclass(frozen=True, eq=False)
class Lst(Value):
    """A list; its contents are state of the evaluator, since lists are mutable."""

    label: str


@dataclass(frozen=True, eq=False)
class RebuiltList(Lst):
    """A list, or the keys of a dict, that stands for the containers of several ways (`rebuilt_containers.py`)."""


@dataclass(frozen=True)
class Rebuilt(Value):
    """What a list, dict or object holds; with its keys or the names of its attributes, if it is no list.

    cls  the class of an object; None of lists and dicts
    """

    keys: tuple[Any, ...] | None
    items: tuple[Value, ...]
    cls: type | None = None


@dataclass(frozen=True, eq=False)
class Progress(Lst):
    """How far an iterator has run, which is state like a list's contents (`iterators.py`).

    loops  how many loops were around the place where it was made
    """

    loops: int


@dataclass(frozen=True, eq=False)
class Deque(Lst):
    """A `collections.deque`, whose length is known; `capacity` is its `maxlen`."""

    capacity: int | None = None


@dataclass(frozen=True, eq=False)
class TypedList(Lst):
    """A `numba.typed.List` that the code makes; `item` is Numba's type of what it holds, None until it holds one."""

    item: Any = None


@dataclass(frozen=True, eq=False)
class Dct(Value):
    """A dict whose keys are known; `keys` and `cells` are lists of the evaluator's state.

    home     the block that it was made in
    cls      its class: a dict's, or that of a set, which holds nothing under its keys
    missing  what a `defaultdict` calls for a new key
    """

    keys: Lst
    cells: dict[Any, Lst]
    home: list[Any]
    cls: type = dict
    missing: Value | None = None


@dataclass(frozen=True, eq=False)
class Instance(Value):
    """An object of a class with source that the code being lowered has made; its attributes are cells.

    home  the block that it was made in
    keys  the names of its attributes, in order, outside of tapes
    """

    cls: type
    cells: dict[str, Lst]
    home: list[Any]
    keys: Lst = field(default_factory=lambda: Lst("object"))


@dataclass(frozen=True, eq=False)
class Func(Value):
    """A function defined inside the one being lowered, with the frame it closes over."""

    node: Any
    frame: Frame
    defaults: tuple[Value, ...]
    kw_defaults: tuple[Value | None, ...]
    jitted: Jitted | None = None


@dataclass(frozen=True)
class Method(Value):
    """A bound method of a value, such as `x.sum`."""

    owner: Value
    name: str


@dataclass(frozen=True, eq=False)
class Partial(Value):
    """A function with its first arguments, and some by name: what `functools.partial` makes."""

    function: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


@dataclass(frozen=True)
class SameAs(Value):
    """An argument that is the very array of an earlier one."""

    position: int


@dataclass(frozen=True)
class Neighbours(Value):
    """An array in a function under `@stencil`: subscripts are counted from the element at `index`."""

    array: Sym
    index: tuple[Sym, ...]


@dataclass(frozen=True)
class Slice(Value):
    lower: Sym | None
    upper: Sym | None
    step: Sym | None


@dataclass(frozen=True)
class Iteration(Value):
    """Something that a `for` can run over: range, enumerate, zip, reversed, ndindex, items.

    slots     how many snapshots the reverse sweep of a checkpointed range may keep
    progress  how far an iterator has run; None for what can be run over again and again, such as a range
    """

    kind: str
    args: tuple[Value, ...]
    parallel: bool = False
    slots: Atom | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple(arg.now for arg in self.args))


@dataclass(frozen=True)
class Maybe(Value):
    """A variable that is set only if `flag` holds."""

    value: Value
    flag: Atom
    name: str


@dataclass(frozen=True)
class Poison(Value):
    """A variable whose value differs in structure between the ways that meet; an error when read."""

    reason: str
    name: str


@dataclass(frozen=True)
class Unseen(Poison):
    """What only the run knows, such as the time: harmless as long as nothing but more of it comes of it."""


@dataclass(frozen=True)
class Caught(Unseen):
    """An exception that a handler has caught; of it, the class is known."""

    cls: type[BaseException]


@dataclass(frozen=True, eq=False)
class Stream(Value):
    """Items that are made when they are asked for, one by one."""

    items: Iterator[Value]


@dataclass(frozen=True)
class Items:
    """Contents of a list whose length is known."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Growing:
    """Contents of a list whose length is a number: a buffer and a count.

    Of a list of tuples the buffer is a tuple: a buffer for each place.
    """

    buffer: Any
    count: Sym


Contents = Items | Growing


# complex dtypes by those of their parts, and the other way round
COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}
PART_OF = {whole: part for part, whole in COMPLEX_OF.items()}


@dataclass
class State:
    """What a branch may change: the frame's variables, list contents, what is known of shapes so far."""

    env: dict[str, Value] = field(default_factory=dict)
    heap: dict[Lst, Contents] = field(default_factory=dict)
    dims: dict[tuple[str, int], Atom] = field(default_factory=dict)
    parts: dict[str, Atom] = field(default_factory=dict)
    broadcasts: dict[tuple[str, ...], Any] = field(default_factory=dict)


def number(value: int | float | bool) -> Sym:
    """A literal."""
    return Sym(Const(value), BOOL if isinstance(value, bool) else INT64 if isinstance(value, int) else FLOAT64)


NONE = Static(None)


def is_none(value: Value) -> bool:
    return isinstance(value, Static) and value.obj is None


def is_scalar(value: Value) -> bool:
    return isinstance(value, Sym) and isinstance(value.type, Scalar)


def is_integer(value: Value) -> bool:
    """Whether a value is an integer or a boolean."""
    scalar = value.type if isinstance(value, Sym) else None
    return isinstance(scalar, Scalar) and scalar.dtype.startswith(("int", "uint", "bool"))


def is_array(value: Value) -> bool:
    """Whether a value is an array, written to memory or not."""
    return isinstance(value, Lazy) or (isinstance(value, Sym) and isinstance(value.type, Array))


def is_complex(value: Value) -> bool:
    """Whether a value is a complex number or array, written to memory or not."""
    return isinstance(value, Complex) or (isinstance(value, Lazy) and value.type.dtype in PART_OF)


def is_complex_array(value: Value) -> bool:
    """Whether a value is a complex array that is in memory."""
    return isinstance(value, Complex) and value.is_array


def plain_number(value: Value) -> Value:
    """A member of an `IntEnum` as the number that it is."""
    if isinstance(value, Static) and isinstance(value.obj, enum.Enum) and isinstance(value.obj, int):
        return number(int(value.obj))
    return value


def static_int(value: Value) -> int | None:
    """The value of an integer literal, else None."""
    value = plain_number(value)
    if isinstance(value, Sym) and isinstance(value.atom, Const):
        constant = value.atom.value
        if isinstance(constant, int) and not isinstance(constant, bool):
            return constant
    return None


def range_bounds(value: Value) -> tuple[Value, ...] | None:
    """Start, stop and step of a range; None for what is none."""
    if isinstance(value, Static) and type(value.obj) is range:
        return number(value.obj.start), number(value.obj.stop), number(value.obj.step)
    return value.args if isinstance(value, Iteration) and value.kind == "range" and value.progress is None else None


# what an error calls a string that is no constant
ARGUMENT_TEXT = "text that is an argument"


def describe(value: Value) -> str:
    """A value in an error message."""
    match value:
        case Sym(type=Text()):
            return ARGUMENT_TEXT
        case Sym(type=type_) | Lazy(type=type_):
            return str(type_)
        case Complex():
            return str(value.type)
        case Tup(items=items):
            if mapping(value) is not None:
                return "a dict that is an argument"
            return "(" + ", ".join(describe(item) for item in items) + ")"
        case Static(obj=types.ModuleType() as module):
            return f"module {module.__name__}"
        case Static(obj=obj):
            text = getattr(obj, "__qualname__", None) or repr(obj)
            # an address says nothing, and is another one in every run
            return f"an object of class {type(obj).__name__}" if " at 0x" in text else text
        case Lst():
            return "a deque" if isinstance(value, Deque) else "a list"
        case Dct(cls=cls):
            return "a dict" if cls is dict else f"a {cls.__name__}"
        case Instance(cls=cls):
            return f"an object of {cls.__qualname__}"
        case Maybe(value=inner):
            return describe(inner)
        case MaybeNone(value=inner):
            return f"None or {describe(inner)}"
        case Iteration(kind="range"):
            return "a range"
        case Iteration(kind=kind):
            return _ITERATORS.get(kind, f"the iterator `{kind}`")
        case Method(name=name):
            return f"the method `{name}`"
        case Func(node=node):
            return f"the function `{getattr(node, 'name', '<lambda>')}`"
        case PackedList():
            return "a packed list"
        case Record(cls=cls):
            return f"an object of {cls.object_class.__qualname__}"
        case Partial():
            return "a partial function"
        case Slice():
            return "a slice"
        case Caught(cls=cls):
            return f"the {cls.__name__} that was raised"
    return type(value).__name__.lower()


# kinds of iterations that have no name of Python's
_ITERATORS = {"items": "an iterator", "every": "an iterator", "ndindex": "an iterator over an array's subscripts"}
