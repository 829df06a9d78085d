"""What the objects of a question mean in the program: the names of targets and sources.

What is complex is asked for as two real values, its parts: a target L as Re(w) Re(L) + Im(w) Im(L) for a weight w,
a source z by Re(z) and by Im(z).  Their gradients are those of the real and of the imaginary part of the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from tapec.errors import LoweringError
from tapec.syntax.core import Atom, Name
from tapec.tape.answers.object_names import atoms_of
from tapec.tape.derivatives.recomputed_values import followed
from tapec.tape.plan.tape_plan import AtomOrPair, TapePlan
from tapec_runtime.indexed_slices import IndexedSlices
from tapec_runtime.variables import Variable, plain

if TYPE_CHECKING:
    from tapec.tape.answers.recording import Recording


class TargetNames(NamedTuple):
    """A real number or array that is asked for.

    value   it, or the part of what is complex; `whole` is that, else None
    name    what the program calls it
    weight  the output gradient; None for ones
    """

    value: Any
    name: str
    weight: Any
    whole: Any = None


class SourceNames(NamedTuple):
    """A real number or array that the gradient is taken by: it, or the part of what is complex, and its names."""

    value: Any
    names: tuple[str, ...]


# targets


def targets_of(recording: Recording, target: Any, weight: Any) -> list[TargetNames]:
    """What the block computed of a target; nothing where it did not."""
    if not is_complex(target):
        name = target_name(recording, target)
        return [] if name is None else [TargetNames(target, name, weight)]
    meant = _meant_by(recording, target)
    if meant is None:
        return []
    if not isinstance(meant, tuple):
        _not_complex()
    weight = 1.0 + 0.0j if weight is None else plain(weight)
    found = []
    for atom, part in zip(meant, ("real", "imag"), strict=True):
        name = _float_name(recording.plan, atom)
        if name is not None:
            # a number stands for an array of it
            own = getattr(weight if isinstance(weight, np.ndarray | complex) else np.asarray(weight), part)
            found.append(TargetNames(_part(target, part), name, own, target))
    return found


def target_name(recording: Recording, target: Any) -> str | None:
    """The name of a float target; None for what the block did not compute."""
    # a real value that the program has as a complex one, since it is complex on another way: its real part
    atom = next(iter(atoms_of(_meant_by(recording, target))), None)
    return _float_name(recording.plan, atom)


def _meant_by(recording: Recording, target: Any) -> AtomOrPair | None:
    key, names, plan = id(target), recording.names, recording.plan
    if names.doubtful and key in names.doubtful:
        _ambiguous(target)
    if key not in names.of:
        if key in names.lost:
            _lost(plan, names.reasons.get(key, ""))
        if recording.unnamed:
            raise LoweringError(recording.unnamed, hint="bind it to a variable inside the block")
        return None
    return names.of[key]


def _float_name(plan: TapePlan, atom: Atom | None) -> str | None:
    if not isinstance(atom, Name) or not plan.types[atom.id].is_float or atom.id in plan.silent:
        return None
    if not plan.copies:
        return atom.id
    # seen from this tape: the copy that it watches, if it watches one
    seen = plan.known_as(atom.id)
    return seen if seen in plan.region.watched else atom.id


# sources


def sources_of(recording: Recording, source: Any) -> list[SourceNames]:
    """A source, or both its parts."""
    if not is_complex(source):
        return [SourceNames(source, source_names(recording, source))]
    plan, names, key = recording.plan, recording.names, id(source)
    meant = _meant(recording, source)
    if meant is not None and not isinstance(meant, tuple):
        _not_complex()
    if meant is not None and key in names.twins and not isinstance(source, Variable):
        raise LoweringError(
            "a complex source that has a part in common with another value",
            reason="the two are one value in the program, so that they cannot be told apart",
            hint="give it a value of its own, for example by adding zero",
        )
    atoms = atoms_of(meant)
    known = [atom for atom in atoms if isinstance(atom, Name)]
    if known and len(known) < len(atoms):
        raise LoweringError(
            "a complex source of which one part is a literal",
            reason="the program knows no input for it",
            hint="make it with tapec.constant",
        )
    found = []
    for place, part in enumerate(("real", "imag")):
        later = (names.again, names.again_imaginary)[place].get(key, ())
        versions = _names(plan, source, known[place].id, later) if known else ()
        found.append(SourceNames(_part(source, part), versions))
    return found


def source_names(recording: Recording, source: Any) -> tuple[str, ...]:
    """The names of a real source: one, or a variable's versions; none if it was not recorded."""
    plan, names, key = recording.plan, recording.names, id(source)
    atom = next(iter(atoms_of(_meant(recording, source))), None)
    if not isinstance(atom, Name):
        return ()
    if key in names.twins and plan.types[atom.id].is_float and not isinstance(source, Variable):
        raise LoweringError(
            f"a source that is a plain conversion of `{atom.id}`",
            reason="the two have one history in the program, so that they cannot be told apart",
            hint=f"ask for the gradient with respect to `{atom.id}`",
        )
    return _names(plan, source, atom.id, names.again.get(key, ()))


