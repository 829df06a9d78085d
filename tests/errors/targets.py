"""Functions named as text, and what else the command line asks for: what is refused."""

from __future__ import annotations

import tapec
from tapec.explanation.timing import timed
from tapec.loading import load
from tests.errors import Refusals

cases = Refusals()
misuse = cases.misuse


def square(x):
    return x * x


@misuse
def no_function_named():
    load("model.py")


@misuse
def no_such_file():
    load("missing.py:loss")


@misuse
def no_module():
    load("no-module:loss")


@misuse
def a_module_that_cannot_be_imported():
    load("json.missing:loss")


@misuse
def a_name_that_is_misspelt():
    load("json:loadz")


@misuse
def not_a_function():
    load("json:__name__")


@misuse
def unknown_mode_of_emit():
    tapec.emit(square, signature="f8", mode="pullback")


@misuse
def too_many_types():
    tapec.emit(square, signature="f8, f8")


@misuse
def arguments_for_which_it_raises():
    def root(x):
        if x < 0.0:
            raise ValueError("negative")
        return x**0.5

    timed(root, 0, (-1.0,), {})


@misuse
def a_compiled_function_without_the_jit():
    tapec.function(square, jit=False)
