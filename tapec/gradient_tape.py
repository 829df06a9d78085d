"""`GradientTape`: the contract of `tf.GradientTape` on plain NumPy values, in ordinary Python.

The block runs natively, once.  When it is entered, its source is lowered over the objects that are
alive at that moment (`tapec.tape`); a gradient compiles the derivative of what came out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import LoweringError, TapecError
from tapec.frontend.values import Value
from tapec.syntax.core import Atom, Const, Name
from tapec.tape.derive import Request, derive
from tapec.tape.live import snapshot
from tapec.tape.plan import Names, Plan, plan_for
from tapec.tape.region import Region, canonical, make_tape
from tapec.tape.run import Compiled, compiled, returned
from tapec_runtime.variables import UnconnectedGradients, Variable, active_tapes, plain


class GradientTape:
    """Records a block of ordinary code, for gradients of what it computes.

    persistent                whether `gradient` may be called more than once
    watch_accessed_variables  whether trainable variables are watched when they are read
    jit                       True or False to force or forbid compilation; by default small
                              derivatives run as Python the first time

    >>> x = constant(3.0)
    >>> with GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x)
    np.float64(6.0)
    """

    def __init__(
        self, persistent: bool = False, watch_accessed_variables: bool = True, jit: bool | None = None
    ) -> None:
        self.persistent = bool(persistent)
        self.automatic = bool(watch_accessed_variables)
        self._jit = jit
        self._recording = False
        self._paused = False
        self._entered = False
        self._used = False
        self._variables: dict[int, Variable] = {}
        self._plan: Plan | None = None
        self._error: TapecError | None = None
        self._inputs: dict[str, Any] = {}
        self._lists: tuple[Any, ...] = ()
        self._names: Names | None = None

    # how lowered code sees tapes

    @staticmethod
    def __tapec_lower__(ev: Any, args: Any, kwargs: Any, node: Any) -> Value:
        kwargs.pop("jit", None)
        return make_tape(ev, args, kwargs, node)

    def __tapec_tape__(self) -> Region | None:
        """What stands for this tape in a block that enters it; None once it was entered."""
        return None if self._entered else Region(self.persistent, self.automatic)

    # the context

    def __enter__(self) -> GradientTape:
        if self._recording:
            raise ValueError("this tape is recording already")
        frame = sys._getframe(1)
        if self._entered:
            self._forget()
            self._error = LoweringError(
                "this tape was entered a second time", hint="use a new tape for each block"
            )
        else:
            self._begin(frame)
        self._entered = self._recording = True
        active_tapes().append(self)
        return self

    def _begin(self, frame: Any) -> None:
        try:
            plan, objects, lists = plan_for(frame, self)
        except LoweringError as error:
            self._error = error
            return
        self._plan, self._lists = plan, lists
        names = self._names = Names()
        for leaf, obj in zip(plan.leaves, objects, strict=True):
            names.leaf(obj, leaf)
            self._inputs[leaf.name] = snapshot(obj)
        self._check_sharing(plan, objects)

    def _check_sharing(self, plan: Plan, objects: tuple[Any, ...]) -> None:
        """Arrays that are written must not share memory with others: the inputs are copies."""
        for leaf, obj in zip(plan.leaves, objects, strict=True):
            if leaf.name not in plan.written or not isinstance(obj, np.ndarray):
                continue
            for other in objects:
                if other is not obj and isinstance(other, np.ndarray) and np.may_share_memory(obj, other):
                    self._error = LoweringError(
                        f"`{leaf.name}` is written in place and shares memory with another array of the block",
                        hint="copy one of them before the tape",
                    )

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._recording = False
        tapes = active_tapes()
        if self in tapes:
            tapes.remove(self)
        if self._plan is None:
            return
        if kind is not None:
            self._error = self._error or LoweringError(
                f"the tape's block ended by {kind.__name__}", hint="gradients need a block that ends normally"
            )
            return
        self._harvest(sys._getframe(1))

    def _harvest(self, frame: Any) -> None:
        """Give every object that the block leaves behind its name in the residual program."""
        assert self._plan is not None and self._names is not None
        variables = frame.f_locals
        for name, value in self._plan.final.items():
            if name in variables:
                self._names.harvest(value, variables[name], self._plan.ev.heap)
        for obj, (_, contents) in zip(self._lists, self._plan.lists, strict=True):
            self._names.harvest(contents, obj, self._plan.ev.heap)

    # watching

    def watch(self, tensor: Any) -> None:
        """Watch a value, or every value in lists, tuples and dicts of them."""
        if not self._entered:
            raise RuntimeError("watch needs a tape that is recording")
        self._check_watched(tensor)

    def _check_watched(self, value: Any) -> None:
        if isinstance(value, list | tuple):
            for item in value:
                self._check_watched(item)
        elif isinstance(value, dict):
            for item in value.values():
                self._check_watched(item)
        elif isinstance(value, Variable):
            self._variables[value._serial] = value
        elif not isinstance(value, int | float | complex | np.ndarray | np.generic):
            raise ValueError(f"only numbers, arrays and variables can be watched, not {type(value).__name__}")

    def accessed(self, variable: Variable) -> None:
        """A variable was read in the block."""
        if self._recording and not self._paused and self.automatic and variable.trainable:
            self._variables[variable._serial] = variable

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables that are watched, in the order in which they were made."""
        return tuple(self._variables[key] for key in sorted(self._variables))

    def stop_recording(self) -> _Stopped:
        """A context whose values are constants for this tape."""
        if not self._recording:
            raise RuntimeError("stop_recording needs a tape that is recording")
        return _Stopped(self)

    def reset(self) -> None:
        """Make everything so far constant."""
        if not self._recording:
            raise RuntimeError("reset needs a tape that is recording")
        self._variables.clear()

    # gradients

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of the sum of `target` with respect to `sources`.

        target    a value, or a list, tuple or dict of values
        sources   a value or variable, or any nest of those
        returns   the structure of `sources`; each gradient has its source's shape and dtype, and is
                  None where the target does not depend on it
        raises    RuntimeError  while recording, or the second time on a tape that is not persistent
                  LoweringError where the block cannot be differentiated, with the line and a hint
        """
        if not self._entered:
            raise RuntimeError("gradient needs a tape that has recorded something")
        if self._recording:
            raise RuntimeError("gradient is for after the tape's block, not for inside it")
        if self._used and not self.persistent:
            raise RuntimeError("a tape that is not persistent gives one gradient; use persistent=True for more")
        policy = UnconnectedGradients(unconnected_gradients)
        targets = _flat(target, "target")
        if any(isinstance(one, Variable) for one in targets):
            raise ValueError("a variable cannot be a target; use a value computed from it")
        found = _flat(sources, "source")
        weights = _weights(output_gradients, targets)
        if self._error is not None:
            raise self._error
        result = self._differentiate(targets, found, weights, policy)
        self._used = True
        if not self.persistent:
            self._forget()
        return _rebuilt(sources, iter(result))

    def _differentiate(
        self, targets: list[Any], sources: list[Any], weights: list[Any], policy: UnconnectedGradients
    ) -> list[Any]:
        plan, names = self._plan, self._names
        assert plan is not None and names is not None
        pairs = [(one, self._target_name(one), weight) for one, weight in zip(targets, weights, strict=True)]
        pairs = [(one, atom, w) for one, atom, w in pairs if isinstance(atom, Name) and _is_float(plan, atom)]
        versions = tuple(self._source_names(source) for source in sources)
        atoms: tuple[Atom, ...] = tuple(atom for _, atom, _ in pairs)  # type: ignore[misc]
        program = _program(plan, atoms, versions)
        derivative = program.derivative
        if derivative.seeds:
            arguments = [self._input(name) for name in derivative.inputs]
            for zero, name in derivative.zeros:
                like = self._value_of(name)
                arguments.append(np.zeros(np.shape(like), plan.ev.types[name].dtype)  # type: ignore[union-attr]
                                 if np.ndim(like) else _scalar(0.0, plan.ev.types[name]))
            arguments += [
                _seed(weight, one, plan.ev.types[atom.id]) for one, atom, weight in pairs if isinstance(atom, Name)
            ]
            results = program(arguments, self._jit)
        else:
            results = ()
        first = returned(derivative.function) - len({p for ps in derivative.adjoints if ps for p in ps})
        for (one, atom, _), value in zip(pairs, results[:first], strict=False):
            _compare(one, value, atom)
        adjoints = results[first:]
        return [
            _gradient(source, positions, adjoints, policy)
            for source, positions in zip(sources, derivative.adjoints, strict=True)
        ]

    def _input(self, name: str) -> Any:
        plan = self._plan
        assert plan is not None
        if name not in self._inputs:
            return plan.ev.constants[name]
        value = self._inputs[name]
        # the derivative program writes where the block did
        return snapshot(value) if name in plan.written else value

    def _value_of(self, name: str) -> Any:
        """The object that a name stood for when the block ended."""
        assert self._names is not None
        plan = self._plan
        assert plan is not None
        for candidate, key in self._names.objects.items():
            if isinstance(candidate, Name) and _same_object(plan, candidate.id, name):
                return plain(self._names.held[key])
        for variable_versions, value in self._variable_values():
            if name in variable_versions:
                return value
        raise LoweringError(f"`{name}` is not held by a variable any more, so it cannot be a source")

    def _variable_values(self) -> list[tuple[list[str], Any]]:
        plan = self._plan
        assert plan is not None
        found = []
        for leaf in plan.leaves:
            for versions in plan.live.versions.values():
                if leaf.name == versions[0]:
                    found.append((versions, self._inputs[leaf.name]))
        return found

    def _target_name(self, target: Any) -> Atom | None:
        assert self._plan is not None and self._names is not None
        key = id(target)
        if key in self._names.doubtful:
            _ambiguous(target)
        if key in self._names.of:
            return self._names.of[key]
        if self._plan.escapes:
            raise LoweringError(
                "the target was handed out of the tape's block without a name",
                hint="bind it to a variable inside the block",
            )
        return None

    def _source_names(self, source: Any) -> tuple[str, ...]:
        """The names of a source: one, or a variable's versions; none if it was not recorded."""
        plan, names = self._plan, self._names
        assert plan is not None and names is not None
        if id(source) in names.doubtful:
            _ambiguous(source)
        atom = names.of.get(id(source))
        if atom is None or isinstance(atom, Const) or not _is_float(plan, atom):
            return ()
        if isinstance(source, Variable):
            for versions in plan.live.versions.values():
                if atom.id == versions[0]:
                    return tuple(versions)
        if id(source) in names.twins:
            raise LoweringError(
                f"a source that is a plain conversion of `{atom.id}`",
                reason="the two have one history in the program, so that they cannot be told apart",
                hint=f"ask for the gradient with respect to `{atom.id}`",
            )
        return (canonical(plan.ev, atom.id, plan.region.watched),)

    def _forget(self) -> None:
        """Release everything that was held for gradients."""
        self._plan, self._names, self._inputs, self._lists = None, None, {}, ()


