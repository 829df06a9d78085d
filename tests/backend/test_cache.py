"""Generated code persists, and every edit of what it came from is noticed."""

from __future__ import annotations

import os
import stat
import subprocess
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tapec
import tapec.pipeline
from tapec.backend import staleness
from tests.backend.processes import COMPILED, Project

# most of these start several processes
pytestmark = pytest.mark.slow

MODEL = """
    import settings
    from helper import scale

    OFFSET = 1.0

    def loss(x):
        total = 0.0
        for i in range(x.shape[0]):
            total += scale(x[i]) * settings.FACTOR + OFFSET * x[i]
        return total
"""
CALL = "import numpy as np, tapec, model; print(tapec.grad(model.loss)(np.ones(2)))" + COMPILED


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("settings.py", "FACTOR = 2.0\n")
    made.write("helper.py", "def scale(v):\n    return 3.0 * v\n")
    made.write("model.py", MODEL)
    return made


def test_a_second_process_needs_no_compiler(project: Project) -> None:
    assert project.run(CALL) == "[7. 7.]\ncompiled"
    assert project.run(CALL) == "[7. 7.]\ncached"


def test_edits_are_noticed(project: Project) -> None:
    project.run(CALL)
    edits = [
        ("model.py", "OFFSET * x[i]", "OFFSET * x[i] * 5", "[11. 11.]"),
        ("helper.py", "3.0 * v", "10.0 * v", "[25. 25.]"),
        ("settings.py", "FACTOR = 2.0", "FACTOR = 4.00", "[45. 45.]"),
        ("model.py", "OFFSET = 1.0", "OFFSET = 0.5", "[42.5 42.5]"),
        # a name of the language that becomes the module's own
        ("model.py", "OFFSET = 0.5", "OFFSET = 0.5\ndef range(n):\n    return (0,)", "[42.5  0. ]"),
    ]
    for name, old, new, expected in edits:
        project.edit(name, old, new)
        assert project.run(CALL) == f"{expected}\ncompiled"
    for name, old, new, _ in reversed(edits):
        project.edit(name, new, old)
    assert project.run(CALL) == "[7. 7.]\ncached"


def test_an_edit_elsewhere_is_none(project: Project) -> None:
    project.run(CALL)
    project.edit("settings.py", "FACTOR = 2.0", "FACTOR = 2.0\nOTHER = 5.0")
    project.edit("model.py", "    OFFSET = 1.0".strip(), "# moved down\nOFFSET = 1.0\n\ndef unused():\n    pass")
    assert project.run(CALL).endswith("cached")


def test_closures_are_told_apart(project: Project) -> None:
    project.write(
        "closures.py",
        """
        import numpy as np, tapec

        def power(n, table):
            def f(x):
                return table[0] * x ** n
            return f

        def numbers():
            return [tapec.grad(power(n, np.array([a])))(2.0) for n in (2, 3) for a in (1.0, 10.0)]
        """,
    )
    call = "import closures; print(closures.numbers())" + COMPILED
    assert project.run(call) == "[4.0, 40.0, 12.0, 120.0]\ncompiled"
    assert project.run(call) == "[4.0, 40.0, 12.0, 120.0]\ncached"


def test_defaults_classes_and_named_tuples_are_followed(project: Project) -> None:
    project.write(
        "shapes.py",
        """
        from typing import NamedTuple

        class Config:
            RATE = 2.0

        class Point(NamedTuple):
            x: float
            y: float

        def f(p, k=3.0):
            return p.x * p.y * k * Config.RATE
        """,
    )
    call = "import shapes, tapec; print(tapec.grad(shapes.f)(shapes.Point(2.0, 5.0)))" + COMPILED
    assert project.run(call) == "Point(x=30.0, y=12.0)\ncompiled"
    assert project.run(call) == "Point(x=30.0, y=12.0)\ncached"
    project.edit("shapes.py", "RATE = 2.0", "RATE = 20.0")
    assert project.run(call) == "Point(x=300.0, y=120.0)\ncompiled"
    project.edit("shapes.py", "k=3.0", "k=1.0")
    assert project.run(call) == "Point(x=100.0, y=40.0)\ncompiled"


