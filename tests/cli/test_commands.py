"""`tapec check`, `tapec cache` and `tapec completion`, and how commands behave in a pipe."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tapec.backend.cache import open_folder
from tapec.cli import main
from tests.cli.running import refused, run, succeeds

ROOT = Path(__file__).resolve().parent.parent.parent


class TestCheck:
    @pytest.mark.slow
    def test_a_right_gradient(self, model):
        text = succeeds("check", "cli_model.py:loss", "--args", "np.array([1.0, 2.0]), 0.5")
        assert [line.split()[:2] for line in text.splitlines()[1:]] == [["1", "x"], ["1", "a"], ["1", "all"]]
        assert text.count("yes") == 3

    @pytest.mark.slow
    def test_higher_orders_and_chosen_sources(self, model):
        text = succeeds("check", "cli_model.py:loss", "--args", "np.ones(2), 0.5", "--wrt", "x", "--order", "2")
        assert [line.split()[:2] for line in text.splitlines()[1:]] == [["1", "all"], ["2", "all"]]

    def test_a_jump_is_told_by_the_exit_code(self, model):
        (model.parent / "jump.py").write_text("import numpy as np\ndef f(x):\n    return np.floor(x) + x\n")
        result = run("check", "jump.py:f", "--args", "1.0 - 1e-9")
        assert result.exit_code == 1
        assert "NO" in result.stdout

    def test_arguments_for_which_it_raises(self, model):
        message = refused("check", "cli_model.py:loss", "--args", "np.ones(2), None")
        assert "with --args the function raises TypeError: " in message

    def test_nothing_to_check(self, model):
        assert "none of the arguments" in refused("check", "cli_model.py:bare", "--args", "1, 2")


class TestCache:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("TAPEC_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.delenv("TAPEC_CACHE", raising=False)
        return tmp_path / "cache"

    def test_what_it_holds_and_how_it_is_emptied(self, folder):
        used = open_folder()
        assert used is not None
        for name in (f"f_grad-{'1' * 32}.json", f"f_grad-{'2' * 32}.py", f"f_grad-{'2' * 32}.bin"):
            (used / name).write_bytes(bytes(10))
        old = folder / "v0.0.9-0123456789abcdef"
        old.mkdir()
        (old / f"f_grad-{'0' * 32}.bin").write_bytes(bytes(2000))
        mine = folder / "notes.txt"
        mine.touch()
        assert succeeds("cache", "info").splitlines()[0] == str(folder)
        assert f"{old.name}: 1 derivatives, 2.0 kB, left by other versions" in succeeds("cache", "info")
        assert f"{used.name}: 1 derivatives, 30 bytes\n" in succeeds("cache", "info")
        assert succeeds("cache", "clear", "--old") == "deleted 1 files, 2.0 kB\n"
        assert not old.exists()
        assert succeeds("cache", "clear") == "deleted 3 files, 30 bytes\n"
        assert list(used.iterdir()) == []
        assert mine.exists()

    def test_what_a_link_points_to_is_left_alone(self, folder, tmp_path):
        open_folder()
        other = tmp_path / "other"
        other.mkdir()
        theirs = other / f"f_grad-{'0' * 32}.bin"
        theirs.touch()
        (folder / "v0.0.9-0123456789abcdef").symlink_to(other)
        assert succeeds("cache", "clear") == "deleted 0 files, 0 bytes\n"
        theirs.unlink()
        assert succeeds("cache", "clear") == "deleted 0 files, 0 bytes\n"
        assert other.exists()

    def test_no_cache(self, monkeypatch):
        monkeypatch.setenv("TAPEC_CACHE", "0")
        assert "turns it off" in succeeds("cache", "info")
        assert succeeds("cache", "clear") == "deleted 0 files, 0 bytes\n"

    def test_a_folder_that_cannot_be_used(self, folder):
        folder.write_text("a file")
        assert "cannot be used" in refused("cache", "info")

    @pytest.mark.skipif(os.name != "posix", reason="modes of files")
    def test_a_folder_that_others_can_write(self, folder):
        folder.mkdir()
        folder.chmod(0o777)
        assert succeeds("cache", "info") == f"{folder}\nnot used: {folder} can be written by others\n"


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_the_script_asks_the_command(self, shell):
        assert f"_TAPEC_COMPLETE={shell}_complete" in succeeds("completion", shell)

    def test_a_shell_that_is_not_known(self):
        assert "'bash', 'zsh', 'fish'" in refused("completion", "csh")

    def test_targets_are_completed(self, model):
        from click.shell_completion import ShellComplete

        made = ShellComplete(main, {}, "tapec", "_TAPEC_COMPLETE")
        found = made.get_completions(["grad"], "cli_model.py:l")
        assert [item.value for item in found] == ["cli_model.py:loss"]


def command_on_path(folder: Path) -> dict[str, str]:
    """An environment in which `tapec` is a command."""
    script = folder / "bin" / "tapec"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tapec "$@"\n')
    script.chmod(0o755)
    paths = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
    return os.environ | paths | {"PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    "words, wanted",
    [("tapec gr", "grad"), ("tapec grad cli_model.py:b", "cli_model.py:bare"), ("tapec show --st", "--stage")],
)
def test_bash_completes(model, words, wanted):
    script = (
        'eval "$(tapec completion bash)"; COMP_WORDS=($0); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
        '_tapec_completion tapec; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, words], capture_output=True, text=True, env=command_on_path(model.parent)
    )
    assert done.stdout == f"{wanted}\n", done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals")
def test_long_work_shows_its_stage_on_a_terminal(model):
    import pty

    ours, theirs = pty.openpty()
    shown = bytearray()

    def read() -> None:
        # until nobody has the other end: a terminal holds a few thousand characters, and then its writers wait
        with contextlib.suppress(OSError):
            while part := os.read(ours, 4096):
                shown.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    environment = command_on_path(model.parent) | {"TERM": "xterm"}
    done = subprocess.run(
        ["tapec", "grad", "cli_model.py:loss"], stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment
    )
    os.close(theirs)
    reader.join()
    os.close(ours)
    assert done.returncode == 0
    assert "differentiating cli_model.py:loss" in shown.decode()
    assert "\x1b" not in done.stdout


NOISY = """
import atexit, ctypes, os, subprocess, sys

