"""Random blocks that rebind, store, swap and watch, against an oracle that traces the same statements.

The oracle runs each statement on `Traced` numbers, which know who they are and what they were
computed from: identity is the object's, and what was computed before a watch is not connected.
"""

from __future__ import annotations

import linecache
import random

import pytest

from tapec import GradientTape, constant
from tapec.errors import LoweringError
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")


class Traced:
    """A number with the numbers it was computed from, and its partial derivatives by them."""

    def __init__(self, value, parents=()):
        self.value = value
        self.parents = list(parents)
        self.watched = False

    @staticmethod
    def of(x):
        return x if isinstance(x, Traced) else Traced(x)

    def tracked(self):
        return self.watched or bool(self.parents)

    def _made(self, value, *pairs):
        return Traced(value, [(parent, partial) for parent, partial in pairs if parent.tracked()])

    def __add__(self, other):
        other = Traced.of(other)
        return self._made(self.value + other.value, (self, 1.0), (other, 1.0))

    def __sub__(self, other):
        other = Traced.of(other)
        return self._made(self.value - other.value, (self, 1.0), (other, -1.0))

    def __mul__(self, other):
        other = Traced.of(other)
        return self._made(self.value * other.value, (self, other.value), (other, self.value))

    def __gt__(self, other):
        return self.value > Traced.of(other).value


class OracleTape:
    def __init__(self, persistent=True):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def watch(self, value):
        value.watched = True

    def gradient(self, target, source):
        """The sum over all paths from target to source; None if there is none."""
        if target is source:
            return 1.0 if source.tracked() else None
        found = [self.gradient(parent, source) for parent, _ in target.parents]
        terms = [f * partial for f, (_, partial) in zip(found, target.parents, strict=True) if f is not None]
        return sum(terms) if terms else None


def statements(rng):
    """A block over the variables a, b, c, d, the list s and the tape t."""
    lines = []
    names = "abcd"
    for _ in range(rng.randint(4, 12)):
        x, y, z = (rng.choice(names) for _ in range(3))
        lines.append(
            rng.choice(
                [
                    f"{x} = {y} * {z}",
                    f"{x} = {y} + {z}",
                    f"{x} = {y} - 0.5",
                    f"{x} = {y}",
                    f"{x}, {y} = {y}, {x}",
                    f"s.append({x})",
                    f"{x} = s[{rng.randint(0, 1)}]",
                    f"s[{rng.randint(0, 1)}] = {x} * {y}",
                    f"t.watch({x})",
                    f"{x} = helper({y}, {z})",
                    f"if {x} > {y}:\n        {x} = {z} * 0.25\n    else:\n        {y} = {z} + {x}",
                    f"{x} = pair({y}, {z})[{rng.randint(0, 1)}]",
                ]
            )
        )
    return lines


TEMPLATE = """
def helper(u, v):
    w = u * 0.5
    if u > v:
        return w + v
    return v * u

def pair(u, v):
    return v, u * v

def run(GradientTape, constant):
    a, b, c, d = constant(0.3), constant(0.7), constant(-0.4), constant(1.1)
    s = [constant(0.9), constant(-0.2)]
    first = [a, b, c, d, *s]
    with GradientTape(persistent=True) as t:
        t.watch({watched})
        {body}
    return t, [a, b, c, d, *s], first
"""


def compiled(text, label):
    file = f"<random block {label}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {}
    exec(compile(text, file, "exec"), namespace)
    return namespace["run"]


def value_of(x):
    return x.value if isinstance(x, Traced) else x


@pytest.mark.parametrize("seed", sampled(range(80), 12, default=4))
def test_a_random_block(seed):
    rng = random.Random(seed)
    body = "\n    ".join(statements(rng)).replace("\n", "\n    ")
    text = TEMPLATE.format(body=body, watched=rng.choice("abcd"))
    run = compiled(text, seed)
    tape, finals, firsts = run(lambda persistent: GradientTape(persistent=True, jit=False), constant)
    oracle, expected_finals, expected_firsts = run(OracleTape, Traced)
    for target, expected_target in zip(finals, expected_finals, strict=True):
        assert float(target) == pytest.approx(value_of(expected_target))
        sources = [*finals, *firsts]
        for source, expected_source in zip(sources, [*expected_finals, *expected_firsts], strict=True):
            try:
                found = tape.gradient(target, source)
            except LoweringError as error:
                # which value is meant may depend on a branch: refused, never guessed
                assert "branch" in str(error), text
                continue
            expected = oracle.gradient(expected_target, expected_source)
            if expected is None:
                assert found is None, text
            else:
                assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), text
