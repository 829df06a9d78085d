"""What the compiler makes of a function, and why: `tapec.explain`.

The passes record their decisions as data (`journal.py`); here they are joined with the activity of the
variables and put in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from tapec.api import generate
from tapec.journal import Decision, Journal
from tapec.options import Keywords, Options, chosen

if TYPE_CHECKING:
    from tapec.backend.program import Program
    from tapec.explanation.wording import Wording


@dataclass(frozen=True)
class Variable:
    """A variable of the function: whether it carries a derivative, and why.

    name    as in the source
    line    where it is first set; 0 for a parameter
    place   the line in words, with the file where that is another one
    active  whether derivatives flow through it
    why     a sentence
    """

    name: str
    line: int
    place: str
    active: bool
    why: str


@dataclass(frozen=True)
class Note:
    """Something that the compiler did with a line of the source, or did not do.

    file, line  the place
    place       the same in words
    by          the pass, by the name of its module
    what        what was decided, such as "not fused"
    why         a sentence; empty where it needs no reason
    formula     of what is stored: the bytes, as a Python expression in the function's parameters; else empty
    per_trip    whether each trip stores as much, on a list
    """

    file: str
    line: int
    place: str
    by: str
    what: str
    why: str = ""
    formula: str = ""
    per_trip: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.why}" if self.why else self.what


@dataclass(frozen=True)
class Allocation:
    """An array that the generated function makes.

    name      in the generated source
    formula   its bytes, as a Python expression in the function's parameters
    per_trip  whether each trip of a loop makes one anew; few of them live at a time
    """

    name: str
    formula: str
    per_trip: bool


@dataclass(frozen=True)
class Explanation:
    """What `tapec.explain` returns; `str()` gives a page of text.

    function    the function's name
    wrt         the sources, by name
    variables   the activity of each variable
    notes       all decisions, by line
    memory      the arrays that the generated function makes
    limits      what keeps the derivative from being faster, a sentence each
    lines       for each line that computes something, by file and number: whether that carries a derivative
    file        the function's file
    program     the generated program
    """

    function: str
    wrt: tuple[str, ...]
    variables: tuple[Variable, ...]
    notes: tuple[Note, ...]
    memory: tuple[Allocation, ...]
    limits: tuple[str, ...]
    lines: dict[tuple[str, int], bool]
    file: str
    program: Program

    @property
    def stored(self) -> tuple[Note, ...]:
        """The values that the forward sweep keeps for the reverse sweep."""
        return tuple(note for note in self.notes if note.by == "storage" and note.formula)

    @property
    def bytes(self) -> str:
        """What arrays store in all, as a Python expression in the function's parameters; lists come to that."""
        return " + ".join(note.formula for note in self.stored if not note.per_trip) or "0"

    def __str__(self) -> str:
        return "\n".join(_page(self)) + "\n"


def explain(f: Callable[..., Any], wrt: Any = 0, signature: Any = None, **options: Unpack[Keywords]) -> Explanation:
    """What the compiler does with a function's gradient, and why.

    f          a Python function or Numba dispatcher that returns one float
    wrt        position or name of a parameter, or a tuple of those
    signature  argument types as for `emit`; by default the function's annotations
    options    as for `grad`
    returns    an Explanation: the activity of each variable with the reason, what is stored (bytes, as a
               formula in the shapes), computed again or run again, which loops are reversed as soon as they
               have run and what keeps the others from it, which loops can run on vectors.  Print it, or
               read its fields
    raises     TapecError (see tapec.errors)

    What connects a target and a source of a tape is told by `GradientTape.explain`.

    >>> import numpy as np
    >>> def energy(x):
    ...     total = 0.0
    ...     for i in range(x.shape[0]):
    ...         total += x[i] ** 2
    ...     return total
    >>> [str(note) for note in explain(energy, signature="f8[:]").notes if note.by == "fusion"]
    ['fused']
    """
    # of the compiler, which `import tapec` does not load
    from tapec.explanation.wording import Wording

    settings = chosen(options)
    journal = Journal()
    function, program = generate(f, wrt, signature, "value_and_grad", journal, **options)
    wording = Wording(function, program)
    notes = list(_notes(journal.decisions, wording))
    notes.sort(key=lambda note: (note.file != wording.file, note.file, note.line))
    activity = wording.activity(wrt)
    variables = tuple(Variable(*row) for row in wording.variables(activity, wrt))
    limits = tuple(_limits(settings, notes))
    memory = tuple(Allocation(*row) for row in wording.allocations())
    found = tuple(dict.fromkeys(notes))
    lines = wording.active_lines(activity)
    return Explanation(
        function.__name__, wording.sources(wrt), variables, found, memory, limits, lines, wording.file, program
    )


