"""C libraries: values, statuses, symbols, and callers in C, C++ and Fortran."""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numba
import numpy as np
import pytest

from tapec.backend.jit import load
from tapec.build.build_target import DerivedTarget, Target, derive_function
from tapec.build.c_library import write_library
from tapec.build.object_code import Native, compile_native
from tapec.build.processor import processor, suited
from tapec.build.toolchain import toolchain
from tapec.errors import UnsupportedFunction, UnsupportedType, UsageError
from tapec.signatures import parse
from tests.build.calling import Entry
from tests.build.functions import CASES, Case
from tests.oracles import clone

CALLERS = Path(__file__).parent / "callers"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler"),
]


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


@dataclass(frozen=True)
class Built:
    native: Native
    functions: list[DerivedTarget]
    library: ctypes.CDLL
    folder: Path

    def entry(self, name: str, *arguments: object) -> Entry:
        interface = next(one for one in self.native.interfaces if one.entry == name)
        return Entry(self.library, interface, *arguments)

    def error(self, status: int) -> str:
        text = self.library.cases_error
        text.restype = ctypes.c_char_p
        return text(status).decode()


def derived(case: Case) -> DerivedTarget:
    arguments = case.make(np.random.default_rng(1))
    own = len(arguments) - (case.mode in ("hvp", "jvp", "vjp", "gnvp"))
    signature = parse(case.signature) if case.signature else tuple(map(numba.typeof, arguments[:own]))
    target = Target("", wrt=case.wrt, mode=case.mode, name=case.name)
    return derive_function(suited(target, processor("baseline")), case.f, signature)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    """One library with all functions, for the baseline processor."""
    folder = tmp_path_factory.mktemp("cases")
    functions = [derived(case) for case in CASES]
    native = compile_native("cases", functions, processor("baseline"))
    write_library("cases", functions, native, folder)
    return Built(native, functions, ctypes.CDLL(str(folder / "lib" / "libcases.so")), folder)


def run(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def same(found: object, expected: object) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif expected is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12 if np.asarray(expected).dtype != np.float32 else 1e-5)
        assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_entry_computes_what_generated_source_computes(built, case):
    arguments = case.make(np.random.default_rng(2))
    expected_arguments = clone(arguments)
    program = next(one.program for one in built.functions if one.program.name == case.name)
    # Numba takes no empty list from Python, such as recursive functions are handed
    with mock.patch.object(numba.config, "DISABLE_JIT", True):
        expected = load(program)(*expected_arguments)
    entry = built.entry(case.name, *arguments)
    assert entry.call() == 0
    same(entry.found(), expected)
    for passed, left in zip(arguments, expected_arguments, strict=True):
        if isinstance(passed, np.ndarray):
            np.testing.assert_allclose(passed, left)


def test_a_gradient_has_the_order_of_its_source(built):
    case = next(one for one in CASES if one.f.__name__ == "cubes")
    entry = built.entry(case.name, *case.make(np.random.default_rng(2)))
    assert entry.call() == 0
    _, gradients = entry.found()
    assert gradients[2].flags.f_contiguous and not gradients[2].flags.c_contiguous
    assert gradients[1].flags.c_contiguous


def test_what_is_written_is_not_const(built):
    entries = {one.entry: one for one in built.native.interfaces}
    assert entries["scale_in_place_value_and_grad"].declarations[0] == "double *x"
    assert entries["oscillator_hvp"].declarations[0] == "const double *x"
    # the tangent of what the function leaves in `x` is left in `x_dot`
    assert "double *x_dot" in entries["scale_in_place_jvp"].declarations


def test_arrays_without_elements_may_be_null(built):
    entry = built.entry("scale_in_place_value_and_grad", np.empty(0), 2.0)
    function = built.library.scale_in_place_value_and_grad
    value, factor = ctypes.c_double(7), ctypes.c_double(7)
    status = function(
        None, (ctypes.c_int64 * 1)(0), None, ctypes.c_double(2), ctypes.byref(value), None, ctypes.byref(factor)
    )
    assert (status, value.value, factor.value) == (0, 0.0, 0.0)
    assert entry.call() == 0 and entry.found()[0] == 0.0


