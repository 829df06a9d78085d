"""Which names may share memory, and which elements keep their value.

Names that one may view, copy or merge into one another form a class; activity and stores are
tracked per class.  The scope of a class is the innermost region that holds all its names: each
run of that region works on memory of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tapec.analyses.dependence import Dependence, is_element_load
from tapec.analyses.scopes import Scope, Scopes, common
from tapec.syntax.core import Assign, Block, Function, Name, Op, Push, Stmt, Store, changed, walk
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import Array, Stack, Type

VIEWS = frozenset({"view", "transpose", "reshape", "permute"})
ALLOCATIONS = frozenset({"empty", "zeros"})
# products of vectors and matrices
PRODUCTS = frozenset({"np.dot", "tapec_runtime.product_in_rows"})
# of the array among their operands that the result is as large as, the position
_AS_LARGE = {"copy": 0, "np.linalg.inv": 0, "np.linalg.cholesky": 0, "np.linalg.solve": 1}


def as_large(value: object) -> str | None:
    """The array among an operation's operands that its result is as large as."""
    if not isinstance(value, Op):
        return None
    place = 0 if isinstance(value.fn, Custom) else _AS_LARGE.get(value.fn)
    operand = None if place is None else value.args[place]
    return operand.id if isinstance(operand, Name) else None


def is_memory(type_: Type | None) -> bool:
    return type(type_) is Array or type(type_) is Stack


