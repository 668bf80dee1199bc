"""Citations of a claim or of a number in it, in the forms that documents and reference managers take."""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, metadata
from urllib.parse import quote

from verify.citing.values import AUDIT, RUN, SOURCE, Evidence, Part, Subject, texts_of
from verify.evidence import ClaimRecord, ControlRecord, Fact, Proof, RunRecord, Statement, words
from verify.evidence.audits import AuditRecord, Finding
from verify.evidence.claims import USER
from verify.evidence.load import creation, digest, names, origin
from verify.text import escapes, numbers
from verify.text.latex import plain

AUTHORS = "The sdpa-verify authors"

_DOI = re.compile(r"(?:^|//(?:dx\.)?doi\.org/)(10\.\d{4,9}/.*)")  # bare or as an address


@dataclass(frozen=True, slots=True)
class Citation:
    """What a reader needs to check a result of a ``record``.

    ``label`` says what is cited, by its id, ``judged`` what became of it, ``what`` which quantity it is and
    ``result`` its number; both are empty where a whole is cited. ``title``, ``statement`` and ``what`` may
    hold LaTeX between dollar signs. ``url`` is its place in what is published, and ``doi`` that of the
    results, if they are published by one. ``authors`` are those of the tool, or of a claim of the user's own.
    """

    record: Evidence
    key: str
    label: str
    title: str
    statement: str
    what: str
    result: str
    judged: str
    digest: str
    url: str
    doi: str
    authors: tuple[str, ...]


def cite(
    record: Evidence, subject: Subject, part: Part | None = None, address: str = "", site: str = ""
) -> Citation:
    """Return the citation of a run, its claim or statement, of an audit or its layer, or of a part of these.

    ``address`` is where the report is published, the URL of its page or folder, or a DOI; ``site`` is that of
    a run's site, on which what is cited has a page.
    """
    key, anchor, label, title, statement, judged = _of_whole(record, subject)
    what = result = ""
    if part:
        status = subject.derivation.status if isinstance(subject, ClaimRecord) else None
        what, result, judged = _of_part(part, status)
    key = f"{key}.{part.id}" if part else key
    sealed = subject.digest if isinstance(subject, ClaimRecord) else digest(record)
    # A site has a page for each claim and statement; a report has a place.
    url = place_in_report(address, names(record).stem, anchor or key) if address else ""
    url = address_on_site(site, key) if site and isinstance(record, RunRecord) else url
    doi = match[1] if (match := _DOI.search(address)) else ""
    by: tuple[str, ...] = (AUTHORS,)
    if isinstance(subject, ClaimRecord) and subject.chapter == USER:
        by = subject.authors
    return Citation(record, key, label, title, statement, what, result, judged, sealed, url, doi, by)


def _of_whole(record: Evidence, subject: Subject) -> tuple[str, str, str, str, str, str]:
    """Return key, anchor (none where it is the key), label, title, statement, and what became of it."""
    match subject:
        case ClaimRecord(id=name):
            verdict, proof = words.badge(subject.verdict), words.badge(subject.derivation.status)
            judged = f"Claim {verdict.word}, {proof.word}"
            return name, "", f"claim {name}", subject.title, subject.statement, judged
        case Statement(id=name):
            sources = record.sources if isinstance(record, RunRecord) else ()
            source = next(source.title for source in sources if source.id == subject.source)
            title = f"A statement of “{source}”, compared with derivation and measurement"
            judged = f"Statement {words.badge(subject.outcome).word}"
            return f"{SOURCE}.{name}", f"statement-{name}", f"statement {name}", title, subject.text, judged
        case RunRecord():
            title = "Verification of claims about scaled dot-product attention"
            claims = numbers.counted(len(subject.claims), "claim")
            tallied = Counter(words.badge(claim.verdict).word for claim in subject.claims)
            (first, count), *others = tallied.most_common()
            tally = [f"{numbers.count(count)} of {claims} {first}"]
            judged = ", ".join([*tally, *(f"{numbers.count(count)} {word}" for word, count in others)])
            return RUN, "summary", "run", title, f"{claims}, each with its derivation and checks.", judged
    title = f"Attention audit of {escapes.as_prose(getattr(record, 'source', ''))}"
    judged = f"Most serious judgement {words.badge(words.most_serious(subject.findings)).word}"
    if isinstance(subject, AuditRecord):
        layers = numbers.counted(len(subject.layers), "layer")
        return AUDIT, "summary", "attention audit", title, f"{layers} audited.", judged
    title, meant = f"{title}, {escapes.as_prose(subject.name)}", subject.intention
    intended = f"intended scale {escapes.as_prose(meant.expression)} = {numbers.exact(meant.value)}"
    sequences = numbers.counted(subject.sequences, "sequence")
    statement = f"{words.capitalised(words.shape_of(subject))}; {sequences}; {intended}."
    return subject.id, subject.id, f"layer {subject.id}", title, statement, judged


