"""Python text as HTML with syntax colours: what Pygments finds, as few classes that a style sheet colours.

Pygments comes with rich.  The style sheet is `syntax.css`; its colours are legible on light and on dark paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

# what an unknown sort of token looks like is that of the sort above it
_CLASSES = {"Comment": "sc", "Keyword": "sk", "Name.Builtin": "sb", "Name.Decorator": "sb", "Name.Function": "sf"}
_CLASSES |= {"Number": "sn", "Operator.Word": "sk", "String": "ss", "String.Doc": "sc"}


def highlighted(lines: Sequence[str]) -> list[str]:
    """Lines of Python as HTML, one for one; their text is the same.

    >>> highlighted(["if x < 1:", "    return 'a'"])[0]
    '<span class="sk">if</span> x &lt; <span class="sn">1</span>:'
    """
    found = ["".join(line) for line in _lines("\n".join(lines))]
    # a line end inside a line, as of old systems, is one to Pygments
    return found if len(found) == len(lines) else [escape(line) for line in lines]


def _lines(text: str) -> Iterator[list[str]]:
    line: list[str] = []
    for kind, value in _lexer().get_tokens(text):
        style = _class(kind)
        for place, part in enumerate(value.split("\n")):
            if place:
                yield line
                line = []
            if part:
                line.append(f'<span class="{style}">{escape(part)}</span>' if style else escape(part))
    yield line


@cache
def _lexer() -> Any:
    from pygments.lexers.python import PythonLexer

    return PythonLexer(stripnl=False, ensurenl=False)


@cache
def _class(kind: Any) -> str:
    """The class of a sort of token; empty for plain text."""
    parts = str(kind).removeprefix("Token.").removeprefix("Literal.").split(".")
    known = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((_CLASSES[name] for name in known if name in _CLASSES), "")


def style_sheet() -> str:
    """The colours, as CSS."""
    return files("tapec.explanation").joinpath("syntax.css").read_text(encoding="utf-8")