def _notes(decisions: list[Decision], wording: Wording) -> Iterator[Note]:
    """The decisions in words; those without a line of the user's say nothing to him."""
    again = wording.largest([d for d in decisions if d.what == "computed again"])
    for decision in decisions:
        span = decision.span
        if span is None or (decision.what == "computed again" and id(decision) not in again):
            continue
        what, why, formula, per_trip = decision.what, wording.sentence(decision.why, decision.about), "", False
        if decision.by == "storage" and decision.what == "stored":
            named, value, size, loops = decision.about
            formula, per_trip = wording.formula(size), bool(loops)
            each = "".join(f" for each trip of {wording.line(one)}" for one in loops)
            what = f"stored: {wording.value(named, value)}, {formula} bytes{each}"
        elif decision.what == "computed again":
            what = f"computed again: {wording.value(*decision.about)}"
        else:
            what = wording.sentence(what, decision.about)
        yield Note(span.file, span.line, wording.line(span), decision.by, what, why, formula, per_trip)


def _limits(options: Options, notes: list[Note]) -> Iterator[str]:
    """What keeps the derivative from being faster."""
    if options.level < 2:
        yield f"opt_level={options.level}: nothing is fused, and no loop is rewritten"
    if options.math == "libm":
        yield 'math="libm": elementary functions are called one by one, and keep loops from running on vectors'
    lists = sorted({note.place for note in notes if note.per_trip})
    if lists:
        yield f"values are kept on lists, since nothing tells their number beforehand: {', '.join(lists)}"
    scalar = sorted({note.place for note in notes if note.by == "vectors" and "cannot" in note.what})
    if scalar:
        yield f"loops that cannot run on vectors: {', '.join(scalar)}"


def _page(told: Explanation) -> Iterator[str]:
    """The lines of the text."""
    yield f"{told.function}, gradient by {', '.join(told.wrt)}"
    yield from ("", "Variables")
    width = max(len(variable.name) for variable in told.variables)
    for variable in told.variables:
        yield f"  {variable.name:<{width}}  {'active  ' if variable.active else 'constant'}  {variable.why}"
    yield from ("", "Kept for the reverse sweep")
    kept = [note for note in told.notes if note.by == "storage"]
    yield from (f"  {note.place}: {note}" for note in kept)
    lists = ", and the lists" if any(note.per_trip for note in told.stored) else ""
    yield f"  in all: {told.bytes} bytes{lists}" if told.stored else "  nothing is stored"
    loops = [note for note in told.notes if note.by != "storage"]
    if loops:
        yield from ("", "Loops and arrays")
        yield from (f"  {note.place}: {note}" for note in loops)
    if told.memory:
        yield from ("", "Arrays of the generated function, in bytes")
        width = max(len(one.name) for one in told.memory)
        yield from (f"  {one.name:<{width}}  {one.formula}{', in a trip' * one.per_trip}" for one in told.memory)
    if told.limits:
        yield from ("", "What limits it")
        yield from (f"  {limit}" for limit in told.limits)
