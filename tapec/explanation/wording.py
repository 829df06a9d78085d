"""Names, lines, expressions and sizes of core in the words of the user's source."""

from __future__ import annotations

import ast
import os
import re
import types
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapec.analyses.activity import Activity
from tapec.analyses.aliases import ALLOCATIONS, aliases
from tapec.backend import printer
from tapec.backend.program import Program, resolve_wrt
from tapec.errors import Span
from tapec.frontend.evaluator.values import Lst
from tapec.frontend.source.function_source import parameters, source_of
from tapec.frontend.structures.merging import leaves
from tapec.remarks import Named, Remark
from tapec.syntax.core import Assign, Block, Const, Expr, For, If, Loop, Name, Op, Stmt, blocks, changed, walk, writes
from tapec.syntax.renaming import OF_USERS
from tapec.syntax.types import Array

_SHORT = 60
# lines where ways meet
_MEETING = re.compile(r"\s*(for|while|if|elif|else)\b")
_ASSIGNS = re.compile(r"^\s*([\w\s,()\[\]*]+?)\s*(?::[^=]*)?(?:[-+*/@%&|^]|//|\*\*|<<|>>)?=(?!=)")
_LOOPS = re.compile(r"\bfor\s+([\w\s,()*]+?)\s+in\b")


class Wording:
    """Words for one differentiated function."""

    def __init__(self, function: types.FunctionType, program: Program) -> None:
        source = source_of(function)
        self.function = function
        self.file = source.file
        self.program = program
        self.primal = program.lowered.function
        # the variables that the functions of the user's assign, by function
        self.assigned: dict[str, frozenset[str]] = {}
        for reached in program.lowered.functions:
            found = source_of(reached)
            text = "".join(found.lines[found.node.lineno - 1 : found.node.end_lineno])
            self.assigned[found.name] = _assigned(text)
        self.known = frozenset().union(*self.assigned.values())
        # arrays that a name of the user's stands for
        self.aliases = dict(self.made_alone())
        for (_, own), value in program.lowered.bindings.items():
            for name in self.leaves(value):
                if name not in self.primal.params and isinstance(self.primal.types.get(name), Array):
                    self.aliases.setdefault(name, own)

    def made_alone(self) -> Iterator[tuple[str, str]]:
        """The arrays that are all that a line makes which assigns one variable, with that variable."""
        made: dict[Span, list[str]] = {}
        for stmt in walk(self.primal.body):
            match stmt:
                case Assign(target=target, value=Op(fn=fn), span=Span() as span) if fn in ALLOCATIONS:
                    made.setdefault(span, []).append(target)
        for span, names in made.items():
            if len(names) == len(targets(span.text)) == 1:
                yield names[0], targets(span.text)[0]

    def leaves(self, value: Any) -> Iterator[str]:
        """The names of core that a variable's value consists of."""
        heap, names = self.program.lowered.heap, self.program.lowered.users_names
        for _, leaf in leaves(heap.get(value) if isinstance(value, Lst) else value):
            if isinstance(leaf.atom, Name):
                yield names.get(leaf.atom.id, leaf.atom.id)

    # places and names

    def line(self, span: Span | None) -> str:
        """A place: its line, and the file if it is not that of the function."""
        if span is None:
            return "another line"
        return f"line {span.line}" if span.file == self.file else f"{os.path.basename(span.file)} line {span.line}"

    def users(self, named: Named, merged: bool = True) -> str | None:
        """The user's name for a variable; None for one of the compiler's.

        A variable that is `merged` gets its value where ways meet: at the line of a loop or an `if`.
        """
        span = named.made
        if named.name in self.primal.params:
            return self.whole(named.name)
        if span is None:
            return None
        known = set(targets(span.text))
        if merged and _MEETING.match(span.text):
            known |= self.assigned.get(span.function, frozenset())
        return next((base for base in base_names(named.name) if base in known), None)

    def whole(self, param: str) -> str:
        """The complex parameter of which `param` is a part, or `param` itself."""
        own = parameters(self.function)
        stem = re.sub(r"_(re|im)(?=(_\d+)*$)", "", param)
        leaf = any(base in own for base in base_names(param))
        return stem if not leaf and base_names(stem)[-1] in own else param

    def name(self, named: Named) -> str:
        """A variable in words: its name, or the line that makes it."""
        base = base_names(named.name)[-1]
        if base.endswith("_bar"):
            primal = self.name(Named(base.removesuffix("_bar"), named.made))
            return f"{primal}_bar" if primal.isidentifier() else f"the adjoint of {primal}"
        own = self.users(named) or self.aliases.get(named.name)
        if own is not None or named.made is None:
            return own or named.name
        if base.endswith(("_store", "_kept", "_stack")):
            return f"what is kept of {self.line(named.made)}"
        made = [] if _MEETING.match(named.made.text) else targets(named.made.text)
        return made[0] if len(made) == 1 else f"what {self.line(named.made)} makes"

    def sentence(self, text: str, about: tuple[Any, ...]) -> str:
        """A sentence with its places filled in."""
        if "{" not in text:
            return text
        words = []
        for one in about:
            match one:
                case Named():
                    words.append(self.name(one))
                case Span() | None:
                    words.append(self.line(one))
                case Name() | Const() | Op():
                    words.append(self.expression(one))
                case _:
                    words.append(str(one))
        said = text.format(*words)
        return re.sub(r"`((?:the adjoint of )?what [^`]*)`", r"\1", said)

    # expressions

    def expression(self, expr: Expr) -> str:
        """An expression as its user would write it."""
        return printer.expression(self.renamed(expr))

    def renamed(self, expr: Expr) -> Expr:
        match expr:
            case Name(id=name):
                if name in self.aliases or name in self.primal.params:
                    return Name(self.aliases.get(name, name))
                return Name(next((base for base in base_names(name) if base in self.known), base_names(name)[-1]))
            case Op(fn="dim", args=(Name(id=array), axis)) if array in self.primal.params:
                return Op("dim", (Name(self.whole(array)), self.renamed(axis)))
            case Op(fn=fn, args=args):
                return Op(fn, tuple(self.renamed(arg) for arg in args))
        return expr

    def value(self, named: Named, value: Expr) -> str:
        """A value that is kept: the user's variable, or the expression that gives it."""
        own = self.users(named, merged=isinstance(value, Name))
        if own is not None:
            return f"`{own}`"
        text = self.expression(value)
        return f"`{text}`" if len(text) <= _SHORT else f"`{text[: _SHORT - 3]}...`"

    def formula(self, size: Expr) -> str:
        """A number of bytes as a Python expression; counts of iterations are written without their lower bound,
        zero.
        """
        return printer.expression(simplified(self.renamed(size)))

    def allocations(self) -> Iterator[tuple[str, str, bool, bool]]:
        """The arrays that the generated function makes: name, bytes, whether in a loop, and whether in a branch."""
        core = self.program.core
        counts = Counter(name for stmt in walk(core.body) for name in writes(stmt))
        single = {s.target: s.value for s in walk(core.body) if isinstance(s, Assign) and counts[s.target] == 1}

        def resolved(expr: Expr, depth: int = 0) -> Expr:
            if isinstance(expr, Op):
                return Op(expr.fn, tuple(resolved(arg, depth) for arg in expr.args))
            value = single.get(expr.id) if isinstance(expr, Name) and depth < 8 else None
            whole = value is not None and str(core.types.get(expr.id)) == "int64" if isinstance(expr, Name) else False
            return resolved(value, depth + 1) if value is not None and whole else expr

        for stmt, looped, branched in _placed(core.body):
            if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn not in ALLOCATIONS:
                continue
            type_ = core.types[stmt.target]
            if not isinstance(type_, Array):
                continue
            if stmt.value.fn in ("empty", "zeros"):
                size: Expr = Const(np.dtype(type_.dtype).itemsize)
                for extent in stmt.value.args[1:]:
                    size = Op("*", (size, resolved(extent)))
            else:
                size = Op("nbytes", (stmt.value.args[0] if stmt.value.fn == "copy" else Name(stmt.target),))
            yield stmt.target, printer.expression(simplified(size)), looped, branched

    def largest(self, remarks: list[Remark]) -> set[int]:
        """The remarks (by id) on expressions that are no part of another one's on the same line."""
        by_line: dict[Span | None, dict[int, str]] = {}
        for one in remarks:
            by_line.setdefault(one.span, {})[id(one)] = self.expression(one.about[1])
        return {
            remark
            for texts in by_line.values()
            for remark, text in texts.items()
            if not text.isidentifier() and not any(text != other and text in other for other in texts.values())
        }

    # activity

    def sources(self, wrt: Any) -> tuple[str, ...]:
        names = list(parameters(self.function))
        positions, _ = resolve_wrt(self.function, wrt)
        return tuple(names[k] if k < len(names) else names[-1] for k in positions)

    def activity(self, wrt: Any) -> Activity:
        """Which names of the lowered function carry a derivative."""
        own, sources = parameters(self.function), self.sources(wrt)
        # the leaves of a parameter that is a tuple are called `p_0`, `p_1_0`, the parts of a complex one `p_re`, `p_im`
        params = {
            param
            for param in self.primal.params
            if param in sources or (param not in own and re.sub(r"(_\d+|_re|_im)+$", "", param) in sources)
        }
        targets = {value.id for value in self.primal.results if isinstance(value, Name)}
        return Activity(self.primal, aliases(self.primal), params, targets)

    def active_lines(self, activity: Activity) -> dict[tuple[str, int], bool]:
        """For each line that computes something: whether that carries a derivative."""
        found: dict[tuple[str, int], bool] = {}
        for stmt in walk(self.primal.body):
            span = stmt.span
            names = (*writes(stmt), *changed(stmt))
            if span is not None and names:
                place = span.file, span.line
                found[place] = found.get(place, False) or any(name in activity for name in names)
        return found

    def variables(self, activity: Activity, wrt: Any) -> Iterator[tuple[str, int, str, bool, str]]:
        """The user's variables in the order of the program: name, line, place, whether they are active, and why."""
        versions: dict[tuple[str, str], list[str]] = {}
        first: dict[tuple[str, str], Span | None] = {}
        for param in self.primal.params:
            versions.setdefault((self.whole(param), ""), []).append(param)
            first[self.whole(param), ""] = None
        for stmt in walk(self.primal.body):
            for name in writes(stmt):
                # elsewhere bindings tell, and statements may be those of a library function
                loop = stmt.span is not None and (isinstance(stmt, For) or _MEETING.match(stmt.span.text))
                own = self.users(Named(name, stmt.span)) if loop else None
                if own is None or stmt.span is None or own == "_":
                    continue
                parameter = (own, "") in versions and stmt.span.function == self.function.__qualname__
                key = own, "" if parameter else stmt.span.function
                versions.setdefault(key, []).append(name)
                first.setdefault(key, stmt.span)
        by = " or ".join(f"`{one}`" for one in self.sources(wrt))
        for (span, own), value in self.program.lowered.bindings.items():
            # library functions bind names of their own
            if span is not None and own != "_" and own in self.assigned.get(span.function, ()):
                parameter = (own, "") in versions and span.function == self.function.__qualname__
                key = own, "" if parameter else span.function
                versions.setdefault(key, []).extend(self.leaves(value))
                first.setdefault(key, span)
        order = list(dict.fromkeys(span.function if span is not None else "" for span in first.values()))
        rows = sorted(versions.items(), key=lambda row: _order(first[row[0]], order))
        for (name, function), found in rows:
            span = first[name, function]
            active = any(version in activity for version in found)
            place = "" if span is None else self.line(span)
            where = "" if span is None else f"{place}: "
            yield name, 0 if span is None else span.line, place, active, where + self.why(found, activity, active, by)

    def why(self, versions: list[str], activity: Activity, active: bool, by: str) -> str:
        """Why a variable carries a derivative, or does not."""
        if active:
            return f"depends on {by}, and the result depends on it"
        if not versions:
            return "is known when the function is compiled"
        kinds = {str(self.primal.types[version]) for version in versions}
        if not any(self.primal.types[version].is_float for version in versions):
            return f"is of type {' or '.join(sorted(kinds))}, which has no derivative"
        varied = any(activity.varies(version) for version in versions)
        if varied:
            return "the result does not depend on it with a derivative"
        return f"does not depend on {by} with a derivative"


