"""What the report prints of a run: chapters and sources, the first page, settings, the lesson."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from verify.citing import citations
from verify.citing.citations import Citation, cite
from verify.evidence import (
    Calibration,
    ClaimRecord,
    Counted,
    Figure,
    Outcome,
    Part,
    Proof,
    RunRecord,
    SourceRecord,
    Statement,
    Verdict,
)
from verify.evidence.load import creation
from verify.evidence.words import Tally, counted_checks, tallies
from verify.report.cards import Card, FigureView, card
from verify.report.confirmation import (
    HISTOGRAMS,
    OPENING,
    Confirmation,
    Derived,
    confirmation,
    derived_in,
    ratio_views,
    ratios,
)
from verify.report.front import (
    FEW,
    STILLS,
    Failure,
    KeyNumber,
    LessonScene,
    answers,
    failures,
    is_led,
    key_numbers,
    numbers_of,
    question_of,
    scenes,
    title_of,
)
from verify.report.pages import TOLD, Advice, Page, advice_of, pages_of
from verify.text import numbers
from verify.text.latex import Prose

HALF, FRONT = "half.", "front."
"""What the keys of drawings at half the width of the text start with; those of the first page are higher."""

_EXAMPLE = "score-variance"  # the claim whose citation is shown, if it ran
_ENTRIES = (("Text", "text"), ("BibTeX", "bibtex"), ("CSL-JSON", "csl-json"), ("Markdown", "markdown"))
_LIMITS = "limits"
_ROOM = {0: 0, 1: 20, 2: 14, 3: 10}  # numbers of a claim on the first page, by the number of claims
_SERIOUS = (Outcome.WRONG, Outcome.MISPRINTED, Outcome.WITH_CONDITIONS)
_FRONT_FIGURES = (
    "score-variance.variance-line",
    "sqrt-scaling.three-scales",
    "softmax-saturation.largest-weight",
    "vanishing-or-exploding.two-answers",
)
"""The figures of the usual first page, those of them that a run has."""
_MEASURED = 2  # of these, what shows the variances
_DEFINITION = Prose(
    r"$\operatorname{Attention}(Q, K, V) = \operatorname{softmax}\left(Q K^{\mathsf T}/\sqrt{d_k}\right) V$"
)
_NOTATION = tuple(
    (Prose(symbol), Prose(meaning))
    for symbol, meaning in (
        (r"$q$, $k$", "a query and a key: vectors of $d_k$ components"),
        (r"$d_k$", "the width of a head: the number of components of a query or key"),
        (r"$q\cdot k$", r"the score of a query and a key, $\sum_{i=1}^{d_k} q_i k_i$, before any scaling"),
        (r"$c$", r"the scale, the factor of every score; $1/\sqrt{d_k}$ unless stated otherwise"),
        (r"$n$", "the number of keys in a row"),
        (r"$s_j$, $p_j$", r"the scores of a row and its weights, $p_j = e^{s_j}/\sum_l e^{s_l}$"),
        (r"$Q$, $K$, $V$", "matrices whose rows are queries, keys and values"),
        (r"$P$", "the matrix of weights, whose rows sum to 1"),
        (r"$J$", r"the Jacobian of the softmax, $\partial p_i/\partial s_j = p_i(\delta_{ij} - p_j)$"),
        (r"$\sigma$", "the standard deviation of the scores in a row"),
        (r"$\mathbb{E}$, $\operatorname{Var}$", "mean and variance over fresh queries and keys"),
        (r"$T$, $D$", "the number of tokens, and the width of the model"),
    )
)


class ChapterView(NamedTuple):
    """The claims of a chapter; its ``number`` is empty where all claims are the user's own."""

    id: str
    number: str
    title: Prose
    cards: tuple[Card, ...]


class Stated(NamedTuple):
    """A source document and its statements."""

    source: SourceRecord
    statements: tuple[Statement, ...]

    @property
    def decided(self) -> tuple[Statement, ...]:
        """The statements that are decided."""
        return tuple(one for one in self.statements if one.outcome is not Outcome.OPEN)

    @property
    def open(self) -> tuple[Statement, ...]:
        """The statements that are not."""
        return tuple(one for one in self.statements if one.outcome is Outcome.OPEN)

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """How often each outcome occurs."""
        return tallies(Counter(one.outcome for one in self.statements), Outcome)

    @property
    def byline(self) -> str:
        """Kind, author and date of the document; what is missing is named as missing."""
        source = self.source
        author = f"by {source.author}" if source.author else "no author given"
        return ", ".join(filter(None, [source.kind, author, source.date or "no date given"]))


class Lead(NamedTuple):
    """A claim that the first page is about, with its derivation, its numbers and its figures there."""

    card: Card
    derived: Derived | None
    keys: tuple[KeyNumber, ...]
    figures: tuple[FigureView, ...]


