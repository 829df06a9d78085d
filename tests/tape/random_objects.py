"""Random programs that alias, rebind, store and mutate what a tape watches, held to an oracle (`fuzz.py`)."""

from __future__ import annotations

import linecache
import random
import re
from collections import Counter

import numpy as np

from tapec import GradientTape, Variable, constant
from tapec.errors import LoweringError
from tests.tape import oracle_tape as oracle

# why gradients were refused, by how many
reasons: Counter[str] = Counter()

PRELUDE = '''
import numpy as np

def helper(u, w):
    k = u * 0.5
    if u > w:
        return k + w
    return w * u

def pair(u, w):
    return w, u * w

def deep(u, n):
    return u * 0.9 if n == 0 else u * deep(u, n - 1)

def keep(u, into=[]):
    into.append(u)
    return into[-1] + 0.0

def stream(u, n):
    for _ in range(n):
        yield u
        u = u * 0.8

def marked(tape, u):
    tape.watch(u)
    return u

class Box:
    scale = 0.5

    def __init__(self, p, q):
        self.p = p
        self.q = q

    @property
    def both(self):
        return self.p * self.q

    def step(self, u):
        self.p = self.p + u * self.scale
        return self.q

    def swap(self):
        self.p, self.q = self.q, self.p

class Counting(Box):
    def __init__(self, p, q):
        super().__init__(p, q)
        self.made = []

    def step(self, u):
        self.made.append(u)
        return super().step(u) * 0.9
'''

FRAME = PRELUDE + '''
def run(GradientTape, constant, Variable, values):
    a, b, c, d = [constant(x) for x in values[:4]]
    s = [constant(x) for x in values[4:6]]
    m = {{"x": constant(values[6]), "y": constant(values[7])}}
    o = {kind}(constant(values[8]), constant(values[9]))
    v, w = Variable(values[10]), Variable(values[11])
    A, B, W = constant(np.array(values[:2])), constant(np.array(values[2:4])), Variable(np.array(values[4:6]))
    h = [A, constant(np.array(values[6:8]))]

    def shift(u):
        nonlocal d
        d = d * u
        return d

    first = [a, b, c, d, *s, *m.values(), o.p, o.q, v, w, A, B, W, *h]
    {before}
    {tape}
    {after}
    return t, [a, b, c, d, *s, *m.values(), o.p, o.q, A, B, *h], first
'''


LAYOUTS = (
    """with GradientTape(persistent=True{flag}) as t:
        {watch}
        {body}""",
    """with GradientTape(persistent=True{flag}) as t:
        {watch}
        {body}
    {between}
    with t:
        {more}""",
    """try:
        with GradientTape(persistent=True{flag}) as t:
            {watch}
            {deep}
            if a > b:
                raise ArithmeticError
            {deeper}
    except ArithmeticError:
        c = c * 1.0""",
    """t = GradientTape(persistent=True{flag})
    t.__enter__()
    {watch}
    {flat}
    t.__exit__(None, None, None)""",
)


