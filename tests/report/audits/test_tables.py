"""The findings of an audit layer by layer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.auditing.records import bad, good
from tests.report.audits.shown import group, seen
from tests.report.builders import spaced
from verify.evidence.audits import Judgement
from verify.evidence.words import figures, held_against, most_serious, shape_of, summary, tokens_of
from verify.report.audits.tables import layer_view, merged


def test_a_row_has_all_of_a_finding() -> None:
    """Estimate, error and interval to the digits that mean something, and what it is held against."""
    view = seen(bad())
    rows = group(view, 0, "Variance of a row").rows
    assert [row.heads for row in rows] == ["head 0", "head 1", "head 2", "head 3"]
    assert [cell.text for cell in (rows[1].estimate, rows[1].error, rows[1].low, rows[1].high)] == [
        "1.309",
        "0.015",
        "1.226",
        "1.392",
    ]
    assert rows[1].against == "0.5 to 2"
    assert rows[0].badge.word == "undecided"
    assert rows[0].remark == "48 sequences leave too wide an interval; 7 rows left out"
    shared = group(view, 0, "Entropy")
    assert shared.note == "7 rows left out; at unit variance 0.922"
    assert {row.remark for row in shared.rows} == {""}
    assert shared.claims == ("attention-entropy",)
    score = group(view, 0, "Largest score").rows[0]
    assert (score.low.text, score.high.text) == ("18.4", "∞")


def test_a_large_audit_merges_heads_that_are_judged_alike() -> None:
    """A row for each judgement, with the range of the estimates and the hull of the intervals."""
    view = seen(bad(12, 12))
    assert view.merged
    assert sum(len(one.rows) for layer in view.layers for one in layer.groups) < 12 * 16
    undecided, confirmed = sorted(
        group(view, 0, "Variance of a row").rows, key=lambda row: row.badge.word, reverse=True
    )
    assert (undecided.heads, confirmed.heads) == ("head 0", "heads 1–11")
    found = [one for one in bad(12, 12).layers[0].findings if one.kind == "row-variance" and one.head]
    estimates = sorted(one.estimate or 0.0 for one in found)
    assert confirmed.estimate.text == f"{estimates[0]:.4g} to {estimates[-1]:.4g}"
    assert confirmed.low.text == f"{min(one.interval[0] or 0.0 for one in found):.4g}"
    assert confirmed.high.text == f"{max(one.interval[1] or 0.0 for one in found):.4g}"
    assert group(view, 0, "Implied scale").rows[0].heads == "all 12 heads"
    assert not seen(bad()).merged


def test_numbers_without_an_interval_or_an_estimate() -> None:
    """An exact one has neither error nor interval; where nothing is estimated there is no text."""
    layer = good().layers[0]
    assert figures(layer.finding("scale-applied")) == ("1", "", "", "")
    nothing = layer.finding("scale-applied").model_copy(update={"estimate": None})
    assert figures(nothing) == ("", "", "", "")
    huge = layer.finding("entropy-head-0").model_copy(
        update={"estimate": 0.0, "standard_error": None, "interval": (-1.7e308, 1.7e308)}
    )
    assert figures(huge)[0]


LAYER = good(1, 4).layers[0]
FOUND = LAYER.finding("entropy-head-0")


@pytest.mark.parametrize(
    ("changes", "shape"),
    [
        ({"heads": 12, "key_heads": 4}, "12 heads (4 for keys), $d_k$ = 64"),
        ({"heads": 1, "key_heads": 1}, "1 head, $d_k$ = 64"),
        ({"d_v": 32}, "4 heads, $d_k$ = 64, $d_v$ = 32"),
        ({"d_v": None}, "4 heads, $d_k$ = 64"),
    ],
)
def test_a_shape_says_what_differs_from_the_usual(changes: dict[str, Any], shape: str) -> None:
    """Fewer heads of keys, and a width of values that is not that of keys."""
    assert shape_of(LAYER.model_copy(update=changes)) == shape


def test_a_layer_is_summed_up_in_a_sentence() -> None:
    """Shape, sequences, tokens, arithmetic and the scale that was meant; a program's name is no formula."""
    assert spaced(summary(LAYER)) == (
        r"4 heads, $d_k$ = 64; 48 sequences of 64 to 512 tokens; float32, sdpa; intended scale "
        r"$\frac{1}{\sqrt{d}}$ = 0.125."
    )
    assert tokens_of(LAYER.model_copy(update={"tokens": (64, 64)})) == "64"
    assert "$x$" not in summary(LAYER.model_copy(update={"backend": "$x$"}))


