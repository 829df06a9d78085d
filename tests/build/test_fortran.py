"""The Fortran module of a library."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tapec.build.c_header import HeaderEntry
from tapec.build.fortran import fortran_text
from tapec.build.interface import Interface, Parameter, Result

X = Parameter("x", "x", "float64", 2, "A", array=True)
LONG = Parameter("n" * 70, "n", "uint8")
STATUS = Parameter("status", "status", "bool")
POINT = Parameter("point", "point", "float32", 0, array=True, written=True)
RESULTS = (Result("Value", "value", "int16"), Result("x_grad", "gradient by `x`", "float64", 2, array=True, like=0))
BLOCK = Result("block", "block", "float64", 3, array=True)

ENTRIES = [
    HeaderEntry(Interface("f", (X, LONG, STATUS), RESULTS, (), 0), "What f does, in many words. " * 8),
    HeaderEntry(Interface("Point", (POINT,), (), (), None), "A function with the name of its argument."),
    HeaderEntry(Interface("F", (POINT,), (BLOCK,), (), 0), "Another one."),
    HeaderEntry(Interface("g" * 80, (), (), (), None), "Nothing."),
]


def test_names_are_cut_and_told_apart():
    text = fortran_text("lib", ENTRIES)
    assert "function F_2( &" in text and 'bind(C, name="F")' in text
    assert f'bind(C, name="{"g" * 80}")' in text and "g" * 64 not in text.replace(f'"{"g" * 80}"', "")
    assert "result(status_2)" in text
    assert all(len(line) <= 132 for line in text.splitlines())


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed")
def test_it_compiles(tmp_path):
    (tmp_path / "lib.f90").write_text(fortran_text("lib", ENTRIES))
    command = ["gfortran", "-std=f2018", "-Wall", "-Werror", "-c", "lib.f90"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