def _meant(recording: Recording, source: Any) -> AtomOrPair | None:
    plan, names, key = recording.plan, recording.names, id(source)
    if names.doubtful and key in names.doubtful:
        _ambiguous(source)
    atom = names.of.get(key)
    if atom is None and key in names.lost:
        _lost(plan, names.reasons.get(key, ""))
    return atom


def _names(plan: TapePlan, source: Any, name: str, later: Any) -> tuple[str, ...]:
    """All names of a source that was named first like this; `later` where a tape that is entered again reads it."""
    ready = plan.as_source.get(name)
    if ready is not None:
        return ready
    if not plan.types[name].is_float or name in plan.silent:
        return ()
    if isinstance(source, Variable):
        later_names = tuple(v for first in later for v in plan.versions_of(first))
        return followed(plan.versions_of(name) + later_names, plan.recomputed)
    plan.as_source[name] = found = followed((plan.known_as(name),), plan.recomputed)
    return found


# complex values


def is_complex(value: Any) -> bool:
    """Whether a number, array or variable is complex."""
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"


def _part(value: Any, part: str) -> Any:
    held = value._value if isinstance(value, Variable) else value
    return getattr(np.complex128(held) if type(held) is complex else held, part)


def joined(source: Any, found: list[Any]) -> Any:
    """The answer for a source, from those by what it is asked for as."""
    if len(found) == 1:
        return found[0]
    if all(one is None for one in found):
        return None
    dtype = source.dtype if hasattr(source, "dtype") else np.dtype(np.complex128)
    re, im = found
    if isinstance(re, float) and isinstance(im, float) and not isinstance(source, np.ndarray):
        return dtype.type(complex(re, im))
    slices = [one for one in found if isinstance(one, IndexedSlices)]
    if len(slices) == sum(one is not None for one in found):
        if len(slices) == 2 and np.array_equal(re.indices, im.indices):
            return IndexedSlices(joined(source, [re.values, im.values]), re.indices, re.dense_shape)
        # rows that are named twice add up
        values = [one.values * (1.0 if one is re else 1j) for one in slices]
        indices = np.concatenate([one.indices for one in slices])
        return IndexedSlices(np.concatenate(values).astype(dtype), indices, slices[0].dense_shape)
    re, im = (None if one is None else np.asarray(one) for one in found)
    made = np.zeros(re.shape if re is not None else im.shape, dtype)  # type: ignore[union-attr]
    if re is not None:
        made.real = re
    if im is not None:
        made.imag = im
    return made[()] if made.ndim == 0 and not isinstance(source, np.ndarray) else made


# what cannot be told


def _lost(plan: TapePlan, why: str) -> None:
    if why:
        raise LoweringError("a value that is computed from what only the run knows", reason=why)
    raise LoweringError(
        "a value that the block leaves in a place whose contents the program does not follow",
        reason=plan.undecided or "what stands there depends on a branch or loop, or on what only the run knows",
        hint="bind it to a variable on every way through the block",
    )


def _ambiguous(value: Any) -> None:
    raise LoweringError(
        f"the number {value!r} stands for several values in the tape's block",
        reason="Python shares equal floats, so that they cannot be told apart",
        hint="make it with tapec.constant",
    )


def _not_complex() -> NoReturn:
    raise LoweringError(
        "a complex value, where the program that was read from the block's source has a real one",
        hint="compute it before the tape and use the result inside",
    )
