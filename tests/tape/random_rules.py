"""Random functions with derivatives of their own: `python -m tests.tape.random_rules --minutes N`.

A program is written twice: with rules, and with plain functions in their place.  All derivatives have to be the same.
"""

from __future__ import annotations

import functools
import math
import random
import sys
import time
from typing import Any

import numpy as np

import tapec
from tapec.backend.carrier import from_text

# a value, and its derivatives by x and z
FORMULAS = (
    ("np.sin({x}) * {z}", "np.cos({x}) * {z}", "np.sin({x})"),
    ("{x} * {x} * {z}", "2.0 * {x} * {z}", "{x} * {x}"),
    ("np.exp(0.3 * {x}) + {z}", "0.3 * np.exp(0.3 * {x})", "1.0 + 0.0 * {z}"),
    ("{x} / (2.0 + {z} * {z})", "1.0 / (2.0 + {z} * {z})", "-2.0 * {z} * {x} / (2.0 + {z} * {z}) ** 2"),
    ("np.tanh({x}) * np.cos({z})", "(1.0 - np.tanh({x}) ** 2) * np.cos({z})", "-np.tanh({x}) * np.sin({z})"),
)
# how a rule comes by its derivatives: lines of the function, and what the rule reads
RESIDUALS = (
    ((), "{a}", "{b}"),
    (("e, g = {a}, {b}",), "e", "g"),
    (("kept = [{a}, ({b}, x)]",), "kept[0]", "kept[1][0]"),
    (("kept = {{'e': {a}, 'more': [z, {b}]}}",), "kept['e']", "kept['more'][1]"),
    (
        ("def helper(k):", "    def inner(one):", "        return one * k")
        + ("    return inner", "by, g = helper({a}), {b}"),
        *("by(1.0)", "g"),
    ),
    (("first = functools.partial(times, {a})", "g = lambda: {b}"), "first(1.0)", "g()"),
)
CALLERS = (
    "return np.sum({f} * w)",
    "s = 0.0\nfor i in range(x.shape[0]):\n    s = s * 0.5 + {fi} * s + x[i]\nreturn s",
    "s = 1.0\nfor i in range(x.shape[0]):\n    if x[i] > 0.2:\n        s += {fi} * s\n    else:\n"
    "        s = s * x[i]\nreturn s",
    "return sum([{fi} * x[0] for i in range(x.shape[0])])",
    "y = {f}\ny[0] = x[1] * y[0]\nreturn np.sum(y * y)",
    "s, i = 0.0, 0\nwhile s < 5.0 and i < x.shape[0]:\n    s += {fi} ** 2\n    i += 1\nreturn s * x[0]",
)


class Writer:
    """Writes one program, with rules and plain."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.values: list[tuple[str, str, str]] = list(FORMULAS)
        self.calls: list[str] = []
        self.registers = False

    def rule(self, name: str) -> tuple[list[str], list[str]]:
        rng = self.rng
        value, a, b = (one.format(x="x", z="z") for one in rng.choice(self.values))
        lines, by_x, by_z = rng.choice(RESIDUALS)
        lines = [one.format(a=a, b=b) for one in lines]
        by_x, by_z = by_x.format(a=a, b=b), by_z.format(a=a, b=b)
        several = rng.random() < 0.3
        default = rng.choice(("", "=0.7"))
        head = f"def {name}(x, z{default}):"
        plain = [head, f"    return {'(' if several else ''}{value}{', 2.0 * x)' if several else ''}"]
        dy = ("da, db", "da * ({0}) + 2.0 * db", "da * ({0})") if several else ("dy", "dy * ({0})", "dy * ({0})")
        pull = [f"def pull({dy[0]}):", f"    return {dy[1].format(by_x)}, {dy[2].format(by_z)}"]
        dot = f"dx * ({by_x}) + dz * ({by_z})"
        result = f"({value}, 2.0 * x)" if several else value
        tangent = f"({dot}, 2.0 * dx)" if several else dot
        push = ["def push(dx, dz):", f"    return {tangent}"]
        form = rng.choice(("gradient", "jvp", "defjvp", "both", "vjp=", "jvp="))
        jvp = [f"@{name}.defjvp", f"def {name}_jvp(primals, tangents):", "    x, z = primals", "    dx, dz = tangents"]
        jvp += [f"    {one}" for one in (*lines, f"return {result}, {tangent}")]
        inner = {"gradient": (*lines, *pull, f"return {result}, pull")}
        inner |= {"jvp": (*lines, *push, f"return {result}, push")}
        inner |= {"both": inner["gradient"], "defjvp": (f"return {result}",), "vjp=": (), "jvp=": ()}
        decorator = "custom_gradient" if form in ("gradient", "both") else "custom_jvp"
        ruled = [f"@tapec.{decorator}", head, *(f"    {one}" for one in inner[form])]
        if form in ("both", "defjvp"):
            ruled += jvp
        if form in ("vjp=", "jvp="):
            self.registers = True
            rule = f"def {name}_rule(d, y, x, z{default}):"
            taken = "dx, dz = d" if form == "jvp=" else f"{dy[0]} = d" if several else "dy = d"
            rule_body = (taken, *lines, f"return {tangent}" if form == "jvp=" else pull[1].strip())
            ruled = [*plain, f"{name} = Unreadable({name})", rule, *(f"    {one}" for one in rule_body)]
            ruled += [f"tapec.register({name}, {form}{name}_rule)"]
        picked = "[0]" if several else ""
        # other rules may be made of this one
        self.values.append(
            (
                f"{name}({{x}}, {{z}}){picked}",
                *(one.replace("x", "{x}").replace("z", "{z}").replace("e{x}p", "exp") for one in (a, b)),
            )
        )
        given = rng.choice(("{x}, {z}", "{x}, z={z}", "z={z}, x={x}", *(["{x}"] if default else [])))
        more = f" + {name}({given})[1]" if several and rng.random() < 0.5 else ""
        self.calls.append(f"({name}({given}){picked}{more})")
        return ruled, plain

    def program(self) -> tuple[str, str]:
        rng = self.rng
        rules = [self.rule(f"f{k}") for k in range(rng.randint(1, 3))]
        caller = rng.choice(CALLERS)
        call = rng.choice(self.calls)
        inner = rng.choice(self.calls) if rng.random() < 0.4 else "{x}"
        z = rng.choice(("s", "w[i]", "x[0]"))
        if "s" not in caller.split():
            z = "w[i]"
        whole, single = inner.format(x="x", z="w"), inner.format(x="x[i]", z="w[0]")
        caller = caller.replace("{f}", call.format(x=whole, z="w")).replace("{fi}", call.format(x=single, z=z))
        texts = []
        inside = rng.random() < 0.4 and not self.registers
        for k in range(2):
            body = [f"    {line}" for line in caller.split("\n")]
            definitions = [line for rule in rules for line in rule[k]]
            if inside:
                lines = ["def loss(x, w):", *(f"    {line}" for line in definitions), *body]
            else:
                lines = [*definitions, "def loss(x, w):", *body]
            texts.append("\n".join(lines) + "\n")
        return texts[0], texts[1]


class Unreadable:
    """A function that is called as it is."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def times(k: Any, one: Any) -> Any:
    return k * one