def _order(span: Span | None, functions: list[str]) -> tuple[int, int]:
    """Where a variable that is first set at `span` stands in the list; parameters come first."""
    return (-1, 0) if span is None else (functions.index(span.function), span.line)


def _placed(block: Block, looped: bool = False, branched: bool = False) -> Iterator[tuple[Stmt, bool, bool]]:
    """Every statement of a block, and whether it stands in a loop, or in a branch."""
    for stmt in block:
        yield stmt, looped, branched
        for inner in blocks(stmt):
            yield from _placed(inner, looped or isinstance(stmt, For | Loop), branched or isinstance(stmt, If))


def base_names(name: str) -> list[str]:
    """A name of core, and what it may be a version of: the name without the numbers at its end.

    >>> base_names("x_1_12"), base_names("x_bar")
    (['x_1_12', 'x_1', 'x'], ['x_bar'])
    """
    found = [name]
    while (shorter := re.sub(r"_\d+$", "", found[-1])) != found[-1]:
        found.append(shorter)
    return found + [OF_USERS[name] for name in found if name in OF_USERS]


def targets(line: str) -> list[str]:
    """The variables that a line of source assigns, as far as one line tells.

    >>> targets("a, (b, c) = f(x)"), targets("for i in range(n):"), targets("x[i] = y"), targets("if a == b:")
    (['a', 'b', 'c'], ['i'], [], [])
    """
    found = [match.group(1) for match in (_ASSIGNS.match(line), *_LOOPS.finditer(line)) if match is not None]
    # an element is no variable, and what a call is given is none either
    plain = [re.sub(r"\w+\s*\[.*?\]", "", text) for text in found if not re.search(r"\w\(", text)]
    return [name for text in plain for name in re.findall(r"[^\W\d]\w*", text)]