class Writer:
    """Statements over the variables of `FRAME`; `mixed` programs have complex values, too."""

    def __init__(self, rng, mixed=False):
        self.rng, self.mixed = rng, mixed
        self.fresh = 0
        self.tapes = ["t"]

    def place(self):
        """An expression that names a value."""
        r = self.rng
        return r.choice(
            ["a", "b", "c", "d"] * 3 + ["s[0]", "s[-1]", 'm["x"]', 'm["y"]', "o.p", "o.q", "v", "w", "o.both"]
        )

    def target(self):
        return self.rng.choice(["a", "b", "c", "d"] * 3 + ["s[0]", "s[1]", 'm["x"]', 'm["y"]', 'm["z"]', "o.p", "o.q"])

    def expr(self):
        r, x, y = self.rng, self.place(), self.place()
        complex_ones = [
            f"np.conj({x} * 1.0)", f"({x} * 1.0).real * 0.5", f"({x} * {y}).imag * 0.7", f"{x} * 1j",
            f"{x} + 1j * {y}", f"({x} * 1j).real", f"({x} + 0.5j).imag", f"np.conj({self.array()} * 1j)[0]",
            f"{x} - 0.5j",
        ]  # fmt: skip
        return r.choice(
            complex_ones * self.mixed
            + [
                f"{x} * {y}", f"{x} + {y}", f"{x} - 0.5", f"{x} - {x}", f"0.5 * {x}", x, x, f"helper({x}, {y})",
                f"np.sin({x} * 1.0)", f"pair({x}, {y})[{r.randint(0, 1)}]", f"deep({x} * 1.0, {r.randint(0, 2)})",
                f"{x} if {y} > 0.1 else {self.place()} * 0.7", f"(lambda k: k * {y})({x})", f"-({x} * 1.0)",
                f"{x} * 0.0", f"o.step({x})", f"shift({x})", f"marked(t, {x} * 1.0)", f"sum([{x}, {y}])",
                f"v.numpy() * {x}", f'm.get("z", {x})', f"np.sum({self.array()})", f"{self.array()}[{r.randint(0, 1)}]",
            ]
        )

    def array(self):
        return self.rng.choice(["A", "B", "W", "h[0]", "h[-1]"])

    def array_expr(self):
        x, y, k = self.array(), self.array(), self.place()
        complex_ones = [f"np.conj({x} * 1.0)", f"{x} * 1j", f"{x} + 1j * {y}", f"({x} * 1j).real * 1.0"]
        return self.rng.choice(
            complex_ones * self.mixed
            + [
                f"{x} * {y}", f"{x} + {y}", f"{x} * {k}", f"{k} * {x}", f"np.sin({x} * 1.0)", f"{x} - {x}", x,
                f"helper({k}, {k}) * {x}", f"marked(t, {x} * 1.0)", f"{x} if {k} > 0.1 else {y}", f"-({x} * 0.5)",
            ]
        )

    def block(self, depth, count=None):
        count = self.rng.randint(1, 3) if count is None else count
        return [line for _ in range(count) for line in self.statement(depth)]

    def indented(self, head, depth):
        return [head, *("    " + line for line in self.block(depth - 1))]

    def statement(self, depth):
        r = self.rng
        x, y = self.place(), self.target()
        simple = [
            lambda: [f"{y} = {self.expr()}"],
            lambda: [f"{y} = {self.expr()}"],
            lambda: [f"{y} = {self.expr()}"],
            lambda: [f"{y}, {self.target()} = {x}, {self.expr()}"],
            lambda: [f"{y} = {self.target().replace(chr(122), chr(120))}"],
            lambda: [f"s.append({self.expr()})"],
            lambda: [f"{r.choice(['A', 'B', 'h[0]', 'h[1]'])} = {self.array_expr()}"],
            lambda: [f"{r.choice(['A', 'B', 'h[0]', 'h[1]'])} = {self.array_expr()}"],
            lambda: [f"A, B = B, {self.array_expr()}"],
            lambda: [f"W.assign({self.array()} * 0.9)"],
            lambda: [f"{r.choice(self.tapes)}.watch({r.choice(['A', 'B', 'h', '[A, a]'])})"],
            lambda: ["s.insert(0, s.pop())"],
            lambda: ["a, *_ = s[::-1]"],
            lambda: ["o.swap()"],
            lambda: [f"{self.tapes[-1]}.reset()", f"{self.tapes[-1]}.watch({r.choice('abcd')})"],
            lambda: ["o.p = o.p * 1.0", f"o.p *= {x}"],
            lambda: ["d = d * 1.0", f"d += {x}"],
            lambda: [f"o = {r.choice(['Box', 'Counting'])}({x}, o.p)"],
            lambda: [f"{r.choice(self.tapes)}.watch({r.choice(['a', 'b', 'c', 's', 'm', 'o.p', '[c, d]'])})"],
            lambda: [f"{r.choice('vw')}.assign({x} * 0.9)"],
            lambda: [f"{r.choice('vw')}.assign_add({x} * 0.3)"],
            lambda: ["m.pop('z', None)"],
            lambda: [f"b = [{x}, {self.expr()}][{r.randint(0, 1)}]"],
            lambda: [f"c = {{'p': {x}, 'q': {self.expr()}}}['{r.choice('pq')}']"],
        ]
        if depth <= 0:
            return r.choice(simple)()
        nested = [
            lambda: [*self.indented(f"if {x} > {self.place()}:", depth), *self.indented("else:", depth)],
            lambda: self.indented(f"if {x} > 0.2:", depth),
            lambda: self.indented(f"for i in range({r.randint(0, 3)}):", depth),
            lambda: ["for u in list(s):", f"    c = c + u * {x}", "    if c > 2.0:", "        break"],
            lambda: ["for key in list(m):", f"    m[key] = m[key] * {x}"],
            lambda: ["for u in stream(a, 2):", f"    b = b + u * {x}", "    s.append(u)"],
            lambda: ["s = [u * 0.5 for u in s]"],
            lambda: ["n = 0", "while n < 2:", "    n += 1", *("    " + k for k in self.block(depth - 1))],
            lambda: self.indented(f"with {r.choice(self.tapes)}.stop_recording():", 1),
            lambda: [f"if {x} > 0.0:", f"    {r.choice(self.tapes)}.reset()", f"    t.watch({r.choice('abcd')})"],
            lambda: ["try:", *("    " + k for k in self.block(depth - 1, 1)), f"    if {x} > 0.3:",
                     "        raise ValueError", f"    a = b * {x}", "except ValueError:", f"    b = a * {x}"],
            lambda: self.inner(depth),
            lambda: self.inner(depth),
        ]
        return r.choice(simple * 2 + nested * 2)()

    def inner(self, depth):
        r = self.rng
        name = f"t{self.fresh + 1}"
        self.fresh += 1
        x, z = r.choice("abcd"), r.choice("abcdvw")
        lines = [f"with GradientTape(persistent={r.choice([True, False])}) as {name}:", f"    {name}.watch({x})"]
        self.tapes.append(name)
        lines += ["    " + line for line in self.block(depth - 1)]
        self.tapes.remove(name)
        lines.append(f"    e = {self.expr()} * 1.0")
        if r.random() < 0.5:
            return [*lines, f'{r.choice("abcd")} = {name}.gradient(e, {z}, unconnected_gradients="zero")']
        return [*lines, f"g = {name}.gradient(e, {z})", "if g is not None:", f"    {r.choice('abcd')} = g * 0.5"]


