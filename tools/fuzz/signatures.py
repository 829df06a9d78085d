"""Random signatures and calls: every way of passing, every kind of argument, every derivative.

    python -m tools.fuzz.signatures [--minutes N] [--seed N] [--count N]

A function adds up the squares of what its arguments hold, each argument with a weight.  What Python's own call
returns is the value that every derivative must have; the gradient by an argument is known: twice the weight times
what the argument holds, in the argument's structure.
"""

from __future__ import annotations

import functools
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FunctionType
from typing import Any

import click
import numpy as np

import tapec
from tools.fuzz.examination import load

HEADER = '''import collections, dataclasses, functools
import numba
import numpy as np
import tapec
Pair = collections.namedtuple("Pair", ["low", "high"])
@dataclasses.dataclass
class Record:
    first: float
    rest: np.ndarray
class Holder:
    def __init__(self, weight): self.weight, self.name = weight, "holder"
def square(v): return v * v
plus = lambda z: z + 1.0
def taped(target, source, args, named):
    with tapec.GradientTape() as tape:
        tape.watch(source)
        value = target(*args, **named)
    return value, tape.gradient(value, source)
def called_from_jitted(derivative, args):
    @numba.njit
    def caller(*given): return derivative(*given)
    return caller(*args)
'''
# the kinds of arguments: what makes a value of two numbers, and the sum of its squares as text
KINDS: dict[str, tuple[str, str]] = {
    "number": ("{0}", "{v} ** 2"),
    "vector": ("np.array([{0}, {1}])", "np.sum({v} ** 2)"),
    "fortran": ("np.asfortranarray([[{0}, 1.0], [{1}, 2.0]])", "np.sum({v} ** 2)"),
    "strided": ("np.array([{0}, 9.0, {1}, 9.0])[::2]", "np.sum({v} ** 2)"),
    "tuple": ("({0}, (np.array([{1}]), {0}))", "({v}[0] ** 2 + np.sum({v}[1][0] ** 2) + {v}[1][1] ** 2)"),
    "named": ("Pair({0}, {1})", "({v}.low ** 2 + {v}.high ** 2)"),
    "record": ("Record({0}, np.array([{1}, {0}]))", "({v}.first ** 2 + np.sum({v}.rest ** 2))"),
    "object": ("Holder({0})", "{v}.weight ** 2"),
    "list": ("[{0}, {1}, {0}]", "({v}[0] ** 2 + {v}[1] ** 2 + {v}[2] ** 2)"),
    "dict": ('{{"a": {0}, "b": np.array([{1}])}}', '({v}["a"] ** 2 + np.sum({v}["b"] ** 2))'),
    "five numbers": ("[{0}, {1}, {0}, {1}, {0}]", "sum(w ** 2 for w in {v})"),
    "layers": (
        "[({0}, np.array([{1}, 2.0])), ({1}, np.ones(3)), ({0}, np.ones(1)), ({1}, np.ones(2))]",
        "sum(w ** 2 + np.sum(b * b) for w, b in {v})",
    ),
    "dict of a function": ('{{"act": square, "a": {0}}}', '{v}["act"]({v}["a"])'),
    "list of functions": ("[square, plus, {0}]", "({v}[0]({v}[2]) + {v}[1](-1.0))"),
    "named functions": ("Pair({0}, plus)", "{v}.low ** 2 * {v}.high(0.0)"),
}
# those that Numba has types for
OF_NUMBA = frozenset({"number", "vector", "fortran", "strided", "tuple", "named", "integer", "flag", "none"})
# what has no derivative: a value, and what it adds
KNOWN: dict[str, tuple[str, str]] = {
    "none": ("None", "(0.0 if {v} is None else 1.0)"),
    "text": ('"fast"', '(1.0 if {v} == "fast" else 2.0)'),
    "function": ("square", "{v}(3.0)"),
    "lambda": ("plus", "{v}(2.0)"),
    "ufunc": ("np.exp", "{v}(0.0)"),
    "partial": ("functools.partial(square, 2.0)", "{v}()"),
    "dtype": ("np.float64", "np.zeros(2, {v}).sum()"),
    "integer": ("{2}", "{v}"),
    "flag": ("True", "(1.0 if {v} else 2.0)"),
}
FORMS = ("function", "method", "partial", "callable", "closure", "decorated", "static")
# names that hide others
NAMES = ("x", "y", "range", "min", "np_", "max", "t", "data", "numba", "tapec_runtime", "abs", "zip")


