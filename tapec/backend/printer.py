"""Core form to Python text: the same bytes for the same program, whatever the Python version."""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import takewhile

from tapec.errors import Span
from tapec.optimise.name_origins import is_adjoint
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Note,
    Op,
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    reads,
    walk,
)
from tapec.syntax.custom_rule import Custom, Opaque
from tapec.syntax.types import Array

# what a wide function tells LLVM
WIDE = "tapec_runtime.wide_vectors()"
# as many adjoints begin in one line
_TOGETHER = 6
INDENT = "    "

# binding strength of infix operators, as in Python's grammar
_STRENGTH = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 4),
    "|": 5,
    "^": 6,
    "&": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    **dict.fromkeys(("*", "/", "//", "%"), 10),
    "neg": 11,
    "pos": 11,
    "~": 11,
    "**": 12,
}
_PREFIX = {"neg": "-", "pos": "+", "~": "~", "not": "not "}
_OPPOSITE = {"==": "!=", "!=": "=="}
_OTHER_WORD = {"and": "or", "or": "and"}
_WRAPPED: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_ATOM = 14
# a literal that is no integer
_NUMBER = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?(?!\w)")
_CASTS = {"float64": "float", "int64": "int", "bool": "bool"}


def expression(expr: Expr) -> str:
    """The text of an expression, with the parentheses it needs and no others."""
    return _text(expr)[0]


def _text(expr: Expr) -> tuple[str, int]:
    """Text and binding strength."""
    if isinstance(expr, Name):
        return expr.id, _ATOM
    if isinstance(expr, Const):
        return _literal(expr.value)
    fn, args = expr.fn, expr.args
    if fn in ("stop_gradient", "known") or isinstance(fn, Custom):
        # the value is that of the operand, with its own binding strength
        return _text(args[0])
    if fn == "strong":
        first = args[0]
        return _text(Op("ifelse", (Op("!=", (first, Const(0.0))), Op("*", args), first)))
    if fn in _PREFIX and len(args) == 1:
        strength = _STRENGTH[fn]
        return _PREFIX[fn] + _at(args[0], strength), strength
    if fn in _STRENGTH and len(args) == 2:
        strength = _STRENGTH[fn]
        comparison = strength == 4
        left = strength + 1 if fn == "**" or comparison else strength
        right = strength - 1 if fn == "**" else strength + 1
        if _overflows(fn, args):
            return f"np.int64({expression(args[0])}) {fn} {_at(args[1], strength + 1)}", strength
        # `2 ** -x` needs no parentheses, `(-x) ** 2` does
        return f"{_at(args[0], left)} {fn} {_at(args[1], max(right, 11) if fn == '**' else right)}", strength
    if fn == "ifelse":
        test, body, orelse = args
        return f"{_at(body, 1)} if {_at(test, 1)} else {_at(orelse, 1)}", 0
    return _primary(fn, args), _ATOM


def _overflows(fn: str, args: tuple[Expr, ...]) -> bool:
    """Whether Python would compute an integer of two literals that machines wrap around, and Numba then refuse it."""
    match args:
        case (Const(value=int(first)), Const(value=int(second))) if fn in _WRAPPED:
            return not -(2**63) <= _WRAPPED[fn](first, second) < 2**63
    return False


def _at(expr: Expr, strength: int) -> str:
    text, own = _text(expr)
    return text if own >= strength else f"({text})"


def _literal(value: object) -> tuple[str, int]:
    if isinstance(value, float):
        if math.isnan(value):
            return "np.nan", _ATOM
        if math.isinf(value):
            return ("np.inf", _ATOM) if value > 0 else ("-np.inf", 11)
    text = repr(value)
    if isinstance(value, str) and text.startswith("'") and '"' not in text:
        text = f'"{text[1:-1]}"'
    return text, 11 if text.startswith("-") else _ATOM


def _list(args: Iterable[Expr]) -> str:
    return ", ".join(expression(arg) for arg in args)


