"""All numbers by which passes choose stand in one place."""

from __future__ import annotations

import re
from pathlib import Path

from tapec.optimise import costs

ROOT = Path(costs.__file__).parent
# of the printed text, of ranges of integers, and of memory, which are no costs
OTHERS = {"WIDTH", "_AXES", "_COPIES", "_LARGEST_INT", "_LONGEST", "_MOST", "_OTHER", "_WIDTH"}


def test_every_cost_is_used_and_no_pass_has_one_of_its_own():
    names = {name for name in vars(costs) if name.isupper()}
    assert len(names) > 50
    texts = {path: path.read_text() for path in ROOT.rglob("*.py") if path != Path(costs.__file__)}
    used = {name for text in texts.values() for name in re.findall(r"costs\.([A-Z_]+)", text)}
    assert used == names
    number = re.compile(r"^(\w+) = (?:[0-9]|Const\([1-9])", re.MULTILINE)
    own = {name for text in texts.values() for name in number.findall(text)}
    assert own == OTHERS
