"""Programs that tapec refuses, by subject, with the full text of what it says.

A case is a function under `@refused(arguments)`, whose gradient is asked for, or one under `@misuse`,
which is called as it stands.  `messages/SUBJECT.txt` holds what they raise: the class, then the
message, with lines counted from the case's first line.  `pytest tests/errors --record` writes it anew.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tapec
from tapec.errors import TapecError


@dataclass(frozen=True)
class Refusal:
    """A case: its function, and what to do with it."""

    function: Callable[..., Any]
    run: Callable[[], Any]

    def __str__(self) -> str:
        return self.function.__name__

    @cached_property
    def error(self) -> Exception:
        """What it raises; AssertionError if it raises nothing of tapec's.

        It runs once: two tests ask.
        """
        try:
            self.run()
        except (TapecError, RuntimeError) as error:
            # misuse of a tape is a RuntimeError of the running program
            return error
        raise AssertionError(f"{self} is not refused")

    def message(self) -> str:
        """The class and the text, without paths and with lines of the case."""
        error = self.error
        first = inspect.unwrap(self.function).__code__.co_firstlineno
        file = re.escape(inspect.getsourcefile(self.function) or "")
        text = re.sub(rf"{file}(?!:)", "FILE", str(error))
        text = re.sub(rf"{file}:(\d+)", lambda found: f"line {int(found[1]) - first + 1}", text)
        text = re.sub(r"in line (\d+)", lambda found: f"in line {int(found[1]) - first + 1}", text)
        return f"{type(error).__name__}: {text}"


class Refusals(list[Refusal]):
    """The cases of a module, filled by its two decorators."""

    def refused(self, *args: Any, call: Callable[..., Any] = tapec.value_and_grad, **options: Any) -> Any:
        """The function's gradient at `args` is refused; `call` and `options` ask for another derivative."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.append(Refusal(function, lambda: call(function, **options)(*args)))
            return function

        return add

    def misuse(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """Calling the function is refused."""
        self.append(Refusal(function, function))
        return function


def golden(subject: str) -> Path:
    return Path(__file__).resolve().parent / "messages" / f"{subject}.txt"


def read(path: Path) -> dict[str, str]:
    """The recorded messages: case -> text."""
    parts = re.split(r"^== (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.rstrip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def write(path: Path, messages: dict[str, str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(f"== {name}\n{text}\n" for name, text in messages.items()), encoding="utf-8")
