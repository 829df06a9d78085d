"""The generated function that fetches a region's inputs again and checks that its structure is the same.

It returns the objects in the leaves' order, or None where something differs from what was lowered:
types, lengths, keys, code, pinned numbers, and which objects are one.
"""

from __future__ import annotations

import collections
import copy
import datetime
import decimal
import fractions
import inspect
import types
from typing import Any

import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from tapec.frontend.calls.cached_functions import is_cached
from tapec.frontend.evaluator.class_methods import binds_as_functions
from tapec.frontend.expressions.attributes import Flags
from tapec.frontend.source.function_source import undecorated
from tapec.syntax.types import Array, Type
from tapec.tape.objects.class_lookup import static_lookup
from tapec.tape.objects.snapshots import snapshot

_LIBRARY = ("tapec.", "tapec_runtime.")
# values whose contents are no attributes
_VALUES = (
    *(set, frozenset, range, slice, complex, bytearray, collections.deque),
    *(decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta),
)
# what NumPy's functions are, apart from its ufuncs
_DISPATCHED = type(np.sum)
# classes that Python code defines
_HEAP_TYPE = 1 << 9
_TRUSTED = frozenset({"builtins", "cmath", "math", "numba", "numpy", "operator", "scipy", "tapec", "tapec_runtime"})


def _is_library(owner: Any) -> bool:
    """Whether what an object holds never changes: texts, `x.dtype`, tapec's functions, modules of libraries.

    What a program sets in a module of a library is looked at by itself, see `PlanGuards._unreplaced`.
    """
    if isinstance(owner, np.dtype | Flags | str | bytes | np.ufunc):
        return True
    if isinstance(owner, types.ModuleType):
        return owner.__name__.partition(".")[0] in _TRUSTED
    return isinstance(owner, types.FunctionType) and f"{owner.__module__}.".startswith(_LIBRARY)


