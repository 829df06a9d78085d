"""`tapec.torch` against PyTorch: its own checks of derivatives, and what users do with functions of tensors."""

from __future__ import annotations

import doctest
import functools
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tapec.torch  # noqa: E402  after the library is known to be there
from tapec.errors import TypeMismatch, UnsupportedFunction, UsageError  # noqa: E402

pytestmark = pytest.mark.slow


def energy(x, k):
    total = 0.0
    for i in range(1, x.shape[0]):
        total += 0.5 * k * (x[i] ** 2 - x[i - 1]) ** 2
    return total


def response(x, steps, A, scale=None):
    y = A @ np.sin(x)
    for _ in range(steps):
        y = np.tanh(y) + (y if scale is None else scale * y)
    return y, np.sum(x * x), steps


def double(x):
    return x * x


def leaf(*shape, dtype=torch.float64):
    generator = torch.Generator().manual_seed(3)
    return torch.rand(shape, dtype=dtype, generator=generator).requires_grad_()


def test_gradients_of_both_orders():
    f, x, k = tapec.torch.wrap(energy), leaf(5), leaf()
    assert torch.autograd.gradcheck(f, (x, k), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, (x, k))


def test_a_tuple_of_results_of_several_types():
    f, x, A = tapec.torch.wrap(response), leaf(4), leaf(3, 4)
    y, squares, steps = f(x, 2, A)
    assert (y.shape, squares.shape, steps.dtype, steps.requires_grad) == ((3,), (), torch.int64, False)
    assert torch.autograd.gradcheck(lambda x, A: f(x, 2, A)[:2], (x, A), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda x, A: f(x, torch.tensor(2), A, scale=None)[:2], (x, A))


def test_one_result_of_a_tuple_is_used():
    x, A = leaf(4), leaf(3, 4)
    tapec.torch.wrap(response)(x, 2, A)[1].backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    assert not A.grad.any()


def test_third_derivatives():
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    first = torch.autograd.grad(tapec.torch.wrap(lambda x: x**4)(x), x, create_graph=True)[0]
    second = torch.autograd.grad(first, x, create_graph=True)[0]
    assert torch.autograd.grad(second, x)[0].item() == 48.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_dtypes_are_kept(dtype):
    x = torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    y = tapec.torch.wrap(double)(x)
    (y.real.sum() if dtype.is_complex else y.sum()).backward()
    assert y.dtype is x.grad.dtype is dtype
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_complex_numbers_have_the_gradients_of_autograd():
    z = torch.tensor([1.0 + 2.0j, -0.5j], dtype=torch.complex128, requires_grad=True)
    f = tapec.torch.wrap(lambda z: z * z * np.conjugate(z))
    assert torch.autograd.gradcheck(f, (z,))
    ours, theirs = (torch.autograd.grad((g(z) * (2 - 1j)).imag.sum(), z)[0] for g in (f, lambda z: z * z * z.conj()))
    torch.testing.assert_close(ours, theirs)
    (conjugate,) = torch.autograd.grad(f(z.conj()).real.sum(), z)
    torch.testing.assert_close(conjugate, torch.autograd.grad((z * z.conj() * z.conj()).real.sum(), z)[0])


LAYOUTS = {
    "transposed": lambda x: x.T,
    "every other row": lambda x: x[::2],
    "without a column": lambda x: x[:, 1:],
    "expanded": lambda x: x[:1].expand(3, 4),
    "empty": lambda x: x[:0],
}


