"""Citations of a claim or of one finding, in the forms that documents and reference managers take."""

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from verify.citing.values import AUDIT, RUN, SOURCE, Part, Subject
from verify.errors import CitationError
from verify.evidence import Check, ClaimRecord, ControlRecord, Fact, RunRecord, Statement
from verify.evidence.audits import AuditRecord, Finding, LayerRecord
from verify.evidence.load import creation, digest, names, origin
from verify.evidence.words import (
    badge,
    capitalised,
    cell_text,
    figures,
    held_against,
    most_serious,
    predicted,
    summary,
)
from verify.text import numbers
from verify.text.escapes import (
    as_prose,
    for_html,
    for_markdown,
    for_rst,
    for_tex,
    one_line,
    prose_for_markdown,
    prose_for_rst,
    prose_for_tex,
)
from verify.text.latex import plain

AUTHORS = "The sdpa-verify authors"
_USER = "user"  # the chapter of claims that come from files of the user's own

# No sign that ends a link in Markdown, or a field or an argument in BibTeX and LaTeX.
_PATH = r"(?:[\w.~/@+,=-]|%[0-9A-Fa-f]{2})"
_ADDRESS = re.compile(rf"(?:https?://[A-Za-z0-9](?:{_PATH}|:\d)*|(?!//){_PATH}+)", re.ASCII)

_DOI = re.compile(r"(?:^|//(?:dx\.)?doi\.org/)10\.\d{4,9}/")  # what a DOI starts with, bare or as an address

_WHOLE_DOI = re.compile(r"(?:https://doi\.org/)?10\.\d{4,9}/[-._;()/:A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Citation:
    """What a reader needs to check a result.

    ``label`` says what is cited, by its id; ``found`` in one sentence what was measured, or nothing where the
    whole is cited; ``judged`` what became of it. ``title``, ``statement`` and ``what`` may hold LaTeX between
    dollar signs. ``origin`` says which run or audit it is, and ``settings`` the same for programs.
    ``anchor`` is the place in the page and the named destination in the document of this ``stem``, which lie
    at ``address``. ``own_page`` is the address of its page on a site, where there is one. ``authors`` are
    those of the tool, or of a claim of the user's own, if they are known.
    """

    key: str
    label: str
    title: str
    statement: str
    what: str
    found: str
    judged: str
    digest: str
    origin: str
    settings: dict[str, int | float | str]
    version: str
    created: datetime
    anchor: str
    stem: str
    address: str
    doi: str = ""
    own_page: str = ""
    authors: tuple[str, ...] = (AUTHORS,)

    @property
    def url(self) -> str:
        """Its place in what is published, empty where nothing is."""
        return self.page if self.own_page or self.address else ""

    @property
    def links(self) -> tuple[str, ...]:
        """Where a reader is led: to the DOI and to the place in what is published, as far as given."""
        return tuple(filter(None, dict.fromkeys([self.doi and f"https://doi.org/{self.doi}", self.url])))

    @property
    def run(self) -> str:
        """Which run or audit it is and its digest, in a few words, for styles that print a version."""
        settings = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.settings.items())
        return f"{settings}, digest {self.short_digest}"

    @property
    def short_digest(self) -> str:
        """As many digits of the digest as find the record: `verify.citing.lookup` takes them for its key."""
        return self.digest[:12]

    @property
    def page(self) -> str:
        """Its own page on the site, or the place in the HTML report."""
        return self.own_page or place_in_report(self.address, self.stem, self.anchor)

    @property
    def identifier(self) -> str:
        """An address that no other finding has."""
        if self.own_page or (self.address and self.page != self.address):
            return self.page
        return f"{self.links[0]}#{self.key}" if self.links else f"urn:sha256:{self.digest}#{self.key}"


