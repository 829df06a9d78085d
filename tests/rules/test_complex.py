"""Complex numbers: each formula against NumPy and its derivatives; dtypes, cuts, zeros, random programs."""

from __future__ import annotations

import cmath
import linecache
import math
from itertools import count
from random import Random

import numba
import numpy as np
import pytest

import tapec
from tapec.frontend.calls.calls import dotted_name
from tapec.frontend.library import complex_calls
from tapec.rules import complex_numbers
from tests.levels import read_once
from tests.oracles import check, interpreted
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")

# in every quadrant, near and far from 0
POINTS = (0.7 + 0.4j, -0.6 + 1.1j, -1.3 - 0.2j, 0.3 - 2.1j, 4.0 + 3.0j, -0.01 + 0.02j)
ANALYTIC = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square", "reciprocal"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
)
CMATH = (
    *("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh"),
)
ZEROS = (0.0, -0.0)
_files = count(1)


@pytest.fixture(autouse=True)
def _interpreted():
    """Generated code is run by the interpreter: compilation is tested elsewhere."""
    with interpreted(), read_once():
        yield


def value(f, *args):
    return tapec.jvp(f, args, (None,) * len(args))[0]


def signs(z):
    return math.copysign(1.0, z.real), math.copysign(1.0, z.imag)


def from_text(text, **names):
    """A function with source."""
    file = f"<complex numbers {next(_files)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {"np": np, "cmath": cmath, **names}
    exec(compile(text, file, "exec"), namespace)
    return namespace["f"]


def test_every_formula_is_tested():
    listed = {name.removeprefix("np.") for name in complex_numbers.COMPLEX}
    assert listed - {"neg", "pos", "negative", "positive", "conjugate"} == set(ANALYTIC)


@pytest.mark.parametrize("name", ANALYTIC)
def test_analytic_function(name):
    function = getattr(np, name)

    def f(z):
        return function(z)

    gradient = tapec.grad(lambda z: function(z).real)
    for z in POINTS:
        got, along = tapec.jvp(f, (z,), (1.0 + 0j,))
        np.testing.assert_allclose(got, function(z), rtol=1e-13)
        # Cauchy and Riemann: a turn of the tangent turns the result
        np.testing.assert_allclose(tapec.jvp(f, (z,), (1j,))[1], 1j * along, rtol=1e-11, atol=1e-14)
        # the gradient of the real part is the conjugate of the derivative
        np.testing.assert_allclose(gradient(z), np.conj(along), rtol=1e-11, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("name", ANALYTIC)
def test_analytic_function_to_second_order(name):
    function = getattr(np, name)

    def f(z):
        return function(z).real * 0.7 + function(z).imag

    tapec.check_grads(f, (-0.6 + 1.1j,), order=2, rtol=1e-5)


@pytest.mark.parametrize("name", CMATH)
def test_function_of_cmath(name):
    function = getattr(cmath, name)

    def f(z):
        return function(z)

    for z in POINTS:
        np.testing.assert_allclose(value(f, z), function(z), rtol=1e-13)


@pytest.mark.parametrize("name", ["sqrt", "log", "arcsin", "arccos", "arctanh", "arccosh"])
def test_sides_of_the_cuts_on_the_real_axis(name):
    function = getattr(np, name)

    def f(z):
        return function(z)

    for x in (-2.5, -0.5, 0.5, 2.5):
        for y in ZEROS:
            got, wanted = value(f, complex(x, y)), complex(function(complex(x, y)))
            np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-15)
            assert signs(got)[1] == signs(wanted)[1] or wanted.imag == 0.0, (x, y)


