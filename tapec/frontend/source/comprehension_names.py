"""The variables of comprehensions, under names that nothing else has.

    v = x[0]                                     v = x[0]
    g = lambda y: v * y                          g = lambda y: v * y
    return sum(g(v) for v in x)                  return sum(g(v_1) for v_1 in x)

A comprehension is a scope of its own, which no function outside of it reads.  It is lowered as a loop in the scope
around it, so its variables must not share a name with others there.  A name that nothing else has stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Any

import gast

COMPREHENSIONS = (gast.ListComp, gast.GeneratorExp, gast.DictComp, gast.SetComp)


def with_own_names(tree: Any, around: Collection[str] = ()) -> Any:
    """`tree`, in which no variable of a comprehension has a name of the functions there, nor one of `around`."""
    scopes = [node for node in gast.walk(tree) if isinstance(node, COMPREHENSIONS)]
    if not scopes:
        return tree
    everywhere = _count(gast.walk(tree))
    own: dict[str, int] = {}
    for scope in scopes:
        for name, count in _count(_of_scope(scope)).items():
            own[name] = own.get(name, 0) + count
    taken = {*everywhere, *around}
    # outermost first: what is renamed inside an inner one keeps its new name there
    for scope in scopes:
        within = [node for node in gast.walk(scope) if isinstance(node, COMPREHENSIONS) and node is not scope]
        inner = {name for node in within for name in _names_of(node)}
        for name in sorted(_names_of(scope)):
            # what outlives its comprehension shares a name with that of no other one
            others = _count(_of_scope(scope))[name] if _read_later(scope, name) else own[name]
            if everywhere[name] > others or name in inner or name in around:
                _rename(scope, name, _unused(name, taken))
    return tree


def variables(node: Any) -> set[str]:
    """The names that a comprehension binds, but for those that a function inside it may read after its end."""
    return {name for name in _names_of(node) if not _read_later(node, name)}


def _names_of(scope: Any) -> set[str]:
    return {node.id for node in _targets(scope)}


def _targets(node: Any) -> list[Any]:
    found = (one for generator in node.generators for one in gast.walk(generator.target))
    return [one for one in found if isinstance(one, gast.Name) and isinstance(one.ctx, gast.Store)]


def _of_scope(scope: Any) -> Iterator[Any]:
    """The nodes where a comprehension's variables are meant: not its first iterable, nor where they are bound again."""
    names = _names_of(scope)
    for name in names:
        for node in _meant(scope, name):
            if isinstance(node, gast.Name) and node.id == name:
                yield node


def _meant(scope: Any, name: str) -> Iterator[Any]:
    """The nodes of a scope, but for those where `name` is another variable."""
    first, *others = scope.generators
    fields = [getattr(scope, field) for field in ("elt", "key", "value") if hasattr(scope, field)]
    pending = [first.target, *first.ifs, *others, *fields]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, gast.Lambda) and name in _parameters(node):
            pending += [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
        elif isinstance(node, COMPREHENSIONS) and name in _names_of(node):
            pending.append(node.generators[0].iter)
        else:
            pending += gast.iter_child_nodes(node)


def _parameters(node: gast.Lambda) -> set[str]:
    found = gast.walk(node.args)
    return {one.id for one in found if isinstance(one, gast.Name) and isinstance(one.ctx, gast.Param)}


def _read_later(scope: Any, name: str) -> bool:
    """Whether a function inside a comprehension reads a variable, which it may do after the comprehension's end."""
    functions = [node for node in _meant(scope, name) if isinstance(node, gast.Lambda)]
    bodies = [node.body for node in functions if name not in _parameters(node)]
    return any(isinstance(one, gast.Name) and one.id == name for body in bodies for one in gast.walk(body))


def _count(nodes: Iterator[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in nodes:
        name = node.id if isinstance(node, gast.Name) else getattr(node, "name", None)
        if isinstance(name, str):
            found[name] = found.get(name, 0) + 1
    return found


def _unused(name: str, taken: set[str]) -> str:
    made = next(made for number in itertools.count(1) if (made := f"{name}_{number}") not in taken)
    taken.add(made)
    return made


def _rename(scope: Any, name: str, new: str) -> None:
    for node in list(_meant(scope, name)):
        if isinstance(node, gast.Name) and node.id == name:
            node.id = new