class _Stopped:
    """The context of `stop_recording`; `gradient` may be asked for inside."""

    def __init__(self, tape: GradientTape) -> None:
        self.tape = tape

    def __enter__(self) -> None:
        self.tape._paused = True

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.tape._paused = False


def _ambiguous(value: Any) -> None:
    raise LoweringError(
        f"the number {value!r} has several meanings in the tape's block",
        reason="Python shares equal floats, so that they cannot be told apart",
        hint="make it with tapec.constant",
    )


def _program(plan: Plan, targets: tuple[Atom, ...], sources: tuple[tuple[str, ...], ...]) -> Compiled:
    key = (targets, sources)
    program = plan.compiled.get(key)
    if program is None:
        request = Request(
            plan.block,
            plan.ev.types,
            frozenset(plan.ev.constants),
            targets,
            sources,
            frozenset(plan.region.watched),
            frozenset(plan.region.stopped),
        )
        try:
            made = derive(request)
        except LoweringError:
            raise
        except TapecError as error:
            raise LoweringError(error.message, error.span, error.reason, error.hint) from error
        program = plan.compiled[key] = compiled(made, plan.ev.constants, "")
    return program


def _same_object(plan: Plan, first: str, second: str) -> bool:
    return canonical(plan.ev, first, {}) == canonical(plan.ev, second, {})


