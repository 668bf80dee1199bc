"""The commands that quote results: values, cite, check-docs, export, badge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verify.console import PATH, end, say
from verify.errors import CitationError

if TYPE_CHECKING:
    from collections.abc import Callable

FORMATS = ("text", "markdown", "html", "rst", "latex", "bibtex", "csl-json", "json")


def _results(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--results",
        type=PATH,
        metavar="FILE",
        help="A results.json.  [default: reports/results.json, else the reference that comes with the tool]",
    )(command)


@click.command()
@click.argument("claims", nargs=-1, metavar="[CLAIM]...")
@_results
def values(claims: tuple[str, ...], results: Path | None) -> None:
    """List what can be quoted: keys and their present text.

    Besides claims, ’run’ stands for the run’s own values and ’source’ for the documents’ statements.
    """
    from verify.citing.values import lookup
    from verify.citing.values import values as every
    from verify.results import present

    record = present(results)
    for name in claims:
        if not any(every(record, name)):
            lookup(record, name)
    listed = [value for name in claims or (None,) for value in every(record, name)]
    width = max((len(value.key) for value in listed), default=0)
    say("\n".join(f"{value.key:<{width}}  {value.text}" for value in listed))
    end(0)


@click.command()
@click.argument("key", metavar="CLAIM[.CHECK]")
@click.option("--format", "form", default="text", show_default=True, metavar="|".join(FORMATS))
@click.option("--url", default="", metavar="URL", help="The folder where the report is published.")
@_results
def cite(key: str, form: str, url: str, results: Path | None) -> None:
    """Print a citation of a claim, or of one of its findings."""
    from verify.citing.values import lookup
    from verify.report import citation
    from verify.results import present

    if form not in citation.FORMATS:
        raise CitationError(f"no format {form!r}; choose {', '.join(FORMATS)}")
    record = present(results)
    value = lookup(record, key)
    if value.claim is None:
        raise CitationError(f"{key!r} is no claim; cite one of `sdpa-verify list`")
    say(citation.FORMATS[form](citation.citation(record, value.claim, value.finding, url)))
    end(0)


@click.command("check-docs")
@click.argument("documents", nargs=-1, type=PATH, required=True, metavar="FILE...")
@click.option("--write", is_flag=True, help="Put right what is stale, in the documents’ own words.")
@_results
def check_docs(documents: tuple[Path, ...], results: Path | None, *, write: bool) -> None:
    """Compare what documents quote with the results; exit with 1 if anything is not so.

    Nothing is verified anew: the results are those of the last run, or those given.
    """
    from verify.citing.documents import check, mend
    from verify.report.imprint import origin
    from verify.results import present

    record = present(results)
    checked = check(documents, record)
    problems = [problem for document in checked for problem in document.problems]
    mended = set(mend(checked)) if write else set()
    for problem in problems:
        done = problem.mendable and problem.path.resolve() in mended
        say(f"{problem}{'; mended' if done else ''}")
    for document in checked:
        say(f"{document.path}: {_count(len(document.quotes), 'quotation')}, {_wrong(len(document.problems))}")
    say(f"held against the results of {origin(record)}")
    left = [one for one in problems if not (one.mendable and one.path.resolve() in mended)]
    if any(one.mendable for one in left):
        say("`sdpa-verify check-docs --write FILE...` puts stale figures right")
    end(1 if left else 0)


@click.command()
@click.argument("claims", nargs=-1, metavar="[CLAIM]...")
@click.option("--format", "form", default="latex", show_default=True, metavar="latex")
@click.option("--out", type=PATH, default=Path("verify.tex"), show_default=True, metavar="FILE")
@_results
def export(claims: tuple[str, ...], form: str, out: Path, results: Path | None) -> None:
    r"""Write the values as LaTeX macros: \input the file, then quote with \verify{KEY}."""
    from verify.citing.latex import macros
    from verify.citing.values import lookup
    from verify.citing.values import values as every
    from verify.files import write_whole
    from verify.results import present

    if form != "latex":
        raise CitationError(f"no format {form!r} to export; choose latex")
    record = present(results)
    for name in claims:
        lookup(record, name)
    chosen = [value for name in claims or (None,) for value in every(record, name)]
    write_whole(out, macros(record, chosen).encode())
    say(out)
    end(0)


@click.command()
@click.argument("claim")
@click.option("--out", type=PATH, default=Path(), metavar="DIR", help="Folder to write to.  [default: here]")
@_results
def badge(claim: str, out: Path, results: Path | None) -> None:
    """Write a claim’s verdict as a badge: CLAIM.svg, and CLAIM.json for shields endpoints."""
    from verify.citing.badge import as_endpoint, as_svg
    from verify.citing.values import lookup
    from verify.files import write_together
    from verify.results import present

    found = lookup(present(results), claim).claim
    if found is None or found.id != claim:
        raise CitationError(f"{claim!r} is no claim; `sdpa-verify list` shows them all")
    files = {out / f"{claim}.svg": as_svg(found).encode(), out / f"{claim}.json": as_endpoint(found).encode()}
    write_together(files)
    for path in files:
        say(path)
    end(0)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _wrong(number: int) -> str:
    return f"{number} not so" if number else "all so"


COMMANDS = (values, cite, check_docs, export, badge)