def test_a_derivative_inside_the_function_is_followed(project: Project) -> None:
    project.write(
        "second.py",
        """
        import tapec
        from helper import scale

        slope = tapec.grad(lambda x: scale(x) * x * x)

        def f(x):
            return slope(x) + tapec.grad(scale)(x)
        """,
    )
    call = "import second, tapec; print(tapec.value_and_grad(second.f)(2.0))" + COMPILED
    assert project.run(call) == "(39.0, 36.0)\ncompiled"
    assert project.run(call) == "(39.0, 36.0)\ncached"
    project.edit("helper.py", "3.0 * v", "30.0 * v")
    assert project.run(call) == "(390.0, 360.0)\ncompiled"


def test_functions_as_arguments_and_attributes_are_followed(project: Project) -> None:
    project.write(
        "passing.py",
        """
        import numba
        import helper

        class Operations:
            @staticmethod
            def double(x):
                return 2.0 * x

        @numba.njit
        def inner(x):
            return helper.scale(x)

        def f(x, g):
            return g(x) * Operations.double(x)
        """,
    )
    call = "import passing, tapec; print(tapec.grad(passing.f)(1.0, passing.inner))" + COMPILED
    assert project.run(call) == "12.0\ncompiled"
    assert project.run(call) == "12.0\ncached"
    project.edit("helper.py", "3.0 * v", "30.0 * v")
    assert project.run(call) == "120.0\ncompiled"
    project.edit("passing.py", "2.0 * x", "20.0 * x")
    assert project.run(call) == "1200.0\ncompiled"


def test_forward_and_reverse_with_seeds_are_kept(project: Project) -> None:
    call = "import numpy as np, tapec, model; x = np.ones(2); print(tapec.jvp(model.loss, (x,), (x,)));"
    call += "print(tapec.vjp(model.loss, x)[1](2.0))" + COMPILED
    first = project.run(call)
    assert first.endswith("compiled")
    assert project.run(call) == first.replace("compiled", "cached")


def scaled_by_defaults(x, factor=2.5, weights=np.ones(2), options={"rate": 2.0}):
    return x * factor * weights[1] * options["rate"]


def test_code_with_defaults_is_found(builds: list[str]) -> None:
    assert [tapec.grad(scaled_by_defaults)(1.0) for _ in range(2)] == [5.0, 5.0]
    # as another process, which has defaults of its own, finds it
    kept = scaled_by_defaults.__defaults__
    scaled_by_defaults.__defaults__ = 2.5, np.ones(2), {"rate": 2.0}
    try:
        assert tapec.grad(scaled_by_defaults)(1.0) == 5.0
        assert builds == ["scaled_by_defaults"]
        scaled_by_defaults.__defaults__ = 2.5, np.ones(2), {"rate": 4.0}
        assert tapec.grad(scaled_by_defaults)(1.0) == 10.0
    finally:
        scaled_by_defaults.__defaults__ = kept


RATES = SimpleNamespace(rate=2.0)


def reads_a_namespace(x):
    return x * RATES.rate


