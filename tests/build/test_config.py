"""`[tool.tapec]`: what is read, and one clear message for each mistake."""

from pathlib import Path

import pytest

from tapec.build.build_target import Output, Target
from tapec.build.config import read
from tapec.errors import UsageError
from tapec.options import Options

GOOD = """
[project]
name = "springs"

[[tool.tapec.build]]
kind = "extension"
name = "springs._gradients"
cpu = "x86-64-v3"
opt_level = 1

[[tool.tapec.build.targets]]
function = "springs.model:energy"
wrt = ["u", 1]
signature = "f8[:], f8"
name = "energy_gradient"

[[tool.tapec.build.targets]]
function = "src/springs/model.py:energy"
mode = "primal"
math = "libm"

[[tool.tapec.build]]
kind = "library"
name = "lib-springs"
contiguous = true
targets = [{ function = "springs.model:energy" }]
"""


@pytest.fixture
def project(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "pyproject.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_everything_that_can_be_asked(project):
    path = project(GOOD)
    first = Target("springs.model:energy", ("u", 1), "f8[:], f8", "value_and_grad", "energy_gradient", Options(level=1))
    second = Target("src/springs/model.py:energy", 0, "", "primal", "", Options(level=1, math="libm"))
    assert read(path) == (
        Output("extension", "springs._gradients", (first, second), "x86-64-v3", False, path.parent),
        Output("library", "lib-springs", (Target("springs.model:energy"),), "baseline", True, path.parent),
    )


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1", "[tool.tapec]"])
def test_nothing_is_asked(project, text):
    assert read(project(text)) == ()


MISTAKES = [
    ('kind = "extension"', 'kind = "extention"', "there is no kind 'extention'"),
    ('kind = "extension"', "", "`kind` is missing"),
    ('kind = "extension"', "kind = 3", "`kind`: must be text, not 3"),
    ('name = "springs._gradients"', "", "`name` is missing"),
    ('name = "springs._gradients"', 'name = "springs-gradients"', "'springs-gradients' is not the name of a module"),
    ('name = "springs._gradients"', 'name = "springs.class"', "'springs.class' is not the name of a module"),
    ('name = "springs._gradients"', 'name = "fédér"', "'fédér' is not a name in C"),
    ('cpu = "x86-64-v3"', "cpu = true", "`cpu`: must be text, not True"),
    ("opt_level = 1", "opt_level = 3", "(springs._gradients): opt_level must be 0, 1 or 2, not 3"),
    ("opt_level = 1", "opt_level = true", "opt_level must be 0, 1 or 2, not True"),
    ("opt_level = 1", "strict = 1", "strict must be True or False, not 1"),
    ("opt_level = 1", "parallel = true", "`parallel`: loops on threads need Numba where they run"),
    ("opt_level = 1", "cache = false", "there is no key 'cache'"),
    ("opt_level = 1", "optlevel = 1", "there is no key 'optlevel'\n  hint: did you mean 'opt_level'?"),
    ("opt_level = 1", "contiguous = true", "kind 'extension' takes arrays of any strides"),
    ('function = "springs.model:energy"\nwrt', "wrt", "target 1: `function` is missing"),
    ('"springs.model:energy"\nwrt', '"springs.model.energy"\nwrt', "'springs.model.energy' names no function"),
    ('wrt = ["u", 1]', "wrt = []", "[] names no parameters"),
    ('wrt = ["u", 1]', "wrt = 1.5", "1.5 names no parameters"),
    ('name = "energy_gradient"', 'name = "energy gradient"', "'energy gradient' is not the name of a function"),
    ('mode = "primal"', 'mode = "primal"\nwrt = "u"', 'mode "primal" is the function itself'),
    ('signature = "f8[:], f8"', "signature = 3", "`signature`: must be text, not 3"),
    ('signature = "f8[:], f8"', "signatures = []", "must be a list of texts, not []"),
    ('signature = "f8[:], f8"', "signatures = [1]", "must be a list of texts, not [1]"),
    ('signature = "f8[:], f8"', 'signature = "f8"\nsignatures = ["f8"]', "is there beside `signature`"),
    ('mode = "primal"', 'mode = "hessp"', "'hessp' is not built\n  hint: mode \"hvp\" takes the vector last"),
    ('mode = "primal"', 'mode = "sparse_jacobian"', "'sparse_jacobian' is not built\n  hint: its pattern belongs"),
    ('mode = "primal"', 'mode = "hpv"', "there is no mode 'hpv'\n  hint: did you mean 'hvp'?"),
    ('math = "libm"', 'math = "slow"', "target 2: math must be"),
    ("contiguous = true", 'contiguous = "yes"', "must be true or false, not 'yes'"),
    ('name = "lib-springs"', 'name = "lib.springs"', "'lib.springs' is not the name of a library"),
    ("targets = [{", "targets = {", "Expected '='"),
    ('targets = [{ function = "springs.model:energy" }]', "", "`targets`: is missing or empty"),
    ('targets = [{ function = "springs.model:energy" }]', "targets = [3]", "target 1: must be a table, not 3"),
    ("[[tool.tapec.build]]", "[[tool.tapec.builds]]", "there is no key 'builds'"),
]


@pytest.mark.parametrize("old, new, message", MISTAKES)
def test_mistakes(project, old, new, message):
    assert GOOD.count(old) >= 1
    path = project(GOOD.replace(old, new) if "tool" in old else GOOD.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        read(path)
    if message != "Expected '='":
        assert message in str(caught.value)
    assert "pyproject.toml" in str(caught.value)


def test_several_signatures(project):
    text = GOOD.replace('signature = "f8[:], f8"', 'signatures = ["f8[:], f8", "f4[:], f4"]')
    first, second, third = read(project(text))[0].targets
    assert (first.signature, second.signature, third.mode) == ("f8[:], f8", "f4[:], f4", "primal")
    assert first.name == second.name == "energy_gradient"
    with pytest.raises(UsageError, match="a function of kind 'source' has one signature"):
        read(project(text.replace('kind = "extension"', 'kind = "source"').replace('cpu = "x86-64-v3"', "")))


def test_source_takes_no_processor(project):
    text = GOOD.replace('kind = "extension"', 'kind = "source"')
    with pytest.raises(UsageError, match="source is compiled where it runs"):
        read(project(text))


def test_two_outputs_of_one_name(project):
    second = GOOD[GOOD.index("[[tool.tapec.build]]") :].replace("lib-springs", "other")
    with pytest.raises(UsageError, match=r"two outputs of kind 'extension' are called 'springs\._gradients'"):
        read(project(GOOD + second))


def test_single_brackets(project):
    with pytest.raises(UsageError, match=r"write \[\[tool.tapec.build\]\] with two brackets"):
        read(project('[tool.tapec.build]\nkind = "source"'))


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        read(tmp_path / "pyproject.toml")
