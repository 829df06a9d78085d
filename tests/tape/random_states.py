"""Random programs whose states are unpacked from parameters and run through loops, held to the oracle (`fuzz.py`).

A program is a way to unpack, an event between, a loop, and an end.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

from tapec import GradientTape, Variable, constant, function
from tapec.errors import TapecError
from tests.tape import oracle_tape as oracle
from tests.tape.random_objects import compiled, reasons

# how `z` and `q` come from `params`, a tuple of v and w; {rest} is what follows, where that must stand inside
WAYS = {
    "names": "z = v\nq = w",
    "tuple": "z, q = params",
    "brackets": "[z, q] = [v, w]",
    "indices": "z = params[0]\nq = params[-1]",
    "starred": "z, *more = params\nq = more[0]",
    "starred first": "*_, z, q = v, v, w",
    "nested": "(z, (q,)), _ = (v, (w,)), v",
    "loop": "for z, q in [params]:\n    pass",
    "loop with body": "for z, q in [params]:\n    {rest}",
    "zip": "for z, q in zip([v], [w]):\n    pass",
    "enumerate": "q = w\nfor _, z in enumerate([v]):\n    pass",
    "items": "for name, one in table.items():\n    if name == 'z':\n        z = one\n    else:\n        q = one",
    "values": "z, q = table.values()",
    "keys": "z, q = [table[name] for name in table]",
    "get": "z, q = table.get('z'), table.get('q', v)",
    "pop": "held = dict(table)\nz, q = held.pop('z'), held.pop('q')",
    "named tuple": "z, q = Pair(v, w)",
    "fields": "pair = Pair(v, w)\nz, q = pair.first, pair.second",
    "dataclass": "model = Model(v, w)\nz, q = model.first, model.second",
    "attributes": "box.first, box.second = params\nz, q = box.first, box.second",
    "arguments": "def body(z, q):\n    {rest}\n    return z, q\nz, q = body(*params)",
    "keywords": "def body(q, z):\n    {rest}\n    return z, q\nz, q = body(**table)",
    "defaults": "def body(z=v, q=w):\n    {rest}\n    return z, q\nz, q = body()",
    "rest": "def body(*both):\n    z, q = both\n    {rest}\n    return z, q\nz, q = body(v, w)",
    "closure": "def get():\n    return params\nz, q = get()",
    "lambda": "z, q = (lambda both: both)(params)",
    "list": "z, q = [one for one in params]",
    "generator": "z, q = (one for one in params)",
    "yield": "z, q = stream(params)",
    "next": "both = iter(params)\nz, q = next(both), next(both)",
    "list.pop": "both = [w, v]\nz, q = both.pop(), both.pop()",
    "map": "z, q = map(lambda one: one, params)",
    "reversed": "q, z = reversed(params)",
    "sorted": "z, q = sorted(params, key=lambda one: one is w)",
    "chain": "z, q = itertools.chain([v], [w])",
    "walrus": "if (z := params[0]) is not None:\n    q = w",
    "match": "match params:\n    case (z, q):\n        pass",
    "condition": "z = v if c > 0.5 else w\nq = w",
    "or": "z, q = None or v, w",
    "deque": "both = deque(params)\nz, q = both.popleft(), both.pop()",
    "caught": "try:\n    z, q = table['z'], np.linalg.cholesky(-np.eye(2)) * table['q']\n"
    "except np.linalg.LinAlgError:\n    z, q = table['z'], params[1]",
    "caught in a call": "def both(box):\n    box.second = w\n    return np.linalg.inv(np.zeros((2, 2))) * v\n"
    "try:\n    z = both(box)\nexcept np.linalg.LinAlgError:\n    z, q = v, box.second",
    "swap": "q, z = params\nz, q = q, z",
    "doubled": "z = y = v\nq = w",
    "sum": "z, q = sum(params), w",
    "starred call": "z, q = (lambda *both: both)(*params)",
}
BETWEEN = ["pass", "pass", "v.assign_add(0.3 * v)", "w.assign(v * 0.5)", "y = z * q", "t.watch(w)", "z = z * 1.0"]
LOOPS = {
    "none": "pass",
    "for": "for _ in range(2):\n    z = z * 2.0",
    "counter": "for k in range(3):\n    z = z * q + k",
    "none at all": "for _ in range(n - n):\n    z = z * 2.0",
    "unknown": "for _ in range(n):\n    z = z * 2.0",
    "while": "k = 0\nwhile k < 2:\n    z = z * 2.0\n    k += 1",
    "data": "for x in data:\n    z = z + x * q",
    "if": "for k in range(3):\n    if x > 0.5:\n        z = z * 2.0",
    "if else": "for k in range(3):\n    if k > c:\n        z = z * 2.0\n    else:\n        z = z - q",
    "if alone": "if c > 0.5:\n    z = z * 2.0",
    "nest": "for _ in range(2):\n    for _ in range(n):\n        z = z * 1.5\n    q = q + z",
    "helper": "for _ in range(2):\n    z = half(z, q)",
    "break": "for k in range(5):\n    if k > c:\n        break\n    z = z * 1.5",
    "continue": "for k in range(4):\n    if k < c:\n        continue\n    z = z * 1.5",
    "swap": "for _ in range(3):\n    z, q = q, z * 0.5",
    "pure swap": "for _ in range(3):\n    z, q = q, z",
    "augmented": "z = z * 1.0\nfor _ in range(2):\n    z += q",
    "list": "s = [z, q]\nfor k in range(2):\n    s[k] = s[k] * 2.0\nz, q = s",
    "append": "out = []\nfor _ in range(3):\n    out.append(z)\n    z = z * 0.9\nq = out[-1]",
    "dict": "s = {'z': z, 'q': q}\nfor _ in range(3):\n    s = {k: u * 0.9 for k, u in s.items()}\nz, q = s.values()",
    "pairs": "s = z, q\nfor _ in range(3):\n    s = s[1], s[0] * 0.5\nz, q = s",
    "again": "for _ in range(3):\n    z = params[0]\n    q = q + z",
    "either": "for k in range(4):\n    z = params[k % 2] * 0.5 if k > c else params[1]",
    "attribute": "box.first = z\nfor _ in range(2):\n    box.first = box.first * q\nz = box.first",
    "assigned": "for _ in range(2):\n    z = z * 2.0\nv.assign(0.3 * q)\nq = q * v",
}
ENDS = ["y = z * 1.0 + q * 0.5", "y = z * q", "y = z + 0.0", "y = q * 1.0\nt.watch(z)\ny = y + z * q"]
MODES = ("scalar", "array", "constant", "frozen", "late")

FRAME = '''
import dataclasses
import itertools
from collections import deque, namedtuple

import numpy as np

Pair = namedtuple("Pair", "first second")

@dataclasses.dataclass
class Model:
    first: object
    second: object

class Box:
    pass

def stream(values):
    for one in values:
        yield one

def half(u, w):
    for _ in range(2):
        u = u * 0.5
    return u + w

def make(GradientTape, constant, Variable, function, values):
    {made}
    params, box, table = (v, w), Box(), dict(z=v, q=w)
    data, c, x, n = values[2], values[3], values[4], values[5]
    {decorator}
    def run():
        with GradientTape(persistent=True) as t:
            {watch}
            {body}
        return [{answers}], y
    return run
'''

MADE = {
    "scalar": "v, w = Variable(values[0]), Variable(values[1])",
    "array": "v, w = Variable(np.array([values[0], 0.3])), Variable(np.array([values[1], -0.2]))",
    "constant": "v, w = constant(values[0]), constant(values[1])",
    "frozen": "v, w = Variable(values[0], trainable=False), Variable(values[1])",
    "late": "v, w = Variable(values[0], trainable=False), Variable(values[1], trainable=False)",
}


def program(way: str, between: str, loop: str, end: str, mode: str, compiled_function: bool) -> str:
    """The text of one program."""
    loop = LOOPS[loop]
    if mode == "constant":
        between, loop = (re.sub(r"\b([vw])\.assign(_add)?\((.*)\)", "y = 0.0", text) for text in (between, loop))
    body = WAYS[way]
    if "{rest}" in body:
        place = body[: body.index("{rest}")].rpartition("\n")[2]
        inside = f"{between}\n{loop}" if "assign" not in between + loop or "nonlocal" in body else loop
        if "t.watch" in inside or "y =" in inside:
            inside = loop
        body = body.replace("{rest}", inside.replace("\n", "\n" + place))
    else:
        body = f"{body}\n{between}\n{loop}"
    body = f"y = 0.0\n{body}\n{end}" if end.startswith("y = q * 1.0") else f"{body}\n{end}"
    watch = {"constant": "t.watch(params)", "frozen": "t.watch(v)"}.get(mode, "pass")
    if mode == "late":
        body += "\nt.watch(v)\ny = y + v * z"
    return FRAME.format(
        made=MADE[mode],
        decorator="@function" if compiled_function else "",
        watch=watch,
        body=body.replace("\n", "\n            "),
        answers="t.gradient(y, v), t.gradient(y, w), t.gradient(y, [z, q][0])",
    )


def examine(seed: int, pairs: int = 0, runs: int = 2, mixed: bool = False) -> tuple[int, int]:
    """Compare one program of the product; how many answers were compared and how many refused."""
    del pairs, mixed
    rng = random.Random(seed)
    return compare(
        rng.choice(list(WAYS)), rng.choice(BETWEEN), rng.choice(list(LOOPS)), rng.choice(ENDS), rng.choice(MODES),
        rng.random() < 0.3, runs,
    )


def compare(
    way: str, between: str, loop: str, end: str, mode: str, compiled_function: bool, runs: int = 2
) -> tuple[int, int]:
    """Compare one program on several sets of numbers; the later runs meet a block that is known."""
    text = program(way, between, loop, end, mode, compiled_function)
    make = compiled(text.replace("def make(", "def run("), f"{way}, {loop}, {mode}")
    shown = text[text.index("def make(") :]
    done = refused = 0
    for k in range(runs):
        values = (1.3 + 0.2 * k, -0.7, np.array([0.4, 0.9, -0.2]), (1.5, 0.5)[k % 2], (0.3, 0.9)[k % 2], 3 - k)
        expected = _expected(make, values)
        if expected is None:
            continue
        try:
            found, value = make(_tape, constant, Variable, function, values)()
        except TapecError as error:
            assert "has another value" not in error.message, f"{shown}\n{error}"
            reasons[error.message] += 1
            refused += 1
            continue
        right, expected_value = expected
        assert np.allclose(value, expected_value), f"{shown}\n{value} and not {expected_value}"
        for name, one, other in zip("vwz", found, right, strict=True):
            if one is None or other is None:
                assert one is None and other is None, f"{shown}\nd y / d {name}: {one} and not {other}"
            else:
                assert np.allclose(one, other, rtol=1e-9), f"{shown}\nd y / d {name}: {one} and not {other}"
            done += 1
    return done, refused


def _tape(**flags: bool) -> GradientTape:
    return GradientTape(**flags, jit=False)


def _expected(make: Any, values: Any) -> Any:
    """The oracle's answers, and the target's value; None where the program itself fails."""
    oracle.ACTIVE.clear()
    try:
        found, value = make(oracle.OracleTape, oracle.Traced, oracle.OracleVariable, lambda f: f, values)()
    except (KeyError, IndexError, UnboundLocalError, TypeError, ValueError, AttributeError):
        return None
    return [None if one is None else one.value for one in found], value.value