def test_what_an_object_holds_is_followed_behind_an_entry(builds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for rate, count in ((2.0, 1), (2.0, 1), (3.0, 2), (2.0, 2)):
        if count == 1:
            # as another process finds it
            monkeypatch.setattr(staleness, "_made", OrderedDict())
        RATES.rate = rate
        assert tapec.jvp(reads_a_namespace, (1.0,), (1.0,)) == (rate, rate)
        assert builds == ["reads_a_namespace"] * count


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that this process compiles, with a cache folder of its own."""
    made: list[str] = []
    build = tapec.pipeline.build

    def counting(function: Any, *args: Any, **kwargs: Any) -> Any:
        made.append(function.__name__)
        return build(function, *args, **kwargs)

    monkeypatch.setattr(tapec.pipeline, "build", counting)
    # one derivative for one function would not look on disk again
    monkeypatch.setattr(staleness, "shared", lambda make, *given: make(*given))
    monkeypatch.delenv("TAPEC_CACHE", raising=False)
    monkeypatch.setenv("TAPEC_CACHE_DIR", str(tmp_path / "cache"))
    return made


def entry(folder: Path, suffix: str) -> Path:
    (path,) = (folder / "cache").glob(f"*/*{suffix}")
    return path


def cube(x):
    return x**3


@pytest.mark.parametrize("suffix", [".json", ".py", ".bin"])
@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "gone"])
def test_a_damaged_entry_is_rebuilt(tmp_path: Path, builds: list[str], suffix: str, damage: str) -> None:
    assert tapec.grad(cube)(2.0) == tapec.grad(cube)(2.0) == 12.0
    assert builds == ["cube"]
    path = entry(tmp_path, suffix)
    data = path.read_bytes()
    path.unlink()
    if damage != "gone":
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes({"empty": b"", "cut": data[:middle], "changed": flipped}[damage])
    assert tapec.grad(cube)(2.0) == tapec.grad(cube)(2.0) == 12.0
    # a table of other names is no damage that can be seen; it leads to no entry
    assert builds == ["cube", "cube"]
    if suffix == ".py":
        assert path.read_bytes() == data


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[]", "null", '{"tables": "abc"}', '{"tables": [{"a": 1}]}', '{"tables": [["abc"]]}', "\xff"],
)
def test_a_table_of_another_form_is_none(tmp_path: Path, builds: list[str], text: str) -> None:
    assert tapec.grad(cube)(2.0) == 12.0
    entry(tmp_path, ".json").write_text(text, encoding="latin-1")
    assert tapec.grad(cube)(2.0) == 12.0
    assert builds == ["cube", "cube"]


def scaled(factor):
    """Functions of one name, of which one or the other line is the body."""
    if factor == 2.0:

        def f(x):
            return 2.0 * x
    else:

        def f(x):
            return 5.0 * x

    return f


def test_an_entry_under_the_name_of_another_one_is_rebuilt(tmp_path: Path, builds: list[str]) -> None:
    def slopes() -> list[float]:
        return [tapec.grad(scaled(factor))(1.0) for factor in (2.0, 5.0)]

    assert slopes() == [2.0, 5.0]
    for suffix in (".py", ".bin"):
        one, two = (tmp_path / "cache").glob(f"*/*{suffix}")
        first, second = one.read_bytes(), two.read_bytes()
        one.write_bytes(second)
        two.write_bytes(first)
    assert slopes() == [2.0, 5.0]
    assert builds == ["f"] * 4


TABLE = np.ones(200_000)


class Settings:
    def __init__(self, rate):
        self.rate = rate


SETTINGS = Settings(2.0)


def reads_a_large_array(x):
    return x * TABLE[3]


def reads_an_object(x):
    return x * SETTINGS.rate


@pytest.mark.parametrize("function", [reads_a_large_array, reads_an_object])
def test_values_of_unknown_kind_and_large_arrays_are_not_kept(tmp_path: Path, builds: list[str], function: Any) -> None:
    for _ in range(2):
        assert tapec.grad(function)(1.0) == (1.0 if function is reads_a_large_array else 2.0)
    assert len(builds) == 2
    assert not list((tmp_path / "cache").glob("*/*.bin"))


def test_the_module_is_a_file_that_tracebacks_show(tmp_path: Path, builds: list[str]) -> None:
    gradient = tapec.grad(cube)
    gradient(2.0)
    assert entry(tmp_path, ".py").read_text() == gradient.source()
    assert "def cube_grad(x):" in gradient.source()


def test_the_folder_is_private(tmp_path: Path, builds: list[str]) -> None:
    tapec.grad(cube)(2.0)
    (folder,) = (tmp_path / "cache").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in folder.iterdir())


def test_the_cache_can_be_turned_off(project: Project) -> None:
    assert project.run(CALL, TAPEC_CACHE="0") == "[7. 7.]\ncompiled"
    assert not project.cache.exists()


def test_a_folder_that_others_can_write_is_refused(project: Project) -> None:
    project.run(CALL)
    (folder,) = project.cache.iterdir()
    folder.chmod(0o700)
    project.cache.chmod(0o777)
    program = """
        import numpy as np, tapec, model
        try:
            tapec.grad(model.loss)(np.ones(2))
        except tapec.errors.CacheError as error:
            print(error)
    """
    assert "can be written by others" in project.run(program)


def test_processes_may_share_the_cache(project: Project) -> None:
    command, variables = project.command(CALL)
    running = [
        subprocess.Popen(command, cwd=project.folder, env=variables, text=True, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    assert {process.communicate(timeout=600)[0].splitlines()[0] for process in running} == {"[7. 7.]"}
    assert project.run(CALL) == "[7. 7.]\ncached"
    assert not list(project.cache.glob("*/.writing-*"))


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_read_only_default_folder_costs_time_only(project: Project, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    program = "import os; del os.environ['TAPEC_CACHE_DIR'];" + CALL
    assert project.run(program, XDG_CACHE_HOME=str(blocked), HOME=str(blocked)) == "[7. 7.]\ncompiled"
