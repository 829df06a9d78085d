"""Generated functions that answer a gradient like one that was asked for before.

A block in a loop is asked the same question in every iteration: the gradient of the value that it left
under this name, by these inputs.  Where every object of the block is one value (`object_collectors.py`),
one comparison by identity per target and source tells that the question is the same.  Then its
answer is one call of the compiled derivative, and straight code around it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.syntax.core import Name
from tapec.syntax.types import Array, Scalar
from tapec.tape.answers.gradients import GradientCall, Shaped, agree, ones_for, request_of
from tapec.tape.answers.targets_and_sources import source_names, target_name
from tapec.tape.derivatives.connectivity import settled
from tapec.tape.objects.snapshots import snapshot
from tapec_runtime.variables import Variable

if TYPE_CHECKING:
    from tapec.tape.answers.recording import Recording
    from tapec.tape.plan.tape_plan import TapePlan

# what an answer gives for another question
ANOTHER = object()
# questions per plan; a loop asks one, a persistent tape a few
ANSWERS_PER_PLAN = 8
_KINDS = (float, np.float64, np.float32, np.ndarray, Variable)


class _Unknown(Exception):
    """The question is of a kind that is answered the general way."""


def known_answer(recording: Recording, target: Any, sources: Any) -> Any:
    """The answer to a question that was asked of an earlier run of the block; ANOTHER if it is a new one."""
    for answer in recording.plan.answers:
        found = answer(target, sources, recording.objects, recording.values, recording.left)
        if found is not ANOTHER:
            return found
    return ANOTHER


def learn(recording: Recording, target: Any, sources: Any, jit: bool | None) -> None:
    """Keep an answer to a question that was just answered, if it can be one."""
    plan = recording.plan
    if recording.left is None or len(plan.answers) + plan.unknown >= ANSWERS_PER_PLAN:
        return
    try:
        made = _AnswerText(recording, target, sources)
    except _Unknown:
        plan.unknown += 1
        return
    program = made.call.program
    run = program.without_jit if jit is False else program.jitted
    waits = run is None and program.waits
    if waits:
        run = program.python_first
    if run is not None:
        answer = made.function(run)
        # the latest first: it is the one most likely to be asked again
        plan.answers = (answer, *plan.answers)
        if waits:
            program.followers.append(partial(_forget, plan, answer))


def _forget(plan: TapePlan, answer: Any) -> None:
    """Let go of an answer, since machine code will give the next one."""
    plan.answers = tuple(one for one in plan.answers if one is not answer)


class _AnswerText:
    """Lines under construction.

    The function takes target and sources as the user gives them, the objects that were inputs of the
    block (`o0`, ...), their values (`i0`, ...), and what the block left (`l0`, ...).
    """

    def __init__(self, recording: Recording, target: Any, sources: Any) -> None:
        self.recording, self.plan = recording, recording.plan
        self.namespace: dict[str, Any] = {"ANOTHER": ANOTHER, "agree": agree}
        self.lines: list[str] = []
        self.places = {id(obj): f"l{k}" for k, obj in enumerate(recording.left or ())}
        # what is an input is found there: its type has been checked when the block was entered
        self.places.update((id(obj), f"o{k}") for k, obj in enumerate(recording.objects))
        self.found: list[tuple[str, Any]] = []
        self._leaves(target, "target")
        self.targets, self.found = self.found, []
        self.answer = self._leaves(sources, "sources")
        self.sources = self.found
        self.call = self._call()

    def constant(self, obj: Any) -> str:
        name = f"c{len(self.namespace)}"
        self.namespace[name] = obj
        return name

    def needs(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return ANOTHER")

    # the question

    def _leaves(self, value: Any, text: str) -> str:
        """The lines that take a nest apart; what builds the same nest of answers, `{k}` for the kth."""
        kind = type(value)
        if kind in (list, tuple):
            names = [f"{text}_{k}" for k in range(len(value))]
            self.needs(f"type({text}) is {kind.__name__} and len({text}) == {len(value)}")
            if names:
                self.lines.append(f"{', '.join(names)}, = {text}")
            inner = ", ".join(self._leaves(item, name) for item, name in zip(value, names, strict=True))
            return f"[{inner}]" if kind is list else f"({inner}{',' if len(value) == 1 else ''})"
        if kind is dict:
            keys = self.constant(list(value))
            names = [f"{text}_{k}" for k in range(len(value))]
            self.needs(f"type({text}) is dict and list({text}) == {keys}")
            if names:
                self.lines.append(f"{', '.join(names)}, = {text}.values()")
            inner = ", ".join(
                f"{self.constant(key)}: {self._leaves(item, name)}"
                for (key, item), name in zip(value.items(), names, strict=True)
            )
            return f"{{{{{inner}}}}}"
        if kind not in _KINDS or (kind in (np.ndarray, Variable) and value.dtype.kind == "c"):
            raise _Unknown
        self._same(value, text)
        self.found.append((text, value))
        return f"{{{len(self.found) - 1}}}"

    def _same(self, value: Any, text: str) -> None:
        """The lines that tell that `text` is the object it was, as far as names go."""
        place = self.places.get(id(value))
        if place is None:
            # not of the block: then nothing depends on it
            self.needs(f"type({text}) is {self.constant(type(value))} and id({text}) not in known")
            return
        self.needs(f"{text} is {place}")
        if place.startswith("l"):
            # what the block made is of the kind that it was
            self.needs(f"type({text}) is {self.constant(type(value))}")
            if isinstance(value, np.ndarray):
                self.needs(f"{text}.dtype == {self.constant(value.dtype)}")
            elif isinstance(value, Variable):
                raise _Unknown

    def _call(self) -> GradientCall:
        recording = self.recording
        atoms = [(text, one, target_name(recording, one)) for text, one in self.targets]
        self.pairs = [(text, one, atom) for text, one, atom in atoms if atom is not None]
        versions = tuple(source_names(recording, one) for _, one in self.sources)
        names = tuple(atom for _, _, atom in self.pairs)
        call = self.plan.calls.get((names, versions, "gradient"))
        if call is None:
            # the way that the block goes has a say
            raise _Unknown
        self.settled = settled(request_of(self.plan, names, versions))
        return call

    # the answer

    def function(self, program: Any) -> Any:
        """The function of the question and its answer, which `program` computes."""
        call, plan = self.call, self.plan
        values = [f"value_{k}" for k in range(call.first)]
        count = len({place for places in call.adjoints for place in places or ()})
        adjoints = [f"bar_{k}" for k in range(count)]
        if count:
            arguments = [*map(self._input, call.inputs), *map(self._zero, call.zeros)]
            arguments += [self._seed(text, one, atom) for text, one, atom in self.pairs]
            self.lines.append(f"{', '.join([*values, *adjoints])} = {self.constant(program)}({', '.join(arguments)})")
        for (text, one, _), value in zip(self.pairs, values, strict=False):
            # equal numbers need no second look; of others it is asked why they differ
            differ = "" if isinstance(one, np.ndarray) else f"{value} != {text} and "
            self.lines.append(f"if {differ}not agree({text}, {value}): return ANOTHER")
        entries = []
        for (_, one), places in zip(self.sources, call.adjoints, strict=True):
            if places is None:
                entries.append("None")
                continue
            if not self.settled:
                self._connected(places, adjoints)
            entries.append(self._entry(one, " + ".join(adjoints[place] for place in places)))
        body = []
        for prefix, tuple_name, size in (
            ("o", "objects", len(plan.leaves)), ("i", "inputs", len(plan.leaves)),
            ("l", "left", len(self.recording.left or ())),
        ):  # fmt: skip
            names = [f"{prefix}{k}" for k in range(size)]
            if names:
                body.append(f"{', '.join(names)}, = {tuple_name}")
        if any("known" in line for line in self.lines):
            body.append("known = {*map(id, objects), *map(id, left)}")
        body += [*self.lines, f"return {self.answer.format(*entries)}"]
        text = "\n    ".join(["def answer(target, sources, objects, inputs, left):", *body]) + "\n"
        exec(compile(text, "<tapec answer>", "exec"), self.namespace)
        return self.namespace["answer"]

    def _input(self, name: str) -> str:
        plan = self.plan
        if name not in plan.leaf_names:
            return self.constant(plan.constants[name])
        text = f"i{plan.leaf_names.index(name)}"
        # the derivative program writes where the block did
        if name in plan.written:
            self.namespace["snapshot"] = snapshot
            return f"snapshot({text})"
        return text

    def _zero(self, zero: Any) -> str:
        if not isinstance(zero, Shaped):
            return self.constant(zero)
        self.namespace["zeros"] = np.zeros
        return f"zeros({self.sources[zero.source][0]}.shape, {zero.dtype!r})"

    def _seed(self, text: str, target: Any, atom: str) -> str:
        type_ = self.plan.types[atom]
        # a 0-d array may be a number of the program
        if isinstance(target, np.ndarray) and isinstance(type_, Array):
            self.namespace["ones_for"] = ones_for
            return f"ones_for({text}, {self.constant(type_)})"
        assert isinstance(type_, Scalar)
        return self.constant(np.float32(1.0) if type_.dtype == "float32" else 1.0)

    def _connected(self, places: tuple[int, ...], adjoints: list[str]) -> None:
        """A gradient of nothing but zeros may be None: that is found out the general way."""
        derivative = self.call.program.derivative
        atoms: Any = derivative.function.results[self.call.first :]
        if derivative.packing is not None:
            atoms = [Name(source) for source in derivative.packing.sources]
        some = []
        for place in places:
            atom = atoms[place]
            type_ = self.plan.types.get(atom.id) if isinstance(atom, Name) else None
            type_ = derivative.function.types.get(atom.id, type_) if isinstance(atom, Name) else None
            some.append(f"{adjoints[place]}.any()" if isinstance(type_, Array) else f"{adjoints[place]} != 0.0")
        self.needs(" or ".join(some))

    def _entry(self, source: Any, total: str) -> str:
        """A gradient in the form of its source."""
        if isinstance(source, np.ndarray) or (isinstance(source, Variable) and source.shape):
            self.namespace["asarray"] = np.asarray
            return f"asarray({total}, {self.constant(source.dtype)})"
        dtype = np.dtype(np.float64) if type(source) is float else source.dtype
        return f"{self.constant(dtype.type)}({total})"
