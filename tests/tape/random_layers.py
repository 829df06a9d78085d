"""Random programs that loop over lists of layers, held to the oracle (`fuzz.py`).

The list is made in some way of pairs of variables or arrays; loops go over it, between which items are changed; what
is differentiated, and by what, is drawn, too.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tapec import GradientTape, Variable, constant
from tapec.errors import TapecError
from tapec.transforms import rerolled_loops
from tests.tape import oracle_tape as oracle
from tests.tape.random_objects import compiled, reasons

# how the list is made of `pairs`, how a loop begins, and what an item gives
LISTS = {
    "pairs": ("layers = pairs", "for w, b in layers:"),
    "tuple": ("layers = tuple(pairs)", "for k, (w, b) in enumerate(layers):"),
    "fields": ("layers = [Pair(w, b) for w, b in pairs]", "for one in layers:\n    w, b = one.first, one.second"),
    "objects": ("layers = [Layer(w, b) for w, b in pairs]", "for one in layers:\n    w, b = one.w, one.b"),
    "values": ("layers = {str(k): pair for k, pair in enumerate(pairs)}", "for w, b in layers.values():"),
    "items": ("layers = dict(enumerate(pairs))", "for k, (w, b) in layers.items():"),
    "zip": ("layers = pairs", "for w, b in zip([w for w, _ in layers], [b for _, b in layers]):"),
    "places": ("layers = pairs", "for k in range(len(layers)):\n    w, b = layers[k]"),
    "reversed": ("layers = pairs", "for w, b in reversed(layers):"),
    "slice": ("layers = pairs", "for w, b in layers[1:]:"),
    "neighbours": ("layers = pairs", "for (w, _), (_, b) in zip(layers, layers[1:]):"),
    "flat": ("layers = [w for w, _ in pairs]", "for w in layers:\n    b = w"),
}
STEPS = [
    "x = np.sin(x * w) + b", "x = x + w * b", "x = x * 0.5 + np.cos(x) * w", "s = s + np.sum(w * x)", "x = x * s",
    "kept.append(x)", "s = s + np.sum(b * b)", "y = x * w\n    x = y - b", "x = x * q", "x = half(x, w)",
    "if s > 0.4:\n        x = x * w", "x = x * (1.0 + len(kept))",
]  # fmt: skip
BETWEEN = [
    "pass", "pass", "pairs[0][0].assign(x)", "pairs[-1] = pairs[0]", "pairs[1] = x, pairs[1][1]", "q = x * 1.0",
    "x = pairs[2][0] * x", "t.watch(x)", "pairs.append(pairs[0])",
]  # fmt: skip
FRAME = '''
from collections import namedtuple

import numpy as np

Pair = namedtuple("Pair", "first second")

class Layer:
    def __init__(self, w, b):
        self.w, self.b = w, b

def half(u, w):
    for _ in range(2):
        u = u * 0.5
    return u + w

def run(GradientTape, constant, Variable, values):
    pairs = [({w}, {b}) for k in range({count})]
    {alias}
    {made}
    flat = [one for pair in pairs for one in pair]
    q, start = constant(np.array([0.3, 0.5])), constant(np.array([0.9, -0.4]))
    with GradientTape(persistent=True) as t:
        t.watch([start])
        {watch}
        x, s, kept = start, 0.1, []
        {body}
        total = np.sum(x * x) + s
    sources = {sources}
    return [t.gradient({target}, one) for one in sources], total
'''
ARRAYS = {"variable": "Variable({})", "constant": "constant({})", "frozen": "Variable({}, trainable=False)"}


def program(rng: random.Random) -> str:
    """The text of one program."""
    kinds = rng.choices(list(ARRAYS), k=2, weights=[4, 2, 1])
    texts = [ARRAYS[kind].format(f"values[{k}] * (k + 1)") for k, kind in enumerate(kinds)]
    made, head = LISTS[rng.choice(list(LISTS))]
    body = []
    for _ in range(rng.choice([1, 1, 2])):
        steps = rng.sample(STEPS, rng.choice([1, 2, 3]))
        body += [*head.split("\n"), *("    " + step for step in steps), *rng.choice(BETWEEN).split("\n")]
    body = [line for step in body for line in step.split("\n")]
    return FRAME.format(
        w=texts[0],
        b=texts[1],
        count=rng.choice([0, 1, 3, 4, 5, 6, 7]),
        alias=rng.choice(["pass"] * 4 + ["pairs[-1:] = pairs[:1]", "pairs = pairs[:1] * len(pairs)"]),
        made=made,
        watch=rng.choice(["t.watch(flat)", "t.watch(flat)", "t.watch(flat[:3])", "pass"]),
        body="\n        ".join(body),
        sources=rng.choice(["[*flat, start]", "[*flat, start]", "flat[1:2] + flat[-1:]", "[start]", "flat[::2]"]),
        target=rng.choice(["total", "total", "total", "s", "x", "kept[-1]"]),
    )


def examine(seed: int, pairs: int = 0, runs: int = 2, mixed: bool = False) -> tuple[int, int]:
    """Compare one program of the product; how many answers were compared and how many refused."""
    del pairs, mixed
    text = program(random.Random(seed))
    # short loops, too
    rerolled_loops._LONG = rerolled_loops._OF_NUMBERS = 1
    run, shown = compiled(text, f"layers {seed}"), text[text.index("def run") :]
    done = refused = 0
    for k in range(runs):
        values = np.array([0.4, 0.7 - 0.2 * k]), np.array([-0.3, 0.2 + 0.1 * k])
        expected = _expected(run, values)
        if expected is None:
            continue
        try:
            found, value = run(lambda **flags: GradientTape(**flags, jit=False), constant, Variable, values)
        except TapecError as error:
            assert "has another value" not in error.message, f"{shown}\n{error}"
            reasons[error.message] += 1
            refused += 1
            continue
        right, expected_value = expected
        assert np.allclose(value, expected_value), f"{shown}\n{value} and not {expected_value}"
        for place, (one, other) in enumerate(zip(found, right, strict=True)):
            if one is None or other is None:
                assert one is None and other is None, f"{shown}\nsource {place}: {one} and not {other}"
            else:
                assert np.allclose(one, other, rtol=1e-9), f"{shown}\nsource {place}: {one} and not {other}"
            done += 1
    return done, refused


def _expected(run: Any, values: Any) -> Any:
    """The oracle's answers, and the target's value; None where the program itself fails."""
    oracle.ACTIVE.clear()
    try:
        found, value = run(oracle.OracleTape, oracle.Traced, oracle.OracleVariable, values)
    except (KeyError, IndexError, UnboundLocalError, TypeError, ValueError, AttributeError):
        return None
    return [None if one is None else one.value for one in found], getattr(value, "value", value)
