"""Arithmetic on truncated power series, emitted coefficient by coefficient.

A series is a node: an operation on other nodes, or a value whose coefficients are known.  Coefficient k of a product or
quotient takes k operations.  Every other function has the rule of its derivative, `dy = F(x, y) dx`.  Read as an
equation between series, it gives coefficient k of `y` from those below k of what stands in `F`, since
`k y_k` is coefficient k - 1 of `F x'`.  So no function needs a recurrence of its own: `sin` asks for
`cos`, whose rule asks for the same `sin` again, one coefficient lower.

Griewank & Walther, Evaluating Derivatives, 2nd ed., sections 13.1 and 13.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapec.errors import NotDifferentiable, Span
from tapec.frontend.evaluator.values import Sym
from tapec.rules import rule_for
from tapec.rules.formula import contribution, parse, simplify
from tapec.rules.power_series import power_at_zero, whole_power
from tapec.rules.table import Rule, no_rule, refused_argument
from tapec.syntax.core import Atom, Const, Expr, Name, Op, Store, names_in, substitute
from tapec.syntax.types import Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.primitives import lower_rule

# operations whose result is constant between jumps, beside those that the rule table says so of
_TESTS = frozenset(
    ("<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "~", "&", "|", "^", "np.isnan", "np.isfinite", "np.isinf")
)
_POWER = "x ** z"
# the rule of a power has another power in it, and that another one
_POWER_SERIES = parse("y * (z*dx / x + log(x)*dz)", ("x", "z"))
# more nodes than any rule needs that comes back to the function it began with, or to one that has been met
_NODES, _NODES_PER_ORDER = 40, 12


class Node:
    """A series: a value with its coefficients, or an operation on series."""

    __slots__ = ("args", "constant", "fn", "formula", "head", "linear", "rest")

    def __init__(self, fn: str, args: tuple[Node, ...], head: Atom | None = None, constant: bool = False) -> None:
        self.fn, self.args, self.head, self.constant = fn, args, head, constant
        # coefficients from the first on; None is zero
        self.rest: dict[int, Atom | None] = {}
        self.formula: Node | None = None
        self.linear: Expr | None = None


class PowerSeries:
    """The series that one statement of the program needs, up to `order`; what computes them is emitted."""

    def __init__(self, emitter: Emitter, order: int, span: Span | None) -> None:
        self.emitter, self.order, self.span = emitter, order, span
        self.nodes: dict[object, Node] = {}

    def given(self, head: Atom, rest: Sequence[Atom | None] | None) -> Node:
        """The series of an atom of the program, whose coefficients after the zeroth are `rest`; None for a constant."""
        if rest is None or not any(rest):
            return self._node((head, True), "", (), head, True)
        node = self._node((head, False), "", (), head)
        node.rest = dict(enumerate(rest, 1))
        return node

    def of(self, fn: str, args: tuple[Node, ...], head: Atom | None = None) -> Node:
        """The series of an operation; `head` is its value, where that is known."""
        constant = all(arg.constant for arg in (args[1:] if fn == "ifelse" else args)) or self._is_step(fn)
        if constant and head is None and all(isinstance(arg.head, Const) for arg in args):
            folded = simplify(Op(fn, tuple(arg.head for arg in args if arg.head is not None)))
            if isinstance(folded, Const):
                return self.given(folded, None)
        return self._node((fn, *map(id, args)), fn, args, head, constant)

    def coefficient(self, node: Node, k: int) -> Atom | None:
        """Coefficient k of a series; None for zero."""
        if k == 0:
            return self._head(node)
        if node.constant:
            return None
        if k not in node.rest:
            found = self._coefficient(node, k)
            node.rest[k] = None if found is None or found == Const(0.0) else self.emitter.atom(found)
        return node.rest[k]

    def _node(
        self, key: object, fn: str, args: tuple[Node, ...], head: Atom | None = None, constant: bool = False
    ) -> Node:
        if key not in self.nodes:
            if len(self.nodes) > _NODES + _NODES_PER_ORDER * self.order:
                raise NotDifferentiable(
                    "this operation has no Taylor coefficients of such an order",
                    self.span,
                    "the derivative of each of its derivatives needs other functions",
                    "take `tapec.jvp_fun` of `tapec.jvp_fun` for low orders",
                )
            self.nodes[key] = Node(fn, args, head, constant)
        return self.nodes[key]

    def _is_step(self, fn: str) -> bool:
        rule = rule_for(fn)
        return fn in _TESTS if rule is None else rule.tangent is None

    def _head(self, node: Node) -> Atom:
        if node.head is None:
            if node.fn == "derivative":
                found = self.coefficient(node.args[0], 1)
                node.head = Const(0.0) if found is None else found
            else:
                value = simplify(Op(node.fn, tuple(self._head(arg) for arg in node.args)))
                node.head = self.emitter.atom(value)
        return node.head

    def _coefficient(self, node: Node, k: int) -> Expr | None:
        args = node.args
        match node.fn:
            case "derivative":
                return _times(Const(float(k + 1)), self.coefficient(args[0], k + 1))
            case "+" | "-":
                first, second = (self.coefficient(arg, k) for arg in args)
                return _sum(first, second) if node.fn == "+" else _difference(first, second)
            case "*" | "strong":
                return self._convolution(args[0], args[1], range(k + 1), k, node.fn)
            case "/":
                known = self._convolution(args[1], node, range(1, k + 1), k)
                rest = _difference(self.coefficient(args[0], k), known)
                return None if rest is None else Op("/", (rest, self._head(args[1])))
            case "ifelse":
                sides = [self.coefficient(arg, k) for arg in args[1:]]
                zero = (Const(0.0) if side is None else side for side in sides)
                return Op("ifelse", (self._head(args[0]), *zero)) if any(sides) else None
        rule = rule_for(node.fn)
        if rule is None or rule.tangent is None:
            raise no_rule(node.fn, self.span)
        for param, arg in zip(rule.params, args, strict=False):
            if param in rule.refused and not arg.constant:
                raise refused_argument(rule, param, self.span)
        if rule.heading == _POWER and args[1].constant:
            return self._power(node, k)
        return self._by_rule(node, rule, k)

    def _convolution(self, a: Node, b: Node, first: range, k: int, fn: str = "*") -> Expr | None:
        """The sum of `a_i b_(k - i)` for the `first` indices."""
        total: Expr | None = None
        for i in first:
            x = self.coefficient(a, i)
            z = None if x is None else self.coefficient(b, k - i)
            if x is not None and z is not None:
                total = _sum(total, self.emitter.atom(simplify(Op(fn, (x, z)))))
        return total

    def _by_rule(self, node: Node, rule: Rule, k: int) -> Expr | None:
        """The coefficient by the rule of the derivative."""
        assert rule.tangent is not None
        if node.formula is None and node.linear is None:
            self._read(node, rule, _POWER_SERIES if rule.heading == _POWER else rule.tangent)
        if node.linear is not None:
            dots: dict[str, Expr] = {
                f"d{param}": Const(0.0) if (found := self.coefficient(arg, k)) is None else found
                for param, arg in zip(rule.params, node.args, strict=False)
            }
            return simplify(substitute(node.linear, dots))
        assert node.formula is not None
        found = self.coefficient(node.formula, k - 1)
        return None if found is None else _by(found, k)

    def _read(self, node: Node, rule: Rule, tangent: Expr) -> None:
        """Read a rule as an equation between series; of one with constant factors, as that of each coefficient."""
        params = dict(zip(rule.params, node.args, strict=False))
        moving = {param: arg for param, arg in params.items() if not arg.constant}
        still: dict[str, Expr] = {f"d{param}": Const(0.0) for param in rule.params if param not in moving}
        formula = simplify(substitute(tangent, still))
        names = {**params, "y": node}
        factors = [contribution(formula, param, rule.params) for param in moving]
        unit = self.given(Const(1.0), None)
        if all(f is None or self._series(f, {**names, "y_bar": unit}).constant for f in factors):
            heads: dict[str, Expr] = {name: self._head(names[name]) for name in names_in(formula) if name in names}
            node.linear = simplify(substitute(formula, heads))
        else:
            for param, arg in moving.items():
                names[f"d{param}"] = self._node(("derivative", id(arg)), "derivative", (arg,))
            node.formula = self._series(formula, names)

    def _series(self, expr: Expr, names: dict[str, Node]) -> Node:
        """The series of a formula."""
        if isinstance(expr, Const):
            return self.given(expr, None)
        if isinstance(expr, Name):
            return names[expr.id]
        return self.of(expr.fn, tuple(self._series(arg, names) for arg in expr.args))

    def _power(self, node: Node, k: int) -> Expr | None:
        """The coefficient of a power whose exponent does not move."""
        base, exponent = node.args
        n = self._head(exponent)
        if isinstance(n, Const) and isinstance(n.value, int | float) and n.value == int(n.value):
            return self.coefficient(self._whole_power(base, int(n.value)), k)
        kind = self.emitter.type_of(n)
        assert isinstance(kind, Scalar)
        if not kind.is_float:
            return self._listed(node, whole_power, k)
        rule = rule_for(node.fn)
        assert rule is not None
        at_zero = self._listed(node, power_at_zero, k)
        elsewhere = self._by_rule(node, rule, k)
        is_zero = Op("==", (self._head(base), Const(0.0)))
        return None if elsewhere is None else Op("ifelse", (is_zero, at_zero, elsewhere))

    def _whole_power(self, base: Node, n: int) -> Node:
        """A power by squarings and products, which is right at zero, too."""
        if n < 0:
            return self.of("/", (self.given(Const(1.0), None), self._whole_power(base, -n)))
        if n < 2:
            return base if n else self.given(Const(1.0), None)
        half = self._whole_power(base, n // 2)
        square = self.of("*", (half, half))
        return self.of("*", (square, base)) if n % 2 else square

    def _listed(self, node: Node, function: object, k: int) -> Expr:
        """The coefficient that a library function finds, of the base's coefficients as an array and the exponent."""
        base, exponent = node.args
        kept = self._node((function, id(node)), "listed", (node,))
        if kept.head is None:
            emitter = self.emitter
            dtype = emitter.type_of(self._head(base))
            assert isinstance(dtype, Scalar)
            size = Const(self.order + 1)
            listed = emitter.let("coefficients", Op("zeros", (Const(dtype.dtype), size)), Array(dtype.dtype, 1, "C"))
            for i in range(self.order + 1):
                if (found := self.coefficient(base, i)) is not None:
                    emitter.add(Store(listed.id, (Const(i),), emitter.atom(found, dtype), False, self.span))
            n = self._head(exponent)
            block, value = lower_rule(emitter, function, [listed, n])
            emitter.extend(block)
            assert isinstance(value, Sym)
            kept.head = value.atom
        assert kept.head is not None
        return Op("load", (kept.head, Const(k)))


def _times(factor: Const, expr: Expr | None) -> Expr | None:
    return None if expr is None else simplify(Op("*", (factor, expr)))


def _by(expr: Expr, k: int) -> Expr:
    return simplify(Op("/", (expr, Const(float(k)))))


def _sum(first: Expr | None, second: Expr | None) -> Expr | None:
    if first is None or second is None:
        return second if first is None else first
    return simplify(Op("+", (first, second)))


def _difference(first: Expr | None, second: Expr | None) -> Expr | None:
    if second is None:
        return first
    return Op("neg", (second,)) if first is None else simplify(Op("-", (first, second)))
