"""What an operation of core is called in an error: as the user could write it, with what made-up names stand for.

    t = x[i]
    t_1 = t - 1.0       `np.log(x[i] - 1.0)`
    t_2 = np.log(t_1)
"""

from __future__ import annotations

from tapec.optimise.name_origins import Vocabulary
from tapec.syntax.core import Assign, Const, Expr, For, Function, Op, walk, writes

# longer ones say less than their names
_LONGEST = 48
_NAMES = {"max": "max", "min": "min", "ifelse": "np.where", "copy": "np.copy", "np.dot": "np.dot"}


class ShownOperations:
    """The texts of the expressions of a function."""

    def __init__(self, function: Function) -> None:
        self.words = Vocabulary(function)
        self.counters: set[str] = set()
        count: dict[str, int] = {}
        for stmt in walk(function.body):
            if isinstance(stmt, For):
                self.counters.add(stmt.var)
            for name in writes(stmt):
                count[name] = count.get(name, 0) + 1
        self.values = {
            stmt.target: stmt.value
            for stmt in walk(function.body)
            if isinstance(stmt, Assign) and count[stmt.target] == 1 and not self.words.is_users(stmt.target)
        }

    def text(self, expr: Expr) -> str:
        """A name or a literal as itself, a name that is not the user's as what it stands for, an operation on those."""
        if isinstance(expr, Const):
            return str(expr.value)
        if isinstance(expr, Op):
            return _operation(expr, [self.text(arg) for arg in expr.args])
        value = self.values.get(expr.id)
        own = self.words.stem(expr.id) if self.words.is_users(expr.id) and expr.id not in self.counters else expr.id
        if value is None or (isinstance(value, Op) and value.fn in ("pop", "empty", "zeros", "stack")):
            return own
        text = self.text(value)
        return text if len(text) <= _LONGEST else own


def _operation(value: Op, args: list[str]) -> str:
    match value.fn:
        case "load" | "view":
            return f"{args[0]}[{', '.join(args[1:])}]"
        case "slice":
            return ":".join("" if arg == "None" else arg for arg in args)
        case "dim":
            return f"{args[0]}.shape[{args[1]}]"
        case "transpose":
            return f"{args[0]}.T"
        case "neg":
            return f"-{_inner(value.args[0], args[0])}"
        case fn if not fn[0].isalpha() and len(args) == 2:
            first, second = (_inner(arg, text) for arg, text in zip(value.args, args, strict=True))
            return f"{first} {fn} {second}"
    return f"{_NAMES.get(value.fn, value.fn.removeprefix('cast.'))}({', '.join(args)})"


def _inner(arg: Expr, text: str) -> str:
    """An operand of an infix sign; with parentheses, if it is an operation of the kind."""
    depth, bare = 0, True
    for before, sign in zip(" " + text, text, strict=False):
        depth += (sign in "([") - (sign in ")]")
        bare = bare and not (depth == 0 and (sign == " " or (sign == "-" and before == " ")))
    return text if bare or isinstance(arg, Const) else f"({text})"
