"""The command line: what it accepts, what it prints, and its messages for wrong input."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from numba import types

from tapec.cli import WrongInput, load, main, sources
from tapec.errors import UsageError
from tapec.signatures import from_annotations, parse

ROOT = Path(__file__).resolve().parent.parent

MODEL = """
import numpy as np
from helper import scale


def loss(x: "f8[:]", a: float):
    total = 0.0
    for i in range(x.shape[0]):
        total += scale * a * x[i] ** 2
    return total


def bare(x, a):
    return x * a


def wrong(x: "f8[:]"):
    yield x


constant = 3.0
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A module in the working folder, with a helper beside it."""
    (tmp_path / "cli_model.py").write_text(MODEL)
    (tmp_path / "helper.py").write_text("scale = 0.5\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path / "cli_model.py"
    for name in ("cli_model", "cli_model_", "helper"):
        sys.modules.pop(name, None)


def run(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


def refused(*arguments: str) -> str:
    """The message of a command that must fail on wrong input, on stderr alone and without a traceback."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def gradient_of(source: str):
    """The functions that an emitted module defines."""
    space: dict = {"__name__": "emitted"}
    exec(compile(source, "emitted.py", "exec"), space)
    return {name: value for name, value in space.items() if callable(value) and "loss" in name}


class TestGrad:
    def test_prints_a_module_that_compiles(self, model):
        result = run("grad", f"{model}:loss", "--wrt", "x")
        assert result.exit_code == 0, result.output
        assert gradient_of(result.stdout)

    def test_a_module_name_is_found_in_the_working_folder(self, model):
        by_name = run("grad", "cli_model:loss", "--wrt", "x", "--sig", "f8[::1], f8")
        by_file = run("grad", "cli_model.py:loss", "--wrt", "0", "--sig", "f8[::1], f8")
        assert by_name.exit_code == 0, by_name.output
        assert gradient_of(by_name.stdout).keys() == gradient_of(by_file.stdout).keys()

    def test_writes_a_file_and_then_prints_nothing(self, model):
        out = model.parent / "out.py"
        result = run("grad", f"{model}:loss", "--wrt", "x,a", "-o", str(out))
        assert (result.exit_code, result.output) == (0, "")
        assert out.read_text() == run("grad", f"{model}:loss", "--wrt", "x,a").stdout

    def test_the_gradient_alone_differs_from_value_and_gradient(self, model):
        both = run("grad", f"{model}:loss", "--value")
        alone = run("grad", f"{model}:loss", "--gradient-only")
        assert alone.exit_code == 0, alone.output
        assert both.stdout == run("grad", f"{model}:loss").stdout != alone.stdout

    def test_output_in_a_folder_that_does_not_exist(self, model):
        message = refused("grad", f"{model}:loss", "-o", str(model.parent / "no" / "out.py"))
        assert "cannot write" in message

    def test_an_error_of_the_compiler_points_at_the_line(self, model):
        message = refused("grad", f"{model}:wrong")
        assert "cli_model.py:" in message
        assert "yield x" in message

    def test_traceback_on_request(self, model):
        result = run("grad", f"{model}:bare", "--traceback")
        assert isinstance(result.exception, UsageError)


class TestShow:
    @pytest.mark.parametrize("stage", ["core", "typed", "adjoint", "optimised"])
    def test_every_stage_is_python(self, model, stage):
        result = run("show", f"{model}:loss", "--stage", stage, "--wrt", "x")
        assert result.exit_code == 0, result.output
        compile(result.stdout, stage, "exec")

    def test_an_unknown_stage(self, model):
        assert "'core', 'typed', 'adjoint', 'optimised'" in refused("show", f"{model}:loss", "--stage", "raw")


