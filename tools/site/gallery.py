"""Pages of scripts: those of gallery and tutorials with what they print and draw, other examples with their files."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# folders of scripts that each draw a picture, by their names in the site
FOLDERS = {name: ROOT / "examples" / name for name in ("gallery", "tutorials")}
LANGUAGES = {".py": "python", ".toml": "toml", ".c": "c", ".cpp": "cpp", ".f90": "fortran", ".txt": "cmake"}


@dataclass(frozen=True)
class Script:
    """A script that draws a picture.

    title  the first sentence of its docstring, without the full stop
    about  the rest of the docstring
    code   what follows the docstring
    """

    file: Path
    title: str
    about: str
    code: str


class ScriptFailed(Exception):
    """A script that ends with an error, or draws nothing."""


def scripts(name: str) -> list[Script]:
    """The scripts of a folder, by name."""
    return [read(file) for file in sorted(FOLDERS[name].glob("*.py"))]


def read(file: Path) -> Script:
    """A script and its parts; raises ScriptFailed without a docstring."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree)
    if docstring is None:
        raise ScriptFailed(f"{file.name} has no docstring")
    title, _, about = docstring.partition("\n\n")
    code = "".join(text.splitlines(keepends=True)[tree.body[0].end_lineno :]).strip("\n") + "\n"
    return Script(file, title.rstrip("."), about, code)


def run(script: Script, folder: Path) -> str:
    """What the script prints; the pictures that it saves are in the folder then."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONWARNINGS": "error:::__main__"}
    done = subprocess.run(
        [sys.executable, str(script.file)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ScriptFailed(f"{script.file.name} ends with\n{done.stderr}")
    if not (folder / f"{script.file.stem}.svg").exists():
        raise ScriptFailed(f"{script.file.name} saves no picture {script.file.stem}.svg")
    return done.stdout


def page(script: Script, printed: str) -> str:
    """The page of a script that has run."""
    return f"""# {script.title}

{script.about}

![{script.title}]({script.file.stem}.svg)

```python
{script.code}```

It prints

```text
{printed.rstrip()}
```
"""


def first_page(name: str) -> str:
    """The README of a folder, and a picture of each script."""
    readme = (FOLDERS[name] / "README.md").read_text(encoding="utf-8")
    cards = []
    for one in scripts(name):
        page = f"{one.file.stem}.md"
        cards.append(f"[![{one.title}]({one.file.stem}.svg)]({page})\n[{one.title}]({page})\n")
    return readme + '\n<div class="gallery" markdown>\n\n' + "\n".join(cards) + "\n</div>\n"


def leave_out(script: Script, folder: Path) -> None:
    """The page of a script that does not run, with an empty picture."""
    (folder / f"{script.file.stem}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>', encoding="utf-8")
    (folder / f"{script.file.stem}.md").write_text(page(script, ""), encoding="utf-8")


def folder_page(folder: Path) -> str:
    """The page of an example that is a folder: its README, then its files."""
    readme = (folder / "README.md").read_text(encoding="utf-8")
    parts = [readme.rstrip()]
    for file in sorted(folder.rglob("*")):
        language = LANGUAGES.get(file.suffix)
        made = {"build", "dist", "__pycache__"} & set(file.relative_to(folder).parts)
        if file.is_file() and language is not None and not made and file.stat().st_size:
            text = file.read_text(encoding="utf-8").rstrip()
            parts.append(f"## `{file.relative_to(folder).as_posix()}`\n\n```{language}\n{text}\n```")
    return "\n\n".join(parts) + "\n"
