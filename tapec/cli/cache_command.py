"""`tapec cache`: what compiled derivatives occupy on disk, and how to be rid of them."""

from __future__ import annotations

import click

from tapec.cli.shared_options import guarded


@click.group(
    epilog="""\b
    Examples:
      tapec cache info
      tapec cache clear
    """
)
def cache() -> None:
    """Look at the cache of compiled derivatives, or empty it.

    TAPEC_CACHE_DIR moves the folder; TAPEC_CACHE=0 does without.
    """


@cache.command(epilog="Example: tapec cache info")
@guarded
def info() -> None:
    """Say where the cache is, how many derivatives it holds and how large they are."""
    from tapec.backend.cache import base_folder
    from tapec.backend.private_folder import refusal
    from tapec.backend.stored import cached

    folder = base_folder()
    if folder is None:
        click.echo("no cache: TAPEC_CACHE turns it off")
        return
    if folder.is_dir() and (reason := refusal(folder)):
        click.echo(f"{folder}\nnot used: {reason}")
        return
    groups = list(cached())
    click.echo(folder)
    for group in groups:
        used = "" if group.current else ", left by other versions"
        click.echo(f"  {group.folder.name}: {group.entries} derivatives, {size(group.bytes)}{used}")


@cache.command(epilog="Example: tapec cache clear --old")
@click.option("--old", is_flag=True, help="Only what other versions of Python, Numba or tapec left.")
@guarded
def clear(old: bool) -> None:
    """Delete what the cache holds; programs that run keep what they have loaded."""
    from tapec.backend.stored import clear_cache

    files, freed = clear_cache(only_old=old)
    click.echo(f"deleted {files} files, {size(freed)}")


def size(count: int) -> str:
    """A number of bytes in words.

    >>> size(999), size(12_345), size(3_000_000)
    ('999 bytes', '12.3 kB', '3.0 MB')
    """
    if count < 1000:
        return f"{count} bytes"
    for unit in ("kB", "MB"):
        count_ = count / (1e3 if unit == "kB" else 1e6)
        if count_ < 1000:
            return f"{count_:.1f} {unit}"
    return f"{count / 1e9:.1f} GB"