def _primary(fn: str, args: tuple[Expr, ...]) -> str:
    match fn:
        case "load":
            return f"{_at(args[0], _ATOM)}[{_list(args[1:]) or '()'}]"
        case "view":
            subs = ", ".join(_subscript(arg) for arg in args[1:])
            return f"{_at(args[0], _ATOM)}[{subs}]"
        case "dim":
            return f"{_at(args[0], _ATOM)}.shape[{expression(args[1])}]"
        case "stride":
            return f"{_at(args[0], _ATOM)}.strides[{expression(args[1])}]"
        case "transpose":
            return f"{_at(args[0], _ATOM)}.T"
        case "permute":
            return f"np.transpose({expression(args[0])}, {_tuple(args[1:])})"
        case "reshape":
            return f"{_at(args[0], _ATOM)}.reshape({_tuple(args[1:])})"
        case "empty" | "zeros":
            return f"np.{fn}({_shape(args[1:])}{_dtype(args[0])})"
        case "copy":
            return f"{_at(args[0], _ATOM)}.copy()"
        case "pop":
            return f"{_at(args[0], _ATOM)}.pop()"
        case "stack":
            return f"[{_stacked(args)}][:0]"
        case "tuples":
            return f"[{_stacked_tuple(args)}][:0]"
        case "room":
            return f"[{_stacked(args[:1])}] * {_at(args[1], _ATOM)}"
        case "tuples.room":
            *dtypes, room = args
            return f"[{_stacked_tuple(dtypes)}] * {_at(room, _ATOM)}"
        case "list.extend":
            return f"{_at(args[0], _ATOM)}.extend({expression(args[1])})"
        case "list.append":
            return f"{_at(args[0], _ATOM)}.append({_tuple(args[1:])})"
        case "list.set":
            return f"{_at(args[0], _ATOM)}[{expression(args[1])}] = {_tuple(args[2:])}"
        case "list.pop":
            return f"{_at(args[0], _ATOM)}.pop()"
        case "list.get":
            return f"{_at(args[0], _ATOM)}[{expression(args[1])}]"
        case "index":
            return f"unsigned({expression(args[0])})"
        case "abs" | "min" | "max" | "round" | "divmod" | "len":
            return f"{fn}({_list(args)})"
    if fn.startswith("cast."):
        dtype = fn.removeprefix("cast.")
        return f"{_CASTS.get(dtype, f'np.{dtype}')}({_list(args)})"
    name, *keywords = fn.split(";")
    texts = [expression(arg) for arg in args]
    open_keywords = [k for k in keywords if k.endswith("=")]
    for place, keyword in enumerate(open_keywords, len(texts) - len(open_keywords)):
        texts[place] = keyword + texts[place]
    texts += [k for k in keywords if not k.endswith("=")]
    return f"{name}({', '.join(texts)})"


def _stacked(args: tuple[Expr, ...]) -> str:
    """A value of a stack's element type; the list made of it is empty but typed."""
    dtype, *array = (arg.value for arg in args if isinstance(arg, Const))
    if not array:
        zero = {"float64": "0.0", "int64": "0", "bool": "False"}
        return zero.get(str(dtype), f"np.{dtype}(0)")
    ndim, layout = array
    assert isinstance(ndim, int)
    zeros = ", ".join("0" * ndim)
    made = f"np.empty(({zeros},){_dtype(Const(dtype))})" if ndim else f"np.empty((){_dtype(Const(dtype))})"
    if layout == "read-only":
        return f"np.broadcast_to({made}, ({zeros},))"
    if layout == "F":
        # a column of a matrix in Fortran's order: of a vector, `.T` is as Numba has vectors by themselves
        return f"{made}.T" if ndim > 1 else f"np.empty((1, 0){_dtype(Const(dtype))}).T[:, 0]"
    return made if layout == "C" else f"{made}[{', '.join(['::2'] * ndim)}]"


def _stacked_tuple(dtypes: Iterable[Expr]) -> str:
    """A tuple of a list's element type."""
    return f"({', '.join(_stacked((dtype,)) for dtype in dtypes)})"


def _tuple(args: tuple[Expr, ...]) -> str:
    return f"({_list(args)},)" if len(args) == 1 else f"({_list(args)})"


def _shape(args: tuple[Expr, ...]) -> str:
    return expression(args[0]) if len(args) == 1 else f"({_list(args)})"


def _dtype(dtype: Expr) -> str:
    assert isinstance(dtype, Const)
    if dtype.value == "float64":
        return ""
    return ", dtype=np.bool_" if dtype.value == "bool" else f", dtype=np.{dtype.value}"


