"""The kinds of findings: found by themselves, named once, and right where the answer is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.auditing.calls import arrays
from tests.auditing.findings.found import KEYS, D, normal, of_vectors
from verify.auditing.findings import kind_of, kinds
from verify.auditing.statistical import Statistical
from verify.claims.chapters import CHAPTERS
from verify.errors import SettingsError
from verify.evidence.audits import Judgement
from verify.symbolic.row_integrals import mean_entropy, mean_squares

if TYPE_CHECKING:
    from verify.evidence.audits import Finding


@pytest.fixture(scope="module")
def standard() -> dict[str, Finding]:
    """Findings on standard normal queries and keys, with the right scale."""
    return of_vectors(*normal())


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


def test_causal_rows_have_the_reference_of_as_many_keys() -> None:
    """Under a causal mask the reference is the mean over the rows' own numbers of keys."""
    q, k, _ = arrays(2, sequences=4, heads=1, queries=20, keys=20, d=D)
    one = of_vectors(q.astype(np.float32), k.astype(np.float32), causal=True)["entropy"]
    wanted = np.mean([mean_entropy(keys, 1.0).value / math.log(keys) for keys in range(8, 21)])
    assert one.reference is not None
    assert one.reference.value == pytest.approx(float(wanted))
    assert one.rows_left_out == 4 * 7


def test_a_single_token_or_sequence_is_no_crash() -> None:
    """One token sees one key: no row is used. One sequence has no partner and no interval."""
    one = of_vectors(
        np.ones((3, 1, 1, D), np.float32), np.ones((3, 1, 1, D), np.float32), gate="entropy:0..1"
    )
    assert (one["entropy"].estimate, one["entropy"].judgement) == (None, Judgement.UNDECIDED)
    assert one["components-query-dimension"].estimate is None
    alone = of_vectors(*(array[:1] for array in normal(2)))
    assert alone["independence"].estimate is None
    assert alone["row-variance"].interval == (None, None)
    assert "too few" in alone["row-variance"].reason
