"""docs/ahead_of_time.md: its tables say what the code does, and its configuration is read."""

import re
import tomllib
from pathlib import Path

from tapec.build import config
from tapec.build.build_target import KINDS, MODES
from tapec.options import Keywords

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "ahead_of_time.md").read_text(encoding="utf-8")


def test_every_configuration_is_read():
    blocks = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)]
    tables = [block["tool"]["tapec"] for block in blocks if "tool" in block]
    assert tables
    outputs = [one for table in tables for one in config.outputs(table, Path(), "the page")]
    assert {one.kind for one in outputs} == {"extension", "library"}


def test_every_key_mode_and_kind_is_there():
    for words in (config.OUTPUT_KEYS, config.TARGET_KEYS, MODES, KINDS):
        for word in words:
            # options have a page of their own
            assert f"`{word}`" in TEXT or word in Keywords.__annotations__


def test_the_example_is_the_one_of_the_page():
    example = config.read(ROOT / "examples" / "aot_package" / "pyproject.toml")
    blocks = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    page = config.outputs(tomllib.loads(blocks[0])["tool"]["tapec"], Path(), "the page")
    assert page[0].targets == example[0].targets