@pytest.mark.parametrize(
    ("judgements", "worst"),
    [
        ("confirmed warned", Judgement.WARNED),
        ("warned undecided confirmed", Judgement.UNDECIDED),
        ("undecided refuted", Judgement.REFUTED),
        ("confirmed", Judgement.CONFIRMED),
        ("", Judgement.REPORTED),
    ],
)
def test_the_most_serious_judgement_is_of_those_that_decide(judgements: str, worst: Judgement) -> None:
    """A refuted finding of which nothing was asked does not count."""
    found = [
        FOUND.model_copy(update={"judgement": Judgement(one), "decides": True}) for one in judgements.split()
    ]
    idle = FOUND.model_copy(update={"judgement": Judgement.REFUTED, "decides": False})
    assert most_serious([idle, *found, idle]) is worst


def test_large_audits_merge() -> None:
    """From 601 findings on, over all layers."""
    half = LAYER.model_copy(update={"findings": (FOUND,) * 300})
    assert not merged([half, half])
    assert merged([half, half, LAYER.model_copy(update={"findings": (FOUND,)})])


@pytest.mark.parametrize(
    ("band", "text"),
    [
        (None, ""),
        ((None, None), ""),
        ((None, 2.0), "≤ 2"),
        ((0.0, None), "≥ 0"),
        ((0.5, 2.0), "0.5 to 2"),
        ((0.99, 1.01), "0.99 to 1.01"),
        ((1 - 2e-6, 1 + 2e-6), "1 ± 2×10⁻⁶"),
    ],
)
def test_what_a_finding_is_held_against(band: Any, text: str) -> None:
    """An open side is a bound; a narrow band is its middle and half its width."""
    assert spaced(held_against(FOUND.model_copy(update={"band": band}))) == text


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"interval": (None, None)}, ("0.5", "", "", "")),
        ({"interval": (0.4, None), "standard_error": 0.02}, ("0.500", "0.020", "0.400", "∞")),
        ({"interval": (None, 0.6), "standard_error": None}, ("0.500", "", "−∞", "0.600")),
    ],
)
def test_an_open_end_is_infinite(changes: dict[str, Any], texts: tuple[str, ...]) -> None:
    """Without a standard error the interval says which digits are significant."""
    assert figures(FOUND.model_copy(update={"estimate": 0.5, **changes})) == texts


def test_heads_judged_alike_share_a_row_with_hull_and_largest_error() -> None:
    """An open end of one is an open end of all; another judgement is another row."""
    found = [
        FOUND.model_copy(
            update={"id": f"entropy-head-{head}", "head": head, "estimate": value, "standard_error": error,
                    "interval": ends, "judgement": judgement}
        )
        for head, (value, error, ends, judgement) in enumerate(
            [
                (0.5, 0.01, (0.4, 0.6), Judgement.REPORTED),
                (0.7, 0.03, (0.5, None), Judgement.REPORTED),
                (0.6, 0.02, (0.3, 0.9), Judgement.REPORTED),
                (0.1, 0.02, (0.0, 0.2), Judgement.REFUTED),
            ]
        )
    ]  # fmt: skip
    layer = LAYER.model_copy(update={"findings": tuple(found)})
    view = layer_view(layer, Counter(one.judgement for one in found), merge=True)
    ((refuted, reported),) = (one.rows for one in view.groups)
    assert (refuted.heads, refuted.estimate.text) == ("head 3", "0.100")
    assert (reported.heads, reported.estimate.text) == ("heads 0–2", "0.5 to 0.7")
    assert (spaced(reported.error.text), reported.low.text, reported.high.text) == ("≤ 0.03", "0.3", "∞")
    single = layer_view(layer, Counter(), merge=False)
    assert [row.heads for one in single.groups for row in one.rows] == [f"head {n}" for n in range(4)]
