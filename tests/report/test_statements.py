"""What the documents state, as printed."""

import pytest

from tests.report.records import STATEMENTS, record
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import ClaimRecord, Fact, Part
from verify.report.statements import corrections, sources
from verify.report.view import view
from verify.report.views import StatementView


def test_statements_link_only_to_claims_of_the_run() -> None:
    """A part names its evidence but links only to what is there; an open one says what it awaits."""
    seen = view(record(SCORE_VARIANCE))
    parts = [part for source in seen.sources for one in source.statements for part in one.parts]
    assert {part.link for part in parts} == {""}
    assert {part.name for part in parts} == {"sqrt-scaling.softmax"}
    everything = view(record())
    links = {part.link for source in everything.sources for one in source.statements for part in one.parts}
    assert links == {"sqrt-scaling"}
    waiting = [one for source in everything.sources for one in source.open]
    assert [(one.id, one.waits_for) for one in waiting] == [("b6", ("gradient-through-layers",))]


def test_sources_keep_their_order_and_count_what_became_of_their_statements() -> None:
    """Open statements stand apart; what a source does not say of itself is named as missing."""
    run = record()
    shown = sources(run)
    assert [one.id for one in shown] == [f"source-{one.id}" for one in run.sources]
    for one, source in zip(shown, run.sources, strict=True):
        stated = [made for made in run.statements if made.source == source.id]
        assert len(one.statements) + len(one.open) == len(stated) == sum(tally.count for tally in one.tallies)
        assert ("no author given" in one.byline) == (source.author is None)
        assert ("no date given" in one.byline) == (source.date is None)
        assert one.byline.startswith(source.kind)
    shuffled = run.model_copy(update={"statements": run.statements[::-1]})
    assert [one.id for one in sources(shuffled)] == [one.id for one in shown]


def test_corrections_begin_with_what_is_wrong() -> None:
    """Then what is misprinted, then what needs conditions; what holds or is open is none."""
    found = corrections(sources(record()))
    assert [one.outcome.word for one in found] == ["wrong", "misprinted", "holds with conditions"]


PART = Part(
    text="it is so", claim="sqrt-scaling", evidence="fact:softmax", kind="says", printed=None,
    computed="0.881", holds=True, reason="because",
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "word", "reason"),
    [
        ({}, "holds", ""),
        ({"holds": False}, "wrong", "because"),
        ({"holds": None}, "open", "because"),
        ({"kind": "prints", "printed": "0.880", "holds": False}, "misprinted", "because"),
        ({"kind": "prints", "printed": "0.881"}, "holds", ""),
        ({"kind": "prints", "holds": None}, "open", "because"),
    ],
)
def test_a_part_is_judged_in_a_word(changes: dict[str, object], word: str, reason: str) -> None:
    """A wrong number is a misprint; the reason is left out where the evidence is enough."""
    (part,) = only(PART.model_copy(update=changes)).parts
    assert (part.badge.word, part.reason) == (word, reason)


@pytest.mark.parametrize(
    ("evidence", "name", "link"),
    [
        ("fact:softmax", "sqrt-scaling.softmax", "sqrt-scaling.softmax"),
        ("verdict", "sqrt-scaling", "sqrt-scaling"),
        ("check:gone", "sqrt-scaling.gone", "sqrt-scaling"),
    ],
)
def test_a_part_links_to_what_decided_it(evidence: str, name: str, link: str) -> None:
    """To the finding, else to its claim."""
    fact = Fact(id="softmax", what="", latex="", value=0.881)
    claim = SCORE_VARIANCE.model_copy(update={"id": "sqrt-scaling", "facts": (fact,)})
    (part,) = only(PART.model_copy(update={"evidence": evidence}), claim).parts
    assert (part.name, part.link) == (name, link)


def only(part: Part, claim: ClaimRecord = SCORE_VARIANCE) -> StatementView:
    """Return the one statement of a run, of this one part."""
    made = STATEMENTS[0].model_copy(update={"parts": (part,)})
    (source,) = sources(record(claim, statements=(made,)))
    (statement,) = source.statements
    return statement
