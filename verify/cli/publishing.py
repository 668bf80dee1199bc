"""The commands that show results to others: compare two records, publish a site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verify.cli.console import PATH, end, out_option, say, tell

if TYPE_CHECKING:
    from verify.evidence import RunRecord


@click.command()
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Format of the output.",
)
def compare(old: Path, new: Path, form: str) -> None:
    """Show how NEW differs from OLD.

    Compares verdicts, outcomes, keys, values and settings. Both are a results.json or both an audit.json; -
    is standard input. A value that was drawn differently has moved if its two intervals are disjoint. Exits
    with 1 if a verdict or an outcome changed.
    """
    from verify.citing.compare import FORMS, compare
    from verify.evidence.load import load_either

    found = compare(load_either(old), load_either(new))
    (tell if form == "text" else say)(FORMS[form](found))
    end(found.exit_status)


@click.command()
@out_option("site", "Folder to write; one that contains anything but such a site is left unchanged.")
@click.option(
    "--results",
    type=PATH,
    metavar="FILE",
    help="A results.json, or - for standard input.  [default: what [tool.sdpa-verify] in pyproject.toml "
    "names, else reports/results.json, else the reference that comes with the tool]",
)
def site(out: Path, results: Path | None) -> None:
    """Write a run as a static site.

    It has a page for each claim and each statement, to publish and to link to. Citations lead there once
    pyproject.toml has its address, as [tool.sdpa-verify] site. Its objects.inv is for intersphinx, MyST and
    mkdocstrings: claim:KEY and statement:ID.
    """
    from verify.citing.configuration import configuration
    from verify.evidence import RunRecord
    from verify.evidence.load import present
    from verify.files.writing import temporary_files_together
    from verify.report.site import write_site

    chosen = configuration()
    record = present(results or chosen.results_file)
    shown = _with_packs(record) if isinstance(record, RunRecord) else None
    with temporary_files_together():
        problem = write_site(record, out, chosen.site, shown=shown)
    say(out / "index.html")
    if problem is not None:
        raise problem
    end(0)


def _with_packs(record: RunRecord) -> RunRecord:
    """Return a run with the statements of the packs that ship, which its claims decide as well."""
    from verify.engine.sources import packs, read_sources
    from verify.engine.statements import decide

    for name in packs().keys() - {record.run.pack}:
        book = read_sources(Path(name))
        statements = record.statements + decide(book, record.claims)
        record = record.model_copy(
            update={"sources": record.sources + book.sources, "statements": statements}
        )
    return record


COMMANDS = (compare, site)
