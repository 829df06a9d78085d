"""Iterators: each gives its items once, in the order in which they are asked for."""

from __future__ import annotations

import itertools

import numpy as np

A = np.array([1.3, 0.7, 2.1, 0.4])
CASES = []


def case(*args):
    def keep(function):
        CASES.append((function, args))
        return function

    return keep


@case(A)
def zip_looped_over_twice(x):
    z = zip(x[:-1], x[1:])
    s = 0.0
    for a, b in z:
        s += a * b
    for a, b in z:
        s += a * b
    return s


@case(A)
def pairs_of_one_iterator(x):
    it = iter([x[0], x[1], x[2], x[3], x[0] * 2])
    s = 0.0
    for a, b in zip(it, it):
        s += a * b
    return s


@case(A)
def pairs_of_one_iterator_over_an_array(x):
    it = iter(x)
    s = 0.0
    for a, b, c in zip(it, it, x[::-1]):
        s += a * b**2 + c
    return s


@case(A)
def triples_of_one_iterator(x):
    it = iter(x * x)
    return sum([a + 2 * b + 3 * c for a, b, c in zip(it, it, it)])


@case(A)
def map_and_filter_twice(x):
    squares = map(lambda v: v * v, (x[0], x[1]))
    odd = filter(lambda pair: pair[0] % 2, enumerate((x[0], x[1], x[2], x[3])))
    s = 0.0
    for _ in range(1):
        s += x[3]
    for v in squares:
        s += v
    for v in squares:
        s += 10 * v
    for k, v in odd:
        s += k * v
    for k, v in odd:
        s += 10 * k * v
    return s


@case(A)
def map_sees_what_changes_before_its_items_are_taken(x):
    k = 2.0
    scaled = map(lambda v: v * k, [x[0], x[1]])
    k = 5.0
    return sum(scaled)


@case(A)
def map_over_an_array(x):
    s = 0.0
    for v, w in zip(map(lambda a, b: a * b, x, x[1:]), x):
        s += v * w
    return s + sum(map(np.sin, x)) + max(map(abs, x - 1.0))


@case(A)
def items_are_loaded_when_they_are_taken(x):
    y = x * 1.0
    both = itertools.chain(y, (y[0], y[1]))
    s = 0.0
    for v in both:
        y[2] = v * 0.5
        s += v * v
    for v in both:
        s += 100 * v
    return s


@case(A)
def enumerate_made_outside_a_known_loop(x):
    z = enumerate(x[:2] * 1.0)
    s = 0.0
    for k in (1, 2):
        for i, v in z:
            s += v * (i + k)
    return s


@case(A)
def arrays_twice(x):
    m = np.outer(x, x)
    cells, places, flat = np.ndenumerate(m), np.ndindex(2, 3), m.flat
    s = 0.0
    for (i, j), v in cells:
        s += i * v + j
    for (i, j), v in cells:
        s += 100 * i * v + j
    for i, j in places:
        s += m[i, j] * i
    for i, j in places:
        s += 100 * m[i, j]
    for v in flat:
        s += v * v
    for v in flat:
        s += 100 * v
    return s


@case(A)
def combinations_twice(x):
    c = itertools.combinations((x[0], x[1], x[2]), 2)
    s = 0.0
    for a, b in c:
        s += a * b
    for a, b in c:
        s += 10 * a * b
    return s + sum(a * b for a, b in itertools.pairwise(x))


@case(A)
def reversed_twice(x):
    values = [x[0], x[1]]
    back = reversed(values)
    values.append(x[2])
    total = sum(back)
    for v in back:
        total += 10 * v
    last = reversed(x)
    return total * sum(last) + sum(last)


@case(A)
def first_item_apart(x):
    it = iter(x)
    best = next(it)
    for v in it:
        best = best * 0.5 + v * v
    return best + next(it, 3.0)


@case(A[:2])
def more_items_than_there_are(x):
    it = iter((x[0], x[1]))
    a, b, c = next(it), next(it), next(it, x[0] * x[1])
    rest = iter(x[2:])
    return a + 2 * b + 3 * c + next(rest, 7.0) * x[0]


@case(A)
def items_taken_inside_the_loop(x):
    it = iter((x[0], x[1], x[2], x[3]))
    s = 0.0
    for a in it:
        s = s * 2 + a * next(it)
    return s + len(list(it))


