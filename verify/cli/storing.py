"""The commands on the store of finished work: show, verify, export, merge, clear."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verify.cli.console import PATH, end, say, tell
from verify.text.escapes import one_line

if TYPE_CHECKING:
    from verify.engine.store import Contents, Store

_NAMED = 40  # wrong rows that are listed; of all it is said how many


def _store(path: Path | None) -> Store:
    """Return the store that a command is about, which has to be there."""
    from verify.engine.store import Store, default_path
    from verify.errors import StoreError

    place = path or default_path()
    if not (place.is_file() and place.stat().st_size):
        raise StoreError(f"store {place}: there is none; a run makes one, or give --store FILE")
    return Store(place)


_option = click.option(
    "--store", type=PATH, metavar="FILE", help="The store.  [default: in the user's cache folder]"
)


@click.group(no_args_is_help=False)
def store() -> None:
    """Manage finished work that later runs reuse.

    It consists of checked derivations and drawn chunks.
    """


@store.command()
@_option
def show(store: Path | None) -> None:
    """Show where the store is and what it contains."""
    with _store(store) as opened:
        tell(_described(opened.contents()))
    end(0)


@store.command()
@_option
def verify(store: Path | None) -> None:
    """Judge every row again, and remove those that are wrong.

    The exit status is 1 if any is. Wrong is a row that does not fit its checksum or its key, that holds what
    is not finite or cannot be the result of any run, or a claim's record with another verdict than its own
    numbers give.
    """
    from verify.engine.store import fault_of

    with _store(store) as opened:
        rows = sum(opened.contents().rows.values())
        wrong = [(row.key, f"{row.name}: {why}") for row, why in opened.wrong(fault_of)]
        opened.remove(key for key, _ in wrong)
    for _, named in wrong[:_NAMED]:
        tell(one_line(named))
    tell(f"{rows} rows, {len(wrong)} wrong{', removed; runs compute them again' if wrong else ''}")
    end(1 if wrong else 0)


@store.command()
@click.argument("file", type=PATH)
@_option
def export(file: Path, store: Path | None) -> None:
    """Write a copy of the store to FILE.

    Another machine can merge it.
    """
    from verify.engine.store import Store
    from verify.errors import StoreError

    if file.exists():
        raise StoreError(f"{file}: is there already; give another name")
    with _store(store) as opened:
        try:
            with Store(file) as copy:
                rows = copy.merge(opened)
        except StoreError:
            for ending in ("", "-wal", "-shm"):
                file.with_name(file.name + ending).unlink(missing_ok=True)
            raise
    say(f"{file}: {rows} rows")
    end(0)


@store.command()
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="FILE...")
@_option
def merge(files: tuple[Path, ...], store: Path | None) -> None:
    """Merge other stores into this one.

    Rows that `store verify` would remove are left out. A row is used only by runs with the code, libraries
    and kind of processor that made it. Merge only stores that you trust like your own runs.
    """
    from verify.engine.store import Store, default_path, fault_of

    # Before a store is made: a mistyped name must not leave an empty one behind.
    for file in files:
        _store(file).close()
    with Store(store or default_path()) as opened:
        for file in files:
            with _store(file) as other:
                say(f"{file}: {opened.merge(other, fault_of)} new rows")
    end(0)


@store.command()
@_option
def clear(store: Path | None) -> None:
    """Remove everything from the store."""
    with _store(store) as opened:
        rows = sum(opened.contents().rows.values())
        opened.clear()
    say(f"{rows} rows removed")
    end(0)


def _described(contents: Contents) -> str:
    lines = [str(contents.path)]
    for kind, rows in sorted(contents.rows.items()):
        lines.append(f"{kind}s: {rows} rows, {contents.sizes[kind] / 1e6:.1f} MB")
    return "\n".join([*lines, f"damaged: {contents.damaged}"])


COMMANDS = (store,)