class Call:
    """A function with some signature, as text, and arguments for it."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        names = rng.sample(NAMES, 6)
        count = rng.randint(1, 3)
        self.kinds = {name: rng.choice([*KINDS, *rng.sample(list(KNOWN), 3)]) for name in names[:count]}
        self.kinds[names[0]] = rng.choice(list(KINDS))
        self.source = names[0]
        self.only = names[4] if rng.random() < 0.3 else ""
        self.rest = "rest" if rng.random() < 0.4 else ""
        self.named = "named" if rng.random() < 0.3 else ""
        self.default = rng.random() < 0.3
        self.form = rng.choice(FORMS)
        self.text = HEADER + self._function()

    def _function(self) -> str:
        heads = list(self.kinds)
        if self.default:
            heads.append("extra=2.0")
        if self.rest:
            heads.append("*rest")
        if self.only:
            heads.append(f"{self.only}=3.0" if self.rest or self.rng.random() < 0.5 else f"*, {self.only}=3.0")
        if self.named:
            heads.append("**named")
        terms = [f"{weight + 2.0} * {self._term(name)}" for weight, name in enumerate(self.kinds)]
        terms += ["extra ** 2"] if self.default else []
        terms += ["len(rest) * 5.0 + sum(rest)"] if self.rest else []
        terms += [f"{self.only} * 0.5"] if self.only else []
        terms += ['named["scale"] + len(named)'] if self.named else []
        own = "self, " if self.form in ("method", "callable") else ""
        name = {"callable": "__call__", "decorated": "inner"}.get(self.form, "f")
        scale = {"method": "self.k * ", "callable": "self.k * ", "closure": "k * "}.get(self.form, "1.0 * ")
        body = f"def {name}({own}{', '.join(heads)}):\n    return {scale}({' + '.join(terms)})\n"
        indented = "".join(f"    {line}\n" for line in body.splitlines())
        init = "    def __init__(self, k): self.k = k\n"
        match self.form:
            case "method" | "callable":
                made = "M(1.5).f" if self.form == "method" else "M(1.5)"
                return f"class M:\n{init}{indented}target = {made}\n"
            case "static":
                return f"class M:\n    @staticmethod\n{indented}target = M.f\n"
            case "closure":
                return f"def make(k):\n{indented}    return f\ntarget = make(1.5)\n"
            case "decorated":
                return (
                    "def twice(function):\n    @functools.wraps(function)\n    def wrapper(*args, **kwargs):\n"
                    f"        return 2.0 * function(*args, **kwargs)\n    return wrapper\n{body}target = twice(inner)\n"
                )
            case "partial":
                return f"{body}target = functools.partial(f)\n"
        return f"{body}target = f\n"

    def _term(self, name: str) -> str:
        kind = self.kinds[name]
        return (KINDS.get(kind) or KNOWN[kind])[1].format(v=name)

    @property
    def scale(self) -> float:
        """What all of the value is multiplied by."""
        return {"method": 1.5, "callable": 1.5, "closure": 1.5, "decorated": 2.0}.get(self.form, 1.0)

    def arguments(self, module: Any, round_: int) -> tuple[list[Any], dict[str, Any]]:
        """Arguments by position and by name: others in each round."""
        numbers = [round(self.rng.uniform(0.5, 2.0), 3) for _ in range(2)] + [self.rng.randint(1, 4)]
        texts = {name: (KINDS.get(kind) or KNOWN[kind])[0].format(*numbers) for name, kind in self.kinds.items()}
        made = {name: eval(text, vars(module)) for name, text in texts.items()}
        by_name: dict[str, Any] = {}
        positional = list(made.values())
        if not self.rest and round_ % 2 and len(made) > 1:
            name = list(made)[-1]
            by_name[name] = positional.pop()
        if self.rest and not self.default:
            positional += [float(k) for k in range(round_ % 3)]
        if self.only and round_ % 2:
            by_name[self.only] = 4.0
        if self.named:
            by_name |= {"scale": 1.5, **({"other": 2.0} if round_ % 2 else {})}
        return positional, by_name


def doubled(value: Any, weight: float) -> Any:
    """The gradient of `weight` times the sum of squares."""
    if isinstance(value, dict):
        return {key: doubled(item, weight) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [doubled(item, weight) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, float | np.ndarray):
        return 2.0 * weight * value
    if callable(value):
        return None
    return {name: doubled(item, weight) for name, item in vars(value).items() if not isinstance(item, str)}


def agree(found: Any, expected: Any, like: Any) -> None:
    """Raise AssertionError unless a gradient has the value, and the caller's own types; None for functions."""
    if callable(like):
        assert found is None, found
        return
    if isinstance(like, float | np.ndarray):
        assert np.allclose(found, expected, rtol=1e-12), (found, expected)
        assert np.shape(found) == np.shape(expected), (found, expected)
        return
    assert type(found) is type(like), (type(found), type(like))
    if isinstance(like, dict):
        assert list(found) == list(like), (found, like)
        for key in like:
            agree(found[key], expected[key], like[key])
    elif isinstance(like, tuple | list):
        assert len(found) == len(like), (found, like)
        for parts in zip(found, expected, like, strict=True):
            agree(*parts)
    else:
        for name, one in expected.items():
            agree(getattr(found, name), one, getattr(like, name))