class TestTarget:
    @pytest.mark.parametrize(
        "target, message",
        [
            ("cli_model.py", "names no function: write FILE.py:FUNCTION"),
            ("cli_model.py:", "names no function"),
            ("missing.py:loss", "no such file: missing.py"),
            ("missing_module:loss", "cannot import missing_module: ModuleNotFoundError"),
            ("no-module:loss", "neither a .py file nor the name of a module"),
            ("cli_model.py:los", "cli_model.py has no 'los'; did you mean 'loss'?"),
            ("cli_model.py:constant", "'float', not a function"),
        ],
    )
    def test_a_wrong_target(self, model, target, message):
        assert message in refused("grad", target)

    @pytest.mark.parametrize(
        "text, message",
        [("def f(:", "SyntaxError"), ("1 / 0", "ZeroDivisionError"), ("raise SystemExit(3)", "SystemExit: 3")],
    )
    def test_a_module_that_does_not_run(self, model, text, message):
        (model.parent / "broken.py").write_text(text)
        assert message in refused("grad", "broken.py:f")

    def test_a_file_named_like_a_module_in_use_leaves_it_alone(self, model):
        import json

        (model.parent / "json.py").write_text("def f(x: float):\n    return x\n")
        assert load("json.py:f").__module__ == "json_"
        assert sys.modules.pop("json_") is not json is sys.modules["json"]

    def test_a_file_inside_a_package_may_import_relatively(self, model):
        package = model.parent / "cli_package"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "a.py").write_text("from .b import f\n")
        (package / "b.py").write_text("class C:\n    @staticmethod\n    def f(x): return x\nf = C.f\n")
        assert load("cli_package/a.py:f") is load("cli_package.b:C.f")


class TestSources:
    def test_names_and_positions(self):
        assert [sources("x"), sources("1"), sources("x, 2")] == ["x", 1, ("x", 2)]

    def test_an_empty_name(self):
        with pytest.raises(WrongInput, match="empty name"):
            sources("x,,y")


class TestSignature:
    @pytest.mark.parametrize(
        "text, wanted",
        [
            ("", ()),
            ("f8", (types.float64,)),
            ("f8[:], i8", (types.float64[:], types.int64)),
            ("float64[::1]", (types.float64[::1],)),
            ("f4[:, ::1]", (types.float32[:, ::1],)),
            ("f8[::1, :]", (types.float64[::1, :],)),
            ("f8(f8[:,:], boolean)", (types.float64[:, :], types.boolean)),
            ("UniTuple(f8, 2), Tuple((f8, i4))", (types.UniTuple(types.float64, 2), types.Tuple((types.f8, types.i4)))),
            ("numba.types.f8, types.Array(f8, 1, 'A', readonly=True)", (types.f8, types.Array(types.f8, 1, "A", True))),
            ("float, int, bool, None", (types.float64, types.intp, types.boolean, types.none)),
        ],
    )
    def test_numba_notation(self, text, wanted):
        assert parse(text) == wanted

    @pytest.mark.parametrize(
        "text, message",
        [
            ("f8[:", "was never closed"),
            ("f9", "unknown type 'f9'"),
            ("f8[0]", "'0' is no dimension"),
            ("f8[:][:]", "does not subscript a scalar type"),
            ("f8 + f8", "is not part of a signature"),
            ("3", "3 is no type"),
            ("Array(f8)", "missing 2 required positional"),
            ("__import__('os')", "unknown type '__import__'"),
            ("().__class__", "is not part of a signature"),
        ],
    )
    def test_what_is_no_signature(self, model, text, message):
        assert message in refused("grad", f"{model}:bare", "--sig", text)

    def test_annotations(self):
        import numpy as np

        matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]

        def f(a: float, b: "f8[:]", c: np.float32, d: matrix, e: types.int64, g: tuple[float, bool], h=None):  # noqa: F821
            ...

        wanted = (
            types.float64,
            types.float64[:],
            types.float32,
            types.float32[:, :],
            types.int64,
            types.Tuple((types.float64, types.boolean)),
        )
        assert from_annotations(f) == wanted

    def test_a_parameter_without_annotation(self, model):
        message = refused("grad", f"{model}:bare")
        assert "the type of 'x' of bare is not known: it has no annotation" in message
        assert "--sig" in message

    def test_an_annotation_without_rank(self):
        import numpy as np

        def f(x: np.typing.NDArray[np.float64]): ...

        with pytest.raises(UsageError, match="leaves its type open"):
            from_annotations(f)


class TestProcess:
    def command(self, *arguments: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
        command = [sys.executable, "-m", "tapec", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    def test_help_loads_no_compiler(self):
        code = "import sys, tapec.cli; print(sorted({'numba', 'scipy', 'rich'} & set(sys.modules)))"
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert (done.stdout, done.stderr) == ("[]\n", "")

    def test_help_names_the_commands(self):
        start = time.perf_counter()
        done = self.command("--help")
        assert done.returncode == 0
        assert "grad" in done.stdout
        assert "show" in done.stdout
        assert time.perf_counter() - start < 5.0

    def test_a_pipe_gets_plain_text(self, model):
        done = self.command("grad", f"{model}:loss")
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout
