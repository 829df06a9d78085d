"""`tapec grad`, `jvp`, `hvp` and `show`: what they print, write and compare."""

import ast
import re
import subprocess
import sys

import numpy as np
import pytest

import tapec
from tapec.errors import UsageError
from tapec.version import __version__
from tapec_runtime.index_sets import elements, room_for_sets
from tests.cli.running import refused, run, succeeds
from tests.sampling import sampled


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
        assert out.read_text() == succeeds("grad", f"{model}:loss", "--wrt", "x,a")

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
        assert 'return eval("x")' in message

    def test_traceback_on_request(self, model):
        result = run("grad", f"{model}:bare", "--traceback")
        assert isinstance(result.exception, UsageError)


@pytest.mark.parametrize("level", sampled(["-O2", "-O0", "-O1"], 3))
@pytest.mark.parametrize(
    "command", ["grad", "jvp", "hvp", "vjp", "gnvp", "hessian-diag", "jacobian", "jacrev", "hessian"]
)
def test_each_derivative_is_that_of_the_library(model, command, level):
    (made,) = gradient_of(succeeds(command, "cli_model.py:loss", "--wrt", "x", level)).values()
    from tapec.loading import load

    loss, x, v = load("cli_model.py:loss"), np.array([1.0, -2.0]), np.array([0.5, 0.25])
    if command == "grad":
        value, gradient = made(x, 3.0)
        assert value == loss(x, 3.0)
        np.testing.assert_allclose(gradient, tapec.grad(loss)(x, 3.0))
    elif command == "jvp":
        np.testing.assert_allclose(made(x, 3.0, v), tapec.jvp(loss, (x, 3.0), (v, None)))
    elif command == "vjp":
        value, adjoint = made(x, 3.0, 2.0)
        np.testing.assert_allclose(adjoint, 2.0 * tapec.grad(loss)(x, 3.0))
    else:
        same = getattr(tapec, command.replace("-", "_"))(loss)
        given = (x, 3.0, v) if command in ("hvp", "gnvp") else (x, 3.0)
        np.testing.assert_allclose(made(*given), same(*given))


def test_taylor_coefficients_are_those_of_the_library(model):
    text = succeeds("taylor", "cli_model.py:loss", "--wrt", "x", "--order", "3", "-O1")
    assert "--order 3" in text
    (made,) = gradient_of(text).values()
    from tapec.loading import load

    loss, x, v = load("cli_model.py:loss"), np.array([1.0, -2.0]), np.array([0.5, 0.25])
    np.testing.assert_allclose(made(x, 3.0, v), tapec.taylor(loss, (x, 3.0), (v, None), 3))


def test_a_linear_map_is_its_tangents_and_the_two_halves_of_its_transpose(model):
    text = succeeds("linearize", "cli_model.py:loss", "--wrt", "x", "-O1")
    assert text.split("\n", 1)[1] == succeeds(*text.splitlines()[1].split()[2:]).split("\n", 1)[1]
    jvp, augmented, pullback = gradient_of(text).values()
    from tapec.loading import load

    x, v = np.array([1.0, -2.0]), np.array([0.5, 0.25])
    value, linear = tapec.linearize(load("cli_model.py:loss"), x, 3.0)
    np.testing.assert_allclose(jvp(x, 3.0, v), (value, linear(v, None)))
    found, *residuals = augmented(x, 3.0)
    assert found == value
    np.testing.assert_allclose(pullback(*residuals, 2.0), linear.T(2.0)[:1])


