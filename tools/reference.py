"""Write docs/reference.md: every public name, from its docstring.

    python -m tools.reference [--check]

A name of `tapec.__all__`, or a method or property of a public class, without a docstring is an error; so is,
with --check, a page that differs.
"""

from __future__ import annotations

import argparse
import inspect
import operator
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tapec

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference.md"

HEADER = """\
# Reference

Every public name of `tapec`. `python -m tools.reference` writes this page from the docstrings, which `help` shows, too.
The keywords that most functions take are on the page of [options](options.md), the errors on that of
[errors](errors.md).  The functions of `tapec.scipy`, `tapec.torch` and the other bridges are on the page of
[bridges](bridges.md); `help(tapec.scipy.minimize)` and the like say more.
"""

# subject, what it is for, and its names; `page` proves that none is left out
SUBJECTS = (
    ("Gradients", "grad value_and_grad check_grads"),
    ("Directions and pullbacks", "jvp vjp jvp_fun vjp_fun linearize LinearMap"),
    ("Jacobians and Hessians", "jacobian jacrev jacfwd hessian hvp hessp hessian_diag gnvp"),
    ("Sparse Jacobians and Hessians", "sparse_jacobian sparse_hessian"),
    ("Batches", "vmap"),
    ("Solutions", "implicit_root fixed_point converged"),
    ("Differential equations", "ode.solve"),
    ("Generated source", "emit explain"),
    ("Where a nan begins", "debug_nans"),
    ("Memory", "checkpointed"),
    ("Tapes", "GradientTape Variable constant function IndexedSlices UnconnectedGradients"),
    ("Derivatives of your own", "custom_gradient custom_jvp stop_gradient opaque register"),
)
NUMBERS = "float32 float64 complex64 complex128 int32 int64"
# what compiled programs call
INTERNAL = {"GradientTape.accessed", "GradientTape.known_values", "Variable.take"}

# a line of a docstring's list: words, two spaces or more, and what they mean
ENTRY = re.compile(r"(?P<words>[\w*]+(?:, [\w*]+)*) {2,}(?P<text>\S.*)")


class Undocumented(Exception):
    """A public name without a docstring, or one that has no place on the page."""


def docstring(thing: Any, name: str) -> str:
    """The docstring of a public name; raises Undocumented without one."""
    # not inspect.getdoc: a class without a docstring would have that of its base
    text = getattr(thing, "__doc__", None)
    if not text or not text.strip():
        raise Undocumented(f"`{name}` has no docstring")
    return inspect.cleandoc(text)


def markdown(text: str) -> str:
    """A docstring as Markdown: lists of parameters are tables, examples are blocks of Python.

    >>> print(markdown("A sum.\\n\\nx  one\\n   number\\ny  another"))
    A sum.
    <BLANKLINE>
    | | |
    |---|---|
    | `x` | one number |
    | `y` | another |
    """
    return "\n\n".join(_paragraph(part) for part in _paragraphs(text))


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs; an example goes on to the end of the docstring's last example."""
    prose, mark, example = text.partition("\n\n>>> ")
    yield from re.split(r"\n\n+", prose)
    if mark:
        yield ">>> " + example


def _paragraph(text: str) -> str:
    if text.startswith(">>> "):
        shown = re.sub(r" *# doctest:.*", "", text.replace("<BLANKLINE>", "")).rstrip()
        return f"```pycon\n{shown}\n```"
    if ENTRY.fullmatch(text.partition("\n")[0]) is None:
        return " ".join(text.split())
    rows: list[tuple[str, str]] = []
    for line in text.splitlines():
        found = ENTRY.fullmatch(line)
        if found is not None:
            rows.append((found["words"], found["text"]))
        else:
            words, before = rows[-1]
            rows[-1] = words, f"{before} {line.strip()}"
    return "\n".join(["| | |", "|---|---|", *(f"| {_named(words)} | {_cell(meaning)} |" for words, meaning in rows)])


def _named(words: str) -> str:
    return ", ".join(word if word in ("returns", "raises") else f"`{word}`" for word in words.split(", "))


def _cell(text: str) -> str:
    return re.sub(r" {2,}", " ", text.replace("|", "\\|"))


def signature(thing: Any, name: str) -> str:
    """A call with names and defaults, without types."""
    try:
        found = inspect.signature(thing)
    except ValueError:
        return name
    kept = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values() if one.name != "self"]
    return f"{name}{inspect.Signature(kept)}"


def page() -> str:
    """The text of docs/reference.md."""
    # a name with a dot is that of a module of its own
    listed = {name for _, names in SUBJECTS for name in names.split() if "." not in name} | set(NUMBERS.split())
    missing = sorted(set(tapec.__all__) ^ listed)
    if missing:
        raise Undocumented(f"not in `tools.reference.SUBJECTS`, or not in `tapec.__all__`: {', '.join(missing)}")
    parts = [HEADER]
    for subject, names in SUBJECTS:
        parts.append(f"## {subject}\n")
        for name in names.split():
            parts += _entry(operator.attrgetter(name)(tapec), name)
    parts.append("## Types of numbers\n")
    numbers = ", ".join(f"`tapec.{name}`" for name in NUMBERS.split())
    parts.append(f"{numbers} are NumPy's, so that code for TensorFlow finds them.\n")
    return "\n".join(parts)


def _entry(thing: Any, name: str) -> Iterator[str]:
    yield f"### {name}\n"
    if thing is not tapec.UnconnectedGradients:
        yield f"```text\ntapec.{signature(thing, name)}\n```\n"
    yield markdown(docstring(thing, name)) + "\n"
    if inspect.isclass(thing):
        for member, inside in vars(thing).items():
            full = f"{name}.{member}"
            if not member.startswith("_") and full not in INTERNAL:
                yield from _member(inside, full)


def _member(thing: Any, name: str) -> Iterator[str]:
    if inspect.ismemberdescriptor(thing):
        # a slot: the docstring of its class says what it holds
        return
    yield f"#### {name}\n"
    if inspect.isfunction(thing):
        yield f"```text\n{signature(thing, name.partition('.')[2])}\n```\n"
    yield markdown(docstring(thing, name)) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description="Write docs/reference.md.")
    parser.add_argument("--check", action="store_true", help="do not write; fail if the page differs")
    arguments = parser.parse_args()
    try:
        text = page()
    except Undocumented as error:
        print(error, file=sys.stderr)
        return 1
    if not arguments.check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE} is out of date: run python -m tools.reference", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
