"""Generated source, compared byte for byte with what was reviewed; then run and checked.

`pytest tests/golden --record` writes the files anew; read the difference before committing it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from tapec.backend.module import module_text
from tapec.backend.signature import arguments
from tapec.options import FILE_LEVEL, Options
from tapec.pipeline import build
from tests.oracles import clone

HERE = Path(__file__).resolve().parent
CASES = sorted(path.parent.name for path in HERE.glob("*/source.py"))
# what a file is called: its kind of derivative, and its level
KINDS: dict[str, tuple[str, int]] = {
    "reverse": ("value_and_grad", FILE_LEVEL),
    "forward": ("jvp", FILE_LEVEL),
    "fastest": ("value_and_grad", Options.level),
}


def load(path: Path) -> ModuleType:
    """A file as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"golden_{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generated(function: Any, args: tuple[Any, ...], kind: str, level: int) -> str:
    labels = list(function.__code__.co_varnames[: function.__code__.co_argcount])
    types = arguments(tuple(numba.typeof(arg) for arg in args), labels)
    return module_text(build(function, types, kind, (0,), Options(level=level), apart=True), function)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_text(case: str, name: str, request: pytest.FixtureRequest):
    source = load(HERE / case / "source.py")
    args = source.arguments(np.random.default_rng(7))
    text = generated(getattr(source, case), args, *KINDS[name])
    path = HERE / case / f"{name}.py"
    if request.config.getoption("--record", False):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "the generated source changed: review it, then --record"


@pytest.mark.parametrize("name", ["reverse", "fastest"])
@pytest.mark.parametrize("case", CASES)
def test_derivative(case: str, name: str, monkeypatch: pytest.MonkeyPatch):
    """The recorded files, run as plain Python, against central differences."""
    monkeypatch.setattr(numba, "njit", lambda *_args, **_flags: lambda f: f)
    source = load(HERE / case / "source.py")
    f = getattr(source, case)
    rng = np.random.default_rng(7)
    args = source.arguments(rng)
    reverse = getattr(load(HERE / case / f"{name}.py"), f"{case}_value_and_grad")
    forward = getattr(load(HERE / case / "forward.py"), f"{case}_jvp")
    single = np.asarray(args[0]).dtype == np.float32
    tolerance = 1e-4 if single else 1e-12
    value, (gradient,) = reverse(*clone(args))
    np.testing.assert_allclose(value, f(*clone(args)), rtol=tolerance)

    direction = np.asarray(rng.normal(size=np.shape(args[0])), dtype=np.asarray(args[0]).dtype)[()]
    value, tangent = forward(*clone(args), direction)
    np.testing.assert_allclose(value, f(*clone(args)), rtol=tolerance)
    # a complex number counts as two real ones
    np.testing.assert_allclose(np.vdot(gradient, direction).real, tangent, rtol=tolerance)

    step = 1e-2 if single else 1e-6
    ahead, behind = (f(args[0] + sign * step * direction, *clone(args[1:])) for sign in (1, -1))
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * step), rtol=2e-2 if single else 2e-6, atol=1e-8)
