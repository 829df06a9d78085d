"""Zeros at the start of a function go where nobody reads them, and only there."""

from __future__ import annotations

from llvmlite import ir as ll

from tapec.backend.numba_internals.dead_zeros import drop_zeros

NUMBER, CHOICE, INDEX = ll.IntType(64), ll.IntType(1), ll.IntType(32)
PAIR = ll.LiteralStructType([NUMBER, NUMBER])


class Written:
    """A function with one variable that starts as zeros; `text` is what is left of it."""

    def __init__(self, kind=NUMBER, between=False):
        self.function = ll.Function(
            ll.Module(), ll.FunctionType(NUMBER, [CHOICE, NUMBER, NUMBER.as_pointer()]), "written"
        )
        self.builder = ll.IRBuilder(self.function.append_basic_block("entry"))
        self.choice, self.given, self.elsewhere = self.function.args
        self.place = self.builder.alloca(kind, name="place")
        if between:
            self.builder.store(self.given, self.place)
            self.builder.store(self.given, self.elsewhere)
        self.zeros = self.builder.store(kind(None), self.place)

    def field(self, number):
        return self.builder.gep(self.place, [INDEX(0), INDEX(number)])

    def ends(self, address):
        """The function returns what is at an address; whether the zeros of the variable are left."""
        self.builder.ret(self.builder.load(address))
        drop_zeros(self.function)
        return self.zeros in self.function.entry_basic_block.instructions


def test_zeros_that_are_stored_over_go():
    one = Written()
    with one.builder.if_else(one.choice) as (first, second):
        with first:
            one.builder.store(one.given, one.place)
        with second:
            one.builder.store(NUMBER(3), one.place)
    assert not one.ends(one.place)


def test_zeros_that_one_way_leaves_stay():
    one = Written()
    with one.builder.if_then(one.choice):
        one.builder.store(one.given, one.place)
    assert one.ends(one.place)


def test_a_loop_begins_with_zeros():
    one = Written()
    head, after = one.function.append_basic_block("head"), one.function.append_basic_block("after")
    one.builder.branch(head)
    one.builder.position_at_end(head)
    one.builder.store(one.builder.add(one.builder.load(one.place), one.given), one.place)
    one.builder.cbranch(one.choice, head, after)
    one.builder.position_at_end(after)
    assert one.ends(one.place)


def test_fields_are_variables_of_their_own():
    one = Written(PAIR)
    one.builder.store(one.given, one.field(1))
    assert not one.ends(one.field(1))
    assert "store i64 0" not in str(one.function)
    two = Written(PAIR)
    two.builder.store(two.given, two.field(1))
    assert not two.ends(two.field(0))
    assert str(two.function).count("store i64 0") == 1
    whole = Written(PAIR)
    whole.builder.store(whole.given, whole.field(1))
    whole.builder.load(whole.place)
    assert not whole.ends(whole.field(1))
    assert str(whole.function).count("store i64 0") == 1


def test_whoever_holds_the_address_may_read():
    stored = Written()
    holder = stored.builder.alloca(NUMBER.as_pointer())
    stored.builder.store(stored.place, holder)
    stored.builder.store(stored.given, stored.place)
    assert stored.ends(stored.place)
    met = Written()
    other = met.function.append_basic_block("other")
    start = met.builder.block
    met.builder.branch(other)
    met.builder.position_at_end(other)
    address = met.builder.phi(NUMBER.as_pointer())
    address.add_incoming(met.place, start)
    assert met.ends(address)


def test_addresses_are_known_wherever_their_block_stands():
    one = Written(PAIR)
    later = one.function.append_basic_block("later")
    before = one.function.append_basic_block("before")
    one.builder.branch(before)
    one.builder.position_at_end(before)
    address = one.field(0)
    one.builder.branch(later)
    one.builder.position_at_end(later)
    one.ends(address)
    assert str(one.function).count("store i64 0") == 1


def test_zeros_that_come_later_are_the_programs():
    one = Written(between=True)
    assert one.ends(one.place)
