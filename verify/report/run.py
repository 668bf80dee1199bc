"""What the report prints of a run: chapters and sources, pages and figures, settings and counts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from verify.citing import citations
from verify.citing.citations import Citation, cite
from verify.evidence import (
    Calibration,
    ClaimRecord,
    Counted,
    Outcome,
    Part,
    RunRecord,
    SourceRecord,
    Statement,
)
from verify.evidence.load import creation
from verify.files import shipped_table
from verify.report import front
from verify.report.cards import Card, card, keys_of
from verify.report.tables import FigureView, refuted
from verify.text import numbers
from verify.text.latex import Prose

_EXAMPLE = "score-variance"  # the claim whose citation is shown, if it ran
_SERIOUS = (Outcome.WRONG, Outcome.MISPRINTED, Outcome.WITH_CONDITIONS)
_MEASURED = 2  # of the usual first page's figures, what shows the variances


class Section(NamedTuple):
    """Claims under a heading: a page, or a chapter; the user's own claims have no ``number``."""

    id: str
    number: str
    title: Prose
    cards: tuple[Card, ...]


class Stated(NamedTuple):
    """A source document and its statements, the decided apart from the open statements."""

    source: SourceRecord
    statements: tuple[Statement, ...]
    decided: tuple[Statement, ...]
    open: tuple[Statement, ...]
    byline: str


class Level(NamedTuple):
    """All cells of the calibration study tried at one level, those with the highest rates first."""

    what: str
    together: Counted
    cells: list[Counted]


class Report:
    """A run as its pages print it.

    It ``is_led`` by its claims where it is about them alone; ``leads`` are these where they are few, those
    that are refuted first. ``cards`` has all claims by their ids, ``pages`` are what the short print tells at
    length, and ``panels`` the figures of the usual first page. ``answer`` has sentences, each with what of
    its claims this run did not confirm; ``limits`` are the claims about assumptions that are broken,
    ``concerns`` those with any verdict but confirmed. ``advice`` says what an engineer does about something
    in a program, with the claim that it rests on. ``corrections`` are the statements with any outcome but
    holds, the most serious first. ``anchors`` are the places that a link can lead to.
    """

    definition = Prose(front.PLAN["definition"])
    notation = tuple((Prose(symbol), Prose(meaning)) for symbol, meaning in front.PLAN["notation"].items())
    formats = citations.FORMS

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self.is_led = front.is_led(record)
        title, question, count = front.PLAN["title"], front.PLAN["question"], len(record.claims)
        if self.is_led:
            title = "Statements about attention, decided"
            question = "Is it true?" if count == 1 else "Are they true?"
            if record.run.claims:
                title = record.claims[0].title if count == 1 else f"{count} claims about attention, verified"
        given = record.run.presentation
        self.title, self.question = Prose(given.title or title), Prose(given.question or question)
        self.author = given.author or citations.AUTHORS
        self.chapters = tuple(_chapters(record))
        self.cards = {card.claim.id: card for chapter in self.chapters for card in chapter.cards}
        self.failures = tuple(front.failures(record))
        self.keys = tuple(front.key_numbers(record))
        # The laws of components behind these numbers.
        cells = [key.check.cell for key in self.keys]
        self.laws = {str(cell[side]) for cell in cells for side in ("query", "key") if side in cell}
        self.concerns = [card for card in self.cards.values() if card.verdict.tone != "good" or card.alarms]
        self.anchors = {key for claim in record.claims for key in (claim.id, *keys_of(claim))}
        few = self.is_led and len(self.cards) <= front.FEW
        self.leads = tuple(front.leads(self.cards)) if few else ()
        # What a report about its claims alone does without.
        usual = {} if self.is_led else self.cards
        pages = tuple(
            Section(page, "", Prose(of["title"]), printed)
            for page, of in front.PLAN["pages"].items()
            if (printed := tuple(usual[name] for name in of["claims"] if name in usual))
        )
        self.pages = self.chapters if self.is_led else pages
        drawn = {view.key: view for card in usual.values() for view in card.figures}
        self.panels = tuple(drawn[key] for key in front.PLAN["panels"] if key in drawn)
        self.opening, self.lesson = front.opening(usual), tuple(front.scenes(usual))
        self.answer = () if self.is_led else tuple(front.answers(self.cards))
        self.limits = [card for card in usual.values() if card.claim.chapter == "limits"]
        self.advice: list[tuple[Card, Mapping[str, str]]] = []
        for name, texts in shipped_table("advice").items():
            if name in usual:
                derivation = usual[name].claim.derivation
                chains = {chain.name: chain.shows for chain in derivation.chains}
                latex = chains.get(texts.get("chain", ""), derivation.latex)
                self.advice.append((usual[name], {**texts, "latex": latex}))
        self.sources = tuple(_sources(record))
        self.statements = [stated for source in self.sources for stated in source.statements]
        corrected = [stated for stated in self.statements if stated.outcome in _SERIOUS]
        self.corrections = sorted(corrected, key=lambda stated: _SERIOUS.index(stated.outcome))
        self.levels = tuple(_levels(record.calibration))

    def beside(self, card: Card) -> tuple[FigureView, ...]:
        """Return the figures of a claim that stand beside it in the short print: those not before."""
        before = (*self.panels[:_MEASURED], *(self.opening.histograms if self.opening else ()))
        return tuple(view for view in card.figures if view not in before)

    def evidence_of(self, part: Part) -> tuple[str, str]:
        """Return what decides a part of a statement: its name and its anchor, empty if it has none."""
        evidence = part.evidence.partition(":")[2]
        name = ".".join(filter(None, [part.claim, evidence]))
        return name, next((anchor for anchor in (name, part.claim) if anchor in self.anchors), "")

    def waits_for(self, statement: Statement) -> tuple[str, ...]:
        """Return the ids of the claims that an open statement waits for."""
        waiting = [part.claim for part in statement.parts if part.holds is None]
        return tuple(dict.fromkeys(waiting or filter(None, [statement.claim])))

    @property
    def theorems(self) -> Mapping[str, tuple[str, Iterable[str]]]:
        """The published theorems that lines rest on, with sources and numbers of the citing claims.

        They are in the order of the claims; a theorem of a claim's own has no source.
        """
        cited: dict[str, dict[str, None]] = {}
        for shown in self.cards.values():
            for line in (line for chain in shown.claim.derivation.chains for line in chain.lines):
                for name in line.cites:
                    cited.setdefault(name, {})[shown.number] = None
        known = {theorem["name"]: theorem["source"] for theorem in shipped_table("theorems").values()}
        return {name: (known.get(name, ""), of) for name, of in cited.items()}

    @property
    def counts(self) -> Mapping[str, int]:
        """Numbers that qualify others: of lines, of theorems and claims that Coq proved, of near misses."""
        derivations = [claim.derivation for claim in self.record.claims]
        lines = [line for of in derivations for chain in of.chains for line in chain.lines]
        statements = {re.sub(r"Theorem \w+", "", of.coq.statement) for of in derivations if of.coq}
        return {
            "lines": len(lines),
            "untried": sum("tried at no point" in line.checked for line in lines),
            "theorems": len(statements),
            "stated": sum(of.coq is not None for of in derivations),
            "near misses": sum(
                control.is_near_miss for claim in self.record.claims for control in claim.controls
            ),
        }

    @property
    def checks(self) -> str:
        """The number of checks, and how many of them are measured and exact."""
        kinds = {"measured": self.record.measured_checks, "exact": self.record.exact_checks}
        parts = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count) or "none"
        return f"{numbers.counted(sum(kinds.values()), 'check')} ({parts})"

    @property
    def controls(self) -> tuple[int, int]:
        """How many controls are refuted, as they must be, and of how many."""
        claims = self.record.claims
        return sum(refuted(claim.controls) for claim in claims), sum(len(claim.controls) for claim in claims)

    @property
    def settings(self) -> Mapping[str, str]:
        """The run's settings and times, by their names."""
        run = self.record.run
        chosen = run.settings
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
        return named

    @property
    def example(self) -> Citation | None:
        """The citation that shows how to cite: of a fit if there is any, else of a check."""
        claims = [claim for claim in self.record.claims if claim.checks]
        if not claims:
            return None
        claim = next((claim for claim in claims if claim.id == _EXAMPLE), claims[0])
        check = next((check for check in claim.checks if check.method == "fit"), claim.checks[0])
        return cite(self.record, claim, check)


