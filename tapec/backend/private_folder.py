"""Files in a folder that nobody but the user writes to.

Whoever writes a file of machine code decides what this process does.  So a folder is used only if it, and every folder
above it, belongs to the user or to root, and nobody else may put another one in its place.  A folder is opened step by
step from the root, each step inside the one before and by no link, and looked at as it is open; files are opened inside
it.  So nothing can be exchanged between the look and the use.

Windows has no such steps: there the folder is used as it is.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

_BESIDE = ".writing-"
# seconds after which a file that another machine was writing is taken for left behind
_LEFT_BEHIND = 3600.0
_POSIX = os.name == "posix"
# no link is followed, and nobody waits for the other end of a pipe
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def make(folder: Path) -> None:
    """Make a folder for the user alone, and those above it, if they do not exist.

    raises  OSError
    """
    for one in (folder.parent, folder):
        if not one.is_dir():
            one.mkdir(mode=0o700, parents=True, exist_ok=True)


def refusal(folder: Path) -> str:
    """Why a folder cannot be used; empty if it can."""
    try:
        with _opened(folder):
            return ""
    except OSError as error:
        return str(error.strerror) if isinstance(error, _Unsafe) else str(error)


def read(path: Path) -> bytes | None:
    """What a file holds; None if there is none, or another user may have written it."""
    try:
        with _opened(path.parent) as folder:
            handle = os.open(_inside(folder, path), _READ, dir_fd=folder)
            with open(handle, "rb") as file:
                about = os.fstat(handle)
                if not stat.S_ISREG(about.st_mode) or _unsafe(about, path, _BY_OTHERS):
                    return None
                return file.read()
    except OSError:
        return None


def write(path: Path, data: bytes) -> bool:
    """Write a file that appears whole or not at all; whether that worked.

    A full or read-only disk costs time, not the result.
    """
    beside = path.with_name(f"{_BESIDE}{_host()}-{os.getpid()}-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with _opened(path.parent) as folder:
            handle = os.open(_inside(folder, beside), flags, 0o600, dir_fd=folder)
            try:
                with open(handle, "wb") as file:
                    file.write(data)
                os.replace(_inside(folder, beside), _inside(folder, path), src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(_inside(folder, beside), dir_fd=folder)
                raise
    except OSError:
        return False
    return True


def tidy(folder: Path) -> None:
    """Delete the files that processes were writing when they died."""
    with contextlib.suppress(OSError), _opened(folder) as opened:
        for name in os.listdir(folder if opened is None else opened):
            if name.startswith(_BESIDE) and _left_behind(name, os.stat(_inside(opened, folder / name), dir_fd=opened)):
                os.unlink(_inside(opened, folder / name), dir_fd=opened)


def _left_behind(name: str, about: os.stat_result) -> bool:
    host, _, rest = name.removeprefix(_BESIDE).partition("-")
    process = rest.partition("-")[0]
    if host == _host() and process.isdigit() and _POSIX:
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):
            pass
    return time.time() - about.st_mtime > _LEFT_BEHIND


def _host() -> str:
    return "".join(letter for letter in socket.gethostname() if letter.isalnum())[:32] or "host"


class _Unsafe(PermissionError):
    """A folder that others may write to; `strerror` says why."""


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """A descriptor of a folder that is the user's own, or None where a system has no such descriptors.

    raises  OSError
    """
    if not _POSIX:
        yield None
        return
    real = Path(os.path.realpath(folder))
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(real.anchor, flags)
    try:
        for place in (*reversed(real.parents[:-1]), real):
            inner = os.open(place.name, flags, dir_fd=handle)
            os.close(handle)
            handle = inner
            about = os.fstat(handle)
            # in a folder with the sticky bit, as /tmp, nobody moves what belongs to others
            shared = place != real and about.st_mode & stat.S_ISVTX
            if reason := _unsafe(about, place, 0 if shared else _BY_OTHERS):
                raise _Unsafe(0, reason)
        yield handle
    finally:
        os.close(handle)


def _unsafe(about: os.stat_result, place: Path, forbidden: int) -> str:
    """Why what is found at a place is not the user's alone; empty if it is.

    forbidden  permissions to write that it may not have
    """
    if not _POSIX:
        return ""
    if about.st_uid not in (os.geteuid(), 0):
        return f"{place} belongs to another user"
    if about.st_mode & forbidden & stat.S_IWGRP and _is_own_group(about.st_gid):
        forbidden &= ~stat.S_IWGRP
    return f"{place} can be written by others" if about.st_mode & forbidden else ""


def _is_own_group(group: int) -> bool:
    """Whether a group is the user's alone, as many systems have one of the user's name for each user."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


def _inside(folder: int | None, path: Path) -> str:
    """The name of a file for a call that is given its open folder, or its path for one that is given none."""
    return str(path) if folder is None else path.name
