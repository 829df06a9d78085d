"""A sparse Jacobian or Hessian as source: the pattern at given arguments as arrays, and what computes the values.

    values = loss_sparse_jacobian(x, a)
    matrix = scipy.sparse.csr_array((values, COLUMNS, STARTS), shape=SHAPE)

The pattern is found once, here.  What is printed tests at each call that it holds for the shapes and the decisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.backend.jit import decorator
from tapec.backend.module import joined_text, title_of, typed_array
from tapec.backend.signature import arguments
from tapec.errors import NotDifferentiable, UsageError
from tapec.frontend.source.function_source import parameters
from tapec.options import Keywords, chosen, no_aux, no_limit
from tapec.pipeline import build
from tapec.sparse import _Call, _Programs
from tapec.sparsity_pattern import lanes_for

if TYPE_CHECKING:
    from tapec.backend.program import Program
    from tapec.sparsity_pattern import Pattern

# elements of a pattern whose text is still one that an editor opens
_LARGEST = 100_000
_PARTS = ("columns", "rows")


def with_fixed_pattern(
    function: Any, wrt: Any, args: tuple[Any, ...], kind: str, options: Keywords
) -> tuple[tuple[Program, ...], str]:
    """The programs of a sparse derivative (`sparse_jacobian`, `sparse_hessian`), and the module with the pattern.

    raises  UsageError  for arguments that are neither numbers nor arrays, and for patterns that are too large to print
    """
    asked = no_limit(no_aux(chosen(options), f"tapec.{kind}"), f"tapec.{kind}")
    labels = list(parameters(function))
    for label, value in zip(labels, args, strict=False):
        if not isinstance(value, bool | int | float | np.generic | np.ndarray):
            raise UsageError(
                f"a fixed pattern of a function whose argument `{label}` is a {type(value).__name__}",
                hint="pass numbers and arrays, or types in place of values: then the programs alone are printed",
            )
    known = _Programs(function, kind, asked)
    # what is printed has tables of colours
    known.by_colours_alone = True
    positions = known.positions(wrt)
    call = _Call(known, positions, args)
    types = arguments(tuple(_numba_type(value) for value in call.primals), labels)

    def made(pattern: Pattern) -> dict[str, Program]:
        parts = {part: count for part, count in zip(_PARTS, pattern.counts, strict=True) if count}
        first = "hessian_" if kind == "sparse_hessian" else ""
        return {
            part: build(function, types, first + part, positions, asked, lanes=lanes_for(count))
            for part, count in parts.items()
        }

    pattern = call.found()
    try:
        programs = made(pattern)
    except NotDifferentiable:
        if kind == "sparse_hessian":
            raise
        # a custom gradient has no forward mode
        known.by_rows_alone = True
        pattern = call.found()
        programs = made(pattern)
    if pattern.columns.size > _LARGEST:
        raise UsageError(
            f"the pattern has {pattern.columns.size} elements, which are too many to print",
            hint="pass types in place of values: then the programs alone are printed",
        )
    text = joined_text(tuple(programs.values()), title_of(function))
    if "import numpy as np\n" not in text:
        text = text.replace("import numba\n", "import numba\nimport numpy as np\n", 1)
    whole = _whole(f"{function.__name__}_{kind}", labels[: len(args)], call, pattern, programs)
    return tuple(programs.values()), "\n".join([text, *_tables(pattern, programs), "", "", whole])


def _numba_type(value: Any) -> Any:
    from numba import typeof

    return typeof(value)


def _tables(pattern: Pattern, programs: dict[str, Program]) -> Iterator[str]:
    """The arrays of a pattern, as statements."""
    columns, starts = pattern.indices
    yield "# the pattern, as scipy.sparse.csr_array takes it"
    yield f"SHAPE = {pattern.shape!r}"
    yield f"COLUMNS = {typed_array(columns)}"
    yield f"STARTS = {typed_array(starts)}"
    yield "# the decisions that it holds for"
    yield f"TRACES = {typed_array(pattern.known)}"
    for part in programs:
        yield f"# {part} of one colour are computed together; see the parameters of the function for {part}"
        strips = pattern.strips(part, lanes_for(pattern.counts[_PARTS.index(part)]))
        for name, table in zip(("COLOURS", "STRIPS", "PLACES", "TARGETS"), strips, strict=True):
            yield f"{part.upper()}_{name} = {typed_array(table)}"


def _whole(name: str, labels: list[str], call: _Call, pattern: Pattern, programs: dict[str, Program]) -> str:
    """The function of the same arguments."""
    values = "values"
    while values in labels:
        values += "_"
    lines = [
        f"def {name}({', '.join(labels)}):",
        '    """The values of the elements of the pattern (COLUMNS, STARTS), row by row."""',
    ]
    shapes = [
        f"{label}.shape != {primal.shape!r}"
        for label, primal in zip(labels, call.primals, strict=False)
        if isinstance(primal, np.ndarray)
    ]
    if shapes:
        message = "the pattern is for arrays of other shapes"
        lines += [f"    if {' or '.join(shapes)}:", f'        raise ValueError("{message}")']
    lines.append(f"    {values} = np.empty({pattern.columns.size}, dtype=np.{np.dtype(call.dtype).name})")
    for part, program in programs.items():
        tables = (f"{part.upper()}_{table}" for table in ("COLOURS", "STRIPS", "PLACES", "TARGETS"))
        given = ", ".join([*labels, *tables, values, "TRACES"])
        lines += [
            f"    if {program.name}({given}) not in TRACES:",
            '        raise ValueError("the pattern is for other branches or subscripts")',
        ]
    lines.append(f"    return {values}")
    return "\n".join([decorator(next(iter(programs.values())).options), *lines]) + "\n"
