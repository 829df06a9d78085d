"""Remarks on the plan: what is stored and why, how much room that takes, what is computed again."""

from __future__ import annotations

import pytest

from tapec.backend import printer
from tapec.remarks import Remark, Remarks, heard_by
from tapec.syntax.core import Assign, Const, If, Name, Op
from tapec.transforms.plan_remarks import is_extent, times
from tests.transforms.reversals import reversal

BEGIN = """
def f(x, z, n, c, a):
    s = x
    for i in range(n):
"""


def remarks(*body: str, last: str) -> dict[str, Remark]:
    """What is remarked of a loop, by the name that it is about."""
    heard = Remarks()
    text = BEGIN + "".join(f"        {line}\n" for line in (*body, f"s = {last}")) + "    return s\n"
    with heard_by(heard):
        reversal(text, ("x", "z", "a"))
    found = [one for one in heard.all if one.by == "storage"]
    return {one.about[0].name if one.about else one.what: one for one in found}


def words(expr) -> str:
    return printer.expression(expr)


def test_what_is_stored_with_its_size_and_what_computes_it():
    found = remarks("t = s * z", "u = np.sin(t)", "w = u * t", last="w")
    assert found["u"].what == found["s"].what == "stored" and found["t"].what == "computed again"
    _, value, size, loops = found["u"].about
    assert words(value) == "np.sin(s * z)" and words(size) == "8 * max(n, 0)" and loops == ()
    assert found["u"].why == "computing it again costs more" and found["s"].why == "the iteration before it set it"
    # in the order of the program
    assert list(found) == ["s", "t", "u"]


@pytest.mark.parametrize(
    ("body", "name", "why"),
    [
        (("v = a[i]", "w = v * v", "a[i] = w", "r = w + s"), "v", "the element is overwritten later"),
        (("if c:", "    v = s", "else:", "    v = 2.0", "r = v * v"), "v", "how it came about depends on a branch"),
        (("v = a[i]", "w = np.exp(v)", "r = w * s"), "w", "computing it again costs more"),
    ],
)
def test_why_it_is_stored(body: tuple[str, ...], name: str, why: str):
    assert remarks(*body, last="r")[name].why == why


def test_what_a_loop_runs_again():
    heard = Remarks()
    text = """
    def f(x, n, a):
        s = 0.0
        for i in range(n):
            a_t = np.zeros(3)
            for k in range(3):
                v = a[k]
                z = v * i
                a_t[k] = z
            for k_2 in range(3):
                u = a_t[k_2]
                w = u * u
                s_1 = s + w
                s = s_1
        return s
    """
    with heard_by(heard):
        reversal(text, ("a",))
    (one,) = [one for one in heard.all if one.what == "run again"]
    assert "nothing of them is kept" in one.why
    # nobody wants to hear of extents, nor of shadows
    assert not [one for one in heard.all if one.about and getattr(one.about[0], "name", "") in ("size", "a_bar")]


def test_what_is_loaded_from_an_element():
    heard = Remarks()
    text = """
    def f(x, n, a):
        a_y = np.zeros(n)
        for i in range(n):
            t = a[i]
            u = np.exp(t)
            a_y[i] = u
        return a_y
    """
    with heard_by(heard):
        reversal(text, ("a",))
    assert [one.about[0].name for one in heard.all if one.what == "loaded from `{0}`"] == ["a_y"]


def test_what_goes_on_a_list_is_counted_in_loops():
    heard = Remarks()
    text = """
    def f(x, n):
        s = x
        k = 0
        while True:
            if k < n:
                t = s * 2.0
                s_1 = np.exp(t)
                k_1 = k + 1
                k = k_1
                s = s_1
            else:
                break
        return s
    """
    with heard_by(heard):
        reversal(text)
    (kept,) = [one for one in heard.all if one.about and getattr(one.about[0], "name", "") == "s_1"]
    assert words(kept.about[2]) == "8" and len(kept.about[3]) == 1


def test_nothing_is_said_where_nobody_listens():
    heard = Remarks()
    with heard_by(heard), heard_by(None):
        reversal(BEGIN + "        s = x\n    return s\n")
    assert heard.all == []


def test_products_of_numbers_are_numbers():
    assert times(Const(8), Const(3)) == Const(24)
    assert times(Const(8), Name("n")) == Op("*", (Const(8), Name("n")))


def test_what_asks_for_an_extent():
    assert is_extent(Assign("n", Op("dim", (Name("a"), Const(0))))) and is_extent(If(Name("c"), ()))
    assert not is_extent(Assign("x", Name("y"))) and not is_extent(Assign("x", Op("load", (Name("a"), Const(0)))))
