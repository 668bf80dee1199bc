"""The commands that quote results: values, cite, check-docs, export, badge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verify.cli.console import PATH, end, say
from verify.errors import CitationError
from verify.export import values as exports
from verify.report import citations

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.citing.documents import Document


def _results(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--results",
        type=PATH,
        metavar="FILE",
        help="A results.json of at most 32 MB, an audit.json of at most 128 MB, or - for standard input."
        "  [default: reports/results.json, else the reference that comes with the tool]",
    )(command)


@click.command()
@click.argument("names", nargs=-1, metavar="[CLAIM|LAYER|KEY]...")
@_results
def values(names: tuple[str, ...], results: Path | None) -> None:
    """List what can be quoted: keys and their present text.

    Besides claims, ’run’ stands for the run’s own values and ’source’ for the documents’ statements; a key
    for its value and its parts. Of an audit, give layers, ’audit’ for its own values, or keys.
    """
    from verify.citing.values import chosen
    from verify.evidence.load import present

    listed = chosen(present(results), names)
    width = max((len(value.key) for value in listed), default=0)
    say("\n".join(f"{value.key:<{width}}  {value.text}" for value in listed))
    end(0)


@click.command("cite")
@click.argument("key", metavar="CLAIM[.CHECK]|LAYER[.FINDING]")
@click.option(
    "--format",
    "form",
    default="text",
    show_default=True,
    metavar="|".join(citations.names()),
    help="Form of the citation.",
)
@click.option("--url", default="", metavar="URL", help="The folder where the report is published.")
@_results
def cite_(key: str, form: str, url: str, results: Path | None) -> None:
    """Print a citation of a claim or of one of its findings; of an audit, of a layer or a finding."""
    from verify.citing.values import lookup
    from verify.evidence.load import present
    from verify.report.citation import check_address, cite

    render = citations.form(_known(form, citations.names()))
    check_address(url)
    record = present(results)
    value = lookup(record, key)
    if value.subject is None:
        raise CitationError(
            f"{key!r} is a value of the run or of a source, of which there are no citations; "
            "cite a claim or a check, CLAIM or CLAIM.CHECK, as `sdpa-verify list` shows them"
        )
    whole, _, part = key.partition(":")
    if part:
        raise CitationError(f"{key!r} is a part of what is cited as a whole; cite {whole!r}")
    say(render(cite(record, value.subject, value.part, url)))
    end(0)


@click.command("check-docs")
@click.argument("documents", nargs=-1, type=PATH, required=True, metavar="FILE...")
@click.option("--write", is_flag=True, help="Put right what is stale, in the documents’ own words.")
@_results
def check_docs(documents: tuple[Path, ...], results: Path | None, *, write: bool) -> None:
    """Compare what documents quote with the results; exit with 1 if anything is not so.

    Documents are regular files of at most 16 MB.
    Nothing is verified again: the results are those of the last run, or those given.
    """
    from verify.citing.documents import check, fix
    from verify.evidence.load import present
    from verify.report.imprint import origin

    record = present(results)
    checked = check(documents, record)
    if write:
        fix(checked)
    problems = [problem for document in checked for problem in document.problems]
    for problem in problems:
        say(f"{problem}{'; fixed' if write and problem.fixable else ''}")
    for document in checked:
        say(_summary(document, write=write))
    say(f"held against the results of {origin(record)}")
    left = [problem for problem in problems if not (write and problem.fixable)]
    if any(one.fixable for one in left):
        say("`sdpa-verify check-docs --write FILE...` puts stale figures right")
    end(1 if left else 0)


@click.command()
@click.argument("names", nargs=-1, metavar="[CLAIM|LAYER|KEY]...")
@click.option(
    "--format",
    "form",
    default="latex",
    show_default=True,
    metavar="|".join(exports.names()),
    help="Form of the values.",
)
@click.option(
    "--out",
    type=PATH,
    metavar="FILE",
    help="File to write.  [default: verify, and what the form's files end in, such as .tex]",
)
@_results
def export(names: tuple[str, ...], form: str, out: Path | None, results: Path | None) -> None:
    r"""Write the values for other programs.

    As LaTeX macros: \input the file, then quote with \verify{KEY}.
    """
    from verify.citing.values import chosen
    from verify.evidence.load import present
    from verify.files.writing import write_whole

    wanted = exports.form(_known(form, exports.names()))
    record = present(results)
    path = out or Path(f"verify{wanted.SUFFIX}")
    write_whole(path, wanted.export(record, chosen(record, names)).encode())
    say(path)
    end(0)


@click.command()
@click.argument("name", metavar="CLAIM|LAYER|audit")
@click.option("--out", type=PATH, default=Path(), metavar="DIR", help="Folder to write to.  [default: here]")
@_results
def badge(name: str, out: Path, results: Path | None) -> None:
    """Write a verdict as a badge: NAME.svg, and NAME.json for shields endpoints.

    Of an audit, ’audit’ stands for the whole, whose files are called attention-audit; a badge shows the
    most serious judgement that decides.
    """
    from verify.citing.badge import as_endpoint, as_svg, badge_of
    from verify.citing.values import lookup
    from verify.evidence.load import present
    from verify.files.writing import write_together

    record = present(results)
    value = lookup(record, name)
    if value.subject is None or value.part is not None or ":" in name:
        raise CitationError(f"{name!r} has no badge; give a claim, or of an audit a layer or audit")
    shown = badge_of(record, value.subject)
    # Not audit.json, which is the evidence.
    stem = shown.label.replace(" ", "-")
    files = {out / f"{stem}.svg": as_svg(shown).encode(), out / f"{stem}.json": as_endpoint(shown).encode()}
    write_together(files)
    for path in files:
        say(path)
    end(0)


def _known(form: str, names: tuple[str, ...]) -> str:
    if form not in names:
        raise CitationError(f"no format {form!r}; choose {', '.join(names)}")
    return form


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _summary(document: Document, *, write: bool) -> str:
    quotes = sum(not quote.mistake for quote in document.quotes)
    if not quotes and not document.problems:
        return f"{document.path}: nothing is quoted here"
    fixed = sum(problem.fixable for problem in document.problems) if write else 0
    left = len(document.problems) - fixed
    counts = [f"{fixed} fixed"] * bool(fixed) + [f"{left} not so"] * bool(left)
    macros = r"; of \verify{…} only the keys are checked, its figures are those of the exported file"
    return (
        f"{document.path}: {_count(quotes, 'quotation')}, {', '.join(counts) or 'all so'}"
        f"{macros if document.macros_alone else ''}"
    )


COMMANDS = (values, cite_, check_docs, export, badge)
