"""What a user can ask of a compilation; every field that changes the program is part of the cache key."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal, TypedDict

from tapec.errors import UnknownKeyword, UsageError

LEVELS = (0, 1, 2)
# the level of source that people read and keep: docs/design/0003-speed.md says why
FILE_LEVEL: Literal[1] = 1
MATH = ("fast", "libm")
# the kinds of derivatives of which a function may return something beside what is differentiated
WITH_AUX = ("grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian", "hvp")
# whether the environment asks Numba for checks of bounds in all code
_CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "").strip() not in ("", "0")


@dataclass(frozen=True)
class Options:
    """Options of a derivative.

    level   0: as differentiated; 1: cleaned up, in the user's shape and order; 2: made fast, too
    quote   whether generated source quotes the user's lines
    math    "fast": elementary functions in loops are the runtime's, within 2 units in the last place,
            so that LLVM can vectorise the loops; "libm": they are the C library's
    strict  every operation in the order of the source, and of the textbook adjoint, to the last bit:
            no sum is reassociated, no product contracted, and elementary functions are the C library's
    boundscheck  an index out of range raises IndexError, instead of reading foreign memory; nothing runs on threads;
                 by default as `NUMBA_BOUNDSCHECK` says
    cache   whether what is compiled is kept on disk
    memory  bytes that a gradient may keep for its reverse sweep; loops that would keep more are checkpointed
    parallel  whether loops whose iterations can run in any order run on threads
    debug   "nan": the first value that is not finite raises NonFiniteValue with the user's line, in either sweep; the
            level is 1 at most, and nothing runs on threads
    progress  whether a compilation that takes long says so on a terminal; not part of the cache key
    has_aux  whether the function returns what is differentiated and, beside it, what is only returned
    for_reading  whether the source is a file's, which people read: what runs at once has loops over elements, which
            compile in less time; no keyword
    strong_zero  whether an adjoint of zero contributes zero where a partial derivative is infinite, too: 0 * inf is 0
    order   the highest power of a Taylor expansion; 0 for other derivatives
    """

    level: int = 2
    quote: bool = True
    math: str = "fast"
    strict: bool = False
    boundscheck: bool = _CHECKED
    cache: bool = True
    memory: int | None = None
    parallel: bool = False
    strong_zero: bool = True
    progress: bool = True
    debug: str | None = None
    has_aux: bool = False
    for_reading: bool = False
    order: int = 0

    def with_checks(self, asked: bool) -> Options:
        """The options for a program of which a part is compiled with checks of bounds, if that is `asked`."""
        return replace(self, boundscheck=True) if asked and not self.boundscheck else self

    @property
    def fast(self) -> bool:
        """Whether passes for speed run that change the order of sums."""
        return self.level > 1 and not self.strict

    @property
    def in_versions(self) -> bool:
        """Whether a gradient may have versions, each for some shapes of its arguments."""
        return self.level > 0 and not self.strict and self.memory is None and self.debug is None

    @property
    def whole_arrays(self) -> bool:
        """Whether statements over whole arrays stay such statements."""
        asked = self.strict or self.boundscheck or self.parallel or self.debug is not None
        return self.for_reading and self.level == 1 and not asked

    @property
    def threads(self) -> bool:
        """Whether loops may run on threads: from those no IndexError comes out."""
        return self.parallel and self.level > 0 and not self.boundscheck and self.debug is None

    @property
    def flags(self) -> dict[str, Any]:
        """Numba's flags for generated code: nan and infinity always keep their meaning."""
        chosen: dict[str, Any] = {"error_model": "numpy"}
        if not self.strict:
            # sums may be reassociated and products contracted
            chosen["fastmath"] = {"reassoc", "contract"}
        if self.boundscheck:
            chosen["boundscheck"] = True
        if self.threads:
            chosen["parallel"] = True
        return chosen

    @property
    def flags_text(self) -> str:
        """The flags as keyword arguments, the same text in every process."""
        return ", ".join(f"{name}={_text(value)}" for name, value in self.flags.items())

    def __hash__(self) -> int:
        # asked for at each call of `vjp`
        found: int | None = self.__dict__.get("_hash")
        if found is None:
            found = hash(astuple(self))
            object.__setattr__(self, "_hash", found)
        return found

    def __getstate__(self) -> dict[str, Any]:
        # hashes of text are those of one process
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def __tapec_key__(self) -> tuple[Any, ...]:
        """What tells options from others, for the cache."""
        return astuple(replace(self, progress=True))