def program(seed, mixed=False):
    rng = random.Random(seed)
    writer = Writer(rng, mixed)
    def block(indent):
        return ("\n" + " " * indent).join(writer.block(2, rng.randint(1, 5)))

    before = rng.choice(["pass", "d = a", "s = [a, *s]", "o.q = b", 'm["z"] = c', "c = d = s[0]"])
    after = rng.choice(["pass", "a = a * b", "a = constant(0.3)", "s[0] = b"])
    flag = rng.choice(["", "", ", watch_accessed_variables=False"])
    watches = ["t.watch(a)", "t.watch([a, b])", "t.watch(s)", "t.watch(m)", "t.watch(o.p)", "pass", "t.watch(v)"]
    watches += ["t.watch(A)", "t.watch(h)"]
    betweens = ["pass", "a = a * b", "s[0] = b * 2.0", "o.p = a", "v.assign(0.25)", "c = d", 'm["x"] = a * 1.0']
    between = rng.choice(betweens)
    tape = rng.choice([LAYOUTS[0], *LAYOUTS]).format(
        flag=flag, watch=rng.choice(watches), body=block(8), between=between, more=block(8), deep=block(12),
        deeper=block(12), flat=block(4),
    )
    text = FRAME.format(kind=rng.choice(["Box", "Counting"]), before=before, tape=tape, after=after)
    return without_order(text) if mixed else text