def _is_float(plan: Plan, atom: Name) -> bool:
    return bool(plan.ev.types[atom.id].is_float)


def _flat(value: Any, what: str) -> list[Any]:
    """The leaves of nested lists, tuples and dicts."""
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _flat(item, what)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _flat(item, what)]
    if not isinstance(value, int | float | complex | np.ndarray | np.generic | Variable):
        raise TypeError(f"a {what} must be a number, an array or a variable, not {type(value).__name__}")
    return [value]


def _rebuilt(structure: Any, leaves: Any) -> Any:
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_rebuilt(item, leaves) for item in structure))
    if isinstance(structure, list | tuple):
        return type(structure)(_rebuilt(item, leaves) for item in structure)
    if isinstance(structure, dict):
        return {key: _rebuilt(item, leaves) for key, item in structure.items()}
    return next(leaves)


def _weights(given: Any, targets: list[Any]) -> list[Any]:
    if given is None:
        return [None] * len(targets)
    found = _flat(given, "output gradient") if not isinstance(given, list | tuple) else [
        leaf for item in given for leaf in ([None] if item is None else _flat(item, "output gradient"))
    ]
    if len(found) != len(targets):
        raise ValueError(f"{len(found)} output gradients for {len(targets)} targets")
    for weight, target in zip(found, targets, strict=True):
        if weight is not None and np.shape(weight) != np.shape(target):
            raise ValueError(f"an output gradient of shape {np.shape(weight)} for a target of {np.shape(target)}")
    return found