def made(text: str) -> Any:
    space = {"np": np, "tapec": tapec, "functools": functools, "math": math, "times": times, "__name__": __name__}
    space["Unreadable"] = Unreadable
    return from_text("loss", text, space)


def check(seed: int) -> None:
    """Compare the derivatives of a program with rules with those of a plain one."""
    ruled_text, plain_text = Writer(seed).program()
    ruled, plain = made(ruled_text), made(plain_text)
    rng = np.random.default_rng(seed)
    x, w = rng.uniform(-1.0, 1.0, 4), rng.uniform(-1.0, 1.0, 4)
    t = rng.uniform(-1.0, 1.0, 4)
    try:
        same("value", ruled(x.copy(), w), plain(x.copy(), w))
        for wrt in (0, (0, 1)):
            same("grad", tapec.grad(ruled, wrt)(x, w), tapec.grad(plain, wrt)(x, w))
        same("jvp", tapec.jvp(ruled, (x, w), (t, w)), tapec.jvp(plain, (x, w), (t, w)))
        same("hvp", tapec.hvp(ruled)(x, w, t), tapec.hvp(plain)(x, w, t))
        same("hessian", tapec.hessian(ruled)(x, w), tapec.hessian(plain)(x, w))
        if seed % 3 == 0:
            same("tape", _by_tape(ruled, x, w), tapec.grad(plain)(x, w))
        if seed % 5 == 0:
            nested = made(ruled_text + "\n\ninner = loss\n\n\ndef loss(x, w):\n    return tapec.grad(inner)(x, w)[1]\n")
            same("nested", tapec.grad(nested)(x, w), tapec.hessian(plain)(x, w)[1])
    except Exception as error:
        raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}\n{ruled_text}") from error


def _by_tape(loss: Any, x: Any, w: Any) -> Any:
    v = tapec.Variable(x)
    with tapec.GradientTape() as tape:
        y = loss(v * 1.0, w)
    return tape.gradient(y, v)


def same(what: str, found: Any, wanted: Any) -> None:
    one, other = (np.concatenate([np.ravel(a) for a in _flat(tree)]) for tree in (found, wanted))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11, err_msg=what)


def _flat(tree: Any) -> list[Any]:
    return [leaf for one in tree for leaf in _flat(one)] if isinstance(tree, tuple | list) else [tree]


def main(minutes: float, seed: int) -> None:
    end, failed, count = time.monotonic() + 60 * minutes, 0, 0
    while time.monotonic() < end:
        count += 1
        try:
            check(seed + count)
        except AssertionError as error:
            failed += 1
            print(str(error)[:2500], flush=True)
    print(f"{count} programs, {failed} failed")


if __name__ == "__main__":
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    main(float(options.get("--minutes", 1)), int(options.get("--seed", 0)))
