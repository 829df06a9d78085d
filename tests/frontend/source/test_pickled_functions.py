"""Functions that are pickled by value have their files again."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import tapec
from tapec.errors import SourceUnavailable
from tapec.frontend.source.pickled_functions import NOWHERE, files_of, give_back


def twice(x):
    return 2.0 * x


def lost(function):
    """The function as `cloudpickle` leaves it since 3.1.3, whichever version is here."""
    code = function.__code__
    inner = (one.replace(co_filename=NOWHERE) if hasattr(one, "co_code") else one for one in code.co_consts)
    function.__code__ = code.replace(co_filename=NOWHERE, co_consts=tuple(inner))
    return function


def test_files_of_what_a_closure_uses():
    def inner(x):
        return x * x

    def outer(x):
        return inner(x) + twice(x)

    files = files_of((outer, 3.0, "x"))
    assert [(name.rpartition(".")[2], file) for name, _, file, _ in files] == [("outer", __file__), ("inner", __file__)]
    lost(outer), lost(inner)
    give_back((outer,), files)
    assert outer.__code__.co_filename == inner.__code__.co_filename == __file__
    assert tapec.grad(outer)(3.0) == 8.0


def test_what_is_found_by_its_name_has_no_file():
    assert files_of((twice, np.sin)) == ()


def test_a_function_that_uses_itself_and_one_that_is_not_set_yet():
    def fall(x):
        return fall(x - 1.0) if x > later else x

    assert len(files_of((fall,))) == 1
    later = 1.0
    assert fall(2.5) == 0.5


def test_functions_inside_have_the_file_too():
    def outer(x):
        def inner(y):
            return y * x

        return inner(x)

    files = files_of((outer,))
    give_back((lost(outer),), files)
    assert tapec.grad(outer)(3.0) == 6.0


def test_other_files_stay():
    square = lambda x: x * x  # noqa: E731
    ((name, line, _, _),) = files_of((square,))
    give_back((square,), ((name, line, "elsewhere.py", ""),))
    assert square.__code__.co_filename == __file__


@pytest.mark.slow
@pytest.mark.parametrize("other", ["", "# another cell of this name\n"])
def test_a_notebooks_text_is_pickled_along(tmp_path: Path, other: str):
    cell = """
    import numba
    scale = 3.0
    @numba.njit
    def scaled(x):
        return scale * x
    def cube(x):
        return scaled(x) ** 3
    """
    made = f"""
    import cloudpickle, linecache, tapec
    text, file = {textwrap.dedent(cell)!r}, "<cell 1>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), globals())
    open("made", "wb").write(cloudpickle.dumps(tapec.grad(cube)))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(made)], cwd=tmp_path, check=True)
    read = f"""
    import linecache, pickle
    linecache.cache["<cell 1>"] = 9, None, [{other!r}], "<cell 1>"
    print(pickle.load(open("made", "rb"))(2.0))
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(read)], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert float(found.stdout) == 324.0


def test_a_lost_function_is_found_in_its_modules_file():
    shift = 1.0

    def outer(x):
        inner = lambda y: y * x + shift  # noqa: E731
        return inner(x)

    assert tapec.grad(lost(outer))(3.0) == 6.0
    assert outer.__code__.co_filename == __file__


def test_a_lost_block_is_found_in_its_modules_file():
    def slope(x):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x * x)
        return tape.gradient(y, x)

    assert np.array_equal(lost(slope)(np.ones(2)), [2.0, 2.0])


@pytest.mark.parametrize("text", [None, "def square(x):\n    return x * 2\n", "def square(x:\n"])
def test_a_lost_function_whose_file_is_gone_or_another_one_is_an_error_that_says_what_to_do(text, tmp_path: Path):
    file = tmp_path / "program.py"
    space = {"__file__": str(file)}
    exec(compile("def square(x):\n    return x * x\n", NOWHERE, "exec", dont_inherit=True), space)
    if text is not None:
        file.write_text(text)
    with pytest.raises(SourceUnavailable, match="pickle what was made of the function"):
        tapec.grad(space["square"])(1.0)
    file.write_text("def square(x):\n    return x * x\n")
    assert tapec.grad(space["square"])(1.0) == 2.0


def test_derivatives_and_compiled_functions_of_closures():
    scale = 3.0

    def scaled(x):
        return scale * twice(x)

    made = tapec.grad(lambda x: scaled(x) * x), tapec.function(lambda x: scaled(x) * x)
    gradient, function = cloudpickle.loads(cloudpickle.dumps(made))
    assert gradient(2.0) == 24.0
    assert function(2.0) == 24.0


@pytest.mark.slow
def test_a_program_pickles_what_it_defines(tmp_path: Path):
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
        import pickle, sys
        import cloudpickle
        import tapec

        shift = lambda x: x + 1.0

        def square(x):
            return shift(x) ** 2

        if __name__ == "__main__":
            pickle.dumps(tapec.grad(square))
            sys.stdout.buffer.write(cloudpickle.dumps(tapec.grad(square)))
        """)
    )
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, check=True)
    assert pickle.loads(done.stdout)(2.0) == 6.0


@pytest.mark.slow
def test_what_a_program_decorates_is_pickled(tmp_path: Path):
    program = tmp_path / "program.py"
    text = """
        import pickle, sys
        import cloudpickle
        import tapec

        def doubled(x):
            return 2.0 * x

        @tapec.grad
        def square(x):
            return doubled(x) * x

        assert pickle.loads(pickle.dumps(square))(2.0) == 8.0
        sys.stdout.buffer.write({}.dumps(square))
    """
    for module in ("pickle", "cloudpickle"):
        program.write_text(textwrap.dedent(text.format(module)))
        done = subprocess.run([sys.executable, str(program)], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert pickle.loads(done.stdout)(2.0) == 8.0
