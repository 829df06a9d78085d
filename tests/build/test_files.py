"""Files of a build appear whole, with the modes of their kind, and inside the output folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tapec.build.files import place, replace
from tapec.errors import UsageError


def test_a_file_takes_the_place_of_a_link(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    out.mkdir()
    other.write_bytes(b"foreign")
    (out / "made.py").symlink_to(other)
    assert place(out, out / "made.py", b"made") == out / "made.py"
    assert (out / "made.py").read_bytes() == b"made" and not (out / "made.py").is_symlink()
    assert other.read_bytes() == b"foreign"


def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    out.mkdir()
    other.mkdir()
    (out / "package").symlink_to(other)
    for path in (out / "package" / "made.py", out / "package" / "deeper" / "made.py"):
        with pytest.raises(UsageError, match="leads out of the output folder"):
            place(out, path, b"made")
    assert not list(other.iterdir())
    # a link inside, or the folder itself being one, is as good as a folder
    (out / "own").mkdir()
    (out / "link").symlink_to("own")
    (tmp_path / "alias").symlink_to(out)
    place(tmp_path / "alias", tmp_path / "alias" / "link" / "made.py", b"made")
    assert (out / "own" / "made.py").read_bytes() == b"made"


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "made.py"
    replace(path, b"first")
    monkeypatch.setattr(os, "replace", lambda *args: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError):
        replace(path, b"second")
    assert path.read_bytes() == b"first" and list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_modes_are_those_of_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        place(tmp_path, tmp_path / "text", b"")
        place(tmp_path, tmp_path / "library", b"", 0o755)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "text").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "library").stat().st_mode) == 0o750
