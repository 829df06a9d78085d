"""Code in notebook cells: IPython keeps their text, and tapec reads it there."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

from tests import warm_process

# each starts a shell of IPython's
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="IPython is not installed"),
]

ROOT = Path(__file__).resolve().parents[1]

RUNNER = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="nocolor", history_length=0, cache_size=0)
shell.history_manager.enabled = False
shell.autoindent = False
for cell in CELLS:
    done = shell.run_cell(cell, store_history=False)
    error = done.error_in_exec or done.error_before_exec
    if error is not None:
        print("raised:", type(error).__name__, str(error).partition(chr(10))[0])
"""


def run(folder: Path, *cells: str) -> list[str]:
    """What the cells print, and the errors that end them."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
    environment = {**os.environ, "PYTHONPATH": paths, "IPYTHONDIR": str(folder), "TAPEC_CACHE": "0"}
    code, said = warm_process.run(f"CELLS = {cells!r}\n{RUNNER}", folder, environment)
    assert code == 0, said
    return [line for line in said.splitlines() if not line.startswith((" ", "---", "Traceback"))]


IMPORTS = "import numpy as np\nimport tapec\nfrom tapec import GradientTape, Variable"


def test_a_gradient_of_a_function_from_another_cell(tmp_path: Path):
    found = run(
        tmp_path,
        IMPORTS,
        "def loss(x):\n    s = 0.0\n    for v in x:\n        s += v * v\n    return s",
        "gradient = tapec.grad(loss)\nprint(gradient(np.array([1.0, 2.0])).tolist())",
    )
    assert found == ["[2.0, 4.0]"]


def test_a_function_that_is_defined_anew(tmp_path: Path):
    found = run(
        tmp_path,
        IMPORTS,
        "scale = 2.0\ndef loss(x):\n    return scale * x * x",
        "print(tapec.grad(loss)(3.0))",
        "def loss(x):\n    return x ** 3",
        "print(tapec.grad(loss)(3.0))",
    )
    assert found == ["12.0", "27.0"]


def test_a_tape_in_a_cell(tmp_path: Path):
    found = run(
        tmp_path,
        IMPORTS,
        "x = Variable(3.0)",
        "with GradientTape() as tape:\n    y = x * x\nprint(tape.gradient(y, x))",
        # the tape of one cell, the gradient of the next
        "with GradientTape(persistent=True) as tape:\n    z = 1.0\n    for k in range(3):\n        z = z * x",
        "print(tape.gradient(z, x))",
    )
    assert [float(line) for line in found] == [6.0, 27.0]


def test_a_training_loop_over_cells(tmp_path: Path):
    found = run(
        tmp_path,
        IMPORTS,
        "w = Variable(np.zeros(2))\ninputs = np.array([[1.0, 2.0], [3.0, 1.0]])\ntargets = np.array([5.0, 5.0])",
        "def error(w):\n    return ((inputs @ w - targets) ** 2).sum()",
        "for step in range(200):\n"
        "    with GradientTape() as tape:\n"
        "        loss = error(w.value())\n"
        "    w.assign_sub(0.05 * tape.gradient(loss, w))",
        "print(np.round(w.numpy(), 3).tolist())",
    )
    assert found == ["[1.0, 2.0]"]


def test_cells_with_magics(tmp_path: Path):
    found = run(
        tmp_path,
        IMPORTS,
        "%precision 4\ndef cube(x):\n    return x ** 3\n%time slope = tapec.grad(cube)(2.0)",
        "print(slope)",
        # IPython keeps the text of the cell, but not under the name of the code that %%time makes
        "%%time\ndef square(x):\n    return x * x\ntapec.grad(square)(2.0)",
    )
    assert "12.0" in found
    # it is read off its code, which is understood for this version of Python alone
    without_text = "raised: SourceUnavailable the source of `square` cannot be found"
    assert found[-1] == ("4.0000" if sys.version_info[:2] == (3, 11) else without_text)


def test_an_error_names_the_line_of_the_cell(tmp_path: Path):
    found = run(
        tmp_path,
        IMPORTS,
        "def broken(x):\n    y = x * x\n    return eval('y')",
        "try:\n    tapec.grad(broken)(1.0)\nexcept tapec.errors.TapecError as error:\n"
        "    print(error.span.line, error.span.text.strip())",
    )
    assert found == ["3 return eval('y')"]


def test_a_decorated_function_and_a_compiled_tape(tmp_path: Path):
    found = run(
        tmp_path,
        IMPORTS,
        "@tapec.function\ndef slope(x):\n"
        "    with GradientTape() as tape:\n        tape.watch(x)\n        y = x * x * x\n"
        "    return tape.gradient(y, x)",
        "print(slope(2.0))",
        "@tapec.value_and_grad\ndef square(x):\n    return x * x",
        "print(square(4.0))",
    )
    assert found == ["12.0", "(16.0, 8.0)"]


LOSS = "def loss(x):\n    s = 0.0\n    for v in x:\n        s += v * v\n    return s"
ANNOTATED = 'def double(x: "f8") -> float:\n    return 2.0 * x\ndef square(x: "f8"):\n    return double(x) * x'


def test_the_magic_shows_gradients_of_the_cell(tmp_path: Path):
    found = run(
        tmp_path,
        "%load_ext tapec",
        IMPORTS,
        f"%%tapec --args np.ones(3)\n{LOSS}",
        "print(loss(np.ones(2)), tapec.grad(loss)(np.ones(2)))",
        f"%%tapec\n{ANNOTATED}",
        f"%%tapec double -O1 --explain\n{ANNOTATED}",
        '%%tapec -O1\n@tapec.grad\ndef cube(x: "f8"):\n    return x * x * x',
    )
    assert [line for line in found if line.startswith("def ")] == [
        "def loss_value_and_grad(x):",
        "def double_value_and_grad(x):",
        "def square_value_and_grad(x):",
        "def cube_value_and_grad(x):",
    ]
    assert "2.0 [2. 2.]" in found
    assert "double, gradient by x" in found
    assert not any(line.startswith("raised") for line in found)


def test_the_cells_of_the_page(tmp_path: Path):
    text = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    cells = re.findall(r"```ipython\n(.*?)```", text, re.DOTALL)
    assert "def load_value_and_grad(u):" in run(tmp_path, *cells)


def test_what_the_magic_refuses(tmp_path: Path):
    found = run(
        tmp_path,
        "%load_ext tapec",
        f"%%tapec\n{LOSS}",
        f"%%tapec --sig f8[ --wrt x\n{LOSS}",
        f"%%tapec --args 'missing'\n{LOSS}",
        f"%%tapec other\n{LOSS}",
        f"%%tapec --nothing\n{LOSS}",
        f"%%tapec 'open\n{LOSS}",
        "%%tapec\nx = 1",
        "%%tapec --sig f8\ndef bad(x):\n    yield x",
        "%%tapec --sig f8\nraise ValueError('mine')",
        "%%tapec --sig f8\ndef broken(:",
    )
    raised = [line.removeprefix("raised: UsageError ") for line in found if line.startswith("raised: UsageError")]
    assert raised[0] == "%%tapec: the types of the arguments of `loss` are not known"
    assert raised[1].startswith("UsageError: cannot read the signature 'f8['")
    assert raised[2].startswith("%%tapec: cannot evaluate --args 'missing': NameError")
    assert raised[3] == "%%tapec: there is no function `other`"
    assert "No such option" in raised[4] and "No closing quotation" in raised[5]
    assert raised[6] == "%%tapec: this cell defines no function"
    assert len(raised) == 8
