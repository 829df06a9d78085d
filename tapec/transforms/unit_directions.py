"""Arrays whose tangents are unit vectors: in a lane, one for each element that has the number of the lane, else zero.

    for i in range(n):                      for i in range(n):
        t = x[i]                                number = x_dot[i] - first
        y[i] = 2.0 * t             ->           for lane in range(8):
                                                    t_dot = 1.0 if number == lane else 0.0
                                                    y_dot[i, lane] = 2.0 * t_dot

So they take an integer for each element in place of a number for each lane, which is less to read, and nothing to
write.  It is so for sources of which nothing but elements is used, by themselves or in views: what is stored into,
or handed to anything else, has tangents in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapec.analyses.aliases import VIEWS, aliases, is_memory
from tapec.syntax.core import Assign, Function, Name, Op, reads, walk, writes
from tapec.syntax.types import Array
from tapec.transforms.lane_loops import by_columns


def only_read(function: Function, sources: Sequence[str]) -> frozenset[str]:
    """Sources of which nothing but elements is read, and views of them."""
    classes = aliases(function)
    types = function.types
    members: dict[str, list[str]] = {}
    for name, type_ in types.items():
        if is_memory(type_):
            members.setdefault(classes.find(name), []).append(name)
    made = {name for stmt in walk(function.body) for name in writes(stmt)}
    found = {classes.find(one) for one in sources if isinstance(kind := types[one], Array) and kind.ndim > 0}
    # parameters and constants in one class may stand for one another
    found = {one for one in found if sum(name not in made for name in members[one]) == 1}
    found -= {one for one in found if any(by_columns(types[name]) for name in members[one])}
    for stmt in walk(function.body):
        match stmt:
            case Assign(value=Op(fn="load" | "dim")):
                continue
            case Assign(value=Op(fn=fn, args=(Name(), *_))) if fn in VIEWS:
                continue
            case Assign(value=Name()):
                continue
        used = (*reads(stmt), *writes(stmt))
        found -= {classes.find(name) for name in used if is_memory(types.get(name))}
    return frozenset(name for one in found for name in members[one])