def test_a_batch_is_a_loop_over_its_examples(model):
    text = succeeds("vmap", "cli_model.py:loss", "--in-axes", "1, None", "--sig", "f8[:, ::1], f8", "-O1")
    (made,) = gradient_of(text).values()
    from tapec.loading import load

    loss, x = load("cli_model.py:loss"), np.array([[1.0, 2.0], [-2.0, 0.5]])
    np.testing.assert_allclose(made(x, 3.0), [loss(x[:, 0], 3.0), loss(x[:, 1], 3.0)])
    assert "write numbers or None" in refused("vmap", "cli_model.py:loss", "--in-axes", "x")
    assert "write a tuple of 2 items" in refused("vmap", "cli_model.py:loss", "--in-axes", "0, 0, 1")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["sparse-jacobian", "sparse-hessian"])
def test_sparse_derivatives_are_two_programs(model, command):
    find, columns = gradient_of(succeeds(command, "cli_model.py:loss", "--wrt", "x", "-O1")).values()
    from tapec.loading import load

    loss, x = load("cli_model.py:loss"), np.array([1.0, -2.0])
    sets = room_for_sets(2, 8)
    found, trace = find(x, 3.0, sets)
    # one strip has both columns: eight lanes for each row
    products, count = np.zeros((2, found.size)), 2 * found.size
    places = np.array([row * 8 + column for column in range(2) for row in range(found.size)])
    strips = np.array([0, count]), places, np.arange(count)
    assert columns(x, 3.0, np.arange(2), *strips, products.reshape(-1), np.array([trace])) == trace
    dense = tapec.jacobian if command == "sparse-jacobian" else tapec.hessian
    np.testing.assert_allclose(products.T, np.atleast_2d(dense(loss)(x, 3.0)))
    starts, elements_ = elements(sets, found)
    assert set(zip(np.repeat(np.arange(found.size), np.diff(starts)), elements_, strict=True)) >= set(
        zip(*np.nonzero(products.T), strict=True)
    )
    assert tapec.emit(loss, 0, "f8[:], f8", mode=command.replace("-", "_")).count("\ndef ") == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["sparse-jacobian", "sparse-hessian"])
def test_a_pattern_at_given_arguments_is_printed_with_what_computes_its_values(model, command, monkeypatch):
    from tapec.loading import load

    text = succeeds(command, "cli_model.py:loss", "--args", "np.ones(3), 2.0", "-O1")
    space: dict = {"__name__": "emitted"}
    exec(compile(text, "emitted.py", "exec"), space)
    made = space[f"loss_{command.replace('-', '_')}"]
    loss, x = load("cli_model.py:loss"), np.array([1.0, -2.0, 0.5])
    dense = (tapec.jacobian if command == "sparse-jacobian" else tapec.hessian)(loss)(x, 3.0)
    found = np.zeros(space["SHAPE"])
    found[np.repeat(np.arange(found.shape[0]), np.diff(space["STARTS"])), space["COLUMNS"]] = made(x, 3.0)
    np.testing.assert_allclose(found, np.atleast_2d(dense))
    with pytest.raises(ValueError, match="arrays of other shapes"):
        made(x[:2], 3.0)
    monkeypatch.setattr("tapec.sparse_source._LARGEST", 2)
    assert "too many to print" in refused(command, "cli_model.py:loss", "--args", "np.ones(3), 2.0")


def test_a_fixed_pattern_is_one_of_numbers_and_arrays(model):
    (model.parent / "items.py").write_text("def loss(x):\n    return x[0] * x[1]\n")
    assert "pass numbers and arrays" in refused("sparse-jacobian", "items.py:loss", "--args", "(1.0, 2.0)")


def test_a_mode_that_does_not_exist():
    with pytest.raises(UsageError, match="mode must be one of 'grad', 'jvp', 'vjp', 'hvp'"):
        tapec.emit(lambda x: x, signature="f8", mode="pullback")


