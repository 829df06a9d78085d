"""What the compiler makes of a function, and why: `tapec.explain`.

The passes make remarks as data (`remarks.py`); here they are joined with the activity of the
variables and put in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tapec.api import generate
from tapec.backend.program import Program
from tapec.errors import UsageError
from tapec.explanation.convergence import convergence_loops
from tapec.explanation.largest_adjoints import LargestAdjoint, table, types_of
from tapec.explanation.largest_adjoints import largest_adjoints as adjoints_of
from tapec.explanation.wording import Wording, operations
from tapec.options import Keywords, Options, chosen
from tapec.remarks import Remark, Remarks
from tapec.syntax.core import walk
from tapec.syntax.custom_rule import Opaque, called

# what is explained: the kind of derivative
MODES = {
    **{"grad": "value_and_grad", "jacobian": "jacobian", "jacfwd": "jacfwd", "jacrev": "jacrev", "hessian": "hessian"},
    **{"sparse_jacobian": "sparsity", "sparse_hessian": "hessian_sparsity"},
}


@dataclass(frozen=True)
class ExplainedVariable:
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
class ExplainedLine:
    """Something that the compiler did with a line of the source, or did not do.

    file, line  the place
    place       the same in words
    by          the pass, by the name of its module
    what        what was decided, such as "not fused"
    why         a sentence; empty where it needs no reason
    formula     of what is stored: the bytes, as a Python expression in the function's parameters; else empty
    per_iteration    whether each iteration stores as much, on a list
    """

    file: str
    line: int
    place: str
    by: str
    what: str
    why: str = ""
    formula: str = ""
    per_iteration: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.why}" if self.why else self.what


@dataclass(frozen=True)
class Allocation:
    """An array that the generated function makes.

    name      in the generated source
    formula   its bytes, as a Python expression in the function's parameters
    per_iteration  whether each iteration of a loop makes one anew; few of them live at a time
    branched  whether only one side of a branch makes it
    """

    name: str
    formula: str
    per_iteration: bool
    branched: bool

    @property
    def made(self) -> str:
        """Where it is made, unless that is once and in any case."""
        return "in an iteration" if self.per_iteration else "in a branch" if self.branched else ""


@dataclass(frozen=True)
class Explanation:
    """What `tapec.explain` returns; `str()` gives a page of text.

    function    the function's name
    wrt         the sources, by name
    variables   the activity of each variable
    notes       all remarks, by line
    memory      the arrays that the generated function makes
    limits      what keeps the derivative from being faster, a sentence each
    lines       for each line that computes something, by file and number: whether that carries a derivative
    file        the function's file
    program     the generated program
    adjoints    with `args`: the largest adjoint of each source, and of what each line hands on
    mode        the derivative
    """

    function: str
    wrt: tuple[str, ...]
    variables: tuple[ExplainedVariable, ...]
    notes: tuple[ExplainedLine, ...]
    memory: tuple[Allocation, ...]
    limits: tuple[str, ...]
    lines: dict[tuple[str, int], bool]
    file: str
    program: Program
    adjoints: tuple[LargestAdjoint, ...] = ()
    mode: str = "grad"

    @property
    def title(self) -> str:
        """Of which derivative by which arguments."""
        what = {
            **{"grad": "gradient", "hessian": "Hessian"},
            **{"sparse_jacobian": "sparse Jacobian", "sparse_hessian": "sparse Hessian"},
        }.get(self.mode, "Jacobian")
        return f"{self.function}, {what} by {', '.join(self.wrt)}"

    @property
    def stored(self) -> tuple[ExplainedLine, ...]:
        """The values that the forward sweep keeps for the reverse sweep."""
        return tuple(note for note in self.notes if note.by == "storage" and note.formula)

    @property
    def stored_bytes(self) -> str:
        """What arrays store in all, as a Python expression in the function's parameters; lists come to that."""
        return " + ".join(note.formula for note in self.stored if not note.per_iteration) or "0"

    def __str__(self) -> str:
        return "\n".join(_page(self)) + "\n"


