"""Run the Python examples of a page, and compare what they print with what the page says.

    python -m tools.site.snippets PAGE.md ... [--write]

The ```python blocks of a page are one script, run from top to bottom, with the line numbers of the page.
A ```text or ```python block with the title "prints" holds what the block above it prints, where `...` stands
for any text.
A page with the comment `<!-- every example is a file of its own -->` has a script `model.py` per block;
there, a block with the title "raises" holds the error that ends the example.
With --write those blocks are replaced by what was printed.
"""

from __future__ import annotations

import builtins
import contextlib
import doctest
import io
import os
import re
import runpy
import tempfile
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

ALONE = "<!-- every example is a file of its own -->"
FENCE = re.compile(r"^```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block of Python, and the block below it that holds its output.

    line           of the page where the code begins, from 1
    wanted, place  the text of the output and its start in the page; None and 0 without one
    """

    code: str
    line: int
    wanted: str | None
    place: int


def examples(text: str) -> list[Example]:
    """The examples of a page.

    >>> text = '```python\\nprint(1)\\n```\\n\\n```text title="prints"\\n1\\n```\\n'
    >>> examples(text)
    [Example(code='print(1)\\n', line=2, wanted='1\\n', place=47)]
    """
    blocks = list(FENCE.finditer(text))
    found = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block["language"] != "python" or block["info"].strip():
            continue
        has_output = following is not None and re.fullmatch(r' title="(prints|raises)"', following["info"])
        line = text.count("\n", 0, block.start("text")) + 1
        if following is not None and has_output:
            found.append(Example(block["text"], line, following["text"], following.start("text")))
        else:
            found.append(Example(block["text"], line, None, 0))
    return found


def printed(text: str, name: str = "page") -> list[str]:
    """What each example of a page prints; raises what an example raises, unless each is a file of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        if ALONE in text:
            return [_alone(example, Path(folder)) for example in examples(text)]
        return _together(examples(text), Path(folder) / f"{name}_page.py")


def _alone(example: Example, folder: Path) -> str:
    file = folder / "model.py"
    file.write_text(example.code, encoding="utf-8")
    out = io.StringIO()
    environment = dict(os.environ)
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(str(file), run_name="model")
        except Exception as error:
            out.write("".join(traceback.format_exception_only(error)))
        finally:
            # an example may set a variable
            os.environ.clear()
            os.environ.update(environment)
    return out.getvalue().replace(f"{folder}/", "")


def _together(found: list[Example], file: Path) -> list[str]:
    lines: list[str] = []
    outputs = [io.StringIO() for _ in found]
    for number, example in enumerate(found):
        lines += [""] * (example.line - 2 - len(lines))
        # in place of the line that opens the block
        lines += [f"begin_example({number})", *example.code.splitlines()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with contextlib.ExitStack() as stack:
        streams = stack.enter_context(contextlib.ExitStack())

        def begin(number: int) -> None:
            streams.close()
            streams.enter_context(contextlib.redirect_stdout(outputs[number]))

        setattr(builtins, "begin_example", begin)  # noqa: B010
        stack.callback(delattr, builtins, "begin_example")
        runpy.run_path(str(file), run_name=file.stem)
    return [out.getvalue() for out in outputs]


def _fits(wanted: str, got: str) -> bool:
    return doctest.OutputChecker().check_output(wanted.rstrip(), got.rstrip(), doctest.ELLIPSIS)


def differences(text: str, name: str = "page") -> list[str]:
    """A message for each example whose output is not what the page says.

    >>> differences('```python\\nprint(2)\\n```\\n\\n```text title="prints"\\n1\\n```\\n')
    ['line 2: the page says\\n1\\nbut the example prints\\n2\\n']
    """
    found = []
    for example, got in zip(examples(text), printed(text, name), strict=True):
        if example.wanted is None or _fits(example.wanted, got):
            continue
        found.append(f"line {example.line}: the page says\n{example.wanted}but the example prints\n{got}")
    return found


def rewritten(text: str, name: str = "page") -> str:
    """The page with the outputs as they are; those with `...` that fit stay."""
    for example, got in reversed(list(zip(examples(text), printed(text, name), strict=True))):
        if example.wanted is None or _fits(example.wanted, got):
            continue
        end = example.place + len(example.wanted)
        text = text[: example.place] + got.rstrip() + "\n" + text[end:]
    return text


@click.command()
@click.argument("pages", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--write", is_flag=True, help="Put what the examples print into the pages.")
def main(pages: Iterable[Path], write: bool) -> None:
    """Run the examples of pages, and compare what they print."""
    failures = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        # names of modules have no hyphens or dots
        name = re.sub(r"\W", "_", page.stem)
        if write:
            page.write_text(rewritten(text, name), encoding="utf-8")
        else:
            failures += [f"{page}, {message}" for message in differences(text, name)]
    if failures:
        raise click.ClickException("\n".join(failures))


if __name__ == "__main__":
    main()
