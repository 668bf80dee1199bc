"""The commands that show results to others: values, cite, check-docs, export, badge, compare, site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verify.cli.console import PATH, form_option, log, out_option, say, tell
from verify.errors import CitationError, VerifyError
from verify.files import write_folder, write_whole

if TYPE_CHECKING:
    from verify.citing.values import Evidence

CITATIONS = ("bibtex", "csl-json", "latex", "markdown", "text")
OUTCOMES = ("github", "text")
EXPORTS = ("json", "latex")
"""The formats of `verify.citing`'s tables, which help names without loading them."""


_results = click.option(
    "--results",
    type=PATH,
    metavar="FILE",
    help="A results.json or audit.json of at most 128 MB, or - for standard input.  [default: the file that "
    "[tool.sdpa-verify] in pyproject.toml names, else reports/results.json, else the reference run]",
)


@click.command()
@click.argument("names", nargs=-1, metavar="[CLAIM|LAYER|KEY]...")
@_results
def values(names: tuple[str, ...], results: Path | None) -> None:
    """List the values that can be quoted, with their keys.

    Name claims or keys to list only theirs, "run" for the values of the whole run, or "source" for the
    statements of documents; of an audit, layers, keys, or "audit".
    """
    from verify.citing.values import chosen

    record = _present(results)
    listed = chosen(record, [_as_key(record, name) for name in names])
    # A terminal has half a line for keys; a longer key pushes its text to the right.
    width = min(40, max((len(value.key) for value in listed), default=0))
    for value in listed:
        tell(f"{value.key:<{width}}  {value.text}")


@click.command("cite")
@click.argument("key")
@form_option(CITATIONS)
@click.option("--url", metavar="URL", help="Address of the published report: its page, its folder or a DOI.")
@_results
def cite_(key: str, form: str, url: str | None, results: Path | None) -> None:
    """Print a citation of what KEY names.

    KEY is CLAIM or CLAIM.CHECK; "run" for the whole run; source.ID for a statement of a document; of an audit
    LAYER or LAYER.FINDING, or "audit" for all of it.
    """
    from verify.citing.citations import FORMS, cite
    from verify.citing.documents import configuration
    from verify.citing.values import by_key

    settings = configuration()
    # These end a link in Markdown, and a field in BibTeX.
    if re.search(r"[\s{}()<>\"\\]", address := url or settings.report):
        raise CitationError(f"--url {address!r}: give an address without spaces, brackets and quotes")
    record = _present(results)
    key = _as_key(record, key)
    value = by_key(record)[key]
    whole, _, part = key.partition(":")
    if part or value.subject is None:
        raise CitationError(f"{key!r} is a part of what is cited as a whole; cite {whole!r}")
    cited = cite(record, value.subject, value.part, address, "" if url else settings.site)
    (tell if form == "text" else say)(FORMS[form](cited))


@click.command("check-docs")
@click.argument("documents", nargs=-1, type=PATH, metavar="[FILE]...")
@click.option("--write", is_flag=True, help="Update stale quotations that have a form.")
@click.option("--diff", is_flag=True, help="Print what --write would change, as a patch; write nothing.")
@click.option(
    "--strict",
    is_flag=True,
    help="Also find numbers without markers that look like values of a claim named in the same paragraph.",
)
@form_option(OUTCOMES)
@_results
def check_docs(
    documents: tuple[Path, ...], results: Path | None, form: str, *, write: bool, diff: bool, strict: bool
) -> int:
    """Compare quotations in documents with the results.

    The exit status is 1 if any is stale. A quotation with a form, such as KEY|default or KEY|.3f, must match
    exactly; --write updates it if nothing else stands between its markers. A quotation with a key alone is
    in your own words: its numbers are checked, and never rewritten. Exported files and badges are checked by
    the digest that they carry.

    FILE is a document of at most 16 MB (Markdown of any flavour, a notebook, HTML, reStructuredText, LaTeX,
    AsciiDoc, Typst, Python, or any text with comments), a folder, or a pattern such as 'docs/**/*.md'. The
    default is what [tool.sdpa-verify] in pyproject.toml lists. Nothing is verified again. Results of a quick
    run are used only if they are named.
    """
    from verify.citing.documents import FORMS, changes, check, configuration, find_documents, fix, left
    from verify.evidence import PROFILES, RunRecord
    from verify.evidence.load import LAST_RUN, origin

    if write and diff:
        raise click.UsageError("--write and --diff: give one of them")
    settings = configuration()
    wanted = documents or settings.documents
    if not wanted:
        missing = "Missing argument 'FILE...', or documents of [tool.sdpa-verify] in pyproject.toml"
        raise click.UsageError(missing)
    files, record = find_documents(wanted), _present(results)
    # A quick run that happens to be the last would make every quotation stale.
    is_coarse = isinstance(record, RunRecord) and record.run.settings.tolerance > PROFILES["standard"]
    if is_coarse and not results and not settings.results:
        raise VerifyError(
            f"{LAST_RUN}: is of a quick run, with which documents are compared only if it is named; name "
            'the results that they quote with --results, or as [tool.sdpa-verify] results = "FILE"'
        )
    checked = check(files, record, strict=strict)
    if write:
        fix(checked)
    if diff and (patch := changes(checked)):
        say(patch.removesuffix("\n"))
    elif diff:
        log(FORMS["text"](checked, origin(record)))
    else:
        (tell if form == "text" else say)(FORMS[form](checked, origin(record)))
    return 1 if left(checked) else 0


