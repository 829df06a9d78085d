"""Blocks of tapes in coroutines, which run interleaved."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tapec import GradientTape, Variable
from tapec.errors import LoweringError


async def squared(x):
    await asyncio.sleep(0)
    return x * x


async def cubed(k):
    x = Variable(float(k))
    with GradientTape() as tape:
        y = await squared(x)
        await asyncio.sleep(0.0005 * (5 - k))
        y = y * x
        await asyncio.sleep(0)
    return tape.gradient(y, x)


def test_a_block_that_waits():
    assert asyncio.run(cubed(3)) == 27.0


def test_blocks_that_run_interleaved():
    async def together():
        return await asyncio.gather(*(cubed(k) for k in range(1, 5)))

    for _ in range(3):
        assert np.allclose(asyncio.run(together()), [3.0, 12.0, 27.0, 48.0])


def test_what_another_coroutine_changes_meanwhile_is_no_silent_error():
    v = Variable(2.0)

    async def other():
        v.assign(5.0)

    async def block():
        with GradientTape() as tape:
            y = v * 1.0
            await asyncio.sleep(0.001)
            z = y * v
        assert z == 10.0
        return tape.gradient(z, v)

    async def together():
        return (await asyncio.gather(block(), other()))[0]

    with pytest.raises(LoweringError):
        asyncio.run(together())
