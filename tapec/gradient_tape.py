"""`GradientTape`: the contract of `tf.GradientTape` on plain NumPy values, in ordinary Python.

The block runs natively, once.  When it is entered, its source is lowered over the objects that are
alive at that moment (`tapec.tape`); a gradient compiles the derivative of what came out.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from tapec.errors import LoweringError
from tapec.on_demand import load
from tapec.options import DEFAULT, Keywords, chosen, no_limit
from tapec.structure import NUMBERS, check_target, flat, is_sparse, rebuilt, weights_of
from tapec_runtime.variables import UnconnectedGradients, Variable, active

if TYPE_CHECKING:
    from tapec.tape.answers.recording import Recording


_machinery: Any = None


def _load() -> None:
    """The compiler, imported when a tape is entered for the first time."""
    global _machinery
    load(*(f"tapec.tape.answers.{name}" for name in ("gradients", "known_answers", "recording", "text_identity")))
    from tapec.tape.answers.gradients import differentiate
    from tapec.tape.answers.known_answers import ANOTHER, known_answer, learn
    from tapec.tape.answers.recording import Recording
    from tapec.tape.answers.text_identity import told_by_text
    from tapec.tape.block.with_statement import asked_at

    _machinery = types.SimpleNamespace(
        Recording=Recording,
        differentiate=differentiate,
        known_answer=known_answer,
        learn=learn,
        told_by_text=told_by_text,
        asked_at=asked_at,
        ANOTHER=ANOTHER,
    )


_ONE_ANSWER = "a tape that is not persistent gives one gradient; use persistent=True for more"


class GradientTape:
    """Records a block of ordinary code, for gradients of what it computes.

    persistent                whether `gradient` may be called more than once
    watch_accessed_variables  whether trainable variables are watched when they are read
    jit                       True or False to force or forbid compilation; by default derivatives
                              run as Python until compilation pays
    options                   as for `tapec.grad`, but for memory
    raises                    UsageError for other options, or other values of those

    >>> x = constant(3.0)
    >>> with GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x)
    np.float64(6.0)
    """

    def __init__(
        self,
        persistent: bool = False,
        watch_accessed_variables: bool = True,
        jit: bool | None = None,
        **options: Unpack[Keywords],
    ) -> None:
        self.persistent = bool(persistent)
        self.automatic = bool(watch_accessed_variables)
        self._jit = jit
        self.options = no_limit(chosen(options), "a tape")
        # what a plan and its compiled derivatives depend on
        flags = self.persistent + 2 * self.automatic + 4 * (jit is False)
        self.kind = flags if self.options is DEFAULT else (flags, self.options)
        self._recording = False
        self._paused = False
        self._entered = False
        # taken by the answer of a tape that gives one, whatever thread asks
        self._right_to_answer: list[None] = [None]
        self._variables: dict[int, Variable] = {}
        self._error: LoweringError | None = None
        self._record: Recording | None = None
        self._earlier: Recording | None = None

    # how lowered code sees tapes

    @staticmethod
    def __tapec_lower__(ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.tape.block.tape_region import make_tape

        return make_tape(ev, GradientTape, args, kwargs, node)

    def __tapec_tape__(self) -> Any:
        """What stands for this tape in a block that enters it; None once it was entered."""
        from tapec.tape.block.tape_region import TapeRegion

        return None if self._entered else TapeRegion(self.persistent, self.automatic, GradientTape)

    def known_values(self) -> frozenset[int]:
        """The objects that depend on watched ones, where the tape is entered again."""
        return frozenset() if self._earlier is None else self._earlier.tracked()

    # the context

    def __enter__(self) -> GradientTape:
        if self._recording:
            raise ValueError("this tape is recording already")
        if _machinery is None:
            _load()
        self._earlier, self._record = self._record, None
        if self._error is None:
            try:
                self._record = _machinery.Recording(sys._getframe(1), self, self._earlier)
            except Exception as error:  # noqa: BLE001
                # asked for by gradient(); the block itself runs in any case
                self._error = _kept(error)
        self._earlier = None
        self._entered = self._recording = True
        active.tapes.append(self)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._recording = False
        tapes = active.tapes
        if tapes and tapes[-1] is self:
            tapes.pop()
        elif self in tapes:
            tapes.remove(self)
        if self._record is None:
            return
        try:
            if error is None:
                self._record.name_left_objects(sys._getframe(1))
            else:
                self._record.broken(sys._getframe(1), trace, error)
        except Exception as unknown:  # noqa: BLE001
            self._error = _kept(unknown)

    # watching

    def watch(self, tensor: Any) -> None:
        """Watch a value, or every value in lists, tuples and dicts of them."""
        if not self._entered:
            raise RuntimeError("watch needs a tape that is recording")
        self._check_watched(tensor)

    def _check_watched(self, value: Any) -> None:
        if type(value) in NUMBERS:
            return
        if isinstance(value, list | tuple):
            for item in value:
                self._check_watched(item)
        elif isinstance(value, dict):
            for item in value.values():
                self._check_watched(item)
        elif isinstance(value, Variable):
            self._variables[value._serial] = value
        elif not isinstance(value, int | float | complex | np.ndarray | np.generic) and not is_sparse(value):
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
        *,
        indexed_slices: bool = False,
    ) -> Any:
        """The gradient of the sum of `target` with respect to `sources`.

        target    a value, or a list, tuple or dict of values
        sources   a value or variable, or any nest of those
        indexed_slices  True for `IndexedSlices` where of an array or variable nothing but rows is used,
                  outside of loops and branches, by `table[indices]` or `np.take(table, indices, axis=0)`;
                  no array of the table's shape is made then
        returns   the structure of `sources`; each gradient has its source's shape and dtype, and is
                  None where the target does not depend on it.  By a complex source it is
                  dL/dRe + i dL/dIm, where L is the real part of the target's sum
        raises    RuntimeError  while recording, or the second time on a tape that is not persistent
                  LoweringError where the block cannot be differentiated, with the line and a hint
        """
        plainly = output_gradients is None and unconnected_gradients is UnconnectedGradients.NONE
        record = self._record if plainly and not indexed_slices and not self._recording else None
        # the same may have been asked of an earlier run of the block
        again = record is not None and record.left is not None
        if again:
            try:
                answer = _machinery.known_answer(record, target, sources)
            except LoweringError as error:
                raise _placed(error, sys._getframe(1)) from error.__cause__
            if answer is not _machinery.ANOTHER:
                self._done()
                return answer
        self._check_answers()
        policy = unconnected_gradients
        if policy is not UnconnectedGradients.NONE:
            policy = UnconnectedGradients(unconnected_gradients)
        targets = flat(target, "target")
        if any(isinstance(one, Variable) for one in targets):
            raise ValueError("a variable cannot be a target; use a value computed from it")
        found = flat(sources, "source")
        weights = weights_of(output_gradients, targets)
        asked = target, sources
        gradients = self._answer(sys._getframe(1), asked, targets, found, weights, policy, rows=indexed_slices)
        if again:
            _machinery.learn(record, target, sources, self._jit)
        return rebuilt(sources, iter(gradients))

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivatives of every element of `target` by every element of `sources`.

        target                 one number or array
        sources                a value or variable, or any nest of those
        unconnected_gradients  as for `gradient`
        parallel_iterations    how many rows may be computed at once, for the memory that they take; they are computed
                               one after the other, in the memory of one
        experimental_use_pfor  False needs a persistent tape, as in TensorFlow
        returns                the structure of `sources`; each entry has the target's shape followed by
                               its source's, and the source's dtype, or is None
        raises                 as `gradient`; TypeError for several targets

        >>> x = constant([1.0, 2.0])
        >>> with GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.jacobian(y, x)
        array([[2., 0.],
               [0., 4.]])
        """
        self._check_answers()
        self._check_rows(parallel_iterations, experimental_use_pfor)
        policy = UnconnectedGradients(unconnected_gradients)
        check_target(target)
        found = flat(sources, "source")
        result = self._answer(sys._getframe(1), (target, sources), [target], found, [None], policy, "jacobian")
        return rebuilt(sources, iter(result))

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobians of the examples of a batch: of the full Jacobian, the blocks on its diagonal.

        target, source  arrays of rank 2 or more with the same first dimension, that of the batch
        parallel_iterations  as for `jacobian`, of rows of each example's Jacobian
        returns         an array of shape (batch, target's rest, source's rest); zeros where the
                        target does not depend on the source
        raises          as `jacobian`; ValueError for shapes that do not fit

        Where the source shows that the examples do not depend on one another, one reverse sweep serves all of
        them, and there are as many as one example of the target has elements, or one forward sweep for each element
        of an example of the source, whichever is less work.  Otherwise every example has sweeps of its own.

        >>> x = constant([[1.0, 2.0], [3.0, 4.0]])
        >>> with GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.batch_jacobian(y, x)
        array([[[2., 0.],
                [0., 4.]],
        <BLANKLINE>
               [[6., 0.],
                [0., 8.]]])
        """
        self._check_answers()
        self._check_rows(parallel_iterations, experimental_use_pfor)
        UnconnectedGradients(unconnected_gradients)
        check_target(target)
        if isinstance(source, list | tuple | dict):
            raise TypeError("batch_jacobian takes one source")
        (found,) = flat(source, "source")
        of, by = np.shape(target), source.shape if isinstance(source, Variable) else np.shape(source)
        if len(of) < 2 or len(by) < 2 or of[0] != by[0]:
            raise ValueError(
                f"batch_jacobian of shapes {of} and {by}: it needs two arrays of rank 2 or more with the same first"
                " dimension"
            )
        zero = UnconnectedGradients.ZERO
        (result,) = self._answer(sys._getframe(1), (target, source), [target], [found], [None], zero, "batch")
        # an unconnected one comes with the shapes of both
        return result if result.ndim < len(of) + len(by) else np.zeros((*of, *by[1:]), result.dtype)

    def explain(self, target: Any, source: Any) -> str:
        """Why the gradient of `target` with respect to `source` is what it is, in words.

        target, source  one value each
        returns         whether they are connected; if not, the statement that cuts the path, with
                        file and line: a value that is not watched, an integer, recording that was
                        stopped, work done before the watch, a value made outside the block.  Of a
                        gradient that is zero, the lines whose derivatives are zero; of one that is
                        not finite, where the first such value appears.  For that the derivative runs
        raises          RuntimeError if the tape holds no record: before its block, or after the
                        gradient of a tape that is not persistent

        >>> x = constant(3.0)
        >>> with GradientTape(persistent=True) as tape:
        ...     y = x * x
        >>> tape.explain(y, x).startswith("not connected: the source is not watched")
        True
        """
        if self._error is not None:
            return str(self._error)
        if self._record is None or self._recording:
            raise RuntimeError("explain needs a tape that holds the record of its block")
        load("tapec.tape.answers.explain_none")
        from tapec.tape.answers.explain_none import explain

        return explain(self._record, target, source)

    def _check_answers(self) -> None:
        """Whether the tape answers questions now."""
        if not self._entered:
            raise RuntimeError("gradient needs a tape that has recorded something")
        if self._recording and not self._paused:
            raise RuntimeError("gradient is for after the tape's block, not for inside it")
        if not self._right_to_answer:
            raise RuntimeError(_ONE_ANSWER)

    def _check_rows(self, parallel_iterations: Any, experimental_use_pfor: Any) -> None:
        if parallel_iterations is not None and int(parallel_iterations) < 1:
            raise ValueError("parallel_iterations must be at least 1")
        if not experimental_use_pfor and not self.persistent:
            raise RuntimeError("experimental_use_pfor=False needs a persistent tape")

    def _answer(
        self,
        frame: Any,
        asked: tuple[Any, Any],
        targets: list[Any],
        sources: list[Any],
        weights: list[Any],
        policy: UnconnectedGradients,
        kind: str = "gradient",
        rows: bool = False,
    ) -> list[Any]:
        """The derivatives, for a caller's frame; a tape that is not persistent is then used up."""
        if self._error is not None:
            raise _placed(self._error, frame) from self._error.__cause__
        try:
            record = self._record
            if record is None:
                # another thread was answered meanwhile
                raise RuntimeError(_ONE_ANSWER)
            record = record.paused(frame) if self._recording else record
            if record.names.doubtful:
                targets = _machinery.told_by_text(record, frame, asked[0], targets, 0)
                sources = _machinery.told_by_text(record, frame, asked[1], sources, 1)
            result = _machinery.differentiate(record, targets, sources, weights, policy, self._jit, kind, rows)
        except LoweringError as error:
            raise _placed(error, frame) from error.__cause__
        self._done()
        return result

    def _done(self) -> None:
        """A tape that is not persistent is used up by an answer."""
        if self.persistent:
            return
        try:
            self._right_to_answer.pop()
        except IndexError:
            raise RuntimeError(_ONE_ANSWER) from None
        self._record = None


def _kept(error: Exception) -> LoweringError:
    """An error without the frames that it passed through: those hold what the tape's block held, and the tape."""
    if not isinstance(error, LoweringError):
        # what went wrong is ours, not the block's
        return LoweringError("the tape's block cannot be lowered", reason=f"{type(error).__name__}: {error}")
    made = LoweringError(error.message, error.span, error.reason, error.hint)
    made.__cause__ = error.__cause__
    return made


def _placed(error: LoweringError, frame: Any) -> LoweringError:
    """The error of a question: it names a line, that of the question if no other."""
    return LoweringError(error.message, error.span or _machinery.asked_at(frame), error.reason, error.hint)


class _Stopped:
    """The context of `stop_recording`; `gradient` may be asked for inside."""

    def __init__(self, tape: GradientTape) -> None:
        self.tape = tape

    def __enter__(self) -> None:
        self.tape._paused = True

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.tape._paused = False
