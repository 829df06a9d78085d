"""The setuptools hook: wheels, editable installs, source distributions, and what it leaves alone."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from setuptools import Distribution, Extension
from setuptools.errors import SetupError

from tapec.build.hook import finalize
from tapec.version import __version__
from tests.build.test_extension import ready

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "aot_package"
PYPROJECT = """
[build-system]
requires = ["setuptools>=70.1", "tapec"]
build-backend = "setuptools.build_meta"

[project]
name = "wells"
version = "1.0"

[[tool.tapec.build]]
kind = "source"
name = "wells.sub.generated"
targets = [{ function = "wells.model:well" }]
"""
EXTENSION = """
[[tool.tapec.build]]
kind = "extension"
name = "wells.sub._built"
targets = [{ function = "src/wells/model.py:well" }]
"""
MODEL = "def well(x: float):\n    return (x * x - 1.0) ** 2\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose package imports what is to be built; the working folder."""
    package = tmp_path / "wells_project" / "src" / "wells"
    (package / "sub").mkdir(parents=True)
    (package / "__init__.py").write_text("from wells.sub.generated import well_value_and_grad\n")
    (package / "sub" / "__init__.py").touch()
    (package / "model.py").write_text(MODEL)
    folder = tmp_path / "wells_project"
    (folder / "pyproject.toml").write_text(PYPROJECT)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Variables with which processes find tapec in the tree, and its entry points."""
    site = tmp_path_factory.mktemp("site")
    config = configparser.RawConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    info = site / f"tapec-{__version__}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tapec\nVersion: {__version__}\n")
    points = config["options.entry_points"]["setuptools.finalize_distribution_options"].strip()
    (info / "entry_points.txt").write_text(f"[setuptools.finalize_distribution_options]\n{points}\n")
    path = os.pathsep.join(map(str, (site, ROOT, ROOT / "runtime")))
    return os.environ | {"PYTHONPATH": path, "SOURCE_DATE_EPOCH": "1700000000", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("example") / "aot_package")


@pytest.fixture(scope="module")
def wheel(copy, environment) -> Path:
    """The example's wheel, by way of its source distribution."""
    code = "import sys, setuptools.build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"
    sources = copy / "sources"
    sources.mkdir()
    done = run(sys.executable, "-c", code, "build_sdist", sources, cwd=copy, env=environment)
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(sources.glob("*.tar.gz"))) as archive:
        archive.extractall(sources, filter="data")
    # nothing that was built is in there
    assert not list(sources.rglob("*.so"))
    made = run(
        sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index",
        "-w", copy / "wheels", sources / "elastic-1.0", env=environment,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    return next((copy / "wheels").glob("*.whl"))


def run(*command: object, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, **more)


def configured(**attributes) -> Distribution:
    """A distribution of the project in the working folder, finalised by the hook."""
    distribution = Distribution({"name": "wells", "package_dir": {"": "src"}, **attributes})
    distribution.packages = ["wells", "wells.sub"]
    finalize(distribution)
    return distribution


def tag_option(distribution: Distribution):
    return distribution.get_option_dict("bdist_wheel").get("py_limited_api")


class TestInProcess:
    def test_a_project_without_table_is_left_alone(self, project):
        (project / "pyproject.toml").write_text("[project]\nname = 'other'\n[tool.tapecs]\n")
        distribution = configured()
        assert not distribution.ext_modules
        assert "build_ext" not in distribution.cmdclass
        assert tag_option(distribution) is None

    def test_a_folder_without_pyproject_is_left_alone(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert not configured().ext_modules

    def test_libraries_are_not_part_of_wheels(self, project):
        text = PYPROJECT.replace('"source"', '"library"').replace("wells.sub.generated", "wells")
        (project / "pyproject.toml").write_text(text)
        assert not configured().ext_modules

    def test_generated_source_is_built_in_place_and_into_the_wheel(self, project):
        distribution = configured()
        command = distribution.get_command_obj("build_ext")
        command.ensure_finalized()
        command.run()
        (built,) = project.glob("build/lib*/wells/sub/generated.py")
        assert "def well_value_and_grad(x):" in built.read_text()
        assert [Path(path).name for path in command.get_outputs()] == ["generated.py"]
        again = configured().get_command_obj("build_ext")
        again.inplace = True
        again.ensure_finalized()
        again.run()
        assert (project / "src/wells/sub/generated.py").read_bytes() == built.read_bytes()
        # source fits every Python
        assert tag_option(distribution) is None

    def test_the_tag_says_that_one_binary_serves_all(self, project):
        (project / "pyproject.toml").write_text(PYPROJECT + EXTENSION)
        assert tag_option(configured()) == ("pyproject.toml", "cp311")
        stable = Extension("other", ["other.c"], py_limited_api=True)
        assert tag_option(configured(ext_modules=[stable])) == ("pyproject.toml", "cp311")
        # a module of another kind in the wheel is for one Python
        assert tag_option(configured(ext_modules=[Extension("other", ["other.c"])])) is None

    def test_a_table_that_is_written_in_one_line(self, project):
        text = '[tool]\ntapec.build = [{ kind = "source", name = "g", targets = [{ function = "wells.model:well" }] }]'
        (project / "pyproject.toml").write_text(text)
        assert [one.name for one in configured().ext_modules] == ["g"]

    def test_setuptools_may_call_twice(self, project):
        distribution = configured()
        finalize(distribution)
        assert len(distribution.ext_modules) == 1

    def test_a_mistake_in_the_table(self, project):
        (project / "pyproject.toml").write_text(PYPROJECT.replace('"source"', '"sauce"'))
        with pytest.raises(SetupError, match="there is no kind 'sauce'") as caught:
            configured()
        assert "did you mean 'source'?" in str(caught.value)

    def test_a_function_that_has_no_derivative(self, project):
        (project / "src/wells/model.py").write_text("def well(x: float):\n    return int(x)\n")
        command = configured().get_command_obj("build_ext")
        command.ensure_finalized()
        with pytest.raises(SetupError, match="returns int64, which has no derivative") as caught:
            command.run()
        assert "model.py:1:1" in str(caught.value)

    def test_calling_what_is_being_built(self, project):
        (project / "src/wells/__init__.py").write_text(
            "from wells.sub.generated import well_value_and_grad\nwell_value_and_grad(1.0)\n"
        )
        command = configured().get_command_obj("build_ext")
        command.ensure_finalized()
        with pytest.raises(SetupError, match="wells.sub.generated.well_value_and_grad is called while it is built"):
            command.run()


@pytest.mark.skipif(bool(ready()), reason=ready())
@pytest.mark.slow
class TestProcesses:
    def test_the_wheel(self, wheel):
        assert wheel.name.startswith("elastic-1.0-cp311-abi3-linux")
        with zipfile.ZipFile(wheel) as archive:
            names = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert names == {
            f"elastic/{name}"
            for name in ("__init__.py", "_derivatives.abi3.so", "_derivatives.pyi", "model.py", "py.typed", "solver.py")
        }

    def test_in_an_environment_without_tapec(self, wheel, copy, tmp_path):
        with zipfile.ZipFile(wheel) as archive:
            metadata = archive.read("elastic-1.0.dist-info/METADATA").decode()
        (needed,) = (line for line in metadata.splitlines() if line.startswith("Requires-Dist"))
        assert needed.startswith("Requires-Dist: numpy")
        venv.create(tmp_path / "fresh")
        python = tmp_path / "fresh" / "bin" / "python"
        site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
        # NumPy and pytest of this environment, and nothing else of it
        outer = Path(sysconfig.get_path("purelib"))
        of_pytest = "pytest", "_pytest", "py.py", "pluggy", "iniconfig", "packaging", "pygments"
        for name in ("numpy", "numpy.libs", *of_pytest):
            if (outer / name).exists():
                (site / name).symlink_to(outer / name)
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        install = (sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps")
        installed = run(*install, wheel, env=clean)
        assert installed.returncode == 0, installed.stderr
        absent = "import importlib.util as u; print([n for n in ('tapec', 'tapec_runtime', 'numba') if u.find_spec(n)])"
        assert run(python, "-c", absent, cwd=tmp_path, env=clean).stdout == "[]\n"
        tests = run(python, "-m", "pytest", "-q", copy / "tests", cwd=tmp_path, env=clean)
        assert tests.returncode == 0, tests.stdout

    def test_an_editable_install(self, environment, tmp_path):
        copy = shutil.copytree(EXAMPLE, tmp_path / "aot_package")
        venv.create(tmp_path / "venv")
        python = tmp_path / "venv" / "bin" / "python"
        # packages of this environment, without those that are installed in it
        paths = sysconfig.get_paths()
        site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
        Path(site, "outer.pth").write_text("\n".join({paths["purelib"], paths["platlib"]}))
        done = run(
            python, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "-e", copy,
            env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert (copy / "src/elastic/_derivatives.abi3.so").is_file()
        assert (copy / "src/elastic/_derivatives.pyi").is_file()
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        tests = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", copy / "tests", cwd=tmp_path, env=clean)
        assert tests.returncode == 0, tests.stdout
