"""Arguments mean what the function's signature says, however they are given: by position, by name, or both."""

from __future__ import annotations

import ast
import linecache
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError
from tapec.frontend.library.argument_binding import by_position
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")

X = np.array([[0.31, -1.27, 2.6], [1.49, 0.55, -0.75]])

# calls with all that may be given by position, in order; each is made with every number of them by name
CALLS = """
pow(base=x[0, 1], exp=2)
round(number=x[0, 1], ndigits=1)
sum([x[0, 0], x[0, 1]], start=x[1, 0])
np.array([i * v for i, v in enumerate(iterable=[x[0, 0], x[0, 1]], start=3)])
x[0, 0] * complex(real=1.5, imag=2.0)
np.zeros(shape=2, dtype=np.float64, order="C") + x[0, 0]
np.empty(shape=(2, 0), dtype=np.float64, order="C")
np.ones(shape=(2,), dtype=np.float32, order="C") + x[0, 0]
np.full(shape=(2,), fill_value=x[0, 1], dtype=np.float64, order="C")
np.zeros_like(a=x, dtype=np.float64, order="K", subok=True, shape=(2,)) + x[0, 0]
np.ones_like(a=x, dtype=np.float64, order="K", subok=True, shape=2) * x[0, 0]
np.empty_like(x, dtype=np.float64, order="K", subok=True, shape=(2, 0))
np.full_like(a=x, fill_value=x[0, 1], dtype=np.float64, order="K", subok=True, shape=(4,))
np.array(object=x, dtype=np.float64)
np.asarray(a=x, dtype=np.float64)
np.ascontiguousarray(a=x, dtype=np.float64)
np.copy(a=x, order="K", subok=False)
np.reshape(a=x, shape=(3, 2), order="C")
np.ravel(a=x, order="C")
np.transpose(a=x, axes=(1, 0))
np.swapaxes(a=x, axis1=0, axis2=1)
np.squeeze(a=x[:1], axis=0)
np.expand_dims(a=x, axis=1)
np.size(a=x, axis=1) * x
np.roll(a=x, shift=1, axis=1)
np.tensordot(a=x, b=x, axes=((0, 1), (0, 1)))
np.round(a=x, decimals=1) * x
np.clip(a=x, a_min=-0.5, a_max=0.5)
np.sum(a=x, axis=1, dtype=None, out=None, keepdims=True, initial=0.5, where=True)
np.prod(a=x, axis=1, dtype=None, out=None, keepdims=True, initial=0.5)
np.mean(a=x, axis=1, dtype=None, out=None, keepdims=True)
np.std(a=x, axis=1, dtype=None, out=None, ddof=1, keepdims=True)
np.var(a=x, axis=1, dtype=None, out=None, ddof=1, keepdims=True)
np.max(a=x, axis=1, out=None, keepdims=True, initial=0.5)
np.min(a=x, axis=1, out=None, keepdims=True, initial=0.5)
np.ptp(a=x, axis=1, out=None, keepdims=True)
np.median(a=x, axis=1, out=None, overwrite_input=False, keepdims=True)
np.quantile(a=x, q=0.3, axis=1, out=None, overwrite_input=False, method="linear", keepdims=True)
np.nansum(a=x, axis=1, dtype=None, out=None, keepdims=True)
np.nanstd(a=x, axis=1, dtype=None, out=None, ddof=1, keepdims=True)
np.cumsum(a=x, axis=1, dtype=None, out=None)
np.nancumsum(a=x, axis=1, dtype=None, out=None)
np.concatenate((x, x), axis=1, out=None)
np.stack(arrays=(x, x), axis=1, out=None)
np.take(a=x, indices=np.array([0, 4]), axis=1, out=None, mode="clip")
np.choose(a=np.array([0, 1, 0]), choices=(x[0], x[1]), out=None, mode="raise")
np.compress(condition=np.array([True, False, True]), a=x, axis=1, out=None)
np.linalg.norm(x=x, ord=2, axis=1, keepdims=True)
np.fft.fft(a=x, n=3, axis=1, norm=None, out=None)
np.broadcast_to(array=x[0], shape=(2, 3), subok=False)
np.unique(ar=x, return_index=False, return_inverse=False, return_counts=False)
np.trapezoid(y=x, x=None, dx=0.5, axis=1)
np.diff(a=x, n=1, axis=1)
np.argmax(a=x[0], axis=0) * x
np.argsort(a=x[0], axis=-1, kind="quicksort") * x[0]
np.searchsorted(a=np.array([0.0, 1.0]), v=x[0], side="right") * x[0]
np.ravel_multi_index(multi_index=(np.array([1, 5]), np.array([2, 7])), dims=(2, 3), mode="wrap", order="F") * x[0, 0]
""".strip().splitlines()


def variants(text: str) -> list[str]:
    """The call with its first arguments by position and the others by name, for every number that Python takes."""
    tree: Any = ast.parse(text, mode="eval")
    found = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and any(key.arg for key in one.keywords)]
    call, made = found[0], []
    while True:
        made.append(ast.unparse(tree))
        if not call.keywords:
            return made
        call.args.append(call.keywords.pop(0).value)


def made(texts: list[str], number: int) -> Any:
    """A function of all these calls' results."""
    body = "".join(f"    total = total + np.sum(np.abs({text}) * {0.1 + k})\n" for k, text in enumerate(texts))
    source = f"def f(x):\n    total = 0.0\n{body}    return total\n"
    name = f"<calls {number}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)  # noqa: S102
    return scope["f"]


def taken(text: str) -> bool:
    """Whether Python takes the call."""
    try:
        made([text], 0)(X)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("text", sampled(CALLS, 8))
def test_each_way_to_give_arguments_means_the_same(text: str):
    texts = [one for one in variants(text) if taken(one)]
    texts = [texts[0], texts[len(texts) // 2], texts[-1]]
    f = made(texts, CALLS.index(text) + 1)
    assert tapec.jvp(f, (X,), (X,))[0] == pytest.approx(f(X), rel=1e-12)


def test_options_that_numpy_takes_by_position_are_refused_by_name():
    with pytest.raises(TapecError, match="`weights`"):
        tapec.grad(lambda x: np.histogram_bin_edges(x, 3, None, x)[0])(X[0])
    with pytest.raises(TapecError, match="takes 5 arguments, not 6"):
        tapec.grad(lambda x: np.diff(x, 1, 1, None, None, 3).sum())(X)


def test_parameters_by_position():
    assert [one.name for one in by_position(np.sum)] == ["a", "axis", "dtype", "out", "keepdims", "initial", "where"]
    assert by_position(max) == ()