DEFAULT = Options()
# how many contexts of `tapec.debug_nans` are open
contexts = 0


def _text(value: Any) -> str:
    if isinstance(value, set):
        return "{" + ", ".join(f'"{one}"' for one in sorted(value, reverse=True)) + "}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


class Keywords(TypedDict, total=False):
    """The options as keywords of the transforms."""

    opt_level: Literal[0, 1, 2]
    math: Literal["fast", "libm"]
    strict: bool
    boundscheck: bool
    cache: bool
    memory: str | int | None
    parallel: bool
    strong_zero: bool
    progress: bool
    debug: Literal["nan"] | None
    has_aux: bool


def no_option(unknown: Collection[str]) -> tuple[str, str]:
    """The message and the hint for names of options that there are not."""
    if "argnums" in unknown:
        return "there is no option `argnums`", "write `wrt`: a position or name of a parameter, or a tuple of those"
    return f"there is no option `{min(unknown)}`", f"the options are {', '.join(Keywords.__annotations__)}"


def chosen(keywords: Keywords) -> Options:
    """The options that keywords ask for; raises UsageError for unknown ones."""
    if not keywords:
        return with_tests(DEFAULT) if contexts else DEFAULT
    if unknown := keywords.keys() - Keywords.__annotations__.keys():
        message, hint = no_option(unknown)
        raise UnknownKeyword(message, hint=hint)
    level = keywords.get("opt_level", Options.level)
    math = keywords.get("math", Options.math)
    if level not in LEVELS or isinstance(level, bool):
        raise UsageError(f"opt_level must be 0, 1 or 2, not {level!r}")
    if math not in MATH:
        raise UsageError(f'math must be "fast" or "libm", not {math!r}')
    switches: dict[str, bool] = {}
    for name in ("strict", "boundscheck", "cache", "parallel", "strong_zero", "progress", "has_aux"):
        value = keywords.get(name, getattr(Options, name))
        if not isinstance(value, bool):
            raise UsageError(f"{name} must be True or False, not {value!r}")
        switches[name] = value
    if switches["strict"]:
        math = "libm"
    debug = keywords.get("debug")
    if debug not in (None, "nan"):
        raise UsageError(f'debug must be "nan" or None, not {debug!r}')
    found = Options(level=level, math=math, debug=None, memory=_bytes(keywords.get("memory")), **switches)
    return with_tests(found) if debug or contexts else found


def with_tests(options: Options) -> Options:
    """The options with `debug="nan"`: a value is tested where the source computes it."""
    return replace(options, debug="nan", level=min(options.level, 1))


def no_limit(options: Options, what: str) -> Options:
    """The options, for something that knows no limit of memory; raises UsageError if one is asked for."""
    if options.memory is not None:
        raise UsageError(
            f"{what} takes no limit of memory",
            hint="it is an option of grad, value_and_grad and vjp; loops over tapec.checkpointed() work everywhere",
        )
    return options


def no_aux(options: Options, what: str) -> Options:
    """The options, for something whose function returns nothing else beside; raises UsageError if that is asked for."""
    if options.has_aux:
        raise UsageError(
            f"{what} takes no `has_aux`",
            hint=f"it is an option of {', '.join(WITH_AUX)}, jvp and vjp; here return what is differentiated alone",
        )
    return options


def of_order(options: Options, kind: str, order: Any) -> Options:
    """The options for an expansion up to a power; raises UsageError for other kinds of derivatives and powers."""
    if not kind.startswith("taylor"):
        if order:
            raise UsageError(f"{kind} has no `order`", hint='it is that of mode="taylor"')
        return options
    if not isinstance(order, int) or isinstance(order, bool) or order < 1:
        raise UsageError(f"order must be a positive integer, not {order!r}", hint="it is the highest power of t")
    return replace(options, order=order)


_UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _bytes(given: str | int | None) -> int | None:
    """A number of bytes, which may be text such as "500MB"."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given > 0):
        return given
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMG]i?B|B)\s*", given) if isinstance(given, str) else None
    if found is None or found[2] not in _UNITS or float(found[1]) <= 0:
        raise UsageError(
            f"memory must be a number of bytes, not {given!r}", hint='write memory="500MB", or a positive integer'
        )
    return int(float(found[1]) * _UNITS[found[2]])
