"""Complex numbers at the boundary of a generated function: taken apart on the way in, put together on the way out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Pair:
    """The names of the parts of one complex number or array."""

    re: str
    im: str

    @property
    def whole(self) -> str:
        """What the number itself is called: otherwise than its parts."""
        found = self.re.removesuffix("_re") if self.re.endswith("_re") else self.re.replace("_re_", "_")
        return found if found != self.re else f"{self.re}_whole"

    def taken_apart(self, label: str) -> list[str]:
        """The statements that name the parts of `label`; those of an array are views."""
        return [f"{self.re} = {label}.real", f"{self.im} = {label}.imag"]


def put_together(dtype: str, is_array: bool, re: str, im: str) -> str:
    """The text of a complex number or array of two texts."""
    if is_array:
        return f"tapec_runtime.{'complex_array' if dtype == 'complex128' else 'complex64_array'}({re}, {im})"
    return f"complex({re}, {im})" if dtype == "complex128" else f"np.complex64(complex({re}, {im}))"


def grouped(names: tuple[str, ...], pairs: Iterable[tuple[int, int]], taken: Iterable[str]) -> tuple[Any, list[str]]:
    """Parameters with one in the place of each pair, and the statements that take those apart.

    pairs  positions of names that are the parts of one number
    taken  names that the function has otherwise
    """
    known = {*taken, *names}
    second = dict(pairs)
    labels: list[str] = []
    statements: list[str] = []
    for position, name in enumerate(names):
        if position in second:
            pair = Pair(name, names[second[position]])
            label = pair.whole
            while label in known:
                label += "_"
            known.add(label)
            labels.append(label)
            statements += pair.taken_apart(label)
        elif position not in second.values():
            labels.append(name)
    return tuple(labels), statements
