"""The tables as a whole: every row against mpmath, in both modes and to second order."""

from __future__ import annotations

import math
import operator
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

import tapec_runtime
from tapec.errors import UsageError
from tapec.frontend.evaluator.numba_types import callable_of, result_type
from tapec.rules import RULES, Rule, function_name, rule_for, scalars
from tapec.rules.formula import show
from tapec.rules.table import join, rule, table
from tapec.syntax.core import Const, Expr, Name, Op
from tapec.syntax.types import BOOL, FLOAT64, INT64, Scalar
from tests.sampling import sampled
from tools import coverage

from .evaluation import NAMESPACE, active_rows, adjoints, primal, second, tangent
from .references import REFERENCES, along

ROWS = active_rows()
WEIGHTS = {"x": 0.8, "z": -1.3}


def cases(rule: Rule):
    """The reference function of a row, and each sample point with a direction."""
    function, points = REFERENCES[rule.heading]
    for point in points:
        yield function, point, {name: WEIGHTS[name] for name in point if name in WEIGHTS}


def tolerance(rule: Rule) -> float:
    return 1e-6 if rule.fn.endswith("float32") else 1e-11


def scale(value: float, *numbers: float) -> float:
    return max(abs(value), *(abs(number) for number in numbers), 1e-300)


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.fn)
def test_values_agree_with_the_reference(rule):
    for function, point, _ in cases(rule):
        assert primal(rule, point) == pytest.approx(float(function(*point.values())), rel=tolerance(rule), abs=1e-14)


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.fn)
def test_tangents_agree_with_the_reference(rule):
    for function, point, directions in cases(rule):
        expected = along(function, point, directions, 1)
        assert tangent(rule, point, directions) == pytest.approx(expected, rel=1e-11, abs=1e-14), point


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.fn)
def test_contributions_are_the_transpose_of_the_tangent(rule):
    for _, point, directions in cases(rule):
        for name in directions:
            forward = tangent(rule, point, {name: 0.7})
            reverse = 0.7 * adjoints(rule, point)[rule.params.index(name)]
            assert reverse == pytest.approx(forward, rel=1e-14, abs=0)


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.fn)
def test_formulas_can_be_differentiated_again(rule):
    for function, point, directions in cases(rule):
        expected = along(function, point, directions, 2)
        size = scale(expected, *(along(function, point, {name: 1.0}, 2) for name in directions))
        assert second(rule, point, directions) == pytest.approx(expected, abs=1e-9 * size + 1e-12), point


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.fn)
def test_tangents_agree_with_central_differences_of_the_operation_itself(rule):
    if rule.fn == "cast.float32":
        pytest.skip("differences see the rounding")
    for function, point, directions in cases(rule):
        h = 1e-6
        ahead, behind = (
            primal(rule, {n: v + s * h * directions[n] if n in directions else v for n, v in point.items()})
            for s in (1, -1)
        )
        size = scale(ahead / 100, *(tangent(rule, point, {n: 1.0}) for n in directions))
        if abs(along(function, point, directions, 2)) * h > 1e-2 * size:
            continue  # too close to an edge of the domain to be resolved
        assert (ahead - behind) / (2 * h) == pytest.approx(tangent(rule, point, directions), abs=1e-6 * size), point


def test_every_active_row_has_a_reference():
    assert {rule.heading for rule in ROWS} == set(REFERENCES)


def test_formulas_consist_of_operations_that_have_rules():
    formulas = [one.tangent for one in ROWS]
    used = {op.fn for formula in formulas for op in operations(formula)}
    assert used <= set(RULES)


def operations(expr: Expr | None):
    if isinstance(expr, Op):
        yield expr
        for arg in expr.args:
            yield from operations(arg)


def numba_type(expr: Expr, names: dict[str, Scalar]) -> Scalar:
    """The type that Numba gives to a formula, operation by operation."""
    if isinstance(expr, Name):
        return names[expr.id]
    if isinstance(expr, Const):
        return {bool: BOOL, int: INT64, float: FLOAT64}[type(expr.value)]
    args = [numba_type(arg, names) for arg in expr.args]
    if expr.fn in ("and", "or", "not"):
        return BOOL
    if expr.fn == "ifelse":
        return FLOAT64 if FLOAT64 in args[1:] else args[1]
    found = result_type(callable_of("*" if expr.fn == "strong" else expr.fn), tuple(args))
    assert found is not None, f"Numba refuses {show(expr)} for {args}"
    return {"bool": BOOL, "int64": INT64, "int32": INT64}.get(str(found), FLOAT64)


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.fn)
def test_numba_supports_every_operation_and_its_formulas(rule):
    if rule.fn.startswith("cast.") or rule.fn == "ifelse":
        return
    names = {"y": FLOAT64, "y_bar": FLOAT64, "dx": FLOAT64, "dz": FLOAT64, "x": FLOAT64, "z": FLOAT64, "n": INT64}
    assert not hasattr(np, rule.fn.removeprefix("np.")) or numba_type(
        Op(rule.fn, tuple(Name(param) for param in rule.params)), names
    )
    for formula in (rule.tangent, *rule.contributions):
        if formula is not None:
            assert numba_type(formula, names) == FLOAT64


