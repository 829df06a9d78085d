"""Threads, forks and imports: one compiler lock, which nothing that is imported waits for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from numba import config

import tapec
from tapec import gradient_tape
from tapec_runtime.locking import compiler_lock, jit_is_off, jit_turned_on
from tools.stress import ROOT, Round

# imports every module with a lock that tells who takes it
_AUDIT = """
import importlib, pkgutil
from numba.core.compiler_lock import global_compiler_lock
from tools.stress import LockOrder
order = global_compiler_lock._lock = LockOrder(global_compiler_lock._lock)
import tapec, tapec_runtime
for package in (tapec_runtime, tapec):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        # bridges import other libraries, which may not be there
        bridge = module.name.removeprefix("tapec.").partition("_")[0] in tapec._BRIDGES
        if not module.name.endswith("__main__") and not bridge:
            importlib.import_module(module.name)
print("\\n".join(order.found))
"""


# what compiled code imports when it is called: a fork in another thread would leave that unfinished in the child
_CALLS = """
import sys
import numpy as np
from numba import typeof
import tapec_runtime.locking
before = set(sys.modules)
typeof(np.ones(2)), typeof(np.ones(2, np.float32)[::2]), typeof((1.0, 2)), typeof(np.float32(1.0))
print(*sorted(set(sys.modules) - before))
"""


@pytest.mark.slow
def test_types_of_arguments_are_found_without_imports() -> None:
    done = subprocess.run([sys.executable, "-c", _CALLS], cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.slow
def test_no_module_needs_the_compiler_lock_while_it_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", _AUDIT], cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.slow
def test_a_thread_that_enters_its_first_tape_does_not_wait_for_one_that_compiles() -> None:
    assert not Round(0, 2, 1e-4, "off", True, ("new_gradient", "tape")).failure()


@pytest.mark.slow
def test_threads_that_do_everything_for_the_first_time_get_right_answers() -> None:
    assert not Round(1, 12, 1e-5, "cold", False).failure()


@pytest.mark.slow
def test_a_child_that_is_forked_while_others_compile_works() -> None:
    jobs = ("new_gradient", "training", "forked", "from_jitted", "of_lambda")
    assert not Round(2, 4, 1e-5, "cold", True, jobs).failure()


def test_a_tape_that_threads_share_gives_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tapec.constant(3.0)
    with tapec.GradientTape(jit=False) as tape:
        tape.watch(x)
        y = x * x
    both = threading.Barrier(2)
    differentiate = gradient_tape._machinery.differentiate

    def at_once(*args: Any) -> Any:
        found = differentiate(*args)
        both.wait()
        return found

    monkeypatch.setattr(gradient_tape._machinery, "differentiate", at_once)
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(float(tape.gradient(y, x)))
        except RuntimeError as error:
            answers.append("one gradient" in str(error))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [True, 6.0]


def test_a_thread_knows_that_the_jit_is_off_while_another_one_asks_numba_for_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    found, asked, answered = [], threading.Event(), threading.Event()

    def ask() -> None:
        asked.set()
        found.append(jit_is_off())
        answered.set()

    thread = threading.Thread(target=ask)
    with compiler_lock, jit_turned_on():
        thread.start()
        assert asked.wait(60)
        # either it waits, or it has the answer
        answered.wait(0.05)
    thread.join(60)
    assert found == [True] and jit_is_off()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_has_the_locks_that_another_thread_held(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, numpy as np, tapec\n"
        "from tapec.backend import staleness\n"
        "f = lambda x: x * x\n"
        "tapec.grad(f)(2.0)\n"
        "staleness._lock.acquire()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(0 if tapec.grad(f)(3.0) == 6.0 else 1)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "0"


def test_what_forks_wait_for_is_there_before_numba_is() -> None:
    """A hook that is registered while a fork waits runs afterwards alone: `logging` said so on the parent's stderr."""
    code = "import sys, tapec; print('numba' in sys.modules, 'logging' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["False", "True"]
