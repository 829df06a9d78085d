"""Where statements and names live: the tree of blocks, and each name's scope in it.

A region is the function's body, a loop's body or a branch of an `if`.  The scope of a name is the
innermost region that holds all its assignments; within one run of that region the name, once
set, keeps its value, except that a loop's merge names change from iteration to iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tapec.errors import Span
from tapec.syntax.core import Block, For, Function, If, Loop, Stmt, blocks, key_field, leaves, writes
from tapec.syntax.types import Array, Below


@dataclass(eq=False)
class Scope:
    """A block and its place in the tree; `owner` is the statement that holds it."""

    block: Block
    parent: Scope | None
    owner: Stmt | None
    depth: int
    is_loop: bool = field(init=False)
    key: int = key_field()

    def __post_init__(self) -> None:
        self.is_loop = isinstance(self.owner, For | Loop)

    @property
    def owner_key(self) -> int | None:
        """The key of the statement that holds it; the function's body has none."""
        return None if self.owner is None else self.owner.key

    def ancestors(self) -> Iterator[Scope]:
        """This region and those around it, innermost first."""
        region: Scope | None = self
        while region is not None:
            yield region
            region = region.parent

    def loops(self) -> list[Scope]:
        """The loop bodies around (and including) this region, innermost first."""
        return [region for region in self.ancestors() if region.is_loop]

    def inside(self, other: Scope) -> bool:
        """Whether this region is another one, or somewhere in it."""
        region: Scope | None = self
        while region is not None and region.depth > other.depth:
            region = region.parent
        return region is other


@dataclass
class Scopes:
    """The region tree of a function.

    body[key]   scopes of a statement's own blocks, in order
    of[key]     the region that a statement stands in
    place[key]  position in program order
    scope[name]  see the module
    defs[name]  the statements that assign a name; parameters have none
    below[name] what the places in a parameter are below, where that is known
    """

    root: Scope
    body: dict[int | None, tuple[Scope, ...]] = field(default_factory=dict)
    of: dict[int | None, Scope] = field(default_factory=dict)
    place: dict[int | None, int] = field(default_factory=dict)
    scope_of: dict[str, Scope] = field(default_factory=dict)
    defs: dict[str, list[Stmt]] = field(default_factory=dict)
    params: frozenset[str] = frozenset()
    below: dict[str, Below] = field(default_factory=dict)

    def merged(self, name: str) -> bool:
        """Whether a name is assigned at more than one place."""
        return len(self.defs.get(name, ())) > 1

    def is_set_before(self, name: str, stmt: Stmt) -> bool:
        """Whether a name has a value on every way to a statement; names without definitions come from outside."""
        place, here, defs = self.place[stmt.key], self.of[stmt.key], self.defs.get(name)
        if not defs:
            return True
        if any(self.place[made.key] < place and here.inside(self.where_set(made)) for made in defs):
            return True
        around = {one.owner_key for one in here.ancestors()}
        behind = (one for block in here.ancestors() for one in block.block if one.key not in around)
        return _sets((one for one in behind if self.place[one.key] < place), name)

    def where_set(self, made: Stmt) -> Scope:
        """Where a name has a value behind a statement that sets it; a loop without iterations sets no variable."""
        return self.body[made.key][0] if isinstance(made, For) else self.of[made.key]

    def line_of(self, name: str) -> Span | None:
        """The line of the user's that makes a value; none makes a parameter."""
        defs = self.defs.get(name)
        return defs[0].span if defs else None

    def loop_of(self, name: str) -> Scope | None:
        """For a merge name that a loop carries, that loop's body."""
        scope = self.scope_of[name]
        for stmt in self.defs.get(name, ()):
            region: Scope = self.of[stmt.key]
            inner = [r for r in region.ancestors() if r.inside(scope) and r is not scope and r.is_loop]
            if inner:
                return inner[-1]
        return None


def _sets(block: Iterable[Stmt], name: str) -> bool:
    """Whether every way through a block that reaches its end sets a name; of loops nothing is said."""
    for stmt in block:
        if isinstance(stmt, If):
            if all(leaves(way) or _sets(way, name) for way in (stmt.body, stmt.orelse)):
                return True
        elif not isinstance(stmt, For) and name in writes(stmt):
            return True
    return False


def scopes(function: Function) -> Scopes:
    """Build the region tree."""
    root = Scope(function.body, None, None, 0)
    result = Scopes(root, params=frozenset(function.params))
    for param in function.params:
        result.scope_of[param] = root
        result.defs[param] = []
        type_ = function.types.get(param)
        if isinstance(type_, Array) and type_.below is not None:
            result.below[param] = type_.below
    _visit(result, root)
    return result


def _visit(result: Scopes, region: Scope) -> None:
    of, place, scopes_of = result.of, result.place, result.scope_of
    for stmt in region.block:
        key = stmt.key
        assert key not in of, "a statement stands at two places"
        of[key] = region
        place[key] = len(place)
        inside = blocks(stmt)
        inner = tuple([Scope(block, region, stmt, region.depth + 1) for block in inside]) if inside else ()
        result.body[key] = inner
        # a loop's variable belongs to its body
        scope = inner[0] if type(stmt) is For else region
        for name in writes(stmt):
            known = scopes_of.get(name)
            if known is None:
                scopes_of[name] = scope
                result.defs.setdefault(name, []).append(stmt)
            else:
                scopes_of[name] = scope if known is scope else common(known, scope)
                result.defs[name].append(stmt)
        for child in inner:
            _visit(result, child)


def common(first: Scope, second: Scope) -> Scope:
    """The innermost region around both."""
    around = {one.key for one in first.ancestors()}
    for region in second.ancestors():
        if region.key in around:
            return region
    raise ValueError("scopes of different functions")


def branches(stmt: If, scopes: Scopes) -> tuple[Scope, Scope]:
    """The scopes of an `if`'s two sides."""
    body, orelse = scopes.body[stmt.key]
    return body, orelse
