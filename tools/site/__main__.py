"""Build the documentation site, and run every Python example of its pages.

    python -m tools.site [-o FOLDER] [--jobs N] [--no-gallery] [--build-only]

The pages of docs/ are copied to a folder; the scripts of examples/gallery and examples/tutorials run there and become
pages with what they print and draw; MkDocs makes static files of all, and takes every broken link for an error.  Needs
`pip install .[docs]`.  The exit code is 1 if an example, a script or a link fails, or if a page that is written
from the compiler's tables or docstrings is out of date.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import click

from tools.site import gallery

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONFIGURATION = Path(__file__).with_name("mkdocs.yml")
# whose examples need other libraries: `tests/bridges` runs them
ELSEWHERE = "bridges.md"
WRITTEN = ("coverage", "language", "reference", "site.speed")
# links from a page of docs/ to an example, which is a page of the site
EXAMPLE = re.compile(r"\]\((?P<up>(?:\.\./)+)examples/(?P<name>[\w/]+)(?:\.py)?\)")

BAR = re.compile(r"`[^`\n]*\\\|[^`\n]*`")


def pages(docs: Path = DOCS) -> list[Path]:
    """README.md and the pages of docs/."""
    return [ROOT / "README.md", *sorted(docs.rglob("*.md"))]


def adapted(text: str) -> str:
    """A page as MkDocs takes it: links to examples lead to pages of the site, and code in tables has bars as they are.

    >>> adapted("| `p \\\\| q` | a dict |")
    '| `p | q` | a dict |'
    >>> adapted("[orbit](../examples/gallery/orbit.py), [all](../examples/gallery), [C](../../examples/aot_cmake)")
    '[orbit](gallery/orbit.md), [all](gallery/index.md), [C](../examples/aot_cmake.md)'
    >>> adapted("[the tape](../../docs/tapes.md) of the [U-net](../examples/tutorials/unet.py)")
    '[the tape](../tapes.md) of the [U-net](tutorials/unet.md)'
    """

    def there(found: re.Match[str]) -> str:
        name = found["name"]
        if name in gallery.FOLDERS:
            name = f"{name}/index"
        elif name.partition("/")[0] not in gallery.FOLDERS:
            name = f"examples/{name}"
        return f"]({found['up'][3:]}{name}.md)"

    # a README of examples/ leads to docs/, whose pages are those of the site
    text = EXAMPLE.sub(there, text.replace("](../../docs/", "](../"))
    return BAR.sub(lambda code: code[0].replace("\\|", "|"), text)


def stage(folder: Path, docs: Path = DOCS) -> None:
    """Copy the pages and pictures of docs/, and make the first pages of scripts and pages of examples."""
    for file in sorted(docs.rglob("*")):
        there = folder / file.relative_to(docs)
        there.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            there.write_text(adapted(file.read_text(encoding="utf-8")), encoding="utf-8")
        elif file.suffix == ".svg":
            shutil.copyfile(file, there)
    shutil.copyfile(CONFIGURATION.with_name("site.css"), folder / "site.css")
    for name in gallery.FOLDERS:
        (folder / name).mkdir()
        (folder / name / "index.md").write_text(adapted(gallery.first_page(name)), encoding="utf-8")
    (folder / "examples").mkdir()
    for example in sorted((ROOT / "examples").iterdir()):
        if example.name not in gallery.FOLDERS and (example / "README.md").exists():
            (folder / "examples" / f"{example.name}.md").write_text(gallery.folder_page(example), encoding="utf-8")


def navigation(folder: Path) -> str:
    """The configuration with the pages that are found: of scripts, of examples and of design notes."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    for name in (*gallery.FOLDERS, "examples", "design"):
        found = sorted((folder / name).glob("*.md"))
        # the page that lists the others comes first
        found.sort(key=lambda file: file.name != "index.md")
        inside = "".join(f"\n          - {name}/{file.name}" for file in found)
        text, count = re.subn(rf"(- [\w ]+:) {name}$", rf"\1{inside}", text, flags=re.MULTILINE)
        assert count == 1, name
    return text


def _command(*arguments: str) -> str:
    """What went wrong with a command; empty if nothing did."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _drawn(script: gallery.Script, folder: Path) -> str:
    try:
        printed = gallery.run(script, folder)
    except gallery.ScriptFailed as error:
        return str(error)
    (folder / f"{script.file.stem}.md").write_text(gallery.page(script, printed), encoding="utf-8")
    return ""


def checks(folder: Path, with_gallery: bool, build_only: bool) -> Iterator[tuple[str, Callable[[], str]]]:
    """What has to hold before the site is built; each answers with what went wrong."""
    for name in gallery.FOLDERS:
        for script in gallery.scripts(name):
            if with_gallery:
                yield script.file.name, functools.partial(_drawn, script, folder / name)
            else:
                gallery.leave_out(script, folder / name)
    if build_only:
        return
    for name in WRITTEN:
        yield f"tools.{name}", functools.partial(_command, "-m", f"tools.{name}", "--check")
    for page in pages():
        if page.name == ELSEWHERE:
            continue
        if "```python" in page.read_text(encoding="utf-8"):
            name = page.relative_to(ROOT).as_posix()
            yield name, functools.partial(_command, "-m", "tools.site.snippets", name)


def failures(found: Iterator[tuple[str, Callable[[], str]]], jobs: int) -> list[str]:
    """Run all checks, some at a time; what went wrong."""
    with ThreadPoolExecutor(jobs) as pool:
        running: list[tuple[str, Future[tuple[str, float]]]] = [
            (name, pool.submit(_timed, check)) for name, check in found
        ]
        wrong = []
        for name, future in running:
            message, seconds = future.result()
            click.echo(f"{'ok' if not message else 'failed':8}{name}, {seconds:.1f} s")
            if message:
                wrong.append(f"{name}: {message}")
    return wrong


def _timed(check: Callable[[], str]) -> tuple[str, float]:
    begin = time.perf_counter()
    return check(), time.perf_counter() - begin


def build(folder: Path, output: Path) -> str:
    """Have MkDocs make the files; what went wrong."""
    configuration = folder.parent / "mkdocs.yml"
    text = navigation(folder) + f"docs_dir: {folder}\nsite_dir: {output.resolve()}\n"
    configuration.write_text(text, encoding="utf-8")
    # not --quiet: it keeps warnings from --strict
    return _command("-m", "mkdocs", "build", "--strict", "--config-file", str(configuration))


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("site"), help="Where the files go.")
@click.option("--jobs", default=2, show_default=True, help="Examples that run at a time.")
@click.option("--no-gallery", is_flag=True, help="Leave out what scripts print and draw.")
@click.option("--build-only", is_flag=True, help="Check links alone, for a look at pages while they are written.")
def main(output: Path, jobs: int, no_gallery: bool, build_only: bool) -> None:
    """Build the documentation site, and run every Python example of its pages."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "pages"
        folder.mkdir()
        stage(folder)
        wrong = failures(checks(folder, not (no_gallery or build_only), build_only), jobs)
        if not wrong:
            wrong = [message for message in [build(folder, output)] if message]
    if wrong:
        raise click.ClickException("\n\n".join(wrong))
    click.echo(f"{output}/index.html")


if __name__ == "__main__":
    main()
