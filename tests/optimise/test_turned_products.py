"""Products that are added to a transposed array, taken in transpose."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.turned_products import turn_products
from tests.optimise.reading import read
from tests.oracles import check as check_derivative
from tests.oracles import interpreted
from tapec.backend import printer

PROGRAM = """
def f(W, A, B, n, k):
    V = np.transpose(W)
    P = np.dot(A, B)
    {before}
    for i in range(n):
        for j in range({stop}):
            {body}
    {after}
    return k
"""
ADDED = "x = V[i, j]\n            y = P[i, j]\n            z = x + y\n            V[i, j] = z"


def changed(before="k = n", stop="k", body=ADDED, after="k = n") -> str:
    text = PROGRAM.format(before=before, stop=stop, body=body, after=after)
    return printer.function(turn_products(read(text)), quote=False)