def _subscript(arg: Expr) -> str:
    if isinstance(arg, Op) and arg.fn == "slice":
        low, high, step = ("" if a == Const(None) else _at(a, 1) for a in arg.args)
        return f"{low}:{high}" + (f":{step}" if step else "")
    return expression(arg)


@dataclass(frozen=True)
class Printed:
    """What the text of a block follows from, beside the block.

    once    names that are read in one place of the function; without them values that change places are statements
    arrays  names of arrays: of those `x += y` would change what other names stand for
    brief   whether adjoints that begin with the same number are set in one line
    """

    once: frozenset[str] = frozenset()
    arrays: frozenset[str] = frozenset()
    brief: bool = False


def statements(block: Block, depth: int, quote: bool = True, known: Printed = Printed()) -> list[str]:
    """The lines of a block; `quote` adds the user's line above what comes from it."""
    return traced(block, depth, quote, known)[0]


def traced(
    block: Block, depth: int, quote: bool = True, known: Printed = Printed()
) -> tuple[list[str], list[Span | None]]:
    """The lines of a block, and the place in the user's source that each of them comes from."""
    writer = _Writer(quote, known)
    writer.block(block, depth)
    return writer.lines, writer.origins


def printed(core: Function, brief: bool = False) -> Printed:
    """What the text of a function follows from."""
    counts = Counter(name for stmt in walk(core.body) for name in reads(stmt))
    once = frozenset(name for name, count in counts.items() if count == 1)
    return Printed(once, frozenset(name for name, type_ in core.types.items() if isinstance(type_, Array)), brief)


def begun(block: Block) -> tuple[tuple[str, ...], Const | None]:
    """The adjoints that begin with one number at the start of a block, and the number, if there are several."""
    match block[:1]:
        case (Assign(value=Const() as number),):
            alike = takewhile(lambda stmt: _begins(stmt, number), block)
            targets = tuple(stmt.target for stmt in alike if isinstance(stmt, Assign))[:_TOGETHER]
            return (targets, number) if len(targets) > 1 else ((), None)
    return (), None


def _begins(stmt: Stmt, number: Const) -> bool:
    """Whether a statement is the beginning of an adjoint."""
    return isinstance(stmt, Assign) and is_adjoint(stmt.target) and repr(stmt.value) == repr(number)


def rotated(block: Block, once: frozenset[str]) -> tuple[str, ...]:
    """The names whose values change places at the start of a block: `t = a; a = b; b = t` gives a, b.

    once  names that are read in one place of the function
    """
    match block[:1]:
        case (Assign(target=kept, value=Name(id=first)),) if kept in once:
            places = [first]
        case _:
            return ()
    for stmt in block[1:]:
        match stmt:
            case Assign(target=target, value=Name(id=source)) if target == places[-1]:
                if source == kept:
                    return tuple(places) if len(places) > 1 else ()
                if source in places:
                    return ()
                places.append(source)
            case _:
                return ()
    return ()