def cite(
    record: RunRecord | AuditRecord,
    subject: Subject,
    part: Part | None = None,
    address: str = "",
    doi: str = "",
    authors: tuple[str, ...] = (),
    site: str = "",
) -> Citation:
    """Return the citation of a run, its claim or statement, of an audit or its layer, or of a finding.

    ``address`` is where the report is published, the URL of its page or folder, or a DOI. ``doi`` is the
    results' own, where they have one, and ``site`` the address of a run's site, on which what is cited has a
    page. ``authors`` are those of claims of the user's own that name none.
    """
    if isinstance(record, RunRecord) and isinstance(subject, ClaimRecord):
        said = _of_claim(record, subject, part)
    elif isinstance(record, RunRecord) and isinstance(subject, Statement):
        said = _of_statement(record, subject)
    elif isinstance(record, RunRecord) and isinstance(subject, RunRecord):
        said = _of_run(record)
    elif isinstance(record, AuditRecord) and isinstance(subject, AuditRecord | LayerRecord):
        said = _of_audit(record, subject, part)
    else:
        raise TypeError(f"a {type(subject).__name__} is no part of a {type(record).__name__}")
    return Citation(
        what=_what(part),
        found=_found(part),
        origin=capitalised(origin(record)),
        version=record.tool.version,
        created=creation(record),
        stem=names(record).stem,
        address=address,
        doi=doi.removeprefix("https://doi.org/"),
        own_page=address_on_site(site, said["key"]) if site and isinstance(record, RunRecord) else "",
        authors=_authors(subject, authors),
        **said,
    )


