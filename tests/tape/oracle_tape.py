"""An independent tape for tests: numbers that record what is done to them, as the block runs.

It knows nothing of source text.  Each tape keeps a list of operations on tracked numbers and walks
it backwards; the walk itself is made of such numbers, so that outer tapes record it.
"""

from __future__ import annotations

import numpy as np

ACTIVE = []


class Traced:
    """A number, or an array, with an identity."""

    __array_priority__ = 2000
    __hash__ = object.__hash__

    def __init__(self, value):
        self.value = value

    @staticmethod
    def of(x):
        if isinstance(x, OracleVariable):
            return x.read()
        return x if isinstance(x, Traced) else Traced(x)

    def __add__(self, other):
        return operation(lambda a, b: a + b, lambda a, b: (1.0, 1.0), self, other)

    def __radd__(self, other):
        return operation(lambda a, b: a + b, lambda a, b: (1.0, 1.0), other, self)

    def __sub__(self, other):
        return operation(lambda a, b: a - b, lambda a, b: (1.0, -1.0), self, other)

    def __rsub__(self, other):
        return operation(lambda a, b: a - b, lambda a, b: (1.0, -1.0), other, self)

    def __mul__(self, other):
        return operation(lambda a, b: a * b, lambda a, b: (b, a), self, other)

    def __rmul__(self, other):
        return operation(lambda a, b: a * b, lambda a, b: (b, a), other, self)

    def __neg__(self):
        return operation(lambda a: -a, lambda a: (-1.0,), self)

    def sin(self):
        return operation(np.sin, lambda a: (a.cos(),), self)

    def cos(self):
        return operation(np.cos, lambda a: (a.sin() * -1.0,), self)

    def sum(self, axis=None, out=None):
        return operation(np.sum, lambda a: (np.ones(np.shape(a.value)),), self)

    def __getitem__(self, k):
        unit = np.zeros(np.shape(self.value))
        unit[k] = 1.0
        return operation(lambda a: a[k], lambda a: (unit,), self)

    def conjugate(self):
        return operation(np.conj, None, self, pull=lambda g: g.conjugate())

    @property
    def real(self):
        return operation(np.real, None, self, pull=lambda g: g * 1.0)

    @property
    def imag(self):
        return operation(np.imag, None, self, pull=lambda g: g * 1j)

    def __abs__(self):
        # for comparisons
        return abs(self.value)

    def __gt__(self, other):
        return self.value > Traced.of(other).value

    def __lt__(self, other):
        return self.value < Traced.of(other).value

    def __float__(self):
        return float(self.value)


def operation(function, partials, *operands, pull=None):
    """What `function` gives; its derivative by the partial derivatives, or by what it makes of an adjoint."""
    operands = [Traced.of(x) for x in operands]
    made = Traced(function(*(x.value for x in operands)))
    for tape in ACTIVE:
        tape.record(made, operands, partials, pull)
    return made


class OracleVariable:
    """A variable: each assignment makes a version without history."""

    __array_priority__ = 2000
    __hash__ = object.__hash__

    def __init__(self, value, trainable=True):
        self.trainable = trainable
        self.version = Traced(np.array(value) if isinstance(value, tuple | list) else value)
        self.versions = [self.version]

    def read(self):
        for tape in ACTIVE:
            tape.accessed(self)
        return self.version

    value = read_value = read

    def numpy(self):
        return Traced(self.version.value)

    def assign(self, value):
        new, old = np.asarray(Traced.of(value).value), np.asarray(self.version.value)
        if not np.can_cast(new.dtype, old.dtype, casting="same_kind"):
            raise TypeError("a complex value for a real variable")
        self.version = Traced(new.astype(old.dtype)[()])
        self.versions.append(self.version)
        return self

    def assign_add(self, value):
        return self.assign(Traced(self.version.value + Traced.of(value).value))

    def __add__(self, other):
        return self.read() + other

    def __radd__(self, other):
        return other + self.read()

    def __sub__(self, other):
        return self.read() - other

    def __rsub__(self, other):
        return other - self.read()

    def __mul__(self, other):
        return self.read() * other

    def __rmul__(self, other):
        return other * self.read()

    def sum(self, axis=None, out=None):
        return self.read().sum()

    def conjugate(self):
        return self.read().conjugate()

    @property
    def real(self):
        return self.read().real

    @property
    def imag(self):
        return self.read().imag

    def __abs__(self):
        return abs(self.read())

    def __gt__(self, other):
        return self.read() > other

    def __float__(self):
        return float(self.read())


