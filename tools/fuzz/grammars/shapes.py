"""Random expressions on arrays of any shape: views, broadcasting, reductions, fancy indexing, products.

Whatever is drawn has the shape that is asked for; every text is tried on an array of that shape.  Forms map operands
within about 1.5 to results within about 1.5, so that values stay tame however often a loop repeats them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tools.fuzz.grammars.expressions import Drawn, paren

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Arrays:
    """The names in sight: floats, ints with exclusive bounds, arrays with shapes.

    loop    the innermost loop's kind, "" outside loops
    """

    scalars: tuple[str, ...] = ()
    indices: tuple[tuple[str, int], ...] = ()
    arrays: tuple[tuple[str, Shape], ...] = ()
    loop: str = ""


class Shaped(Drawn):
    """Draws expressions as text."""

    # places

    def index(self, scope: Arrays, extent: int) -> str:
        """A subscript within an axis."""
        fitting = [name for name, bound in scope.indices if bound <= extent]
        if fitting and self.chance(0.5):
            return self.rng.choice(fitting)
        if scope.indices and self.chance(0.3):
            name = self.rng.choice(scope.indices)[0]
            return self.rng.choice([f"({name} + {self.rng.randrange(3)}) % {extent}", f"-1 - {name} % {extent}"])
        return str(self.rng.randrange(-extent, extent))

    def cut(self, extent: int, count: int) -> str:
        """A slice that takes `count` elements of an axis, written in one of many ways."""
        if count == 0:
            k = self.rng.randrange(extent + 1)
            return f"{k}:{k}"
        if count == extent and self.chance(0.5):
            return self.rng.choice([":", "0:", f":{extent}", "::-1"])
        steps = [step for step in (1, 1, 1, 2, 3, -1, -1, -2) if (count - 1) * abs(step) < extent]
        step = self.rng.choice(steps)
        span = (count - 1) * abs(step)
        first = self.rng.randrange(extent - span)
        last = first + span
        if step < 0:
            first, last = last, first
        stop = last + (1 if step > 0 else -1)
        low, high = str(first), str(stop)
        if first == (0 if step > 0 else extent - 1) and self.chance(0.7):
            low = ""
        elif self.chance(0.4):
            low = str(first - extent)
        if stop == (extent if step > 0 else -1):
            high = ""
        elif self.chance(0.4):
            high = str(stop - extent)
        return f"{low}:{high}" + ("" if step == 1 else f":{step}")

    def part(self, scope: Arrays, name: str, shape: Shape, wanted: Shape) -> str | None:
        """A view of an array that has the wanted shape; None if none is found."""
        if shape == wanted and self.chance(0.4):
            return self.rng.choice([name, f"{name}[:]", f"{name}[...]"])
        if 1 < len(shape) == len(wanted) and self.chance(0.2):
            turned = self.part(scope, f"{name}.T", shape[::-1], wanted)
            if turned is not None:
                return turned
        drop = len(shape) - len(wanted)
        if drop < 0:
            if wanted[0] == 1 and drop == -1:
                inner = self.part(scope, name, shape, wanted[1:])
                return None if inner is None else f"{inner}[None]"
            if wanted[-1] == 1:
                inner = self.part(scope, name, shape, wanted[:-1])
                return None if inner is None else f"{inner}[..., np.newaxis]"
            return None
        picked = sorted(self.rng.sample(range(len(shape)), drop))
        rest = [k for k in range(len(shape)) if k not in picked]
        if any(shape[k] < extent for k, extent in zip(rest, wanted, strict=True)) or 0 in [shape[k] for k in picked]:
            return None
        kept = dict(zip(rest, wanted, strict=True))
        subs = [self.cut(shape[k], kept[k]) if k in kept else self.index(scope, shape[k]) for k in range(len(shape))]
        while len(subs) > 1 and subs[-1] == ":" and self.chance(0.5):
            subs.pop()
        text = f"{name}[{', '.join(subs)}]"
        # another view of the view
        if self.chance(0.15) and wanted and len(wanted) == 1 and wanted[0] > 0:
            text = f"{text}[{self.rng.choice(['::-1', ':', '0:'])}]"
        return text

    def place(self, scope: Arrays, wanted: Shape) -> str | None:
        """A view of some array in sight."""
        names = list(scope.arrays)
        self.rng.shuffle(names)
        for name, shape in names:
            found = self.part(scope, name, shape, wanted)
            if found is not None:
                return found
        return None

    def element(self, scope: Arrays) -> str:
        """An element of some array in sight."""
        name, shape = self.rng.choice([one for one in scope.arrays if 0 not in one[1]])
        return f"{name}[{', '.join(self.index(scope, extent) for extent in shape)}]"

    # numbers

    def atom(self, scope: Arrays) -> str:
        kind = self.rng.random()
        if kind < 0.4:
            return self.element(scope)
        if kind < 0.9:
            return self.rng.choice(scope.scalars)
        if scope.indices and kind < 0.95:
            return f"{self.number()} * {self.rng.choice(scope.indices)[0]}"
        return self.number()

    def scalar(self, scope: Arrays, depth: int = 2) -> str:
        """A float."""
        if depth == 0 or self.chance(0.2):
            return self.atom(scope)
        if self.chance(0.4):
            return self.total(scope, depth)
        x, y = self.scalar(scope, depth - 1), self.scalar(scope, depth - 1)
        forms = (
            f"0.6 * {paren(x)} + 0.4 * {paren(y)}",
            f"0.8 * {paren(x)} * {paren(y)}",
            f"math.sin({x} + {y})",
            f"{paren(x)} / (1.5 + {paren(y)} ** 2)",
            f"max({x}, {y})",
            f"({x} if {self.test(scope)} else {y})",
            f"np.sqrt(1.0 + {paren(x)} ** 2) - 0.5",
        )
        return self.rng.choice(forms)

    def test(self, scope: Arrays) -> str:
        """A condition, mostly on active values."""
        if scope.indices and self.chance(0.3):
            return f"{self.rng.choice(scope.indices)[0]} % 2 == {self.rng.randrange(2)}"
        x, y = self.atom(scope), self.atom(scope)
        return self.rng.choice([f"{x} > {y}", f"{x} < {self.number()}", f"{x} > 0.1 or {y} > 0.3"])

    def total(self, scope: Arrays, depth: int) -> str:
        """A float from a whole array."""
        shape = self.shape(scope)
        size = max(1, int(np.prod(shape)))
        v = self.array(scope, shape, depth - 1)
        forms = [f"np.sum({v}) / {size}", f"{paren(v)}.mean()" if 0 not in shape else f"{paren(v)}.sum()"]
        if 0 not in shape:
            forms += [f"np.max({v})", f"{paren(v)}.min()", f"np.prod(0.8 + 0.2 * {paren(v)})", f"np.var({v})"]
            forms += [f"np.linalg.norm({paren(v)} + 2.0) / {size}"] * (len(shape) < 3)
        if len(shape) == 1:
            w = self.array(scope, shape, depth - 1)
            forms += [f"np.dot({v}, {w}) / {size}", f"{paren(v)} @ {paren(w)} / {size}"]
        if len(shape) == 2 and shape[0] == shape[1] and shape[0] in (2, 3):
            eye = f"2.0 * np.eye({shape[0]})"
            forms += [f"np.linalg.det(0.3 * {paren(v)} + {eye}) / 8.0", f"np.trace({v}) / {size}"]
        return self.rng.choice(forms)

    # arrays

    def shape(self, scope: Arrays) -> Shape:
        """The shape of some array in sight, or of a part of it."""
        _, shape = self.rng.choice(scope.arrays)
        if self.chance(0.6):
            return shape
        kept = [extent for extent in shape if len(shape) == 1 or self.chance(0.6)] or [shape[-1]]
        return tuple(max(0 if self.chance(0.1) else 1, extent - self.rng.choice([0, 0, 1, 2])) for extent in kept)

    def narrower(self, shape: Shape) -> Shape:
        """A shape that broadcasts to `shape`."""
        made = tuple(1 if self.chance(0.4) else extent for extent in shape)
        return made[1:] if len(made) > 1 and self.chance(0.4) else made

    def operand(self, scope: Arrays, shape: Shape, depth: int) -> str:
        """What broadcasts to a shape: an array, a narrower one, or a number."""
        kind = self.rng.random()
        if kind < 0.6:
            return self.array(scope, shape, depth)
        return self.array(scope, self.narrower(shape), depth) if kind < 0.85 else self.atom(scope)

    def array(self, scope: Arrays, shape: Shape, depth: int = 2) -> str:
        """An expression of a shape."""
        if depth <= 0 or self.chance(0.15):
            return self.place(scope, shape) or self.made(scope, shape)
        kind = self.rng.random()
        if kind < 0.55:
            return self.elementwise(scope, shape, depth)
        if kind < 0.8:
            return self.moved(scope, shape, depth)
        return self.combined(scope, shape, depth)

    def made(self, scope: Arrays, shape: Shape) -> str:
        """An array that is made of numbers."""
        size = int(np.prod(shape))
        text = str(shape) if len(shape) != 1 else str(shape[0])
        forms = [f"np.full({text}, {self.atom(scope)})", f"np.ones({text}) * {self.atom(scope)}"]
        if size:
            forms += [f"(np.arange({size}) * {self.atom(scope)} / {size}).reshape({text})"]
        if len(shape) == 1 and size:
            forms += [f"np.linspace({self.atom(scope)}, {self.atom(scope)}, {size})"]
            forms += [f"np.array([{', '.join(self.atom(scope) for _ in range(size))}, 0.5])[:-1]"] * (size < 6)
        return self.rng.choice(forms)

    def elementwise(self, scope: Arrays, shape: Shape, depth: int) -> str:
        """Operations on elements, with broadcasting."""
        v, w = self.array(scope, shape, depth - 1), self.operand(scope, shape, depth - 1)
        if self.chance(0.5):
            v, w = w, v
        x = self.atom(scope)
        # the expression as a whole has the shape
        whole = f"0.0 * {paren(self.place(scope, shape) or self.made(scope, shape))}" if self.chance(0.1) else ""
        forms = [
            f"0.6 * {paren(v)} + 0.4 * {paren(w)}",
            f"0.8 * {paren(v)} * {paren(w)}",
            f"0.5 * {paren(v)} - 0.5 * {paren(w)}",
            f"{paren(v)} / (1.5 + {paren(w)} ** 2)",
            f"np.maximum({v}, {w})",
            f"np.minimum({w}, {v})",
            f"np.where({paren(v)} > {paren(x)}, {w}, 0.5 * {paren(v)})",
            f"np.where({paren(w)} > {self.number()}, {v}, {w})",
            f"np.arctan2({v}, 3.0 + {paren(w)})",
            f"np.sin({paren(v)} + {paren(w)})",
            f"({paren(v)} > {paren(w)}) * {x}",
            f"np.floor(({paren(v)} + {paren(w)}) * 2.0) * 0.1",
        ]
        one = self.array(scope, shape, depth - 1)
        forms += [
            f"np.tanh({one})",
            f"np.abs({one}) - 0.4",
            f"{x} * np.exp(-{paren(one)} ** 2)",
            f"np.clip({one}, -0.6, {self.number()})",
            f"-{paren(one)}",
            f"({paren(one)} * 3.0).astype(np.int64) * 0.1",
        ]
        text = self.rng.choice(forms)
        return f"{text} + {whole}" if whole else text

    def moved(self, scope: Arrays, shape: Shape, depth: int) -> str:
        """Elements of one or more arrays in other places."""
        v = self.array(scope, shape, depth - 1)
        forms = [f"np.flip({v})", f"{paren(v)}[::-1]", f"({paren(v)} + 0.0).copy()"]
        if len(shape) == 1:
            n = shape[0]
            longer = self.array(scope, (n + 1,), depth - 1)
            forms += [f"{paren(longer)}[1:]", f"np.diff({longer}) * 0.5", f"{paren(longer)}[:-1]"]
            if n > 0:
                k = self.rng.randrange(n + 1)
                first, second = (self.array(scope, (part,), depth - 1) for part in (k, n - k))
                picks = ", ".join(str(self.rng.randrange(-n, n)) for _ in range(n))
                forms += [
                    f"np.concatenate(({first}, {second}))",
                    f"np.roll({v}, {self.rng.randrange(-n, n + 1)})",
                    f"np.cumsum({v}) / {n}",
                    f"np.sort({v})",
                    f"({paren(v)})[np.argsort({self.array(scope, shape, depth - 1)})]",
                    f"{paren(v)}[np.array([{picks}])]",
                    f"np.append({self.array(scope, (n - 1,), depth - 1)}, {self.atom(scope)})",
                    f"np.hstack(({first}, {second}))",
                ]
                for rows in (2, 3):
                    if n % rows == 0:
                        forms.append(f"({self.array(scope, (rows, n // rows), depth - 1)} + 0.0).ravel()")
        elif len(shape) == 2:
            rows, cols = shape
            turned = self.array(scope, (cols, rows), depth - 1)
            forms += [f"{paren(turned)}.T", f"np.transpose({turned})", f"np.swapaxes({turned}, 0, 1)"]
            forms += [f"({self.array(scope, (rows * cols,), depth - 1)} + 0.0).reshape({rows}, {cols})"]
            if rows > 0 and cols > 0:
                k = self.rng.randrange(rows + 1)
                first, second = (self.array(scope, (part, cols), depth - 1) for part in (k, rows - k))
                picks = ", ".join(str(self.rng.randrange(-rows, rows)) for _ in range(rows))
                forms += [
                    f"np.vstack(({first}, {second}))",
                    f"np.concatenate(({first}, {second}), axis=0)",
                    f"np.cumsum({v}, axis={self.rng.randrange(2)}) / {max(shape)}",
                    f"{paren(v)}[np.array([{picks}])]",
                    f"np.roll({v}, 1, axis={self.rng.randrange(2)})",
                    f"np.repeat({self.array(scope, (cols,), depth - 1)}, {rows}).reshape({cols}, {rows}).T",
                    f"np.stack(({', '.join(self.array(scope, (cols,), depth - 1) for _ in range(rows))},))",
                    f"np.column_stack(({', '.join(self.array(scope, (rows,), depth - 1) for _ in range(cols))},))",
                ]
        elif len(shape) == 3:
            a, b, c = shape
            forms += [f"{paren(self.array(scope, (c, b, a), depth - 1))}.transpose(2, 1, 0)"]
            forms += [f"np.transpose({self.array(scope, (b, a, c), depth - 1)}, (1, 0, 2))"]
            forms += [f"({self.array(scope, (a * b, c), depth - 1)} + 0.0).reshape({a}, {b}, {c})"]
            forms += [f"np.expand_dims({self.array(scope, (b, c), depth - 1)}, 0) + np.zeros({shape})"]
        return self.rng.choice(forms)

    def combined(self, scope: Arrays, shape: Shape, depth: int) -> str:
        """Reductions along an axis, products, solutions."""
        forms = []
        if len(shape) < 3:
            axis = self.rng.randrange(len(shape) + 1)
            count = self.rng.randint(1, 3)
            v = self.array(scope, (*shape[:axis], count, *shape[axis:]), depth - 1)
            said = axis if self.chance(0.6) else axis - len(shape) - 1
            forms += [f"np.sum({v}, axis={said}) / {count}", f"{paren(v)}.mean(axis={said})"]
            if 0 not in shape:
                forms += [f"np.max({v}, axis={said})", f"np.prod({v}, axis={said})"]
        if len(shape) == 2:
            rows, cols = shape
            n = self.rng.randint(1, 3)
            a, b = self.array(scope, (rows, n), depth - 1), self.array(scope, (n, cols), depth - 1)
            u, v = self.array(scope, (rows,), depth - 1), self.array(scope, (cols,), depth - 1)
            whole = self.array(scope, shape, depth - 1)
            forms += [f"{paren(a)} @ {paren(b)} / {n}", f"np.dot({a}, {b}) / {n}", f"np.outer({u}, {v})"]
            forms += [f"np.einsum('ik,kj->ij', {a}, {b}) / {n}", f"{paren(u)}[:, None] * {paren(v)}"]
            forms += [f"{paren(whole)} - np.sum({whole}, axis=1, keepdims=True) / {max(cols, 1)}"]
        if len(shape) == 1:
            n = self.rng.randint(1, 3)
            a, b = self.array(scope, (shape[0], n), depth - 1), self.array(scope, (n,), depth - 1)
            c = self.array(scope, (n, *shape), depth - 1)
            forms += [f"{paren(a)} @ {paren(b)} / {n}", f"np.dot({b}, {c}) / {n}"]
            forms += [f"np.einsum('ij,j->i', {a}, {b}) / {n}", f"np.einsum('ji,j->i', {c}, {b}) / {n}"]
            if shape[0] in (2, 3):
                s = self.array(scope, (shape[0], shape[0]), depth - 1)
                v = self.array(scope, shape, depth - 1)
                eye = f"3.0 * np.eye({shape[0]})"
                forms += [f"np.linalg.solve(0.3 * {paren(s)} + {eye}, {v} + 0.0)", f"np.diag({s})"]
                forms += [f"np.linalg.inv(0.3 * {paren(s)} + {eye}) @ {paren(v)}"]
        if len(shape) == 3:
            a, b = self.array(scope, shape[:2], depth - 1), self.array(scope, shape[2:], depth - 1)
            forms += [f"{paren(a)}[:, :, None] * {paren(b)}"]
            if 0 not in shape:
                c = self.array(scope, (shape[1], 2), depth - 1)
                d = self.array(scope, (shape[0], 2, shape[2]), depth - 1)
                forms += [f"{paren(c)} @ {paren(d)} / 2"]
        return self.rng.choice(forms)
