"""What `[tool.tapec]` of a pyproject.toml asks to build.

    [[tool.tapec.build]]
    kind = "extension"                       # or "library", "source"
    name = "package._gradients"

    [[tool.tapec.build.targets]]
    function = "package.model:loss"          # or "package/model.py:loss"
    wrt = "theta"                            # a name, a position, or a list
    signature = "f8[:], f8[:, ::1]"          # default: the annotations
    mode = "value_and_grad"                  # the default
    name = "loss_and_gradient"               # default: loss_value_and_grad

Every mistake ends in one message that says where it is and what is right.
"""

from __future__ import annotations

import difflib
import keyword
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tapec.build.build_target import BASELINE, KINDS, MODES, NOT_BUILT, Output, Target
from tapec.errors import UsageError
from tapec.options import Keywords, chosen

# what is built is not kept in the cache
_OPTIONS = tuple(name for name in Keywords.__annotations__ if name != "cache")
OUTPUT_KEYS = ("kind", "name", "targets", "cpu", "contiguous", *_OPTIONS)
TARGET_KEYS = ("function", "wrt", "signature", "signatures", "mode", "name", *_OPTIONS)


def read(path: Path) -> tuple[Output, ...]:
    """The outputs that a pyproject.toml lists; none if it has no `[tool.tapec]`.

    raises  UsageError for a file that cannot be read, and for each mistake in the table
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    tool = data.get("tool", {})
    table = tool.get("tapec", {}) if isinstance(tool, dict) else {}
    return outputs(table, path.parent, path.name)


def outputs(table: Any, root: Path, file: str) -> tuple[Output, ...]:
    """The outputs of a `[tool.tapec]` table; `root` is the project's folder."""
    top = _Table(table, f"{file}, [tool.tapec]")
    top.known(("build",))
    made = tuple(_output(one, root) for one in top.tables("build", f"{file}, [[tool.tapec.build]]"))
    for one in made:
        if [(other.kind, other.name) for other in made].count((one.kind, one.name)) > 1:
            raise UsageError(
                f"{file}, [[tool.tapec.build]]: two outputs of kind {one.kind!r} are called {one.name!r}",
                hint="list the targets of one module below one [[tool.tapec.build]]",
            )
    return made


def output(items: Any, root: Path, where: str) -> Output:
    """The output that one table describes; `where` begins messages."""
    return _output(_Table(items, where), root)


def _output(table: _Table, root: Path) -> Output:
    table.known(OUTPUT_KEYS)
    kind = table.choice("kind", KINDS)
    name = table.text("name")
    table.where += f" ({name})"
    if kind == "library":
        # it becomes a file name and the prefix of C names
        if not (name.isascii() and name.replace("-", "_").isidentifier()):
            raise table.wrong("name", f"{name!r} is not the name of a library", 'letters, digits, "_" and "-"')
    elif not module_name(name):
        hint = 'a dotted name, such as "package._gradients"'
        raise table.wrong("name", f"{name!r} is not the name of a module", hint)
    if kind == "extension" and not name.isascii():
        raise table.wrong("name", f"{name!r} is not a name in C", "a name of ASCII letters")
    if kind != "library" and "contiguous" in table.items:
        raise table.wrong("contiguous", f"kind {kind!r} takes arrays of any strides", "it is for libraries")
    if kind == "source" and "cpu" in table.items:
        raise table.wrong("cpu", "source is compiled where it runs", "it is for libraries and extensions")
    listed = table.tables("targets", f"{table.where}, target")
    if not listed:
        raise table.wrong("targets", "is missing or empty", "one [[tool.tapec.build.targets]] for each function")
    shared = table.options()
    targets = tuple(target for one in listed for target in _targets(one, kind, shared))
    if kind != "source" and any(target.options.parallel for target in targets):
        hint = 'leave it out, or build kind "source"'
        raise table.wrong("parallel", "loops on threads need Numba where they run", hint)
    cpu = table.text("cpu", BASELINE)
    return Output(kind, name, targets, cpu, table.flag("contiguous"), root)


