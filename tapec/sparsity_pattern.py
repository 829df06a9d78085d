"""A sparsity pattern, its colours, and where each element stands in what is computed by colours."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from tapec.on_demand import load
from tapec_runtime import colourings

# what a run by rows costs, in runs by columns: Griewank & Walther, Evaluating Derivatives, 2nd ed., table 4.4
_ROW = 2
# how often columns are coloured in other orders, for fewer colours
_AGAIN = 3
# steps of a colouring that are too many to be done again, or for a star colouring, which looks at paths
_MUCH = 10**8
# how many columns or rows are computed at once at most
_LANES = 16


class Pattern:
    """Which elements of a matrix may be other than zero, and in which runs they are computed.

    starts   where each row begins in `columns` (m + 1,);  columns  (nnz,), sorted in each row
    width    how many columns there are
    traces   the digests of decisions that it holds for
    symmetric, by_rows_alone  how it is computed
    places   of each digest, where partial derivatives go in the order of the run, if they are stored in that order
    adds     whether an element may be met several times then, or not at all
    """

    def __init__(
        self,
        starts: Any,
        columns: Any,
        width: int,
        traces: frozenset[int],
        symmetric: bool = False,
        by_rows_alone: bool = False,
        places: dict[int, Any] | None = None,
        adds: bool = False,
    ) -> None:
        if symmetric:
            first, others, _ = colourings.transposed(starts, columns, width)
            starts, columns = colourings.merged(starts, columns, first, others)
        self.starts, self.columns, self.width, self.traces = starts, columns, width, traces
        self.symmetric, self.by_rows_alone = symmetric, by_rows_alone
        self.in_order, self.adds = places or {}, adds
        self._strips: dict[tuple[str, int], tuple[Any, ...]] = {}

    @property
    def shape(self) -> tuple[int, int]:
        return self.starts.size - 1, self.width

    @property
    def known(self) -> Any:
        """The digests of decisions, as an array."""
        return np.array(sorted(self.traces), np.int64)

    def holds(self, starts: Any, columns: Any) -> bool:
        """Whether all elements of another pattern of this shape are elements of this one."""
        both, _ = self._merged(starts, columns)
        return bool(both[-1] == self.starts[-1])

    def joined(self, other: Pattern) -> Pattern:
        """A pattern with the elements of both."""
        starts, columns = self._merged(other.starts, other.columns)
        traces = self.traces | other.traces
        if not self.in_order or not other.in_order:
            return Pattern(starts, columns, self.width, traces, self.symmetric, self.by_rows_alone)
        numbers = _numbered(starts, columns, self.width)
        places = {
            trace: np.append(np.searchsorted(numbers, _numbered(one.starts, one.columns, self.width)), numbers.size)
            .astype(np.int32)[places]
            for one in (self, other)
            for trace, places in one.in_order.items()
        }
        return Pattern(starts, columns, self.width, traces, places=places, adds=True)

    def _merged(self, starts: Any, columns: Any) -> tuple[Any, Any]:
        return colourings.merged(self.starts, self.columns, starts, columns)

    @cached_property
    def indices(self) -> tuple[Any, Any]:
        """`columns` and `starts`, in the dtype that SciPy has for them, which it does not copy."""
        small = max(self.starts[-1], *self.shape) <= np.iinfo(np.int32).max
        made = [part.astype(np.int32 if small else np.int64) for part in (self.columns, self.starts)]
        for part in made:
            # matrices have them in common
            part.flags.writeable = False
        return made[0], made[1]

    @cached_property
    def run_in_order(self) -> tuple[tuple[Any, Any], int]:
        """What a program takes that stores elements in the order of the run, see `transforms.local_partials`.

        returns  for each digest where its places begin, and the places; how many elements there have to be
        """
        kept = [self.in_order[trace] for trace in self.known]
        begins = np.cumsum([0, *(one.size for one in kept)])[:-1]
        places = np.concatenate(kept)
        return (begins, places), max(self.columns.size, int(places.max(initial=-1)) + 1)

    @property
    def by_star(self) -> bool:
        """Whether an element is read in either of its two places."""
        lengths = np.diff(self.starts)
        return self.symmetric and bool(np.sum(lengths[lengths <= colourings.HUB] ** 3.0) < 10 * _MUCH)

    @cached_property
    def colours(self) -> tuple[Any, Any]:
        """The colours of the columns and of the rows; -1 for those that no run computes."""
        height, width = self.shape
        if self.by_star:
            return colourings.star(self.starts, self.columns), np.full(height, -1)
        if self.symmetric:
            return _coloured(self.starts, self.columns, width), np.full(height, -1)
        longest = self._longest_by_columns()
        lengths = np.diff(self.starts)
        first, rows, _ = colourings.transposed(self.starts, self.columns, width)
        by_rows = lengths > longest
        kept = np.repeat(~by_rows, lengths)
        starts = np.concatenate(([0], np.cumsum(np.where(by_rows, 0, lengths))))
        column_colours = _coloured(starts, self.columns[kept], width)
        if not by_rows.any():
            return column_colours, np.full(height, -1)
        turned = by_rows[rows]
        counts = np.concatenate(([0], np.cumsum(turned)))[first]
        return column_colours, _coloured(counts, rows[turned], height)

    def _longest_by_columns(self) -> int:
        """Rows that are longer than that are computed by rows, the others by columns, for the fewest runs."""
        if self.by_rows_alone:
            return 0
        lengths = np.diff(self.starts)
        longest = int(lengths.max(initial=0))
        best, cost = longest, longest
        limit = 0
        while limit < longest:
            turned = np.repeat(lengths > limit, lengths)
            by_rows = int(np.bincount(self.columns[turned]).max(initial=0))
            within = int(lengths[lengths <= limit].max(initial=0))
            if within + _ROW * by_rows < cost:
                best, cost = limit, within + _ROW * by_rows
            limit = max(2 * limit, 1)
        return best

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many runs there are by columns and by rows; by columns at least one where there is none by rows."""
        by_columns, by_rows = (int(one.max(initial=-1)) + 1 for one in self.colours)
        return max(by_columns, 0 if by_rows or self.by_rows_alone else 1), max(by_rows, int(self.by_rows_alone))

    @cached_property
    def places(self) -> Any:
        """Where each element stands in what the runs compute, those by columns first."""
        height, width = self.shape
        column_colours, row_colours = self.colours
        places = np.zeros(self.columns.size, np.int64)
        if self.by_star:
            colourings.places_in_star(self.starts, self.columns, column_colours, places)
            return _short(places)
        colourings.places_by_columns(self.starts, self.columns, column_colours, places)
        by_rows = np.repeat(row_colours, np.diff(self.starts))
        turned = by_rows >= 0
        places[turned] = self.counts[0] * height + by_rows[turned] * width + self.columns[turned]
        return _short(places)

    def strips(self, part: str, lanes: int) -> tuple[Any, ...]:
        """What a program that computes some colours at once takes: see `transforms.compressed`.

        part     columns or rows
        returns  the colours; where each strip of so many colours begins in what follows; where an element stands in
                 what a strip gives; its number
        """
        if (part, lanes) not in self._strips:
            self._strips[part, lanes] = self._of_strips(part == "rows", lanes)
        return self._strips[part, lanes]

    def _of_strips(self, by_rows: bool, lanes: int) -> tuple[Any, ...]:
        split = self.counts[0] * self.shape[0]
        length = max(self.shape[1] if by_rows else self.shape[0], 1)
        targets = np.flatnonzero((self.places >= split) == by_rows)
        colours, places = np.divmod(self.places[targets].astype(np.int64) - (split if by_rows else 0), length)
        strip, lane = np.divmod(colours, lanes)
        order = np.argsort(strip, kind="stable")
        count = -(-self.counts[by_rows] // lanes)
        starts = np.searchsorted(strip[order], np.arange(count + 1))
        return self.colours[by_rows], starts, _short((places * lanes + lane)[order]), _short(targets[order])

def lanes_for(colours: int) -> int:
    """How many columns or rows a run computes, of so many."""
    return -(-colours // -(-colours // _LANES))


def _numbered(starts: Any, columns: Any, width: int) -> Any:
    """The elements of a pattern as numbers, in their order."""
    return np.repeat(np.arange(starts.size - 1), np.diff(starts)) * width + columns


def _short(places: Any) -> Any:
    """Integers of half the size, which are read in less time, if they fit."""
    return places.astype(np.int32) if places.max(initial=0) <= np.iinfo(np.int32).max else places


def _coloured(starts: Any, columns: Any, width: int) -> Any:
    """Colours of the columns of a pattern, no two of which meet in a row if they are alike.

    Columns of one colour that are coloured again one after the other need no more colours than before, and mostly fewer
    where those that had the last ones come first.  Culberson, Iterated greedy graph coloring and the difficulty
    landscape, University of Alberta, TR 92-07, 1992.
    """
    lengths = np.diff(starts)
    fewest, used = int(lengths.max(initial=0)), np.unique(columns)
    if fewest == used.size:
        found = np.full(width, -1)
        found[used] = np.arange(fewest)
        return found
    found = colourings.distance_two(starts, columns, np.arange(width))
    for _ in range(_AGAIN if np.sum(lengths**2) < _MUCH else 0):
        if found.max(initial=-1) + 1 <= fewest:
            break
        found = colourings.distance_two(starts, columns, np.argsort(-found, kind="stable"))
    return found


def matrix(pattern: Pattern, values: Any) -> Any:
    """The matrix of SciPy with these values; those of one pattern have their indices in common."""
    try:
        load("scipy.sparse")
        from scipy.sparse import csr_array
    except ImportError as error:
        from tapec.errors import UsageError

        raise UsageError("sparse derivatives need SciPy", hint="install it: pip install scipy") from error
    indices, starts = pattern.indices
    made = csr_array((values, indices, starts), shape=pattern.shape)
    # it has made views of them
    made.indices, made.indptr = indices, starts
    made.has_canonical_format = True
    return made
