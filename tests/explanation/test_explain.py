"""`tapec.explain`: what it says of programs whose derivatives are known, and that it is true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import math
import re

import numba
import numpy as np
import pytest

import tapec
from tapec.errors import UsageError
from tapec.explanation.summary import summary
from tapec.explanation.wording import targets
from tests.cli.running import refused, succeeds
from tests.explanation.programs import SIGNATURES, chain, heat, nearest, newton, recurrent, search


def told(function, wrt=0, **options):
    return tapec.explain(function, wrt, SIGNATURES[function], **options)


def line_of(function, text: str) -> int:
    """The line of a program that begins with a text."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + place for place, line in enumerate(lines) if line.strip().startswith(text)]
    return found


def notes(function, text: str, by: str, wrt=0) -> list[str]:
    """What is said about a line by one pass."""
    line = line_of(function, text)
    return [str(note) for note in told(function, wrt).notes if note.line == line and note.by == by]


def in_words(function, sentence: str) -> str:
    """A sentence with `<text>` replaced by the number of the line that begins with the text."""
    return re.sub(r"<(.*?)>", lambda match: f"line {line_of(function, match.group(1))}", sentence)


class TestVariables:
    def test_active_ones_and_the_others_with_their_reasons(self):
        known = {variable.name: variable for variable in told(chain).variables}
        assert list(known) == ["u", "stiffness", "total", "i", "stretch"]
        assert [name for name, one in known.items() if one.active] == ["u", "total", "stretch"]
        assert known["stiffness"].why == "does not depend on `u` with a derivative"
        assert "is of type int64" in known["i"].why
        assert known["stretch"].line == line_of(chain, "stretch =")

    def test_what_the_result_does_not_depend_on(self):
        def wasteful(x):
            unused = x * 2.0
            step = float(int(x))
            return x * x + step + 0.0 * int(unused)

        known = {v.name: v.why for v in tapec.explain(wasteful, signature="f8").variables}
        assert "the result does not depend on it" in known["unused"]
        assert "does not depend on `x` with a derivative" in known["step"]

    def test_variables_that_are_bound_without_a_computation(self):
        def pairs(x):
            a, b = x[0], x[1]
            c = d = a
            for k in range(2):
                a, b = b, a * d
            return a * b + c

        known = {v.name: v.active for v in tapec.explain(pairs, signature="f8[:]").variables}
        assert known == {"x": True, "a": True, "b": True, "c": True, "d": True, "k": False}

    def test_parameters_with_names_like_those_of_versions(self):
        def numbered(x, x_1, pair):
            return x * x_1 * pair[0] * pair[1]

        pair = numba.types.UniTuple(numba.float64, 2)
        for wrt, active in (("x", {"x"}), ("x_1", {"x_1"}), ("pair", {"pair_0", "pair_1"})):
            told_ = tapec.explain(numbered, wrt, (numba.float64, numba.float64, pair))
            assert {v.name for v in told_.variables if v.active} == active

    def test_variables_with_numbers_in_their_names(self):
        def several(x):
            x_1 = x * 2.0
            x_2 = int(x_1)
            return x_1 * x_2

        known = {v.name: v.active for v in tapec.explain(several, signature="f8").variables}
        assert known == {"x": True, "x_1": True, "x_2": False}

    def test_variables_of_library_functions_are_not_the_users(self):
        def shifted(y, x, total):
            for k in range(2):
                y = np.cumsum(y) + np.exp(np.diff(x)).sum()
            return np.linalg.norm(np.tanh(y)) * total

        signature = "f8[::1], f8[::1], f8"
        known = {v.name: v.active for v in tapec.explain(shifted, "y", signature).variables}
        assert known == {"y": True, "x": False, "total": False, "k": False}

    def test_several_sources(self):
        assert told(chain, ("u", "stiffness")).wrt == ("u", "stiffness")
        assert all(v.active for v in told(chain, (0, 1)).variables if v.name != "i")

    def test_a_name_of_the_compiler_is_not_taken_for_the_users(self):
        # the compiler's own `t` of line `new[i] = ...` is a float, the user's is not
        (t,) = [v for v in told(recurrent).variables if v.name == "t"]
        assert not t.active