_COMPARISON = re.compile(r"([a-z]\w*(?:\[[^\]]*\]|\.\w+)?) > ([^\s:]+)")


def without_order(text):
    """A program whose comparisons are of sizes: complex numbers have no order."""
    return _COMPARISON.sub(r"abs(\1) > abs(\2)", text)


def complex_in_part(values, rng):
    """The numbers, some of them with an imaginary part."""
    return tuple(complex(x, round(rng.uniform(-0.8, 0.8), 3)) if rng.random() < 0.6 else x for x in values)


def compiled(text, seed):
    file = f"<random tape {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {"__name__": __name__}
    exec(compile(text, file, "exec"), namespace)
    return namespace["run"]


VALUES = (0.3, 0.7, -0.4, 1.1, 0.9, -0.2, 0.6, -0.8, 0.45, 1.2, 0.5, -0.7)


def expected_of(run, values):
    """The oracle's run; None where the program itself fails."""
    oracle.ACTIVE.clear()
    try:
        return run(oracle.OracleTape, oracle.Traced, oracle.OracleVariable, values)
    except (KeyError, IndexError, UnboundLocalError, TypeError, ValueError):
        return None


def examine(seed, pairs=24, runs=4, mixed=False):
    """Compare one program, on several sets of numbers; how many gradients were compared and how many refused.

    The later runs meet a block that is known, and questions that were asked before.

    mixed  some of the numbers are complex, in the first runs the same ones
    """
    text, rng = program(seed, mixed), random.Random(seed)
    run, other = compiled(text, seed), compiled(text, seed)
    run.__globals__["GradientTape"] = GradientTape
    done = refused = 0
    for k in range(runs):
        values = VALUES if k == 0 else tuple(round(x + rng.uniform(-0.6, 0.6), 3) for x in VALUES)
        if mixed:
            values = complex_in_part(values, random.Random(seed + max(0, k - 2)))
        expected = expected_of(other, values)
        if expected is None:
            continue
        try:
            found = run(lambda **flags: GradientTape(**flags, jit=False), constant, Variable, values)
        except LoweringError as error:
            reasons[error.message] += pairs
            refused += pairs
            continue
        except ValueError as error:
            # a variable as the target of an inner tape, which the oracle does not mind
            assert "cannot be a target" in str(error), text
            continue
        one, other_count = compare(found, expected, random.Random(seed), pairs, text)
        done, refused = done + one, refused + other_count
    return done, refused


def compare(found, expected, rng, pairs, text):
    (tape, finals, firsts), (other, other_finals, other_firsts) = found, expected
    objects = list(zip([*finals, *firsts], [*other_finals, *other_firsts], strict=True))
    targets = [(x, y) for x, y in zip(finals, other_finals, strict=True) if isinstance(y, oracle.Traced)]
    for x, y in targets:
        assert np.allclose(x, y.value, rtol=1e-9, atol=1e-12), text[text.index("def run") :]
    done = refused = 0
    for _ in range(pairs):
        (x, y), (source, other_source) = rng.choice(targets), rng.choice(objects)
        right = other._gradient(y, other_source)
        try:
            gradient = tape.gradient(x, source)
        except LoweringError as error:
            refused += 1
            reasons[error.message] += 1
            # the program's own numbers never differ: the oracle's have agreed
            assert "has another value" not in error.message, f"{text[text.index('def run') :]}\n{error}"
            continue
        done += 1
        where = f"{text[text.index('def run') :]}\nd {x!r} / d {source!r}"
        if right is None or gradient is None:
            assert gradient is None and right is None, f"{where}: {gradient} and not {right.value if right else None}"
        else:
            kinds = np.iscomplexobj(gradient) == np.iscomplexobj(np.asarray(source))
            close = kinds and np.allclose(gradient, right.value, rtol=1e-8, atol=1e-10)
            assert close, f"{where}: {gradient} and not {right.value}"
    return done, refused