class Level(NamedTuple):
    """All cells of the calibration study tried at one level.

    ``what`` names the event in the first of the rows about it and is empty in the others.
    """

    what: str
    together: Counted
    cells: tuple[Counted, ...]

    @property
    def worst(self) -> Counted:
        """The cell with the highest rate."""
        return max(self.cells, key=lambda one: one.events / one.trials)

    @property
    def in_order(self) -> bool:
        """Whether all of it is compatible with the design."""
        return all(one.in_order for one in (self.together, *self.cells))


class Report(NamedTuple):
    """A run as its pages print it.

    ``is_led`` says that it is about its claims alone; ``leads`` are these where they are few. ``failures``
    are what it found to be false.
    ``pages`` and ``advice`` are what the short print tells at length, and for engineers.
    ``answer`` has sentences, each with the claims against it that this run did not confirm; ``limits`` are
    the claims about assumptions that are broken, with a number each; ``entries`` are forms of the citation
    of ``example``; ``anchors`` are the places that a link can lead to.
    """

    record: RunRecord
    title: Prose
    question: Prose
    author: str
    is_led: bool
    leads: tuple[Lead, ...]
    failures: tuple[Failure, ...]
    chapters: tuple[ChapterView, ...]
    sources: tuple[Stated, ...]
    answer: tuple[tuple[Prose, tuple[Prose, ...]], ...]
    keys: tuple[KeyNumber, ...]
    confirmation: Confirmation | None
    panels: tuple[FigureView, ...]
    limits: tuple[tuple[Card, Prose], ...]
    pages: tuple[Page, ...]
    advice: tuple[Advice, ...]
    lesson: tuple[LessonScene, ...]
    levels: tuple[Level, ...]
    example: str
    entries: tuple[tuple[str, str], ...]
    anchors: frozenset[str]
    notation: tuple[tuple[Prose, Prose], ...] = _NOTATION
    definition: Prose = _DEFINITION

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards of all claims."""
        return tuple(one for chapter in self.chapters for one in chapter.cards)

    def beside(self, card: Card) -> tuple[FigureView, ...]:
        """Return the figures of a claim that stand beside it in the short print: those not before."""
        first = {one.key for one in _at_start(self)}
        return tuple(one._replace(key=HALF + one.key) for one in card.figures if FRONT + one.key not in first)

    @property
    def together(self) -> str:
        """The probability, at least, with which all intervals of the run hold."""
        return numbers.percent(1 - self.record.run.budget.false_alarm)

    @property
    def laws(self) -> tuple[str, ...]:
        """The laws of components behind the numbers of the first page."""
        shown = {key.link for key in self.keys}
        cells = (
            check.cell
            for claim in self.record.claims
            for check in claim.checks
            if f"{claim.id}.{check.id}" in shown
        )
        drawn = (str(cell[side]) for cell in cells for side in ("query", "key") if side in cell)
        return tuple(dict.fromkeys(drawn))

    @property
    def concerns(self) -> tuple[Card, ...]:
        """The claims with any verdict but confirmed."""
        return tuple(one for one in self.cards if one.verdict.tone != "good" or one.alarms)

    @property
    def corrections(self) -> tuple[Statement, ...]:
        """The statements with any outcome but holds, the most serious first."""
        found = (one for source in self.sources for one in source.statements if one.outcome in _SERIOUS)
        return tuple(sorted(found, key=lambda one: _SERIOUS.index(one.outcome)))

    @property
    def statements(self) -> int:
        """The number of statements printed."""
        return sum(len(one.statements) for one in self.sources)

    @property
    def verdicts(self) -> tuple[Tally, ...]:
        """How often each verdict occurs."""
        return tallies(Counter(claim.verdict for claim in self.record.claims), Verdict)

    @property
    def proofs(self) -> tuple[Tally, ...]:
        """How often each status of a derivation occurs."""
        return tallies(Counter(claim.derivation.status for claim in self.record.claims), Proof)

    @property
    def outcomes(self) -> tuple[Tally, ...]:
        """How often each outcome of a statement occurs."""
        printed = (one.outcome for source in self.sources for one in source.statements)
        return tallies(Counter(printed), Outcome)

    @property
    def checks(self) -> str:
        """The number of checks, and how many of them are measured and exact."""
        record = self.record
        total = record.measured_checks + record.exact_checks
        kinds = counted_checks(record.measured_checks, record.exact_checks)
        return f"{numbers.count(total)} {'check' if total == 1 else 'checks'} ({kinds})"

    @property
    def controls(self) -> int:
        """The number of controls."""
        return sum(len(one.controls.rows) for one in self.cards)

    @property
    def controls_refuted(self) -> int:
        """How many of them are refuted, as they must be."""
        return sum(one.controls.refuted for one in self.cards)

    @property
    def share(self) -> str:
        """The share of the error budget that one interval has."""
        budget = self.record.run.budget
        return numbers.small(budget.false_alarm / budget.places) if budget.places else "0"

    @property
    def blind(self) -> Counted | None:
        """The smallest level tried in the calibration study, if no interval missed there."""
        together = (one.together for one in self.levels)
        lowest = min(together, key=lambda one: (one.level, -one.trials), default=None)
        return lowest if lowest and lowest.level is not None and not lowest.events else None

    @property
    def formats(self) -> str:
        """The forms of a citation."""
        return ", ".join(citations.FORMS)

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The run's settings and times, each with its name."""
        run = self.record.run
        chosen, stored = run.settings, run.stored
        found = [
            ("seed", str(chosen.seed)),
            ("profile", chosen.profile),
            ("tolerance", f"±{numbers.percent(chosen.tolerance)}"),
            ("false alarms, whole run", f"at most {numbers.percent(chosen.false_alarm)}"),
            ("target power", numbers.percent(chosen.power)),
            ("made", f"{creation(self.record):%Y-%m-%d %H:%M} UTC"),
            ("time, whole run", numbers.seconds(run.elapsed_s)),
            *((f"time, {name}", numbers.seconds(spent)) for name, spent in run.phases_s.items()),
        ]
        if stored is not None:
            draws = f"{numbers.count(stored.draws)} of {numbers.count(stored.draws + stored.drawn)} numbers"
            derivations = f"{stored.derivations} of {len(self.record.claims)} derivations"
            found += [
                ("drawn before, from the cache", draws),
                ("derived before, from the cache", derivations),
            ]
        return tuple(found)

    def outcome_of(self, part: Part) -> Outcome:
        """Return the outcome of a part of a statement."""
        if part.kind == "prints" and part.holds is False:
            return Outcome.MISPRINTED
        return {True: Outcome.HOLDS, False: Outcome.WRONG, None: Outcome.OPEN}[part.holds]

    def evidence_of(self, part: Part) -> tuple[str, str]:
        """Return what decides a part of a statement: its name and its anchor, empty if it has none."""
        _, _, evidence = part.evidence.partition(":")
        name = ".".join(filter(None, [part.claim, evidence]))
        return name, next((anchor for anchor in (name, part.claim) if anchor in self.anchors), "")

    def waits_for(self, statement: Statement) -> tuple[str, ...]:
        """Return the ids of the claims that an open statement waits for."""
        waiting = [part.claim for part in statement.parts if part.holds is None]
        return tuple(dict.fromkeys(waiting or filter(None, [statement.claim])))


