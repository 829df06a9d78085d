"""examples/aot_cmake: configured, built and run with CMake, and found by pkg-config."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "ctest", "make", "c++"))), reason="no CMake, or no C++ compiler"
)


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    """The example's build folder, all programs built."""
    folder = tmp_path_factory.mktemp("cmake")
    run("cmake", "-S", ROOT / "examples" / "aot_cmake", "-B", folder, f"-DTAPEC={sys.executable};-m;tapec")
    run("cmake", "--build", folder)
    return folder


def run(*command: object, **variables: str) -> str:
    path = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "TAPEC_CACHE": "0", **variables},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_all_programs_pass(build):
    assert "100% tests passed" in run("ctest", "--test-dir", build)


@pytest.mark.slow
def test_an_exception_reaches_c_plus_plus(build):
    assert run(build / "fit_cpp").splitlines()[-1] == "ValueError: every time needs a measurement"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="pkg-config is not installed")
def test_pkg_config_finds_the_library(build, tmp_path):
    found = build / "derivatives" / "lib"
    flags = run("pkg-config", "--cflags", "--libs", "oscillation", PKG_CONFIG_PATH=str(found / "pkgconfig")).split()
    source = ROOT / "examples" / "aot_cmake" / "fit.c"
    run("cc", source, *flags, "-lm", f"-Wl,-rpath,{found}", "-o", tmp_path / "fit")
    assert run(tmp_path / "fit") == "2.000 0.300 5.000\n"
