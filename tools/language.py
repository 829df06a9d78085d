"""Write docs/language.md: what a function may contain.

    python -m tools.language [--check]

The tables come from the handlers of the frontend, from `tapec.rules` and from `tapec.errors`.  A
construct that has a handler and no description here, or neither a handler nor words for its
refusal, is an error; so is, with --check, a page that differs.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import gast
import numpy as np

from tapec import errors
from tapec.frontend.calls.calls import dotted_name
from tapec.frontend.calls.function_handlers import METHOD_HANDLERS, SPECIAL
from tapec.frontend.expressions.operators import SIGNS
from tapec.frontend.full_evaluator import FullEvaluator
from tapec.frontend.library import complex_calls
from tapec.frontend.source.refused_syntax import WORDS
from tapec.rules import complex_numbers
from tapec.rules.library import REFUSED, STATIC

PAGE = Path(__file__).resolve().parent.parent / "docs" / "language.md"
TEMPLATE = Path(__file__).resolve().parent / "language.md"

STATEMENTS = {
    "Assign": ("`x = y`, `a, b = b, a`, `x[i] = y`, `x[1:] = y`", "to names, elements and slices; unpacking, `*` too"),
    "AnnAssign": ("`x: float = y`", "the annotation is not looked at"),
    "AugAssign": ("`x += y`", "any operator; to names, elements and slices; arrays are changed in place"),
    "Expr": ("`f(x)`", "a call for what it does; docstrings"),
    "Pass": ("`pass`", ""),
    "Assert": ("`assert test, message`", "raises as in Python"),
    "Raise": ("`raise ValueError(message)`", "exceptions"),
    "Import": ("`import a.b as c`", "inside a function: modules that are loaded, and those of Python itself"),
    "ImportFrom": ("`from a import b`", "the same"),
    "FunctionDef": ("`def g(x): ...`", "inside a function; it may read what surrounds it"),
    "Delete": ("`del x`", "of names"),
    "Nonlocal": ("`nonlocal x`", "of variables of a function around it that is differentiated, too"),
    "If": ("`if`, `elif`, `else`", "a static test, such as `x is None` or `a.ndim == 2`, compiles one branch only"),
    "For": (
        "`for ... in`, `else`",
        "over `range` with any step, also one that a branch or a loop chose, arrays (rows of a matrix), tuples, lists, "
        "dicts, `enumerate`, `zip`, `reversed`, `np.ndindex`, `np.ndenumerate`, `numba.prange`, "
        "`tapec.checkpointed` ([memory](memory.md)). "
        "A loop over a tuple is unrolled, so that its items may differ in type; over four or more that are alike, in a "
        "list or tuple that an argument of a derivative holds, it is a loop "
        "([design](design/0009-lists-of-layers.md)), as are long ones in tapes and compiled functions "
        "([design](design/0016-loops-in-tapes.md)). Iterators give their items once; one "
        "that is made outside a loop cannot be used inside it, nor after a loop over it that was left early",
    ),
    "While": ("`while`, `else`", ""),
    "Break": ("`break`", "`continue` and `return` too, anywhere"),
    "With": (
        "`with`",
        "over tapes, `np.errstate`, `np.printoptions` and `warnings.catch_warnings`; over `numba.objmode`, whose body"
        " is read as Python's",
    ),
    "Try": (
        "`try`, `except`, `else`, `finally`",
        "a `raise` that stands in the body itself leads to its handler. Whatever else is raised in it (by calls, by"
        " division by zero, by a subscript) is an exception of the derivative, too, which no handler takes. Classes are"
        " told by their names, those of Python by what they derive from; refused are handlers that read the exception,"
        " and `return`, `break` or `continue` through a `finally`",
    ),
    "Match": ("`match ... case`", "every pattern and guard; what is asked of structure is answered while compiling"),
}

EXPRESSIONS = {
    "Constant": ('`1`, `2.5`, `True`, `"text"`, `None`', "text is inert"),
    "Name": ("`x`", "variables, parameters, closures, what a module defines; any letters"),
    "Attribute": ("`a.shape`, `p.field`, `module.name`", "of arrays, modules, objects; methods of named tuples, too"),
    "BinOp": ("`x + y`", "{arithmetic}, `@`"),
    "UnaryOp": ("`-x`", "{unary}"),
    "Compare": ("`x < y <= z`", "{comparisons}; chained too; `is` of known objects, `in` of tuples, lists, arrays"),
    "BoolOp": ("`x and y`, `x or y`", "as in Python, the second operand is computed only where it is needed"),
    "IfExp": ("`x if test else y`", ""),
    "NamedExpr": ("`(y := x)`", ""),
    "Tuple": ("`(x, y)`", "packing, slices with static bounds, `+`, `*` by a constant, named fields"),
    "List": (
        "`[x, y]`",
        "literals, elements, `append`, `extend`, `pop`, `del x[i]`; a list that grows in a loop holds numbers, or"
        " tuples of those; arrays, too, where the loop has few iterations, a known number (`for i in range(4):`)",
    ),
    "Dict": ('`{"a": x}`', "keys that are known; which keys there are may not depend on a branch or loop"),
    "Set": (
        "`{x, y}`",
        "elements that are known; `in`, `len`, `sorted`, `|` and its kin. No loop runs over a set made here",
    ),
    "DictComp": ("`{key: f(value) for key, value in d.items()}`", "of known keys"),
    "SetComp": ("`{f(x) for x in a}`", "of known elements"),
    "ListComp": ("`[x for x in a if x > 0]`", ""),
    "Subscript": (
        "`a[i, 1:-1, ..., None]`",
        "elements, slices with any step, negative indices, integer arrays, boolean masks; for load, store and `+=`",
    ),
    "Call": ("`f(x, *args, key=y)`", "see below"),
    "Yield": (
        "`yield x`",
        "in generators that a loop runs over, also a comprehension, or `list`, `tuple`, `sum`, `max` and `min`. What"
        " is read after the loop must be set before it, and the generator may not read what the loop sets; no `return`"
        " in the loop",
    ),
    "YieldFrom": ("`yield from f(x)`", "the same"),
    "Lambda": ("`lambda x: x * y`", "closures over numbers and arrays"),
    "JoinedStr": ('`f"{name}"`', "of known text and of numbers; see below"),
}

# parts of other constructs
INSIDE = frozenset({"Slice", "Starred", "FormattedValue", "Return", "Continue", "Interpolation", "TemplateStr"})


def described(texts: dict[str, tuple[str, str]], handlers: Iterable[type]) -> list[tuple[str, str]]:
    """The rows of the constructs that have a handler; KeyError if one has no description."""
    names = {handler.__name__ for handler in handlers} - INSIDE
    if names != texts.keys():
        raise KeyError(f"handlers and descriptions differ: {sorted(names ^ texts.keys())}")
    return list(texts.values())


def signs(kind: type[ast.AST]) -> str:
    """The operators of a kind, in the order of the frontend's table."""
    known = {sub.__name__ for sub in kind.__subclasses__()}
    found = [sign for node, sign in SIGNS.items() if node.__name__ in known]
    spelt = {"neg": "-", "pos": "+"}
    return " ".join(f"`{spelt.get(sign, sign)}`" for sign in found)