def report_of(record: RunRecord) -> Report:
    """Return what the report prints about a run."""
    claims = {claim.id: claim for claim in record.claims}
    example = _example(record)
    chapters = tuple(_chapter(record, some, place) for place, some in enumerate(_by_chapter(record), 1))
    led = is_led(record)
    cards = {one.claim.id: one for chapter in chapters for one in chapter.cards}
    drawings = {one.key: one for each in cards.values() for one in each.figures}
    first = _first_figures(record)
    few = tuple(cards.values()) if led and len(cards) <= FEW else ()
    front = tuple(map(at_front, (*(drawings[key] for key in first), *ratio_views(few))))
    return Report(
        record=record,
        title=title_of(record),
        question=question_of(record),
        author=record.run.presentation.author or citations.AUTHORS,
        is_led=led,
        leads=tuple(
            Lead(
                one,
                derived_in(one),
                numbers_of(one.claim, _ROOM[len(cards)]),
                tuple(d for d in front if d.key.removeprefix(FRONT).startswith(f"{one.claim.id}.")),
            )
            for one in sorted(few, key=lambda one: one.claim.verdict is not Verdict.REFUTED)
        ),
        failures=failures(record),
        chapters=chapters,
        sources=_sources(record),
        answer=() if led else answers(claims),
        keys=key_numbers(record),
        confirmation=None if led else _at_front(confirmation(cards)),
        panels=() if led else front,
        limits=tuple(
            (one, one.short)
            for chapter in chapters
            for one in chapter.cards
            if one.claim.chapter == _LIMITS and not led
        ),
        pages=_pages_of_claims(chapters) if led else pages_of(cards),
        advice=() if led else tuple(advice_of(cards)),
        lesson=() if led else tuple(one._replace(still=at_front(one.still)) for one in scenes(cards)),
        levels=tuple(_levels(record.calibration)),
        example=example.key if example else "",
        entries=tuple((name, citations.FORMS[form](example)) for name, form in _ENTRIES) if example else (),
        anchors=frozenset(_anchors(record)),
    )