def explained(
    f: Callable[..., Any], wrt: Any, signature: Any, args: tuple[Any, ...] | None, mode: str, options: Keywords
) -> Explanation:
    """See `tapec.explain`."""
    settings = chosen(options)
    if mode not in MODES:
        raise UsageError(f"mode must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
    if args is not None:
        if signature is not None:
            raise UsageError("signature and args both say what the arguments are: give one of them")
        signature = types_of(f, args)
    remarks = Remarks()
    function, program = generate(f, wrt, signature, MODES[mode], remarks, **options)
    wording = Wording(function, program)
    notes = list(_notes(remarks.all, wording))
    notes.sort(key=lambda note: (note.file != wording.file, note.file, note.line))
    activity = wording.activity(wrt)
    variables = tuple(ExplainedVariable(*row) for row in wording.variables(activity, wrt))
    limits = (*_limits(settings, notes), *_at_fixed_points(notes, wording), *_run_by_python(program, wording))
    memory = tuple(Allocation(*row) for row in wording.allocations())
    # passes that meet a loop twice say the same twice; what is stored twice takes room twice
    found = tuple(note for place, note in enumerate(notes) if note.formula or note not in notes[:place])
    lines = wording.active_lines(activity)
    sizes = () if args is None or mode != "grad" else adjoints_of(f, wrt, args, settings)
    return Explanation(
        *(function.__name__, wording.sources(wrt), variables, found, memory, limits, lines, wording.file, program),
        adjoints=sizes,
        mode=mode,
    )


def adjoint_lines(told: Explanation) -> Iterator[str]:
    """A table of the largest adjoints; nothing without arguments."""
    if told.adjoints:
        yield from ("", "Largest adjoints, of the gradient and of what each line hands on")
        yield from (f"  {row}".rstrip() for row in table(told.adjoints, told.file))


def _notes(remarks: list[Remark], wording: Wording) -> Iterator[ExplainedLine]:
    """Remarks in words; those without a line of the user's say nothing to him."""
    again = wording.largest([d for d in remarks if d.what == "computed again"])
    for remark in remarks:
        span = remark.span
        if span is None or (remark.what == "computed again" and id(remark) not in again):
            continue
        what, why, formula, per_iteration = remark.what, wording.sentence(remark.why, remark.about), "", False
        if remark.by == "storage" and remark.what == "stored":
            named, value, size, loops = remark.about
            formula, per_iteration = wording.formula(size), bool(loops)
            each = f" for each iteration of {' in '.join(map(wording.line, reversed(loops)))}" if loops else ""
            what = f"stored: {wording.value(named, value)}, {counted(formula, 'byte')}{each}"
        elif remark.what == "computed again":
            named, value = remark.about
            what = f"computed again: {wording.value(named, value)}, {counted(operations(value), 'operation')}"
        else:
            what = wording.sentence(what, remark.about)
        yield ExplainedLine(span.file, span.line, wording.line(span), remark.by, what, why, formula, per_iteration)


def counted(number: int | str, what: str) -> str:
    """A number of things, or a formula for it.

    >>> counted(1, "byte"), counted("8 * n", "byte")
    ('1 byte', '8 * n bytes')
    """
    return f"{number} {what}" if str(number) == "1" else f"{number} {what}s"


def _limits(options: Options, notes: list[ExplainedLine]) -> Iterator[str]:
    """What keeps the derivative from being faster."""
    if options.level < 2:
        fused = "only independent iterations are" if options.whole_arrays else "nothing is"
        yield f"opt_level={options.level}: {fused} fused, and no loop is rewritten"
    if options.strict:
        yield "strict=True: nothing is fused, no sum is reordered, and elementary functions are called one by one"
    elif options.math == "libm":
        yield 'math="libm": elementary functions are called one by one, and keep loops from running on vectors'
    if options.boundscheck:
        yield "boundscheck=True: every index is tested"
    kept = [note.place for note in notes if note.per_iteration]
    lists = dict.fromkeys(kept)
    if len(kept) > sum(note.by == "counted_lists" for note in notes):
        yield f"values are kept on lists, since nothing tells their number beforehand: {', '.join(lists)}"
    scalar = dict.fromkeys(note.place for note in notes if note.by == "vector_report" and "may not" in note.what)
    if scalar:
        yield f"loops that may not run on vectors: {', '.join(scalar)}"


def _at_fixed_points(notes: list[ExplainedLine], wording: Wording) -> Iterator[str]:
    """The loops that need not keep their iterations."""
    places = dict.fromkeys(map(wording.line, convergence_loops(wording.primal)))
    if places and any(note.formula for note in notes):
        yield (
            f"iterations are kept of loops that seem to run until they converge: {', '.join(places)};"
            " `tapec.converged` differentiates such a loop at its fixed point, and keeps none"
        )


def _run_by_python(program: Program, wording: Wording) -> Iterator[str]:
    """The functions that compiled code calls in Python."""
    found: dict[str, None] = {}
    for stmt in walk(program.core.body):
        span = getattr(stmt, "span", None)
        for fn in called(stmt):
            if isinstance(fn, Opaque) and fn.compiled is not fn.python:
                found[f"`{fn.shown}`{f' ({wording.line(span)})' if span is not None else ''}"] = None
    if found:
        yield f"functions that Python runs, called through Numba's object mode: {', '.join(found)}"


def _page(told: Explanation) -> Iterator[str]:
    """The lines of the text."""
    yield told.title
    yield from ("", "Variables")
    width = max((len(variable.name) for variable in told.variables), default=0)
    for variable in told.variables:
        yield f"  {variable.name:<{width}}  {'active  ' if variable.active else 'constant'}  {variable.why}"
    yield from ("", "Kept for the reverse sweep")
    kept = [note for note in told.notes if note.by == "storage"]
    yield from (f"  {note.place}: {note}" for note in kept)
    lists = ", and the lists" if any(note.per_iteration for note in told.stored) else ""
    yield f"  in all: {told.stored_bytes} bytes{lists}" if told.stored else "  nothing is stored"
    loops = [note for note in told.notes if note.by != "storage"]
    if loops:
        yield from ("", "Loops and arrays")
        yield from (f"  {note.place}: {note}" for note in loops)
    if told.memory:
        yield from ("", "Arrays of the generated function, in bytes")
        width = max(len(one.name) for one in told.memory)
        yield from (f"  {one.name:<{width}}  {one.formula}{one.made and f', {one.made}'}" for one in told.memory)
    yield from adjoint_lines(told)
    if told.limits:
        yield from ("", "What limits it")
        yield from (f"  {limit}" for limit in told.limits)