class TestHeader:
    def test_says_command_versions_and_what_it_was_made_of(self, model):
        text = succeeds("grad", str(model) + ":loss", "--wrt", "x,a", "--sig", "f8[:], f8", "-O2", "--math", "libm")
        first, second, third, *_ = text.splitlines()
        assert first == (
            f"# Generated by tapec {__version__}, for numba>=0.61 and numpy>=1.26.  To make it again:"
        )
        assert second == "#     tapec grad cli_model.py:loss --wrt x,a --sig 'f8[:], f8' -O2 --math libm"
        assert re.fullmatch("# SHA-256 of the source of loss: [0-9a-f]{64}", third)

    def test_the_command_makes_the_same_file(self, model):
        import shlex

        text = succeeds("hvp", "cli_model.py:loss", "--wrt", "x", "-O0")
        _, *command = shlex.split(text.splitlines()[1].removeprefix("#"))
        assert succeeds(*command) == text

    def test_the_digest_is_of_the_source_of_what_is_called_too(self, model):
        def digest() -> str:
            import sys

            sys.modules.pop("caller", None)
            return succeeds("grad", "caller.py:f", "--sig", "f8").splitlines()[2]

        caller = model.parent / "caller.py"
        text = "def g(x):\n    return x * x\n\n\ndef f(x):\n    return g(x) + x\n"
        caller.write_text(text)
        first = digest()
        assert "of the source of f, g: " in first
        caller.write_bytes(f"UNUSED = 1\n{text}".replace("\n", "\r\n").encode())
        assert digest() == first
        caller.write_text(text.replace("x * x", "x * x * x"))
        assert digest() != first


class TestCheck:
    COMMAND = ("grad", "cli_model.py:loss", "--wrt", "x", "-o", "out.py")

    def test_a_file_that_is_up_to_date(self, model):
        succeeds(*self.COMMAND)
        assert succeeds(*self.COMMAND, "--check") == ""

    def test_a_file_made_by_another_version_in_another_folder(self, model):
        succeeds(*self.COMMAND)
        out = model.parent / "out.py"
        text = out.read_text().replace(f"# Generated by tapec {__version__}", "# Generated by tapec 0.0.9")
        out.write_text(text.replace("tapec grad cli_model.py", "tapec grad models/cli_model.py"))
        assert succeeds(*self.COMMAND, "--check") == ""

    def test_a_function_that_has_changed(self, model):
        import sys

        succeeds(*self.COMMAND)
        model.write_text(model.read_text().replace("x[i] ** 2", "x[i] ** 3"))
        sys.modules.pop("cli_model", None)
        before = (model.parent / "out.py").read_bytes()
        result = run(*self.COMMAND, "--check")
        assert result.exit_code == 1
        assert result.stderr == "out.py is out of date\n"
        assert "-# SHA-256" in result.stdout
        assert "+# SHA-256" in result.stdout
        assert (model.parent / "out.py").read_bytes() == before

    def test_a_file_that_does_not_exist(self, model):
        assert "cannot read out.py" in refused(*self.COMMAND, "--check")

    def test_no_file(self, model):
        assert "name it by -o" in refused("grad", "cli_model.py:loss", "--check")


class TestShow:
    @pytest.mark.parametrize("stage", ["core", "typed", "adjoint", "optimised"])
    def test_every_stage_is_python(self, model, stage):
        result = run("show", f"{model}:loss", "--stage", stage, "--wrt", "x")
        assert result.exit_code == 0, result.output
        compile(result.stdout, stage, "exec")

    def test_an_unknown_stage(self, model):
        assert "'core', 'typed', 'adjoint', 'optimised'" in refused("show", f"{model}:loss", "--stage", "raw")


@pytest.mark.slow
def test_what_the_module_prints_goes_to_stderr(tmp_path):
    (tmp_path / "loud.py").write_text(
        "import os\nprint('printed')\nos.write(1, b'written\\n')\nos.system('echo started')\n"
        "def f(x):\n    return x * x\n"
    )
    command = [sys.executable, "-m", "tapec", "grad", "loud.py:f", "--sig", "f8"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {"printed", "written", "started"} <= set(done.stderr.split())
    assert not {"printed", "written", "started"} & set(done.stdout.split())
    assert ast.parse(done.stdout)