class _Writer:
    def __init__(self, quote: bool, known: Printed) -> None:
        self.known = known
        self.lines: list[str] = []
        # of each line; a statement adds its own when it ends or a block inside it begins
        self.origins: list[Span | None] = []
        self.quote = quote
        self.last: tuple[str, int] | None = None
        self.open: list[Span | None] = []

    def block(self, block: Block, depth: int) -> None:
        if not block:
            self.lines.append(INDENT * depth + "pass")
        self.trace(self.open[-1] if self.open else None)
        rest = block
        while rest:
            stmt, places = rest[0], rotated(rest, self.known.once)
            together, number = begun(rest) if self.known.brief else ((), None)
            quoted = self.cite(stmt)
            place = len(self.lines)
            self.open.append(stmt.span)
            if places:
                left, right = ", ".join(places), ", ".join((*places[1:], places[0]))
                self.lines.append(f"{INDENT * depth}{left} = {right}")
            elif number is not None:
                self.lines.append(f"{INDENT * depth}{' = '.join(together)} = {expression(number)}")
            else:
                self.statement(stmt, depth)
            rest = rest[len(together) if together else len(places) + 1 if places else 1 :]
            self.trace(stmt.span)
            self.open.pop()
            # a line that came out as the user wrote it needs no quotation
            if quoted and not _says(self.lines[place], quoted) and quoted != _unmarked(stmt):
                self.lines.insert(place, f"{INDENT * depth}# {quoted}")
                self.origins.insert(place, stmt.span)

    def trace(self, span: Span | None) -> None:
        """Note where the lines since the last call come from."""
        self.origins += [span] * (len(self.lines) - len(self.origins))

    def cite(self, stmt: Stmt) -> str:
        """The user's line, if it is to be quoted: once for a run of statements, and not inside itself."""
        span = stmt.span
        if not self.quote or span is None or not span.text.strip():
            return ""
        if span.begins_loop and not any(isinstance(inner, For | Loop) for inner in walk((stmt,))):
            # what a loop starts from, and what is kept of it
            return ""
        if _speaks_for_itself(stmt, span.text.strip()):
            return ""
        here = (span.file, span.line)
        if here == self.last or any(one is not None and (one.file, one.line) == here for one in self.open):
            return ""
        self.last = here
        return span.text.strip()

    def assignment(self, target: str, value: Expr) -> str:
        """`x += y` where that is what it says."""
        match value:
            case Op(fn="+" | "-" | "*" | "/" as fn, args=(Name(id=name), added)) if name == target:
                if name not in self.known.arrays:
                    return f"{target} {fn}= {expression(added)}"
        return f"{target} = {expression(value)}"

    def statement(self, stmt: Stmt, depth: int) -> None:
        pad = INDENT * depth
        match stmt:
            case Assign(target=target, value=value):
                self.lines.append(pad + self.assignment(target, value))
            case Store(array=array, index=index, value=value, accumulate=accumulate):
                subs = ", ".join(map(_subscript, index)) or "()"
                # a whole array that is added to
                place = array if accumulate and subs and not subs.strip(":, ") else f"{array}[{subs}]"
                negative = _negative(value) if accumulate else None
                sign = "-=" if negative is not None else "+=" if accumulate else "="
                self.lines.append(f"{pad}{place} {sign} {expression(value if negative is None else negative)}")
            case If():
                self.conditional(stmt, depth, "if")
                if self.known.brief and _hands_on(stmt):
                    self.lines.append("")
            case For():
                self.lines.append(f"{pad}for {stmt.var} in {_range(stmt)}:")
                self.block(stmt.body, depth + 1)
            case Loop(body=(If(test=test, body=(Break(),), orelse=()), *rest)):
                self.lines.append(f"{pad}while {expression(_opposite(test))}:")
                self.block(tuple(rest), depth + 1)
            case Loop(body=body):
                self.lines.append(f"{pad}while True:")
                self.block(body, depth + 1)
            case Break():
                self.lines.append(f"{pad}break")
            case Note(text=text):
                if self.lines and self.lines[-1]:
                    self.lines.append("")
                self.lines.append(f"{pad}# {text}")
                self.last = None
            case Push(stack=stack, value=value):
                self.lines.append(f"{pad}{stack}.append({expression(value)})")
            case Raise(exception=exception, args=args):
                self.lines.append(f"{pad}raise {exception}({_list(args)})")
            case Print(args=args):
                self.lines.append(f"{pad}print({_list(args)})")
            case Call(targets=targets, function=Custom(), args=args):
                self.lines.append(f"{pad}{', '.join(targets)} = {_list(args[: len(targets)])}")
            case Call(targets=targets, function=function, args=args):
                call = _primary(function, args)
                left = ", ".join(targets) + ("," if len(targets) == 1 and _gives_tuple(function) else "")
                self.lines.append(f"{pad}{left} = {call}" if targets else f"{pad}{call}")
            case Return(values=values):
                self.lines.append(f"{pad}return {_list(values)}".rstrip())

    def conditional(self, stmt: If, depth: int, word: str) -> None:
        pad = INDENT * depth
        # twice the opposite is the same, and plainer
        body, orelse, test = stmt.body, stmt.orelse, expression(_opposite(_opposite(stmt.test)))
        if not body and orelse:
            test, body, orelse = expression(_opposite(stmt.test)), orelse, ()
        self.lines.append(f"{pad}{word} {test}:")
        self.block(body, depth + 1)
        if len(orelse) == 1 and isinstance(orelse[0], If) and orelse[0].body:
            self.open.append(orelse[0].span)
            self.conditional(orelse[0], depth, "elif")
            self.trace(orelse[0].span)
            self.open.pop()
        elif orelse:
            self.lines.append(f"{pad}else:")
            self.block(orelse, depth + 1)


