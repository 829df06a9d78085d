"""The text of a function that has code and no text, as what `exec` makes of a string: read off its instructions.

Whatever is read is compiled again, and counts only where that gives the very instructions, constants and names of the
code.  So nothing here has to be trusted; a function for which it does not succeed has no source, as before.

Statements are assignments, `if`, `for`, `while`, `return`, `break`, `continue` and calls; expressions are those that
leave one value, without functions and comprehensions inside.
"""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# other flags, such as those of `from __future__ import`, do not change what code does
_FLAGS = 0x2F
_QUIET = frozenset(("RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "MAKE_CELL", "PRECALL", "PUSH_NULL", "NOT_TAKEN"))
_LOADS = frozenset(("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME"))
_UNARY: dict[str, ast.unaryop] = {
    "UNARY_NEGATIVE": ast.USub(),
    "UNARY_POSITIVE": ast.UAdd(),
    "UNARY_NOT": ast.Not(),
    "UNARY_INVERT": ast.Invert(),
}
_COMPARED: dict[str, ast.cmpop] = {
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
    "==": ast.Eq(),
    "!=": ast.NotEq(),
}
_BINARY: dict[str, ast.operator] = {
    "+": ast.Add(),
    "-": ast.Sub(),
    "*": ast.Mult(),
    "/": ast.Div(),
    "//": ast.FloorDiv(),
    "%": ast.Mod(),
    "**": ast.Pow(),
    "@": ast.MatMult(),
    "&": ast.BitAnd(),
    "|": ast.BitOr(),
    "^": ast.BitXor(),
    "<<": ast.LShift(),
    ">>": ast.RShift(),
}


class _Unreadable(Exception):
    """Instructions that are none of those that are read."""


@dataclass
class _Unpacked:
    """A value that is unpacked, and the names that it has been given so far."""

    value: ast.expr
    count: int
    targets: list[ast.expr] = field(default_factory=list)


@dataclass
class _InPlace:
    """What `x += y` leaves, before it is stored."""

    target: ast.expr
    op: ast.operator
    value: ast.expr


# what a `for` keeps below its body's values
_ITERATOR: Any = object()
_Loop = tuple[int, int]


def text_of(code: types.CodeType) -> str | None:
    """A definition that compiles to `code`; None if none is found."""
    try:
        text = _Reader(code).text()
        made = _compiled(text, code)
    except (_Unreadable, SyntaxError, IndexError, AttributeError, TypeError, ValueError, RecursionError):
        return None
    return text if made is not None and _traits(made) == _traits(code) else None


def _compiled(text: str, code: types.CodeType) -> types.CodeType | None:
    """The code of the function that `text` defines."""
    if code.co_freevars:
        outer = f"def around({', '.join(code.co_freevars)}):\n"
        text = outer + "".join(f"    {line}\n" for line in text.splitlines())
    found = compile(text, code.co_filename, "exec", dont_inherit=True)
    for _ in range(2 if code.co_freevars else 1):
        found = next(one for one in found.co_consts if isinstance(one, types.CodeType))
    return found


def _traits(code: types.CodeType) -> tuple[Any, ...]:
    """All that says what code does."""
    constants = [(type(one).__name__, repr(one)) for one in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _FLAGS
    return code.co_code, constants, names, counts, code.co_exceptiontable


class _Reader:
    """Instructions, and the values that they leave on the stack."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.instructions = [one for one in dis.get_instructions(code) if one.opname not in _QUIET]
        # where a jump goes, by offset: the first instruction from there on that is not quiet
        self.offsets = [one.offset for one in self.instructions]
        self.keywords: tuple[str, ...] = ()

    def text(self) -> str:
        code = self.code
        body, stack = self.block(0, len(self.instructions), [], None)
        if stack or any(isinstance(one, types.CodeType) for one in code.co_consts):
            raise _Unreadable
        used = {one.arg for one in self.instructions if one.opname == "LOAD_CONST"}
        if code.co_consts and isinstance(code.co_consts[0], str) and 0 not in used:
            body.insert(0, ast.Expr(ast.Constant(code.co_consts[0])))
        name = code.co_name if code.co_name.isidentifier() else ""
        made: ast.AST
        if name:
            made = ast.FunctionDef(name, self.arguments(), body or [ast.Pass()], [], **_TYPE_PARAMETERS)
        else:
            [returned] = body
            if not isinstance(returned, ast.Return) or returned.value is None:
                raise _Unreadable
            made = ast.Expr(ast.Lambda(self.arguments(), returned.value))
        return ast.unparse(ast.fix_missing_locations(ast.Module([made], []))) + "\n"

    def arguments(self) -> ast.arguments:
        code = self.code
        names = [ast.arg(name) for name in code.co_varnames]
        positional, only = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        more = names[only:]
        star = more.pop(0) if code.co_flags & 0x04 else None
        double = more.pop(0) if code.co_flags & 0x08 else None
        first = code.co_posonlyargcount
        keyword = names[positional:only]
        return ast.arguments(names[:first], names[first:positional], star, keyword, [None for _ in keyword], double, [])

    def at(self, offset: int) -> int:
        return next((k for k, one in enumerate(self.offsets) if one >= offset), len(self.offsets))

    def block(self, start: int, end: int, stack: list[Any], loop: _Loop | None) -> tuple[list[ast.stmt], list[Any]]:
        """The statements of some instructions, and what they leave on the stack."""
        body: list[ast.stmt] = []
        place = start
        while place < end:
            place = self.step(place, end, body, stack, loop)
        return body, stack

    def step(self, place: int, end: int, body: list[ast.stmt], stack: list[Any], loop: _Loop | None) -> int:
        """Read one instruction, or one statement with a body; where the next one is."""
        one = self.instructions[place]
        name, value = one.opname, one.argval
        targets: list[ast.expr]
        if "JUMP" in name:
            return self.jump(place, end, body, stack, loop)
        if name == "FOR_ITER":
            return self.for_(place, body, stack)
        if name in ("RETURN_VALUE", "RETURN_CONST"):
            body.append(ast.Return(stack.pop() if name == "RETURN_VALUE" else ast.Constant(value)))
        elif name == "POP_TOP":
            top = stack.pop()
            if top is not _ITERATOR:
                body.append(ast.Expr(top))
        elif name == "STORE_FAST" and (count := self.stores(place, stack)) > 1:
            values = [stack.pop() for _ in range(count)][::-1]
            names = [store.argval for store in self.instructions[place : place + count]][::-1]
            targets = [ast.Name(ident, ast.Store()) for ident in names]
            body.append(_assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load())))
            return place + count
        elif name.startswith("STORE_"):
            self.store(one, body, stack)
        elif name == "SWAP" and self.instructions[place + 1].opname.startswith("STORE_FAST") and value in (2, 3):
            values = [stack.pop() for _ in range(value)][::-1]
            stores = self.instructions[place + 1 : place + 1 + value]
            if any(store.opname != "STORE_FAST" for store in stores):
                raise _Unreadable
            targets = [ast.Name(store.argval, ast.Store()) for store in stores]
            body.append(_assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load())))
            return place + 1 + value
        elif name == "COPY" and value == 1 and self.instructions[place + 1].opname == "STORE_FAST":
            targets = [ast.Name(store.argval, ast.Store()) for store in self.instructions[place + 1 : place + 3]]
            if self.instructions[place + 2].opname != "STORE_FAST":
                raise _Unreadable
            body.append(_assign(targets, stack.pop()))
            return place + 3
        else:
            self.expression(one, stack)
        return place + 1

    def stores(self, place: int, stack: list[Any]) -> int:
        """How many values names are given, one after the other."""
        count = 0
        while (
            count < len(stack)
            and isinstance(stack[-1 - count], ast.expr)
            and stack[-1 - count] is not _ITEM
            and self.instructions[place + count].opname == "STORE_FAST"
        ):
            count += 1
        return count

    def expression(self, one: dis.Instruction, stack: list[Any]) -> None:
        """An instruction that leaves a value."""
        name, value = one.opname, one.argval
        if name in _LOADS:
            stack.append(ast.Name(value, ast.Load()))
        elif name == "LOAD_CONST":
            stack.append(ast.Constant(value))
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            stack.append(ast.Attribute(stack.pop(), value, ast.Load()))
        elif name in _UNARY:
            stack.append(ast.UnaryOp(_UNARY[name], stack.pop()))
        elif name == "BINARY_OP":
            right, left = stack.pop(), stack.pop()
            sign = one.argrepr
            in_place = sign.endswith("=")
            made = _InPlace(left, _BINARY[sign[:-1]], right) if in_place else ast.BinOp(left, _BINARY[sign], right)
            stack.append(made)
        elif name == "COMPARE_OP":
            right, left = stack.pop(), stack.pop()
            stack.append(ast.Compare(left, [_COMPARED[value.removeprefix("bool(").rstrip(")")]], [right]))
        elif name == "IS_OP":
            right, left = stack.pop(), stack.pop()
            stack.append(ast.Compare(left, [ast.IsNot() if one.arg else ast.Is()], [right]))
        elif name == "BINARY_SUBSCR":
            index, owner = stack.pop(), stack.pop()
            stack.append(ast.Subscript(owner, index, ast.Load()))
        elif name in ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SLICE"):
            items = [stack.pop() for _ in range(one.arg or 0)][::-1]
            kind: Callable[..., ast.expr] = ast.Tuple if name == "BUILD_TUPLE" else ast.List
            stack.append(ast.Slice(*map(_bound, items)) if name == "BUILD_SLICE" else kind(items, ast.Load()))
        elif name == "KW_NAMES":
            self.keywords = self.code.co_consts[one.arg or 0]
        elif name == "CALL":
            self.call(one.arg or 0, stack)
        elif name == "UNPACK_SEQUENCE":
            unpacked = _Unpacked(stack.pop(), one.arg or 0)
            stack.extend([unpacked] * unpacked.count)
        elif name == "COPY":
            stack.append(stack[-(one.arg or 0)])
        elif name == "SWAP":
            place = -(one.arg or 0)
            stack[-1], stack[place] = stack[place], stack[-1]
        elif name == "GET_ITER":
            stack.append(stack.pop())
        else:
            raise _Unreadable

    def call(self, count: int, stack: list[Any]) -> None:
        values = [stack.pop() for _ in range(count)][::-1]
        names, self.keywords = self.keywords, ()
        first = count - len(names)
        keywords = [ast.keyword(name, value) for name, value in zip(names, values[first:], strict=True)]
        stack.append(ast.Call(stack.pop(), values[:first], keywords))

    def store(self, one: dis.Instruction, body: list[ast.stmt], stack: list[Any]) -> None:
        """A value that is given to a name, or to a place of an object."""
        target: ast.expr
        if one.opname in ("STORE_FAST", "STORE_DEREF"):
            target = ast.Name(one.argval, ast.Store())
        elif one.opname == "STORE_ATTR":
            target = ast.Attribute(stack.pop(), one.argval, ast.Store())
        elif one.opname == "STORE_SUBSCR":
            index, owner = stack.pop(), stack.pop()
            target = ast.Subscript(owner, index, ast.Store())
        else:
            raise _Unreadable
        value = stack.pop()
        if isinstance(value, _Unpacked):
            value.targets.append(target)
            if len(value.targets) == value.count:
                body.append(_assign([ast.Tuple(value.targets, ast.Store())], value.value))
        elif isinstance(value, _InPlace):
            body.append(ast.AugAssign(target, value.op, value.value))
        elif value is _ITERATOR:
            raise _Unreadable
        else:
            body.append(_assign([target], value))

    def for_(self, place: int, body: list[ast.stmt], stack: list[Any]) -> int:
        """A loop, whose iterator is on the stack."""
        stop = self.at(self.instructions[place].argval)
        given = stack.pop()
        # what the loop gives is stored first, as if it were a value
        inner, rest = self.block(place + 1, stop, [_ITERATOR, _ITEM], (place, stop))
        if rest[:1] != [_ITERATOR] or len(rest) > 1 or not inner or not isinstance(inner[0], ast.Assign):
            raise _Unreadable
        [target] = inner[0].targets
        rest_of = inner[1:]
        if rest_of and isinstance(rest_of[-1], ast.Continue):
            rest_of.pop()
        made = ast.For(target, given, rest_of or [ast.Pass()], [])
        body.append(made)
        return stop

    def jump(self, place: int, end: int, body: list[ast.stmt], stack: list[Any], loop: _Loop | None) -> int:
        one = self.instructions[place]
        name, target = one.opname, self.at(one.argval)
        if name.startswith("JUMP_BACKWARD") and loop is not None and target == loop[0]:
            body.append(ast.Continue())
            return place + 1
        if name == "JUMP_FORWARD" and loop is not None and target >= loop[1]:
            body.append(ast.Break())
            return place + 1
        if name in ("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"):
            inner, rest = self.block(place + 1, target, [], loop)
            [second] = rest
            if inner:
                raise _Unreadable
            op = ast.And() if "FALSE" in name else ast.Or()
            stack.append(ast.BoolOp(op, [stack.pop(), second]))
            return target
        if not name.endswith(("_FALSE", "_TRUE", "_NONE")):
            raise _Unreadable
        return self.if_(place, target, end, body, stack, loop)

    def if_(
        self, place: int, target: int, end: int, body: list[ast.stmt], stack: list[Any], loop: _Loop | None
    ) -> int:
        """A test with what follows it: `if`, `while`, or one value of two."""
        test, place, target = self.test(place, target, stack)
        first = place + 1
        last = self.instructions[target - 1] if target > first else None
        if last is not None and "BACKWARD_IF" in last.opname and self.at(last.argval) == first:
            again = self.repeated(place, target - 1)
            inner, rest = self.block(first, target - again, [], (first, target))
            if rest:
                raise _Unreadable
            body.append(ast.While(test, inner or [ast.Pass()], []))
            return target
        forward = last is not None and last.opname == "JUMP_FORWARD"
        joined = self.at(last.argval) if forward and last is not None else target
        leaves = loop is not None and joined >= loop[1] and forward
        if forward and not leaves:
            inner, rest = self.block(first, target - 1, [], loop)
            other, remaining = self.block(target, joined, [], loop)
            if len(rest) == len(remaining) == 1 and not inner and not other:
                stack.append(ast.IfExp(test, rest[0], remaining[0]))
            elif rest or remaining:
                raise _Unreadable
            else:
                body.append(ast.If(test, inner or [ast.Pass()], other))
            return joined
        inner, rest = self.block(first, min(target, end), [_ITERATOR] if stack[-1:] == [_ITERATOR] else [], loop)
        if [one for one in rest if one is not _ITERATOR]:
            raise _Unreadable
        body.append(ast.If(test, inner or [ast.Pass()], []))
        return min(target, end)

    def repeated(self, place: int, last: int) -> int:
        """How many instructions before and at `last` are the test of a loop that ends at `place`, once more."""
        count = 1
        while place - count >= 0:
            one, other = self.instructions[place - count], self.instructions[last - count]
            jumps = "JUMP" in one.opname and one.opname == other.opname
            same = jumps or (one.opname, one.argval) == (other.opname, other.argval)
            if not same or one.opname.startswith(("STORE_", "POP_TOP", "RETURN")):
                break
            count += 1
        return count

    def test(self, place: int, target: int, stack: list[Any]) -> tuple[ast.expr, int, int]:
        """The test of an `if` or `while`, with `and` and `or`; where its last jump is, and where that goes."""
        name = self.instructions[place].opname
        tests = [self.asked(name, stack.pop())]
        negated, joined = "_TRUE" in name, target
        while (found := self.next_test(place)) is not None:
            following, value = found
            other = self.instructions[following]
            goes = self.at(other.argval)
            if "_TRUE" not in name and "_TRUE" not in other.opname and goes == joined:
                tests.append(self.asked(other.opname, value))
                place, name = following, other.opname
                continue
            if negated and len(tests) == 1 and joined == following + 1 and "_TRUE" not in other.opname:
                either = ast.BoolOp(ast.Or(), [*tests, self.asked(other.opname, value)])
                return either, following, goes
            break
        if negated:
            tests = [ast.UnaryOp(ast.Not(), tests[0])]
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests), place, joined

    def asked(self, name: str, value: ast.expr) -> ast.expr:
        """A value that is compared with None by the jump itself."""
        if not name.endswith("NONE"):
            return value
        op = ast.Is() if name.endswith("NOT_NONE") else ast.IsNot()
        return ast.Compare(value, [op], [ast.Constant(None)])

    def next_test(self, place: int) -> tuple[int, ast.expr] | None:
        """The next jump and its test, if nothing but an expression stands before it."""
        stack: list[Any] = []
        for k in range(place + 1, len(self.instructions)):
            one = self.instructions[k]
            if "JUMP_FORWARD_IF" in one.opname or one.opname.startswith("POP_JUMP_IF"):
                return (k, stack[0]) if len(stack) == 1 else None
            try:
                self.expression(one, stack)
            except (_Unreadable, IndexError):
                return None
        return None


_ITEM: ast.expr = ast.Name("$item", ast.Load())
_TYPE_PARAMETERS: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


def _bound(item: ast.expr) -> ast.expr | None:
    return None if isinstance(item, ast.Constant) and item.value is None else item


def _assign(targets: list[ast.expr], value: Any) -> ast.stmt:
    if not isinstance(value, ast.expr):
        raise _Unreadable
    return ast.Assign(targets, value)
