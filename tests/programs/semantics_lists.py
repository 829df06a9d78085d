"""Lists of tuples that grow in loops: pairs of neighbours, events, stacks of work."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from tests.programs.semantics import collector

CASES, case = collector()

A = np.array([0.3, -0.7, 1.2, 0.5, 2.0])
Event = namedtuple("Event", "place weight")


@case(A, 1.4)
@case(A, 0.0)
def pairs_of_neighbours(a, reach):
    pairs = []
    for i in range(a.size):
        for j in range(i):
            if (i + j) % 3 < reach:
                pairs.append((i, j))
    total = 0.0
    for i, j in pairs:
        total += (a[i] * a[j]) ** 2 * (i + 2 * j)
    return total + len(pairs)


@case(A)
def elements_of_several_types(a):
    edges = [(0, 1, a[0] * a[1])]
    for i in range(1, a.size):
        if a[i] > 0:
            edges.append((i, i - 1, a[i] * a[i - 1]))
    total = 0.0
    for k in range(len(edges)):
        i, j, weight = edges[k]
        total += weight * a[i] + a[j]
    edges[0] = (1, 2, a[2] ** 2)
    last = edges.pop()
    return total + edges[0][2] * last[2] + edges[-1][2]


@case(A)
def named_tuples_that_grow(a):
    events = []
    for i in range(a.size):
        events.append(Event(i, a[i] ** 2))
    return sum([event.weight * event.place for event in events]) + events[1].weight


@case(A)
def comprehension_with_a_test(a):
    kept = [(i, x * x) for i, x in enumerate(a) if x > 0]
    total = 0.0
    for i, y in kept[1:]:
        total += i * y
    return total


@case(A)
def tuples_in_tuples(a):
    rows = []
    for i in range(a.size - 1):
        rows.append((i, (a[i], a[i + 1] * a[i])))
    more = rows.copy()
    more.append((7, (a[0], a[1])))
    return sum([row[1][0] * row[1][1] * row[0] for row in more]) + len(rows) + rows[2][1][1]


@case(A)
def a_stack_of_work(a):
    todo = [(0, a.size, 1.0)]
    total = 0.0
    while len(todo) > 0:
        low, high, weight = todo.pop()
        if high - low == 1:
            total += weight * a[low] ** 2
            continue
        middle = (low + high) // 2
        todo.append((low, middle, weight * 0.5))
        todo.append((middle, high, weight * a[middle]))
    return total


@case(A)
def integers_become_floats(a):
    found = []
    for i in range(a.size):
        if i < 2:
            found.append((i, 1))
        else:
            found.append((i, a[i]))
    total = 0.0
    for i, weight in found:
        total += weight * weight * i
    return total


@case(A)
def the_largest_of_a_list(a):
    found = [(0.0, 0)]
    for i in range(a.size):
        found.append((a[i] ** 2, i))
    largest = found[0]
    for one in found:
        if one[0] > largest[0]:
            largest = one
    return largest[0] * largest[1]


@case(A)
def rows_of_an_array(a):
    rows = []
    for x in a:
        rows.append((x, x * x))
    table = np.array(rows)
    return (table[:, 0] * table[:, 1]).sum() + table[2, 1]


@case(A)
def appended_in_a_branch(a):
    found = [(0, 1.0)]
    if a[0] > 0:
        found.append((1, a[1]))
    total = 0.0
    for i, weight in found:
        total += weight * weight * (i + 1)
    return total


@case(A)
@case(A[:1])
def taken_from_anywhere(a):
    """A queue, and elements from the middle."""
    queue, rest = [(0, a[0])], []
    for i in range(1, a.size):
        queue.append((i, a[i] * a[i - 1]))
    total = 0.0
    while len(queue) > 0:
        i, weight = queue.pop(0)
        total = 0.9 * total + weight * a[i]
        rest.append(weight**2)
        if i == 2:
            queue.append((4 % a.size, 0.5 * weight))
    k = 0
    while len(rest) > 1:
        total += rest.pop(k % len(rest)) * rest[-1]
        rest[0] *= 1.1
        k += 1
        if len(rest) > 2:
            total -= rest.pop(-2) * k
    del rest[0]
    return total + len(rest)


@case(A, np.array([2, 7, 2, 0, 7]))
def membership_in_an_array_and_in_a_list_that_grows(a, keys):
    seen, met = np.full(5, -1), [0]
    total = 0.0
    for i in range(a.size):
        if keys[i] not in seen[:i]:
            seen[i] = keys[i]
            total += a[i] ** 2
        if keys[i] in met:
            total += 3 * a[i]
        met.append(keys[i])
    return total * a[0] if a[1] in a else total