class OracleTape:
    def __init__(self, persistent=False, watch_accessed_variables=True):
        self.automatic = watch_accessed_variables
        self.operations = []
        self.tracked = {}
        self.watched = []
        self.paused = False

    def __enter__(self):
        ACTIVE.append(self)
        return self

    def __exit__(self, *error):
        ACTIVE.remove(self)

    def watch(self, value):
        if isinstance(value, OracleVariable):
            self.watched.append(value)
            self.tracked[id(value.version)] = value.version
        elif isinstance(value, Traced):
            self.tracked[id(value)] = value
        elif isinstance(value, dict):
            for item in value.values():
                self.watch(item)
        elif isinstance(value, list | tuple):
            for item in value:
                self.watch(item)

    def accessed(self, variable):
        mine = self.automatic and variable.trainable or any(variable is one for one in self.watched)
        if mine and not self.paused:
            self.tracked[id(variable.version)] = variable.version

    def reset(self):
        self.operations, self.tracked, self.watched = [], {}, []

    def stop_recording(self):
        return Paused(self)

    def record(self, made, operands, partials, pull):
        own = [id(x) in self.tracked for x in operands]
        if self.paused or not any(own):
            return
        self.operations.append((made, operands, own, partials, pull))
        self.tracked[id(made)] = made

    def gradient(self, target, source, unconnected_gradients="none"):
        if isinstance(target, OracleVariable):
            raise ValueError("a variable cannot be a target")
        found = self._gradient(target, source)
        nothing = np.zeros_like(source.read().value if isinstance(source, OracleVariable) else source.value)
        return Traced(nothing[()]) if found is None and unconnected_gradients == "zero" else found

    def _gradient(self, target, source):
        if not isinstance(target, Traced) or id(target) not in self.tracked:
            return None
        sources = source.versions if isinstance(source, OracleVariable) else [source]
        adjoints = {id(target): Traced(np.ones(np.shape(target.value))[()])}
        for made, operands, own, partials, pull in reversed(self.operations):
            if id(made) not in adjoints:
                continue
            adjoint = adjoints[id(made)]
            terms = [pull(adjoint)] if pull else [adjoint * conjugate(p) for p in partials(*operands)]
            for x, mine, pulled in zip(operands, own, terms, strict=True):
                if mine:
                    term = fitted(pulled, x)
                    known = adjoints.get(id(x))
                    adjoints[id(x)] = term if known is None else known + term
        found = [adjoints[id(x)] for x in sources if id(x) in adjoints and id(x) in self.tracked]
        total = found[0] if found else None
        for more in found[1:]:
            total = total + more
        return total


def conjugate(partial):
    """The factor of an adjoint; a real one as it is."""
    held = partial.value if isinstance(partial, Traced) else partial
    return np.conj(partial) if np.iscomplexobj(held) else partial


def fitted(term, x):
    """An adjoint of the kind and shape of what it belongs to: sums undo broadcasts."""
    if np.iscomplexobj(term.value) and not np.iscomplexobj(x.value):
        term = term.real
    if np.shape(term.value) == np.shape(x.value):
        return term
    return term.sum() if np.shape(x.value) == () else term * np.ones(np.shape(x.value))


class Paused:
    def __init__(self, tape):
        self.tape = tape

    def __enter__(self):
        self.tape.paused = True

    def __exit__(self, *error):
        self.tape.paused = False


def number(x):
    """The plain number behind a value of either run."""
    if x is None:
        return None
    plain = np.asarray(x.value if isinstance(x, Traced) else x)
    return complex(plain) if plain.dtype.kind == "c" else float(plain)
