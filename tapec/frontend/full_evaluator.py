"""The evaluator with the handlers of all subjects: one table of which function lowers what."""

from __future__ import annotations

from collections.abc import Iterable

import gast

from tapec.frontend import (
    assign,
    attributes,
    branches,
    calls,
    comparisons,
    comprehension,
    conditions,
    containers,
    context,
    creation,
    decorators,
    elementwise,
    handlers,
    imports,
    indexing,
    inline,
    iteration,
    list_methods,
    loops,
    opaque,
    operators,
    sequences,
    simple,
    suspended,
)
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.recursion import Callees


class FullEvaluator(Evaluator):
    """An evaluator with all handlers; `LoweringMethods` says what the methods do."""

    expression_handlers = {
        **operators.HANDLERS,
        **comparisons.HANDLERS,
        **conditions.HANDLERS,
        **attributes.HANDLERS,
        **suspended.EXPRESSIONS,
        **containers.EXPRESSIONS,
        gast.Call: calls.call,
        gast.ListComp: comprehension.listcomp,
        gast.GeneratorExp: comprehension.genexp,
        gast.DictComp: comprehension.dictcomp,
        gast.SetComp: comprehension.setcomp,
    }
    statement_handlers = {
        **assign.HANDLERS,
        **simple.HANDLERS,
        **suspended.STATEMENTS,
        **imports.STATEMENTS,
        gast.If: branches.if_,
        gast.For: loops.for_,
        gast.While: loops.while_,
        gast.Break: loops.break_,
        gast.With: context.with_,
    }

    binary = operators.binary
    compare = comparisons.compare_values
    truth = conditions.truth
    select = conditions.select
    wrap = attributes.wrap
    get_attribute = attributes.get_attribute
    load = indexing.load
    length = iteration.len_
    known_items = sequences.known_items

    materialise = elementwise.materialise
    as_array = creation.as_array
    matmul = opaque.matmul
    inert = opaque.inert

    new_list = list_methods.new_list
    grow = list_methods.grow
    extend_list = list_methods.extend_list
    list_arithmetic = list_methods.list_arithmetic
    list_from_array = list_methods.list_from_array

    branch = branches.branch
    named = assign.named

    apply = calls.apply
    call_object = calls.call_object
    call_library = calls.internal
    inline_library = calls.call_library
    method = handlers.method
    decorated = decorators.decorated
    resolver = inline.resolver

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        super().__init__(reserved)
        self.callees = Callees()
        self.special = handlers.SPECIAL