def refused(handlers: Iterable[type]) -> str:
    """Constructs without a handler, by their words; KeyError if one has none."""
    handled = {handler.__name__ for handler in handlers} | INSIDE
    nodes = [node for base in (ast.stmt, ast.expr) for node in base.__subclasses__() if node.__module__ == "ast"]
    if unknown := {node.__name__ for node in nodes} - handled - WORDS.keys():
        raise KeyError(f"constructs without words: {sorted(unknown)}")
    found = {words for name, words in WORDS.items() if name not in handled}
    return ", ".join(sorted(found, key=lambda words: words.replace("`", "").lower()))


def builtin_functions() -> str:
    names = sorted(name for name, value in vars(builtins).items() if _is_special(value))
    return ", ".join(f"`{name}`" for name in [*names, "numba.prange"])


def _is_special(value: object) -> bool:
    from tapec.rules import function_name

    try:
        return value in SPECIAL or function_name(value) is not None
    except TypeError:
        return False


def created() -> str:
    """NumPy's functions and scalar types that have handlers, without other names for the same."""
    values = {name: getattr(np, name) for name in dir(np)}
    names = sorted(name for name, value in values.items() if _handled(value) and value.__name__ == name)
    return ", ".join(f"`np.{name}`" for name in names if not hasattr(builtins, name))