def _scalar(value: float, type_: Any) -> Any:
    return np.float32(value) if type_.dtype == "float32" else float(value)


def _seed(weight: Any, target: Any, type_: Any) -> Any:
    """The adjoint that a target starts with."""
    weight = plain(weight)
    if np.ndim(target) == 0 and not isinstance(target, np.ndarray):
        return _scalar(1.0 if weight is None else weight, type_)
    made = np.empty(np.shape(target), type_.dtype, order="F" if type_.layout == "F" else "C")
    made[...] = 1.0 if weight is None else weight
    return made


def _compare(target: Any, value: Any, atom: Any) -> None:
    """The program must give what the block gave: the safety net for what lowering cannot see."""
    ours, theirs = np.asarray(value), np.asarray(plain(target))
    if ours.shape != theirs.shape:
        _differs(atom)
    single = "float32" in (str(ours.dtype), str(theirs.dtype))
    tolerance = 1e-3 if single else 1e-7
    scale = max(float(np.max(np.abs(theirs), initial=0.0, where=np.isfinite(theirs))), 1e-300)
    if not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        _differs(atom)


def _differs(atom: Any) -> None:
    raise LoweringError(
        f"the target `{atom.id}` has another value than the program read from the block's source",
        reason="the block depends on something that the source does not show: time, threads, replaced functions",
        hint="compute it before the tape and use the result inside",
    )


def _gradient(
    source: Any, positions: tuple[int, ...] | None, adjoints: tuple[Any, ...], policy: UnconnectedGradients
) -> Any:
    """One entry of the answer, with the source's shape and dtype."""
    dtype = source.dtype if isinstance(source, Variable | np.ndarray | np.generic) else np.dtype(np.float64)
    if positions is None:
        if policy is UnconnectedGradients.NONE:
            return None
        made = np.zeros(np.shape(source) if not isinstance(source, Variable) else source.shape, dtype)
        return made[()] if made.ndim == 0 and not isinstance(source, np.ndarray) else made
    total = adjoints[positions[0]]
    for position in positions[1:]:
        total = total + adjoints[position]
    made = np.asarray(total, dtype=dtype)
    return made[()] if made.ndim == 0 and not isinstance(source, np.ndarray) else made


__all__ = ["Callable", "GradientTape"]
