"""What the report prints of a run: chapters and sources, pages and figures, settings and counts."""

import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache, cached_property
from itertools import groupby
from typing import NamedTuple

from verify.citing import citations
from verify.citing.citations import Citation, cite
from verify.evidence import (
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
from verify.files.names import shipped_folder
from verify.report.cards import Card, FigureView, card, keys_of
from verify.report.front import (
    Failure,
    KeyNumber,
    answers,
    failures,
    is_led,
    key_numbers,
    numbers_of,
    question_of,
    title_of,
)
from verify.report.lesson import STILLS, LessonScene, scenes
from verify.report.opening import (
    HISTOGRAMS,
    OPENING,
    Derived,
    Opening,
    derived_in,
    opening,
    ratio_views,
    ratios,
)
from verify.text import numbers
from verify.text.latex import Prose

HALF, FRONT = "half.", "front."
"""What the keys of drawings at half the width of the text start with; those of the first page are higher."""
FEW = 3
"""A report of at most this many claims shows the derivation and the figure of each on its first page."""
_ROOM = {1: 20, 2: 14, 3: 10}  # numbers of a claim on the first page, by the number of claims
_EXAMPLE = "score-variance"  # the claim whose citation is shown, if it ran
_ENTRIES = (("Text", "text"), ("BibTeX", "bibtex"), ("CSL-JSON", "csl-json"), ("Markdown", "markdown"))
_SERIOUS = (Outcome.WRONG, Outcome.MISPRINTED, Outcome.WITH_CONDITIONS)
_FRONT_FIGURES = (
    "score-variance.variance-line",
    "sqrt-scaling.three-scales",
    "softmax-saturation.largest-weight",
    "vanishing-or-exploding.two-answers",
)
"""The figures of the usual first page, those of them that a run has."""
_MEASURED = 2  # of these, what shows the variances
_PAGES = {
    "experiments": (
        "The documents’ own experiments, repeated",
        "worked-dot-products score-spread pairwise-estimator softmax-worked-examples score-variance-any-law",
    ),
    "softmax": (
        "What becomes of the softmax",
        "softmax-saturation softmax-two-keys attention-concentration attention-entropy effective-keys",
    ),
    "gradients": (
        "What becomes of gradients",
        "jacobian-saturation vanishing-or-exploding ignored-keys gradient-through-layers training-stability",
    ),
    "limits": (
        "Where it stops being true",
        (
            "correlated-components dependent-query-key self-score aligned-query-key row-variance "
            "heavy-tails causal-rows length-scaling projected-tokens half-precision"
        ),
    ),
}
"""By its id, the title of each page of the short print, and the claims that it tells at length."""
TOLD = frozenset(claim for _, claims in _PAGES.values() for claim in claims.split())
"""The claims that the short print tells at length."""
_NOTATION = {
    r"$q$, $k$": "a query and a key: vectors of $d_k$ components",
    r"$d_k$": "the width of a head: the number of components of a query or key",
    r"$q\cdot k$": r"the score of a query and a key, $\sum_{i=1}^{d_k} q_i k_i$, before any scaling",
    r"$c$": r"the scale, the factor of every score; $1/\sqrt{d_k}$ unless stated otherwise",
    r"$n$": "the number of keys in a row",
    r"$s_j$, $p_j$": r"the scores of a row and its weights, $p_j = e^{s_j}/\sum_l e^{s_l}$",
    r"$Q$, $K$, $V$": "matrices whose rows are queries, keys and values",
    r"$P$": "the matrix of weights, whose rows sum to 1",
    r"$J$": r"the Jacobian of the softmax, $\partial p_i/\partial s_j = p_i(\delta_{ij} - p_j)$",
    r"$\sigma$": "the standard deviation of the scores in a row",
    r"$\mathbb{E}$, $\operatorname{Var}$": "mean and variance over fresh queries and keys",
    r"$T$, $D$": "the number of tokens, and the width of the model",
}


class Section(NamedTuple):
    """Claims under a heading: a page, or a chapter; the user's own claims have no ``number``."""

    id: str
    number: str
    title: Prose
    cards: tuple[Card, ...]


class Stated(NamedTuple):
    """A source document and its statements, the decided ones apart from those that are open."""

    source: SourceRecord
    statements: tuple[Statement, ...]
    decided: tuple[Statement, ...]
    open: tuple[Statement, ...]
    tallies: tuple[Tally, ...]
    byline: str


class Lead(NamedTuple):
    """A claim that the first page is about, with its derivation, its numbers and its figures there."""

    card: Card
    derived: Derived | None
    keys: tuple[KeyNumber, ...]
    figures: tuple[FigureView, ...]


class Level(NamedTuple):
    """All cells of the calibration study tried at one level.

    ``what`` names the event in the first of the rows about it and is empty in the others; ``worst`` is the
    cell with the highest rate, and ``in_order`` says that all is compatible with the design.
    """

    what: str
    together: Counted
    cells: tuple[Counted, ...]
    worst: Counted
    in_order: bool


class Report:
    """A run as its pages print it: what templates ask for, made when they do."""

    definition = Prose(
        r"$\operatorname{Attention}(Q, K, V) = "
        r"\operatorname{softmax}\left(Q K^{\mathsf T}/\sqrt{d_k}\right) V$"
    )
    notation = tuple((Prose(symbol), Prose(meaning)) for symbol, meaning in _NOTATION.items())
    formats = ", ".join(citations.FORMS)

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self.title, self.question = title_of(record), question_of(record)
        self.author = record.run.presentation.author or citations.AUTHORS
        self.is_led = is_led(record)

    # Claims and figures.

    @cached_property
    def chapters(self) -> tuple[Section, ...]:
        """The chapters, with the numbers of the catalogue where the run has them, else of its own."""
        gathered: dict[str, list[ClaimRecord]] = {}
        for claim in self.record.claims:
            gathered.setdefault(claim.chapter, []).append(claim)
        sections = []
        for place, claims in enumerate(gathered.values(), 1):
            numbered = [
                (claim, self.record.run.numbers.get(claim.id, f"{place}.{at}"))
                for at, claim in enumerate(claims, 1)
            ]
            number, point, _ = numbered[0][1].partition(".")
            sections.append(
                Section(
                    id=f"chapter-{number}" if point else "chapter",
                    number=number if point else "",
                    title=Prose(claims[0].chapter_title),
                    cards=tuple(card(self.record, claim, own) for claim, own in numbered),
                )
            )
        return tuple(sections)

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """The cards of all claims."""
        return tuple(card for chapter in self.chapters for card in chapter.cards)

    @cached_property
    def by_id(self) -> Mapping[str, Card]:
        """The cards by the ids of their claims."""
        return {card.claim.id: card for card in self.cards}

    @cached_property
    def leads(self) -> tuple[Lead, ...]:
        """The claims that a report is about, where they are few; what is refuted comes first."""
        if not self.is_led or len(self.cards) > FEW:
            return ()
        return tuple(
            Lead(
                card,
                derived_in(card),
                numbers_of(card.claim, _ROOM[len(self.cards)]),
                tuple(
                    view
                    for view in self._front
                    if view.key.removeprefix(FRONT).startswith(f"{card.claim.id}.")
                ),
            )
            for card in sorted(self.cards, key=lambda card: card.claim.verdict is not Verdict.REFUTED)
        )

    @property
    def panels(self) -> tuple[FigureView, ...]:
        """The figures of the usual first page."""
        return () if self.is_led else self._front

    @cached_property
    def _front(self) -> tuple[FigureView, ...]:
        """The figures of the first page, those of its claims where it is about a few."""
        drawn = {view.key: view for card in self.cards for view in card.figures}
        few = self.cards if self.is_led and len(self.cards) <= FEW else ()
        return tuple(
            map(_at_front, (*(drawn[key] for key in _first_figures(self.record)), *ratio_views(few)))
        )

    @cached_property
    def opening(self) -> Opening | None:
        """The derivations and fits that the usual report opens with."""
        made = None if self.is_led else opening(self.by_id)
        return made and made._replace(
            histograms=tuple(map(_at_front, made.histograms)), ratios=tuple(map(_at_front, made.ratios))
        )

    @cached_property
    def lesson(self) -> tuple[LessonScene, ...]:
        """The scenes that the run can show."""
        made = () if self.is_led else scenes(self.by_id)
        return tuple(scene._replace(still=_at_front(scene.still)) for scene in made)

    @cached_property
    def pages(self) -> tuple[Section, ...]:
        """What the short print tells at length: pages, or the chapters of a report about its claims alone."""
        if self.is_led:
            return self.chapters
        pages = (
            Section(
                name, "", Prose(title), tuple(self.by_id[id_] for id_ in ids.split() if id_ in self.by_id)
            )
            for name, (title, ids) in _PAGES.items()
        )
        return tuple(page for page in pages if page.cards)

    def beside(self, card: Card) -> tuple[FigureView, ...]:
        """Return the figures of a claim that stand beside it in the short print: those not before."""
        before = {
            view.key
            for view in (*self.panels[:_MEASURED], *(self.opening.histograms if self.opening else ()))
        }
        return tuple(
            view._replace(key=HALF + view.key) for view in card.figures if FRONT + view.key not in before
        )

    @cached_property
    def advice(self) -> tuple[tuple[Card, Mapping[str, str]], ...]:
        """What an engineer does about something in a program, with the claim that says so."""
        told = () if self.is_led else _advice().items()
        return tuple((self.by_id[id_], advice) for id_, advice in told if id_ in self.by_id)

    @cached_property
    def limits(self) -> tuple[Card, ...]:
        """The claims about assumptions that are broken."""
        return () if self.is_led else tuple(card for card in self.cards if card.claim.chapter == "limits")

    @property
    def concerns(self) -> tuple[Card, ...]:
        """The claims with any verdict but confirmed."""
        return tuple(card for card in self.cards if card.verdict.tone != "good" or card.alarms)

    # The first page.

    @cached_property
    def answer(self) -> tuple[tuple[Prose, tuple[Prose, ...]], ...]:
        """The sentences of the usual answer, each with what of its claims this run did not confirm."""
        return () if self.is_led else tuple(answers({claim.id: claim for claim in self.record.claims}))

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """What the run found to be false."""
        return tuple(failures(self.record))

    @cached_property
    def keys(self) -> tuple[KeyNumber, ...]:
        """The numbers of the first page."""
        return tuple(key_numbers(self.record))

    @property
    def laws(self) -> tuple[str, ...]:
        """The laws of components behind these numbers."""
        cells = (check.cell for claim in self.record.claims for check in claim.checks)
        shown = [key.check.cell for key in self.keys]
        drawn = (
            str(cell[side]) for cell in cells if cell in shown for side in ("query", "key") if side in cell
        )
        return tuple(dict.fromkeys(drawn))

    # Documents and their statements.

    @cached_property
    def sources(self) -> tuple[Stated, ...]:
        """The sources of the statements, in the record's order.

        Where the report is about its claims alone, those are left out that wait for other claims.
        """
        run, known = self.record.run, {source.id: source for source in self.record.sources}
        everything = run.own_sources or run.pack or not self.is_led
        printed = [each for each in self.record.statements if everything or each.outcome is not Outcome.OPEN]
        printed.sort(key=lambda stated: list(known).index(stated.source))
        return tuple(
            _stated(known[name], tuple(members))
            for name, members in groupby(printed, lambda stated: stated.source)
        )

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements printed."""
        return tuple(stated for source in self.sources for stated in source.statements)

    @property
    def corrections(self) -> tuple[Statement, ...]:
        """The statements with any outcome but holds, the most serious first."""
        corrected = (stated for stated in self.statements if stated.outcome in _SERIOUS)
        return tuple(sorted(corrected, key=lambda stated: _SERIOUS.index(stated.outcome)))

    def outcome_of(self, part: Part) -> Outcome:
        """Return the outcome of a part of a statement."""
        if part.kind == "prints" and part.holds is False:
            return Outcome.MISPRINTED
        return {True: Outcome.HOLDS, False: Outcome.WRONG, None: Outcome.OPEN}[part.holds]

    def evidence_of(self, part: Part) -> tuple[str, str]:
        """Return what decides a part of a statement: its name and its anchor, empty if it has none."""
        evidence = part.evidence.partition(":")[2]
        name = ".".join(filter(None, [part.claim, evidence]))
        return name, next((anchor for anchor in (name, part.claim) if anchor in self.anchors), "")

    def waits_for(self, statement: Statement) -> tuple[str, ...]:
        """Return the ids of the claims that an open statement waits for."""
        waiting = [part.claim for part in statement.parts if part.holds is None]
        return tuple(dict.fromkeys(waiting or filter(None, [statement.claim])))

    @cached_property
    def anchors(self) -> frozenset[str]:
        """The places that a link can lead to: claims, checks, controls and facts."""
        return frozenset(key for claim in self.record.claims for key in (claim.id, *keys_of(claim)))

    # Counts and settings.

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
        return tallies(Counter(stated.outcome for stated in self.statements), Outcome)

    @property
    def checks(self) -> str:
        """The number of checks, and how many of them are measured and exact."""
        measured, exact = self.record.measured_checks, self.record.exact_checks
        return f"{numbers.counted(measured + exact, 'check')} ({counted_checks(measured, exact)})"

    @property
    def controls(self) -> int:
        """The number of controls."""
        return sum(len(claim.controls) for claim in self.record.claims)

    @property
    def controls_refuted(self) -> int:
        """How many of them are refuted, as they must be."""
        return sum(card.refuted for card in self.cards)

    @property
    def share(self) -> str:
        """The share of the error budget that one interval has."""
        budget = self.record.run.budget
        return numbers.small(budget.false_alarm / budget.places) if budget.places else "0"

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The rows of the calibration study about intervals and verdicts, level by level."""
        study, rows = self.record.calibration, []
        seen: set[str] = set()
        for together in study.together if study else ():
            what = f"{together.what}: {together.setting}" if together.setting else together.what
            cells = study.cells(together) if study else ()
            worst = max(cells, key=lambda cell: cell.events / cell.trials)
            in_order = all(cell.in_order for cell in (together, *cells))
            title = "" if what in seen else what[:1].upper() + what[1:]
            rows.append(Level(title, together, cells, worst, in_order))
            seen.add(what)
        return tuple(rows)

    @property
    def blind(self) -> Counted | None:
        """The smallest level tried in the calibration study, if no interval missed there."""
        together = (row.together for row in self.levels)
        lowest = min(together, key=lambda row: (row.level, -row.trials), default=None)
        return lowest if lowest and lowest.level is not None and not lowest.events else None

    @property
    def settings(self) -> Mapping[str, str]:
        """The run's settings and times, by their names."""
        run, claims = self.record.run, self.record.claims
        chosen, stored = run.settings, run.stored
        named = {
            "seed": str(chosen.seed),
            "profile": chosen.profile,
            "tolerance": f"±{numbers.percent(chosen.tolerance)}",
            "false alarms, whole run": f"at most {numbers.percent(chosen.false_alarm)}",
            "target power": numbers.percent(chosen.power),
            "made": f"{creation(self.record):%Y-%m-%d %H:%M} UTC",
            "time, whole run": numbers.seconds(run.elapsed_s),
        }
        named |= {f"time, {name}": numbers.seconds(spent) for name, spent in run.phases_s.items()}
        if stored is not None:
            total = numbers.count(stored.draws + stored.drawn)
            named["drawn before, from the cache"] = f"{numbers.count(stored.draws)} of {total} numbers"
            derivations = f"{stored.derivations} of {len(claims)} derivations"
            named["derived before, from the cache"] = derivations
        return named

    # How to cite.

    @cached_property
    def example(self) -> Citation | None:
        """The citation that shows how to cite: of a fit if there is one, else of any check."""
        claims = [claim for claim in self.record.claims if claim.checks]
        if not claims:
            return None
        claim = next((claim for claim in claims if claim.id == _EXAMPLE), claims[0])
        check = next((check for check in claim.checks if check.method == "fit"), claim.checks[0])
        return cite(self.record, claim, check)

    @property
    def entries(self) -> tuple[tuple[str, str], ...]:
        """That citation in some of its forms."""
        example = self.example
        return tuple((name, citations.FORMS[form](example)) for name, form in _ENTRIES) if example else ()


def drawn_small(record: RunRecord, edition: str) -> dict[str, Figure]:
    """Return the figures that an edition has at half the width of the text, by the keys of these drawings."""
    first, led, claims = _first_figures(record), is_led(record), record.claims
    known = {f"{claim.id}.{figure.id}": figure for claim in claims for figure in claim.series}
    small = (*first, *(() if led else (*HISTOGRAMS, *STILLS)))
    drawn = {FRONT + key: figure for key, figure in known.items() if key in small}
    if len(claims) <= FEW or not led:
        opening = {claim.id: claim for claim in claims if led or claim.id in OPENING}
        drawn |= {FRONT + key: figure for key, figure in ratios(opening).items()}
    before = () if edition == "full" else (*first[:_MEASURED], *HISTOGRAMS)
    for key, figure in known.items():
        if (edition == "full" or led or key.partition(".")[0] in TOLD) and key not in before:
            drawn[HALF + key] = figure
    return drawn


def _first_figures(record: RunRecord) -> tuple[str, ...]:
    """Return the keys of the figures of the first page."""
    keys = [[f"{claim.id}.{figure.id}" for figure in claim.series] for claim in record.claims]
    if not is_led(record):
        return tuple(key for key in _FRONT_FIGURES if any(key in own for own in keys))
    if len(keys) > FEW:
        return ()
    return tuple(key for own in keys for key in own[: 2 if len(keys) == 1 else 1])


def _at_front(view: FigureView) -> FigureView:
    """Return a figure as it is drawn for the first page and the lesson."""
    return view._replace(key=FRONT + view.key)


@cache
def _advice() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((shipped_folder("data") / "advice.toml").read_text(encoding="utf-8"))


def _stated(source: SourceRecord, statements: tuple[Statement, ...]) -> Stated:
    """Return a source with its statements; what it does not say of itself is named as missing."""
    author = f"by {source.author}" if source.author else "no author given"
    return Stated(
        source,
        statements,
        decided=tuple(stated for stated in statements if stated.outcome is not Outcome.OPEN),
        open=tuple(stated for stated in statements if stated.outcome is Outcome.OPEN),
        tallies=tallies(Counter(stated.outcome for stated in statements), Outcome),
        byline=", ".join(filter(None, [source.kind, author, source.date or "no date given"])),
    )