class TestStorage:
    def test_a_fused_loop_stores_nothing(self):
        assert told(chain).stored == ()
        assert told(chain).stored_bytes == "0"

    def test_bytes_are_a_formula_of_the_shapes(self):
        (kept,) = told(heat).stored
        assert kept.formula == "8 * steps * (u0.shape[0] - 2)"
        assert kept.line == line_of(heat, "u[i] = here")
        assert "`left - 2.0 * u[i] + u[i + 1]`" in kept.what
        assert kept.why == "computing it again costs more"

    def test_an_array_that_is_overwritten(self):
        (kept, _) = told(recurrent).stored
        assert str(kept) == (
            "stored: `h`, 8 * steps * w.shape[0] bytes: the elements that the loop reads are overwritten later"
        )

    def test_what_is_stored_twice_counts_twice(self):
        def wave(x):
            grown = math.exp(x)
            return math.sin(grown)

        def twice(x, n):
            total = 0.0
            for _ in range(n):
                y = wave(total * x)
                total += y * y + wave(y)
            return total

        stored = tapec.explain(twice, signature="f8, i8")
        assert stored.stored_bytes == " + ".join(["8 * n"] * len(stored.stored))
        assert len(stored.stored) > len({str(note) for note in stored.stored})

    def test_a_list_grows_with_the_iterations(self):
        (kept,) = told(newton).stored
        assert kept.per_iteration
        assert in_words(newton, "`x`, 8 bytes for each iteration of <while>") in str(kept)
        assert any("lists" in limit for limit in told(newton).limits)

    def test_cheap_values_are_computed_again(self):
        assert notes(newton, "x = 0.5", "storage") == ["computed again: `a / x`, 1 operation"]

    @pytest.mark.parametrize("function", [chain, heat, nearest])
    def test_the_arrays_that_are_told_are_those_that_are_made(self, function):
        made: list[int] = []

        class Counting:
            def __getattr__(self, name):
                def call(*args, **kwargs):
                    found = getattr(np, name)(*args, **kwargs)
                    made.append(found.nbytes)
                    return found

                return call if name in ("empty", "zeros") else getattr(np, name)

        arguments = {
            chain: {"u": np.linspace(0, 1, 7) ** 2, "stiffness": np.ones(6)},
            heat: {"u0": np.linspace(0, 1, 7) ** 2, "kappa": 0.1, "steps": 3},
            nearest: {"x": np.ones((5, 2)), "mu": np.arange(6.0).reshape(3, 2)},
        }[function]
        space: dict = {}
        exec(tapec.emit(function, signature=SIGNATURES[function], opt_level=2), space)
        (generated,) = [value for name, value in space.items() if name.endswith("_value_and_grad")]
        plain = getattr(generated, "py_func", generated)
        plain.__globals__["np"] = Counting()
        plain(**arguments)
        formulas = [one.formula for one in told(function).memory]
        assert sum(made) == sum(eval(formula, {"max": max, **arguments}) for formula in formulas)


class TestLoops:
    def test_fused(self):
        assert notes(chain, "for i", "immediate_reversal") == [
            "fused: each iteration is reversed as soon as it has run"
        ]

    @pytest.mark.parametrize(
        "function, line, reason",
        [
            (heat, "for t", "<left = u> reads `u`, which <u[i] => writes in an earlier iteration"),
            (recurrent, "for t", "`h` is another array in each iteration"),
            (newton, "while", "how many iterations it makes is not known before they have run"),
            (nearest, "for j", "each iteration needs `best` of the one before"),
            (search, "for i", "a `break` may end it"),
        ],
    )
    def test_not_fused(self, function, line, reason):
        assert notes(function, line, "immediate_reversal") == [f"not fused: {in_words(function, reason)}"]

    def test_vectors(self):
        inner = notes(heat, "for i in range(1", "vector_report")
        assert "forward sweep: may not run on vectors: each iteration needs `left` of the one before" in inner
        assert "reverse sweep: can run on vectors" in inner
        assert told(heat).limits == (in_words(heat, "loops that may not run on vectors: <for i in range(1>"),)
        assert notes(search, "for i", "vector_report")[0].startswith("forward sweep: may not run on vectors: ")

    def test_small_arrays_become_numbers(self):
        assert notes(nearest, "d = ", "privatisation") == [
            in_words(
                nearest, "`d` belongs to an iteration: every iteration of <for i> writes all of it before it reads any"
            )
        ]
        assert notes(nearest, "d = ", "scalar_replacement") == ["`d` became 2 numbers"]

    def test_elementary_functions(self):
        found = notes(heat, "u[i] = here", "vector_math")
        assert found == ["`math.sin` can run on vectors", "`np.cos` can run on vectors"]

    def test_additions_that_wait(self):
        (split,) = [str(note) for note in told(chain, parallel=True).notes if note.by == "loop_distribution"]
        assert split.startswith("split: an addition to `u_bar` waits")
        (carried,) = notes(chain, "for i", "register_rotation")
        assert (
            carried
            == "carried over: an addition to the next iteration's element of `u_bar` is carried to that iteration"
        )

    def test_checkpointed_loops(self):
        def decay(x, n, k):
            for _ in tapec.checkpointed(range(n), slots=k):
                x = x - 0.1 * math.sin(x)
            return x

        (note,) = [n for n in tapec.explain(decay, signature="f8, i8, i8").notes if n.by == "checkpoint_contents"]
        assert str(note) == "checkpointed, with k snapshots: iterations are run again from the nearest snapshot"
        limited = tapec.explain(heat, signature=SIGNATURES[heat], memory="1MB")
        (note,) = [n for n in limited.notes if n.by == "checkpoint_contents"]
        assert note.line == line_of(heat, "for t")
        assert note.what == "checkpointed"

    def test_threads(self):
        found = told(heat, parallel=True)
        by_line = {note.line: note.what for note in found.notes if note.by == "parallel_loops"}
        assert by_line[line_of(heat, "for t")] == "does not run on threads"
        assert by_line[line_of(heat, "for i in range(u.")] == "runs on threads"
        plain = [note for note in told(heat).notes if note.by == "vector_report"]
        assert [note for note in found.notes if note.by == "vector_report"] == plain

    def test_levels(self):
        plain = told(chain, opt_level=0)
        assert not [note for note in plain.notes if note.by == "immediate_reversal"]
        # of source for reading, iterations that are independent are reversed at once at level 1, too
        shown = told(chain, opt_level=1)
        assert [note.what for note in shown.notes if note.by == "immediate_reversal"] == ["fused"]
        assert any("opt_level=1" in limit for limit in shown.limits)
        assert any("libm" in limit for limit in told(chain, math="libm").limits)