def _assigned(text: str) -> frozenset[str]:
    """The names that the text of a function assigns, its parameters included."""
    import textwrap

    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError:
        # a lambda in the middle of a statement
        return frozenset(re.findall(r"\w+", text))
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return frozenset(stored | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)})


def operations(expr: Expr) -> int:
    """The number of operations of an expression, elements of arrays included; extents cost nothing."""
    if not isinstance(expr, Op) or expr.fn == "dim":
        return 0
    return 1 + sum(map(operations, expr.args))


def simplified(expr: Expr) -> Expr:
    """A count without `max(..., 0)`, and with the numbers in its sums added up."""
    if not isinstance(expr, Op):
        return expr
    args = tuple(simplified(arg) for arg in expr.args)
    match expr.fn, args:
        case "max", (rest, Const(value=0)) | (Const(value=0), rest):
            # no loop makes fewer iterations than none
            return rest
        case "+" | "-", (base, Const(value=int(more))):
            return _shifted(base, more if expr.fn == "+" else -more)
        case "-", (first, second) if first == second:
            return Const(0)
        case "*", (Const(value=1), rest):
            return rest
        case "*", (Const(value=int(first)), Const(value=int(second))):
            return Const(first * second)
        case "nbytes", (Name(id=array),):
            return Name(f"{array}.nbytes")
    return Op(expr.fn, args)


def _shifted(base: Expr, more: int) -> Expr:
    match base:
        case Const(value=int(number)):
            return Const(number + more)
        case Op(fn="+", args=(inner, Const(value=int(number)))):
            return _shifted(inner, more + number)
        case Op(fn="-", args=(inner, Const(value=int(number)))):
            return _shifted(inner, more - number)
    return base if more == 0 else Op("+" if more > 0 else "-", (base, Const(abs(more))))