# What is said of a number besides it, by the parts of its key.
_SAID = {
    ":error": "standard error {}",
    ":interval": "simultaneous interval {}",
    ":level": "level {}",
    ":interval95": "95% interval {}",
    ":draws": "n = {}",
    ":blocks": "{} blocks",
}


def _of_part(part: Part, status: Proof | None) -> tuple[str, str, str]:
    """Return which quantity a number is of, the number with all that is said of it, and what became of it."""
    said = {name: text for name, (text, _) in texts_of(part).items()}
    result = said.get(":estimate", said.get(":value", ""))
    result = ", ".join([result, *(form.format(said[name]) for name, form in _SAID.items() if name in said)])
    match part:
        case Fact():
            return part.what, result, "Computed, not measured"
        case Finding():
            sides = zip(("at least", "at most"), part.band or (), strict=False)
            wanted = " and ".join(f"{side} {numbers.exact(end, 4)}" for side, end in sides if end is not None)
            result += f"; asked for {wanted}" * bool(wanted)
            what = ", ".join(filter(None, [part.quantity, part.of_heads]))
            return what, result, f"Finding {words.badge(part.judgement).word}"
    relation = "" if part.relation == "=" else f"{part.relation}{numbers.GAP}"
    result += f"; predicted {relation}{said[':prediction']}"
    if isinstance(part, ControlRecord):
        judged = f"Negative control, {words.control_badge(part.verdict).word}"
        return f"negative control, {part.what}", result, judged
    what, where = part.quantity, words.cell_text(part.cell)
    if part.method == "fit" and {"points", "from", "to"} <= part.cell.keys():
        points, low, high = (numbers.setting(part.cell[name]) for name in ("points", "from", "to"))
        what += f", fitted through {points} points from {low} to {high}"
    elif where:
        what += f" at {where}"
    result += f", tolerance {plain(words.tolerance_text(part, with_kind=False))}"
    of = "prediction" if part.relation == "=" else "bound"
    against = {
        "derived": f"a {of} that nothing derives" if status is Proof.MEASURED else f"a derived {of}",
        "computed": "a threshold computed from what is derived",
        "set": "a threshold set in advance, which nothing derives",
    }[part.origin]
    how = "Measured" if part.blocks else "Computed"
    return what, result, f"{how}, compared with {against}: {words.badge(part.verdict).word}"


def place_on_site(key: str) -> str:
    """Return the folder of the page that has what a key names, relative to the site: ``claims/ID/``.

    The run as a whole has the first page, which is nothing.
    """
    head, _, rest = key.partition(":")[0].partition(".")
    if head == SOURCE:
        return f"statements/{rest}/"
    return "" if head == RUN else f"claims/{head}/"


def address_on_site(site: str, key: str) -> str:
    """Return the permanent address of what a key names on a site, whose first page or folder is given."""
    folder, whole = site.removesuffix("index.html").rstrip("/"), key.partition(":")[0]
    anchor = f"#{whole}" if "." in whole and not whole.startswith(f"{SOURCE}.") else ""
    return f"{folder}/{place_on_site(key)}{anchor}"


def place_in_report(address: str, stem: str, anchor: str) -> str:
    """Return the address of a place in a report that is published at ``address``.

    That is a page, a folder that holds the report, or a DOI, which leads to no place in it.
    """
    if match := _DOI.search(address):
        return f"https://doi.org/{match[1]}"
    if not address.endswith((".html", ".htm")):
        address = f"{address}{'/' if address and not address.endswith('/') else ''}{stem}.html"
    return f"{address}#{quote(anchor)}"


def link_to(report: str, anchor: str, depth: int) -> str:
    """Return the address of a place in a report; a relative one counts from the folder ``depth`` above."""
    address = place_in_report(report, "report", anchor)
    is_relative = "://" not in address and not address.startswith(("/", "#"))
    return "../" * depth + address.removeprefix("./") if is_relative else address


# How text and prose are escaped, and a title, code and links are set.
_STYLES: dict[str, tuple[Callable[[str], str], Callable[[str], str], str, str, str]] = {
    "latex": (escapes.for_tex, escapes.prose_for_tex, r"\emph{{{}.}}", r"\texttt{{{}}}", r"\url{{{}}}"),
    "markdown": (escapes.for_markdown, escapes.prose_for_markdown, "*{}.*", "`{}`", "[{0}]({0})"),
    "text": (str, plain, "{}.", "{}", "{}"),
}


