"""The commands on the cache of finished work: show and clear."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verify.cli.console import PATH, end, say

if TYPE_CHECKING:
    from verify.engine.store import Store

_option = click.option(
    "--store", type=PATH, metavar="FILE", help="The cache.  [default: in the user's cache folder]"
)


@click.group(no_args_is_help=False)
def store() -> None:
    """Manage the cache that later runs reuse.

    It holds checked derivations, drawn samples and settled claims.
    """


@store.command()
@_option
def show(store: Path | None) -> None:
    """Show where the cache is and how large it is."""
    with _opened(store) as opened:
        rows, size = opened.size()
    say(f"{opened.path}: {rows} rows, {size / 1e6:.1f} MB")
    end(0)


@store.command()
@_option
def clear(store: Path | None) -> None:
    """Empty the cache."""
    with _opened(store) as opened:
        rows, _ = opened.size()
        opened.clear()
    say(f"{opened.path}: {rows} rows removed")
    end(0)


def _opened(path: Path | None) -> Store:
    """Return the store that a command is about, which has to be there."""
    from verify.engine.store import Store, default_path
    from verify.errors import StoreError

    place = path or default_path()
    if not (place.is_file() and place.stat().st_size):
        raise StoreError(f"store {place}: there is none; a run makes one, or give --store FILE")
    return Store(place)


COMMANDS = (store,)