def _present(results: Path | None) -> Evidence:
    """Return the results given, or those that the project's configuration names, else the last run's."""
    from verify.citing.documents import configuration
    from verify.evidence.load import present

    return present(results or configuration().results)


def _as_key(record: Evidence, given: str) -> str:
    """Return a key with the id in place of what is printed: a claim's number, or the name of a layer."""
    from verify.evidence.audits import AuditRecord
    from verify.evidence.load import numbers

    if isinstance(record, AuditRecord):
        printed = {layer.name: layer.id for layer in record.layers}
    else:
        known = {claim.id: claim for claim in record.claims}
        places = record.run.numbers or numbers(known, known)
        printed = {number: claim for claim, number in places.items()}
    # A layer's name may begin with another's.
    for name in sorted(printed, key=len, reverse=True):
        if re.match(rf"{re.escape(name)}([.:|]|$)", given):
            return printed[name] + given[len(name) :]
    return given


@click.command()
@click.argument("names", nargs=-1, metavar="[CLAIM|LAYER|KEY]...")
@form_option(EXPORTS, default="latex")
@click.option("--out", type=PATH, metavar="FILE", help="File to write.  [default: verify.tex or verify.json]")
@_results
def export(names: tuple[str, ...], form: str, out: Path | None, results: Path | None) -> None:
    r"""Write values to a file for other programs.

    LaTeX: \input the file, then write \verify{KEY} for a value's text, \verifynum{KEY} for its bare number.
    JSON, which Typst reads, and as --out _variables.yml Quarto: texts and numbers under the keys with
    underscores, such as texts.score_variance_slope_estimate. The file also holds its command and the digest
    of its results, by which check-docs knows whether it is stale.
    """
    from verify.citing.exports import FORMATS, exported

    path = out or Path(f"verify{FORMATS[form]}")
    write_whole(path, exported(_present(results), names, form).encode())
    say(path)


@click.command()
@click.argument("claim")
@out_option(".")
@_results
def badge(claim: str, out: Path, results: Path | None) -> None:
    """Write a badge with a claim's verdict, CLAIM.svg."""
    from verify.citing.exports import as_svg
    from verify.citing.values import by_key
    from verify.evidence import ClaimRecord

    record = _present(results)
    value = by_key(record)[_as_key(record, claim)]
    if not isinstance(value.subject, ClaimRecord) or value.key != value.subject.id:
        raise CitationError(f"{claim!r} has no badge; give a claim")
    write_whole(out / f"{value.key}.svg", as_svg(value.subject).encode())
    say(out / f"{value.key}.svg")


@click.command()
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@click.option("--strict", is_flag=True, help="End with 1 if a value moved, too.")
def compare(old: Path, new: Path, *, strict: bool) -> int:
    """Show how the results NEW differ from the results OLD.

    Verdicts, outcomes, keys, values and settings are compared; - is standard input. A value that was drawn
    differently has moved if its two intervals are disjoint. The exit status is 1 if a verdict or an outcome
    changed.
    """
    from verify.citing.compare import compare, to_text
    from verify.evidence.load import load

    changes = compare(load(old), load(new))
    tell(to_text(changes))
    return changes.exit_status or int(strict and bool(changes.moved))


@click.command()
@out_option("site", "Folder to write to; files in it that are not of such a site are never replaced.")
@_results
def site(out: Path, results: Path | None) -> None:
    """Write a run as a static site.

    It has a page for each claim and each statement. Citations link to them if pyproject.toml has the site's
    address, as site in [tool.sdpa-verify]. By the file objects.inv, Sphinx (intersphinx), MyST and
    mkdocstrings can link to claim:KEY and statement:ID.
    """
    from verify.citing.documents import configuration
    from verify.engine.statements import decide, packs, read_sources
    from verify.evidence import RunRecord
    from verify.report.site import MARKER, site_files

    record, shown = _present(results), None
    if isinstance(record, RunRecord):
        # Its claims decide the statements of the packs that ship as well.
        books = [read_sources(Path(name)) for name in sorted(packs().keys() - {record.run.pack})]
        sources = [record.sources, *(book.sources for book in books)]
        statements = [record.statements, *(decide(book, record.claims) for book in books)]
        joined = {"sources": sum(sources, ()), "statements": sum(statements, ())}
        shown = record.model_copy(update=joined)
    write_folder(out, site_files(record, configuration().site, shown=shown), MARKER)
    say(out / "index.html")


COMMANDS = (values, cite_, check_docs, export, badge, compare, site)
