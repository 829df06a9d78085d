"""examples/aot_cmake: configured, built and run with CMake, and found by pkg-config."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tapec

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "ctest", "make", "c++"))), reason="no CMake, or no C++ compiler"
)

TAPEC = f"-DTAPEC_COMMAND={sys.executable};-m;tapec", f"-Dtapec_DIR={ROOT / 'tapec' / 'build' / 'cmake'}"


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    """The example's build folder, all programs built."""
    folder = tmp_path_factory.mktemp("cmake")
    project = shutil.copytree(ROOT / "examples" / "aot_cmake", folder / "project")
    run("cmake", "-S", project, "-B", folder / "made", *TAPEC)
    run("cmake", "--build", folder / "made")
    return folder / "made"


def started(*command: object, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "TAPEC_CACHE": "0", **variables},
    )


def run(*command: object, **variables: str) -> str:
    done = started(*command, **variables)
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


def found(folder: Path, version: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What CMake says to a project that asks for a version of tapec."""
    lines = "cmake_minimum_required(VERSION 3.20)", "project(asking NONE)", f"find_package(tapec {version} REQUIRED)"
    (folder / "CMakeLists.txt").write_text("\n".join(lines), encoding="utf-8")
    return started("cmake", "-S", folder, "-B", folder / "made", *(options or TAPEC))


@pytest.mark.parametrize("version", ["", "0", "0.2", "0.2.0", "0.2.0 EXACT"])
def test_cmake_finds_versions_that_are_compatible(tmp_path, version):
    done = found(tmp_path, version)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("version", ["0.1", "0.3", "0.2.99", "1.0"])
def test_cmake_refuses_others(tmp_path, version):
    done = found(tmp_path, version)
    assert done.returncode != 0 and f"version: {tapec.__version__}" in done.stderr


def test_cmake_says_that_there_is_no_command(tmp_path):
    # a system without programs, as far as find_program looks
    away = "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=0", "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=0"
    done = found(tmp_path, "0.2", TAPEC[1], *away, f"-DCMAKE_MAKE_PROGRAM={shutil.which('make')}")
    assert done.returncode != 0 and "set TAPEC_COMMAND" in done.stderr


def test_the_folder_that_the_command_prints_has_the_package_file():
    printed = run(sys.executable, "-m", "tapec", "build", "--cmake-dir").strip()
    assert f"-Dtapec_DIR={printed}" == TAPEC[1] and Path(printed, "tapecConfig.cmake").is_file()


# the last one: the programs compute something else afterwards
@pytest.mark.slow
def test_an_edited_function_is_built_again(build):
    library = build / "derivatives" / "lib" / "liboscillation.so"
    before = library.read_bytes()
    model = build.parent / "project" / "model.py"
    text = model.read_text(encoding="utf-8")
    model.write_text(text.replace("total += 0.5 *", "total += 0.25 *"), encoding="utf-8")
    run("cmake", "--build", build)
    assert library.read_bytes() != before
