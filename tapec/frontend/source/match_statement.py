"""`match` as `if`: what each pattern asks of the subject, and the names that it binds.

    match layer:                            if isinstance(layer, Dense) and layer.units == 1:
        case Dense(units=1, act=f):             f = layer.act
            y = f(y)                            y = f(y)
        case Scale() if y > 0:              else:
            y = -y                              $hit1 = False
        case _:                                 if isinstance(layer, Scale):
            y = y + 1                               if y > 0: $hit1 = True
                                                if $hit1: y = -y
                                                else: y = y + 1

What Python asks by its own rules (whether something is a sequence, the attributes that `__match_args__`
names) are calls of the functions at the end of this file, which `pattern_tests.py` lowers.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gast

Statements = list[Any]

# classes whose one positional pattern is the subject itself
WHOLE_SUBJECTS = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def without_match(stmts: Statements) -> Statements:
    """The statements with every `match` of their own written as `if`; functions inside are left alone."""
    if not any(isinstance(node, gast.Match) for stmt in stmts for node in gast.walk(stmt)):
        return stmts
    return _Rewriter().block(stmts)


@dataclass
class _Found:
    """What a pattern asks, in order, and what it binds."""

    tests: list[Any] = field(default_factory=list)
    captures: list[tuple[str, Any]] = field(default_factory=list)

    def add(self, other: _Found) -> None:
        self.tests += other.tests
        self.captures += other.captures


class _Rewriter:
    def __init__(self) -> None:
        self.count = itertools.count(1)

    def block(self, stmts: Statements) -> Statements:
        out: Statements = []
        for stmt in stmts:
            if isinstance(stmt, gast.Match):
                out += self.match(stmt)
            elif isinstance(stmt, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
                out.append(stmt)
            else:
                out.append(self.inside(stmt))
        return out

    def inside(self, stmt: Any) -> Any:
        """A statement with the `match` statements of its blocks rewritten."""
        changed: dict[str, Any] = {}
        for name in ("body", "orelse", "finalbody"):
            if isinstance(inner := getattr(stmt, name, None), list):
                changed[name] = self.block(inner)
        if handlers := getattr(stmt, "handlers", None):
            changed["handlers"] = [self.inside(handler) for handler in handlers]
        if not changed:
            return stmt
        fields = [changed.get(name, getattr(stmt, name, None)) for name in stmt._fields]
        return gast.copy_location(type(stmt)(*fields), stmt)

    def match(self, node: gast.Match) -> Statements:
        before: Statements = []
        subject = node.subject
        bound = {name for case in node.cases for name in _bound(case.pattern)}
        if not isinstance(subject, gast.Name) or subject.id in bound:
            name = f"$match{next(self.count)}"
            before = [_assign(name, subject, subject)]
            subject = _name(name, subject)
        result: Statements = []
        for case in reversed(node.cases):
            result = self.case(case, subject, result)
        return before + result

    def case(self, case: Any, subject: Any, otherwise: Statements) -> Statements:
        where = case.pattern if hasattr(case.pattern, "lineno") else subject
        found = _pattern(case.pattern, subject)
        captures = [_assign(name, value, where) for name, value in found.captures]
        body = self.block(case.body)
        if case.guard is None:
            return _if(found.tests, captures + body, otherwise, where)
        hit = f"$hit{next(self.count)}"
        guarded = _if([case.guard], [_assign(hit, _constant(True, where), where)], [], where)
        return [
            _assign(hit, _constant(False, where), where),
            *_if(found.tests, captures + guarded, [], where),
            *_if([_name(hit, where)], body, otherwise, where),
        ]


def _bound(pattern: Any) -> set[str]:
    """The names that a pattern binds."""
    names = {getattr(node, "name", None) or getattr(node, "rest", None) for node in gast.walk(pattern)}
    return {name for name in names if isinstance(name, str)}


def _pattern(pattern: Any, subject: Any) -> _Found:
    match pattern:
        case gast.MatchValue():
            return _Found([_at(gast.Compare(subject, [gast.Eq()], [pattern.value]), subject)])
        case gast.MatchSingleton():
            wanted = _constant(pattern.value, subject)
            return _Found([_at(gast.Compare(subject, [gast.Is()], [wanted]), subject)])
        case gast.MatchAs():
            found = _Found() if pattern.pattern is None else _pattern(pattern.pattern, subject)
            if pattern.name is not None:
                found.captures.append((pattern.name, subject))
            return found
        case gast.MatchOr():
            return _either([_pattern(one, subject) for one in pattern.patterns], subject)
        case gast.MatchSequence():
            return _sequence(pattern, subject)
        case gast.MatchMapping():
            return _mapping(pattern, subject)
    return _class(pattern, subject)


def _either(ways: list[_Found], subject: Any) -> _Found:
    tests = [_all(way.tests, subject) for way in ways]
    captures: list[tuple[str, Any]] = []
    for name, last in ways[-1].captures:
        value = last
        for way, test in reversed(list(zip(ways[:-1], tests, strict=False))):
            value = _at(gast.IfExp(test, dict(way.captures)[name], value), subject)
        captures.append((name, value))
    return _Found([_at(gast.BoolOp(gast.Or(), tests), subject)], captures)


def _sequence(pattern: Any, subject: Any) -> _Found:
    items = pattern.patterns
    star = next((k for k, one in enumerate(items) if isinstance(one, gast.MatchStar)), None)
    fixed = len(items) - (star is not None)
    length = _call(len, [subject], subject)
    enough = gast.Eq() if star is None else gast.GtE()
    found = _Found([
        _call(is_sequence, [subject], subject),
        _at(gast.Compare(length, [enough], [_constant(fixed, subject)]), subject),
    ])
    for k, one in enumerate(items):
        if k == star:
            if one.name is not None:
                behind = len(items) - k - 1
                upper = _constant(-behind, subject) if behind else None
                part = _at(gast.Slice(_constant(k, subject), upper, None), subject)
                found.captures.append((one.name, _call(list, [_item(subject, part)], subject)))
            continue
        place = k if star is None or k < star else k - len(items)
        found.add(_pattern(one, _item(subject, _constant(place, subject))))
    return found


def _mapping(pattern: Any, subject: Any) -> _Found:
    found = _Found([_call(is_mapping, [subject], subject)])
    for key, one in zip(pattern.keys, pattern.patterns, strict=True):
        found.tests.append(_at(gast.Compare(key, [gast.In()], [subject]), subject))
        found.add(_pattern(one, _item(subject, key)))
    if pattern.rest is not None:
        found.captures.append((pattern.rest, _call(rest_of, [subject, *pattern.keys], subject)))
    return found


def _class(pattern: Any, subject: Any) -> _Found:
    found = _Found([_call(isinstance, [subject, pattern.cls], pattern)])
    for k, one in enumerate(pattern.patterns):
        found.add(_pattern(one, _call(positional, [subject, pattern.cls, _constant(k, subject)], pattern)))
    for name, one in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        found.tests.append(_call(hasattr, [subject, _constant(name, subject)], pattern))
        found.add(_pattern(one, _at(gast.Attribute(subject, name, gast.Load()), pattern)))
    return found


# trees


def _at(new: Any, where: Any) -> Any:
    return gast.copy_location(new, where)


def _name(name: str, where: Any, store: bool = False) -> Any:
    return _at(gast.Name(name, gast.Store() if store else gast.Load(), None, None), where)


def _constant(value: Any, where: Any) -> Any:
    return _at(gast.Constant(value, None), where)


def _assign(name: str, value: Any, where: Any) -> Any:
    return _at(gast.Assign([_name(name, where, store=True)], value, None), where)


def _item(owner: Any, index: Any) -> Any:
    return _at(gast.Subscript(owner, index, gast.Load()), owner)


def _call(function: Any, args: list[Any], where: Any) -> Any:
    return _at(gast.Call(_constant(function, where), args, []), where)


def _all(tests: list[Any], where: Any) -> Any:
    if not tests:
        return _constant(True, where)
    return tests[0] if len(tests) == 1 else _at(gast.BoolOp(gast.And(), tests), where)


def _if(tests: list[Any], body: Statements, orelse: Statements, where: Any) -> Statements:
    if not tests:
        return body
    return [_at(gast.If(_all(tests, where), body, orelse), where)]


# what patterns ask; lowered by the functions below


def is_sequence(value: Any) -> bool:
    """Whether a sequence pattern may fit: arrays and text are none."""
    return isinstance(value, Sequence | collections.deque) and not isinstance(value, str | bytes | bytearray)


def is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def rest_of(value: Any, *keys: Any) -> Any:
    """The items of a mapping that a pattern does not name."""
    return {key: item for key, item in value.items() if key not in keys}


def positional(value: Any, cls: type, place: int) -> Any:
    """What a positional pattern of a class is about."""
    return value if issubclass(cls, WHOLE_SUBJECTS) else getattr(value, cls.__match_args__[place])  # type: ignore[attr-defined]
