"""The kinds of findings: found by themselves, named once, and right where the answer is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.auditing.calls import arrays
from verify.auditing.audit import audit
from verify.auditing.findings import kind_of, kinds
from verify.auditing.gates import audit_settings
from verify.auditing.recording import Call, Layer, Recording
from verify.auditing.statistical import Statistical
from verify.claims.chapters import CHAPTERS
from verify.errors import SettingsError
from verify.evidence.audits import Judgement
from verify.symbolic.row_integrals import mean_entropy, mean_squares

if TYPE_CHECKING:
    from verify.evidence.audits import Finding

D, KEYS = 16, 64
SCALE = D**-0.5


def findings(q: Any, k: Any, **options: Any) -> dict[str, Finding]:
    """Return the findings on the first head, by name."""
    gate, alarm = options.pop("gate", ()), options.pop("false_alarm", 0.5)
    recording = Recording("test", [Layer("one", [Call(q, k, **options)])])
    record = audit(recording, audit_settings(gate=gate, false_alarm=alarm), workers=1)
    return {one.id.removesuffix("-head-0"): one for one in record.findings if one.head == 0}


def normal(sequences: int = 60, **more: Any) -> tuple[Any, Any]:
    """Return standard normal queries and keys of one head."""
    q, k, _ = arrays(21, sequences=sequences, heads=1, queries=48, keys=KEYS, d=D, **more)
    return q.astype(np.float32), k.astype(np.float32)


@pytest.fixture(scope="module")
def standard() -> dict[str, Finding]:
    """Findings on standard normal queries and keys, with the right scale."""
    return findings(*normal())


def test_every_kind_is_found_and_names_its_findings_once() -> None:
    """No name is another's, and a finding leads back to its kind."""
    names = [name for kind in kinds() for name in kind.names]
    assert len(names) == len(set(names))
    assert len({kind.name for kind in kinds()}) == len(kinds())
    assert all(kind_of(name).names.count(name) == 1 for name in names)
    assert {"row-variance", "components", "gradient-pass", "largest-score"} <= {kind.name for kind in kinds()}


def test_an_unknown_finding_is_refused_with_the_nearest() -> None:
    """A kind of several findings asks for one of them."""
    with pytest.raises(SettingsError, match="did you mean 'row-variance'"):
        kind_of("row-varance")
    with pytest.raises(SettingsError, match="name one of gradient-pass-trace, gradient-pass-norm"):
        kind_of("gradient-pass")


def test_every_formula_is_a_claim_of_the_catalogue() -> None:
    """The claim that a finding names exists."""
    claims = {name for chapter in CHAPTERS.values() for name in chapter.claims}
    quantities = [one for kind in kinds() if isinstance(kind, Statistical) for one in kind.quantities]
    named = {one.claim for one in quantities} | {one.reference.claim for one in quantities if one.reference}
    assert named <= {*claims, None}
    assert len(named) > 5


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("row-variance", 1.0),
        ("independence", 1.0),
        ("components-query-mean", 0.0),
        ("components-key-variance", 1.0),
        ("components-query-dimension", 1.0),
        ("components-key-dimension", 1.0),
    ],
)
def test_standard_components_have_the_textbook_values(
    standard: dict[str, Finding], name: str, truth: float
) -> None:
    """Estimates lie within four standard errors of what the claims say of them."""
    one = standard[name]
    assert one.standard_error is not None
    assert one.estimate == pytest.approx(truth, abs=4 * one.standard_error)
    assert one.standard_error < 0.05


def test_rows_of_unit_variance_come_near_their_reference_values(standard: dict[str, Finding]) -> None:
    """Entropy, effective keys, largest weight and Jacobian of real rows lie near those of normal scores."""
    assert standard["entropy"].reference is not None
    assert standard["entropy"].reference.value == pytest.approx(
        mean_entropy(KEYS, 1.0).value / math.log(KEYS)
    )
    wanted = {
        "effective-keys": 1 / mean_squares(KEYS, 1.0).value,
        "gradient-pass-trace": 1 - mean_squares(KEYS, 1.0).value,
    }
    for name in (
        "entropy",
        "effective-keys",
        "largest-probability",
        "gradient-pass-trace",
        "gradient-pass-norm",
    ):
        one = standard[name]
        assert one.reference is not None
        assert one.reference.value == pytest.approx(wanted.get(name, one.reference.value))
        assert one.estimate == pytest.approx(one.reference.value, rel=0.08)


