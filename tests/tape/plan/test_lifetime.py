"""What tapes hold on to, and tapes in several threads."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

from tapec import GradientTape, Variable, constant

pytestmark = pytest.mark.compiled


class Holder:
    def __init__(self, value):
        self.value = value
        self.made = []

    def __call__(self, x):
        self.made = [x * self.value]
        return self.made[0]


def used_tape(persistent):
    holder, x = Holder(np.array([2.0, 3.0])), np.array([1.0, 2.0])
    with GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        parts = {"y": holder(x)}
        y = np.sum(parts["y"])
    tape.gradient(y, x)
    return tape, [weakref.ref(one) for one in (x, holder, holder.value, holder.made[0])]


def test_a_gradient_releases_what_a_tape_held():
    gc.disable()
    try:
        tape, held = used_tape(False)
        assert [one() is None for one in held] == [True] * 4
        tape, held = used_tape(True)
        # values are kept, the objects that held them are not
        assert held[0]() is not None and held[1]() is None
        del tape
        assert [one() is None for one in held] == [True] * 4
    finally:
        gc.enable()


def test_a_tape_that_is_never_asked_releases_with_itself():
    gc.disable()
    try:
        x = np.array([1.0, 2.0])
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        alive = [weakref.ref(x), weakref.ref(y)]
        del x, y, tape
        assert [one() for one in alive] == [None, None]
    finally:
        gc.enable()


def steps(count, x, w):
    for _ in range(count):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * w
            if y > 0.0:
                y = y * x
        tape.gradient(y, [x, w])


@pytest.mark.slow
def test_thousands_of_iterations_need_no_more_memory():
    x, w = constant(2.0), Variable(3.0)
    steps(1_000, x, w)  # the block is compiled meanwhile
    grown = []
    tracemalloc.start()
    for _ in range(3):  # a table of the interpreter may be enlarged in one of them; a leak is in all
        gc.collect()
        before, blocks = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
        steps(1_000, x, w)
        gc.collect()
        grown.append((tracemalloc.get_traced_memory()[0] - before, sys.getallocatedblocks() - blocks))
    tracemalloc.stop()
    assert min(memory for memory, _ in grown) < 10_000, grown
    assert min(blocks for _, blocks in grown) < 300, grown


def test_threads_share_a_block():
    failures, start = [], threading.Barrier(4)

    def work(k):
        try:
            start.wait()
            for n in range(15):
                x = constant(float(k + n))
                with GradientTape() as tape:
                    tape.watch(x)
                    y = x * x * (k + 1.0)
                assert tape.gradient(y, x) == 2.0 * (k + n) * (k + 1.0)
                assert tape.watched_variables() == ()
        except Exception as error:  # shown by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_variables_tell_the_tapes_of_their_own_thread():
    v, other, ready, done = Variable(2.0), Variable(3.0), threading.Event(), threading.Event()
    seen = []

    def work():
        with GradientTape() as tape:
            y = other * 1.0
            ready.set()
            done.wait(5.0)
        seen.append((tape.watched_variables(), tape.gradient(y, other)))

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(5.0)
    with GradientTape() as tape:
        z = v * v
    done.set()
    thread.join()
    assert tape.watched_variables() == (v,) and tape.gradient(z, v) == 4.0
    assert seen == [((other,), 1.0)]
