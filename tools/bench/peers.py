"""Other tools, where they are installed: `pip install .[bench]`.

Each is measured on the programs that are natural to it, on one thread, with its arguments converted
beforehand.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

# read when the tool is imported
_ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Peer:
    """Another tool.

    name      its package
    programs  the names of the programs that it has
    gradient  (name, wrt, arguments) -> a call without arguments that returns (value, gradients)
    """

    name: str
    programs: frozenset[str]
    gradient: Callable[[str, tuple[int, ...], tuple[Any, ...]], Callable[[], Any]]

    @property
    def version(self) -> str:
        return version(self.name)


def on_one_thread() -> None:
    """Keep the tools that are imported from now on to one thread."""
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)


@contextlib.contextmanager
def on_one_processor() -> Iterator[None]:
    """Keep this process, and threads that it starts meanwhile, to one processor.

    JAX runs on threads of its own, whatever its flags say.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(all_of_them)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def installed() -> tuple[Peer, ...]:
    """The peers that can be imported, ready for use."""
    return tuple(make() for name, make in _MAKERS.items() if is_there(name))


def is_there(name: str) -> bool:
    """Whether a tool can be imported."""
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def set_jax_up() -> None:
    """Double precision on the processor; before anything is made of JAX's arrays."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")


def _jax() -> Peer:
    set_jax_up()
    from tools.bench import peers_jax

    return Peer("jax", frozenset(peers_jax.PROGRAMS), peers_jax.gradient)


def _torch() -> Peer:
    import torch

    torch.set_num_threads(1)
    from tools.bench import peers_eager

    return Peer("torch", frozenset(peers_eager.PROGRAMS), peers_eager.by_torch)


def _autograd() -> Peer:
    from tools.bench import peers_eager

    return Peer("autograd", frozenset(peers_eager.PROGRAMS), peers_eager.by_autograd)


_MAKERS: dict[str, Callable[[], Peer]] = {"jax": _jax, "torch": _torch, "autograd": _autograd}
