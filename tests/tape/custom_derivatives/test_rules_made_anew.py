"""A rule that is made anew, as in a loop, is the one that was met before; one that gets another part is not."""

from __future__ import annotations

import linecache
import sys

import tapec


def squared(x):
    def gradient(d):
        return 3.0 * d * x

    return x * x, gradient


def scaled(k):
    @tapec.custom_gradient
    def rule(x):
        return x * x, lambda d: k * d * x

    return rule


def by_tangents():
    @tapec.custom_jvp
    def rule(x):
        return x * x

    @rule.defjvp
    def tangents(primals, dots):
        return primals[0] * primals[0], 5.0 * primals[0] * dots[0]

    return rule


def test_a_rule_that_is_made_anew_keeps_nothing():
    def once() -> None:
        assert tapec.grad(tapec.custom_gradient(squared))(2.0) == 6.0
        assert tapec.grad(by_tangents())(2.0) == 10.0

    once()
    kept = len(linecache.cache), len(sys.modules)
    for _ in range(3):
        once()
    assert (len(linecache.cache), len(sys.modules)) == kept
    first, second = (tapec.grad(tapec.custom_gradient(squared)) for _ in range(2))
    assert first is second


def test_rules_that_hold_other_values_are_told_apart():
    assert [tapec.grad(scaled(k))(2.0) for k in (1.0, 2.0, 2, True)] == [2.0, 4.0, 4.0, 2.0]
    plain, told = tapec.custom_gradient(squared), tapec.custom_gradient(squared)
    assert tapec.grad(plain)(2.0) == tapec.grad(told)(2.0) == 6.0
    told.defjvp(lambda primals, dots: (primals[0] * primals[0], 7.0 * dots[0]))
    assert tapec.jvp(plain, (2.0,), (1.0,)) == (4.0, 6.0)
    assert tapec.jvp(told, (2.0,), (1.0,)) == (4.0, 7.0)


changing = tapec.custom_jvp(lambda x: x * x)
inside = [changing]


def calls(x):
    return changing(x) * 2.0


def calls_one_of_a_list(x):
    return inside[0](x) * 2.0


def test_a_rule_that_is_given_again_counts_at_once():
    for k in (3.0, 4.0):
        rules = {3.0: lambda p, t: (p[0] * p[0], 3.0 * t[0]), 4.0: lambda p, t: (p[0] * p[0], 4.0 * t[0])}
        changing.defjvp(rules[k])
        assert tapec.jvp(changing, (2.0,), (1.0,)) == (4.0, k)
        for f in (calls, calls_one_of_a_list):
            assert tapec.jvp(f, (2.0,), (1.0,)) == (8.0, 2.0 * k)
            assert tapec.grad(f)(2.0) == 2.0 * k