def _chapters(record: RunRecord) -> Iterator[Section]:
    """Yield the chapters, with the numbers of the catalogue where the run has them, else of its own."""
    gathered: dict[str, list[ClaimRecord]] = {}
    for claim in record.claims:
        gathered.setdefault(claim.chapter, []).append(claim)
    for place, claims in enumerate(gathered.values(), 1):
        # Claims of the user's own have a number without a chapter, such as 1.
        own = [record.run.numbers.get(claim.id, f"{place}.{at}") for at, claim in enumerate(claims, 1)]
        number, point, _ = own[0].partition(".")
        yield Section(
            id=f"chapter-{number}" if point else "chapter",
            number=number if point else "",
            title=Prose(claims[0].chapter_title),
            cards=tuple(card(record, claim, own) for claim, own in zip(claims, own, strict=True)),
        )


def _sources(record: RunRecord) -> Iterator[Stated]:
    """Yield the sources of the statements, in the record's order; what a source does not say is missing.

    Where the report is about its claims alone, statements are left out that wait for other claims.
    """
    everything = record.run.own_sources or record.run.pack or not front.is_led(record)
    for source in record.sources:
        own = [stated for stated in record.statements if stated.source == source.id]
        decided = tuple(stated for stated in own if stated.outcome is not Outcome.OPEN)
        waiting = tuple(stated for stated in own if stated.outcome is Outcome.OPEN and everything)
        author = f"by {source.author}" if source.author else "no author given"
        byline = ", ".join(filter(None, [source.kind, author, source.date or "no date given"]))
        if statements := tuple(stated for stated in own if stated in (*decided, *waiting)):
            yield Stated(source, statements, decided, waiting, byline)


def _levels(study: Calibration | None) -> Iterator[Level]:
    """Yield the rows of the calibration study about intervals and verdicts, level by level."""
    if study is None:
        return
    for together in study.together:
        what = f"{together.what}: {together.setting}" if together.setting else together.what
        # A total adds up the cells of the same event and level, of all settings or those of one kind.
        same = [row for row in study.rows if (row.what, row.level) == (together.what, together.level)]
        cells = [row for row in same if row.setting.startswith(together.setting)]
        cells.sort(key=lambda cell: cell.events / cell.trials, reverse=True)
        yield Level(what[:1].upper() + what[1:], together, cells)
