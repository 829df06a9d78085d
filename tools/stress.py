"""Many threads, one compiler: `python -m tools.stress --minutes N [--seed S]`.

Each round is a process of its own, in which threads do the jobs of `stress_jobs` in orders of their own, all for the
first time.  Rounds differ in the number of threads, in how often Python switches between them, in whether the cache
is cold, warm or off, and in whether there is machine code at all.  A watchdog ends a round that hangs, and the round
tells where each thread was.  Every round also records in which order locks are taken: see `LockOrder`.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
INTERVALS = (1e-6, 1e-5, 1e-4, 1e-3, 5e-3)
CACHES = ("cold", "warm", "off")


@dataclass(frozen=True)
class Round:
    """How one process goes about its jobs.

    seed      of the orders of the jobs
    threads   how many there are
    interval  seconds after which Python switches between them
    cache     "cold", "warm" or "off"
    jit       whether there is machine code
    jobs      their names; none for all
    """

    seed: int
    threads: int
    interval: float
    cache: str
    jit: bool
    jobs: tuple[str, ...] = ()

    @staticmethod
    def drawn(seed: int) -> Round:
        rng = random.Random(seed)
        return Round(seed, rng.choice((2, 3, 4, 8, 12)), rng.choice(INTERVALS), rng.choice(CACHES), rng.random() < 0.75)

    def failure(self, seconds: float = 300.0, warm: Path | None = None) -> str:
        """What went wrong in a process that ran the round; empty if nothing did.

        seconds  after which the process is ended, and the round has failed
        warm     the cache of earlier rounds
        """
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ)
            environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, ROOT / "runtime")))
            environment["TAPEC_CACHE"] = "0" if self.cache == "off" else "1"
            environment["TAPEC_CACHE_DIR"] = str(warm if self.cache == "warm" and warm else Path(folder) / "cache")
            environment["NUMBA_DISABLE_JIT"] = "0" if self.jit else "1"
            program = f"from tools.stress import Round, run; run({self!r})"
            said = Path(folder) / "said"
            with said.open("w") as file:
                process = subprocess.Popen(
                    [sys.executable, "-c", program],
                    cwd=ROOT,
                    env=environment,
                    stdout=file,
                    stderr=file,
                    start_new_session=True,
                )
            try:
                ended = f"ended with {process.wait(seconds)}"
            except subprocess.TimeoutExpired:
                # children that were forked have the same group
                os.killpg(process.pid, signal.SIGUSR1)
                time.sleep(2.0)
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                ended = f"went on for {seconds} seconds"
            return "" if process.returncode == 0 else f"{self!r} {ended}\n{said.read_text()}"


class Imports:
    """A finder that finds nothing, and records which modules of ours are imported where a fork would not wait."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.found: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.startswith("tapec") and name != "tapec_runtime.locking" and not self.lock._is_owned():
            self.found.append(f"{name} was imported without a lock\n{''.join(traceback.format_stack())}")


class LockOrder:
    """Numba's lock, which records where a thread takes it while it imports a module.

    A thread that compiles holds the lock and may import: one that imports must not wait for the lock.  Modules of Numba
    itself, and Numba's making of its contexts, are Numba's business.
    """

    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.found: list[str] = []

    def acquire(self, *args: Any, **kwargs: Any) -> Any:
        if not self.lock._is_owned():
            self._look()
        return self.lock.acquire(*args, **kwargs)

    def _look(self) -> None:
        stack = traceback.extract_stack()
        imports = [k for k, one in enumerate(stack) if one.name == "_call_with_frames_removed"]
        inside = [one.filename for one in stack[imports[-1] :]] if imports else []
        ours = any(f"{os.sep}tapec" in file for file in inside)
        # a property of Python 3.11 holds a lock while it is computed
        ours = ours or any(one.name == "__get__" and one.filename.endswith("functools.py") for one in stack)
        if ours and not any(one.name == "_toplevel_target_context" for one in stack):
            self.found.append(f"Numba's lock was taken during an import\n{''.join(traceback.format_list(stack))}")

    def __enter__(self) -> Any:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()

    def __getattr__(self, name: str) -> Any:
        # what conditions on the lock ask of it
        return getattr(self.lock, name)


def run(one: Round) -> None:
    """Run a round in this process, which ends with status 1 if something goes wrong."""
    # tells where all threads are
    faulthandler.register(signal.SIGUSR1)
    from numba.core.compiler_lock import global_compiler_lock

    order = LockOrder(global_compiler_lock._lock)
    global_compiler_lock._lock = order  # type: ignore[assignment]
    from tools import stress_jobs

    imports = Imports(order)
    sys.meta_path.insert(0, imports)

    wanted = [job for job in stress_jobs.JOBS if not one.jobs or job.__name__ in one.jobs]
    failures: list[str] = []
    barrier = threading.Barrier(one.threads)

    def work(number: int) -> None:
        own = list(wanted)
        random.Random(one.seed * 100 + number).shuffle(own)
        barrier.wait()
        for job in own:
            try:
                job()
            except BaseException:
                failures.append(f"{job.__name__} in thread {number}\n{traceback.format_exc()}")

    sys.setswitchinterval(one.interval)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(one.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failures += order.found + imports.found[:1]
    if failures:
        print("\n".join(failures))
        sys.stdout.flush()
        os._exit(1)


@click.command()
@click.option("--minutes", default=1.0, help="How long to go on.")
@click.option("--seed", default=0, help="Of the first round.")
@click.option("--limit", default=300.0, help="Seconds after which a round has failed.")
def main(minutes: float, seed: int, limit: float) -> None:
    """Run rounds until the time is up or one fails."""
    end = time.monotonic() + 60.0 * minutes
    first = seed
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            failure = Round.drawn(seed).failure(limit, Path(folder) / "cache")
            if failure:
                raise SystemExit(f"{failure}\nseed {seed} failed, after {seed - first} rounds")
            seed += 1
    print(f"{seed - first} rounds, none failed")


if __name__ == "__main__":
    main()
