"""The reverse sweep as mathematics: the adjoint of each statement."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.errors import NotDifferentiable
from tapec.syntax.core import Assign, Break, If, Name, Raise
from tapec.transforms.sweep import always_breaks
from tests.transforms.reversals import check, lines, reversal, swept

A = np.array([0.5, -1.5, 2.0])


def adjoints(statement: str) -> list[str]:
    """What the reverse sweep does for some statements, without where adjoints begin."""
    text = "\n".join(f"    {line}" for line in statement.splitlines())
    made = swept(f"def f(x, y, a, n, c):\n{text}\n    return z", ("x", "y", "a"))
    beginnings = ("= 0.0", "_seed", ".shape[0]", "np.zeros(size)")
    return [line for line in lines(made, made.backward) if not line.endswith(beginnings)]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("z = x + y", ["x_bar += z_bar", "y_bar += z_bar"]),
        ("z = x * x", ["t = x * z_bar", "x_bar += t", "t_1 = x * z_bar", "x_bar += t_1"]),
        ("z = np.exp(x)", ["t = z * z_bar", "x_bar += t"]),
        ("z = x", ["x_bar += z_bar"]),
        ("z = a[n]", ["a_bar[n] += z_bar"]),
        ("z = a[0]\na[1] = x", ["t = a_bar[1]", "x_bar += t", "a_bar[0] += z_bar"]),
        ("a[1] += x\nz = a[0]", ["a_bar[0] += z_bar", "t = a_bar[1]", "x_bar += t"]),
        ("a[1] = 2.0\nz = a[0]", ["a_bar[0] += z_bar"]),
        # what has no derivative gets none
        ("z = np.floor(x)", []),
        ("k = int(x)\nz = a[k]", ["a_bar[k] += z_bar"]),
    ],
)
def test_the_adjoint_of_a_statement(statement: str, expected: list[str]):
    assert adjoints(statement) == expected


def test_an_infinite_factor_is_guarded():
    (guarded,) = [line for line in adjoints("z = np.sqrt(x)") if " if " in line]
    assert guarded.endswith("else 0.0")
    assert not [line for line in adjoints("z = x / 2.0") if " if " in line]


PROGRAMS = {
    "store": """
        def f(x, y, a, n, c):
            t = a[n]
            u = t * x
            a[n] = u
            a[0] += y
            a[1] = 3.0
            v = a[n]
            z = v * y
            return z, a
    """,
    "branch": """
        def f(x, y, a, n, c):
            if c:
                t = x * y
                s = t
            else:
                if y > x:
                    s = y
                else:
                    s = 2.0
            z = s * s
            return z
    """,
    "loop": """
        def f(x, y, a, n, c):
            s = x
            k = 0
            for i in range(n, -1, -2):
                t = a[i]
                u = s * t
                w = u + y
                a[i] = w
                s = w
                k_1 = k + 1
                k = k_1
            z = s * s
            return z, k
    """,
    "left": """
        def f(x, y, a, n, c):
            k = 0
            s = x
            while True:
                if k < n:
                    t = np.sin(s)
                    u = t * y
                    if u > 0.4:
                        break
                    else:
                        k_1 = k + 1
                        s_1 = u + 0.1
                        k = k_1
                        s = s_1
                else:
                    break
            z = s * y
            return z
    """,
    "list": """
        def f(x, y, a, n, c):
            s_stack = stack()
            for i in range(n):
                t = a[i]
                u = t * x
                s_stack.append(u)
                s_stack.append(2.0)
            s = y
            for k in range(n):
                p = s_stack.pop()
                q = s_stack.pop()
                w = p * q
                v = s * w
                s = v
            return s
    """,
}


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_reverse_is_the_transpose_of_forward(name: str, n: int, fuse: bool):
    for c in (False, True):
        for x, y in ((0.7, 0.9), (0.9, -0.4)):
            check(PROGRAMS[name], ("x", "y", "a"), x, y, A, n, c, fuse=fuse)


def test_statements_without_adjoints_leave_no_branches_and_loops():
    text = """
    def f(x, n, c):
        k = 0
        for i in range(n):
            if c:
                y = x * 2.0
            k_1 = k + 1
            k = k_1
        z = x * x
        return z
    """
    worker = reversal(text)
    made = worker.sweep.run(worker.program.body, worker.scopes.root)
    assert all(isinstance(item, Assign) for item in made.items)


def test_operands_that_are_overwritten_are_copied():
    text = """
    def f(A, a):
        a_y = np.dot(A, a)
        a[0] = 2.0
        x = a_y[0]
        y = a[1]
        z = x * y
        return z
    """
    worker = reversal(text, ("A", "a"))
    (copies,) = worker.sweep.snapshots.values()
    assert [name for name, _ in copies] == ["a"]
    check(text, ("A", "a"), np.arange(9.0).reshape(3, 3), A)
    assert not reversal(text.replace("        a[0] = 2.0\n", ""), ("A", "a")).sweep.snapshots


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("z = tapec_runtime.scipy_special.jv(x, y)", "jv"),
        ("a_y = np.unknown(a)\n    t = a[0]\n    a_y[0] = t\n    z = a_y[0]", "np.unknown"),
    ],
)
def test_operations_without_a_rule_are_refused(statement: str, refused: str):
    with pytest.raises(NotDifferentiable, match=refused):
        swept(f"def f(x, y, a):\n    {statement}\n    return z", ("x", "a"))


def test_what_always_breaks():
    leaves, stays = (Break(),), (Assign("x", Name("y")),)
    assert always_breaks(leaves) and not always_breaks(()) and not always_breaks(stays)
    assert always_breaks((*stays, If(Name("c"), leaves, (*stays, *leaves))))
    assert not always_breaks((If(Name("c"), leaves, ()),)) and not always_breaks((Raise("ValueError"),))
