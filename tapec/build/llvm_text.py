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
# an exception that is raised: what Numba pickled, a hash of it, and the structure that points to both
_PICKLED, _HASH, _RAISED = ".const.pickledata.", ".sha1", ".const.picklebuf."
# a node of metadata that instructions may refer to: neither named nor about functions
_METADATA = re.compile(r"^!\d+ = (?!.*(?:ptr|\*) @)")
# turns the values in an exception's text into Python objects
_UNWRAPPING = "__excinfo_unwrap_args"


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
        """Symbols in the text that matter without Python, its own among them."""
        names = [quoted or bare for quoted, bare in _REFERENCE.findall(self.text)]
        return [name for name in names if not name.startswith(_UNWRAPPING)]

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
    number   status of the exception that a constant of this name holds; see `is_failure`
    """
    parts = take_apart(text)
    lines = [line for line in parts.rest if line.startswith(("target ", "%"))]
    # older versions of LLVM have pointers with types
    typed = "*" in parts.items[entry].text.partition("\n")[0]
    for item in reached(parts, entry):
        lines.append(_renamed(_hidden(_numbered(item, number, typed), entry), renamed))
    # metadata with names is about the module, such as a list of functions that are not to be inlined
    lines += [line for line in parts.rest if line.startswith("attributes ") or _METADATA.match(line)]
    return "\n".join(lines) + "\n"


def is_failure(item: Item) -> bool:
    """Whether an item holds an exception that compiled code may raise, as Numba pickled it."""
    return item.name.startswith(_PICKLED) and _HASH not in item.name


def _numbered(item: Item, number: Callable[[str], int], typed: bool) -> Item:
    """Exceptions with their status for their pickle, which would hold the names of files."""
    if is_failure(item):
        found = re.search(r"\[(\d+) x i8\] c\"[^\"]*\"", item.text)
        assert found is not None, item.text
        # pointers with types tell the length, which must then stay
        length = int(found[1]) if typed else 4
        content = "".join(f"\\{byte:02x}" for byte in number(item.name).to_bytes(length, "little"))
        data = f'[{length} x i8] c"{content}"'
        return Item(item.name, item.text[: found.start()] + data + item.text[found.end() :], item.kind)
    if item.name.startswith(_PICKLED):
        return Item(item.name, re.sub(r'c"[^"]*"', "zeroinitializer", item.text), item.kind)
    if item.name.startswith(_RAISED):
        return Item(item.name, re.sub(r", i32 \d+,", ", i32 0,", item.text, count=1), item.kind)
    return item


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
        symbol = found[1] or found[2]
        if symbol.startswith(_UNWRAPPING):
            return "null"
        name = names.get(symbol)
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
