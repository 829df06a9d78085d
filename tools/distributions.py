"""Build what is released: source archives and wheels of `tapec` and `tapec-runtime`.

    python -m tools.distributions dist

On an index the two are separate: `tapec` requires `tapec-runtime` of its own version.  In a clone there is no such
distribution to be had, so what `pip install .` installs holds both import packages.  This script builds from a copy of
the tree whose setup.cfg names the requirement in place of the package.
"""

from __future__ import annotations

import argparse
import configparser
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = "tapec_runtime"


def without_runtime(text: str) -> str:
    """The text of setup.cfg with a requirement in place of the runtime's files."""
    config = configparser.RawConfigParser()
    config.read_string(text)
    options = config["options"]
    for key in ("packages", "package_dir"):
        lines = options[key].splitlines()
        options[key] = "\n".join(line for line in lines if line.partition(" ")[0] != RUNTIME)
    del config["options.package_data"][RUNTIME]
    options["install_requires"] += f"\ntapec-runtime=={config['metadata']['version']}"
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        config.write(file)
        file.seek(0)
        return file.read()


def copy_of_tapec(folder: Path) -> Path:
    """A source tree of `tapec` as it is released, in `folder`."""
    folder.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "tapec", folder / "tapec", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "setup.cfg").write_text(
        without_runtime((ROOT / "setup.cfg").read_text(encoding="utf-8")), encoding="utf-8"
    )
    return folder


def copy_of_runtime(folder: Path) -> Path:
    """A source tree of `tapec-runtime`, in `folder`."""
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    return Path(shutil.copytree(ROOT / "runtime", folder, ignore=skip))


def build(output: Path, isolated: bool = True) -> None:
    """Write both source archives and both wheels to `output`; without isolation by the setuptools that is installed."""
    with tempfile.TemporaryDirectory() as work:
        for source in (copy_of_runtime(Path(work, "runtime")), copy_of_tapec(Path(work, "tapec"))):
            command = [sys.executable, "-m", "build", "--outdir", str(output), str(source)]
            subprocess.run(command if isolated else [*command, "--no-isolation"], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("output", type=Path, help="folder for the archives and wheels")
    parser.add_argument("--no-isolation", action="store_true", help="build with the setuptools that is installed")
    given = parser.parse_args()
    build(given.output.resolve(), not given.no_isolation)


if __name__ == "__main__":
    main()