@pytest.mark.parametrize("change", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(change):
    whole = leaf(5, 4)

    def total(x):
        s = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                s += np.sin(x[i, j]) * (i + 1.0)
        return s

    def reference(x):
        return (torch.sin(x) * torch.arange(1.0, x.shape[0] + 1, dtype=x.dtype)[:, None]).sum()

    ours, theirs = (torch.autograd.grad(f(change(whole)), whole)[0] for f in (tapec.torch.wrap(total), reference))
    torch.testing.assert_close(ours, theirs)


def test_memory_is_shared_on_the_way_in():
    seen = []
    see = tapec.opaque(lambda x: seen.append(x.ctypes.data) or 0.0, "f8")
    x = leaf(1000)
    tapec.torch.wrap(lambda x: see(x) + np.sum(x))(x.detach())
    assert seen == [x.data_ptr()]


def test_what_needs_no_gradient_has_none():
    x, k = leaf(5), leaf().detach()
    loss = tapec.torch.wrap(energy)(x, k)
    loss.backward()
    assert k.grad is None and x.grad is not None
    assert not tapec.torch.wrap(energy)(x.detach(), k).requires_grad
    with torch.no_grad():
        assert not tapec.torch.wrap(energy)(x, k).requires_grad


@pytest.mark.parametrize("wrt", [0, "x", ("x",), -2])
def test_wrt(wrt):
    x, k = leaf(5), leaf()
    tapec.torch.wrap(energy, wrt=wrt)(x, k).backward()
    assert k.grad is None and x.grad is not None


@pytest.mark.parametrize("wrt", ["z", 2, -3, 0.5, ("x", 2)])
def test_parameters_that_are_not_there(wrt):
    with pytest.raises(UsageError, match="no parameter"):
        tapec.torch.wrap(energy, wrt=wrt)


def test_calls_that_python_refuses():
    f, x = tapec.torch.wrap(energy), leaf(3)
    with pytest.raises(TypeError, match="too many positional arguments"):
        f(x, 2.0, x)
    with pytest.raises(TypeError, match="missing a required argument: 'k'"):
        f(x)
    with pytest.raises(UsageError, match="not a function with Python source"):
        tapec.torch.wrap(torch.sin)(x)


def test_arguments_that_share_memory():
    x = leaf(4)
    f = tapec.torch.wrap(lambda a, b: np.sum(a * b * b))
    torch.testing.assert_close(torch.autograd.grad(f(x, x), x)[0], 3 * x.detach() ** 2)
    ours, theirs = (torch.autograd.grad(y, x)[0] for y in (f(x[1:], x[:-1]), (x[1:] * x[:-1] ** 2).sum()))
    torch.testing.assert_close(ours, theirs)
    assert torch.autograd.gradgradcheck(lambda x: f(x, x), (x,))


def test_parts_that_are_not_compiled_by_torch():
    x = leaf(3).detach()
    f = torch.compiler.disable(tapec.torch.wrap(energy))
    torch.testing.assert_close(torch.compile(lambda x: f(2 * x, 2.0) + 1, backend="eager")(x), f(2 * x, 2.0) + 1)


def test_arguments_by_name_and_callables_of_all_kinds():
    class Spring:
        def __init__(self, k):
            self.k = k

        def energy(self, x):
            return energy(x, self.k)

    x = leaf(5)
    expected = tapec.torch.wrap(energy)(x, 2.0)
    for f in (Spring(2.0).energy, functools.partial(energy, k=2.0), lambda x: energy(x, 2.0)):
        assert torch.autograd.gradcheck(tapec.torch.wrap(f), (x,))
        torch.testing.assert_close(tapec.torch.wrap(f)(x=x), expected)
    torch.testing.assert_close(tapec.torch.wrap(lambda x, *, k: energy(x, k))(x, k=2.0), expected)
    with pytest.raises(TypeError, match="by name alone: k"):
        tapec.torch.wrap(lambda x, *, k: energy(x, k))(x, k=leaf())


def test_results_that_are_views_of_arguments_are_copied():
    x = leaf(4)
    y = tapec.torch.wrap(lambda x: (x[::-1], x, x))(x)
    torch.testing.assert_close(y[0], x.flip(0))
    with torch.no_grad():
        y[1].zero_()
    assert x.all() and y[2].all()


def test_an_argument_that_is_written_is_refused():
    def normalised(x):
        x /= np.sum(x)
        return np.sum(x * x)

    with pytest.raises(TypeMismatch, match="read-only"):
        tapec.torch.wrap(normalised)(leaf(3))


def test_errors_of_tapec_and_of_the_function_are_not_hidden():
    def fails(x):
        if x[0] > 0.0:
            raise ValueError("x is positive")
        return x[0]

    with pytest.raises(ValueError, match="x is positive"):
        tapec.torch.wrap(fails)(leaf(2))
    with pytest.raises(UnsupportedFunction):
        tapec.torch.wrap(lambda x: np.sum(np.busday_count(x, x)))(leaf(2))


def test_arguments_that_cannot_be_taken():
    f = tapec.torch.wrap(double)
    with pytest.raises(TypeError, match="device meta"):
        f(torch.ones(2, device="meta"))
    with pytest.raises(TypeError, match="layout torch.sparse_coo"):
        f(torch.ones(2).to_sparse())
    with pytest.raises(TypeError, match="torch.bfloat16"):
        f(torch.ones(2, dtype=torch.bfloat16))
    with pytest.raises(TypeError, match="float16"):
        f(torch.ones(2, dtype=torch.float16))
    with pytest.raises(TypeError, match="inside a container"):
        f([torch.ones(2)])
    with pytest.raises(TypeError, match="a result of .*tuple"):
        tapec.torch.wrap(lambda x: (x, (x, x)))(torch.ones(2))


def test_a_saved_tensor_that_changes_is_an_error():
    x = leaf(3)
    y = x * 1.0
    loss = tapec.torch.wrap(energy)(y, 2.0)
    y.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_graph_is_kept_only_if_asked():
    x = leaf(3)
    loss = tapec.torch.wrap(energy)(x, 2.0)
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_transforms_of_torch_func():
    f, x = tapec.torch.wrap(energy), leaf(5).detach()
    hessian = torch.func.hessian(f)(x, 2.0)
    torch.testing.assert_close(hessian, torch.autograd.functional.hessian(lambda x: f(x, 2.0), x))
    torch.testing.assert_close(hessian, torch.func.hessian(lambda x: (x[1:] ** 2 - x[:-1]).square().sum())(x))
    rows = torch.stack([x, 2 * x])
    gradients = torch.vmap(torch.func.grad(f), in_dims=(0, None))(rows, 2.0)
    torch.testing.assert_close(gradients, torch.stack([torch.func.grad(f)(row, 2.0) for row in rows]))


class Layer(torch.nn.Module):
    """A module with a parameter, and a function of arrays inside."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((4,), 0.5))
        self.f = tapec.torch.wrap(weighted)

    def forward(self, x):
        return self.f(self.weight, x)


def weighted(w, x):
    return np.tanh(x @ w)


def test_a_module_is_trained_and_saved(tmp_path):
    torch.manual_seed(0)
    x = torch.randn(50, 4)
    y = torch.tanh(x @ torch.tensor([1.0, -1.0, 0.5, 0.0]))
    model = torch.nn.Sequential(Layer())
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=50)

    def closure():
        optimiser.zero_grad()
        loss = torch.mean((model(x) - y) ** 2)
        loss.backward()
        return loss

    optimiser.step(closure)
    assert closure() < 1e-6
    torch.save(model, tmp_path / "model.pt")
    again = torch.load(tmp_path / "model.pt", weights_only=False)
    torch.testing.assert_close(again(x), model(x))


class Rows(torch.utils.data.Dataset):
    """A data set whose rows are made by a function of arrays."""

    def __init__(self):
        self.f = tapec.torch.wrap(energy)

    def __len__(self):
        return 6

    def __getitem__(self, index):
        x = torch.linspace(0.0, 1.0, 4, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(self.f(x, float(index)), x)[0]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_data_loader(start):
    loader = torch.utils.data.DataLoader(Rows(), batch_size=3, num_workers=2, multiprocessing_context=start)
    found = torch.cat(list(loader))
    torch.testing.assert_close(found, torch.arange(6.0, dtype=torch.float64)[:, None] * found[1])


def test_a_wrapped_function_is_pickled_with_its_options():
    f = pickle.loads(pickle.dumps(tapec.torch.wrap(energy, wrt="x", strict=True)))
    assert (f.f, f.wrt, f.options) == (energy, "x", {"strict": True})
    assert f.__name__ == "energy"


def test_the_examples_of_the_module():
    assert doctest.testmod(tapec.torch).failed == 0
