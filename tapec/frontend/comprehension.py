"""List comprehensions: a list that a loop appends to."""

from __future__ import annotations

from typing import Any

import gast

from tapec.frontend.evaluator import Evaluator
from tapec.frontend.liveness import Liveness
from tapec.frontend.values import Value


def listcomp(ev: Evaluator, node: gast.ListComp) -> Value:
    """Evaluate `[elt for target in iter if test]`; the target's name is local to it."""
    label = "$list"
    here: Any = node

    def at(new: Any) -> Any:
        return gast.copy_location(new, here)

    append = gast.Attribute(at(gast.Name(label, gast.Load(), None, None)), "append", gast.Load())
    body: list[Any] = [at(gast.Expr(at(gast.Call(at(append), [node.elt], []))))]
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            body = [at(gast.If(test, body, []))]
        body = [at(gast.For(generator.target, generator.iter, body, [], None))]
    result = ev.new_list(ev.empty_items)
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