@pytest.mark.parametrize("heading", sampled(sorted(REFERENCES), 6))
def test_compiled_contributions_have_the_values_of_interpreted_ones(heading):
    rule = next(one for one in ROWS if one.heading == heading)
    if rule.fn.startswith("cast."):
        return
    point = REFERENCES[heading][1][0]
    names = ", ".join((*rule.params, "y", "y_bar"))
    source = f"lambda {names}: ({', '.join(show(part) for part in rule.contributions)},)"
    compiled = njit(error_model="numpy")(eval(source, NAMESPACE))
    found = compiled(*point.values(), float(primal(rule, point)), 0.7)
    assert found == pytest.approx(adjoints(rule, point, 0.7), rel=1e-13)


def test_an_integer_exponent_stays_one():
    formula = RULES["**"].contributions[0]
    assert formula is not None
    names = {"x": FLOAT64, "z": INT64, "y": FLOAT64, "y_bar": FLOAT64}
    (power,) = (op for op in operations(formula) if op.fn == "**")
    assert numba_type(power.args[1], names) == INT64


def test_every_scalar_function_of_numba_is_in_a_table():
    assert coverage.missing() == []


def test_rows_without_derivative_say_why():
    for one in RULES.values():
        assert one.inert == (one.tangent is None) == all(part is None for part in one.contributions)
        assert one.note or not one.inert


def test_tables_are_frozen():
    with pytest.raises(TypeError):
        RULES["np.sin"] = RULES["np.cos"]  # type: ignore[index]


def test_duplicates_are_refused():
    sine = rule("sin(x)", "cos(x)*dx")
    with pytest.raises(UsageError, match=r"`np\.sin` has two rules"):
        table(sine, rule("sin(x)", "dx"))
    with pytest.raises(UsageError, match=r"`np\.sin` has two rules"):
        join(table(sine), table(sine))
    with pytest.raises(UsageError, match="two rules"):
        table(rule("sin(x)", "cos(x)*dx", also="np.sin"))


@pytest.mark.parametrize(
    ("heading", "formula"),
    [("sin(x)", ""), ("sin(x)", "cos(x)"), ("sin(y)", "dy"), ("f(x, x)", "dx"), ("f(x, 1)", "dx"), ("x", "dx")],
)
def test_faulty_rows_are_refused(heading, formula):
    with pytest.raises(UsageError):
        rule(heading, formula)


@pytest.mark.parametrize("fn", [fn for fn in RULES if fn.startswith(("np.", "math."))])
def test_functions_are_found_by_identity(fn):
    try:
        function = callable_of(fn)
    except AttributeError:
        pytest.skip("not in this NumPy")
    found = function_name(function)
    assert found is not None
    assert callable_of(found) is function
    assert rule_for(found) is not None


def test_names_of_python_functions():
    named = {
        abs: "abs",
        pow: "**",
        operator.add: "+",
        operator.not_: "not",
        max: "max",
        float: "cast.float64",
        np.float32: "cast.float32",
        bool: "cast.bool",
        np.abs: "np.abs",
        tapec_runtime.polygamma: "tapec_runtime.polygamma",
    }
    assert {function: function_name(function) for function in named} == named
    for other in (np.sum, np.clip, len, [], np.zeros(2), test_names_of_python_functions, 3.0):
        assert function_name(other) is None


@pytest.mark.parametrize("x", [-3.5, 0.25, 7.0, 5e-324, 1e308, 0.0])
def test_functions_with_several_results(x):
    assert scalars.frexp(x) == math.frexp(x)
    assert scalars.quotient_and_remainder(x, -1.5) == divmod(x, -1.5)


def test_the_tables_do_not_import_numba():
    code = "import tapec.rules, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


def test_the_page_of_functions_is_current():
    text = coverage.PAGE.read_text(encoding="utf-8")
    if coverage.HEADER not in text:
        pytest.skip("the page was written with another NumPy")
    assert coverage.page() == text, "run python -m tools.coverage"