def test_a_wrong_scale_shows_in_the_row_variance_and_its_remark() -> None:
    """Scaled by 1/d in place of 1/√d rows vary by 1/d, and the scale that would make it 1 is named."""
    one = findings(*normal(), scale=1 / D)["row-variance"]
    assert one.estimate == pytest.approx(1 / D, rel=0.1)
    assert "a scale of 0.2" in one.reason
    nothing = findings(*normal(), scale=0.0)
    assert "all scores agree" in nothing["row-variance"].reason
    assert nothing["independence"].estimate is None


def test_means_of_keys_shift_rows_and_are_told_from_variance() -> None:
    """Keys with mean 1 in every component: half of the scores' variance lies between rows."""
    q, k = normal()
    found = findings(q, k + 1)
    assert found["shift-share"].estimate == pytest.approx(0.5, abs=0.03)
    assert found["row-variance"].estimate == pytest.approx(1.0, abs=0.05)
    assert found["components-key-mean"].estimate == pytest.approx(1.0, abs=0.03)
    assert "score-variance asks for mean 0" in found["components-key-mean"].reason
    assert found["components-query-mean"].reason == ""


def test_correlated_components_have_a_smaller_dimension() -> None:
    """With eight of sixteen components copied from the others the effective dimension is a half."""
    q, k = normal()
    q[..., 8:] = q[..., :8]
    one = findings(q, k)["components-query-dimension"]
    assert one.estimate == pytest.approx(0.5, abs=0.05)
    assert "see correlated-components" in one.reason


def test_queries_that_know_their_sequences_keys_are_not_independent() -> None:
    """Where queries and keys are long in the same sequences, rows vary more than independence allows."""
    q, k = normal()
    length = np.exp(0.5 * np.random.default_rng(3).standard_normal((60, 1, 1, 1))).astype(np.float32)
    assert findings(q * length, k)["independence"].estimate == pytest.approx(1.0, abs=0.05)
    assert (findings(q * length, k * length)["independence"].estimate or 0) > 1.5


def test_large_scores_are_counted_by_sequence_and_refuted_past_the_last_limit() -> None:
    """A third of the sequences has a score past 1e4; a gate decides by it."""
    q, k = normal()
    q[::3] *= 4000
    found = findings(q, k, gate="largest-score-10000")
    past = found["largest-score-10000"]
    assert past.estimate == pytest.approx(1 / 3)
    assert (past.judgement, past.decides) == (Judgement.REFUTED, True)
    assert (found["largest-score-100"].judgement, found["largest-score-100"].decides) == (
        Judgement.WARNED,
        False,
    )
    calm = findings(*normal(), gate="largest-score-10000")["largest-score-10000"]
    assert calm.judgement is Judgement.CONFIRMED
    assert "larger ones may not have been seen" in calm.reason
    assert (calm.interval[1] or 0) > 0


def test_an_infinite_score_is_the_largest() -> None:
    """It passes every limit, although no mean over rows exists."""
    q, k = normal(8)
    k[2, 0, 5, :] = np.inf
    q[2] = np.abs(q[2])
    found = findings(q, k)
    assert found["largest-score-10000"].estimate == pytest.approx(1 / 8)
    assert found["entropy"].sequences == 7


def test_causal_rows_have_the_reference_of_as_many_keys() -> None:
    """Under a causal mask the reference is the mean over the rows' own numbers of keys."""
    q, k, _ = arrays(2, sequences=4, heads=1, queries=20, keys=20, d=D)
    one = findings(q.astype(np.float32), k.astype(np.float32), causal=True)["entropy"]
    wanted = np.mean([mean_entropy(keys, 1.0).value / math.log(keys) for keys in range(8, 21)])
    assert one.reference is not None
    assert one.reference.value == pytest.approx(float(wanted))
    assert one.rows_left_out == 4 * 7


def test_a_single_token_or_sequence_is_no_crash() -> None:
    """One token sees one key: no row is used. One sequence has no partner and no interval."""
    one = findings(np.ones((3, 1, 1, D), np.float32), np.ones((3, 1, 1, D), np.float32), gate="entropy:0..1")
    assert (one["entropy"].estimate, one["entropy"].judgement) == (None, Judgement.UNDECIDED)
    assert one["components-query-dimension"].estimate is None
    alone = findings(*(array[:1] for array in normal(2)))
    assert alone["independence"].estimate is None
    assert alone["row-variance"].interval == (None, None)
    assert "too few" in alone["row-variance"].reason