def _paragraph(cited: Citation, form: str) -> str:
    """Return running text: what is cited, what is claimed and measured, the run, and where it is."""
    text, prose, title, code, link = _STYLES[form]
    # The tool's name stands for its authors.
    authors = "" if AUTHORS in cited.authors or not cited.authors else f"{', '.join(cited.authors)}. "
    tool, run = f"{authors}sdpa-verify {cited.record.tool.version}", words.capitalised(origin(cited.record))
    key, digest = (code.format(text(name)) for name in (cited.key, cited.digest))
    result = f" {words.capitalised(prose(cited.what))}: {text(cited.result)}." if cited.result else ""
    return (
        f"{text(tool)}, {key}: {title.format(prose(cited.title))} {prose(cited.statement)}{result} "
        f"{cited.judged}. {text(run)}, digest {digest}.{f' {link.format(cited.url)}' if cited.url else ''}"
    )


def citation_parts(cited: Citation) -> tuple[str, str, str, str, str]:
    """Return the paragraph of plain text in parts, without links: the second is the key, the fourth a number.

    A page puts those of another number in their places.
    """
    form = _paragraph(replace(cited, key="\0", what="\0", result="\0", url=""), "text")
    before, between, _, after = form.split("\0")
    result = f"{words.capitalised(plain(cited.what))}: {cited.result}" if cited.result else ""
    return before, cited.key, between, result, after if result else after.removeprefix(". ")


def _title_and_note(
    cited: Citation, prose: Callable[[str], str], text: Callable[[str], str], digits: int
) -> tuple[str, str]:
    """Return what a reference manager shows: what is cited, and its result, run and digest."""
    result = f"{words.capitalised(prose(cited.what))}: {text(cited.result)}. " if cited.result else ""
    made = text(words.capitalised(origin(cited.record)))
    note = f"{result}{cited.judged}. {made}, digest {cited.digest[:digits]}"
    return f"sdpa-verify, {cited.label}: {prose(cited.title)}", note


def _source() -> str:
    """Return the address of the tool's source, if its pyproject.toml names one."""
    urls: list[str] = []
    with contextlib.suppress(PackageNotFoundError):
        urls = metadata("sdpa-verify").get_all("Project-URL") or []
    return next((url.partition(", ")[2] for url in urls if url.startswith("Repository, ")), "")


def _bibtex(cited: Citation) -> str:
    # Styles set the note as it is, with all of a digest's digits in one word.
    title, note = _title_and_note(cited, escapes.prose_for_tex, escapes.for_tex, 12)
    url, made = f", \\url{{{source}}}" if (source := _source()) else "", creation(cited.record)
    fields = {
        "author": " and ".join(f"{{{escapes.for_tex(author)}}}" for author in cited.authors),
        "title": f"{{{title}}}",
        "year": f"{made:%Y}",
        "howpublished": f"Software, version {escapes.for_tex(cited.record.tool.version)}{url}",
        "note": note,
        "doi": escapes.for_tex(cited.doi),
        "url": cited.url,
    }
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
    return f"@misc{{sdpa-verify:{cited.key},\n{''.join(lines)}  month = {f'{made:%b}'.lower()},\n}}"


def _csl_json(cited: Citation) -> str:
    """Return a list of one item in CSL-JSON, which reference managers and Pandoc read."""
    title, note = _title_and_note(cited, plain, str, 64)
    record, made = cited.record, creation(cited.record)
    run = f"audited {made:%Y-%m-%d}"
    if isinstance(record, RunRecord):
        run = f"seed {record.run.settings.seed}, profile {record.run.settings.profile}"
    item = {
        "id": f"sdpa-verify:{cited.key}",
        "type": "software",
        "title": title,
        "author": [{"literal": author} for author in cited.authors],
        "issued": {"date-parts": [[made.year, made.month, made.day]]},
        # Styles print the version, few the note.
        "version": f"{record.tool.version} ({run}, digest {cited.digest[:12]})",
        "note": note,
        "URL": cited.url,
        "DOI": cited.doi,
        "source": _source(),
    }
    present = {name: value for name, value in item.items() if value}
    return json.dumps([present], ensure_ascii=False, indent=2)


FORMS: dict[str, Callable[[Citation], str]] = {"bibtex": _bibtex, "csl-json": _csl_json}
FORMS |= {form: partial(_paragraph, form=form) for form in _STYLES}
"""The forms by their names."""
