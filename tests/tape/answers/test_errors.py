"""Misuse of tapes, and blocks that cannot be lowered: errors that name the line, never numbers."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tapec import GradientTape, Variable, constant
from tapec.errors import LoweringError


def test_a_second_gradient():
    x = constant(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)


def test_a_failed_call_does_not_use_the_tape_up():
    x = constant(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
    with pytest.raises(TypeError):
        tape.gradient(None, x)
    with pytest.raises(ValueError):
        tape.gradient(y, x, unconnected_gradients="nothing")
    assert tape.gradient(y, x) == 2.0


def test_a_gradient_while_recording():
    x = constant(1.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2.0
        with pytest.raises(RuntimeError, match="block"):
            tape.gradient(y, x)


def test_a_tape_that_was_never_entered():
    tape = GradientTape()
    with pytest.raises(RuntimeError):
        tape.gradient(1.0, 1.0)
    with pytest.raises(RuntimeError):
        tape.stop_recording()
    with pytest.raises(RuntimeError):
        tape.reset()


def test_entering_a_tape_that_records():
    with GradientTape() as tape, pytest.raises(ValueError, match="recording already"):
        tape.__enter__()


@pytest.mark.parametrize("value", ["text", None, [1.0, None], object()])
def test_what_cannot_be_watched(value):
    with GradientTape() as tape, pytest.raises(ValueError, match="watched"):
        tape.watch(value)


def test_an_exception_passes_through():
    x = constant(1.0)
    with pytest.raises(ZeroDivisionError), GradientTape() as tape:
        tape.watch(x)
        raise ZeroDivisionError
    assert tape.gradient(x, x) == 1.0
    with GradientTape() as later:
        later.watch(x)
        y = x * 3.0
    assert later.gradient(y, x) == 3.0


def test_a_construct_outside_the_language_names_the_line():
    x = constant(1.0)
    with GradientTape() as tape:
        tape.watch(x)

        class Inner:
            pass

        y = x * 2.0
    with pytest.raises(LoweringError, match="class") as caught:
        tape.gradient(y, x)
    assert caught.value.span.text.strip() == "class Inner:"


def test_shared_memory_that_is_written():
    x = np.array([1.0, 2.0, 3.0])
    view = x[1:]
    with GradientTape() as tape:
        tape.watch(x)
        x[1] = x[0] * 2.0
        y = np.sum(view)
    with pytest.raises(LoweringError, match="shares memory"):
        tape.gradient(y, x)


def test_a_block_that_does_what_its_source_does_not_show():
    x, box = constant(2.0), [1.0]

    class Sneaky:
        def __index__(self):
            box[0] += 1.0
            return 0

    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * box[0]
        y = y * [3.0, 4.0][Sneaky()]
    with pytest.raises(LoweringError):
        tape.gradient(y, x)


def test_a_value_that_left_without_a_name():
    def inside(x):
        with GradientTape() as tape:
            tape.watch(x)
            return tape, x * x

    x = constant(2.0)
    sys.setprofile(lambda *event: None)
    try:
        # whoever watches the calls of a thread is not disturbed
        tape, y = inside(x)
    finally:
        sys.setprofile(None)
    with pytest.raises(LoweringError, match="without a name"):
        tape.gradient(y, x)


def test_tapes_that_are_left_elsewhere_or_have_no_source():
    tape = GradientTape()
    x = constant(2.0)
    for _ in range(1):
        tape.__enter__()
        tape.watch(x)
        y = x * x
    tape.__exit__(None, None, None)
    with pytest.raises(LoweringError, match="not left where its block ends"):
        tape.gradient(y, x)
    namespace = {"GradientTape": GradientTape, "x": x}
    exec("with GradientTape() as tape:\n    tape.watch(x)\n    y = x * x\n", namespace)
    with pytest.raises(LoweringError, match="source"):
        namespace["tape"].gradient(namespace["y"], x)


def test_output_gradients_must_fit():
    x = np.array([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="shape"):
        tape.gradient(y, x, output_gradients=[1.0])
    with pytest.raises(ValueError, match="output gradients"):
        tape.gradient([y], x, output_gradients=[y, y])


def test_a_variable_written_in_place_is_refused():
    v = Variable([1.0, 2.0])
    with GradientTape() as tape:
        w = np.asarray(v)
        y = np.sum(w * w)
    np.testing.assert_array_equal(tape.gradient(y, v), [2.0, 4.0])


def test_a_file_that_changed_after_import(tmp_path, monkeypatch):
    file = tmp_path / "edited_block.py"
    text = (
        "from tapec import GradientTape\n\n\ndef run(x):\n    with GradientTape() as tape:\n"
        "        tape.watch(x)\n        y = x * x\n    return tape, y\n"
    )
    file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("edited_block")
    file.write_text("# a line more, which moves everything\n" + text)
    x = constant(2.0)
    tape, y = module.run(x)
    with pytest.raises(LoweringError, match="changed"):
        tape.gradient(y, x)


@pytest.mark.slow
def test_the_command_line(tmp_path):
    text = (
        "import tapec\nx = tapec.constant(3.0)\nwith tapec.GradientTape() as tape:\n"
        "    tape.watch(x)\n    y = x * x\nprint(tape.gradient(y, x))\n"
    )
    root = Path(__file__).resolve().parents[3]
    paths = os.pathsep.join([str(root), str(root / "runtime")])
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.stdout.strip() == "6.0", done.stderr


def test_what_the_block_raises_is_not_raised_by_reading_it():
    x = constant(2.0)
    tape = GradientTape()
    with pytest.raises(ValueError, match="invalid literal"), tape:
        tape.watch(x)
        y = x * x
        y * int("a")
    assert tape.gradient(y, x) == 4.0

    tape, names = GradientTape(), "abc"
    with pytest.raises(ValueError, match="substring not found"), tape:
        tape.watch(x)
        y = x * x
        y * names.index("z")
    with pytest.raises(LoweringError):
        tape.gradient(y, x)
