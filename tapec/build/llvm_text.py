"""LLVM modules as text: keep what one function needs, hide it, and number its exceptions.

Numba's module for a function holds wrappers for Python beside it, which ask for all of Python's
interface.  Here a module is taken apart into its definitions, those that the function reaches are
kept, and everything but the function becomes private: it leaves no symbol behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_NAME = r'@(?:"((?:[^"\\]|\\.)*)"|([-a-zA-Z$._][-a-zA-Z$._0-9]*))'
_REFERENCE = re.compile(_NAME)
_SYMBOL = re.compile(rf"^{_NAME}\s*=\s*")
_FUNCTION = re.compile(rf"^(define|declare)\s[^@]*{_NAME}\(")
# linkage, visibility, preemption
_HIDING = (
    "private internal available_externally linkonce weak common appending extern_weak linkonce_odr weak_odr external "
    "default hidden protected dso_local dso_preemptable"
)
_LINKAGE = re.compile(rf"^(?:(?:{_HIDING.replace(' ', '|')})\s+)+")
_FAILURE = re.compile(r"(\{ *(?:ptr|i8\*), i32, (?:ptr|i8\*), (?:ptr|i8\*), i32 *\}) *\{(.*)\}(.*)$", re.DOTALL)


@dataclass(frozen=True)
class Item:
    """A definition or declaration at the top of a module.

    name    its symbol
    text    its lines
    kind    "define" or "declare" for functions, "global" for data, "external" for data of others
    """

    name: str
    text: str
    kind: str

    @property
    def references(self) -> list[str]:
        """Symbols in the text, its own among them."""
        return [quoted or bare for quoted, bare in _REFERENCE.findall(self.text)]

    @property
    def defined(self) -> bool:
        return self.kind in ("define", "global")


@dataclass(frozen=True)
class Parts:
    """A module taken apart: items by symbol, and the lines between them (types, attributes, metadata)."""

    items: dict[str, Item]
    rest: tuple[str, ...]


def take_apart(text: str) -> Parts:
    """The parts of a module's text."""
    items: dict[str, Item] = {}
    rest: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(("define ", "declare ")):
            found = _FUNCTION.match(line)
            assert found is not None, line
            body = [line]
            if found[1] == "define":
                while body[-1] != "}":
                    body.append(next(lines))
            name = found[2] or found[3]
            items[name] = Item(name, "\n".join(body), found[1])
        elif line.startswith("@"):
            found = _SYMBOL.match(line)
            assert found is not None, line
            name = found[1] or found[2]
            external = re.match(r"(?:extern_weak|external)\b", line[found.end() :]) is not None
            items[name] = Item(name, line, "external" if external else "global")
        elif not line.startswith(";"):
            rest.append(line)
    return Parts(items, tuple(rest))


def reached(parts: Parts, entry: str) -> list[Item]:
    """What the function `entry` needs, in the order of the module."""
    found, waiting = {entry}, [entry]
    while waiting:
        for name in parts.items[waiting.pop()].references:
            if name in parts.items and name not in found:
                found.add(name)
                waiting.append(name)
    return [item for item in parts.items.values() if item.name in found]


def isolated(text: str, entry: str, renamed: Mapping[str, str], number: Callable[[str], int]) -> str:
    """The module of `entry` and what it needs; all else is private.

    renamed  new names of symbols, `entry` among them
    number   status of the exception that a constant of this name holds, as Numba names such constants
    """
    parts = take_apart(text)
    lines = [line for line in parts.rest if line.startswith(("target ", "%"))]
    for item in reached(parts, entry):
        lines.append(_renamed(_hidden(_numbered(item, number), entry), renamed))
    lines += [line for line in parts.rest if line.startswith(("attributes ", "!"))]
    return "\n".join(lines) + "\n"


def is_failure(item: Item) -> bool:
    """Whether an item describes an exception that compiled code may raise."""
    return item.name.startswith(".const.picklebuf.") and item.kind == "global"


def _numbered(item: Item, number: Callable[[str], int]) -> Item:
    """The description of an exception with its status in the place of the length of the pickle."""
    if not is_failure(item):
        return item
    found = _FAILURE.search(item.text)
    assert found is not None, item.text
    fields = [field.strip().split(" ")[0] for field in found[1].strip("{} ").split(",")]
    pointer = fields[0]
    value = f"{pointer} null, i32 {number(item.name)}, {pointer} null, {pointer} null, i32 0"
    text = item.text[: found.start()] + f"{found[1]} {{ {value} }}{found[3]}"
    return Item(item.name, text, item.kind)


def _hidden(item: Item, entry: str) -> Item:
    """The item private to the module, or hidden for the function itself."""
    if not item.defined:
        return item
    linkage = "hidden" if item.name == entry else "private"
    if item.kind == "define":
        head, rest = "define ", item.text.removeprefix("define ")
    else:
        found = _SYMBOL.match(item.text)
        assert found is not None
        head, rest = found[0], item.text[found.end() :]
    rest = _LINKAGE.sub("", rest)
    if item.kind == "global":
        rest = re.sub(r", comdat(?:\(\$[^)]*\))?", "", rest)
    else:
        first, newline, body = rest.partition("\n")
        rest = re.sub(r" comdat(?:\(\$[^)]*\))?", "", first) + newline + body
    return Item(item.name, f"{head}{linkage} {rest}", item.kind)


def _renamed(item: Item, names: Mapping[str, str]) -> str:
    """The text with other symbols; text within quotes may not look like one of them."""

    def replace(found: re.Match[str]) -> str:
        name = names.get(found[1] or found[2])
        return found[0] if name is None else f"@{name}"

    return _REFERENCE.sub(replace, item.text)


def argument_types(item: Item) -> list[str]:
    """The LLVM types of a function's arguments: "double", "i64", "ptr" for every pointer.

    >>> line = 'define i32 @f({ i64 }* noalias %retptr, i8** %excinfo, double %arg.x) {'
    >>> argument_types(Item("f", line, "define"))
    ['ptr', 'ptr', 'double']
    """
    head = item.text.splitlines()[0]
    start = head.index("(", _REFERENCE.search(head).end())  # type: ignore[union-attr]
    depth, arguments, current = 0, [], ""
    for ch in head[start + 1 :]:
        if ch == ")" and depth == 0:
            break
        depth += (ch in "([{") - (ch in ")]}")
        if ch == "," and depth == 0:
            arguments.append(current)
            current = ""
        else:
            current += ch
    arguments += [current] if current.strip() else []
    return [_kind(argument.strip()) for argument in arguments]


def _kind(argument: str) -> str:
    """An argument's type without its attributes and its name."""
    if argument.startswith("{") or "*" in argument:
        return "ptr"
    return argument.split(" ")[0]
