"""Generated code persists, and every edit of what it came from is noticed."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.backend.processes import COMPILED, Project

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


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("model.py", "OFFSET * x[i]", "OFFSET * x[i] * 5", "[11. 11.]"),
        ("helper.py", "3.0 * v", "10.0 * v", "[21. 21.]"),
        ("settings.py", "FACTOR = 2.0", "FACTOR = 4.00", "[13. 13.]"),
        ("model.py", "OFFSET = 1.0", "OFFSET = 0.5", "[6.5 6.5]"),
        # a name of the language that becomes the module's own
        ("model.py", "OFFSET = 1.0", "OFFSET = 1.0\ndef range(n):\n    return (0,)", "[7. 0.]"),
    ],
)
def test_edits_are_noticed(project: Project, name: str, old: str, new: str, expected: str) -> None:
    project.run(CALL)
    project.edit(name, old, new)
    assert project.run(CALL) == f"{expected}\ncompiled"
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


def test_forward_and_reverse_with_seeds_are_kept(project: Project) -> None:
    call = "import numpy as np, tapec, model; x = np.ones(2); print(tapec.jvp(model.loss, (x,), (x,)));"
    call += "print(tapec.vjp(model.loss, x)[1](2.0))" + COMPILED
    first = project.run(call)
    assert first.endswith("compiled")
    assert project.run(call) == first.replace("compiled", "cached")


def test_a_damaged_entry_is_rebuilt(project: Project) -> None:
    project.run(CALL)
    for suffix, damage in (
        (".json", "cut"),
        (".json", "gone"),
        (".py", "changed"),
        (".py", "gone"),
        (".bin", "empty"),
        (".bin", "changed"),
        (".bin", "gone"),
    ):
        (path,) = project.entries(suffix)
        data = path.read_bytes()
        path.unlink()
        middle = len(data) // 2
        if damage != "gone":
            flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
            path.write_bytes({"empty": b"", "cut": data[:middle], "changed": flipped}[damage])
        assert project.run(CALL) == "[7. 7.]\ncompiled", (suffix, damage)
        if suffix != ".bin":
            assert path.read_bytes() == data
    assert project.run(CALL) == "[7. 7.]\ncached"


def test_values_of_unknown_kind_and_large_arrays_are_not_kept(project: Project) -> None:
    project.write(
        "large.py",
        """
        import numpy as np

        TABLE = np.ones(200_000)

        def f(x):
            return x * TABLE[3]
        """,
    )
    call = "import large, tapec; print(tapec.grad(large.f)(2.0))" + COMPILED
    assert project.run(call) == "1.0\ncompiled"
    assert project.run(call) == "1.0\ncompiled"
    assert project.entries(".bin") == []


def test_the_cache_can_be_turned_off(project: Project) -> None:
    for _ in range(2):
        assert project.run(CALL, TAPEC_CACHE="0") == "[7. 7.]\ncompiled"
    assert not project.cache.exists()


def test_the_folder_is_private(project: Project) -> None:
    project.run(CALL)
    (folder,) = project.cache.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in folder.iterdir())


def test_a_folder_that_others_can_write_is_refused(project: Project) -> None:
    project.run(CALL)
    (folder,) = project.cache.iterdir()
    folder.chmod(0o777)
    program = """
        import numpy as np, tapec, model
        try:
            tapec.grad(model.loss)(np.ones(2))
        except tapec.errors.CacheError as error:
            print(error)
    """
    assert "can be written by others" in project.run(program)


def test_the_module_is_a_file_that_tracebacks_show(project: Project) -> None:
    project.run(CALL)
    (path,) = project.entries(".py")
    assert "def loss_grad(x):" in path.read_text()


def test_processes_may_share_the_cache(project: Project) -> None:
    command, variables = project.command(CALL)
    running = [
        subprocess.Popen(command, cwd=project.folder, env=variables, text=True, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    assert {process.communicate(timeout=120)[0].splitlines()[0] for process in running} == {"[7. 7.]"}
    assert project.run(CALL) == "[7. 7.]\ncached"
    assert not list(project.cache.glob("*/.writing-*"))


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_read_only_default_folder_costs_time_only(project: Project, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    program = "import os; del os.environ['TAPEC_CACHE_DIR'];" + CALL
    assert project.run(program, XDG_CACHE_HOME=str(blocked), HOME=str(blocked)) == "[7. 7.]\ncompiled"
