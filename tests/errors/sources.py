"""Sources, signatures, tables and the cache: what is refused."""

from __future__ import annotations

import linecache
import os
from unittest import mock

import numba

import tapec
from tapec.backend import jit
from tapec.rules.table import rule, table
from tests.errors import Refusals

cases = Refusals()
misuse = cases.misuse


def square(x):
    return x * x


def defined(text):
    """A function whose source is `text`, in a file that nobody has."""
    file = "<text>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {}
    exec(compile(text, file, "exec"), namespace)
    return namespace["f"], file


@misuse
def edited_after_import():
    f, file = defined("def f(x):\n    return x * x\n")
    text = "# a line more\ndef f(x):\n    return x * x\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    tapec.grad(f)(1.0)


@misuse
def edited_into_nonsense():
    f, file = defined("def f(x):\n    return x * x\n")
    linecache.cache[file] = (5, None, ["def f(x:\n"], file)
    tapec.grad(f)(1.0)


@misuse
def one_of_several_on_a_line():
    # what others have compiled, from text of other columns
    f, file = defined("    \nif True: f, g = lambda x: x * x * 3.0, lambda x: x + 1.0\n")
    text = "\nf, g = lambda x: x * x, lambda x: 2.0 * x\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    tapec.grad(f)(1.0)


@misuse
def numba_refuses_the_source():
    def spoilt(program, module_name="", path=""):
        return lambda x: missing  # noqa: F821

    with mock.patch.object(jit, "load", spoilt), mock.patch.dict(os.environ, TAPEC_CACHE="0"):
        tapec.grad(lambda x: x * x * x)(1.0)


@misuse
def cache_folder_is_a_file():
    with mock.patch.dict(os.environ, TAPEC_CACHE_DIR=__file__, TAPEC_CACHE="1"):
        tapec.grad(lambda x: x * x * x * x)(1.0)


@misuse
def arguments_of_a_type():
    tapec.emit(square, signature="f8(3)")


@misuse
def arguments_of_no_function():
    tapec.emit(square, signature="(f8, f8)(3)")


@misuse
def wrong_arguments_of_a_constructor():
    tapec.emit(square, signature="Tuple(3)")


@misuse
def wrong_dimension():
    tapec.emit(square, signature="f8[2]")


@misuse
def open_annotation():
    def f(x: list):
        return x

    tapec.emit(f)


@misuse
def annotation_of_a_tuple_of_objects():
    tapec.emit(square, signature=(numba.types.pyobject,))


@misuse
def a_table_with_two_rows():
    table(rule("sin(x)", "cos(x) * dx"), rule("sin(x)", "cos(x) * dx"))


@misuse
def a_rule_without_a_reason():
    rule("floor(x)")


@misuse
def a_rule_of_no_operation():
    rule("3", "dx")


@misuse
def a_rule_with_one_parameter_twice():
    rule("x / x", "dx")


@misuse
def a_formula_that_is_not_linear():
    rule("sin(x)", "dx * dx")


@misuse
def a_formula_with_a_term_too_many():
    rule("sin(x)", "dx + 1")


@misuse
def a_formula_with_a_constant_branch():
    rule("sin(x)", "dx if x > 0 else 1")


@misuse
def a_formula_with_an_unknown_name():
    rule("sin(x)", "z * dx")


@misuse
def a_formula_with_a_list():
    rule("sin(x)", "[dx]")
