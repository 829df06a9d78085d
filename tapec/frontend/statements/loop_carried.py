"""Loop-carried values: the variables and lists that an iteration hands to the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Complex,
    Contents,
    Growing,
    Items,
    Iteration,
    Lst,
    Maybe,
    MaybeNone,
    Poison,
    Rebuilt,
    Record,
    State,
    Sym,
    Tup,
    Value,
    is_scalar,
    known_text,
)
from tapec.frontend.operations import memory_order
from tapec.frontend.statements.loop_invariant_extents import InvariantExtents
from tapec.frontend.statements.loop_memory_sharing import MemorySharing
from tapec.frontend.structures.lists import element_type, growing
from tapec.frontend.structures.merging import Way, as_complex, blank, leaves, met, note_roots, rebuild
from tapec.frontend.structures.rebuilt_containers import gathered, has_containers, share, spread
from tapec.syntax.core import Const, Name
from tapec.syntax.types import Array, Scalar, Type


@dataclass
class LoopContext:
    """One attempt at a loop: its merge names, and the state that each way out of an iteration leaves.

    held      of containers that are carried by what they hold: that, and with `contents` what is on the heap for it
    library   whether the loop is one of a library function
    """

    variables: dict[str, Any] = field(default_factory=dict)
    held: dict[str, Any] = field(default_factory=dict)
    contents: dict[Lst, Any] = field(default_factory=dict)
    lists: dict[Lst, Any] = field(default_factory=dict)
    heads: dict[tuple[Any, ...], str] = field(default_factory=dict)
    initial: list[tuple[str, Sym]] = field(default_factory=list)
    exits: list[tuple[list[Any], dict[str, Any], dict[Lst, Any]]] = field(default_factory=list)
    broke: list[list[Any]] = field(default_factory=list)
    library: bool = False


class LoopCarriedValues:
    """The variables and lists that a loop carries from iteration to iteration, as far as known."""

    def __init__(self, entry: State, names: list[str]) -> None:
        self.names = names
        self.entry = entry
        self.values: dict[str, Value] = {n: entry.env[n] for n in names if n in entry.env}
        self.missing: dict[str, Value] = {}
        self.lists: dict[Lst, Scalar | None] = {}
        self.types: dict[tuple[Any, ...], Type] = {}
        # where iterations begin with a variable and end with another one, or a number: the variables that they end with
        self.ends: dict[tuple[Any, ...], list[Sym]] = {}
        self.invariant = InvariantExtents()
        self.sharing = MemorySharing()
        # arrays that NumPy may have in columns in later iterations
        self.in_columns: set[tuple[Any, ...]] = set()

    def begin(self, ev: Evaluator, before: list[Any]) -> LoopContext:
        """Bind every carried variable to its merge name at the head of the loop."""
        context = LoopContext(library=ev.frame.library)
        self.invariant.again()
        for name, value in self.values.items():
            outer, ev.block = ev.block, before
            self._bind(ev, context, name, value, ("name", name))
            ev.block = outer
        for name, like in self.missing.items():
            dummy = blank(ev, like, before)
            if dummy is None:
                self.values[name] = Poison("it is not set before the loop", name)
                continue
            start = dummy if name.startswith("$") else Maybe(dummy, Const(False), name)
            self._bind(ev, context, name, start, ("name", name))
        for key, element in self.lists.items():
            contents = self.entry.heap[key]
            if element is not None:
                outer, ev.block = ev.block, before
                contents = growing(ev, contents, element)
                ev.block = outer
            new = rebuild(contents, self._maker(ev, context, key.label, ("list", key)))
            ev.heap[key] = context.lists[key] = new
        if ev.live is not None:
            ev.live.all_met()
        return context

    def _bind(self, ev: Evaluator, context: LoopContext, name: str, value: Value, key: tuple[Any, ...]) -> None:
        new = rebuild(value, self._maker(ev, context, name, key))
        if has_containers(new):
            context.held[name] = new
            known = set(ev.heap)
            new = gathered(ev, new)
            context.contents.update({key: found for key, found in ev.heap.items() if key not in known})
        ev.frame.env[name] = context.variables[name] = new

    def _maker(
        self, ev: Evaluator, context: LoopContext, label: str, key: tuple[Any, ...]
    ) -> Callable[[tuple[Any, ...], Sym], Sym]:
        def make(path: tuple[Any, ...], leaf: Sym) -> Sym:
            full = (*key, *path)
            if leaf.changing and full not in self.ends:
                # a variable, of which no iteration makes another one or a number
                return leaf
            sources, leaf = (leaf, *self.ends.get(full, ())), leaf.now
            type_ = self.types.get(full, leaf.type)
            base = f"{label}_set" if "flag" in path else f"{label}_count" if "count" in path else label
            if path and path[-1] in ("re", "im"):
                base = f"{base}_{path[-1]}"
            name = ev.define(base, type_)
            if path and path[-1] == "im" and isinstance(type_, Array):
                ev.partners[name] = context.heads[(*full[:-1], "re")]
            note_roots(ev, name, leaf)
            self.invariant.begin(ev, full, name, leaf)
            self.sharing.begin(ev, full, name)
            if full in self.in_columns:
                memory_order.mark(ev, name)
            context.initial.append((name, leaf))
            context.heads[full] = name
            return met(ev, Sym(Name(name), type_), *sources)

        return make

    def settled(self, ev: Evaluator, context: LoopContext, body: list[Any]) -> bool:
        """Compare what iterations end with to what they began with; True if nothing was learned."""
        ends = [dict(self.copies(ev, context, env, heap)) for _, env, heap in context.exits]
        paths = {name: path for path, name in context.heads.items()}
        stable = self.sharing.holds(
            ev, context.heads, [{paths[name]: leaf for name, leaf in end.items()} for end in ends], body
        )
        for block, env, heap in context.exits:
            with Way(block, heap).end(ev):
                for name in self.names:
                    stable &= self._compare_name(ev, context, name, env.get(name))
                for key, contents in heap.items():
                    stable &= self._compare_list(ev, context, key, contents)
        return stable

    def _compare_name(self, ev: Evaluator, context: LoopContext, name: str, value: Value | None) -> bool:
        if value is None:
            return True
        head = context.variables.get(name)
        if head is None:
            if isinstance(value, Poison) or name in self.missing or name in self.values:
                return True
            self.missing[name] = value.value if isinstance(value, Maybe) else value
            return False
        if isinstance(head, Poison) or head == value:
            return True
        if is_scalar(head) and isinstance(value, Complex) and not value.is_array:
            # a number becomes complex in an iteration: it is so from the beginning, as Numba has it
            begun = as_complex(self.values.get(name, head))
            assert begun is not None
            self.values[name] = begun
            self._widen(name, begun, value)
            return False
        head, value = context.held.get(name, head), self._held(ev, context, name, value)
        paths, head_paths = self._leaves(head, value), dict(leaves(head))
        if paths is None and self._by_contents(ev, context, name, value):
            return False
        if paths is None or not head_paths:
            reason = "it changes its structure from iteration to iteration"
            if known_text(head) is not None or known_text(value) is not None:
                reason = "it is text, which iterations set anew; carry a number or a boolean in its place"
            self.values[name] = Poison(reason, name)
            self.missing.pop(name, None)
            return False
        return self._unify(ev, context, ("name", name), head_paths, paths)

    def _held(self, ev: Evaluator, context: LoopContext, name: str, value: Any) -> Any:
        """A value as its head is carried: a container by what it holds now."""
        if name in context.held:
            share(ev, value)
        return (spread(ev, value) or value) if name in context.held else value

    def _by_contents(self, ev: Evaluator, context: LoopContext, name: str, value: Value) -> bool:
        """Carry a container by what it holds, if iterations end with others of its structure."""
        outer, ev.heap = ev.heap, self.entry.heap
        begun = spread(ev, self.values.get(name))
        ev.heap = outer
        if name not in context.held and has_containers(self.values.get(name)):
            return True  # so it will be, as another way out has told
        ended = spread(ev, value)
        if begun is None or begun == self.values.get(name) or shape(begun) != shape(ended):
            return False
        outer, ev.heap = ev.heap, self.entry.heap
        share(ev, self.values.get(name))
        ev.heap = outer
        share(ev, value)
        self.values[name] = begun
        return True

    def _widen(self, name: str, begun: Complex, value: Complex) -> None:
        """Both parts of a variable get the type that its numbers have together."""
        kinds = [begun.re.type, value.re.type]
        type_ = kinds[1] if kinds[0] == kinds[1] else Scalar("float64")
        for part in ("re", "im"):
            self.types["name", name, part] = type_

    def _leaves(self, head: Any, value: Any) -> dict[tuple[Any, ...], Sym] | None:
        """The leaves of `value` under the paths of `head`; None if the structures differ."""
        if isinstance(head, Complex) and is_scalar(value):
            value = as_complex(value)
        if isinstance(head, Maybe) and not isinstance(value, Maybe):
            value = Maybe(value, Const(True), head.name)
        if isinstance(head, MaybeNone) and isinstance(value, Sym):
            value = MaybeNone(value, Const(True))
        paths = dict(leaves(value))
        same = paths.keys() == dict(leaves(head)).keys() and shape(head) == shape(value)
        return paths if same else None

    def _unify(
        self,
        ev: Evaluator,
        context: LoopContext,
        key: tuple[Any, ...],
        heads: dict[tuple[Any, ...], Sym],
        paths: dict[tuple[Any, ...], Sym],
    ) -> bool:
        stable = True
        for path, leaf in paths.items():
            head = context.heads.get((*key, *path))
            if leaf != heads[path] and (leaf.changing or head is None):
                stable &= self._note_end((*key, *path), leaf)
            if head is None:
                continue
            type_ = numba_types.unify(ev.types[head], leaf.type)
            if type_ is None:
                name = key[1] if isinstance(key[1], str) else key[1].label
                ev.fail(
                    TypeMismatch,
                    f"`{name}` is {ev.types[head]} when the loop begins and {leaf.type} after an iteration",
                    reason="Numba has no type for both",
                )
            if type_ != ev.types[head]:
                self.types[(*key, *path)] = type_
                stable = False
            elif isinstance(leaf.atom, Name) and isinstance(leaf.type, Array):
                if memory_order.is_marked(ev, leaf.atom.id) and not memory_order.is_marked(ev, head):
                    self.in_columns.add((*key, *path))
                    stable = False
                new = ev.roots.get(head, frozenset()) | ev.roots.get(leaf.atom.id, frozenset())
                ev.roots[head] = new
                stable &= self.invariant.holds(ev, (*key, *path), leaf)
        return stable

    def _note_end(self, path: tuple[Any, ...], leaf: Sym) -> bool:
        """Note that a variable is another one, or a number, at the end of an iteration; whether that was known."""
        known = path in self.ends and not (leaf.changing and leaf not in self.ends[path])
        if leaf.changing and not known:
            self.ends.setdefault(path, []).append(leaf)
        self.ends.setdefault(path, [])
        return known

    def _compare_list(self, ev: Evaluator, context: LoopContext, key: Lst, contents: Contents) -> bool:
        if key not in self.entry.heap:
            return True
        head = context.lists.get(key, self.entry.heap[key])
        if head == contents:
            return True
        paths = self._leaves(head, contents)
        if key in context.lists and paths is not None:
            return self._unify(ev, context, ("list", key), dict(leaves(head)), paths)
        same_length = isinstance(head, Items) and isinstance(contents, Items) and paths is not None
        # another way out of the iteration may have told so already
        if same_length and self.lists.get(key) is None:
            self.lists[key] = None
        else:
            self.lists[key] = element_type(ev, head, contents)
        return False

    def copies(
        self, ev: Evaluator, context: LoopContext, env: dict[str, Any], heap: dict[Lst, Any]
    ) -> list[tuple[str, Sym]]:
        """What an iteration's end assigns to the merge names."""
        pairs: list[tuple[str, Sym]] = []
        for key, head, value in [
            *((("name", name), head, env.get(name)) for name, head in context.variables.items()),
            *((("list", key), head, heap.get(key)) for key, head in context.lists.items()),
        ]:
            if value is None or isinstance(head, Poison):
                continue
            if key[0] == "name" and key[1] in context.held:
                with Way(ev.block, heap).end(ev):
                    value = spread(ev, value)
                head = context.held[key[1]]
            found = self._leaves(head, value) or {}
            with Way(ev.block, heap).end(ev):
                leaves_now = {(*key, *path): leaf.now for path, leaf in found.items() if (*key, *path) in context.heads}
            pairs += [(context.heads[path], leaf) for path, leaf in leaves_now.items()]
        return pairs


def shape(value: Any) -> Any:
    """The structure of a value without its numbers."""
    match value:
        case Sym():
            return "leaf"
        case Complex():
            return "complex array" if value.is_array else "complex"
        case Tup(items=items, cls=cls) | Record(items=items, cls=cls):
            return (cls, *map(shape, items))
        case Maybe(value=inner):
            return ("maybe", shape(inner))
        case MaybeNone(value=inner):
            return ("maybe none", shape(inner))
        case Items(values=values):
            return ("items", *map(shape, values))
        case Iteration(kind="range", args=bounds):
            return replace(value, args=()), *map(shape, bounds)
        case Rebuilt(keys=keys, items=items):
            return ("container", keys, value.cls, *map(shape, items))
        case Growing():
            return "growing", shape(value.buffer)
    return value
