"""Comprehensions: a list that a loop appends to, a dict that a loop stores in."""

from __future__ import annotations

import types
from typing import Any

import gast

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Frame
from tapec.frontend.evaluator.values import Value, number
from tapec.frontend.expressions.operators import is_pure
from tapec.frontend.iteration.generators import Generator
from tapec.frontend.iteration.iterators import fresh
from tapec.frontend.source.comprehension_names import variables
from tapec.frontend.source.refused_syntax import words
from tapec.frontend.source.source_liveness import SourceLiveness
from tapec.frontend.structures import dicts


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


def tested(ev: Evaluator, node: gast.GeneratorExp, conjunction: bool) -> Value:
    """`all(...)` or `any(...)` of a generator expression, which stop at the item that decides."""
    inner = [node.elt, *(test for generator in node.generators for test in generator.ifs)]
    if all(_is_harmless(ev, one) for one in inner):
        # to compute all of them is to do nothing more
        items = listcomp(ev, _at(gast.ListComp(node.elt, node.generators), node))
        return ev.call_object(all if conjunction else any, [items], {}, node)
    if not ev.deciding or len(node.generators) > 1:
        message = f"cannot differentiate {words(node)} that calls functions, in `any` or `all`"
        ev.fail(UnsupportedSyntax, message, node, hint="" if ev.deciding else ev.or_by_a_tape())
    (generator,) = node.generators
    verdict = _at(gast.Name("$verdict", gast.Store(), None, None), node)
    assign = _at(gast.Assign([verdict], _at(gast.Constant(not conjunction, None), node), None), node)
    test = _at(gast.UnaryOp(gast.Not(), node.elt), node) if conjunction else node.elt
    step: Any = _at(gast.If(test, [assign, _at(gast.Break(), node)], []), node)
    for condition in reversed(generator.ifs):
        step = _at(gast.If(condition, [step], []), node)
    return _looped(ev, node, "$verdict", number(conjunction), step)


def genexp(ev: Evaluator, node: gast.GeneratorExp) -> Value:
    """`(elt for target in iter if test)`: a generator, which has evaluated its first `iter`."""
    if not ev.deciding:
        hint = "use a list comprehension"
        ev.fail(UnsupportedSyntax, f"cannot differentiate {words(node)}", node, hint=hint)
    first, *_ = node.generators
    source = _at(gast.Name("$source", gast.Load(), None, None), node)
    step = _at(gast.Expr(_at(gast.Yield(node.elt), node)), node)
    body = _loops(node, [gast.comprehension(first.target, source, first.ifs, 0), *node.generators[1:]], step)
    frame = Frame(ev.frame.source, ev.frame.names, parent=ev.frame)
    env = {"$source": ev.materialise(ev.expr(first.iter))}
    return Generator(frame, types.SimpleNamespace(body=body), env, fresh(ev))


def setcomp(ev: Evaluator, node: gast.SetComp) -> Value:
    """Evaluate `{elt for target in iter if test}`, whose elements are known."""
    add = gast.Attribute(_at(gast.Name("$set", gast.Load(), None, None), node), "add", gast.Load())
    step = gast.Expr(_at(gast.Call(_at(add, node), [node.elt], []), node))
    return _filled(ev, node, "$set", dicts.new_dict(ev, {}, set), _at(step, node))


def dictcomp(ev: Evaluator, node: gast.DictComp) -> Value:
    """Evaluate `{key: value for target in iter if test}`, whose keys are known."""
    label = _at(gast.Name("$dict", gast.Load(), None, None), node)
    step = gast.Assign([_at(gast.Subscript(label, node.key, gast.Store()), node)], node.value, None)
    return _filled(ev, node, "$dict", dicts.new_dict(ev, {}), _at(step, node))


def _at(new: Any, node: Any) -> Any:
    return gast.copy_location(new, node)


def _filled(ev: Evaluator, node: Any, label: str, result: Value, step: Any) -> Value:
    """`result`, to which `step` adds in loops; it calls it `label`."""
    _run(ev, node, label, result, _loops(node, node.generators, step))
    return result


def _loops(node: Any, generators: list[Any], step: Any) -> list[Any]:
    """`step` in the loops of a comprehension."""
    body: list[Any] = [step]
    for generator in reversed(generators):
        for test in reversed(generator.ifs):
            body = [_at(gast.If(test, body, []), node)]
        body = [_at(gast.For(generator.target, generator.iter, body, [], None), node)]
    return body


def _is_harmless(ev: Evaluator, node: Any) -> bool:
    """Whether an expression changes nothing, as far as can be seen."""
    return not any(
        isinstance(inner, gast.NamedExpr) or (isinstance(inner, gast.Call) and not is_pure(ev, inner.func))
        for inner in gast.walk(node)
    )


def _looped(ev: Evaluator, node: Any, label: str, first: Value, step: Any) -> Value:
    """What `step`, in the loop of a generator expression, leaves under `label`, which begins as `first`."""
    (generator,) = node.generators
    body = [_at(gast.For(generator.target, generator.iter, [step], [], None), node)]
    return _run(ev, node, label, first, body)


def _run(ev: Evaluator, node: Any, label: str, first: Value, body: list[Any]) -> Value:
    """Evaluate loops; what `label` is in the end."""
    outer_env, outer_liveness = dict(ev.frame.env), ev.frame.liveness
    ev.frame.env[label] = first
    # `:=` sets names of the function
    names = frozenset(outer_env) | {label} | {n.target.id for n in gast.walk(node) if isinstance(n, gast.NamedExpr)}
    ev.frame.liveness = SourceLiveness(body, names)
    # the label too: a list around this one has the same
    hidden = {label} | variables(node)
    outer_jitted = ev.frame.jitted
    ev.frame.jitted = None if outer_jitted is None else outer_jitted.without(hidden)
    ev.statements(body)
    result = ev.frame.env[label]
    ev.frame.liveness, ev.frame.jitted = outer_liveness, outer_jitted
    env = {name: value for name, value in ev.frame.env.items() if name not in hidden}
    ev.frame.env = env | {name: outer_env[name] for name in hidden if name in outer_env}
    return result
