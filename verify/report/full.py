"""The full edition: all evidence of a run for print, with arguments and ways of checking said once."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from verify.evidence import ChainRecord, ClaimRecord, LineRecord, OrdinaryFit, Verdict
from verify.evidence.words import decisive_check
from verify.report.cards import Card, FigureView
from verify.report.run import HALF, ChapterView, Report
from verify.report.tables import CheckTable, check_table

_SHORTEST = 3  # lines of an argument
_FEWEST = 4  # claims that share it

Rules = tuple[tuple[str, str], ...]
"""The relation and the reason of each line of a chain."""


class Argument(NamedTuple):
    """A run of rules that chains share, with its name, and the claim and chain that make it first."""

    name: str
    rules: Rules
    claim: str
    chain: int


class FullLine(NamedTuple):
    """A line of a derivation; ``marks`` are the letters of its checks in the claim's legend, if it has one.

    ``link`` is the anchor of the argument that stands for several lines, else empty.
    """

    line: LineRecord
    marks: str
    link: str = ""


class FullChain(NamedTuple):
    """A chain; ``argument`` is the name of one that it is the first to make, else empty."""

    chain: ChainRecord
    lines: tuple[FullLine, ...]
    argument: str


class FullCard(NamedTuple):
    """A claim; ``legend`` are the ways its lines are checked, by their letters, a lone one without a letter.

    ``measured`` and ``exact`` are its two tables of checks; ``confirmed`` and ``refuted`` whether all checks
    and all controls are, and ``power`` that of all controls, empty where they differ. ``decisive`` is the
    anchor of the check with the narrowest margin, empty where the verdict names what decided it.
    """

    card: Card
    chains: tuple[FullChain, ...]
    legend: tuple[tuple[str, str], ...]
    figures: tuple[FigureView, ...]
    measured: CheckTable
    exact: CheckTable
    confirmed: bool
    refuted: bool
    power: str
    decisive: str


class FullEdition(NamedTuple):
    """The claims of a run for print, each chapter with its cards."""

    chapters: tuple[tuple[ChapterView, tuple[FullCard, ...]], ...]

    @property
    def cards(self) -> tuple[FullCard, ...]:
        """All claims, in order."""
        return tuple(card for _, cards in self.chapters for card in cards)

    @property
    def fits(self) -> tuple[tuple[Card, OrdinaryFit], ...]:
        """All ordinary fits, each with its claim."""
        return tuple((of.card, fit) for of in self.cards for fit in of.card.claim.fits)


def full_edition(report: Report) -> FullEdition:
    """Return what the full edition prints of a run."""
    numbers = {card.claim.id: card.number for card in report.cards}
    arguments = shared_arguments(report.record.claims)
    return FullEdition(
        chapters=tuple(
            (chapter, tuple(_card(card, arguments, numbers) for card in chapter.cards))
            for chapter in report.chapters
        ),
    )


def _card(card: Card, arguments: Sequence[Argument], numbers: Mapping[str, str]) -> FullCard:
    claim = card.claim
    powers = {row.power for row in card.controls.rows}
    measured = [check for check in claim.checks if check.method != "exact"]
    confirmed = all(check.verdict is Verdict.CONFIRMED for check in claim.checks)
    decisive = decisive_check(claim.checks)
    exact = check_table(claim.id, [one for one in claim.checks if one.method == "exact"], wide=True)
    ways = tuple(dict.fromkeys(line.checked for chain in claim.derivation.chains for line in chain.lines))
    legend = tuple(zip(ascii_lowercase if len(ways) > 1 else [""], ways, strict=False))
    return FullCard(
        card=card,
        chains=tuple(_chains(claim, {way: letter for letter, way in legend}, arguments, numbers)),
        legend=legend,
        figures=tuple(one._replace(key=HALF + one.key) for one in card.figures),
        measured=check_table(claim.id, measured, wide=True),
        exact=exact,
        confirmed=confirmed,
        refuted=card.controls.refuted == len(card.controls.rows),
        power=powers.pop() if len(powers) == 1 else "",
        decisive=f"{claim.id}.{decisive.id}" if confirmed and decisive and len(measured) > 1 else "",
    )


def _chains(
    claim: ClaimRecord, letters: Mapping[str, str], arguments: Sequence[Argument], numbers: Mapping[str, str]
) -> Iterator[FullChain]:
    """Yield a claim's chains, with one line in place of those of an argument that another chain makes."""
    for place, chain in enumerate(claim.derivation.chains):
        rules = rules_of(chain)
        made = next((one for one in arguments if rules[: len(one.rules)] == one.rules), None)
        lines = [FullLine(line, letters.get(line.checked, "")) for line in chain.lines]
        if made is None or (made.claim, made.chain) == (claim.id, place):
            yield FullChain(chain, tuple(lines), made.name if made else "")
            continue
        replaced, rest = lines[: len(made.rules)], lines[len(made.rules) :]
        rule = f"Argument {made.name} of {numbers[made.claim]}, for this score"
        marks = "".join(dict.fromkeys("".join(one.marks for one in replaced)))
        line = replaced[-1].line.model_copy(update={"because": rule})
        citing = FullLine(line, marks, f"argument-{made.name}")
        yield FullChain(chain, (citing, *rest), "")


def shared_arguments(claims: Sequence[ClaimRecord]) -> tuple[Argument, ...]:
    """Return the runs of rules worth a name, that which saves most lines first.

    A run has three lines at least and opens a chain of four claims at least.
    """
    makers: dict[Rules, list[tuple[str, int]]] = {}
    for claim in claims:
        for place, chain in enumerate(claim.derivation.chains):
            rules = rules_of(chain)
            for length in range(_SHORTEST, len(rules) + 1):
                makers.setdefault(rules[:length], []).append((claim.id, place))

    def saved(rules: Rules) -> int:
        return (len(makers[rules]) - 1) * (len(rules) - 1)

    found: list[Argument] = []
    for rules in sorted(makers, key=lambda rules: (-saved(rules), makers[rules])):
        if len(found) == len(ascii_uppercase):
            break
        known = any(all(a == b for a, b in zip(rules, one.rules, strict=False)) for one in found)
        if len({claim for claim, _ in makers[rules]}) >= _FEWEST and not known:
            found.append(Argument(ascii_uppercase[len(found)], rules, *makers[rules][0]))
    return tuple(found)


def rules_of(chain: ChainRecord) -> Rules:
    """Return the rules of a chain's lines as far as they hold."""
    holding = itertools.takewhile(lambda line: line.holds, chain.lines)
    return tuple((line.relation, line.because) for line in holding)
