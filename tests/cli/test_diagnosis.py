"""What `tapec doctor` finds, in surroundings that are right, wrong and slow."""

from __future__ import annotations

import configparser
import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tapec import diagnosis
from tapec.diagnosis import SLOW, WRONG, Finding
from tests.cli.running import run

ROOT = Path(__file__).resolve().parents[2]


def found(section) -> dict[str, Finding]:
    return {finding.name: finding for finding in section()}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TAPEC_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("TAPEC_CACHE", "CC", "AR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


def test_every_section_answers(monkeypatch):
    sections = dict(diagnosis.diagnosis())
    assert all(sections.values())
    assert [one.verdict for one in sections["Versions"]] == [""] * len(sections["Versions"])
    (first,) = sections["A first gradient"]
    assert first.verdict == "" and first.value.startswith("6")


def test_every_problem_says_what_to_do(monkeypatch):
    monkeypatch.setenv("TAPEC_CACHE", "0")
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(diagnosis, "_first_gradient", lambda: iter(()))
    problems = [one for _, findings in diagnosis.diagnosis() for one in findings if one.verdict]
    assert {"folder", "C compiler"} <= {one.name for one in problems}
    assert all(one.reason and one.hint for one in problems)


def test_optional_versions_are_those_of_the_extras():
    config = configparser.RawConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = config["options.extras_require"]
    bridges = "torch jax pytensor dask xarray sklearn".split()
    wanted = {line.replace("[array]", "") for name in bridges for line in extras[name].split()}
    assert set(diagnosis.OPTIONAL) == wanted | {"ipython>=8"}
    assert "ipython>=8" in extras["test"].split()
    assert "scipy>=1.11" in config["options"]["install_requires"].split()


class TestVersions:
    def test_an_old_numba_is_wrong(self, monkeypatch):
        import numba

        monkeypatch.setattr(numba, "__version__", "0.60.0")
        finding = found(diagnosis._versions)["numba"]
        assert (finding.verdict, finding.reason) == (WRONG, "tapec needs numba 0.61 or newer")
        assert finding.hint == "pip install 'numba>=0.61'"

    def test_a_numba_that_cannot_be_imported_is_wrong(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "numba", None)
        finding = found(diagnosis._versions)["numba"]
        assert finding.verdict == WRONG and "cannot be imported" in finding.reason

    def test_a_runtime_of_another_version_is_wrong(self, monkeypatch):
        class Installed:
            version = "0.1.0"

            def locate_file(self, name):
                return ROOT / "runtime" / name

        monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
        finding = found(diagnosis._versions)["tapec_runtime"]
        assert finding.verdict == WRONG and "pip install 'tapec-runtime==" in finding.hint

    def test_numbers_are_compared_as_numbers(self):
        assert diagnosis.number("0.100.1") > diagnosis.number("0.61")
        assert diagnosis.number("unknown") == ()

    def test_a_section_that_fails_leaves_the_others(self, monkeypatch):
        def broken():
            yield Finding("a", "1")
            raise OSError("no luck")

        monkeypatch.setattr(diagnosis, "_threads", broken)
        sections = dict(diagnosis.diagnosis())
        assert [one.verdict for one in sections["Threads"]] == ["", WRONG]
        assert sections["Threads"][1].reason == "OSError: no luck"
        assert sections["A first gradient"]


class TestProcessorAndThreads:
    @pytest.fixture
    def config(self):
        from numba.core import config

        return config

    def test_settings_that_make_code_slow(self, config, monkeypatch):
        monkeypatch.setattr(config, "OPT", 1)
        monkeypatch.setattr(config, "BOUNDSCHECK", 1)
        monkeypatch.setattr(config, "CPU_NAME", "generic")
        findings = found(diagnosis._processor)
        assert findings["processor"].verdict == findings["NUMBA_OPT"].verdict == SLOW
        assert findings["NUMBA_BOUNDSCHECK"].hint == "unset NUMBA_BOUNDSCHECK"

    def test_settings_as_they_should_be(self, config, monkeypatch):
        for name, fast, _ in diagnosis._SETTINGS:
            monkeypatch.setattr(config, name, fast)
        monkeypatch.setattr(config, "DISABLE_JIT", 0)
        assert not any(name.startswith("NUMBA_") for name in found(diagnosis._processor))

    def test_no_compiler(self, config, monkeypatch):
        monkeypatch.setattr(config, "DISABLE_JIT", 1)
        assert found(diagnosis._processor)["compiler"].verdict == SLOW

    def test_more_threads_than_processors(self, config, monkeypatch):
        monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 10_000)
        finding = found(diagnosis._threads)["threads of Numba"]
        assert finding.verdict == SLOW and finding.hint.startswith("set NUMBA_NUM_THREADS=")

    def test_a_threading_layer_that_is_not_there(self, config, monkeypatch):
        monkeypatch.setattr(config, "THREADING_LAYER", "tbb")
        monkeypatch.setattr(diagnosis, "_threading_layers", lambda: iter(["workqueue"]))
        assert found(diagnosis._threads)["threading layer"].verdict == WRONG
        monkeypatch.setattr(diagnosis, "_threading_layers", lambda: iter([]))
        monkeypatch.setattr(config, "THREADING_LAYER", "default")
        assert found(diagnosis._threads)["threading layer"].verdict == WRONG


