"""Files are read and written in folders that nobody else can write to, and in no others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tapec.backend import private_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes of files")

as_root = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "above" / "inside"
    private_folder.make(made)
    assert private_folder.write(made / "code", b"own")
    return made


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda folder: folder.chmod(0o777), "inside can be written by others"),
        (lambda folder: folder.chmod(0o1777), "inside can be written by others"),
        (lambda folder: folder.parent.chmod(0o777), "above can be written by others"),
        pytest.param(lambda folder: os.chown(folder, 12345, -1), "inside belongs to another user", marks=as_root),
        pytest.param(lambda folder: os.chown(folder.parent, 12345, -1), "above belongs to another user", marks=as_root),
        pytest.param(
            lambda folder: (os.chown(folder, -1, 12345), folder.chmod(0o770)), "inside can be written", marks=as_root
        ),
    ],
)
def test_a_folder_that_is_not_the_users_alone(folder: Path, spoil: Callable[[Path], object], reason: str) -> None:
    spoil(folder)
    assert reason in private_folder.refusal(folder)
    assert private_folder.read(folder / "code") is None
    assert not private_folder.write(folder / "code", b"anew")
    assert (folder / "code").read_bytes() == b"own"


def test_folders_above_may_be_shared_with_the_sticky_bit(folder: Path) -> None:
    folder.parent.chmod(0o1777)
    assert private_folder.refusal(folder) == ""
    assert private_folder.read(folder / "code") == b"own"


def test_a_link_leads_to_a_folder_that_is_looked_at(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder.parent)
    assert private_folder.read(tmp_path / "link" / "inside" / "code") == b"own"
    folder.parent.chmod(0o777)
    assert private_folder.read(tmp_path / "link" / "inside" / "code") is None


def test_files_that_another_user_may_have_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "foreign").write_bytes(b"foreign")
    (folder / "link").symlink_to(tmp_path / "foreign")
    (folder / "open").write_bytes(b"foreign")
    (folder / "open").chmod(0o666)
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    for name in ("link", "open", "pipe", "folder", "missing"):
        assert private_folder.read(folder / name) is None
    # what is written takes the place of a link, not that of what it leads to
    assert private_folder.write(folder / "link", b"own")
    assert private_folder.read(folder / "link") == b"own"
    assert (tmp_path / "foreign").read_bytes() == b"foreign"


def test_files_of_dead_processes_go(folder: Path) -> None:
    code = (
        "import os; from pathlib import Path; from tapec.backend import private_folder\n"
        "os.replace = lambda *args, **named: os._exit(3)\n"
        f"private_folder.write(Path({str(folder)!r}) / 'code', b'anew')"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 3
    mine = folder / f".writing-{private_folder._host()}-{os.getpid()}-0"
    elsewhere, old = folder / ".writing-elsewhere-1-0", folder / ".writing-elsewhere-1-1"
    for path in (mine, elsewhere, old):
        path.touch()
    past = time.time() - 2 * 3600
    os.utime(old, (past, past))
    assert len(list(folder.glob(".writing-*"))) == 4
    private_folder.tidy(folder)
    assert set(folder.iterdir()) == {folder / "code", mine, elsewhere}


def test_what_cannot_be_written_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **named: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    assert not private_folder.write(folder / "other", b"anew")
    assert set(folder.iterdir()) == {folder / "code"}


@as_root
def test_a_read_only_folder_is_read(folder: Path) -> None:
    """As another user, to whom it belongs to root."""
    for one in (folder, *folder.parents):
        if one.stat().st_mode & 0o055 != 0o055:
            one.chmod(0o755)
    (folder / "code").chmod(0o644)
    code = (
        "import os; from pathlib import Path; from tapec.backend import private_folder\n"
        "os.setgid(65534); os.setuid(65534)\n"
        f"path = Path({str(folder)!r}) / 'code'\n"
        "print(private_folder.read(path), private_folder.write(path, b'anew'))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "b'own' False\n"
