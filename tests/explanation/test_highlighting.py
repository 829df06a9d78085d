"""Syntax colours change nothing but the colours."""

from __future__ import annotations

import doctest
import re
from html import unescape

import pytest

from tapec.explanation import highlighting
from tapec.explanation.highlighting import highlighted


def plain(lines: list[str]) -> list[str]:
    return [unescape(re.sub(r"</?span[^>]*>", "", line)) for line in lines]


@pytest.mark.parametrize(
    "lines",
    [
        [""],
        ["", "x", "", ""],
        ["def f(x):", '    """Two', '    lines <b>."""', "    return 'a' if x < 1 else 2.0  # <&>"],
        ["    indented = 1", "  # tabs\tstay"],
        ["x = 'not closed", "y = (1,"],
        ["a\rb", "c\x0cd"],
        ["größe = '漢字'"],
        ["lambda: $ ? !"],
    ],
)
def test_the_text_stays(lines):
    assert plain(highlighted(lines)) == lines


def test_a_string_of_many_lines_is_coloured_in_each():
    first, second = highlighted(['"""a', 'b"""'])
    assert first.startswith('<span class="sc">') and second.startswith('<span class="sc">')


def test_the_examples():
    assert doctest.testmod(highlighting).failed == 0
