"""Comprehensions: a list that a loop appends to, a dict that a loop stores in."""

from __future__ import annotations

from typing import Any

import gast

from tapec.errors import UnsupportedSyntax
from tapec.frontend import dicts
from tapec.frontend.constructs import words
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.liveness import Liveness
from tapec.frontend.values import Value


def listcomp(ev: Evaluator, node: gast.ListComp) -> Value:
    """Evaluate `[elt for target in iter if test]`; the target's name is local to it."""
    append = gast.Attribute(_at(gast.Name("$list", gast.Load(), None, None), node), "append", gast.Load())
    step = gast.Expr(_at(gast.Call(_at(append, node), [node.elt], []), node))
    return _filled(ev, node, "$list", ev.new_list(ev.empty_items), _at(step, node))


def listed(ev: Evaluator, iteration: Value, node: Any) -> Value:
    """A list of items whose number only the run knows."""
    ev.frame.env["$source"] = iteration
    source, item = (_at(gast.Name(label, gast.Load(), None, None), node) for label in ("$source", "$item"))
    target = _at(gast.Name("$item", gast.Store(), None, None), node)
    made = listcomp(ev, _at(gast.ListComp(item, [gast.comprehension(target, source, [], 0)]), node))
    del ev.frame.env["$source"]
    return made


def setcomp(ev: Evaluator, node: gast.SetComp) -> Value:
    """Evaluate `{elt for target in iter if test}`, whose elements are known."""
    add = gast.Attribute(_at(gast.Name("$set", gast.Load(), None, None), node), "add", gast.Load())
    step = gast.Expr(_at(gast.Call(_at(add, node), [node.elt], []), node))
    return _filled(ev, node, "$set", dicts.new_dict(ev, {}, set), _at(step, node))


def dictcomp(ev: Evaluator, node: gast.DictComp) -> Value:
    """Evaluate `{key: value for target in iter if test}`, in the blocks of tapes."""
    if ev.live is None:
        ev.fail(UnsupportedSyntax, f"cannot differentiate {words(node)}", node)
    label = _at(gast.Name("$dict", gast.Load(), None, None), node)
    step = gast.Assign([_at(gast.Subscript(label, node.key, gast.Store()), node)], node.value, None)
    return _filled(ev, node, "$dict", dicts.new_dict(ev, {}), _at(step, node))


def _at(new: Any, node: Any) -> Any:
    return gast.copy_location(new, node)


def _filled(ev: Evaluator, node: Any, label: str, result: Value, step: Any) -> Value:
    """`result`, to which `step` adds in loops; it calls it `label`."""

    def at(new: Any) -> Any:
        return _at(new, node)

    body: list[Any] = [step]
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            body = [at(gast.If(test, body, []))]
        body = [at(gast.For(generator.target, generator.iter, body, [], None))]
    outer_env, outer_liveness = dict(ev.frame.env), ev.frame.liveness
    ev.frame.env[label] = result
    names = frozenset(outer_env) | {label}
    ev.frame.liveness = Liveness(body, names)
    ev.statements(body)
    ev.frame.liveness = outer_liveness
    # the label too: a list around this one has the same
    hidden = {label} | {n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)}
    env = {name: value for name, value in ev.frame.env.items() if name not in hidden}
    ev.frame.env = env | {name: outer_env[name] for name in hidden if name in outer_env}
    return result
