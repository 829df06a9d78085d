"""The page of `tapec report`: what is on it, without a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

import tapec
from tapec.explanation.highlighting import style_sheet
from tapec.explanation.listing import gradient_listing
from tapec.explanation.page import Times, page
from tests.cli.running import refused, succeeds
from tests.explanation.programs import SIGNATURES, chain, heat, nearest, newton, recurrent
from tests.explanation.test_explain import line_of, told


class Checker(HTMLParser):
    """Reads a page; collects tags that are not closed, links, and the text of each line."""

    VOID = {"meta", "br", "link", "img"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.resources: list[str] = []
        self.rows: list[tuple[str | None, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.resources += [found[name] for name in ("src", "href") if name in found]
        if tag not in self.VOID:
            self.open.append(tag)
        if found.get("class", "") == "line":
            self.rows.append((found.get("data-key"), ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "code" in self.open and "template" not in self.open and self.rows and "div" in self.open:
            key, text = self.rows[-1]
            self.rows[-1] = key, text + data


@pytest.mark.parametrize("function", list(SIGNATURES))
def test_pages_are_well_formed_and_need_nothing_else(function):
    text = page(function, told(function))
    read = Checker(text)
    assert read.open == []
    assert read.resources == []
    assert not re.search(r"https?://|@import|url\(", text)


def test_the_source_and_the_gradient_are_there_line_by_line():
    read = Checker(page(chain, told(chain)))
    texts = [text for _, text in read.rows]
    assert "    for i in range(1, u.shape[0]):" in texts
    assert texts.count("        stretch = u[i] - u[i - 1]") == 2
    # code is text, not markup
    assert "            if s < best:" in [text for _, text in Checker(page(nearest, told(nearest))).rows]


@pytest.mark.parametrize("function", list(SIGNATURES))
def test_generated_lines_know_the_line_they_come_from(function):
    lines = gradient_listing(told(function).program).lines
    emitted = tapec.emit(function, signature=SIGNATURES[function], opt_level=2)
    plain = [line for line in emitted.splitlines() if line.strip() and not line.lstrip().startswith(("#", '"""'))]
    shown = [line.text for line in lines if line.text.strip() and not line.text.lstrip().startswith("#")]
    assert shown == plain[-len(shown) :]
    first, last = line_of(function, "def "), line_of(function, "return")
    assert all(first <= line.number <= last for line in lines if line.number)
    assert sum(bool(line.number) for line in lines) >= 0.6 * len(shown)


def test_what_keeps_a_value_belongs_to_its_line():
    kept = [line.number for line in gradient_listing(told(heat).program).lines if "_store" in line.text]
    assert set(kept) == {line_of(heat, "u[i] = here")}


def test_sizes_and_times_are_told_for_arguments():
    arguments = {"u0": np.zeros(102), "kappa": 0.1, "steps": 10}
    text = page(heat, told(heat), arguments, Times(1e-6, 2.5e-6, 7, 0.5, 0.4))
    assert "= 8,000 bytes" in text
    assert "<dd>2.50</dd>" in text
    assert "best of 7" in text
    assert "<dd>500 ms, Numba 80%</dd>" in text
    assert "= 8,000 bytes" not in page(heat, told(heat))


def test_stored_bytes_vectors_and_threads_are_badges_of_their_lines():
    plain = page(heat, told(heat))
    assert '<span class="badge kept">stored</span><' in plain
    arguments = {"u0": np.zeros(102), "kappa": 0.1, "steps": 10}
    text = page(heat, told(heat), arguments)
    assert '<span class="badge kept">stored: 8,000 bytes</span>' in text
    assert '<span class="badge bad">forward: no vectors</span>' in text
    threaded = tapec.explain(chain, signature=SIGNATURES[chain], parallel=True)
    assert page(chain, threaded).count('<span class="badge good">threads</span>') > 1


def test_generated_lines_know_their_sweep():
    lines = gradient_listing(told(heat).program).lines
    sweeps = [line.sweep for line in lines if line.sweep]
    assert sweeps == sorted(sweeps) and set(sweeps) == {"forward", "reverse"}
    assert all("_bar" not in line.text for line in lines if line.sweep == "forward" and "left" in line.text)


def contrast(first: str, second: str) -> float:
    """The contrast of two colours such as #0a58ca, as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_syntax_colours_are_legible_on_every_background(scheme):
    def colours(text: str) -> dict[str, str]:
        light, _, dark = text.partition("@media screen and (prefers-color-scheme: dark)")
        part = light if scheme == "light" else dark.partition("\n}")[0]
        return dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", part))

    paper = colours(files("tapec.explanation").joinpath("report.css").read_text(encoding="utf-8"))
    syntax = colours(style_sheet())
    assert set(syntax) == set(re.findall(r"\.(\w+) \{", style_sheet()))
    for name, colour in syntax.items():
        for background in ("panel", "linked", "chosen", "paper"):
            assert contrast(colour, paper[background]) >= 4.5, (name, background)
    for name in ("kept", "again", "good", "bad", "soft"):
        for background in ("panel", "linked", "chosen", "paper"):
            assert contrast(paper[name], paper[background]) >= 4.5, (name, background)


def test_lists_are_told_apart():
    assert "bytes, and lists" in page(newton, told(newton))
    assert "and lists" not in page(recurrent, told(recurrent))


class TestCommand:
    @pytest.fixture
    def source(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "reported.py").write_text(
            "def f(x, n):\n    s = 0.0\n    for v in x:\n        s += v ** n\n    if n < 0:\n"
            "        raise ValueError('negative')\n    return s\n"
        )
        return tmp_path

    def test_writes_the_page(self, source):
        assert succeeds("report", "reported.py:f", "--sig", "f8[::1], i8", "-o", "page.html") == ""
        text = (source / "page.html").read_text(encoding="utf-8")
        assert "<title>Gradient of f by x</title>" in text
        assert "value and gradient</dt>" not in text

    @pytest.mark.slow
    def test_with_arguments_it_is_timed(self, source):
        assert succeeds("report", "reported.py:f", "--args", "np.ones(3), 2", "-o", "page.html") == ""
        assert "<dt>ratio</dt>" in (source / "page.html").read_text(encoding="utf-8")

    def test_arguments_for_which_it_raises(self, source):
        message = refused("report", "reported.py:f", "--args", "np.ones(3), -1", "-o", "page.html")
        assert "the function raises ValueError: negative" in message
        assert not (source / "page.html").exists()

    def test_a_file_is_asked_for(self, source):
        assert "-o" in refused("report", "reported.py:f", "--sig", "f8[::1], i8")