def _hands_on(stmt: If) -> bool:
    """Whether a test hands what is not for this function on to another one."""
    return len(stmt.body) == 1 and isinstance(stmt.body[0], Return)


def _gives_tuple(function: str) -> bool:
    """Whether a called function returns a tuple of one, too."""
    return "." in function or isinstance(function, Opaque)


def _negative(expr: Expr) -> Expr | None:
    """What to subtract instead of adding `expr`, if that is plainer."""
    if isinstance(expr, Op) and expr.fn == "neg":
        return expr.args[0]
    if isinstance(expr, Const) and isinstance(expr.value, float) and expr.value < 0.0:
        return Const(-expr.value)
    return None


def _opposite(test: Expr) -> Expr:
    """The opposite of a condition; `not a < b` stays, since neither holds for a nan."""
    if isinstance(test, Op) and test.fn in _OPPOSITE:
        return Op(_OPPOSITE[test.fn], test.args)
    if isinstance(test, Op) and test.fn in _OTHER_WORD:
        parts = tuple(map(_opposite, test.args))
        if not any(isinstance(part, Op) and part.fn == "not" for part in parts):
            return Op(_OTHER_WORD[test.fn], parts)
    return test.args[0] if isinstance(test, Op) and test.fn == "not" else Op("not", (test,))


def _speaks_for_itself(stmt: Stmt, line: str) -> bool:
    """Whether a statement of the user's line needs no quotation: it names an extent, or an error that has the line."""
    match stmt:
        case Assign(value=Op(fn="dim")):
            return True
        case If(body=(Raise(args=(*_, Const(value=str(shown)))),), orelse=()):
            return shown == line or (shown.endswith("...") and line.startswith(shown.removesuffix("...")))
    return False


def _says(line: str, quoted: str) -> bool:
    """Whether a line is the user's line, but for blanks and how numbers are spelt."""
    return line.strip() == quoted or _spelt(line) == _spelt(quoted)


def _spelt(line: str) -> str:
    """A line without blanks, and with one spelling of each number."""
    return "".join(_NUMBER.sub(lambda found: repr(float(found.group())), line).split())


def _unmarked(stmt: Stmt) -> str | None:
    """The first line of a loop, without what LLVM alone is told."""
    return f"for {stmt.var} in {_range(replace(stmt, independent=False))}:" if isinstance(stmt, For) else None


def _range(stmt: For) -> str:
    if stmt.slots is not None:
        return f"tapec_runtime.checkpointed(range({expression(stmt.stop)}), {expression(stmt.slots)})"
    if stmt.independent:
        return f"tapec_runtime.independent({_range(replace(stmt, independent=False))})"
    word = "numba.prange" if stmt.parallel else "range"
    if stmt.step != Const(1):
        return f"{word}({_list((stmt.start, stmt.stop, stmt.step))})"
    if stmt.start != Const(0):
        return f"{word}({_list((stmt.start, stmt.stop))})"
    return f"{word}({expression(stmt.stop)})"


def harmless(text: str) -> str:
    """Text from outside, such as a name, as it may stand in a docstring or comment: on one line, and it ends neither.

    >>> harmless('say "x"\\nimport os')
    "say 'x'?import os"
    """
    line = "".join(sign if sign.isprintable() and sign != "\\" else "?" for sign in text)
    return line.replace('"', "'").replace("*/", "* /")


def function(core: Function, quote: bool = True, doc: str = "") -> str:
    """The text of a function definition."""
    lines = [f"def {core.name}({', '.join(core.params)}):"]
    if doc:
        lines.append(f'{INDENT}"""{doc}"""')
    if core.wide:
        lines.append(f"{INDENT}{WIDE}")
    lines += statements(core.body, 1, quote, printed(core))
    return "\n".join(lines) + "\n"