def _authors(subject: Subject, given: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(subject, ClaimRecord) and subject.chapter == _USER:
        return subject.authors or given
    return (AUTHORS,)


def _of_claim(record: RunRecord, claim: ClaimRecord, part: Part | None) -> dict[str, Any]:
    key = f"{claim.id}.{part.id}" if part else claim.id
    return {
        "key": key,
        "anchor": key,
        "label": f"claim {claim.id}",
        "title": claim.title,
        "statement": claim.statement,
        "judged": f"Claim {badge(claim.verdict).word}",
        "digest": claim.digest,
        "settings": _settings(record),
    }


def _settings(record: RunRecord) -> dict[str, int | float | str]:
    return {"seed": record.run.settings.seed, "profile": record.run.settings.profile}


def _of_run(record: RunRecord) -> dict[str, Any]:
    (first, count), *others = Counter(badge(claim.verdict).word for claim in record.claims).most_common()
    claims = numbers.counted(len(record.claims), "claim")
    tally = [f"{numbers.count(count)} of {claims} {first}"]
    return {
        "key": RUN,
        "anchor": "summary",
        "label": "run",
        "title": "Verification of claims about scaled dot-product attention",
        "statement": f"{claims}, each with its derivation and checks.",
        "judged": ", ".join([*tally, *(f"{numbers.count(count)} {word}" for word, count in others)]),
        "digest": digest(record),
        "settings": _settings(record),
    }


def _of_statement(record: RunRecord, statement: Statement) -> dict[str, Any]:
    sources = {source.id: source for source in record.sources}
    title = sources[statement.source].title
    return {
        "key": f"{SOURCE}.{statement.id}",
        "anchor": f"statement-{statement.id}",
        "label": f"statement {statement.id}",
        "title": f"A statement of “{title}”, compared with derivation and measurement",
        "statement": statement.text,
        "judged": f"Statement {badge(statement.outcome).word}",
        "digest": digest(record),
        "settings": _settings(record),
    }


def _of_audit(record: AuditRecord, subject: LayerRecord | AuditRecord, part: Part | None) -> dict[str, Any]:
    source = as_prose(record.source)
    said = {"digest": record.seal, "settings": {"audited": f"{creation(record):%Y-%m-%d}"}}
    if isinstance(subject, AuditRecord):
        judged, layers = badge(most_serious(subject.findings)).word, len(subject.layers)
        return said | {
            "key": AUDIT,
            "anchor": "summary",
            "label": "attention audit",
            "title": f"Attention audit of {source}",
            "statement": f"{numbers.counted(layers, 'layer')} audited.",
            "judged": f"Most serious judgement {judged}",
        }
    finding = part if isinstance(part, Finding) else None
    judged = badge(finding.judgement if finding else most_serious(subject.findings)).word
    return said | {
        "key": f"{subject.id}.{finding.id}" if finding else subject.id,
        "anchor": f"{subject.id}.{finding.name}" if finding else subject.id,
        "label": f"layer {subject.id}",
        "title": f"Attention audit of {source}, {as_prose(subject.name)}",
        "statement": capitalised(summary(subject)),
        "judged": f"Finding {judged}" if finding else f"Most serious judgement {judged}",
    }


def place_on_site(key: str) -> str:
    """Return the folder of the page that has what a key names, relative to the site: ``claims/ID/``.

    The run as a whole has the first page, which is nothing.
    """
    head, _, rest = key.partition(":")[0].partition(".")
    if head == SOURCE:
        return f"statements/{rest}/"
    return "" if head == RUN else f"claims/{head}/"


def address_on_site(site: str, key: str) -> str:
    """Return the permanent address of what a key names on a site, with the place on its page.

    ``site`` is the address of the site's first page or its folder.
    """
    folder = site.removesuffix("index.html").rstrip("/")
    whole = key.partition(":")[0]
    anchor = f"#{whole}" if "." in whole and not whole.startswith(f"{SOURCE}.") else ""
    return f"{folder}/{place_on_site(key)}{anchor}"


def place_in_report(address: str, stem: str, anchor: str) -> str:
    """Return the address of a place in a report that is published at ``address``.

    That is a page or a PDF, a folder that holds the report, or a DOI, which leads to no place in it; nothing
    means beside the document.
    """
    if _DOI.search(address):
        return address
    if address.endswith(".pdf"):
        return f"{address}#nameddest={quote(anchor)}"
    if not address.endswith((".html", ".htm")):
        address = f"{address}{'/' if address and not address.endswith('/') else ''}{stem}.html"
    return f"{address}#{quote(anchor)}"


def check_doi(doi: str) -> None:
    """Check that a DOI can be one; an empty one is fine.

    Raises:
        CitationError: it is none.
    """
    if doi and not _WHOLE_DOI.fullmatch(doi):
        raise CitationError(f"--doi {doi!r}: is not a DOI; give one such as 10.5281/zenodo.1234567")


def check_address(address: str) -> None:
    """Check that every form of a citation can carry a folder's address; an empty one is fine.

    Raises:
        CitationError: it is no http address and no path, or has signs that end a link or a field.
    """
    if address and not _ADDRESS.fullmatch(address):
        raise CitationError(
            f"--url {address!r}: give a folder's http(s) address or path, of letters, digits and "
            "- . _ ~ / @ + , = alone, a path not starting with //; percent-encode others, a space as %20"
        )


def _what(finding: Part | None) -> str:
    if isinstance(finding, Check):
        where = cell_text(finding.cell)
        if finding.method == "fit" and {"points", "from", "to"} <= finding.cell.keys():
            points, low, high = (numbers.setting(finding.cell[name]) for name in ("points", "from", "to"))
            return f"{finding.quantity}, fitted through {points} points from {low} to {high}"
        return f"{finding.quantity} at {where}" if where else finding.quantity
    if isinstance(finding, ControlRecord):
        return f"negative control, {finding.what}"
    if isinstance(finding, Finding):
        return f"{finding.quantity}, head {finding.head}"
    return finding.what if finding else ""


def _found(finding: Part | None) -> str:
    if finding is None:
        return ""
    if isinstance(finding, Fact):
        return numbers.exact(finding.value)
    if isinstance(finding, Finding):
        return _measured(finding)
    level = ""
    # A control has no standard error of its own; its interval shows which digits are significant.
    error = (finding.interval[1] - finding.interval[0]) / 10
    if isinstance(finding, Check):
        error, level = finding.standard_error, f" at level {numbers.level(finding.level)}"
    found = numbers.estimate(finding.estimate, error, finding.interval)
    interval = f", simultaneous interval {found.interval}{level}" if finding.blocks else ""
    return (
        f"{found.value}{found.times}{interval}; predicted {predicted(finding, error)}; "
        f"{badge(finding.verdict).word}"
    )


def _measured(finding: Finding) -> str:
    estimate, _, low, high = figures(finding)
    interval = ""
    if low or high:
        interval = f"simultaneous interval from {low} to {high} at level {numbers.level(finding.level)}"
    against = held_against(finding)
    parts = (estimate, interval, f"compared with {against}" if against else "")
    return "; ".join(filter(None, parts))


def citation_parts(cited: Citation) -> tuple[str, str, str, str, str]:
    """Return the same paragraph in parts: the second is the key, the fourth what was measured."""
    form = without_address(replace(cited, key="\0", what="\0", found="\0"))
    before, between, _, after = form.split("\0")
    measured = f"{capitalised(plain(cited.what))}: {cited.found}" if cited.found else ""
    return before, cited.key, between, measured, after if measured else after.removeprefix(". ")


class _Style(NamedTuple):
    """How a language sets running text: ``text`` and ``prose`` escaped, a title, code, and links."""

    text: Callable[[str], str]
    prose: Callable[[str], str]
    title: str
    code: str
    link: str


def _escaped(text: str) -> str:
    return for_html(plain(text))


_STYLES = {
    "html": _Style(for_html, _escaped, "<cite>{}.</cite>", "<code>{}</code>", '<a href="{0}">{0}</a>'),
    "latex": _Style(for_tex, prose_for_tex, r"\emph{{{}.}}", r"\texttt{{{}}}", r"\url{{{}}}"),
    "markdown": _Style(for_markdown, prose_for_markdown, "*{}.*", "`{}`", "[{0}]({0})"),
    "rst": _Style(for_rst, prose_for_rst, "{}.", "``{}``", "`{0} <{0}>`__"),
    "text": _Style(str, plain, "{}.", "{}", "{}"),
}


def _paragraph(cited: Citation, form: str) -> str:
    """Return running text: what is cited, what is claimed and measured, the run, and where it is found."""
    style = _STYLES[form]
    # The tool's name stands for its authors.
    authors = "" if AUTHORS in cited.authors or not cited.authors else f"{', '.join(cited.authors)}. "
    key, digest = (style.code.format(style.text(one)) for one in (cited.key, cited.digest))
    measured = f" {capitalised(style.prose(cited.what))}: {style.text(cited.found)}." if cited.found else ""
    links = (style.link.format(for_html(one) if form == "html" else one) for one in cited.links)
    said = (
        f"{style.text(f'{authors}sdpa-verify {cited.version}')}, {key}: "
        f"{style.title.format(style.prose(cited.title))} {style.prose(cited.statement)}{measured} "
        f"{cited.judged}. {style.text(cited.origin)}, digest {digest}."
    )
    return " ".join([said, *links])


def without_address(cited: Citation) -> str:
    """Return one paragraph of plain text that does not say where the report lies."""
    return _paragraph(replace(cited, doi="", address=""), "text")


def to_bibtex(cited: Citation) -> str:
    """Return a BibTeX entry."""
    note = f"{cited.judged}. {for_tex(cited.origin)}, digest {cited.short_digest}"
    if cited.found:
        note = f"{capitalised(prose_for_tex(cited.what))}: {for_tex(cited.found)}. {note}"
    entries = {
        "author": " and ".join(f"{{{for_tex(one)}}}" for one in cited.authors),
        "title": f"{{sdpa-verify, {cited.label}: {prose_for_tex(cited.title)}}}",
        "year": f"{cited.created:%Y}",
        "month": f"{cited.created:%b}".lower(),
        "howpublished": f"Software, version {for_tex(cited.version)}",
        "note": note,
        "doi": for_tex(cited.doi),
        "url": cited.url,
    }
    lines = (
        f"  {name} = {value}," if name == "month" else f"  {name} = {{{value}}},"
        for name, value in entries.items()
        if value
    )
    return "\n".join((f"@misc{{sdpa-verify:{cited.key},", *lines, "}"))


def to_csl_json(cited: Citation) -> str:
    """Return a list of one item in CSL-JSON, which reference managers and Pandoc read."""
    note = f"{cited.judged.lower()}; {cited.origin.lower()}; digest {cited.digest}"
    item: dict[str, Any] = {
        "id": f"sdpa-verify:{cited.key}",
        "type": "software",
        "title": f"sdpa-verify, {cited.label}: {plain(cited.title)}",
        "author": [{"literal": one} for one in cited.authors],
        "issued": {"date-parts": [[cited.created.year, cited.created.month, cited.created.day]]},
        # Styles print the version, few the note.
        "version": f"{cited.version} ({cited.run})",
        "note": f"{plain(cited.what)}: {cited.found}; {note}" if cited.found else note,
        "URL": cited.url,
        "DOI": cited.doi,
    }
    fields = (
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in item.items()
        if value
    )
    return "[{\n  " + ",\n  ".join(fields) + "\n}]"


def to_html(cited: Citation) -> str:
    """Return a paragraph of HTML; formulas are in words."""
    return f'<p class="citation">{_paragraph(cited, "html")}</p>'


def to_json(cited: Citation) -> str:
    """Return all that a citation holds, for programs."""
    content = {**dataclasses.asdict(cited), "created": cited.created.isoformat(), "links": cited.links}
    return json.dumps(content, ensure_ascii=False, indent=1)


def to_json_ld(cited: Citation) -> str:
    """Return a review of a claim: what is claimed, what became of it, and the run that says so."""
    properties: dict[str, Any] = {**cited.settings, "sha256": cited.digest}
    found = f"{plain(cited.what)}: {cited.found}. " if cited.found else ""
    kind = "Organization" if AUTHORS in cited.authors else "Person"
    item: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "ClaimReview",
        "@id": cited.identifier,
        "url": cited.url,
        "identifier": f"https://doi.org/{cited.doi}" if cited.doi else "",
        "alternateName": f"sdpa-verify:{cited.key}",
        "name": f"sdpa-verify, {cited.label}: {plain(cited.title)}",
        "claimReviewed": plain(cited.statement),
        "description": f"{cited.origin}, digest {cited.digest}",
        "reviewBody": f"{found}{cited.judged}.",
        "author": [{"@type": kind, "name": one} for one in cited.authors],
        "datePublished": f"{cited.created:%Y-%m-%d}",
        "isBasedOn": {
            "@type": "SoftwareApplication",
            "name": "sdpa-verify",
            "softwareVersion": cited.version,
            "additionalProperty": [
                {"@type": "PropertyValue", "name": name, "value": value} for name, value in properties.items()
            ],
        },
    }
    given = {name: value for name, value in item.items() if value}
    # It may stand in a script element of a page.
    return json.dumps(given, ensure_ascii=False, indent=2).replace("</", "<\\/")