def test_null_strides_mean_contiguous(built):
    x = np.arange(1.0, 4.0)
    gradient, value, factor = np.empty(3), ctypes.c_double(), ctypes.c_double()
    status = built.library.scale_in_place_value_and_grad(
        x.ctypes, (ctypes.c_int64 * 1)(3), None, ctypes.c_double(2), ctypes.byref(value), gradient.ctypes,
        ctypes.byref(factor),
    )  # fmt: skip
    assert (status, value.value, factor.value) == (0, 12.0, 6.0)
    np.testing.assert_array_equal(gradient, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(x, [2.0, 4.0, 6.0])


def test_exceptions_become_statuses_with_texts(built):
    entry = built.entry("newton_grad", -1.0, 1e-12)
    assert built.error(entry.call()) == 'ValueError: a is negative: "no" real root */'
    entry = built.entry("newton_grad", 1e7, 1e-12)
    assert built.error(entry.call()) == "OverflowError"
    assert built.error(0) == "no error"
    assert built.error(12345) == "not a status of this library"


@pytest.mark.parametrize(
    ("shape", "strides", "place", "status"),
    [((-1,), (8,), 0, -2), ((2,), (12,), 0, -3), ((2,), (8,), 4, -3), ((1,), (12,), 0, 0)],
)
def test_wrong_arrays_are_refused(built, shape, strides, place, status):
    data, gradient = np.ones(8), np.empty(8)
    value, factor = ctypes.c_double(), ctypes.c_double()
    found = built.library.scale_in_place_value_and_grad(
        ctypes.c_void_p(data.ctypes.data + place), (ctypes.c_int64 * 1)(*shape), (ctypes.c_int64 * 1)(*strides),
        ctypes.c_double(1), ctypes.byref(value), gradient.ctypes, ctypes.byref(factor),
    )  # fmt: skip
    assert found == status
    assert built.error(found) != built.error(12345)


def test_null_pointers_are_refused(built):
    value, shape = ctypes.c_double(), (ctypes.c_int64 * 1)(2)
    x, gradient = np.ones(2), np.ones(2)
    call = built.library.scale_in_place_value_and_grad
    one = ctypes.c_double(1)
    assert call(None, shape, None, one, ctypes.byref(value), gradient.ctypes, ctypes.byref(value)) == -1
    assert call(x.ctypes, None, None, one, ctypes.byref(value), gradient.ctypes, ctypes.byref(value)) == -1
    assert call(x.ctypes, shape, None, one, None, gradient.ctypes, ctypes.byref(value)) == -1
    assert call(x.ctypes, shape, None, one, ctypes.byref(value), None, ctypes.byref(value)) == -1


def test_a_tangent_has_its_sources_shape(built):
    entry = built.entry("several_jvp", np.ones((3, 4)), 2, np.ones((4, 3)))
    assert built.error(entry.call()).endswith("has not the shape that it must have")


def test_threads_do_not_disturb_each_other(built):
    case = next(one for one in CASES if one.f.__name__ == "oscillator" and one.mode == "hvp")

    def work(seed: int) -> bool:
        arguments = case.make(np.random.default_rng(seed))
        entry = built.entry(case.name, *arguments)
        assert entry.call() == 0
        first = entry.found()
        for _ in range(300):
            assert entry.call() == 0
        return np.array_equal(first, entry.found())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


@needs("nm")
def test_a_library_asks_for_nothing_but_the_c_library(built):
    listed = run("nm", "-D", built.folder / "lib" / "libcases.so").splitlines()
    wanted = {line.split()[-1].partition("@")[0] for line in listed if " U " in line}
    assert wanted <= {"malloc", "free", "realloc", "memcpy", "memset", "memcmp", "sin", "cos", "sincos", "exp"}
    exported = {line.split()[-1] for line in listed if " T " in line}
    assert exported == {one.entry for one in built.native.interfaces} | {"cases_error"}
    assert not {line.split()[-1] for line in listed if re.search(" [BDGRV] ", line)}


@needs("nm")
def test_a_static_library_keeps_other_names_apart(built):
    listed = run("nm", built.folder / "lib" / "libcases.a").splitlines()
    defined = {line.split()[-1] for line in listed if re.search(" [TBDR] ", line)}
    others = defined - {one.entry for one in built.native.interfaces}
    assert others and all(name.startswith("cases_") for name in others)


def compiled(built: Built, compiler: list[str], source: str, tmp_path: Path, static: bool = True) -> Path:
    program = tmp_path / "program"
    library = built.folder / "lib" / ("libcases.a" if static else "libcases.so")
    run(*compiler, f"-I{built.folder / 'include'}", CALLERS / source, library, "-o", program, "-lm", "-lpthread")
    return program


def under_valgrind(program: Path) -> str:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    return run("valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all", "--error-exitcode=1", program)


def test_a_c_program_calls_it(built, tmp_path):
    compiler = [*toolchain().compiler, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-g"]
    program = compiled(built, compiler, "caller.c", tmp_path)
    assert run(program) == "done\n"
    assert under_valgrind(program) == "done\n"


@needs("g++")
def test_a_c_plus_plus_program_calls_it(built, tmp_path):
    program = compiled(built, ["g++", "-std=c++17", "-pedantic", "-Wall", "-Werror"], "caller.cpp", tmp_path)
    assert run(program) == "done\n"
    assert under_valgrind(program) == "done\n"


@needs("gfortran")
def test_a_fortran_program_calls_it(built, tmp_path):
    module = built.folder / "include" / "cases.f90"
    compiler = ["gfortran", "-std=f2018", "-Wall", "-Werror", f"-J{tmp_path}", module]
    assert run(compiled(built, compiler, "caller.f90", tmp_path)).strip() == "done"


def small(name: str = "square") -> DerivedTarget:
    def square(x):
        return x * x

    return derive_function(Target("", name=name), square, (numba.float64,))


def test_the_same_inputs_give_the_same_bytes(tmp_path):
    case = next(one for one in CASES if one.f.__name__ == "newton")
    contents = []
    for name in ("first", "second"):
        functions = [derived(case)]
        native = compile_native("small", functions, processor("baseline"))
        files = write_library("small", functions, native, tmp_path / name)
        contents.append({path.relative_to(tmp_path / name): path.read_bytes() for path in files})
        for path, content in contents[-1].items():
            assert str(tmp_path).encode() not in content, path
            assert b"functions.py" not in content, path
    assert contents[0] == contents[1]


def test_names_of_entries_must_differ():
    with pytest.raises(UsageError, match="two functions would be called 'square'"):
        compile_native("small", [small(), small()], processor("baseline"))
    with pytest.raises(UsageError, match="'double' is not a name in C"):
        compile_native("small", [small("double")], processor("baseline"))
    with pytest.raises(UsageError, match="'exp' is a function of C's library"):
        compile_native("small", [small("exp")], processor("baseline"))


def test_an_unknown_processor_is_refused():
    with pytest.raises(UsageError, match="there is no processor 'x86-65'"):
        processor("x86-65")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of x86 processors")
def test_elementary_functions_follow_the_processor():
    target = Target("")
    plain, fused = processor("baseline"), processor("x86-64-v3")
    assert suited(target, plain).options.math == "libm" and plain.features == ""
    assert suited(target, fused) == target and fused.features == "+fma"
    assert {processor(name).features for name in ("knl", "skylake-avx512")} == {"+fma,+avx512f"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of x86 processors")
def test_vectorised_functions_are_built_in():
    def waves(x):
        total = 0.0
        for i in range(x.shape[0]):
            total += np.exp(x[i])
        return total

    fused = processor("x86-64-v3")
    function = derive_function(suited(Target("", name="waves"), fused), waves, (numba.float64[::1],))
    native = compile_native("small", [function], fused)
    assert has_fused_vectors(dict(native.objects)["waves.o"])
    native = compile_native("small", [function], processor("baseline"))
    assert not has_fused_vectors(dict(native.objects)["waves.o"])


def has_fused_vectors(code: bytes) -> bool:
    """Whether there is an instruction like vfmadd213pd, on vectors of four."""
    return any(
        code[k] == 0xC4 and code[k + 1] & 0x1F == 2 and code[k + 2] & 0x87 == 0x85 and code[k + 3] in (0x98, 0xA8, 0xB8)
        for k in range(len(code) - 3)
    )


def test_without_a_compiler_there_is_one_message(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(UsageError, match=r"no C compiler is found \(tried no-such-compiler\)"):
        compile_native("small", [small()], processor("baseline"))


def test_what_has_no_form_in_c_is_refused():
    def named(x, name):
        return x if name == "one" else 2.0 * x

    function = derive_function(Target(""), named, (numba.float64, numba.types.unicode_type))
    with pytest.raises(UnsupportedType, match="the argument `name` of `named` has type unicode_type") as caught:
        compile_native("small", [function], processor("baseline"))
    assert caught.value.span.line > 0


def test_random_numbers_are_refused():
    def noisy(x):
        return x * np.random.normal()

    function = derive_function(Target(""), noisy, (numba.float64,))
    with pytest.raises(UnsupportedFunction, match="draws random numbers"):
        compile_native("small", [function], processor("baseline"))


def test_large_tables_are_refused():
    table = np.ones(200_000)

    def looked_up(x, i):
        return x * table[i]

    function = derive_function(Target(""), looked_up, (numba.float64, numba.int64))
    with pytest.raises(UnsupportedFunction, match="module-level array over 1 MB"):
        compile_native("small", [function], processor("baseline"))
