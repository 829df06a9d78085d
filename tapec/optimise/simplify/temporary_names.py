"""What a temporary is called: after what it holds.

    t = u[i]              u_i = u[i]
    t_1 = t ** 2    ->    u_i_squared = u_i ** 2
    t_2 = a < b           test = a < b

A base of a name is never a word of the user's: `product_1` would be taken for another `product`.
"""

from __future__ import annotations

from collections.abc import Callable

from tapec.optimise.name_origins import Vocabulary, is_adjoint, is_tangent
from tapec.syntax.core import Assign, Const, Expr, For, Function, Name, Op, names_in, walk
from tapec.syntax.types import Array

# what an operation gives
_NOUNS = {
    "+": "total",
    "-": "difference",
    "*": "product",
    "/": "ratio",
    "//": "quotient",
    "%": "remainder",
    "**": "power",
    "neg": "negative",
    "ifelse": "chosen",
    "where": "chosen",
    "sum": "total",
    "max": "larger",
    "min": "smaller",
    "abs": "magnitude",
    "exp": "exponential",
    "log": "logarithm",
    "sqrt": "root",
    "sin": "sine",
    "cos": "cosine",
    "dot": "product",
    "empty": "work",
    "zeros": "work",
}
# by the rank of an array, and an axis
_EXTENTS: dict[tuple[int, object], str] = {(1, 0): "_size", (2, 0): "_rows", (2, 1): "_cols"}
_TESTS = frozenset({"<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "logical_and", "logical_or", "logical_not"})
_ARITHMETIC = frozenset({"load", "+", "-", "*", "/", "neg", "ifelse", "where", "sum", "dot", "strong"})
_BESIDE = {"+": "next", "-": "previous"}
# longer ones say no more
_LONGEST = 24


class TemporaryNames:
    """The bases of names for temporaries of a function; `chosen` gives the printed name of a name, if it has one."""

    def __init__(self, function: Function, words: Vocabulary, chosen: Callable[[str], str | None]) -> None:
        self.words, self.types = words, function.types
        self.chosen = chosen
        self.values: dict[str, Expr] = {}
        self.counters: set[str] = set()
        for stmt in walk(function.body):
            if isinstance(stmt, Assign):
                self.values.setdefault(stmt.target, stmt.value)
            elif isinstance(stmt, For):
                self.counters.add(stmt.var)
        # what temporaries are that hold adjoints or tangents
        self.derivatives: dict[str, str] = {}
        # whether an extent is `n`
        self.has_n = False

    def base(self, names: list[str]) -> str:
        """The base for a class of names that is one temporary."""
        known = [one for one in names if one in self.values]
        # an array that is only handed on says less
        made = (one for one in known if isinstance(self.values[one], Op) and isinstance(self.types.get(one), Array))
        name = next(made, known[0] if known else None)
        if name is None:
            return self._unless_used("t")
        value = self.values[name]
        derivative = self._derivative(value)
        if derivative is not None:
            self.derivatives |= dict.fromkeys(names, derivative)
        if isinstance(value, Op) and value.fn == "load":
            derivative = None
        return self._unless_used(derivative or self._of(value) or "t")

    def _derivative(self, value: Expr) -> str | None:
        """What elements of adjoints or tangents are, and arithmetic on them."""
        if not isinstance(value, Op) or _operation(value) not in _ARITHMETIC:
            return None
        for name in names_in(value):
            if name in self.derivatives:
                return self.derivatives[name]
            if is_adjoint(name):
                return "tangent" if is_tangent(name) else "adjoint"
        return None

    def _unless_used(self, base: str) -> str:
        return "tmp" if base in self.words.words else base

    def _of(self, value: Expr) -> str | None:
        if not isinstance(value, Op):
            return None
        first = self._word(value.args[0]) if value.args else None
        match _operation(value):
            case "load" if first is not None:
                return self._short(first, self._place(value.args[1:]))
            case "dim":
                return self._extent(first, value.args)
            case "+" | "-" if value.args[1] == Const(1) and first is not None:
                return self._short(first, "_plus_one" if value.fn == "+" else "_less_one")
            case "pop" if isinstance(value.args[0], Name):
                kept = self.words.split(value.args[0].id)[0]
                return self.words.stem(kept if self.words.is_users(kept) else self.chosen(kept) or "t")
            case "**" if value.args[1] == Const(2) and first is not None:
                return self._short(first, "_squared")
            case "max" if len(value.args) == 2 and value.args[1] == Const(0) and first is not None:
                return self._short(first, "_or_zero")
            case "view" if first is not None:
                return self._short(first, "_part")
            case "transpose" if first is not None:
                return self._short(first, "_T")
            case "dot":
                return self._product(value) or _NOUNS["dot"]
            case fn if fn in _TESTS:
                return "test"
            case "uint64" | "int64" | "float64" | "float32":
                return "number"
            case fn:
                return _NOUNS.get(fn) or (f"{fn}_value" if "." in value.fn and fn.isidentifier() else None)

    def _word(self, expr: Expr) -> str | None:
        """The name of an operand, without the number of its version."""
        if not isinstance(expr, Name):
            return None
        core, suffix = self.words.split(expr.id)
        chosen = self.chosen(expr.id) or ((self.chosen(core) or core) + suffix)
        for kept in ("_store", "_kept"):
            chosen = chosen.removesuffix(kept)
        return self.words.stem(chosen)

    def _extent(self, array: str | None, dim: tuple[Expr, ...]) -> str | None:
        type_ = self.types.get(dim[0].id) if isinstance(dim[0], Name) else None
        rank = type_.ndim if isinstance(type_, Array) else 0
        if array is None or (rank == 1 and "n" not in self.words.words and not self.has_n):
            self.has_n = True
            return "n"
        axis = dim[1].value if isinstance(dim[1], Const) else None
        return self._short(array, _EXTENTS.get((rank, axis), f"_n{axis}"))

    def _product(self, expr: Expr) -> str | None:
        """The factors of a matrix product."""
        if isinstance(expr, Op) and _operation(expr) == "dot":
            words = [self._product(factor) for factor in expr.args]
            return None if None in words else self._short("_".join(map(str, words)), "")
        if isinstance(expr, Op) and expr.fn == "transpose":
            word = self._word(expr.args[0])
            return word and f"{word}_T"
        return self._word(expr)

    @staticmethod
    def _short(first: str, rest: str) -> str | None:
        made = first + rest
        return made if len(made) <= _LONGEST else None

    def _place(self, index: tuple[Expr, ...]) -> str:
        """A suffix that says which element."""
        words = []
        for one in index:
            match one:
                case Name(id=name):
                    words.append(self.chosen(name) or name)
                case Const(value=int(number)) if number >= 0:
                    words.append(str(number))
                case Op(fn="+" | "-" as sign, args=(Name(id=name), Const(value=1))):
                    words.append(_BESIDE[sign] if name in self.counters else "last" if sign == "-" else "item")
                case _:
                    return "_item"
        # `x_0` would be a version of `x`
        joined = "".join(words) if all(len(word) == 1 for word in words) else "_".join(words)
        return joined if joined[:1].isdigit() else f"_{joined}"


def _operation(op: Op) -> str:
    """An operation's name, whatever its library is, without the options that it has."""
    return op.fn.partition(";")[0].rpartition(".")[2] if len(op.fn) > 2 else op.fn
