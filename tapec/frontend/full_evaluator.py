"""The evaluator with the handlers of all subjects: one table of which function lowers what."""

from __future__ import annotations

from collections.abc import Iterable

import gast

from tapec.frontend.arrays import array_creation, array_primitives, indexing
from tapec.frontend.calls import calls, decorators, function_handlers
from tapec.frontend.calls.recursion import Callees
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.expressions import (
    attributes,
    comparisons,
    comprehensions,
    formatted_strings,
    names_and_literals,
    operators,
    outside_objects,
)
from tapec.frontend.iteration import collections_and_sets, generators, iterables, sequences
from tapec.frontend.library import list_methods
from tapec.frontend.operations import conditions, elementwise
from tapec.frontend.statements import (
    assignments,
    branches,
    context_managers,
    import_statement,
    loops,
    nonlocal_variables,
    simple_statements,
    try_statement,
)
from tapec.frontend.structures import made_objects


class FullEvaluator(Evaluator):
    """An evaluator with all handlers; `LoweringMethods` says what the methods do."""

    expression_handlers = {
        **names_and_literals.LITERALS,
        **operators.HANDLERS,
        **formatted_strings.FORMATTED,
        **comparisons.HANDLERS,
        **conditions.HANDLERS,
        **attributes.HANDLERS,
        **generators.EXPRESSIONS,
        **collections_and_sets.EXPRESSIONS,
        gast.Call: calls.call,
        gast.ListComp: comprehensions.listcomp,
        gast.GeneratorExp: comprehensions.genexp,
        gast.DictComp: comprehensions.dictcomp,
        gast.SetComp: comprehensions.setcomp,
    }
    statement_handlers = {
        **assignments.HANDLERS,
        **simple_statements.HANDLERS,
        **try_statement.TRY,
        **nonlocal_variables.DECLARATIONS,
        **import_statement.STATEMENTS,
        gast.If: branches.if_,
        gast.For: loops.for_,
        gast.While: loops.while_,
        gast.Break: loops.break_,
        gast.With: context_managers.with_,
    }

    binary = operators.binary
    compare = comparisons.compare_values
    truth = conditions.truth
    select = conditions.select
    operator = made_objects.operator
    wrap = outside_objects.wrap
    get_attribute = attributes.get_attribute
    load = indexing.load
    length = iterables.len_
    known_items = sequences.known_items

    materialise = elementwise.materialise
    as_array = array_creation.as_array
    matmul = array_primitives.matmul
    inert = array_primitives.inert

    new_list = list_methods.new_list
    grow = list_methods.grow
    extend_list = list_methods.extend_list
    list_arithmetic = list_methods.list_arithmetic
    list_from_array = list_methods.list_from_array

    branch = branches.branch
    named = assignments.named

    apply = calls.apply
    call_object = calls.call_object
    call_library = calls.internal
    inline_library = calls.call_library
    method = function_handlers.method
    decorated = decorators.decorated

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        super().__init__(reserved)
        self.callees = Callees()
        self.special = function_handlers.SPECIAL
