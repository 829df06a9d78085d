"""Random programs of NumPy's functions that give a view, the array itself, or a copy, and of stores into either side.

    python -m tools.fuzz.memory [--minutes N] [--seed N] [--count N]

Python's value is the measure, and central differences of it.  Numba has few of these functions as NumPy has them, so
it is not asked.  A program in which only the run knows whether NumPy copies may raise; it counts as refused.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click
import numpy as np

import tapec
from tapec.errors import TapecError
from tools.fuzz.examination import load

SHAPES = ("", ".reshape(2, 3)", ".reshape(3, 2)", ".reshape(1, 6)", ".reshape(-1, 1)", ".reshape(2, 3).T")
ORDERS = ("C", "F", "A", "K")
# of an array `a`; `o` is an order
FORMS = (
    *("np.asarray({a}, order='{o}')", "np.array({a}, copy=None, order='{o}')", "np.array({a}, order='{o}')"),
    *("np.asarray({a}, dtype=float)", "np.asarray({a}, copy=True)", "np.asanyarray({a})", "np.copy({a})"),
    *("{a}.astype(float, order='{o}', copy=False)", "np.astype({a}, float, copy=False)", "{a}.astype(float)"),
    *("np.ascontiguousarray({a})", "np.ascontiguousarray({a}, dtype=float)", "np.asfortranarray({a})"),
    *("{a}.ravel()", "{a}.ravel(order='F')", "{a}.flatten()", "{a}.reshape(-1)", "np.reshape({a}, -1, copy=True)"),
    *("{a}.T", "{a}[::-1]", "{a}[1:]", "{a}[..., ::2]", "{a}[..., None]", "{a}[[0, -1]]", "np.flip({a})"),
    *("np.atleast_1d({a})", "np.atleast_2d({a})", "np.expand_dims({a}, 0)", "np.transpose({a})", "+{a}", "{a} * 1.0"),
    *("np.concatenate([{a}])", "np.roll({a}, 0)", "np.where(True, {a}, {a})", "np.real({a})", "np.abs({a})"),
)
REFUSED, PASSED, SKIPPED = "refused", "passed", "skipped"
X = np.linspace(0.3, 1.4, 6)


def program(seed: int) -> str:
    """The text of a seed's program: arrays made of each other, and stores between."""
    rng = random.Random(f"memory {seed}")
    lines, names = ["y = (x * 1.0)" + rng.choice(SHAPES)], ["y"]
    for k in range(rng.randint(1, 4)):
        lines.append(f"z{k} = " + rng.choice(FORMS).format(a=rng.choice(names), o=rng.choice(ORDERS)))
        names.append(f"z{k}")
        for _ in range(rng.randint(0, 2)):
            place, other = rng.randint(-1, 1), rng.choice(names)
            sign = rng.choice(("=", "+=", "*="))
            lines.append(f"{rng.choice(names)}[{place}] {sign} {rng.choice(('2.0', '0.5'))} * {other}.sum() * x[{k}]")
    total = " + ".join(f"{k + 1}.0 * ({name} ** 2).sum()" for k, name in enumerate(names))
    return "import numpy as np\ndef program(x):\n    " + "\n    ".join([*lines, f"return {total}"]) + "\n"


def examine(seed: int, folder: Path) -> str:
    """Check a seed's program; raises AssertionError where its derivative is another one."""
    function = load(program(seed), folder).program
    try:
        value = function(X)
    except (ValueError, IndexError):
        return SKIPPED
    try:
        found, gradient = tapec.value_and_grad(function)(X)
        _, tangent = tapec.jvp(function, (X,), (np.cos(X),))
    except TapecError:
        return REFUSED
    except ValueError as error:
        if "makes no copy" in str(error):
            return REFUSED
        raise
    steps = np.eye(6) * 1e-6
    wanted = np.array([(function(X + step) - function(X - step)) / 2e-6 for step in steps])
    size = max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(found, value, rtol=1e-9, err_msg="value")
    np.testing.assert_allclose(gradient / size, wanted / size, atol=1e-6, err_msg="gradient")
    np.testing.assert_allclose(tangent / size, wanted @ np.cos(X) / size, atol=1e-5, err_msg="tangent")
    return PASSED


@click.command()
@click.option("--minutes", type=float, default=1.0, show_default=True, help="How long to run.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--count", type=int, default=None, help="Stop after this many seeds.")
def main(minutes: float, seed: int, count: int | None) -> None:
    """Check the programs of consecutive seeds until the time is over, or one fails."""
    end, totals = time.monotonic() + 60.0 * minutes, Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        while time.monotonic() < end and (count is None or totals.total() < count):
            try:
                totals[examine(seed, Path(name))] += 1
            except Exception as error:
                click.echo(f"seed {seed}: {error}\n{program(seed)}")
                sys.exit(1)
            seed += 1
    click.echo(", ".join(f"{number} {status}" for status, number in sorted(totals.items())) + f"; next seed {seed}")


if __name__ == "__main__":
    main()