def to_ris(cited: Citation) -> str:
    """Return a record of a computer program: a tag of two letters in each line."""
    found = f"{plain(cited.what)}: {cited.found}. " if cited.found else ""
    lines = [
        ("TY", "COMP"),
        *(("AU", one) for one in cited.authors),
        ("TI", f"sdpa-verify, {cited.label}: {plain(cited.title)}"),
        ("PY", f"{cited.created:%Y}"),
        ("DA", f"{cited.created:%Y/%m/%d}"),
        ("ET", f"{cited.version} ({cited.run})"),
        ("N1", f"{found}{cited.judged}. {cited.origin}, digest {cited.digest}"),
        ("ID", f"sdpa-verify:{cited.key}"),
        ("DO", cited.doi),
        ("UR", cited.url),
    ]
    given = [f"{tag}  - {one_line(text)}" for tag, text in lines if text]
    return "\n".join([*given, "ER  - "])


FORMS: dict[str, Callable[[Citation], str]] = {
    "bibtex": to_bibtex,
    "csl-json": to_csl_json,
    "html": to_html,
    "json": to_json,
    "json-ld": to_json_ld,
    "latex": partial(_paragraph, form="latex"),
    "markdown": partial(_paragraph, form="markdown"),
    "ris": to_ris,
    "rst": partial(_paragraph, form="rst"),
    "text": partial(_paragraph, form="text"),
}
"""The forms by their names."""
