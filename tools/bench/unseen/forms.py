"""JAX, where it is installed, as another tool that has these programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.bench import peers


def installed() -> tuple[peers.Peer, ...]:
    """JAX with these programs' forms, or nothing."""
    if not peers.is_there("jax"):
        return ()
    peers.set_jax_up()
    from tools.bench import peers_jax
    from tools.bench.unseen import jax_data, jax_physics

    forms = {form.__name__: form for form in (*jax_data.PROGRAMS, *jax_physics.PROGRAMS)}

    def gradient(name: str, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Callable[[], Any]:
        return peers_jax.derivative_of(forms[name], wrt, args)

    return (peers.Peer("jax", frozenset(forms), gradient),)
