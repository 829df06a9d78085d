"""The random programs of `random_objects`, as compiled functions, held to the same oracle (`fuzz.py`)."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tapec import GradientTape, Variable, constant, function
from tapec.backend import jit
from tapec.errors import TapecError
from tapec.tape.compiled_functions import function_lowering
from tests.tape import oracle_tape as oracle
from tests.tape.random_objects import (
    LAYOUTS,
    PRELUDE,
    VALUES,
    Writer,
    compiled,
    complex_in_part,
    reasons,
    without_order,
)

FRAME = PRELUDE + '''
def make(GradientTape, constant, Variable, function, values):
    v, w, W = Variable(values[10]), Variable(values[11]), Variable(values[4:6])

    @function
    def run(a, b, c, d, k1, k2, k3, k4, k5, k6, A, B, C):
        h = [A, C]
        s = [k1, k2]
        m = {{"x": k3, "y": k4}}
        o = {kind}(k5, k6)
        {shift}
        e0, e1, e2 = a, b, c
        {tape}
        {behind}
        return [{answers}], [a, b, c, d, A, B]

    return run
'''


SHIFT = "def shift(u):\n            nonlocal d\n            d = d * u\n            return d\n"


TESTS = ("a > b", "c > 0.4", "k1 > 0.2", "np.sum(A) > b")

# a function that leaves the block early
PART = """def part(a, b, c, d, A, B, s, m, o, h):
        e0, e1, e2 = a, b, c
        with GradientTape(persistent=True{flag}) as t:
            {watch}
            {body}
            if {test}:
                return t, a, b, c, d, A, B, s, m, o, h, e0
            {more}
            if {other}:
                return t, a, b, c, d, A, B, s, m, o, h, e1
        return t, a, b, c, d, A, B, s, m, o, h, e2

    t, a, b, c, d, A, B, s, m, o, h, e0 = part(a, b, c, d, A, B, s, m, o, h)"""


def behind(rng: random.Random) -> list[str]:
    """Statements behind a block that choose among its values."""
    names = ["a", "b", "c", "d", "s[0]", 'm["x"]', "o.p", "e0", "e1"]

    def one() -> str:
        return rng.choice(names)

    into, test = rng.choice(["a", "b", "e0", "e1", "e2", "s[0]", "o.q"]), f"{one()} > {rng.choice(['0.2', one()])}"
    choices = [
        [f"{into} = {one()} if {test} else {one()}"],
        [f"if {test}:", f"    {into} = {one()}"],
        [f"if {test}:", f"    {into} = {one()}", "else:", f"    {into} = {one()} * 1.5"],
        [f"if {test}:", f"    e1 = {one()}", f"    if {one()} > 0.1:", f"        e2 = {one()}", f"    c = {one()}"],
        [f"e2 = min({one()}, {one()}, {one()})"],
        [f"for u in [{one()}, {one()}]:", "    if u > e0:", "        e0 = u"],
        ["for i in range(3):", f"    if {one()} > 0.2 * i:", f"        {into} = {one()}"],
        [f"A = A if {test} else B"],
        [f"e2 = {one()} * 1.0"],
    ]
    return rng.choice(choices)


def program(seed: int, mixed: bool = False) -> str:
    rng = random.Random(seed)
    writer = Writer(rng, mixed)

    def block(indent: int) -> str:
        return ("\n" + " " * (indent + 4)).join(writer.block(2, rng.randint(1, 4)))

    watches = ["t.watch(a)", "t.watch([a, b])", "t.watch(s)", "t.watch(m)", "t.watch(o.p)", "t.watch(h)", "pass"]
    watch = rng.choice(watches)
    flag = rng.choice(["", "", ", watch_accessed_variables=False"])
    layout = rng.choice([LAYOUTS[0], LAYOUTS[0], LAYOUTS[1], LAYOUTS[3], PART]).replace("\n", "\n    ")
    deep = 12 if layout.startswith("def part") else 8
    tape = layout.format(
        flag=flag, watch=watch, body=block(deep), between=rng.choice(["pass", "a = a * b", "c = d"]), more=block(deep),
        flat=block(4), test=rng.choice(TESTS), other=rng.choice(TESTS),
    )
    after = "\n        ".join(line for _ in range(rng.randint(0, 3)) for line in behind(rng))
    places = ["a", "b", "c", "d", "s[0]", 'm["x"]', "o.p", "e0", "e1", "e2", "A", "B", "h[0]"]
    answers = [f"t.gradient({rng.choice(places)}, {rng.choice([*places, 'v', 'w', 'W'])})" for _ in range(8)]
    # what needs every decision is left out where it is not called, so that both ways of lowering are met
    if layout.startswith("def part"):
        tape = tape.replace("shift(", "np.tanh(")
    shift = SHIFT if "shift(" in tape else ""
    kind = rng.choice(["Box", "Counting"])
    text = FRAME.format(kind=kind, shift=shift, tape=tape, behind=after or "pass", answers=", ".join(answers))
    return without_order(text) if mixed else text


def examine(seed: int, runs: int = 3, mixed: bool = False) -> tuple[int, int]:
    """Compare one program on several sets of numbers; how many answers were compared and how many calls refused.

    mixed  some of the numbers are complex
    """
    text = program(seed, mixed)
    named = text.replace("def make(", "def run(")
    make, other = compiled(named, seed), compiled(named, seed)
    rng = random.Random(seed)
    done = refused = 0
    mine: Any = None
    for k in range(runs):
        values = VALUES if k == 0 else tuple(round(x + rng.uniform(-0.6, 0.6), 3) for x in VALUES)
        if mixed:
            values = complex_in_part(values, random.Random(seed))
        oracle.ACTIVE.clear()
        try:
            run = other(oracle.OracleTape, oracle.Traced, oracle.OracleVariable, lambda f: f, values)
            right = run(*(oracle.Traced(x) for x in _arguments(values)))
        except (KeyError, IndexError, UnboundLocalError, TypeError, ValueError):
            continue
        except RuntimeError:
            right = None
        if mine is None:
            mine = make(GradientTape, constant, Variable, function, values)
        else:
            _assign(mine, values)
        try:
            found = mine(*_arguments(values))
        except TapecError as error:
            reasons[error.message] += 1
            refused += 1
            continue
        except RuntimeError:
            assert right is None, text
            continue
        assert right is not None, text
        done += _compare(found, right, text)
    return done, refused


def _arguments(values: tuple[complex, ...]) -> list[Any]:
    return [*values[:10], *(np.array(values[k : k + 2]) for k in (0, 2, 6))]


def _assign(mine: Any, values: tuple[complex, ...]) -> None:
    cells = dict(zip(mine.py_func.__code__.co_freevars, mine.py_func.__closure__ or (), strict=True))
    for name, value in zip("vwW", (*values[10:], values[4:6]), strict=True):
        if name in cells:
            cells[name].cell_contents.assign(value)


def _compare(found: Any, right: Any, text: str) -> int:
    shown = text[text.index("def run(a") :]
    for x, y in zip(found[1], right[1], strict=True):
        number = y.read().value if isinstance(y, oracle.OracleVariable) else y.value
        assert np.allclose(np.asarray(x), number, rtol=1e-9, atol=1e-12), shown
    for k, (x, y) in enumerate(zip(found[0], right[0], strict=True)):
        if x is None or y is None:
            assert x is None and y is None, f"{shown}\nanswer {k}: {x} and not {getattr(y, 'value', None)}"
        else:
            close = np.allclose(np.asarray(x), y.value, rtol=1e-8, atol=1e-10)
            assert close, f"{shown}\nanswer {k}: {x} and not {y.value}"
    return len(found[0])


def interpreted() -> None:
    """Run the generated source as Python: what is tested is its meaning."""

    def load(program: Any) -> Any:
        plain = jit.load(program)

        def run(*arguments: Any) -> Any:
            with np.errstate(all="ignore"):
                return plain(*(np.float64(x) if type(x) is float else x for x in arguments))

        return run

    function_lowering.compile_function = load