def module_name(name: str) -> bool:
    """Whether a text is the dotted name of a module."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split("."))


def _targets(table: _Table, kind: str, shared: Keywords) -> list[Target]:
    """What a table of a target asks for: one target for each signature."""
    table.known(TARGET_KEYS)
    function = table.text("function")
    place, colon, _ = function.rpartition(":")
    if not (place and colon):
        hint = '"package.module:FUNCTION" or "FILE.py:FUNCTION"'
        raise table.wrong("function", f"{function!r} names no function", hint)
    asked = table.text("mode", "value_and_grad")
    if asked in NOT_BUILT:
        raise table.wrong("mode", f"{asked!r} is not built", NOT_BUILT[asked])
    mode = table.choice("mode", MODES, "value_and_grad")
    if mode == "primal" and "wrt" in table.items:
        raise table.wrong("wrt", 'mode "primal" is the function itself', "leave it out")
    name = table.text("name", "")
    if name and not (name.isascii() and module_name(name) and "." not in name):
        raise table.wrong("name", f"{name!r} is not the name of a function", "an identifier of ASCII letters")
    options = chosen(shared | table.options())
    return [Target(function, table.sources(), one, mode, name, options) for one in table.signatures(kind)]


@dataclass
class _Table:
    """A table of the file, and where it stands."""

    items: Any
    where: str

    def __post_init__(self) -> None:
        if not isinstance(self.items, dict):
            raise UsageError(f"{self.where}: must be a table, not {self.items!r}")

    def known(self, keys: tuple[str, ...]) -> None:
        for key in self.items:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(keys)}"
                raise UsageError(f"{self.where}: there is no key {key!r}", hint=hint)

    def wrong(self, key: str, what: str, right: str) -> UsageError:
        return UsageError(f"{self.where}: `{key}`: {what}", hint=right)

    def tables(self, key: str, where: str) -> list[_Table]:
        found = self.items.get(key, [])
        if not isinstance(found, list):
            raise self.wrong(key, "must be a list of tables", f"write [[tool.tapec.{key}]] with two brackets")
        return [_Table(one, f"{where} {k + 1}") for k, one in enumerate(found)]

    def text(self, key: str, default: str | None = None) -> str:
        found = self.items.get(key, default)
        if found is None:
            raise UsageError(f"{self.where}: `{key}` is missing")
        if not isinstance(found, str) or (not found and default is None):
            raise self.wrong(key, f"must be text, not {found!r}", "write it in quotation marks")
        return found

    def flag(self, key: str) -> bool:
        found = self.items.get(key, False)
        if not isinstance(found, bool):
            raise self.wrong(key, f"must be true or false, not {found!r}", "without quotation marks")
        return found

    def choice(self, key: str, known: tuple[str, ...], default: str | None = None) -> str:
        found = self.text(key, default)
        if found not in known:
            near = difflib.get_close_matches(found, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(map(repr, known))}"
            raise self.wrong(key, f"there is no {key} {found!r}", hint)
        return found

    def sources(self) -> Any:
        found = self.items.get("wrt", 0)
        many = found if isinstance(found, list) else [found]
        if not many or not all(isinstance(one, str | int) and not isinstance(one, bool) for one in many):
            raise self.wrong("wrt", f"{found!r} names no parameters", "a name, a position, or a list of those")
        return tuple(found) if isinstance(found, list) else found

    def signatures(self, kind: str) -> list[str]:
        """The texts of the signatures; the annotations, where there is none, are an empty one."""
        found = self.items.get("signatures")
        if found is None:
            return [self.text("signature", "")]
        if not isinstance(found, list) or not found or not all(isinstance(one, str) and one for one in found):
            raise self.wrong("signatures", f"must be a list of texts, not {found!r}", '["f8[:], f8", "f4[:], f4"]')
        if "signature" in self.items:
            raise self.wrong("signatures", "is there beside `signature`", "write all signatures into one list")
        if kind != "extension":
            hint = "give each signature a target with a `name` of its own"
            raise self.wrong("signatures", f"a function of kind {kind!r} has one signature", hint)
        return found

    def options(self) -> Keywords:
        given: Any = {name: self.items[name] for name in _OPTIONS if name in self.items}
        try:
            chosen(given)
        except UsageError as error:
            raise UsageError(f"{self.where}: {error.message}", hint=error.hint) from None
        found: Keywords = given
        return found
