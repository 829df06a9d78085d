"""Where ways of a branch meet: which reads are one, and what stands in place of what the other way has."""

from __future__ import annotations

from tapec.syntax.core import Assign, Const, Name
from tapec.syntax.types import FLOAT64, INT64, Array
from tapec.transforms.emitter import Emitter
from tapec.transforms.meeting_partials import Meeting, Read, Stored

ONE, TWO = Const(1.0), Const(2.0)


def meeting(joined: bool, only_reads: bool = False) -> Meeting:
    types = {"x": FLOAT64, "y": Array("float64", 1), "j": INT64, "k": INT64}
    out = Emitter(types, set(types))
    return Meeting(types, only_reads, out.child(), out.child(), joined)


def written(way: Emitter) -> list:
    return [(stmt.target, stmt.value) for stmt in way.out if isinstance(stmt, Assign)]


def test_a_read_of_each_way_is_one_behind_them():
    met, first, second = meeting(False), Read(), Read()
    ((read, partial),) = met.partials("x", {first: ONE}, {second: TWO}).items()
    assert read not in (first, second)
    assert written(met.first) == [(partial.id, ONE)] and written(met.second) == [(partial.id, TWO)]
    # for other numbers, too
    assert list(met.partials("x", {first: TWO}, {second: ONE})) == [read]


def test_a_read_before_the_branch_stays_what_it_is():
    met, before, own = meeting(False), Read(), Read()
    found = met.partials("x", {before: ONE, own: TWO}, {before: ONE})
    assert found[before] == ONE and len(found) == 2
    (partial,) = (value.id for read, value in found.items() if read is not before)
    assert written(met.first) == [(partial, TWO)] and written(met.second) == [(partial, Const(0.0))]


def test_columns_meet_as_well():
    met = meeting(False, only_reads=True)
    ((read, _),) = met.partials("x", {Read(Name("j")): ONE}, {Read(Name("k")): ONE}).items()
    assert written(met.first) == [(read.column.id, Name("j"))]
    assert written(met.second) == [(read.column.id, Name("k"))]


def test_where_both_ways_count_reads_stay_what_they_are():
    met, first, second = meeting(True), Read(), Read()
    found = met.partials("x", {first: ONE}, {second: TWO})
    assert set(found) == {first, second}
    assert written(met.second)[0][1] == Const(0.0) and written(met.first)[1][1] == Const(0.0)


def test_what_both_ways_store_in_an_element_is_stored_once():
    met, first, second = meeting(True), Read(), Read()
    ways = [Stored("y", (Name("j"),), {first: ONE})], [Stored("y", (Name("j"),), {second: ONE})]
    (together,) = met.stored(*ways)
    assert set(together.partials) == {first, second} and not together.accumulate


def test_what_one_way_stores_is_zero_on_the_other():
    met, first = meeting(True), Read()
    ways = [Stored("y", (Name("j"),), {first: ONE}, True)], [Stored("y", (Name("k"),), {first: ONE}, True)]
    assert [one.index for one in met.stored(*ways)] == [(Name("j"),), (Name("k"),)]
    assert [value for _, value in written(met.second)] == [Const(0.0), ONE]
