"""`debug_nans`: derivatives that are called inside test their values, as with `debug="nan"`.

Nothing is paid outside: inside, the classes of derivatives have another `__call__`, which calls the derivative that
the option makes.  It is made once for each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tapec import options
from tapec.on_demand import CALLS, load
from tapec.options import Options, with_tests

# halves of a sweep belong together: `vjp` makes both, with the option that it finds
_HALVES = ("augmented", "pullback")
_lock = threading.Lock()
# the classes whose `__call__` is another one, with what undoes that
_changed: list[Callable[[], None]] = []


@contextmanager
def debug_nans() -> Iterator[None]:
    """Inside, the first value of a derivative that is nan or infinite raises an error that says where it began.

    raises  tapec_runtime.NonFiniteValue, a FloatingPointError: the operation, its operands, and the user's lines

    What is called or made inside is as with the option `debug="nan"`: derivatives, compiled functions and tapes, in all
    threads.  Jitted code that was compiled before goes on calling what it called.

    >>> import numpy as np
    >>> from tapec import debug_nans, grad
    >>> slope = grad(lambda x: np.log(x - 1.0))
    >>> slope(1.0)
    inf
    >>> with debug_nans():
    ...     slope(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tapec_runtime.non_finite.NonFiniteValue: -inf comes out of `np.log(x - 1.0)`, where x - 1.0 = 0.0
    ...
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    load(*CALLS)
    from tapec.backend.dispatcher import ClassAware, Derivative, Retrying
    from tapec.backend.interpreted import Interpreted
    from tapec.tape.compiled_functions.compiled_function import CompiledFunction

    with _lock:
        options.contexts += 1
        if options.contexts == 1:
            for cls in (Derivative, Retrying, ClassAware, Interpreted):
                _change(cls, _derivative_with_tests)
            _change(CompiledFunction, _function_with_tests)


def _leave() -> None:
    with _lock:
        options.contexts -= 1
        if not options.contexts:
            while _changed:
                _changed.pop()()


def _change(cls: Any, twin: Callable[[Any], Any]) -> None:
    """Have the objects of a class call their twins, where they have some."""
    own, call = vars(cls).get("__call__"), cls.__call__

    def tested(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = twin(self)
        return call(self, *args, **kwargs) if made is None else made(*args, **kwargs)

    def undo() -> None:
        if own is None:
            del cls.__call__
        else:
            cls.__call__ = own

    cls.__call__ = tested
    _changed.append(undo)


def _derivative_with_tests(derivative: Any) -> Any:
    """The derivative with the option; None for one that has it, or cannot have it by itself."""
    request = derivative._request
    if request is None or request.options.debug or request.kind in _HALVES:
        return None
    if "_with_tests" not in vars(derivative):
        maker, *args = derivative._recipe
        changed = [with_tests(one) if isinstance(one, Options) else one for one in args]
        derivative._with_tests = maker(*changed) if changed != args else None
    return vars(derivative)["_with_tests"]


def _function_with_tests(function: Any) -> Any:
    if function.options.debug:
        return None
    if "_with_tests" not in vars(function):
        function._with_tests = type(function)(function.py_func, with_tests(function.options))
    return vars(function)["_with_tests"]
