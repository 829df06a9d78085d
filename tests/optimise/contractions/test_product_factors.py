"""Factors of products."""

from __future__ import annotations

from tapec.optimise.contractions.product_factors import Product, factors
from tapec.syntax.core import Const, Name, Op

A, B, R = map(Name, "abr")
MADE = {"t": Op("*", (A, R)), "u": Op("/", (R, B)), "v": Op("neg", (Name("t"),)), "w": Op("*", (Name("u"), Const(2.0)))}


def test_names_of_partial_products_are_looked_through():
    assert factors(A, MADE.get) == Product((A,))
    assert factors(Name("u"), MADE.get) == Product((R,), (B,))
    assert factors(Name("v"), MADE.get) == Product((A, R), (), True)
    both = factors(Name("v"), MADE.get).times(factors(Name("w"), MADE.get))
    assert both == Product((A, R, R, Const(2.0)), (B,), True)
    assert list(both.without(R)) == [("*", A), ("*", Const(2.0)), ("/", B)]


def test_no_further_than_it_is_asked_for():
    assert factors(Name("v"), MADE.get, 1) == Product((Name("t"),), (), True)
