"""Kind "extension": one module of many functions, built once, and called as Python callers do."""

from __future__ import annotations

import gc
import importlib.util
import inspect
import itertools
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numba
import numpy as np
import pytest

from tapec.backend import jit
from tapec.build.build_target import Output, Target, derive
from tapec.build.outputs_to_folder import build
from tapec.errors import TapecError, UnsupportedType, UsageError
from tapec.options import Options
from tests.build import extension_model

HERE = Path(__file__).parent
TARGETS = (
    Target("extension_model.py:weighted", ("x", "w")),
    Target("extension_model.py:weighted", "x", mode="hvp"),
    Target("extension_model.py:weighted", "x", mode="jvp"),
    Target("extension_model.py:powers"),
    # the names of functions in C's library
    Target("extension_model.py:powers", mode="primal", name="pow"),
    Target("extension_model.py:halve", mode="grad", name="free"),
    Target("extension_model.py:moments", mode="primal"),
    Target("extension_model.py:rows", mode="jacobian"),
    Target("extension_model.py:rows", mode="primal"),
    Target("extension_model.py:columns", ("a", "y")),
    Target("extension_model.py:blend", ("x", "y")),
    Target("extension_model.py:fixed", signature="f8[:]"),
    Target("extension_model.py:several", (0, 1), "f8, f8, f8"),
    Target("extension_model.py:wait", "x"),
    Target("extension_model.py:watch", mode="primal"),
    Target("extension_model.py:steps", "x"),
    Target("extension_model.py:steps", "x", mode="grad", options=Options(boundscheck=True, strict=True)),
    Target("extension_model.py:total", 0, "f8[::1], i8"),
    Target("extension_model.py:total", 0, "f8[:], i8"),
    Target("extension_model.py:total", 0, "f4[:], f8"),
    Target("extension_model.py:total", 0, "f8, i8"),
)
OUTPUT = Output("extension", "nested.package._built", TARGETS, root=HERE)


