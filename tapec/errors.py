"""Every exception that tapec raises.

Each error says what, where, why and what to do; each part is also a field
(`message`, `span`, `reason`, `hint`).

    TapecError                    base of all
      UnsupportedSyntax           a construct outside the language
      UnsupportedFunction         a call to something without source or rule
      UnsupportedType             a value whose type cannot be handled
      TypeMismatch                operands or branches whose types do not fit
      UndefinedName               a name that nothing defines
      NotDifferentiable           a source or target that has no derivative
      SourceUnavailable           the source text of a function cannot be found
      RecursionUnsupported        recursion in a form that cannot be reversed
      CompilationError            the backend refused generated source
      CacheError                  the cache folder cannot be used
      LoweringError               a tape body that cannot be lowered (RuntimeError)
      ArgumentOverlap             arguments, or elements of one, that share memory and are written
      UsageError                  wrong arguments to a function of the API
      GradientMismatch            a derivative that fails `check_grads` (AssertionError)
      IntegrationError            a differential equation that cannot be integrated as asked (ArithmeticError)
"""

from __future__ import annotations

from dataclasses import dataclass, field

# lines of calls in one another that are kept
CALLS = 5


@dataclass(frozen=True)
class Span:
    """A place in the user's source: `file:line:column`, and the line's text.

    asked  whether an element, or a row, of an array is asked for here by a subscript of the user's
    open   the axes for which it is not proved that the subscript is in range, once that has been tried
    tested of an access that is open and tested itself, not where its adjoint is written: a number of its own
    called_from  the line of the call of the function, where that is inlined; of `CALLS` calls in one another at most
    """

    file: str
    line: int
    column: int
    end_column: int
    text: str
    function: str
    asked: bool = field(default=False, compare=False)
    open: tuple[int, ...] = field(default=(), compare=False)
    tested: int = field(default=0, compare=False)
    called_from: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"

    @property
    def begins_loop(self) -> bool:
        """Whether the line is the head of a loop."""
        return self.text.lstrip().startswith(("for ", "while "))

    def lines(self) -> list[Span]:
        """The line, and those of the calls that lead to it."""
        found, at = [self], self.called_from
        while at is not None:
            found.append(at)
            at = at.called_from
        return found


class TapecError(Exception):
    """Base of every error; prints what, where, why and what to do."""

    def __init__(self, message: str, span: Span | None = None, reason: str = "", hint: str = ""):
        self.message = message
        self.span = span
        self.reason = reason
        self.hint = hint
        super().__init__(self._render())

    def _render(self) -> str:
        lines = [self.message]
        if self.span is not None:
            stripped = self.span.text.lstrip()
            shift = len(self.span.text) - len(stripped)
            start = max(self.span.column - shift, 0)
            width = max(min(self.span.end_column, len(self.span.text)) - self.span.column, 1)
            lines.append(f"  {self.span}, in {self.span.function}")
            lines.append(f"      {stripped.rstrip()}")
            lines.append("      " + " " * start + "^" * width)
        if self.reason:
            lines.append(f"  reason: {self.reason}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.span, self.reason, self.hint)


class UnsupportedSyntax(TapecError):
    """A construct outside the language, such as `global` or a class of its own."""


class UnsupportedFunction(TapecError):
    """A call to a function that has neither Python source nor a rule."""


class UnsupportedType(TapecError, TypeError):
    """A value of a type that cannot be handled, such as a dict of strings or an array of dates."""


class TypeMismatch(TapecError, TypeError):
    """Operands, or the two sides of a branch, whose types do not fit together."""


class UndefinedName(TapecError, NameError):
    """A name that neither the function, its closure, its module nor builtins define."""


class NotDifferentiable(TapecError, TypeError):
    """A source of integer type, or a target that is not a float scalar."""


class NoTranspose(NotDifferentiable):
    """A derivative of one's own that serves one mode alone: it is not linear, or cannot be read."""


class SourceUnavailable(TapecError):
    """The source text of a function cannot be found."""


class RecursionUnsupported(TapecError):
    """Recursion in a form that cannot be reversed."""


class CompilationError(TapecError):
    """The backend refused generated source; the cause is chained."""


class CacheError(TapecError):
    """The cache folder cannot be read or written."""


class LoweringError(TapecError, RuntimeError):
    """A tape body that cannot be lowered to a derivative program."""


class ArgumentOverlap(TapecError, ValueError):
    """Arguments, or elements of one, that share memory which the function writes into."""


class UsageError(TapecError, ValueError):
    """Wrong arguments to a function of the API."""


class UnknownKeyword(UsageError, TypeError):
    """A keyword that nothing has; a TypeError, as Python's own."""


class GradientMismatch(TapecError, AssertionError):
    """A derivative that differs from another way of computing it."""


class IntegrationError(TapecError, ArithmeticError):
    """A differential equation that cannot be integrated, or an event of it that has no time, or no derivative."""
