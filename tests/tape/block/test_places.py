"""Where a tape can be entered: with statements in every layout, by hand, on a stack, in cells and commands."""

from __future__ import annotations

import ast
import contextlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tapec import GradientTape, constant
from tapec.errors import LoweringError

pytestmark = pytest.mark.compiled

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments, text=None, **variables):
    paths = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
    done = subprocess.run(
        [sys.executable, *arguments],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, "PYTHON_BASIC_REPL": "", **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


BLOCK = """
import tapec
x = tapec.constant(3.0)
with tapec.GradientTape() as tape:
    tape.watch(x)
    y = x * x
print("slope", tape.gradient(y, x))
"""


@pytest.mark.slow
def test_the_command_line():
    assert "slope 6.0" in run("-c", BLOCK)


@pytest.mark.slow
def test_a_function_of_the_command_line():
    indented = "\n".join("    " + line for line in BLOCK.splitlines())
    assert "slope 6.0" in run("-c", f"def f():{indented}\nf()\n")


@pytest.mark.slow
def test_notebook_cells(tmp_path):
    pytest.importorskip("IPython")
    text = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        f"shell.run_cell({BLOCK!r})\n"
        "shell.run_cell('def f(x):\\n    with tapec.GradientTape() as t:\\n        t.watch(x)\\n        z = x ** 3\\n"
        "    return t.gradient(z, x)')\n"
        "shell.run_cell('print(\"again\", f(tapec.constant(2.0)))')\n"
    )
    # the history in the user's folder belongs to whoever opens it first
    told = run("-c", text, IPYTHONDIR=str(tmp_path))
    assert "slope 6.0" in told and "again 12.0" in told


def test_several_items_over_several_lines():
    x = constant(3.0)
    with (
        GradientTape() as first,
        contextlib.nullcontext(),
        GradientTape(persistent=True) as second,
    ):
        first.watch(x)
        y = x * x
        second.watch(x)
        z = x * y
    assert first.gradient(z, x) == 27.0
    assert second.gradient(z, x) == 9.0


class Scope:
    def __init__(self):
        self.depth = 0

    def __enter__(self):
        self.depth += 1
        return self.depth

    def __exit__(self, kind, error, trace):
        self.depth -= 1
        return kind is KeyError


def test_other_contexts_in_a_block():
    x, scope = constant(3.0), Scope()
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        with scope as depth, np.errstate(divide="ignore"), warnings.catch_warnings():
            y = x * depth
            with scope as depth:
                z = x * depth
                if depth == 2:
                    raise KeyError
                z = z * 5.0
        u = y * z
    assert tape.gradient(y, x) == 1.0
    assert tape.gradient(u, x) == 2 * 2.0 * 3.0


def test_a_stack_of_contexts():
    x = constant(3.0)
    with contextlib.ExitStack() as stack:
        tape = stack.enter_context(GradientTape())
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) == 6.0


class Trainer:
    def slope(self, x):
        with GradientTape() as self.tape:
            self.tape.watch(x)
            y = x * x
        return self.tape.gradient(y, x)


def test_a_tape_that_is_an_attribute():
    assert Trainer().slope(constant(3.0)) == 6.0


def test_one_line():
    x = constant(3.0)
    # fmt: off
    with GradientTape() as tape: tape.watch(x); y = x * x  # noqa: E701, E702
    # fmt: on
    assert tape.gradient(y, x) == 6.0


def test_entered_by_hand_in_a_loop():
    for k in range(1, 4):
        x, tape = constant(float(k)), GradientTape()
        tape.__enter__()
        tape.watch(x)
        y = x * x
        if y > 5.0:
            y = y * 2.0
        tape.__exit__(None, None, None)
        y = y * 1.0
        assert tape.gradient(y, x) is None


def test_a_comprehension_and_a_nested_function_around():
    def slopes(values):
        def slope(x):
            with GradientTape() as tape:
                tape.watch(x)
                y = x * x
            return tape.gradient(y, x)

        return [slope(x) for x in values]

    assert slopes([constant(1.0), constant(2.0)]) == [2.0, 4.0]


def test_text_without_source():
    namespace = {"x": constant(3.0)}
    exec(BLOCK.replace('print("slope", tape.gradient(y, x))', ""), namespace)
    with pytest.raises(LoweringError, match="source") as caught:
        namespace["tape"].gradient(namespace["y"], namespace["x"])
    assert "file" in str(caught.value)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="older prompts keep no source")
def test_the_prompt():
    told = run("-i", "-q", text=BLOCK.replace("    y = x * x\n", "    y = x * x\n\n"))
    assert "slope 6.0" in told or "source" in told


def test_a_cell_under_time():
    text = "with GradientTape() as tape:\n    tape.watch(x)\n    y = x * x\ng = tape.gradient(y, x)\n"
    for shown in ("", "g"):
        # IPython runs an expression at the end apart, and the rest from the syntax tree
        module = {"GradientTape": GradientTape, "x": constant(3.0)}
        module["In"] = ["", f"get_ipython().run_cell_magic('time', '', {text + shown!r})\n"]
        exec(compile(ast.parse(text), "<timed exec>", "exec", dont_inherit=True), module)
        assert module["g"] == 6.0
    other = text.replace("x * x", "x * 2.0")
    with pytest.raises(LoweringError, match="cannot be found"):
        exec(compile(ast.parse(other), "<timed exec>", "exec", dont_inherit=True), module)