def _chapter(record: RunRecord, claims: Sequence[ClaimRecord], place: int) -> ChapterView:
    """Return a chapter with the numbers of the catalogue, where the run has them, else of its own."""
    given = record.run.numbers
    own = {claim.id: f"{place}.{at}" for at, claim in enumerate(claims, 1)}
    found = {name: given.get(name, number) for name, number in own.items()}
    number, point, _ = found[claims[0].id].partition(".")
    return ChapterView(
        id=f"chapter-{number}" if point else "chapter",
        number=number if point else "",
        title=Prose(claims[0].chapter_title),
        cards=tuple(card(record, claim, found[claim.id]) for claim in claims),
    )


def _first_figures(record: RunRecord) -> tuple[str, ...]:
    """Return the keys of the figures of the first page."""
    figures = _figures(record.claims)
    if not is_led(record):
        return tuple(key for key in _FRONT_FIGURES if key in figures)
    if len(record.claims) > FEW:
        return ()
    most = 2 if len(record.claims) == 1 else 1
    return tuple(f"{claim.id}.{one.id}" for claim in record.claims for one in claim.series[:most])


def drawn_small(record: RunRecord, edition: str) -> dict[str, Figure]:
    """Return the figures that an edition has at half the width of the text, by the keys of these drawings."""
    first, led = _first_figures(record), is_led(record)
    small = (*first, *(() if led else (*HISTOGRAMS, *STILLS)))
    front = {FRONT + key: one for key, one in _figures(record.claims).items() if key in small}
    if len(record.claims) <= FEW or not led:
        of = {claim.id: claim for claim in record.claims if led or claim.id in OPENING}
        front |= {FRONT + key: one for key, one in ratios(of).items()}
    told = [one for one in record.claims if edition == "full" or led or one.id in TOLD]
    before = () if edition == "full" else (*first[:_MEASURED], *HISTOGRAMS)
    return front | {HALF + key: one for key, one in _figures(told).items() if key not in before}


def _at_start(report: Report) -> tuple[FigureView, ...]:
    """Return the figures that the short print has before its pages of claims."""
    opening = report.confirmation
    return (*report.panels[:_MEASURED], *(opening.histograms if opening else ()))


def _pages_of_claims(chapters: Sequence[ChapterView]) -> tuple[Page, ...]:
    """Return the chapters of a report about its claims alone as pages."""
    return tuple(Page(one.id, f"{one.number} {one.title}".strip(), one.cards) for one in chapters)


def at_front(figure: FigureView) -> FigureView:
    """Return a figure as it is drawn for the first page and the lesson."""
    return figure._replace(key=FRONT + figure.key)


def _at_front(opening: Confirmation | None) -> Confirmation | None:
    """Return the start of the report with its figures as they are drawn there."""
    return opening and opening._replace(
        histograms=tuple(map(at_front, opening.histograms)), ratios=tuple(map(at_front, opening.ratios))
    )


def _figures(claims: Sequence[ClaimRecord]) -> dict[str, Figure]:
    return {f"{claim.id}.{figure.id}": figure for claim in claims for figure in claim.series}


def _by_chapter(record: RunRecord) -> tuple[list[ClaimRecord], ...]:
    """Return the claims of each chapter, in the record's order."""
    chapters: dict[str, list[ClaimRecord]] = {}
    for claim in record.claims:
        chapters.setdefault(claim.chapter, []).append(claim)
    return tuple(chapters.values())


def _sources(record: RunRecord) -> tuple[Stated, ...]:
    """Return the sources of a record's statements, in the record's order.

    Where the report is about its claims alone, those are left out that wait for other claims.
    """
    known = {source.id: source for source in record.sources}
    order = list(known)
    everything = record.run.own_sources or record.run.pack or not is_led(record)
    printed = [one for one in record.statements if everything or one.outcome is not Outcome.OPEN]
    statements = sorted(printed, key=lambda one: order.index(one.source))
    return tuple(Stated(known[key], tuple(some)) for key, some in groupby(statements, lambda one: one.source))


def _anchors(record: RunRecord) -> Iterator[str]:
    for claim in record.claims:
        yield claim.id
        for group in (claim.checks, claim.controls, claim.facts):
            yield from (f"{claim.id}.{one.id}" for one in group)


def _example(record: RunRecord) -> Citation | None:
    """Return the citation that shows how to cite: of a fit if there is one, else of any check."""
    claims = [claim for claim in record.claims if claim.checks]
    if not claims:
        return None
    claim = next((one for one in claims if one.id == _EXAMPLE), claims[0])
    check = next((one for one in claim.checks if one.method == "fit"), claim.checks[0])
    return cite(record, claim, check)


def _levels(study: Calibration | None) -> Iterator[Level]:
    if study is None:
        return
    seen = set()
    for one in study.together:
        what = f"{one.what}: {one.setting}" if one.setting else one.what
        yield Level("" if what in seen else what[:1].upper() + what[1:], one, study.cells(one))
        seen.add(what)