@pytest.mark.parametrize("name", ["arctan", "arcsinh"])
def test_sides_of_the_cuts_on_the_imaginary_axis(name):
    function = getattr(np, name)

    def f(z):
        return function(z)

    for y in (-2.5, -0.5, 0.5, 2.5):
        for x in ZEROS:
            np.testing.assert_allclose(value(f, complex(x, y)), function(complex(x, y)), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("text", ["z * x", "x * z", "z / x", "x + z", "z + x", "x - z", "z - x", "-z", "z.conjugate()"])
def test_zero_imaginary_parts_have_the_signs_of_numba(text):
    """With a real operand, which Numba makes complex, in every combination of signs."""
    f = from_text(f"def f(z, x):\n    return {text}\n")
    for real in (-1.5, 1.5):
        for zero in ZEROS:
            for x in (-2.0, 2.0):
                z = complex(real, zero)
                wanted = eval(text, {"z": z, "x": complex(x, 0.0)})
                assert signs(value(f, z, x))[1] == signs(wanted)[1], (z, x)


@pytest.mark.parametrize(("z", "slope"), [(-4.0 + 0j, -0.25j), (complex(-4.0, -0.0), 0.25j)])
def test_square_root_has_its_one_sided_derivative_on_the_cut(z, slope):
    got, tangent = tapec.jvp(lambda z: np.sqrt(z), (z,), (1.0 + 0j,))
    np.testing.assert_allclose(got, np.sqrt(z))
    np.testing.assert_allclose(tangent, slope)
    np.testing.assert_allclose(tapec.jvp(lambda z: np.sqrt(z), (z,), (1j,))[1], 1j * slope)


def test_no_derivative_is_nan_and_not_zero():
    assert np.isnan(tapec.grad(lambda z: np.sqrt(z).real)(0j))
    assert np.isnan(tapec.grad(lambda z: np.angle(z))(0j))
    assert np.isnan(tapec.grad(lambda z: (z**0.5).real)(0j))


def test_gradient_of_the_absolute_value_at_zero_is_zero():
    assert tapec.grad(lambda z: abs(z))(0j) == 0j
    np.testing.assert_array_equal(tapec.grad(lambda z: np.sum(np.abs(z)))(np.array([0j, 2j])), [0j, 1j])


def test_powers_at_zero():
    assert tapec.jvp(lambda z, n: z**n, (0j, 1), (1j, None)) == (0j, 1j)
    assert tapec.jvp(lambda z, n: z**n, (0j, 3), (1j, None)) == (0j, 0j)
    assert tapec.jvp(lambda z, n: z**n, (0j, 0), (1j, None)) == (1.0 + 0j, 0j)
    assert tapec.jvp(lambda z, p: z**p, (0j, 1.0), (1j, None)) == (0j, 1j)
    assert tapec.jvp(lambda z, p: z**p, (0j, 2.5), (1j, None)) == (0j, 0j)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_quotients_do_not_overflow(scale):
    z, w = (3 - 4j) * scale, (1 + 2j) * scale
    np.testing.assert_allclose(value(lambda z, w: z / w, z, w), (3 - 4j) / (1 + 2j), rtol=1e-15)
    gradient = tapec.grad(lambda w, z: (z / w).real)(w, z)
    np.testing.assert_allclose(gradient, np.conj(-z / w / w), rtol=1e-13)


def test_convention_of_gradients():
    """The direction of steepest ascent, which is the conjugate of what `jax.grad` gives."""
    z = 0.8 - 1.7j
    assert tapec.grad(lambda z: z.real)(z) == 1.0
    assert tapec.grad(lambda z: z.imag)(z) == 1j
    np.testing.assert_allclose(tapec.grad(lambda z: abs(z) ** 2)(z), 2 * z)
    _, pullback = tapec.vjp(lambda z: z * z, z)
    np.testing.assert_allclose(pullback(2.0 - 1j)[0], np.conj(2 * z) * (2.0 - 1j))


@pytest.mark.slow
@pytest.mark.parametrize("other", [np.float32, np.float64, np.int64, np.int32, np.int16, np.bool_, np.complex128])
def test_dtypes_are_those_of_numba(other):
    for text in ("z + x", "z * x", "x / z", "z - x", "z ** x"):
        f = from_text(f"def f(z, x):\n    return {text}\n")
        source = tapec.emit(f, (0,), (numba.complex64, numba.from_dtype(np.dtype(other))), mode="jvp")
        numba.config.DISABLE_JIT = False
        wanted = numba.njit((numba.complex64, numba.from_dtype(np.dtype(other))))(f).nopython_signatures[0].return_type
        numba.config.DISABLE_JIT = True
        assert ("np.complex64(complex(" in source) == (wanted == numba.complex64), text


def test_gradients_have_the_dtype_of_the_argument():
    z = np.array([1 + 2j, 0.5j], np.complex64)
    gradient = tapec.grad(lambda z: np.sum(np.abs(z) ** 2))(z)
    assert gradient.dtype == np.complex64
    np.testing.assert_allclose(gradient, 2 * z)
    assert isinstance(tapec.grad(lambda z: abs(z))(np.complex64(1j)), np.complex64)


OPERATIONS = ("{} + {}", "{} - {}", "{} * {}", "{} / (3.5 + {})", "np.exp(0.2 * {}) * {}")
LEAVES = ("z", "w", "x", "2.0", "1j", "(0.5 - 1j)", "z.conjugate()", "abs(w)", "z.real", "(1j * x)")


def random_term(rng, size):
    """An expression of `z`, `w` and `x`, with so many of them and of numbers."""
    if size == 1:
        return rng.choice(LEAVES)
    kind = rng.choice(("operation", "operation", "function", "power", "choice"))
    if kind == "function":
        return f"np.{rng.choice(('sin', 'cosh', 'tanh'))}(0.3 * {random_term(rng, size - 1)} + z)"
    if kind == "power":
        return f"({random_term(rng, size - 1)}) ** {rng.randrange(4)}"
    left = rng.randint(1, size - 1)
    first, second = random_term(rng, left), random_term(rng, size - left)
    if kind == "choice":
        return f"({first} if x > 0.5 else {second})"
    return f"({rng.choice(OPERATIONS).format(first, second)})"


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(12), 1, default=3))
def test_random_programs(seed):
    rng = Random(seed)
    term, update = (random_term(rng, rng.randint(1, 8)) for _ in range(2))
    iteration = f"        s = 0.3 * s + {term}\n        w = 0.5 * ({update})\n"
    begin, end = "def f(z, w, x):\n    s = 0.0\n    for k in range(3):\n", "    return s * (1 + 0j), w * (1 + 0j)\n"
    f = from_text(begin + iteration + end)
    check(f, (0.6 + 0.3j, -0.4 + 0.7j, 0.8), skip_kinks=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(8), 1, default=2))
