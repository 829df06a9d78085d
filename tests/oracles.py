"""What a derivative must satisfy, whatever the function: the checks that most tests share.

`check` runs a function's reverse and forward mode side by side and holds them to

    value      both modes return what the function returns, and leave its arguments as it does
    transpose  <u, J t> = <J' u, t> for random u and t, to 1e-10
    direction  J t against central differences of the function itself, to 1e-7

Both are run by the interpreter, reverse mode with Numba's types inferred (`typed.py`), unless a test asks for machine
code: a compilation is what takes the time.  Some cases of each kind ask for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import tapec
import tapec_runtime
import tapec_runtime.scipy_special
from tests.typed import interpreted, typed

# what is imported when it is first used is compiled or not by what holds then: not while `interpreted`
for name in tapec_runtime.__all__:
    getattr(tapec_runtime, name)

Args = tuple[Any, ...]

# of a function and the positions to differentiate, as `tapec.value_and_grad`
Gradient = Callable[[Callable[..., Any], tuple[int, ...]], Callable[..., Any]]

# which derivatives of a check are machine code
Compiled = Literal["", "reverse", "both"]

VALUE_TOLERANCE = 1e-11
TRANSPOSE_TOLERANCE = 1e-10
ROUNDING_FLOOR = 1e-14
DIFFERENCE_TOLERANCE = 1e-7
SINGLE_TOLERANCE = 1e-4


class Mismatch(AssertionError):
    """A derivative that fails a check; the message says which and by how much."""


def map_tree(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """Apply `function` to the corresponding leaves of tuples, lists and dicts of one structure."""
    if isinstance(first, tuple):
        mapped = [map_tree(function, *group) for group in zip(first, *others, strict=True)]
        return type(first)(*mapped) if hasattr(first, "_fields") else tuple(mapped)
    if isinstance(first, list):
        return [map_tree(function, *group) for group in zip(first, *others, strict=True)]
    if isinstance(first, dict):
        return {key: map_tree(function, first[key], *(other[key] for other in others)) for key in first}
    return function(first, *others)


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dicts, in order."""
    if isinstance(tree, (tuple, list)):
        for item in tree:
            yield from leaves(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)
    else:
        yield tree


def is_float(leaf: Any) -> bool:
    """Whether a leaf is a floating-point scalar or array, real or complex."""
    return isinstance(leaf, (float, complex, np.inexact)) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc")


def is_complex(leaf: Any) -> bool:
    """Whether a leaf is a complex scalar or array."""
    return is_float(leaf) and bool(np.iscomplexobj(leaf))


def any_single(tree: Any) -> bool:
    """Whether any leaf is of single precision."""
    return any(np.asarray(leaf).dtype in (np.float32, np.complex64) for leaf in leaves(tree) if is_float(leaf))


def clone_array(a: np.ndarray) -> np.ndarray:
    """A copy with the same layout (contiguous or strided either way) and the same write flag."""
    if a.flags.c_contiguous or a.flags.f_contiguous:
        out = a.copy(order="K")
    else:
        steps = tuple(slice(None, None, -2 if stride < 0 else 2) for stride in a.strides)
        out = np.empty(tuple(2 * extent for extent in a.shape), a.dtype)[steps]
        out[...] = a
    out.setflags(write=a.flags.writeable)
    return out


def clone(args: Args) -> Args:
    """Copies of the arguments; an array that is passed twice is copied once."""
    copies: dict[int, np.ndarray] = {}

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        if id(leaf) not in copies:
            copies[id(leaf)] = clone_array(leaf)
        return copies[id(leaf)]

    return map_tree(copy, args)


