"""Text from outside, such as the name of a function, puts neither code nor a line break into what is generated."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tapec
from tapec.backend.file_header import header
from tapec.build.build_target import Output, Target
from tapec.build.source_output import source_text
from tests.sampling import sampled

HOSTILE = [
    'x"""\nimport os\nos.abort()\n"""',
    "x\nimport os",
    "x\rimport os",
    "x\x0cimport os",
    "x\x85import os",
    "x\u2028import os",
    '"""+import_os()+"""',
    "x\\",
    "\ud800",
    "*/ import os",
]


def assert_plain(text: str, functions: int = 1) -> None:
    """That a text, perhaps after a docstring, is `import numba` and so many functions."""
    tree = ast.parse(text)
    text.encode()
    head = [ast.unparse(one) for one in tree.body[:-functions] if not ast.unparse(one).startswith(("'", '"'))]
    assert head in ([], ["import numba"])
    assert all(isinstance(one, ast.FunctionDef) for one in tree.body[-functions:])
    inside = [node for one in tree.body[-functions:] for line in one.body for node in ast.walk(line)]
    assert not any(isinstance(node, ast.Import | ast.Call) for node in inside)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("attribute", sampled(["__name__", "__qualname__", "__doc__", "__module__"], 5))
def test_what_a_function_says_of_itself(attribute: str, text: str) -> None:
    def f(x):
        y = x * x
        return y

    setattr(f, attribute, text)
    assert_plain(tapec.emit(f, signature="f8"))
    assert_plain(tapec.emit(f, signature="f8", mode="jvp"))
    gradient = tapec.grad(f)
    assert gradient(2.0) == 4.0
    assert_plain(gradient.source())


@pytest.mark.parametrize("text", HOSTILE)
def test_keys_and_messages(text: str) -> None:
    def f(values, x):
        if x < 0.0:
            raise ValueError(text)
        return values[text] * x

    gradient = tapec.grad(f)
    assert gradient({text: 2.0}, 3.0) == {text: 3.0}
    assert not any(isinstance(node, ast.Import) for node in ast.walk(ast.parse(gradient.source())))
    with pytest.raises(ValueError) as error:
        gradient({text: 2.0}, -3.0)
    assert error.value.args == (text,)


@pytest.mark.parametrize("text", HOSTILE)
def test_classes_of_exceptions(text: str) -> None:
    error = type("Refused", (Exception,), {"__module__": text})

    def f(x):
        if x < 0.0:
            raise error("negative")
        return x * x

    with pytest.raises(tapec.errors.UnsupportedType, match="cannot be printed"):
        tapec.emit(f, signature="f8")


@pytest.mark.parametrize("text", HOSTILE)
def test_the_header_keeps_to_its_lines(text: str) -> None:
    lines = header(f"tapec grad {text}").splitlines()
    assert len(lines) == 3 and all(line.startswith("#") for line in lines)


def test_a_file_of_several_functions(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "def f(x):\n    return x * x\nf.__qualname__ = 'x\"\"\"\\nimport os'\ndef g(x):\n    return x * x * x\n"
    )
    targets = tuple(Target(f"{tmp_path}/model.py:{name}", 0, "f8", "grad") for name in "fg")
    text = source_text(Output("source", "made", targets, root=tmp_path, command="tapec build a\nimport os"))
    assert_plain(text, 2)
