"""The commands that show results to others: compare two records, publish a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verify.cli.console import PATH, end, say

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Form of what is printed.",
)
def compare(old: Path, new: Path, form: str) -> None:
    """Say what NEW has otherwise than OLD: verdicts, outcomes, keys, values and settings.

    Both are a results.json or both an audit.json; - is standard input. Values that were drawn otherwise have
    moved where their intervals are apart. Ends with 1 if a verdict or an outcome changed.
    """
    from verify.citing.compare import FORMS, compare
    from verify.evidence.load import load_either

    found = compare(load_either(old), load_either(new))
    say(FORMS[form](found))
    end(found.exit_status)


COMMANDS = (compare,)