def test_random_array_expressions(seed):
    rng = Random(100 + seed)
    term = random_term(rng, rng.randint(1, 8)).replace("abs(", "np.abs(").replace(" if x > 0.5 else ", " * 0.5 + ")
    f = from_text(f"def f(z, w, x):\n    return ({term}) * (z + 1)\n")
    z, w = np.array([0.6 + 0.3j, -0.2 + 0.9j]), np.array([-0.4 + 0.7j, 0.3 - 0.2j])
    check(f, (z, w, np.array([0.8, 0.3])), skip_kinks=True)


# an expression for each function of arrays that takes complex ones, of z and w (vectors), m (a matrix), x (real)
ARRAYS = {
    "real": "np.real(z) * x, np.real(m)",
    "imag": "np.imag(z) * x, np.imag(m)",
    "dot": "np.dot(z, w), np.dot(m, z), np.dot(m, 2j), np.dot(z, x)",
    "vdot": "np.vdot(z, w), np.vdot(x, z), np.vdot(z, x)",
    "correlate": "np.correlate(z, w[:2], 'full'), np.correlate(x, z), np.correlate(z, x[:3], 'same')",
    "linalg.norm": "np.linalg.norm(z), np.linalg.norm(m), np.linalg.norm(z, 1), np.linalg.norm(m, axis=0)",
    "var": "np.var(z), m.var(), np.var(m)",
    "std": "np.std(z), m.std(), np.std(m)",
    "iscomplexobj": "z * (2.0 if np.iscomplexobj(z) and not np.iscomplexobj(x) else 1.0), x",
    "isrealobj": "z * (2.0 if np.isrealobj(x) and not np.isrealobj(z) else 1.0), x",
    "reshape": "np.reshape(z, (2, 2)), (m * 2j).reshape(-1)",
    "ravel": "np.ravel(m), (m * 2j).T.ravel()",
    "transpose": "np.transpose(m), m.transpose(), np.transpose(m, (1, 0))",
    "swapaxes": "np.swapaxes(m, 0, 1), m.swapaxes(1, 0)",
    "expand_dims": "np.expand_dims(z, 0) * z, np.expand_dims(z, 1)",
    "sum": "np.sum(z), np.sum(m, axis=0), np.sum(m, 1, keepdims=True), z.sum()",
    "mean": "np.mean(z), np.mean(m, 0), m.mean()",
    "prod": "np.prod(z), np.prod(m, axis=1), z.prod()",
    "cumsum": "np.cumsum(z), np.cumsum(m, 0), z.cumsum()",
    "cumprod": "np.cumprod(z), np.cumprod(m, 1), z.cumprod()",
    "trapezoid": "np.trapezoid(z), np.trapezoid(z, x), np.trapezoid(m, dx=0.5)",
    "trapz": "np.trapezoid(z, dx=2.0), x",
    "vander": "np.vander(z, 3), np.vander(z)",
    "meshgrid": "np.meshgrid(z, w)[0], np.meshgrid(z, x)[1]",
    "linalg.matrix_power": "np.linalg.matrix_power(m[:2, :2], 3), np.linalg.matrix_power(m[:2, :2], -2)",
    "linalg.eig": "np.linalg.eig(m[:3, :3])[0], np.linalg.eig(m[:3, :3])[1] * x[0]",
    "linalg.eigvals": "np.linalg.eigvals(m[:3, :3]), np.linalg.eigvals(m.real[:3, :3])",
    "linalg.solve": "np.linalg.solve(m[:2, :2], z[:2]), np.linalg.solve(m.real[:2, :2], m[:2])",
    "linalg.inv": "np.linalg.inv(m[:2, :2]) * z[0], x",
    "linalg.det": "np.linalg.det(m[:, :3]) * z, x",
    "linalg.slogdet": "np.linalg.slogdet(m[:, :3])[0] * z, np.linalg.slogdet(m[:, :3])[1] * x",
    "linalg.cholesky": "np.linalg.cholesky(m @ m.conj().T + np.eye(3)), np.linalg.cholesky(m @ m.conj().T, upper=True)",
    "linalg.eigvalsh": "np.linalg.eigvalsh(m @ m.conj().T), x",
    "linalg.svd": "np.linalg.svd(m, compute_uv=False), x",
    "linalg.svdvals": "np.linalg.svdvals(m.T), x",
    "linalg.cond": "np.linalg.cond(m) * x, z",
    "linalg.pinv": "np.linalg.pinv(m), x",
    "linalg.lstsq": "np.linalg.lstsq(m.T, z)[0], x",
    "einsum": "np.einsum('ij,j->i', m, z), np.einsum('i,i', z, x)",
    "tensordot": "np.tensordot(m, z, 1), x",
    "matmul": "np.matmul(m, z), m @ m.T.conj()",
    "inner": "np.inner(z, w), np.inner(m, m)",
    "outer": "np.outer(z, w), np.outer(x, z)",
    "kron": "np.kron(z, w), np.kron(m, x)",
    "cross": "np.cross(z[:3], w[1:]), x",
    "convolve": "np.convolve(z, w), np.convolve(x, z, 'same')",
    "diff": "np.diff(z), np.diff(m, axis=0), np.diff(z, 2)",
    "ediff1d": "np.ediff1d(z), np.ediff1d(z, to_end=w[:1])",
    "polyval": "np.polyval(z, w), np.polyval(z, 0.5), np.polyval(x, w)",
    "polynomial.polynomial.polyval": "np.polynomial.polynomial.polyval(w, z), x",
    "take": "np.take(z, 2), np.take(m, np.array([1, 0]), 1), z.take(np.array([0, 0]))",
    "take_along_axis": "np.take_along_axis(m, np.array([[0], [1], [2]]), 1), x",
    "extract": "np.extract(x > 0.7, z), x",
    "compress": "np.compress(x > 0.7, z), x",
    "select": "np.select([x > 0.7, x > 0.5], [z, w], 1j), x",
    "delete": "np.delete(z, 1), np.delete(z, np.array([0, 2]))",
    "insert": "np.insert(z, 1, 2j), np.insert(z, 2, x[:1])",
    "diagonal": "np.diagonal(m[:, :3]), m.diagonal()",
    "diag": "np.diag(z), np.diag(m[:, :3])",
    "diagflat": "np.diagflat(z, 1), x",
    "trace": "np.trace(m[:, :3]), m[:, :3].trace()",
    "tril": "np.tril(m), x",
    "triu": "np.triu(m, 1), x",
    "copyto": "put(m, z), x",
    "fill_diagonal": "filled(m, z), x",
    "concatenate": "np.concatenate((z, x)), np.concatenate((m, m), 1)",
    "concat": "np.concatenate((x, z)), x",
    "stack": "np.stack((z, x)), np.stack((z, w), 1)",
    "hstack": "np.hstack((z, x)), x",
    "vstack": "np.vstack((m, z)), x",
    "row_stack": "np.vstack((z, x)), x",
    "dstack": "np.dstack((z, w)), x",
    "column_stack": "np.column_stack((z, x)), x",
    "append": "np.append(z, 1.0), np.append(x, 2j)",
    "atleast_1d": "np.atleast_1d(z) * 2, x",
    "atleast_2d": "np.atleast_2d(z) * 2, x",
    "atleast_3d": "np.atleast_3d(m) * 2, x",
    "repeat": "np.repeat(z, 2), np.repeat(m, 2, 1)",
    "tile": "np.tile(z, 2), np.tile(z, (2, 1))",
    "flip": "np.flip(z), np.flip(m, 1)",
    "flipud": "np.flipud(m), x",
    "fliplr": "np.fliplr(m), x",
    "rot90": "np.rot90(m), x",
    "roll": "np.roll(z, 1), np.roll(m, 2, 1)",
    "moveaxis": "np.moveaxis(m, 0, 1), x",
    "squeeze": "np.squeeze(m[:1], 0), x",
    "rollaxis": "np.rollaxis(m, 1), x",
    "matrix_transpose": "np.matrix_transpose(m) * 1j, x",
    "astype": "np.astype(z, np.complex128) * 2, x",
    "ix_": "m[np.ix_(np.array([0, 2]), np.array([1, 0]))], x",
    "choose": "np.choose(np.array([0, 1, 1, 0]), (z, 2j * z)), x",
    "piecewise": "np.piecewise(z, [x > 0.7], [lambda v: v * v, 1.0]), x",
    "cumulative_sum": "np.cumulative_sum(z), x",
    "cumulative_prod": "np.cumulative_prod(z), x",
    "matvec": "np.matvec(m.T, m[:, 0]), x",
    "asfortranarray": "np.asfortranarray(m) * 2, x",
    "broadcast_to": "np.broadcast_to(z, (2, 4)) * 1j, x",
    "broadcast_arrays": "np.broadcast_arrays(z, m)[0] * 2, x",
    "broadcast_shapes": "z, x",
    "resize": "np.resize(z, 6), x",
    "array_split": "np.array_split(z, 3)[1], x",
    "split": "np.split(z, 2)[1], x",
    "vsplit": "np.vsplit(m, 3)[1], x",
    "hsplit": "np.hsplit(m, 2)[1], x",
    "dsplit": "z, x",
    "linalg.matrix_transpose": "np.linalg.matrix_transpose(m) * 1j, x",
    **{f"fft.{name}": f"np.fft.{name}(z), np.fft.{name}(m, 3, 0)" for name in ("fft", "ifft", "irfft", "hfft")},
    **{f"fft.{name}": f"np.fft.{name}(x), np.fft.{name}(z.imag, 3)" for name in ("rfft", "ihfft")},
    **{f"fft.{name}": f"np.fft.{name}(m), x" for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn")},
    **{f"fft.{name}": f"np.fft.{name}(m.real), x" for name in ("rfft2", "rfftn")},
    **{f"fft.{name}": f"np.fft.{name}(z), x" for name in ("fftshift", "ifftshift")},
    **{f"fft.{name}": f"z * np.fft.{name}(5)[1], x" for name in ("fftfreq", "rfftfreq")},
    "where": "np.where(x > 0.7, z, x), np.where(z.imag > 0, 0.0, m)",
}


def test_every_function_of_arrays_is_tested():
    names = {dotted_name(function).removeprefix("np.") for function in complex_calls.functions()}
    paths = {name.replace("numpy.", "") for name in names}
    assert paths <= ARRAYS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", ARRAYS)
def test_function_of_arrays(name):
    def put(m, z):
        m = m.copy()
        np.copyto(m, z[0])
        return m

    def filled(m, z):
        m = m.copy()
        np.fill_diagonal(m, z[0])
        return m

    rng = np.random.default_rng(11)
    z, w, m = (rng.uniform(0.4, 1.5, shape) + 1j * rng.uniform(-1, 1, shape) for shape in (4, 4, (3, 4)))
    f = from_text(f"def f(z, w, m, x):\n    return {ARRAYS[name]}\n", filled=filled, put=put)
    check(f, (z, w, m, rng.uniform(0.3, 1.2, 4)), skip_kinks=True)