class PlanGuards:
    """Lines under construction; slot `k` is the variable `v<k>`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {"np": np, "undecorated": undecorated, "static_lookup": static_lookup}
        self.slots: dict[tuple[Any, ...], int] = {}
        self.owners: dict[int, int] = {}
        # all the places of an object, by its identity
        self.places: dict[int, list[int]] = {}
        # classes and properties that have their guards
        self.noted: set[Any] = set()
        self.held: list[Any] = []
        self.distinct: list[int] = []
        self.count = 0
        self.complete = True
        self.mutable: list[int] = []
        # tuples that a library holds, by identity
        self.library: dict[int, Any] = {}

    def constant(self, obj: Any) -> str:
        """A name for an object in the generated function."""
        name = f"c{len(self.namespace)}"
        self.namespace[name] = obj
        return name

    def guard(self, slot: int, condition: str) -> None:
        if slot >= 0:
            self.lines.append(f"if not ({condition.format(v=f'v{slot}')}): return None")

    def access(self, obj: Any, origin: tuple[Any, ...]) -> int | None:
        """The slot of an object found at `origin`; None for what belongs to a library."""
        kind, owner, step = (origin[0], None, origin[1]) if len(origin) == 2 else origin
        place = -1
        if owner is not None:
            if _is_library(owner) or id(owner) in self.library:
                if isinstance(obj, tuple):
                    self.library[id(obj)] = obj
                self._unreplaced(obj, owner, step)
                return None
            found = self.owners.get(id(owner))
            if found is None:
                found = self._constant_owner(owner)
            if found is None:
                self.complete = False
                return self._new(obj, "None")
            place = found
        key = (kind, place, type(step), step)
        if key in self.slots:
            return self.slots[key]
        slot = self._new(obj, self._path(kind, place, owner, step))
        self.slots[key] = slot
        return slot

    def _unreplaced(self, obj: Any, owner: Any, step: Any) -> None:
        """What a module of a library holds, for which a program may set something else (`np.sin = ...`)."""
        key = (id(owner), "held", step)
        if key not in self.noted and isinstance(owner, types.ModuleType) and vars(owner).get(step) is obj:
            self.noted.add(key)
            self.lines.append(
                f"if {self.constant(vars(owner))}.get({step!r}) is not {self.constant(obj)}: return None"
            )

    def _constant_owner(self, owner: Any) -> int | None:
        """Modules, classes, and functions without a closure are reached by themselves."""
        alone = isinstance(owner, types.FunctionType) and owner.__closure__ is None
        if alone or isinstance(owner, types.ModuleType | type):
            return self._new(owner, self.constant(owner))
        return None

    def accessor(self, cls: type, name: str, part: str, function: types.FunctionType) -> None:
        """The function behind a property, which is `part` of what the class holds under a name."""
        key = (id(cls), part, name)
        if key not in self.noted:
            self.noted.add(key)
            slot = self._new(function, f"static_lookup({self.constant(cls)}, {name!r}).{part}")
            self.structure(slot, function)

    def described(self, cls: type, name: str, descriptor: Any) -> None:
        """A descriptor that a class holds."""
        key = (id(cls), "descriptor", name)
        if key not in self.noted:
            self.noted.add(key)
            slot = self._new(descriptor, f"static_lookup({self.constant(cls)}, {name!r})")
            self.structure(slot, descriptor)

    def lacks(self, obj: Any, name: str) -> None:
        """An attribute that neither an object nor its class has."""
        slot = self.owners.get(id(obj))
        if slot is None:
            self.complete = False
        else:
            self.guard(slot, f"{name!r} not in getattr({{v}}, '__dict__', ())")

    def root(self, obj: Any) -> None:
        """An object that is the same whenever the function is called."""
        self._new(obj, self.constant(obj))

    def new(self, obj: Any, path: str) -> int:
        """The slot of an object that `path` finds."""
        return self._new(obj, path)

    def _new(self, obj: Any, path: str) -> int:
        slot = self.count
        self.count += 1
        self.lines.append(f"v{slot} = {path}")
        self.held.append(obj)
        self.owners.setdefault(id(obj), slot)
        self.places.setdefault(id(obj), []).append(slot)
        return slot

    def _path(self, kind: str, place: int, owner: Any, step: Any) -> str:
        match kind:
            case "name":
                return f"variables[{step!r}]"
            case "module":
                return f"module[{step!r}]"
            case "global":
                return f"v{place}.__globals__[{step!r}]"
            case "cell":
                return f"v{place}.__closure__[{owner.__code__.co_freevars.index(step)}].cell_contents"
            case "default":
                return f"v{place}.__defaults__[{step}]"
            case "kwdefault":
                return f"v{place}.__kwdefaults__[{step!r}]"
            case "attribute":
                return f"v{place}.{step}"
        return f"v{place}[{step!r}]" if isinstance(step, int | str) else f"v{place}[{self.constant(step)}]"

    def absent(self, name: str, in_module: bool) -> None:
        """A variable that is not set when the region begins."""
        self.lines.append(f"if {name!r} in {'module' if in_module else 'variables'}: return None")

    def same(self, slot: int, obj: Any) -> None:
        """An object that was reached before, on another path."""
        first = self.owners.get(id(obj), slot)
        if first != slot:
            self.guard(slot, f"{{v}} is v{first}")

    def unshadowed(self, function: Any, name: str) -> None:
        """A name of Python's that the module of a function, or that of the block for None, does not define."""
        slot = self.owners.get(id(function))
        if function is None:
            module = "module"
        elif slot is not None:
            module = f"v{slot}.__globals__"
        else:
            module = self.constant(function.__globals__)
        if (module, name) not in self.noted:
            self.noted.add((module, name))
            self.lines.append(f"if {name!r} in {module}: return None")

    def identical(self, left: Any, right: Any) -> None:
        """Two objects that the program was asked about, whether they are one."""
        for obj in (left, right):
            # an object of a library has no place, one that two paths lead to has two
            first, *others = self.places.get(id(obj), (-1,))
            for other in others:
                self.guard(other, f"{{v}} is v{first}")
        if left is not right:
            if id(left) in self.owners or id(right) in self.owners:
                self.lines.append(f"if {self._named(left)} is {self._named(right)}: return None")
        elif not others:
            self.exactly(left)

    def _named(self, obj: Any) -> str:
        return f"v{self.owners[id(obj)]}" if id(obj) in self.owners else self.constant(obj)

    def exactly(self, obj: Any) -> None:
        """An object that nothing else can stand in for, not even what is equal to it."""
        for slot in self.places.get(id(obj), ()):
            self.guard(slot, f"{{v}} is {self.constant(obj)}")

    def equal(self, slot: int, obj: Any) -> None:
        """A pinned value."""
        if obj is None or obj is Ellipsis or isinstance(obj, bool):
            self.guard(slot, f"{{v}} is {obj!r}")
        else:
            name = self.constant(obj)
            self.guard(slot, f"type({{v}}) is type({name}) and {{v}} == {name}")

    def variable(self, slot: int, obj: Any) -> None:
        # a variable keeps its dtype and shape: the program may know them
        kind, described = self.constant(type(obj)), self.constant(obj._kind)
        # mostly the very tuple, which is sooner said than that it is equal
        same = f"({{v}}._kind is {described} or {{v}}._kind == {described})"
        self.guard(slot, f"type({{v}}) is {kind} and {same}")

    def array(self, slot: int, obj: Any) -> None:
        kind, dtype = self.constant(type(obj)), self.constant(obj.dtype)
        same = f"({{v}}.dtype is {dtype} or {{v}}.dtype == {dtype})"
        self.guard(slot, f"type({{v}}) is {kind} and {same} and {{v}}.ndim == {obj.ndim}")
        self._layout(slot, "{v}", obj)

    def _layout(self, slot: int, text: str, array: Any) -> None:
        if getattr(array, "ndim", 0) == 0:
            return
        flags = f"{text}.flags"
        if array.flags.c_contiguous:
            self.guard(slot, f"{flags}.c_contiguous")
        elif array.flags.f_contiguous:
            self.guard(slot, f"{flags}.f_contiguous and not {flags}.c_contiguous")
        else:
            self.guard(slot, f"not {flags}.c_contiguous and not {flags}.f_contiguous")

    def structure(self, slot: int, obj: Any) -> None:
        """Anything that is neither number, array nor variable."""
        if isinstance(obj, types.FunctionType):
            self.guard(slot, f"type({{v}}) is {self.constant(type(obj))} and {{v}}.__code__ is "
                             f"{self.constant(obj.__code__)}")
            self._defaults(slot, obj)
            wrapped = undecorated(obj)
            if wrapped is not None and wrapped is not obj:
                self._inner(slot, wrapped)
        elif isinstance(obj, types.MethodType) and binds_as_functions(obj.__func__):
            self.guard(slot, f"type({{v}}) is {self.constant(type(obj))}")
            function = self._new(obj.__func__, f"v{slot}.__func__")
            self.structure(function, obj.__func__)
            if id(obj.__self__) not in self.owners:
                owner = self._new(obj.__self__, f"v{slot}.__self__")
                self.structure(owner, obj.__self__)
            else:
                self.lines.append(f"if v{slot}.__self__ is not v{self.owners[id(obj.__self__)]}: return None")
        elif isinstance(obj, tuple):
            self.guard(slot, f"type({{v}}) is {self.constant(type(obj))} and len({{v}}) == {len(obj)}")
        elif isinstance(obj, dict):
            keys = self.constant(list(obj))
            self.guard(slot, f"type({{v}}) is {self.constant(type(obj))} and list({{v}}) == {keys}")
            if not all(type(key) is str for key in obj):
                # 1, 1.0 and True are equal
                self.guard(slot, f"[*map(type, {{v}})] == {self.constant([*map(type, obj)])}")
        elif isinstance(obj, _VALUES):
            same = self.constant(copy.copy(obj))
            self.guard(slot, f"type({{v}}) is {self.constant(type(obj))} and {{v}} == {same}")
        elif isinstance(obj, types.ModuleType | type | types.BuiltinFunctionType | np.ufunc | np.dtype | _DISPATCHED):
            self.guard(slot, f"{{v}} is {self.constant(obj)} or {{v}} == {self.constant(obj)}")
        elif isinstance(obj, DUFunc) or hasattr(obj, "__tapec_lower__"):
            # what such a callable, a derivative for instance, was made of does not show
            self.guard(slot, f"{{v}} is {self.constant(obj)}")
        elif is_cached(obj):
            self.guard(slot, f"{{v}} is {self.constant(obj)}")
            self.structure(self._new(obj.__wrapped__, f"v{slot}.__wrapped__"), obj.__wrapped__)
        else:
            inner = undecorated(obj)
            if inner is not None:
                self.guard(slot, f"{{v}} is {self.constant(obj)}")
                self._inner(slot, inner)
            else:
                self.guard(slot, f"type({{v}}) is {self.constant(type(obj))}")
                self.mutable.append(slot)
                self._class_methods(slot, obj)
                self.class_grown(type(obj))

    def class_grown(self, cls: type) -> None:
        """A class that gets other attributes or bases may answer otherwise: `__bool__`, `__eq__`, a base's method."""
        for base in cls.__mro__:
            if base.__flags__ & _HEAP_TYPE and id(base) not in self.noted:
                self.noted.add(id(base))
                # an attribute in the place of another one comes last
                held, last = f"{self.constant(base)}.__dict__", next(reversed(base.__dict__))
                self.lines.append(f"if len({held}) != {len(base.__dict__)}: return None")
                self.lines.append(f"if next(reversed({held})) is not {self.constant(last)}: return None")
                bases = self.constant(base.__mro__)
                self.lines.append(f"if {self.constant(base)}.__mro__ is not {bases}: return None")

    def _class_methods(self, slot: int, obj: Any) -> None:
        """Functions that calls find on the class: `__call__`."""
        method = inspect.getattr_static(type(obj), "__call__", None)
        if binds_as_functions(method) and id(method) not in self.owners:
            found = self._new(method, f"type(v{slot}).__call__")
            self.structure(found, method)

    def _inner(self, slot: int, function: Any) -> None:
        inner = self._new(function, f"undecorated(v{slot})")
        self.guard(inner, f"{{v}} is not None and {{v}}.__code__ is {self.constant(function.__code__)}")

    def _defaults(self, slot: int, function: Any) -> None:
        count = len(function.__defaults__ or ())
        self.guard(slot, f"len({{v}}.__defaults__ or ()) == {count}")

    def finish(self, leaves: list[int], extra: list[int], stored: bool = False) -> Any:
        """The function: variables and module -> (leaves, extra objects) or None.

        stored  whether attributes of objects are set
        """
        if stored:
            # which objects are one decides what a store to one of them changes
            first: dict[int, int] = {}
            for slot in self.mutable:
                known = first.setdefault(id(self.held[slot]), slot)
                if known == slot:
                    self.distinct.append(slot)
                else:
                    self.lines.append(f"if v{slot} is not v{known}: return None")
        unique = sorted(set(self.distinct))
        if len(unique) > 1:
            ids = ", ".join(f"id(v{k})" for k in unique)
            self.lines.append(f"if len({{{ids}}}) != {len(unique)}: return None")
        values = ", ".join(f"v{k}" for k in leaves)
        others = ", ".join(f"v{k}" for k in extra)
        body = [*self.lines, f"return ({values}{',' if leaves else ''}), ({others}{',' if extra else ''})"]
        text = "def enter(variables, module):\n    try:\n" + "\n".join(f"        {line}" for line in body)
        text += "\n    except (KeyError, AttributeError, IndexError, TypeError, ValueError):\n        return None\n"
        exec(compile(text, "<tapec plan guard>", "exec"), self.namespace)
        return self.namespace["enter"]