@case(A)
def consumers_leave_nothing(x):
    z = zip(x[:2], (1, 2, 3))
    a, b = zip((x[0], x[1]), (x[2], x[3]))
    r = range(3)
    parts = [*map(lambda v: v + 1, (x[0], x[1])), *r, *r]
    m = map(lambda v: v * v, (x[2], x[3]))
    both = max(*m) + len(tuple(m))
    pair = dict(zip(("a", "b"), (x[0], x[1])))
    more = [x[0]]
    more.extend(map(lambda v: v * x[1], (x[2], x[3])))
    s = 0.0
    for v, k in z:
        s += v * k
    return s + a[0] * b[1] + sum(parts) + both + pair["b"] * sum(more) + any(z)


@case(A, 3)
def lists_of_iterators(x, n):
    counts = list(range(n))
    scaled = list(map(lambda v: v * 2, x))
    scaled.append(x[0])
    return sum(scaled) * counts[-1] + sum(reversed(x * x))


@case(A)
def branches_agree(x):
    z = zip(x[:-1], x[1:])
    s = 0.0
    if x[0] > 0.0:
        for a, b in z:
            s += a * b
    else:
        for a, _ in z:
            s += a
    for a, b in z:
        s += 100 * a * b
    return s


@case(A)
def made_before_an_early_return(x):
    z = zip(x[:-1], x[1:])
    if x[0] < -5:
        return 0.0
    s = 0.0
    for a, b in z:
        s += a * b
    return s


@case(A)
def handed_to_a_function(x):
    def total(items):
        s = 0.0
        for v in items:
            s += v * v
        return s

    it = iter(x)
    return total(it) + 10 * total(it) + total(reversed(x))


@case(A)
def questions_stop_at_the_answer(x):
    seen = np.zeros(4)

    def large(k):
        seen[k] += x[k]
        return x[k] > 1.0

    found = any(map(large, (0, 1, 2)))
    every = all(map(large, range(1, 4)))
    pairs = zip((x[0], x[1]), (x[2], 0.0))
    return found * x[0] + every * x[1] + seen @ x + any([]) + all([a > b for a, b in pairs])


@case(A)
def views_of_a_dict_show_it_as_it_is(x):
    d = {"a": x[0], "b": x[1]}
    keys, values, items = d.keys(), d.values(), d.items()
    d["c"] = x[2]
    total = 0.0
    for key, value in items:
        d["c"] = value * x[3]
        total += value * (2.0 if key == "c" else 1.0)
    for value in values:
        total += value * value
    for value in values:
        total += value
    assert "c" in keys and "d" not in keys
    first, *others = values
    return total + len(keys) * first + sum(others) + sum(values) * max(d.values()) + dict(items)["b"]


@case(A)
def dicts_and_sets_that_have_two_names_change_in_place(x):
    d = {"a": x[0], "b": x[1]}
    same, s = d, {1, 2}
    also, frozen = s, frozenset(s)
    kept = frozen
    d |= {"b": d["b"] * x[2], "c": x[3]}
    s |= {3}
    s -= {1}
    frozen |= {5, 6}
    squares = {key: value**2 for key, value in same.items() if key != "a"}
    return same["b"] * len(same) * len(also) * (1 in also) + len(kept) * len(frozen) * same["c"] + sum(squares.values())


@case(A)
def a_loop_over_a_dict_left_early(x):
    d = {"a": x[0], "b": x[1], "c": x[2]}
    total = 0.0
    for key, value in d.items():
        if value < 1.0 or key == "c":
            break
        total += value
    for value in d.values():
        total += value * value
    return total


@case(A)
def strict_zip(a):
    total = 0.0
    for x, y in zip(a, a[::-1], strict=True):
        total += x * y * y
    return total + sum([x * k for x, k in zip((a[0], a[1]), [1.0, 2.0], strict=True)])


@case(A, True)
@case(A, False)
def one_of_two_ranges(x, down):
    s = 0.0
    for i in range(len(x) - 1, -1, -2) if down else range(len(x)):
        s = 0.5 * s + (i + 1) * x[i]
    return s


@case(A, 2.0)
@case(A, 0.0)
def range_that_a_branch_sets(x, k):
    r = range(1, len(x))
    if k > 1.0:
        r = range(len(x) - 1, 0, -1)
    s = 0.0
    for i in r:
        for j in r:
            if j == i:
                break
            s = 0.9 * s + x[i] * x[j] * (j + 1)
    return s + len(r)


@case(A)
def range_that_a_loop_sets(x):
    r = range(len(x))
    s = 0.0
    for k in range(3):
        for i in r:
            s = 0.9 * s + x[i] ** 2
        r = range(k, len(x), 2)
    return s