def shifted(args: Args, wrt: tuple[int, ...], tangents: Args, step: float) -> Args:
    """Copies of the arguments, those in `wrt` moved by `step` along their tangents."""

    def move(leaf: Any, tangent: Any) -> Any:
        if not is_float(leaf):
            return leaf
        if not isinstance(leaf, np.ndarray):
            return leaf + step * tangent
        moved = clone_array(leaf)
        moved.setflags(write=True)
        moved += step * tangent
        moved.setflags(write=leaf.flags.writeable)
        return moved

    copies = list(clone(args))
    for position, tangent in zip(wrt, tangents, strict=True):
        copies[position] = map_tree(move, args[position], tangent)
    return tuple(copies)


def float_vector(tree: Any) -> np.ndarray:
    """All the floating-point leaves of an output, in one vector; complex ones by their parts."""
    parts = [part for leaf in leaves(tree) if is_float(leaf) for part in _real_parts(leaf)]
    return np.concatenate([np.zeros(0), *parts])


def _real_parts(leaf: Any) -> list[np.ndarray]:
    parts = (np.real(leaf), np.imag(leaf)) if is_complex(leaf) else (leaf,)
    return [np.asarray(part, dtype=float).ravel() for part in parts]


def random_like(rng: np.random.Generator, tree: Any) -> Any:
    """Normal numbers of a tree's shape; None for leaves that are not floating-point."""

    def draw(leaf: Any) -> Any:
        if not is_float(leaf):
            return None
        drawn = rng.normal(size=np.shape(leaf))
        if is_complex(leaf):
            drawn = drawn + 1j * rng.normal(size=np.shape(leaf))
        return np.asarray(drawn, dtype=leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(drawn)

    return map_tree(draw, tree)


def inner(left: Any, right: Any) -> tuple[float, float]:
    """The inner product of two trees, and the sum of the absolute terms, to judge rounding by.

    Complex numbers count as pairs of real ones.
    """
    total = size = 0.0
    for a, b in zip(leaves(left), leaves(right), strict=True):
        if a is None or b is None:
            continue
        terms = np.multiply(np.concatenate(_real_parts(a)), np.concatenate(_real_parts(b)))
        total += float(np.sum(terms))
        size += float(np.sum(np.abs(terms)))
    return total, size


def same(label: str, got: Any, wanted: Any, tolerance: float = VALUE_TOLERANCE) -> None:
    """Raise unless two trees agree in structure, shape and value (nan equals nan)."""
    got_leaves, wanted_leaves = list(leaves(got)), list(leaves(wanted))
    if len(got_leaves) != len(wanted_leaves):
        raise Mismatch(f"{label}: structure differs: {got!r} against {wanted!r}")
    for a, b in zip(got_leaves, wanted_leaves, strict=True):
        if b is None or isinstance(b, str) or a is None:
            ok = a == b
        else:
            ok = np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        if not ok:
            raise Mismatch(f"{label}: {a!r} against {b!r}")


def central_difference(
    f: Callable[..., Any], args: Args, wrt: tuple[int, ...], tangents: Args, step: float
) -> np.ndarray:
    """The derivative of `f` along `tangents`, by the fourth-order central formula."""

    def value(h: float) -> np.ndarray:
        return float_vector(f(*shifted(args, wrt, tangents, h)))

    near = value(step) - value(-step)
    far = value(2 * step) - value(-2 * step)
    return (8.0 * near - far) / (12.0 * step)


def reverse(
    f: Callable[..., Any], args: Args, wrt: tuple[int, ...], cotangent: Any, split: bool, gradient: Gradient
) -> tuple[Any, Args]:
    """The value and the gradients times `cotangent`, by `vjp` if `split`, else by `gradient(f, wrt)`."""
    if split:
        out, pullback = tapec.vjp(f, *args)
        gradients = pullback(cotangent)
        with scribbled(args, out):
            same("second pull", pullback(cotangent), gradients, 0.0)
        return out, tuple(gradients[position] for position in wrt)
    out, gradients = gradient(f, wrt)(*args)
    return out, gradients


@contextmanager
def scribbled(*trees: Any) -> Iterator[None]:
    """Other numbers in all arrays for a while: a pullback must not depend on what becomes of them."""
    arrays = [leaf for leaf in leaves(trees) if isinstance(leaf, np.ndarray) and leaf.flags.writeable]
    old = [array.copy() for array in arrays]
    for array in arrays:
        array[...] = 1
    yield
    for array, values in zip(arrays, old, strict=True):
        array[...] = values


def float_positions(args: Args) -> tuple[int, ...]:
    """The positions of the arguments that hold floating-point numbers alone."""
    return tuple(k for k, arg in enumerate(args) if (found := list(leaves(arg))) and all(map(is_float, found)))


@dataclass(frozen=True)
class Derivative:
    """What reverse mode gives.

    wrt        positions of the differentiated arguments
    value      what the function returns
    after      the arguments as it leaves them
    split      whether a cotangent was pulled back, rather than one
    cotangent  what was pulled back
    gradients  the result, one per position
    """

    wrt: tuple[int, ...]
    value: Any
    after: Args
    split: bool
    cotangent: Any
    gradients: tuple[Any, ...]


def check(
    f: Callable[..., Any],
    args: Args,
    wrt: tuple[int, ...] | None = None,
    *,
    split: bool | None = None,
    differences: bool = True,
    original: Callable[..., Any] | None = None,
    skip_kinks: bool = False,
    forward: bool = True,
    forward_level: Literal[0, 1, 2] | None = None,
    compiled: Compiled = "",
    step: float = 1e-4,
    seed: int = 0,
    also: Callable[[Derivative], None] | None = None,
    gradient: Gradient = tapec.value_and_grad,
) -> bool:
    """Hold the derivatives of `f` at `args` to the three checks above.

    wrt          positions to differentiate; by default all that are floating-point
    split        reverse by `vjp` rather than `value_and_grad`; by default where the output isn't a float scalar
    differences  whether central differences apply (not at kinks, nor in single precision)
    original     what to take values and differences from, by default `f` run by Python
    skip_kinks   leave out central differences where two step sizes disagree
    forward      whether forward mode is checked; if not, it is where there are no differences to check reverse mode by
    forward_level  the level of forward mode, where the claim is about the other; by default that of both
    compiled     what is machine code
    also         another check of what reverse mode gave
    gradient     what makes a gradient; `functools.cache` of it where a function is checked at several arguments
    returns      whether central differences were compared
    """
    rng = np.random.default_rng(seed)
    original = original or f
    wrt = float_positions(args) if wrt is None else wrt
    after = clone(args)
    wanted = original(*after)
    single = any_single((args, wanted))
    tolerance = SINGLE_TOLERANCE if single else VALUE_TOLERANCE
    is_scalar = isinstance(wanted, (float, np.floating))
    split = not is_scalar if split is None else split
    tangents = tuple(random_like(rng, args[position]) for position in wrt)
    cotangent = random_like(rng, wanted) if split else 1.0

    mine = clone(args)
    with nullcontext() if compiled else typed():
        out, gradients = reverse(f, mine, wrt, cotangent, split, gradient)
    same("value by reverse", out, wanted, tolerance)
    same("arguments after reverse", mine, after, tolerance)
    for position, gradient in zip(wrt, gradients, strict=True):
        kinds = [_kind(leaf) for leaf in leaves(args[position])]
        if [_kind(leaf) for leaf in leaves(gradient)] != kinds:
            raise Mismatch(f"gradient of argument {position}: {gradient!r} has not the argument's kind {kinds}")
    if also is not None:
        also(Derivative(wrt, wanted, after, split, cotangent, tuple(gradients)))

    numeric = _differences(original, args, wrt, tangents, step, skip_kinks) if differences and not single else None
    reverse_product, reverse_size = inner(gradients, tangents)
    if numeric is not None and not forward:
        weights = float_vector(cotangent)
        allowed = DIFFERENCE_TOLERANCE * (1.0 + np.max(np.abs(numeric), initial=0.0)) * np.sum(np.abs(weights))
        if not abs(reverse_product - weights @ numeric) <= allowed:
            raise Mismatch(f"reverse against central differences: {reverse_product!r} against {weights @ numeric!r}")
        return True

    mine = clone(args)
    level: dict[str, Any] = {} if forward_level is None else {"opt_level": forward_level}
    every = [None] * len(args)
    for position, tangent in zip(wrt, tangents, strict=True):
        every[position] = tangent
    with nullcontext() if compiled == "both" else interpreted():
        out, out_dot = tapec.jvp(f, mine, tuple(every), **level)
    same("value by jvp", out, wanted, tolerance)
    same("arguments after jvp", mine, after, tolerance)

    forward_product, forward_size = inner(cotangent, out_dot)
    # terms inside the program may be of order one and cancel: a product near zero keeps their rounding
    allowed = (SINGLE_TOLERANCE if single else TRANSPOSE_TOLERANCE) * (forward_size + reverse_size) + ROUNDING_FLOOR
    if not abs(forward_product - reverse_product) <= allowed:
        raise Mismatch(f"reverse against forward: {reverse_product!r} against {forward_product!r}")

    if numeric is None:
        return False
    allowed = DIFFERENCE_TOLERANCE * (1.0 + np.max(np.abs(numeric), initial=0.0))
    analytic = float_vector(out_dot)
    if numeric.shape != analytic.shape or not np.all(np.abs(numeric - analytic) <= allowed):
        raise Mismatch(f"forward against central differences: {analytic!r} against {numeric!r}")
    return True


def _differences(
    f: Callable[..., Any], args: Args, wrt: tuple[int, ...], tangents: Args, step: float, skip_kinks: bool
) -> np.ndarray | None:
    """Central differences; with `skip_kinks` None where those of two step sizes disagree."""
    numeric = central_difference(f, args, wrt, tangents, step)
    if skip_kinks:
        closer = central_difference(f, args, wrt, tangents, step / 3)
        allowed = 0.3 * DIFFERENCE_TOLERANCE * (1.0 + np.max(np.abs(numeric), initial=0.0))
        if not np.all(np.abs(numeric - closer) <= allowed):
            return None
    return numeric


def _kind(leaf: Any) -> tuple[tuple[int, ...], str]:
    """Shape and dtype; Numba returns a scalar of either precision as a Python float."""
    return np.shape(leaf), str(leaf.dtype) if isinstance(leaf, np.ndarray) else "scalar"


@dataclass(frozen=True)
class Case:
    """A function with argument lists to check it at; forward mode at the first of them."""

    f: Callable[..., Any]
    arguments: tuple[Args, ...]
    wrt: tuple[int, ...] | None
    differences: bool
    compiled: Compiled

    def __str__(self) -> str:
        return self.f.__name__

    def check(self) -> None:
        """Check the function at each of its argument lists."""
        made = functools.cache(tapec.value_and_grad)
        for k, args in enumerate(self.arguments):
            rest: dict[str, Any] = {"compiled": self.compiled, "gradient": made, "forward": k == 0}
            check(self.f, args, self.wrt, differences=self.differences, **rest)


class Cases(list[Case]):
    """A module's table of cases, filled by using it as a decorator.

    @cases((vec(3), 2.0), (vec(0), 2.0))
    def f(x, a): ...
    """

    def __call__(
        self, *arguments: Args, wrt: tuple[int, ...] | None = None, differences: bool = True, compiled: Compiled = ""
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(f: Callable[..., Any]) -> Callable[..., Any]:
            self.append(Case(f, arguments, wrt, differences, compiled))
            return f

        return add


def arr(*shape: int, low: float = 0.2, high: float = 1.7) -> np.ndarray:
    """An array of distinct numbers, the same for the same shape."""
    rng = np.random.default_rng([7, *shape])
    return rng.uniform(low, high, shape)
