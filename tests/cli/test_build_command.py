"""`tapec build`: the command line and pyproject.toml ask for the same; messages for wrong input."""

import sys

import pytest

from tests.cli.running import refused, run, succeeds

PYPROJECT = """
[[tool.tapec.build]]
kind = "source"
name = "package.generated"
targets = [{ function = "cli_model:loss", wrt = "x" }, { function = "cli_model.py:loss", mode = "hvp" }]
"""


@pytest.fixture
def project(model):
    (model.parent / "pyproject.toml").write_text(PYPROJECT)
    yield model.parent
    for name in [name for name in sys.modules if name.partition(".")[0] == "package"]:
        del sys.modules[name]


def test_a_target(model):
    printed = succeeds("build", "cli_model.py:loss", "--kind", "source", "--wrt", "x", "-O0", "-o", "made")
    assert printed == "made/loss_value_and_grad.py\n"
    text = (model.parent / "made" / "loss_value_and_grad.py").read_text()
    assert "def loss_value_and_grad(x, a):" in text


def test_names(model):
    options = ("--kind", "source", "--name", "a.b.grads", "--as", "slope", "--mode", "grad", "--sig", "f8[::1], f8")
    assert succeeds("build", "cli_model:loss", *options) == "a/b/grads.py\n"
    assert "def slope(x, a):" in (model.parent / "a/b/grads.py").read_text()


def test_a_project(project):
    assert succeeds("build") == "package/generated.py\n"
    text = (project / "package/generated.py").read_text()
    assert "def loss_value_and_grad(x, a):" in text and "def loss_hvp(x, a, x_dot):" in text
    assert succeeds("build", "--project", str(project), "-o", "other") == "other/package/generated.py\n"
    assert (project / "other/package/generated.py").read_text() == text


def test_source_says_where_it_comes_from(project):
    succeeds("build")
    text = (project / "package/generated.py").read_text()
    assert "To make it again:\n#     tapec build\n# SHA-256 of the source of loss: " in text
    succeeds("build", "cli_model.py:loss", "--kind", "source", "--wrt", "x", "-O1", "--as", "slope")
    again = "#     tapec build cli_model.py:loss --kind source --wrt x --as slope -O1\n"
    assert again in (project / "loss_value_and_grad.py").read_text()


def test_check(project):
    succeeds("build")
    assert succeeds("build", "--check") == ""
    model = project / "cli_model.py"
    model.write_text(model.read_text().replace("x[i] ** 2", "x[i] ** 3"))
    sys.modules.pop("cli_model", None)
    result = run("build", "--check")
    assert result.exit_code == 1
    assert "package/generated.py is out of date" in result.stderr
    assert "-        # total += scale * a * x[i] ** 2\n" in result.stdout
    (project / "package/generated.py").unlink()
    assert "cannot read package/generated.py" in refused("build", "--check")
    options = ("cli_model.py:loss", "--kind", "extension", "--check")
    assert 'nothing of kind "source" is built' in refused("build", *options)


def test_a_project_with_a_source_folder(project):
    (project / "src").mkdir()
    assert succeeds("build") == "src/package/generated.py\n"


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "cannot read pyproject.toml: No such file"),
        (("--cpu", "native"), "options that describe a target need a TARGET"),
        (("cli_model.py:loss",), "say what to make of cli_model.py:loss: --kind source, library or extension"),
        (("cli_model.py:loss", "--kind", "source", "--project", "."), "leave out either it or TARGET"),
        (("cli_model.py:los", "--kind", "source"), "cli_model.py has no 'los'; did you mean 'loss'?"),
        (("cli_model.py:loss", "--kind", "source", "--mode", "grat"), "hint: did you mean 'grad'?"),
        (("cli_model.py:loss", "--kind", "source", "--name", "a-b"), "'a-b' is not the name of a module"),
        (("cli_model.py:loss", "--kind", "source", "--as", "a b"), "'a b' is not the name of a function"),
        (("cli_model.py:loss", "--kind", "source", "--cpu", "native"), "source is compiled where it runs"),
        (("cli_model.py:loss", "--kind", "source", "--contiguous"), "kind 'source' takes arrays of any strides"),
        (("cli_model.py:loss", "--kind", "source", "--wrt", "y"), "`loss` has no parameter `y`"),
        (("cli_model.py:wrong", "--kind", "source"), "eval"),
        (("cli_model.py:bare", "--kind", "source"), "the type of 'x' of bare is not known"),
        (("cli_model.py:loss", "--kind", "sauce"), "'sauce' is not one of"),
    ],
)
def test_wrong_input(model, arguments, message):
    assert message in refused("build", *arguments)


def test_nothing_to_build(project):
    (project / "pyproject.toml").write_text("")
    assert "pyproject.toml has no [[tool.tapec.build]]" in refused("build")


def test_a_folder_that_cannot_be_written(project):
    (project / "taken").write_text("")
    result = run("build", "-o", "taken/inside")
    assert result.exit_code == 2
    assert "cannot write" in result.stderr