def _handled(value: object) -> bool:
    try:
        return value in SPECIAL
    except TypeError:
        return False


def classes() -> Iterator[tuple[str, str]]:
    """The error classes with the first line of what they say of themselves."""
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, errors.TapecError) and value is not errors.TapecError:
            yield f"`{name}`", (value.__doc__ or "").splitlines()[0]


def table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [titles, ("---",) * len(titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in lines)


# functions that newer versions of NumPy do not have: the page is the same with all of them
GONE = frozenset({"np.row_stack"})


def names(module: str, functions: Iterable[Any]) -> str:
    """The functions of a module among `functions`, by name."""
    found = {f"`{name}`" for name in map(dotted_name, functions) if name not in GONE}
    return ", ".join(sorted(name for name in found if name.startswith(f"`{module}.")))


def complex_functions() -> list[Any]:
    """The elementwise functions of NumPy that complex numbers have."""
    tables = (complex_numbers.COMPLEX, complex_numbers.REAL, complex_numbers.LOGICAL, complex_numbers.SAME)
    found = [name.removeprefix("np.") for table in tables for name in table if name.startswith("np.")]
    return [getattr(np, name) for name in found if hasattr(np, name)]


def static_calls() -> str:
    """The functions that are called while compiling; those of SciPy's tables of roots by what their names share."""
    families = re.compile(r"(?P<module>scipy\.special)\.(?:(?P<roots>roots)_\w+|\w+_(?P<zeros>zeros))")
    shown = set()
    for name in STATIC:
        family = families.fullmatch(name)
        if family is None:
            shown.add(name.removeprefix("builtins."))
        else:
            shown.add(f"{family['module']}.{'roots_*' if family['roots'] else '*_zeros'}")
    return ", ".join(f"`{name}`" for name in sorted(shown))


def page() -> str:
    """The text of docs/language.md."""
    ev = FullEvaluator()
    # it has a handler for the blocks of tapes, where decisions are known
    statements = set(ev.statement_handlers)
    statements -= {gast.Global}
    # written as `if` before it is read
    statements |= {gast.Match}
    expressions = ev.expression_handlers.keys() - {gast.Await, gast.GeneratorExp}
    operators = {"arithmetic": signs(ast.operator), "unary": signs(ast.unaryop), "comparisons": signs(ast.cmpop)}
    rows = [(form, text.format(**operators)) for form, text in described(EXPRESSIONS, expressions)]
    parts = {
        "statements": table(("statement", ""), described(STATEMENTS, statements)),
        "expressions": table(("expression", ""), rows),
        "builtins": builtin_functions(),
        "created": created(),
        "methods": ", ".join(f"`.{name}()`" for name in sorted(METHOD_HANDLERS)),
        "cmath": names("cmath", complex_calls.SPECIAL),
        "complex_elementwise": names("np", complex_functions()),
        "complex_arrays": names("np", complex_calls.functions()),
        "static": static_calls(),
        "refused": refused([*statements, *expressions]),
        "functions": table(("function", "reason"), [(f"`{name}`", reason) for name, reason in sorted(REFUSED.items())]),
        "errors": table(("error", ""), classes()),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text


def main(arguments: list[str] | None = None) -> int:
    """Command line; the exit code is 1 if the page is out of date."""
    parser = argparse.ArgumentParser(prog="python -m tools.language", description="Write docs/language.md.")
    parser.add_argument("--check", action="store_true", help="do not write; fail if the page would change")
    text = page()
    if not parser.parse_args(arguments).check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if text != PAGE.read_text(encoding="utf-8"):
        print(f"{PAGE} is not what `python -m tools.language` writes", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