class TestCache:
    def test_a_folder_that_is_made(self, folder):
        findings = found(diagnosis._cache)
        assert findings["folder"].value == str(folder)
        assert findings["holds"].value.startswith("0 derivatives")
        assert not any(one.verdict for one in findings.values())

    def test_no_cache_is_slow(self, monkeypatch):
        monkeypatch.setenv("TAPEC_CACHE", "0")
        assert found(diagnosis._cache)["folder"].verdict == SLOW

    def test_a_file_in_its_place_is_wrong(self, folder):
        folder.write_text("a file")
        finding = found(diagnosis._cache)["folder"]
        assert finding.verdict == WRONG and "TAPEC_CACHE_DIR" in finding.hint

    @pytest.mark.skipif(os.name != "posix", reason="modes of files")
    def test_a_folder_that_others_can_write_is_wrong(self, folder):
        folder.mkdir()
        folder.chmod(0o777)
        finding = found(diagnosis._cache)["folder"]
        assert finding.verdict == WRONG and "can be written by others" in finding.reason


def test_an_optional_library_that_is_too_old(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: "0.1")
    assert {one.verdict for one in diagnosis._optional() if one.name != "C compiler"} == {WRONG}


def test_the_width_of_vectors():
    assert diagnosis.vector_bits("AMD64", "+sse2,+avx2,+avx512f") == 512
    assert diagnosis.vector_bits("arm64", "+neon") == 128
    assert diagnosis.vector_bits("riscv64", "") == 64


class TestCommand:
    @pytest.fixture
    def sections(self, monkeypatch):
        found: list[tuple[str, list[Finding]]] = []
        monkeypatch.setattr(diagnosis, "diagnosis", lambda: iter(found))
        return found

    def test_nothing_wrong(self, sections):
        sections.append(("Versions", [Finding("tapec", "1")]))
        done = run("doctor")
        assert done.exit_code == 0
        assert done.stdout == "Versions\n  tapec  1\n\nNothing is wrong.\nNothing is slow.\n"

    def test_slow_alone(self, sections):
        sections.append(("Cache", [Finding("folder", "none", SLOW, "it is off", "turn it on")]))
        done = run("doctor")
        assert done.exit_code == 0
        assert done.stdout.endswith("Nothing is wrong.\nSlow\n  folder: it is off\n    turn it on\n")

    def test_something_wrong(self, sections):
        sections.append(("Versions", [Finding("numba", "0.1", WRONG, "it is old", "pip install numba")]))
        done = run("doctor")
        assert done.exit_code == 1
        assert "  numba  0.1  [wrong]\n" in done.stdout and "  numba: it is old\n    pip install numba\n" in done.stdout
        assert done.stderr == ""