def ready() -> str:
    """Why nothing can be built here; empty if it can."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        return "no C compiler"
    return "" if Path(sysconfig.get_path("include"), "Python.h").is_file() else "no headers of Python"


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(ready()), reason=ready()),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return build((OUTPUT,), tmp_path_factory.mktemp("extension"))


@pytest.fixture(scope="module")
def built(files):
    spec = importlib.util.spec_from_file_location(OUTPUT.name, files[0])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(name: str, *args):
    """What the generated Python gives, without machine code."""
    names = [target.name or f"{target.function.partition(':')[2]}_{target.mode}" for target in TARGETS]
    (derived,) = derive([TARGETS[names.index(name)]], HERE)
    program = derived.program
    # Numba takes no empty list from Python, such as recursive functions are handed
    with mock.patch.object(numba.config, "DISABLE_JIT", True):
        return jit.load(program)(*args)


def same(found, wanted):
    if isinstance(wanted, tuple):
        assert type(found).__name__ == type(wanted).__name__ and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, np.ndarray):
        assert type(found) is np.ndarray and found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    else:
        assert type(found) is float
        assert found == pytest.approx(float(wanted), rel=1e-13)


X = np.array([0.5, -1.5, 2.0, 0.25])
A = np.arange(12.0).reshape(3, 4) - 5.0


def test_files(files):
    module, stub = files
    assert module.parts[-3:] == ("nested", "package", "_built.abi3.so")
    assert stub == module.with_name("_built.pyi")


@pytest.mark.parametrize(
    "name, args",
    [
        ("weighted_value_and_grad", (X, (1.5, 2.5), 3.0)),
        ("weighted_value_and_grad", (X[::-2], (1.5, 2.5), 3.0)),
        ("weighted_value_and_grad", (np.empty(0), (1.5, 2.5), 3.0)),
        ("weighted_hvp", (X, (1.5, 2.5), 3.0, X[::-1])),
        ("weighted_jvp", (X, (1.5, 2.5), 3.0, X + 1)),
        ("powers_value_and_grad", (X, 4, False, 0.25, 2)),
        ("moments_primal", (X,)),
        ("rows_jacobian", (A, np.array([True, False, True, True]), np.array([1, 2, 3, 4]))),
        ("rows_jacobian", (A.T[1:, ::2], np.array([True, False]), np.array([1, 2, 3])[::2])),
        ("rows_primal", (A, np.array([True, False, True, True]), np.array([1, 2, 3, 4]))),
        ("rows_primal", (A[:0], np.array([True, False, True, True]), np.array([1, 2, 3, 4]))),
        ("columns_value_and_grad", (np.asfortranarray(A), X.astype(np.float32))),
        ("fixed_value_and_grad", (X,)),
        ("several_value_and_grad", (1.5, 2.5, 3.5)),
        ("wait_value_and_grad", (10, 0.3)),
        ("steps_value_and_grad", (3, 1.5)),
        ("steps_grad", (3, 1.5)),
    ],
)
def test_results(built, name, args):
    same(getattr(built, name)(*args), expected(name, *args))


def test_defaults_and_keywords(built):
    full = built.powers_value_and_grad(X, 3, True, 0.5, 1)
    same(built.powers_value_and_grad(X), full)
    same(built.powers_value_and_grad(shift=1, x=X, n=3), full)
    same(built.pow(X, shift=3, scale=0.25), expected("pow", X, 3, True, 0.25, 3))


def test_gradients_have_the_order_of_their_source(built):
    _, (by_a, by_y) = built.columns_value_and_grad(np.asfortranarray(A), np.ones(2, np.float32))
    assert by_a.flags.f_contiguous and not by_a.flags.c_contiguous
    assert by_y.dtype == np.float32


def test_arrays_are_written_as_by_the_function(built):
    x = X.copy()
    gradient = built.free(x)
    np.testing.assert_array_equal(x, X / 2)
    np.testing.assert_allclose(gradient, X / 2)


def test_what_converts(built):
    wanted = built.weighted_value_and_grad(X, (1.0, 2.0), 3.0)
    for w in ([1.0, 2.0], (1, 2), (np.float32(1), np.int8(2)), (True, np.float64(2))):
        same(built.weighted_value_and_grad(X, w, 3), wanted)
    same(built.weighted_value_and_grad(array("d", X), (1.0, 2.0), 3.0), wanted)
    same(built.weighted_value_and_grad(memoryview(X), (1.0, 2.0), 3.0), wanted)
    same(built.pow(X, np.int64(2), np.bool_(True)), built.pow(X, 2, True))


def misaligned() -> np.ndarray:
    return np.zeros(41, np.uint8)[1:].view(np.float64)


def read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


PAIR = (1.0, 2.0)
WRONG = [
    ("weighted_value_and_grad", (), {}, TypeError, "missing required argument: 'x'"),
    ("weighted_value_and_grad", (X,), {}, TypeError, "missing required argument: 'w'"),
    ("weighted_value_and_grad", (X, PAIR, 1.0, 2.0), {}, TypeError, "takes 3 positional arguments but 4 were given"),
    ("weighted_value_and_grad", (X, PAIR), {"y": 1}, TypeError, "got an unexpected keyword argument 'y'"),
    ("weighted_value_and_grad", (X, PAIR), {"x": 1}, TypeError, "got multiple values for argument 'x'"),
    ("weighted_value_and_grad", ([1.0], PAIR), {}, TypeError, "`x` must be an array, not list"),
    ("weighted_value_and_grad", (None, PAIR), {}, TypeError, "`x` must be an array, not NoneType"),
    ("weighted_value_and_grad", (1.0, PAIR), {}, TypeError, "`x` must be an array, not float"),
    ("weighted_value_and_grad", (A, PAIR), {}, TypeError, "`x` must have 1 axis, not 2"),
    ("weighted_value_and_grad", (X.astype("f4"), PAIR), {}, TypeError, "must be an array of float64, not of float32"),
    ("weighted_value_and_grad", (X.astype("i8"), PAIR), {}, TypeError, "`x` must be an array of float64, not of int64"),
    ("weighted_value_and_grad", (X > 0, PAIR), {}, TypeError, "`x` must be an array of float64, not of bool"),
    ("weighted_value_and_grad", (X + 0j, PAIR), {}, TypeError, "must be an array of float64, not of other elements"),
    ("weighted_value_and_grad", (X.astype("M8[s]"), PAIR), {}, TypeError, "must be an array of float64, not of other"),
    ("weighted_value_and_grad", (X.astype(object), PAIR), {}, TypeError, "must be an array of float64, not of other"),
    ("weighted_value_and_grad", (X.astype(">f8"), PAIR), {}, ValueError, "has the byte order of other machines"),
    ("weighted_value_and_grad", (np.ma.array(X), PAIR), {}, TypeError, "`x` must not be a masked array"),
    ("weighted_value_and_grad", (misaligned(), PAIR), {}, ValueError, "`x` is misaligned; pass a copy"),
    ("weighted_value_and_grad", (X, 3.0), {}, TypeError, "`w` must be a tuple, not float"),
    ("weighted_value_and_grad", (X, np.ones(2)), {}, TypeError, "`w` must be a tuple, not ndarray"),
    ("weighted_value_and_grad", (X, (1.0,)), {}, TypeError, "`w` must have 2 items, not 1"),
    ("weighted_value_and_grad", (X, (1.0, "a")), {}, TypeError, "`w[1]` must be a number, not str"),
    ("weighted_value_and_grad", (X, (1.0, 1j)), {}, TypeError, "`w[1]` must be a number, not complex"),
    ("weighted_value_and_grad", (X, (1.0, np.ones(1))), {}, TypeError, "`w[1]` must be a number, not ndarray"),
    ("weighted_value_and_grad", (X, (1.0, np.complex128(1))), {}, TypeError, "must be a number, not complex128"),
    ("weighted_value_and_grad", (X, (1.0, 10**400)), {}, OverflowError, "too large"),
    ("weighted_hvp", (X, PAIR, 1.0, X[1:]), {}, ValueError, "`v` must have the shape of `x`"),
    ("weighted_jvp", (X, PAIR, 1.0, X[1:]), {}, ValueError, "`x_dot` must have the shape of `x`"),
    ("powers_value_and_grad", (X, 2.0), {}, TypeError, "`n` must be an integer, not float"),
    ("powers_value_and_grad", (X, 2**31), {}, OverflowError, "`n` is 2147483648, which is out of range"),
    ("powers_value_and_grad", (X, -(2**31) - 1), {}, OverflowError, "`n` is -2147483649, which is out of range"),
    ("powers_value_and_grad", (X, 10**30), {}, OverflowError, "which is out of range"),
    ("powers_value_and_grad", (X,), {"shift": -1}, OverflowError, "`shift` is -1, which is out of range"),
    ("powers_value_and_grad", (X,), {"shift": 256}, OverflowError, "`shift` is 256, which is out of range"),
    ("powers_value_and_grad", (X, 3, 1), {}, TypeError, "`signed` must be a bool, not int"),
    ("free", (X[::2],), {}, ValueError, "`x` must be contiguous in C order"),
    ("free", (read_only(X.copy()),), {}, ValueError, "`x` is read-only, but the function writes into it"),
    ("columns_value_and_grad", (A, X.astype("f4")), {}, ValueError, "`a` must be contiguous in Fortran order"),
]


@pytest.mark.parametrize("name, args, named, cls, message", WRONG)
def test_wrong_arguments(built, name, args, named, cls, message):
    with pytest.raises(cls, match=re.escape(message)) as caught:
        getattr(built, name)(*args, **named)
    assert type(caught.value) is cls


def test_exceptions_of_the_function(built, monkeypatch):
    with pytest.raises(ValueError, match="^n must not be negative$"):
        built.powers_value_and_grad(X, -1)
    with pytest.raises(KeyError, match="^'too large'$"):
        built.powers_value_and_grad(X, 101)
    with pytest.raises(extension_model.Refused, match="^not 99$"):
        built.powers_value_and_grad(X, 99)
    # where the module of the class is not to be found
    monkeypatch.setitem(sys.modules, extension_model.__name__, None)
    with pytest.raises(RuntimeError, match="^Refused: not 99$"):
        built.powers_value_and_grad(X, 99)


def test_written_arguments_must_not_share_memory(built):
    x = X.copy()
    with pytest.raises(ValueError, match="share memory"):
        built.blend_value_and_grad(x, x[:])
    np.testing.assert_array_equal(x, X)


def test_written_arguments_must_not_overlap_themselves(built):
    shared = np.lib.stride_tricks.as_strided(X, X.shape, (0,))
    with pytest.raises(ValueError, match="overlaps itself"):
        built.blend_value_and_grad(shared, X.copy())
    built.blend_value_and_grad(X.copy(), shared)


def test_read_only_arrays(built):
    x = read_only(X.copy())
    same(built.weighted_value_and_grad(x, PAIR), built.weighted_value_and_grad(X, PAIR))


def test_signatures_and_docstrings(built):
    assert str(inspect.signature(built.weighted_value_and_grad)) == "(x, w, s=2.0)"
    assert str(inspect.signature(built.weighted_hvp)) == "(x, w, s, v)"
    assert str(inspect.signature(built.weighted_jvp)) == "(x, w, s, x_dot)"
    assert str(inspect.signature(built.powers_value_and_grad)) == "(x, n=3, signed=True, scale=0.5, shift=1)"
    assert str(inspect.signature(built.fixed_value_and_grad)) == "(x)"
    doc = built.weighted_value_and_grad.__doc__
    assert doc.startswith("The value of `weighted` and its gradient with respect to `x`, `w`.\n\nx  array of")
    assert 'weighted: Weighted squares, with "quotes" and a \\ backslash.\n\nx  any numbers' in doc
    assert built.weighted_value_and_grad.__module__ == built.__name__ == OUTPUT.name
    assert "    weighted_value_and_grad(x, w, s=2.0)" in built.__doc__


def test_the_stub(files):
    text = files[1].read_text(encoding="utf-8")
    compile(text, "stub", "exec")
    assert "def powers_value_and_grad(\n    x: NDArray[np.float64],\n    n: int = 3," in text
    assert "def moments_primal(x: NDArray[np.float64]) -> Moments:" in text
    assert ") -> tuple[float, tuple[NDArray[np.float64], tuple[float, float]]]:" in text


def test_several_signatures(built, files):
    f = built.total_value_and_grad
    assert str(inspect.signature(f)) == "(x, n=2)"
    same(f(X), (float(np.sum(X**2)), 2 * X))
    same(f(X[::2], 3), (float(np.sum(X[::2] ** 3)), 3 * X[::2] ** 2))
    _, gradient = f(X.astype(np.float32), 1.5)
    assert gradient.dtype == np.float32
    assert f(3.0) == (9.0, 6.0)
    with pytest.raises(TypeError, match=r"fit no signature; there are\n  \(x: array of float64, 1 axis, C-c"):
        f(X, 2.5)
    with pytest.raises(TypeError, match="got an unexpected keyword"):
        f(X, m=3)
    # what the function raises is not a misfit
    with pytest.raises(ValueError, match="^n must be positive$"):
        f(X, -1)
    text = files[1].read_text(encoding="utf-8")
    assert text.count("@overload\ndef total_value_and_grad") == 3
    assert "from typing import overload" in text


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_one_binary_for_all_versions(files, version):
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode != 0:
        pytest.skip(f"there is no Python {version} with NumPy")
    code = "import numpy as np, _built; print(_built.weighted_hvp(np.ones(2), [1, 2], 3.0, np.arange(2.0)))"
    done = subprocess.run([python, "-c", code], cwd=files[0].parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[ 0. 12.]\n"


def test_nothing_but_numpy_is_imported(files):
    code = "import sys, numpy; before = set(sys.modules); import _built; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], cwd=files[0].parent, capture_output=True, text=True)
    assert done.stdout == "['_built']\n", done.stderr


def test_named_tuples(built):
    found = built.moments_primal(X)
    assert type(found) is built.Moments
    assert found.mean == pytest.approx(X.mean())
    assert (type(found).__module__, type(found).__qualname__) == (OUTPUT.name, "Moments")


def test_the_lock_is_free_during_a_call(built):
    """Python sees that compiled code runs, and stops it; with the lock held it would run to its end."""
    flag, seen = np.zeros(1), np.zeros(1)
    limit, iterations = 20_000_000_000, []
    worker = threading.Thread(target=lambda: iterations.append(built.watch_primal(flag, seen, limit)))
    worker.start()
    while worker.is_alive() and seen[0] == 0.0:
        pass
    flag[0] = 1.0
    worker.join()
    assert 0 < iterations[0] < limit


def test_calls_in_many_threads(built):
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(20 + k, 30)) for k in range(8)]
    rest = np.ones(30, bool), np.arange(30)
    wanted = [built.rows_jacobian(a, *rest) for a in inputs]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: built.rows_jacobian(inputs[k % 8], *rest), range(80)))
    for k, one in enumerate(found):
        np.testing.assert_array_equal(one, wanted[k % 8])


def test_nothing_leaks(built):
    """Neither references nor memory, also where calls fail."""
    x, w = X.copy(), [1.5, 2.5]
    big = np.ones((40, 50))
    flags, counts = np.ones(50, bool), np.ones(50, np.int64)

    def calls() -> None:
        built.weighted_value_and_grad(x, w, s=2.0)
        built.moments_primal(x)
        built.rows_jacobian(big, flags, counts)
        for args in ((x, (1.0, "a")), (x, 1), (x.astype("f4"), w), (A, w)):
            with pytest.raises(TypeError):
                built.weighted_value_and_grad(*args)
        with pytest.raises(ValueError):
            built.powers_value_and_grad(x, -1)

    def references() -> list[int]:
        # what others left behind refers to these types, too
        gc.collect()
        return [sys.getrefcount(one) for one in (x, w, w[0], big, built.Moments, np.ndarray)]

    calls()
    kept, sizes = references(), [resident()]
    for _ in range(3):
        for _ in range(500):
            calls()
        sizes.append(resident())
    assert references() == pytest.approx(kept, abs=3)
    # the Jacobians alone are 300 MB each time; a process that has run for long grows once by itself
    assert min(after - before for before, after in itertools.pairwise(sizes)) < 7_000_000


def resident() -> int:
    """Bytes of memory in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_same_targets_same_bytes(tmp_path):
    output = Output("extension", "again", TARGETS[:2], root=HERE)
    first, second = (build((output,), tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def refused(text: str, tmp_path, **asked) -> TapecError:
    (tmp_path / "refused_model.py").write_text("import numpy as np\n\n" + text)
    try:
        with pytest.raises(TapecError) as caught:
            build((Output("extension", "refused", (Target("refused_model.py:f", **asked),), root=tmp_path),), tmp_path)
    finally:
        sys.modules.pop("refused_model", None)
    return caught.value


def test_a_default_that_does_not_fit(tmp_path):
    error = refused("def f(x: float, n: int = 2.5):\n    return x * n\n", tmp_path)
    assert isinstance(error, UnsupportedType)
    assert "the default of `n`, 2.5, does not fit its type in the signature" in str(error)
    assert error.span.line == 3


def test_an_argument_without_a_form_in_c(tmp_path):
    error = refused("def f(x, how):\n    return x\n", tmp_path, signature="f8, unicode_type")
    assert "has no form in C" in str(error)


def test_keywords_that_need_a_value(tmp_path):
    error = refused("def f(x, *, n=2, m):\n    return x * n * m\n", tmp_path, signature="f8, i8, f8")
    assert isinstance(error, UnsupportedType)
    assert "keyword-only parameter `m` without default after one with" in str(error)


def test_two_functions_of_one_name(tmp_path):
    target = Target("extension_model.py:wait", "x")
    other = Target("extension_model.py:wait", "x", mode="grad", name="wait_value_and_grad")
    with pytest.raises(UsageError, match="two functions would be called 'wait_value_and_grad'"):
        build((Output("extension", "twice", (target, other), root=HERE),), tmp_path)
    with pytest.raises(UsageError, match="'wait_value_and_grad' is built for one signature twice"):
        build((Output("extension", "twice", (target, target), root=HERE),), tmp_path)


def test_a_processor_that_does_not_exist(tmp_path):
    with pytest.raises(UsageError, match="no processor 'x86-64-v9'"):
        build((Output("extension", "other", TARGETS[:1], "x86-64-v9", root=HERE),), tmp_path)


def test_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(UsageError, match="no C compiler is found"):
        build((Output("extension", "other", TARGETS[-1:], root=HERE),), tmp_path)
