"""Functions that stand on one line are told apart."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapec
from tapec.frontend.source.function_source import source_of
from tests.oracles import interpreted

X = np.array([1.0, 2.0, 3.0])

PLAIN = [lambda x: np.sum(x), lambda x: np.sum(x * x), lambda x: np.prod(x), lambda x: np.sum(x * 3.0)]
# the compiler leaves out what a body begins with
FOLDED = [lambda x: np.sum(x), lambda x: 0.0 if False else np.sum(x * x), lambda x: True and np.prod(x)]
GRADIENTS = ([1.0, 1.0, 1.0], [2.0, 4.0, 6.0], [6.0, 3.0, 2.0], [3.0, 3.0, 3.0])


def scaled(k):
    return (lambda x: np.sum(x) * k), (lambda x: np.sum(x * x) * k), lambda x: (lambda x: np.prod(x) * k)(x)


@pytest.mark.parametrize("functions", [PLAIN, FOLDED, scaled(1.0)], ids=["plain", "folded", "closures"])
def test_each_has_its_own_gradient(functions):
    with interpreted():
        for f, wanted in zip(functions, GRADIENTS, strict=False):
            np.testing.assert_allclose(tapec.grad(f)(X), wanted)


def test_numbers_that_are_equal_are_not_the_same():
    several = [lambda x: x if False else 1.0, lambda x: x if False else True, lambda x: x if False else 1]
    columns = [source_of(f).node.col_offset for f in several]
    assert len(set(columns)) == 3 and columns == sorted(columns)


@pytest.mark.slow
def test_without_columns(tmp_path: Path):
    file = tmp_path / "row_products.py"
    file.write_text(
        "import numpy as np, tapec\n"
        "fs = [lambda x: np.sum(x), lambda x: np.sum(x * 2.0), lambda x: np.sum(x * 3.0)]\n"
        "for f in fs:\n"
        "    lines = tapec.emit(f, signature='f8[::1]').splitlines()\n"
        "    text = ''.join(line for line in lines if '#' not in line)\n"
        "    print('* 2.0' in text, '* 3.0' in text)\n"
    )
    command = [sys.executable, "-X", "no_debug_ranges", str(file)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == "False False True False False True".split()
