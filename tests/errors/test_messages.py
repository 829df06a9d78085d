"""Every error that tapec raises has a case with its full text."""

from __future__ import annotations

import ast
import importlib
import re
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import tapec
from tapec import errors
from tests.errors import Refusal, golden, read, write
from tests.sampling import sampled

SUBJECTS = (
    *("assignment", "statements", "expressions", "containers", "library", "indexing", "calls"),
    *("derivatives", "own_derivatives", "products", "requests", "sources", "targets", "complex_numbers"),
    "differential_equations",
    *("records", "made_objects", "library_objects", "tensors", "tapes", "tape_objects"),
    *("compiled", "compiled_objects", "decorators"),
)
SOURCE = Path(tapec.__file__).resolve().parent
TESTS = Path(__file__).resolve().parent.parent
# what only a mistake in the compiler or its tables could bring about
GUARDS = frozenset(
    {
        "'cannot assign to this'",
        # `tests/frontend/library/test_package_sources.py` has a case: the line is one of a package's source
        "f'`{title}` is not supported'",
        "f'%%tapec: {error.format_message()}'",
        "f'`{value.fn}` has no derivative rule'",
        "f'`{fn}` has no derivative rule'",
        "f'`{fn}` has no derivative with respect to a number'",
        "f'the derivative needs `{expr.fn}` of ({kinds})'",
        "f'the list `{key.label}` holds different types after each branch'",
        # then the block is read once more, with its branches decided
        "'a branch or loop chooses a recorded value while recording is stopped'",
        # then the function is lowered without packed lists
        "'a slice of a packed list with such bounds'",
        "'a list holds elements of different types'",
        "'a checkpointed loop that appends to a list from outside'",
        "'the types of the variables that this loop carries do not settle'",
        "f'the result of `{label}` has no one type'",
        "f'Numba cannot index {owner.type} this way'",
        "'the keys of this dict are not known here'",
        "f'`{name}` is a {type(value).__name__}, which cannot be printed'",
    }
)
# what tapes say where a case is not enough: a file that changes while it runs, a program of many parts; and what
# an attempt to read a block says that a later attempt makes up for, one that knows more of the run
BEHIND = frozenset(
    {
        # `tests/cli` asks for fewer
        "sparse_source.py: f'the pattern has {pattern.columns.size} elements, which are too many to print'",
        # what only another machine, or two modules together, bring about
        "build/config.py: f'{self.where}: `{key}`: {what}'",
        # text that was made before
        "build/config.py: f'{path}: {error}'",
        "build/config.py: f'cannot read {path}: {error.strerror}'",
        "build/config.py: f'{self.where}: {error.message}'",
        "build/object_code.py: f'{name!r} is {why}'",
        "build/object_code.py: 'libraries and extension modules can be built on Linux only'",
        "build/object_code.py: 'the generated source could not be compiled'",
        "build/object_code.py: f'`{refused.function.__name__}` cannot be built ahead of time'",
        "build/extension.py: f'the headers of Python are not found in {headers}'",
        "build/extension.py: f'two named tuples are called {group.name!r}'",
        "build/toolchain.py: f'the archiver {archiver!r} is not found'",
        "build/toolchain.py: f'`{shlex.join(command)}` failed'",
        "backend/program.py: f'two classes of exceptions are called `{stmt.exception}`'",
        "transforms/checkpoint_contents.py: message",
        'tape/answers/recording.py: f"the tape\'s block ended by {type(error).__name__} where its state is not known"',
        "tape/objects/outer_variables.py: f'`{ident}` of an outer function is assigned in a compiled function'",
        "frontend/statements/context_managers.py: 'a context of a generator, inside a loop over numbers'",
        'frontend/statements/import_statement.py: "`import *` inside a tape\'s block"',
        "frontend/statements/import_statement.py: message",
        "frontend/iteration/generators.py: 'a generator inside a loop over numbers'",
        "frontend/statements/nonlocal_variables.py: f'cannot assign to `{ident}` of an outer function here'",
        "tape/derivatives/recomputed_values.py: f'the source `{name}` is computed once more for the gradient of an inner tape'",  # noqa: E501
        "tape/compiled_functions/function_lowering.py: f'`{f.__name__}` reaches too much mutable structure below its loops and branches'",  # noqa: E501
        "tape/answers/reentered_tape.py: f'`{leaf.name}` is another kind of array in the block that the tape is entered for again'",  # noqa: E501
        "tape/run/branch_decisions.py: 'a decision on an array'",
        # the first attempt's message is the one that is raised
        "tape/run/branch_decisions.py: 'a decision behind a draw of random numbers in a compiled function'",
        "tape/answers/gradients.py: error.message",
        "tape/objects/live_objects.py: 'a watch or stop, inside a branch or loop, of a value from outside'",
        "tape/objects/live_objects.py: f'a recursive function that reads `{name}` from outside'",
        "tape/objects/live_objects.py: f'the recursive function `{name}`, which writes into an argument, in a tape'",
        'tape/plan/block_lowering.py: "the tape\'s block cannot be lowered"',
        'tape/plan/block_lowering.py: "the tape\'s block reaches too much mutable structure below its loops and branches"',  # noqa: E501
        "tape/plan/block_lowering.py: 'a tape is left inside a branch or loop'",
        "tape/plan/block_lowering.py: error.message",
        "tape/objects/object_calls.py: f'`super` of {describe(owner)}'",
        # what is bound has a name of its own
        "tape/answers/targets_and_sources.py: f'a source that is a plain conversion of `{atom.id}`'",
        "tape/answers/targets_and_sources.py: 'a complex source that has a part in common with another value'",
        "tape/answers/targets_and_sources.py: 'a complex source of which one part is a literal'",
        'tape/block/with_statement.py: "the source of the tape\'s block has changed since it was imported"',
        "tape/block/with_statement.py: error.message",
        # said again by an error that keeps no frames
        "gradient_tape.py: error.message",
        # `tests/api/test_ode.py` has it
        "ode_steps.py: f'the time t = {t:.6g} of event {k} has no derivative'",
        "frontend/calls/cached_functions.py: message",
        "tape/objects/random_state.py: f'`{name}` of a random generator here'",
        "tape/answers/row_gradients.py: 'rows that are taken by something else than an array'",
        "tape/objects/object_standins.py: f'{self.subject} that assigns `{ident}` of another function'",
        "tape/objects/object_standins.py: f'{self.subject} that reads `{origin[-1]}` from outside'",
        "tape/objects/object_standins.py: f'{self.subject} that reads the attribute `{name}`'",
        "tape/objects/object_standins.py: f'{self.subject} that sets the attribute `{name}`'",
    }
)
# refused after many calls
SLOW = {"every_call_another_way", "draws_in_a_loop_of_a_tape"}
CASES = [(subject, case) for subject in SUBJECTS for case in importlib.import_module(f"tests.errors.{subject}").cases]