def taking(leaves: list[tuple[bool, Type, str]]) -> Any:
    """The function from a block's inputs to their values, as `snapshot` gives them; by kind and type of each.

    leaves  for each whether it is a variable, whose value nobody writes, its type, and which part of its object it is
    """
    names = [f"o{place}" for place in range(len(leaves))]
    values = []
    for name, (variable, type_, part) in zip(names, leaves, strict=True):
        held = f"{name}._value" if variable else name
        if part and isinstance(type_, Array):
            values.append(f"{held}.{part}.copy(order='K')" if type_.layout in "CF" else f"snapshot({held}, {part!r})")
        elif part:
            values.append(f"{held}.{part}")
        elif variable:
            values.append(held)
        elif isinstance(type_, Array):
            values.append(f"{name}.copy(order='K')" if type_.layout in "CF" else f"snapshot({name})")
        else:
            values.append(name)
    if values == names:
        return _as_they_are
    text = f"def take(objects):\n    {', '.join(names)}, = objects\n    return {', '.join(values)},\n"
    namespace: dict[str, Any] = {"snapshot": snapshot}
    exec(compile(text, "<tapec taking>", "exec"), namespace)
    return namespace["take"]


def _as_they_are(objects: tuple[Any, ...]) -> tuple[Any, ...]:
    return objects
