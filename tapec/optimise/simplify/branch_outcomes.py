"""What the outcome of a test tells of variables.

On a side of a test, what an earlier `if` of the same test has merged is one of its two values, and behind a check an
integer is the number that it was compared with.

    if t:                     if t:
        y = a                     y = a
    else:             ->      else:
        y = b                     y = b
    if t:                     if t:
        z = y                     z = a
"""

from __future__ import annotations

from tapec.syntax.core import Atom, Break, Const, Expr, Name, Op, Stmt
from tapec.syntax.types import INT64, Type

# the variables of a program, and what each of them is
Env = dict[str, Atom]


class Outcomes:
    """Answers from what computes each name, and what each merge name is on either side of a test."""

    def __init__(self, definitions: dict[str, Expr], types: dict[str, Type]) -> None:
        self._definitions, self._types = definitions, types
        self._choices: dict[str, dict[str, tuple[Atom, Atom]]] = {}
        self._chosen_by: dict[str, str] = {}
        # the variables that may hold a value, by its name: all that have held it
        self._holders: dict[str, dict[str, None]] = {}

    def held(self, variable: str, atom: Atom) -> None:
        """A variable holds a value from now on."""
        if type(atom) is Name:
            self._holders.setdefault(atom.id, {})[variable] = None

    def note(self, test: Name, merged: str, ways: tuple[Atom, Atom]) -> None:
        """A merge name is one of two values, by a test."""
        self._choices.setdefault(test.id, {})[merged] = ways
        self._chosen_by[merged] = test.id

    def forget(self, name: str) -> None:
        """A name is gone."""
        if name in self._chosen_by:
            del self._choices[self._chosen_by.pop(name)][name]

    def chosen(self, test: Name, env: Env, side: bool) -> Env:
        """The variables on one side of a test: those that an earlier `if` of the same test merged are known."""
        made = self._definitions.get(test.id)
        if isinstance(made, Op) and made.fn == "not" and isinstance(made.args[0], Name):
            test, side = made.args[0], not side
        choices = self._choices.get(test.id)
        if not choices:
            return dict(env)
        return self._replaced(env, {merged: ways[not side] for merged, ways in choices.items()})

    def decided(self, env: Env, test: Name, outcome: bool, other: list[Stmt]) -> Env:
        """The variables where the other side of a test raises: with its outcome, and the integer that it found."""
        if any(isinstance(stmt, Break) for stmt in other):
            return env
        return self._replaced(env, {test.id: Const(outcome), **self._equal(test, outcome)})

    def _equal(self, test: Name, outcome: bool) -> dict[str, Atom]:
        """The integer variable whose value a test with that outcome tells."""
        made = self._definitions.get(test.id)
        if isinstance(made, Op) and made.fn == "not" and isinstance(made.args[0], Name):
            return self._equal(made.args[0], not outcome)
        if not isinstance(made, Op) or made.fn != ("==" if outcome else "!="):
            return {}
        for one, other in (made.args, made.args[::-1]):
            if isinstance(one, Name) and isinstance(other, Const) and type(other.value) is int:
                return {one.id: other} if self._types.get(one.id) == INT64 else {}
        return {}

    def _replaced(self, env: Env, known: dict[str, Atom]) -> Env:
        found = dict(env)
        for value, atom in known.items():
            for variable in self._holders.get(value, ()):
                held = env.get(variable)
                if type(held) is Name and held.id == value:
                    found[variable] = atom
                    self.held(variable, atom)
        return found