def test_what_stands_in_another_file_is_told_by_file():
    from tests.explanation import programs

    def outer(x):
        return programs.chain(x, x) * 2.0

    found = tapec.explain(outer, signature="f8[::1]")
    assert any(note.place.startswith("programs.py line ") for note in found.notes if note.by == "immediate_reversal")


@pytest.mark.slow
def test_a_program_is_the_same_whether_it_is_explained_or_not():
    from tapec.backend.module import module_text

    for function, signature in SIGNATURES.items():
        assert module_text(told(function).program, function) == tapec.emit(function, signature=signature, opt_level=2)


@pytest.mark.parametrize(
    "line, wanted",
    [
        ("x = 1.0", ["x"]),
        ("x: float = 1.0", ["x"]),
        ("a, (b, *c) = f(x)", ["a", "b", "c"]),
        ("x[i] = y", []),
        ("x += y", ["x"]),
        ("if a == b:", []),
        ("for k, v in pairs:", ["k", "v"]),
        ("y = [f(i) for i in x]", ["y", "i"]),
        ("f(x, axis=0)", []),
    ],
)
def test_the_variables_that_a_line_assigns(line, wanted):
    assert targets(line) == wanted


@pytest.mark.parametrize(
    "module",
    [
        *("tapec.explanation", "tapec.explanation.explained", "tapec.explanation.page", "tapec.explanation.wording"),
        *("tapec.cli.shared_options", "tapec.cli.target_argument"),
    ],
)
def test_examples_in_docstrings(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted
    assert not result.failed


class TestCommand:
    def test_prints_what_the_function_returns(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        text = "def f(x):\n    s = 0.0\n    for v in x:\n        s += v * v\n    return s\n"
        (tmp_path / "explained.py").write_text(text)
        by_types = succeeds("explain", "explained.py:f", "--sig", "f8[::1]", "--all")
        assert "line 3: fused: each iteration is reversed as soon as it has run" in by_types
        by_types = succeeds("explain", "explained.py:f", "--sig", "f8[::1]")
        assert "  line 3  fused, " in by_types and "stored in all: 0 bytes" in by_types
        by_values = succeeds("explain", "explained.py:f", "--args", "np.ones(3)")
        assert by_values.startswith(by_types) and "Largest adjoints" in by_values[len(by_types) :]
        assert "opt_level=0" in succeeds("explain", "explained.py:f", "--sig", "f8[::1]", "-O0")

    def test_wrong_arguments(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "explained.py").write_text("def f(x):\n    return x\n")
        assert "cannot evaluate --args" in refused("explain", "explained.py:f", "--args", "y")


@pytest.mark.parametrize(
    ("function", "mode", "way"),
    [
        (lambda x: x[0] * x[1], "jacobian", "the only row: the result is one number"),
        (lambda x: np.sum(x) * x, "jacobian", "by columns.*never more than 2 times as many columns"),
        (lambda x: x[0] * np.ones(2), "jacobian", "where those cost less.*the shapes decide: a row costs 2 columns"),
        (lambda x: np.sum(x) * x, "jacrev", "by rows.*one of reverse mode"),
        (lambda x: np.sum(x**3), "hessian", "by columns.*one of forward mode"),
    ],
)
def test_a_jacobian_is_told_by_rows_or_by_columns(function, mode, way):
    told = tapec.explain(function, signature="f8[::1]", mode=mode)
    notes = [str(note) for note in told.notes if note.by == "jacobian"]
    assert re.search(way, notes[-1]), notes
    assert notes[-1] in str(told) and notes[-1].partition(":")[0] in summary(told)
    assert told.title.endswith("Hessian by x" if mode == "hessian" else "Jacobian by x")


def test_modes_that_explain_does_not_know():
    with pytest.raises(UsageError, match="mode must be one of 'grad', 'jacobian'"):
        tapec.explain(lambda x: x, signature="f8", mode="vjp")
