"""What setuptools calls for every project that is built where tapec is installed.

A project whose pyproject.toml has `[[tool.tapec.build]]` gets one extension module more for each
output of kind "extension", and one generated module for each of kind "source".  Libraries are not
part of wheels; `tapec build` makes them.  All other projects are left as they are, at the cost of
reading their pyproject.toml.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext as BuildExt
from setuptools.errors import SetupError

from tapec.build.build_target import Output

# the first Python whose stable interface has buffers
STABLE = "cp311"


def finalize(distribution: Distribution) -> None:
    """Add the outputs of `[tool.tapec]` to a distribution (`setuptools.finalize_distribution_options`)."""
    from tapec.build.config import read
    from tapec.errors import TapecError

    path = Path("pyproject.toml")
    if getattr(distribution, "_tapec_outputs", None) is not None or not path.is_file():
        return
    # TOML has several ways to write the table's name
    if "tapec" not in path.read_text(encoding="utf-8", errors="replace"):
        return
    try:
        outputs = tuple(one for one in read(path) if one.kind != "library")
    except TapecError as error:
        raise SetupError(str(error)) from None
    # setuptools may come here more than once
    setattr(distribution, "_tapec_outputs", outputs)  # noqa: B010
    if not outputs:
        return
    others = list(distribution.ext_modules or [])
    distribution.ext_modules = [*others, *(_Extension(one, outputs) for one in outputs)]
    distribution.cmdclass["build_ext"] = _command(distribution)
    stable = all(getattr(one, "py_limited_api", False) for one in others)
    if stable and any(one.kind == "extension" for one in outputs):
        options = distribution.get_option_dict("bdist_wheel")
        options.setdefault("py_limited_api", ("pyproject.toml", STABLE))


class _Extension(Extension):
    """An output among the extension modules; it has no C source that setuptools compiles."""

    def __init__(self, output: Output, outputs: tuple[Output, ...]) -> None:
        super().__init__(output.name, sources=[], py_limited_api=True)
        self.output = output
        self.outputs = outputs


def _command(distribution: Distribution) -> type[BuildExt]:
    """The project's `build_ext`, which builds outputs, too."""
    base: Any = distribution.cmdclass.get("build_ext", BuildExt)

    class Command(base):
        def build_extension(self, ext: Any) -> None:
            if not isinstance(ext, _Extension):
                super().build_extension(ext)
                return
            from tapec.build.outputs_to_folder import build_one
            from tapec.errors import TapecError

            # what stands before the file's place in its package
            folder = Path(self.get_ext_fullpath(ext.name)).parents[ext.name.count(".")]
            try:
                self.made[ext.name] = build_one(ext.output, ext.outputs, folder)
            except TapecError as error:
                raise SetupError(f"tapec: {error}") from None

        def get_ext_fullpath(self, ext_name: str) -> str:
            found: str = super().get_ext_fullpath(ext_name)
            return str(Path(found).with_name(_file(ext_name))) if ext_name in self._sources() else found

        def get_ext_filename(self, fullname: str) -> str:
            found: str = super().get_ext_filename(fullname)
            return str(Path(found).with_name(_file(fullname))) if fullname in self._sources() else found

        def copy_extensions_to_source(self) -> None:
            super().copy_extensions_to_source()
            # stubs stand beside the modules
            python = self.get_finalized_command("build_py")
            for ext in self.extensions:
                for path in self.made.get(ext.name, ()) if isinstance(ext, _Extension) else ():
                    target = Path(self._get_inplace_equivalent(python, ext)[0]).parent / path.name
                    if not target.exists() or not target.samefile(path):
                        shutil.copyfile(path, target)

        def _sources(self) -> set[str]:
            listed = self.distribution.ext_modules or ()
            return {e.name for e in listed if isinstance(e, _Extension) and e.output.kind == "source"}

        def initialize_options(self) -> None:
            super().initialize_options()
            self.made: dict[str, list[Path]] = {}

    Command.__name__ = "build_ext"
    return Command


def _file(name: str) -> str:
    """The file name of a module of generated source."""
    return f"{name.rpartition('.')[2]}.py"
