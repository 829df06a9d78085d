"""Differential equations: what `tapec.ode.solve` refuses."""

from __future__ import annotations

import numpy as np

import tapec
from tests.errors import Refusals

cases = Refusals()
refused, misuse = cases.refused, cases.misuse


def growth(t, y):
    return y * y


def never(t, y):
    return y[0] + 1.0


never.terminal = True


def scaled(t, y, rate):
    return rate * y


@refused(1.0)
def method_that_is_unknown(x):
    return tapec.ode.solve(scaled, (0.0, 1.0), [1.0], x, method="Euler").y[0, -1]


@refused(1.0)
def right_side_that_is_a_number(x):
    return tapec.ode.solve(x, (0.0, 1.0), [1.0]).y[0, -1]


@refused(1.0)
def keyword_that_solve_does_not_have(x):
    return tapec.ode.solve(scaled, (0.0, 1.0), [1.0], x, steps=3).y[0, -1]


@misuse
def method_that_is_unknown_in_python():
    tapec.ode.solve(growth, (0.0, 1.0), [1.0], method="Euler")


@misuse
def right_side_that_is_no_function():
    tapec.ode.solve(1.0, (0.0, 1.0), [1.0])


@misuse
def state_with_two_axes():
    tapec.ode.solve(growth, (0.0, 1.0), np.ones((2, 2)))


@misuse
def solution_with_a_pole():
    tapec.ode.solve(growth, (0.0, 2.0), [1.0])


@misuse
def event_that_does_not_happen():
    tapec.ode.solve(growth, (0.0, 0.5), [1.0], events=never)


@misuse
def points_without_order():
    tapec.ode.solve(growth, (0.0, 0.5), [1.0], t_eval=np.array([0.4, 0.2]))
