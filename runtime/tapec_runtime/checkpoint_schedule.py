"""Loops that are reversed with few snapshots: where the snapshots go.

To reverse n iterations, each iteration needs the state that it began with.  With s snapshots at a time the others come
from running iterations again.  If no iteration is run more than r times for that, at most

    beta(s, r) = (s + r)! / (s! r!)

iterations can be reversed, and the binomial schedule runs the fewest: r n - beta(s + 1, r - 1).

Griewank & Walther, Algorithm 799: revolve, ACM Transactions on Mathematical Software 26 (2000) 19-45.
"""

from __future__ import annotations

from numba import njit
from numba.extending import register_jitable

TOO_FEW = "a checkpointed loop needs at least one snapshot: slots must be at least 1"


@register_jitable
def checkpointed(iterations: range, slots: int) -> range:
    """A range whose loop, once differentiated, keeps at most `slots` snapshots of its loop-carried values.

    iterations    the range that a `for` runs over; such a loop has no `break` and no `return`
    slots    snapshots held at once, at least 1; memory is `slots` times the numbers and arrays that the
             iterations change and read again
    returns  `iterations`: without a derivative, in Python or in jitted code, this is an ordinary range
    raises   ValueError if slots is below 1

    The derivative runs iterations again, as few as possible (Griewank and Walther, ACM TOMS 26, 2000, 19-45): with
    20 slots each of 10,000 iterations runs 2.8 times more on average, before it is reversed.

    >>> list(checkpointed(range(3), slots=2))
    [0, 1, 2]
    """
    if slots < 1:
        raise ValueError(TOO_FEW)
    return iterations


@njit(error_model="numpy")
def next_checkpoint(first: int, stop: int, free: int) -> int:
    """Where the next snapshot goes, on the way from iteration `first`, which has one, to the last before `stop`.

    free     further snapshots that there is room for
    returns  the iteration that begins with the state to keep; `stop` if no further snapshot is of use

    >>> next_checkpoint(0, 10, 2)
    4
    """
    iterations, slots = stop - first, free + 1
    if free < 1 or iterations < 2:
        return stop
    # reached: beta(slots, runs), for one run less, and for two runs less
    runs, reached, before, earlier = 0, 1, 0, 0
    while reached < iterations:
        runs += 1
        before, earlier = reached, before
        reached = reached * (slots + runs) // runs
    # beta(slots - 1, runs) iterations is what the snapshots that are left can do after the new one
    return first + max(earlier, iterations - (reached - before), 1)