def check(seed: int, folder: Path) -> None:
    """Call the derivatives of a seed's function; raises AssertionError or what a call raises that it should not."""
    call = Call(seed)
    module = load(call.text, folder)
    target = module.target
    both = tapec.value_and_grad(target)
    # other callables are refused there
    compiled = tapec.function(target) if isinstance(target, FunctionType) and not call.named else target
    for round_ in range(3):
        args, named = call.arguments(module, round_)
        value = target(*args, **named)
        source = args[0] if args else named[call.source]
        gradient = doubled(source, 2.0 * call.scale)
        found, by = both(*args, **named)
        assert np.isclose(found, value, rtol=1e-12), ("value", found, value)
        agree(by, gradient, source)
        if isinstance(source, np.ndarray):
            found, by = module.taped(target, source, args, named)
            assert np.isclose(found, value, rtol=1e-12), ("tape", found, value)
            agree(by, gradient, source)
        assert np.isclose(compiled(*args, **named), value, rtol=1e-12), "function"
        if named or round_:
            continue
        again, pull = tapec.vjp(target, *args)
        assert np.isclose(again, value, rtol=1e-12), ("vjp", again, value)
        agree(pull(1.0)[0], gradient, source)
        tangents = [source, *(None for _ in args[1:])]
        again, moved = tapec.jvp(target, args, tangents)
        squares = functools.reduce(lambda total, leaf: total + float(np.sum(leaf)), leaves(gradient, source), 0.0)
        assert np.isclose(moved, squares, rtol=1e-12), ("jvp", moved, squares)
        if not isinstance(source, list):
            agree(tapec.jacobian(target)(*args), gradient, source)
        gathered = (call.rest and call.only) or call.form == "decorated"
        if isinstance(target, FunctionType) and not (named or gathered) and OF_NUMBA.issuperset(call.kinds.values()):
            found, by = module.called_from_jitted(both, args)
            assert np.isclose(found, value, rtol=1e-12), ("jitted", found, value)
            agree(by, gradient, source)
        # the Hessian of a sum of squares is a multiple of the identity
        if not (call.default or isinstance(source, list)):
            agree(tapec.hvp(target)(*args, source), gradient, source)
        if isinstance(source, float | np.ndarray):
            found = tapec.hessian(target)(*args)
            assert np.shape(found) == np.shape(source) * 2, ("hessian", found)
            assert np.allclose(np.tensordot(found, source, np.ndim(source)), gradient), ("hessian", found)


def leaves(gradient: Any, source: Any) -> list[Any]:
    """The products of a gradient and what it is taken by."""
    if isinstance(source, float | np.ndarray):
        return [gradient * source]
    if callable(source):
        return []
    if isinstance(source, dict):
        return [leaf for key in source for leaf in leaves(gradient[key], source[key])]
    if isinstance(source, tuple | list):
        return [leaf for pair in zip(gradient, source, strict=True) for leaf in leaves(*pair)]
    return [leaf for name, one in gradient.items() for leaf in leaves(one, getattr(source, name))]


@click.command()
@click.option("--minutes", type=float, default=1.0, show_default=True, help="How long to run.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--count", type=int, default=None, help="Stop after this many seeds.")
@click.option("--keep-going", is_flag=True, help="Go on after a failure.")
def main(minutes: float, seed: int, count: int | None, keep_going: bool) -> None:
    """Check the calls of consecutive seeds until the time is over."""
    deadline, failed, refused, done = time.monotonic() + 60.0 * minutes, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < deadline and (count is None or done < count):
            try:
                check(seed, Path(folder))
            except tapec.errors.UnsupportedType as error:
                refused += 1
                click.echo(f"seed {seed} is refused: {error}")
            except Exception:
                failed += 1
                click.echo(f"seed {seed}: {traceback.format_exc(limit=-2)}\n{Call(seed).text[len(HEADER) :]}")
                if not keep_going:
                    break
            done, seed = done + 1, seed + 1
    click.echo(f"{done} calls, {refused} refused, {failed} failed; next seed {seed}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
