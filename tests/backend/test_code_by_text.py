"""Machine code of a tape's programs persists, and is found by their text."""

from __future__ import annotations

import gc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tapec import GradientTape, Variable
from tapec.backend import cache, jit
from tapec.backend.numba_internals import lean_compiler
from tapec.options import DEFAULT, Options
from tapec.tape.plan import tape_plan

TEXT = """\
def scaled(x):
    out = np.empty(x.size)
    for i in range(x.size):
        out[i] = x[i] * k
    return out
"""


class Layer:
    def __init__(self):
        self.w = None

    def __call__(self, x):
        if self.w is None:
            self.w = Variable(np.ones(x.size))
        return x * self.w


def program(text: str = TEXT, options: Options = DEFAULT, **bindings: Any) -> Any:
    return SimpleNamespace(name="scaled", text=text, options=options, bindings=bindings, kernels=())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TAPEC_CACHE", raising=False)
    monkeypatch.setenv("TAPEC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def codes(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.bin"))


@pytest.mark.slow
def test_a_tape_of_other_objects_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    original = lean_compiler.Compiler.compile_extra

    def compile_extra(self: Any, function: Any) -> Any:
        compiled.append(function.__name__)
        return original(self, function)

    monkeypatch.setattr(lean_compiler.Compiler, "compile_extra", compile_extra)
    x = np.linspace(0.0, 1.0, 100)
    for counts in ((1, 2, 2), (2, 2, 2)):
        # as a new process begins: with nothing but the disk
        monkeypatch.setattr(tape_plan, "_plans", {})
        gc.collect()
        layer = Layer()
        for count in counts:
            with GradientTape(jit=True) as tape:
                loss = np.sum(layer(x))
            assert tape.gradient(loss, layer.w).shape == (100,)
            assert len(compiled) == count


@pytest.mark.slow
def test_code_is_loaded_when_the_function_is_gone(folder: Path) -> None:
    for _ in range(2):
        function = jit.compile_function(program(k=3.0))
        np.testing.assert_array_equal(function(np.arange(3.0)), [0.0, 3.0, 6.0])
        assert jit.compile_function(program(k=3.0)) is function
        assert len(codes(folder)) == 1
        hits = sum(function.stats.cache_hits.values())
        del function
        gc.collect()
    assert hits == 1


@pytest.mark.slow
def test_programs_are_told_apart(folder: Path) -> None:
    x = np.arange(3.0)
    others = [
        (program(k=3.0), 3.0 * x),
        (program(k=4.0), 4.0 * x),
        (program(k=np.float64(3.0)), 3.0 * x),
        (program(TEXT.replace("* k", "+ k"), k=3.0), x + 3.0),
        (program(k=3.0, options=Options(strict=True)), 3.0 * x),
    ]
    functions = [jit.compile_function(one) for one, _ in others]
    for function, (_, expected) in zip(functions, others, strict=True):
        np.testing.assert_array_equal(function(x), expected)
    assert len(codes(folder)) == len(others) == len({id(function) for function in functions})
    functions[0](x.astype(np.float32))
    assert len(codes(folder)) == len(others) + 1


@pytest.mark.slow
def test_damage_is_repaired(folder: Path) -> None:
    x = np.arange(3.0)
    for suffix in (".py", ".bin"):
        jit.compile_function(program(k=3.0))(x)
        (damaged,) = folder.glob(f"*/*{suffix}")
        intact = damaged.read_bytes()
        damaged.write_bytes(intact[:-9] + b"x" * 9)
        gc.collect()
        np.testing.assert_array_equal(jit.compile_function(program(k=3.0))(x), 3.0 * x)
        gc.collect()
        assert cache.read(*folder.glob("*/*.py"), *codes(folder)) is not None


def test_what_only_this_process_has_is_not_kept(folder: Path) -> None:
    for unkept in (program(k=3.0, other=object()), program(k=3.0, options=Options(cache=False))):
        assert jit.compile_function(unkept)._cache.load_overload((), None) is None
    assert not list(folder.glob("*/*"))
