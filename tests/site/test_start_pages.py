"""The commands of docs/start/wheels_and_c.md run, and its configuration is read."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from tapec.build import config
from tests.cli.running import succeeds

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "start" / "wheels_and_c.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_configuration_is_read():
    (text,) = [text for language, text in BLOCKS if language == "toml"]
    (output,) = config.outputs(tomllib.loads(text)["tool"]["tapec"], Path(), "the page")
    assert output.kind == "extension"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (text,) = [text for language, text in BLOCKS if language == "python"]
    (tmp_path / "chain.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for command in [text for language, text in BLOCKS if language == "sh"]:
        succeeds(*shlex.split(command)[1:])
    sys.modules.pop("chain", None)
    made = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*")}
    assert {"energy_gradient.py", "chain_gradient.pyi", "include/chain.h", "lib/libchain.a"} <= made
