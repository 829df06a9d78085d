"""Parts that stand several times in a long program, as functions: the same numbers, and less to compile."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import kernels
from tapec.syntax.core import Assign, Call, Const, For, Function, Name, Op, Raise, Return, Store, walk
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array

VECTOR = Array("float64", 1, "C")


def doubled(target: str, source: str, k: str) -> tuple:
    """`target = 2 * source`, with a loop."""
    return (
        Assign(f"n_{k}", Op("dim", (Name(source), Const(0)))),
        Assign(target, Op("empty", (Const("float64"), Name(f"n_{k}")))),
        For(
            f"i_{k}",
            Const(0),
            Name(f"n_{k}"),
            Const(1),
            (
                Assign(f"t_{k}", Op("load", (Name(source), Name(f"i_{k}")))),
                Assign(f"s_{k}", Op("*", (Name(f"t_{k}"), Const(2.0)))),
                Store(target, (Name(f"i_{k}"),), Name(f"s_{k}")),
            ),
        ),
    )


def chain(count: int) -> Function:
    body: list = []
    types = {"v0": VECTOR}
    for k in range(count):
        body += doubled(f"v{k + 1}", f"v{k}", str(k))
        types |= {f"v{k + 1}": VECTOR, f"n_{k}": INT64, f"i_{k}": INT64, f"t_{k}": FLOAT64, f"s_{k}": FLOAT64}
    return Function("f", ("v0",), (*body, Return((Name(f"v{count}"), Name("v1")))), types)


def test_equal_runs_become_one_function():
    function, made = kernels.with_kernels(chain(20))
    (kernel,) = made
    calls = [stmt for stmt in walk(function.body) if isinstance(stmt, Call)]
    assert len(calls) == 20 and kernel.name == "f_part_1"
    assert kernel.params == ("v0",) and [call.args for call in calls[:2]] == [(Name("v0"),), (Name("v1"),)]
    assert [call.targets for call in calls[:2]] == [("v1",), ("v2",)]
    assert kernel.results == (Name("v1"),) and not any(isinstance(stmt, For) for stmt in walk(function.body))


def test_short_programs_stay_as_they_are():
    function = chain(4)
    assert kernels.with_kernels(function) == (function, ())


def test_runs_of_other_types_and_messages_are_others():
    plain = chain(20)
    mixed = Function(plain.name, plain.params, plain.body, {**plain.types, **{f"t_{k}": INT64 for k in range(10)}})
    assert len(kernels.with_kernels(mixed)[1]) == 2

    def checked(k: int) -> tuple:
        test = Assign(f"b_{k}", Op(">", (Name(f"n_{k}"), Const(9))))
        raised = (Raise("ValueError", (Const("too long" if k % 2 else "long"),)),)
        from tapec.syntax.core import If

        return (test, If(Name(f"b_{k}"), raised, ()))

    body = [stmt for k in range(20) for stmt in (*plain.body[3 * k : 3 * k + 3], *checked(k))]
    types = {**plain.types, **{f"b_{k}": BOOL for k in range(20)}}
    _, made = kernels.with_kernels(Function("f", ("v0",), (*body, plain.body[-1]), types))
    messages = {stmt.args for kernel in made for stmt in walk(kernel.body) if isinstance(stmt, Raise)}
    assert not made or len(messages) in (0, 2)


def test_what_is_handed_on_is_returned():
    # a sum that runs on through all loops
    plain = chain(20)
    body = []
    for stmt in plain.body[:-1]:
        if isinstance(stmt, For):
            add = Assign("total", Op("+", (Name("total"), stmt.body[1].value.args[0])))
            stmt = For(stmt.var, stmt.start, stmt.stop, stmt.step, (*stmt.body, add))
        body.append(stmt)
    types = {**plain.types, "total": FLOAT64}
    first = Assign("total", Const(0.0))
    function, (kernel,) = kernels.with_kernels(
        Function("f", ("v0",), (first, *body, Return((Name("v20"), Name("total")))), types)
    )
    assert "total" in kernel.params and Name("total") in kernel.results
    assert all("total" in stmt.targets for stmt in walk(function.body) if isinstance(stmt, Call))


def chained(n: int) -> str:
    """A function of an array that is written out, as text: sums, and loops that need them."""
    lines = [f"    x = np.tanh(x) * np.sum(x * x) * {1 + k % 2}.0" for k in range(n)]
    return "def net(x):\n" + "\n".join(lines) + "\n    return np.sum(x)\n"


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_gradients_are_the_same(monkeypatch):
    import linecache

    text, space = chained(12), {"np": np, "__name__": __name__}
    linecache.cache["<net>"] = (len(text), None, text.splitlines(True), "<net>")
    exec(compile(text, "<net>", "exec", dont_inherit=True), space)
    x = np.linspace(-0.1, 0.2, 7)
    made = tapec.value_and_grad(space["net"], cache=False)
    value, gradient = made(x)
    assert "_part_1(" in made.source()
    monkeypatch.setattr(kernels, "_LONG", 10**9)
    whole = tapec.value_and_grad(space["net"], cache=False, opt_level=1)
    assert np.isclose(value, whole(x)[0], rtol=1e-12)
    assert np.allclose(gradient, whole(x)[1], rtol=1e-10)
    assert "_part_1(" not in whole.source()


@pytest.mark.slow
@pytest.mark.compiled
def test_a_gradient_that_is_asked_once_runs_its_parts_as_python():
    # compiled parts have no way in from Python: a call of one was a segmentation fault
    w, h = tapec.Variable(np.eye(3) * 0.5), np.full((3, 3), 0.2)
    with tapec.GradientTape() as tape:
        tape.watch(w)
        for k in range(6):
            h = np.tanh(h @ w) + np.sin(h) * k
        loss = np.sum(h * h)
    found = tape.gradient(loss, w)

    def plain(w, h):
        for k in range(6):
            h = np.tanh(h @ w) + np.sin(h) * k
        return np.sum(h * h)

    wanted = tapec.grad(plain, opt_level=0, cache=False)(np.eye(3) * 0.5, np.full((3, 3), 0.2))
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


@pytest.mark.slow
@pytest.mark.compiled
def test_parts_of_emitted_source_can_be_called_from_python():
    text, space = chained(12), {"np": np, "__name__": __name__}
    import linecache

    linecache.cache["<net>"] = (len(text), None, text.splitlines(True), "<net>")
    exec(compile(text, "<net>", "exec", dont_inherit=True), space)
    emitted = tapec.emit(space["net"], signature="f8[::1]", opt_level=2)
    assert "_part_1(" in emitted and "no_cpython_wrapper" not in emitted


@pytest.mark.compiled
def test_compiled_tapes_are_the_same():
    rng = np.random.default_rng(0)
    params = [(tapec.Variable(rng.normal(size=(4, 4))), tapec.Variable(rng.normal(size=4))) for _ in range(12)]
    x = rng.normal(size=(2, 4))

    def step():
        h = x
        with tapec.GradientTape() as tape:
            for w, b in params:
                h = np.tanh(h @ w + b)
            loss = np.sum(h * h)
        return loss, tape.gradient(loss, params[0][0])

    loss, by = step()
    w, move = params[0][0], np.zeros((4, 4))
    move[1, 2] = 1e-6
    w.assign_add(move)
    above = step()[0]
    w.assign_sub(2.0 * move)
    assert np.isclose(by[1, 2], (above - step()[0]) / 2e-6, rtol=1e-5)