class Aliases:
    """Union-find over array and stack names."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def find(self, name: str) -> str:
        root = name
        while self._parent.get(root, root) != root:
            root = self._parent[root]
        while self._parent.get(name, name) != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def join(self, first: str, second: str) -> None:
        self._parent[self.find(first)] = self.find(second)


def aliases(function: Function) -> Aliases:
    """Classes of names that may share memory."""
    result = Aliases()
    for group in function.shared:
        first, *others = sorted(group)
        for other in others:
            result.join(first, other)
    for stmt in walk(function.body):
        match stmt:
            case Assign(target=target, value=value) if is_memory(function.types.get(target)):
                for source in handed_on(value):
                    if is_memory(function.types.get(source)):
                        result.join(target, source)
            case Push(stack=stack, value=Name(id=value)) if is_memory(function.types.get(value)):
                result.join(stack, value)
    return result


def origins(block: Block, types: Mapping[str, Type]) -> dict[str, frozenset[str]]:
    """For each array, the names that the memory it may stand for was made or came in under.

    Finer than `aliases`: two arrays that one name may stand for are not one memory.
    """
    found: dict[str, frozenset[str]] = {}
    stmts = list(walk(block))
    before = None
    while found != before:
        before = dict(found)
        for stmt in stmts:
            match stmt:
                case Assign(target=target, value=value) if is_memory(types.get(target)):
                    handed = [name for name in handed_on(value) if is_memory(types.get(name))]
                    made = [found.get(name, frozenset({name})) for name in handed] or [frozenset({target})]
                    found[target] = found.get(target, frozenset()).union(*made)
                case Push(stack=stack, value=Name(id=value)) if is_memory(types.get(value)):
                    held = found.get(value, frozenset({value}))
                    found[stack] = found.get(stack, frozenset({stack})) | held
    return found


def handed_on(value: object) -> list[str]:
    """The names whose memory an expression hands on."""
    match value:
        case Name(id=ident):
            return [ident]
        case Op(fn="ifelse", args=(_, first, second)):
            return [a.id for a in (first, second) if isinstance(a, Name)]
        case Op(fn=fn, args=(Name(id=ident), *_)) if fn in VIEWS or fn in ("pop", "grown"):
            return [ident]
    return []


@dataclass
class Memory:
    """Stores per class, and the questions asked about them."""

    scopes: Scopes
    aliases: Aliases
    stores: dict[str, list[Stmt]] = field(default_factory=dict)
    scopes_of: dict[str, Scope] = field(default_factory=dict)
    _dependence: Dependence | None = None
    # answers of `stable`, which is asked for every use of a value
    _stable: dict[tuple[int, str], bool] = field(default_factory=dict)
    # and of `as_before`
    _as_before: dict[tuple[int, int], bool] = field(default_factory=dict)

    def stable(self, stmt: Stmt, array: str) -> bool:
        """Whether no store can follow `stmt` on the memory of `array` that `stmt` sees.

        For a load of one element: on that element.  For a store: no other one on the element that it sets.
        """
        found = self._stable.get((stmt.key, array))
        if found is None:
            found = self._stable[stmt.key, array] = self._is_stable(stmt, array)
        return found

    def _is_stable(self, stmt: Stmt, array: str) -> bool:
        cls = self.aliases.find(array)
        scope = self.scopes_of[cls]
        here = self.scopes.of[stmt.key]
        place = self.scopes.place[stmt.key]
        around = {r.key for r in here.loops() if r.inside(scope) and r is not scope}
        for store in self.stores.get(cls, ()):
            follows = self.scopes.place[store.key] > place
            repeats = any(r.key in around for r in self.scopes.of[store.key].loops())
            if (follows or repeats) and not self._untouched(stmt, store):
                return False
        return True

    def constant_in(self, stmt: Stmt, array: str, loop: Scope) -> bool:
        """Whether no store in any iteration of a loop around `stmt` touches the element that `stmt` loads."""
        cls = self.aliases.find(array)
        if self.scopes_of[cls].inside(loop):
            return False
        if self._dependence is None:
            self._dependence = Dependence(self.scopes)
        for store in self.stores.get(cls, ()):
            if not self.scopes.of[store.key].inside(loop):
                continue
            if not isinstance(store, Store) or not isinstance(stmt, Assign) or not is_element_load(stmt):
                return False
            if not self._dependence.never_conflicts(stmt, store, loop):
                return False
        return True

    def whole_in(self, array: str, loop: Scope) -> bool:
        """Whether no iteration of a loop, or no statement of another block, stores into an array's memory."""
        stores = self.stores.get(self.aliases.find(array), ())
        return not any(self.scopes.of[store.key].inside(loop) for store in stores)

    def as_before(self, stmt: Stmt, array: str, loop: Scope) -> bool:
        """Whether what `stmt` loads in an iteration of a loop is what the array held before the loop."""
        found = self._as_before.get((stmt.key, loop.key))
        if found is None:
            found = self._as_before[stmt.key, loop.key] = self._is_as_before(stmt, array, loop)
        return found

    def _is_as_before(self, stmt: Stmt, array: str, loop: Scope) -> bool:
        for store in self.stores.get(self.aliases.find(array), ()):
            if not self.scopes.of[store.key].inside(loop):
                continue
            if not isinstance(store, Store) or not isinstance(stmt, Assign) or not is_element_load(stmt):
                return False
            if self._dependence is None:
                self._dependence = Dependence(self.scopes)
            if not self._dependence.unwritten(stmt, store, loop):
                return False
        return True

    def _untouched(self, stmt: Stmt, store: Stmt) -> bool:
        """Whether subscripts prove that a store leaves the loaded element alone."""
        if not isinstance(store, Store) or not (isinstance(stmt, Store) or is_element_load(stmt)):
            return False
        assert isinstance(stmt, Assign | Store)
        if self._dependence is None:
            self._dependence = Dependence(self.scopes)
        return self._dependence.untouched(stmt, store, self.scopes_of[self.aliases.find(store.array)])

    def local_to(self, array: str, region: Scope) -> bool:
        """Whether each run of `region` has its own memory for `array`."""
        return self.scopes_of[self.aliases.find(array)].inside(region)


def memory(function: Function, scopes: Scopes, found: Aliases, constants: frozenset[str]) -> Memory:
    """Collect stores and scopes_of of all classes."""
    result = Memory(scopes, found)
    for name, type_ in function.types.items():
        if not is_memory(type_) or (name not in scopes.scope_of and name not in constants):
            continue
        scope = scopes.scope_of.get(name, scopes.root)
        cls = found.find(name)
        known = result.scopes_of.get(cls)
        result.scopes_of[cls] = scope if known is None else common(known, scope)
    for stmt in walk(function.body):
        for array in changed(stmt):
            result.stores.setdefault(found.find(array), []).append(stmt)
    return result
