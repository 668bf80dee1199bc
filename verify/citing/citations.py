"""Citations of a claim or of one finding, in the forms that documents and reference managers take."""

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, metadata
from typing import NamedTuple
from urllib.parse import quote

from verify.citing.values import AUDIT, RUN, SOURCE, Part, Subject, check_texts
from verify.errors import CitationError
from verify.evidence import Check, ClaimRecord, ControlRecord, Fact, Proof, RunRecord, Statement
from verify.evidence.audits import AuditRecord, Finding, LayerRecord
from verify.evidence.claims import USER
from verify.evidence.load import creation, digest, names, origin
from verify.evidence.words import (
    badge,
    capitalised,
    cell_text,
    control_badge,
    figures,
    held_against,
    most_serious,
    predicted,
    summary,
    tolerance_text,
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

# No sign that ends a link in Markdown, or a field or an argument in BibTeX and LaTeX.
_PATH = r"(?:[\w.~/@+,=-]|%[0-9A-Fa-f]{2})"
_ADDRESS = re.compile(rf"(?:https?://[A-Za-z0-9](?:{_PATH}|:\d)*|(?!//){_PATH}+)", re.ASCII)
_DOI = re.compile(r"(?:^|//(?:dx\.)?doi\.org/)10\.\d{4,9}/")  # what a DOI starts with, bare or as an address
_WHOLE_DOI = re.compile(r"(?:https://doi\.org/)?10\.\d{4,9}/[-._;()/:A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Cited:
    """What is cited: with ``label`` saying what it is, by its id, and ``judged`` what became of it."""

    key: str
    anchor: str
    label: str
    title: str
    statement: str
    judged: str
    digest: str


@dataclass(frozen=True, slots=True)
class Citation(_Cited):
    """What a reader needs to check a result.

    ``label`` says what is cited, by its id; ``found`` what was measured or computed, or nothing where the
    whole is cited; ``judged`` what became of it. ``title``, ``statement`` and ``what`` may hold LaTeX between
    dollar signs. ``origin`` says which run or audit it is, and ``settings`` the same for programs.
    ``anchor`` is the place in the page and the named destination in the document of this ``stem``, which lie
    at ``address``. ``own_page`` is the address of its page on a site, ``repository`` that of the tool's
    source, where there is one. ``authors`` are those of the tool, or of a claim of the user's own.
    """

    what: str
    found: str
    origin: str
    settings: dict[str, int | float | str]
    version: str
    created: datetime
    stem: str
    address: str = ""
    doi: str = ""
    own_page: str = ""
    repository: str = ""
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
    settings: dict[str, int | float | str]
    if isinstance(record, RunRecord):
        settings = {"seed": record.run.settings.seed, "profile": record.run.settings.profile}
        cited = _of_run(record, subject, part)
    else:
        settings = {"audited": f"{creation(record):%Y-%m-%d}"}
        cited = _of_audit(record, subject, part)
    if isinstance(subject, ClaimRecord) and subject.chapter == USER:
        own_authors = subject.authors or authors
    else:
        own_authors = (AUTHORS,)
    return Citation(
        **asdict(cited),
        what=_what(part),
        found=_found(part),
        origin=capitalised(origin(record)),
        settings=settings,
        version=record.tool.version,
        created=creation(record),
        stem=names(record).stem,
        address=address,
        doi=doi.removeprefix("https://doi.org/"),
        own_page=address_on_site(site, cited.key) if site and isinstance(record, RunRecord) else "",
        repository=repository(),
        authors=own_authors,
    )


def repository() -> str:
    """Return the address of the tool's source that its pyproject.toml names, nothing where it names none."""
    try:
        urls: list[str] = metadata("sdpa-verify").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((url.partition(", ")[2] for url in urls if url.startswith("Repository, ")), "")


def _of_run(record: RunRecord, subject: Subject, part: Part | None) -> _Cited:
    if isinstance(subject, ClaimRecord):
        key = f"{subject.id}.{part.id}" if part else subject.id
        label, judged = f"claim {subject.id}", _judged(subject, part)
        return _Cited(key, key, label, subject.title, subject.statement, judged, subject.digest)
    if isinstance(subject, Statement):
        source = next(source.title for source in record.sources if source.id == subject.source)
        return _Cited(
            f"{SOURCE}.{subject.id}",
            f"statement-{subject.id}",
            f"statement {subject.id}",
            f"A statement of “{source}”, compared with derivation and measurement",
            subject.text,
            f"Statement {badge(subject.outcome).word}",
            digest(record),
        )
    if not isinstance(subject, RunRecord):
        raise TypeError(f"a {type(subject).__name__} is no part of a run")
    (first, count), *others = Counter(badge(claim.verdict).word for claim in record.claims).most_common()
    claims = numbers.counted(len(record.claims), "claim")
    tally = [f"{numbers.count(count)} of {claims} {first}"]
    judged = ", ".join([*tally, *(f"{numbers.count(count)} {word}" for word, count in others)])
    title = "Verification of claims about scaled dot-product attention"
    statement = f"{claims}, each with its derivation and checks."
    return _Cited(RUN, "summary", "run", title, statement, judged, digest(record))


def _judged(claim: ClaimRecord, part: Part | None) -> str:
    """Return what became of a claim or, in its own words, of one of its numbers."""
    status = claim.derivation.status
    if isinstance(part, Fact):
        return "Computed, not measured"
    if isinstance(part, ControlRecord):
        return f"Negative control, {control_badge(part.verdict).word}"
    if not isinstance(part, Check):
        return f"Claim {badge(claim.verdict).word}, {badge(status).word}"
    of = "prediction" if part.relation == "=" else "bound"
    against = {
        "derived": f"a derived {of}",
        "computed": "a threshold computed from what is derived",
        "set": "a threshold set in advance, which nothing derives",
    }[part.origin]
    if status is Proof.MEASURED:
        against = f"a {of} that nothing derives"
    elif status is Proof.FAILED:
        against = f"a {of} whose derivation failed"
    how = "Measured" if part.blocks else "Computed"
    return f"{how}, compared with {against}: {badge(part.verdict).word}"


def _of_audit(record: AuditRecord, subject: Subject, part: Part | None) -> _Cited:
    if not isinstance(subject, AuditRecord | LayerRecord):
        raise TypeError(f"a {type(subject).__name__} is no part of an audit")
    title = f"Attention audit of {as_prose(record.source)}"
    worst = f"Most serious judgement {badge(most_serious(subject.findings)).word}"
    if isinstance(subject, AuditRecord):
        statement = f"{numbers.counted(len(subject.layers), 'layer')} audited."
        return _Cited(AUDIT, "summary", "attention audit", title, statement, worst, record.seal)
    key, anchor, label = subject.id, subject.id, f"layer {subject.id}"
    if isinstance(part, Finding):
        key = f"{subject.id}.{part.id}"
        worst = f"Finding {badge(part.judgement).word}"
    title = f"{title}, {as_prose(subject.name)}"
    return _Cited(key, anchor, label, title, capitalised(summary(subject)), worst, record.seal)


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
        return ", ".join(filter(None, [finding.quantity, finding.of_heads]))
    return finding.what if finding else ""


def _found(finding: Part | None) -> str:
    """Return a number with its error, intervals, level and sample size, and what it is compared with."""
    if isinstance(finding, Fact):
        return numbers.exact(finding.value)
    if isinstance(finding, Finding):
        estimate, _, low, high = figures(finding)
        against = held_against(finding)
        parts = [estimate, f"compared with {against}" if against else ""]
        if low or high:
            level = numbers.level(finding.level)
            parts.insert(1, f"simultaneous interval from {low} to {high} at level {level}")
        return "; ".join(filter(None, parts))
    if isinstance(finding, ControlRecord):
        # A control has no standard error of its own; its interval shows which digits are significant.
        error = (finding.interval[1] - finding.interval[0]) / 10
        shown = numbers.estimate(finding.estimate, error, finding.interval)
        interval = f", simultaneous interval {shown.interval}" if finding.blocks else ""
        return f"{shown.value}{shown.times}{interval}; predicted {predicted(finding, error)}"
    if not isinstance(finding, Check):
        return ""
    shown = numbers.estimate(finding.estimate, finding.standard_error, finding.interval)
    text = shown.with_error
    if finding.blocks:
        level = numbers.level(finding.level)
        text += f" (standard error), simultaneous interval {shown.interval} at level {level}"
        own = {part: text for part, text, *_ in check_texts(finding)}.get(":interval95")
        text += f", 95% interval {own}" if own else ""
        text += f", n = {numbers.count(finding.draws)} in {numbers.count(finding.blocks)} blocks"
    wanted = predicted(finding, finding.standard_error)
    return f"{text}; predicted {wanted}, tolerance {plain(tolerance_text(finding))}"


def citation_parts(cited: Citation) -> tuple[str, str, str, str, str]:
    """Return the paragraph of plain text in parts: the second is the key, the fourth what was measured."""
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


_STYLES = {
    "html": _Style(
        for_html,
        lambda prose: for_html(plain(prose)),
        "<cite>{}.</cite>",
        "<code>{}</code>",
        '<a href="{0}">{0}</a>',
    ),
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
    key, digest = (style.code.format(style.text(code)) for code in (cited.key, cited.digest))
    measured = f" {capitalised(style.prose(cited.what))}: {style.text(cited.found)}." if cited.found else ""
    links = (style.link.format(for_html(url) if form == "html" else url) for url in cited.links)
    text = (
        f"{style.text(f'{authors}sdpa-verify {cited.version}')}, {key}: "
        f"{style.title.format(style.prose(cited.title))} {style.prose(cited.statement)}{measured} "
        f"{cited.judged}. {style.text(cited.origin)}, digest {digest}."
    )
    return " ".join([text, *links])


def without_address(cited: Citation) -> str:
    """Return one paragraph of plain text that does not say where the report lies."""
    return _paragraph(replace(cited, doi="", address=""), "text")


class _Record(NamedTuple):
    """What reference managers take, in plain text or, with ``prose`` and ``text`` of LaTeX, in that."""

    id: str
    title: str
    authors: list[str]
    version: str
    note: str

    @classmethod
    def of(
        cls, cited: Citation, prose: Callable[[str], str], text: Callable[[str], str], digest: str
    ) -> "_Record":
        measured = f"{capitalised(prose(cited.what))}: {text(cited.found)}. " if cited.found else ""
        return cls(
            id=f"sdpa-verify:{cited.key}",
            title=f"sdpa-verify, {cited.label}: {prose(cited.title)}",
            authors=[text(author) for author in cited.authors],
            version=text(f"{cited.version} ({cited.run})"),
            note=f"{measured}{cited.judged}. {text(cited.origin)}, digest {digest}",
        )


def _bibtex(cited: Citation) -> str:
    record = _Record.of(cited, prose_for_tex, for_tex, cited.short_digest)
    source = f", \\url{{{cited.repository}}}" if cited.repository else ""
    fields = {
        "author": " and ".join(f"{{{author}}}" for author in record.authors),
        "title": f"{{{record.title}}}",
        "year": f"{cited.created:%Y}",
        "howpublished": f"Software, version {for_tex(cited.version)}{source}",
        "note": record.note,
        "doi": for_tex(cited.doi),
        "url": cited.url,
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join((f"@misc{{{record.id},", *lines, f"  month = {f'{cited.created:%b}'.lower()},", "}"))


def _csl_json(cited: Citation) -> str:
    """Return a list of one item in CSL-JSON, which reference managers and Pandoc read."""
    record = _Record.of(cited, plain, str, cited.digest)
    item = {
        "id": record.id,
        "type": "software",
        "title": record.title,
        "author": [{"literal": author} for author in record.authors],
        "issued": {"date-parts": [[cited.created.year, cited.created.month, cited.created.day]]},
        # Styles print the version, few the note.
        "version": record.version,
        "note": record.note,
        "URL": cited.url,
        "DOI": cited.doi,
        "source": cited.repository,
    }
    return _json([{name: value for name, value in item.items() if value}])


def _ris(cited: Citation) -> str:
    """Return a record of a computer program: a tag of two letters in each line."""
    record = _Record.of(cited, plain, str, cited.digest)
    lines = [
        ("TY", "COMP"),
        *(("AU", author) for author in record.authors),
        ("TI", record.title),
        ("PY", f"{cited.created:%Y}"),
        ("DA", f"{cited.created:%Y/%m/%d}"),
        ("ET", record.version),
        ("N1", record.note),
        ("ID", record.id),
        ("DO", cited.doi),
        ("UR", cited.url),
    ]
    return "\n".join([*(f"{tag}  - {one_line(text)}" for tag, text in lines if text), "ER  - "])


def _json_ld(cited: Citation) -> str:
    """Return a review of a claim: what is claimed, what became of it, and the run that says so."""
    record = _Record.of(cited, plain, str, cited.digest)
    kind = "Organization" if AUTHORS in cited.authors else "Person"
    properties = {**cited.settings, "sha256": cited.digest}
    tool = {
        "@type": "SoftwareApplication",
        "name": "sdpa-verify",
        "softwareVersion": cited.version,
        "codeRepository": cited.repository,
        "additionalProperty": [
            {"@type": "PropertyValue", "name": name, "value": value} for name, value in properties.items()
        ],
    }
    item = {
        "@context": "https://schema.org",
        "@type": "ClaimReview",
        "@id": cited.identifier,
        "url": cited.url,
        "identifier": f"https://doi.org/{cited.doi}" if cited.doi else "",
        "alternateName": record.id,
        "name": record.title,
        "claimReviewed": plain(cited.statement),
        "reviewBody": record.note,
        "author": [{"@type": kind, "name": author} for author in cited.authors],
        "datePublished": f"{cited.created:%Y-%m-%d}",
        "isBasedOn": {name: value for name, value in tool.items() if value},
    }
    # It may stand in a script element of a page.
    return _json({name: value for name, value in item.items() if value}).replace("</", "<\\/")


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2)


FORMS: dict[str, Callable[[Citation], str]] = {
    "bibtex": _bibtex,
    "csl-json": _csl_json,
    "html": lambda cited: f'<p class="citation">{_paragraph(cited, "html")}</p>',
    "json": lambda cited: _json(
        {**dataclasses.asdict(cited), "created": cited.created.isoformat(), "links": cited.links}
    ),
    "json-ld": _json_ld,
    "latex": partial(_paragraph, form="latex"),
    "markdown": partial(_paragraph, form="markdown"),
    "ris": _ris,
    "rst": partial(_paragraph, form="rst"),
    "text": partial(_paragraph, form="text"),
}
"""The forms by their names."""