@pytest.mark.parametrize(
    ("subject", "case"),
    sampled(
        [
            pytest.param(subject, case, marks=pytest.mark.slow) if str(case) in SLOW else (subject, case)
            for subject, case in CASES
        ],
        3,
    ),
    ids=str,
)
def test_message(subject: str, case: Refusal, request: pytest.FixtureRequest):
    message = case.message()
    path = golden(subject)
    known = read(path) if path.exists() else {}
    if request.config.getoption("--record") and known.get(str(case)) != message:
        write(path, {str(one): (known | {str(case): message}).get(str(one), "") for s, one in CASES if s == subject})
        return
    assert message == known.get(str(case)), "the message changed: review it, then --record"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_message_without_a_case(subject: str, request: pytest.FixtureRequest):
    names = [str(case) for one, case in CASES if one == subject]
    if request.config.getoption("--record"):
        known = read(golden(subject))
        write(golden(subject), {name: known[name] for name in names if name in known})
    assert list(read(golden(subject))) == names


_WHERE = re.compile(r" \(\S+:\d+\)$")


def refusals() -> dict[str, tuple[str, range, ast.expr]]:
    """The errors that the compiler makes: a name for each, its file, its lines and the message's expression."""
    classes = {value.__name__ for value in vars(errors).values() if isinstance(value, type)} - {"Span"}
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (name := _name(node.func)) in {*classes, "fail", "misused"}:
                message = node.args[1 if name in ("fail", "misused") else 0]
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                found[f"{file}:{node.lineno}: {ast.unparse(message)}"] = file, lines, message
    return found


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _pattern(message: ast.expr) -> re.Pattern[str]:
    """What texts an f-string can give."""
    parts = message.values if isinstance(message, ast.JoinedStr) else [message]
    return re.compile("".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".*" for p in parts))


def lines_of(error: BaseException | None) -> Iterator[tuple[str, int]]:
    """The lines of the compiler that an error, or what caused it, passed through."""
    while error is not None:
        for frame, line in traceback.walk_tb(error.__traceback__):
            yield frame.f_code.co_filename.removeprefix(f"{SOURCE}/"), line
        error = error.__cause__ or error.__context__


def _asked_for(message: ast.expr, texts: str) -> bool:
    """Whether tests name three words of a message that stand together."""
    parts = message.values if isinstance(message, ast.JoinedStr) else [message]
    pieces = [str(part.value).split() for part in parts if isinstance(part, ast.Constant)]
    return any(" ".join(piece[k : k + 3]) in texts for piece in pieces for k in range(len(piece) - 2))


@pytest.mark.slow
def test_every_refusal_of_a_build_is_tested():
    folders = (TESTS / "build", TESTS / "cli")
    texts = "".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("*.py"))
    unnamed = [
        name
        for name, (file, _, message) in refusals().items()
        if file.startswith("build/")
        and f"{file}: {ast.unparse(message)}" not in BEHIND
        and not _asked_for(message, texts)
    ]
    assert unnamed == []


@pytest.mark.slow
def test_every_refusal_has_a_case():
    raised = [case.error for _, case in CASES]
    places = {place for error in raised for place in lines_of(error)}
    texts = [error.message if isinstance(error, errors.TapecError) else _WHERE.sub("", str(error)) for error in raised]

    def covered(file: str, lines: range, message: ast.expr) -> bool:
        if ast.unparse(message) in GUARDS or f"{file}: {ast.unparse(message)}" in BEHIND:
            return True
        if not isinstance(message, ast.Constant | ast.JoinedStr):  # text that was made before
            return any((file, line) in places for line in lines)
        return any(_pattern(message).fullmatch(text) for text in texts)

    # `tests/build` has cases for these, and `tests/bridges` where the libraries are installed
    others = ("build/", "backend/module.py", "bridge.py", "dask.py", "scipy.py")
    elsewhere = [name for name in refusals() if name.startswith(others)]
    assert [name for name, place in refusals().items() if name not in elsewhere and not covered(*place)] == []


def test_every_class_has_a_case():
    # as the golden files have them, which test_message holds to what is raised
    raised = {text.partition(":")[0].strip() for subject in SUBJECTS for text in read(golden(subject)).values()}
    classes = {name for name, value in vars(errors).items() if isinstance(value, type)} - {"Span", "TapecError"}
    assert classes - raised <= {"LoweringError"}, "LoweringError is that of tapes"