print("noise")
os.write(1, b"noise\\n")
ctypes.CDLL(None).printf(b"noise, which C's buffer holds")
sys.__stdout__.write("noise, which Python's buffer holds")
subprocess.run(["echo", "noise"])
atexit.register(print, "noise")
atexit.register(os.write, 1, b"noise\\n")
atexit.register(ctypes.CDLL(None).puts, b"noise")

def f(x: float):
    return x * x
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="C's library has another name")
@pytest.mark.parametrize("buffers", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_stdout_is_what_was_asked_for_alone(tmp_path, buffers):
    (tmp_path / "noisy.py").write_text(NOISY)
    environment = command_on_path(tmp_path)
    environment.pop("PYTHONUNBUFFERED", None)
    done = subprocess.run(
        ["tapec", "grad", "noisy.py:f"], cwd=tmp_path, capture_output=True, text=True, env=environment | buffers
    )
    assert done.returncode == 0, done.stderr
    assert "noise" not in done.stdout
    assert "def f_value_and_grad" in done.stdout or "def f_grad" in done.stdout
    assert done.stderr.count("noise") == 8


class TestHelp:
    @pytest.mark.parametrize("name", sorted(main.commands))
    def test_every_command_has_an_example(self, name):
        assert f"  tapec {name} " in succeeds(name, "--help") or f": tapec {name}" in succeeds(name, "--help")


def test_a_defect_is_told_as_one(model, monkeypatch):
    def broken(*_args, **_options):
        raise KeyError("x_bar")

    monkeypatch.setattr("tapec.api.generate", broken)
    result = run("grad", "cli_model.py:loss")
    assert result.exit_code == 70
    assert "this is a defect of tapec" in result.stderr
    assert isinstance(run("grad", "cli_model.py:loss", "--traceback").exception, KeyError)


class TestProcess:
    def command(self, *arguments: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
        command = [sys.executable, "-m", "tapec", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    def test_help_loads_no_compiler(self):
        code = "import sys, tapec.cli; print(sorted({'numba', 'scipy', 'rich'} & set(sys.modules)))"
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert (done.stdout, done.stderr) == ("[]\n", "")

    def test_help_names_the_commands(self):
        done = self.command("--help")
        assert done.returncode == 0
        assert "grad" in done.stdout
        assert "show" in done.stdout

    @pytest.mark.slow
    def test_a_pipe_gets_plain_text(self, model):
        done = self.command("grad", f"{model}:loss")
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("command", "other"),
    [("jvp_fun", "tapec jvp"), ("vjp-fun", "tapec vjp")],
)
def test_transforms_without_a_command_of_their_own_say_what_has_one(command, other):
    result = run(command, "chain.py:energy")
    assert result.exit_code == 2
    assert "There is no command" in result.output and other in result.output
