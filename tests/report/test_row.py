"""The explorer's formulas, run by a JavaScript engine, against those of the package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from py_mini_racer import MiniRacer
from scipy import stats

from verify.files.shipped import folder
from verify.montecarlo.attention import gradients, softmax

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def row() -> Iterator[Any]:
    """Yield a function that calls one of the explorer's formulas."""
    engine = MiniRacer()
    engine.eval((folder("templates") / "row.js").read_text(encoding="utf-8"))

    def call(name: str, *arguments: Any) -> Any:
        listed = ", ".join(json.dumps(one) for one in arguments)
        return json.loads(str(engine.eval(f"JSON.stringify(attentionRow.{name}({listed}))")))

    yield call
    engine.close()


@pytest.mark.parametrize("size", [0.1, 1.0, 30.0, 1000.0])
def test_softmax_and_entropy(row: Any, size: float) -> None:
    """The weights and their entropy agree with the arrays', also for scores far out."""
    scores = size * np.random.default_rng(1).normal(size=20)
    weights = softmax(scores)
    assert row("softmax", scores.tolist()) == pytest.approx(weights.tolist(), rel=1e-12)
    assert row("entropy", weights.tolist()) == pytest.approx(stats.entropy(weights), rel=1e-12)


def test_gradients_at_the_keys(row: Any) -> None:
    """The lengths of the rows of dK for one query are those of the claims' own formulas."""
    rng = np.random.default_rng(2)
    query, keys, values, upstream = (rng.normal(size=s) for s in ((1, 8), (5, 8), (5, 3), (1, 3)))
    weights = softmax(0.4 * query @ keys.T)
    found = gradients(query, keys, values, weights, upstream, 0.4)
    lengths = np.linalg.norm(found.keys, axis=1)
    at_probabilities = (upstream @ values.T)[0].tolist()
    assert row("scoreGradients", weights[0].tolist(), at_probabilities) == pytest.approx(
        found.scores[0].tolist()
    )
    assert row(
        "keyGradients", weights[0].tolist(), at_probabilities, query[0].tolist(), 0.4
    ) == pytest.approx(lengths.tolist())


def test_where_theory_expects_the_scores(row: Any) -> None:
    """The line is the normal quantile times scale·√d, by Blom's rule nearly."""
    shares = (np.arange(9) + 0.625) / 9.25
    expected = 0.5 * np.sqrt(16) * stats.norm.ppf(shares)
    assert row("expectedScores", 9, 16, 0.5) == pytest.approx(expected.tolist(), abs=1e-5)
    assert row("normalQuantile", 0.999) == pytest.approx(stats.norm.ppf(0.999), abs=1e-4)


FACTORS = {"one": 1, "root": 1 / 8, "dimension": 1 / 64}
"""What the scales of the page do to the spread of scores in 64 dimensions."""


@pytest.mark.parametrize(
    ("distribution", "scale"),
    [
        # Each distribution and each scale once; all pairs are among the longer studies.
        pytest.param(one, scale, marks=() if one == "normal" or scale == "root" else pytest.mark.slow)
        for one in ("normal", "uniform", "signs", "exponential")
        for scale in FACTORS
    ],
)
def test_a_drawn_row(row: Any, distribution: str, scale: str) -> None:
    """Scores come sorted with the right spread; weights sum to 1; the same seed draws the same row."""
    settings = {"d": 64, "n": 256, "scale": scale, "distribution": distribution, "seed": 3}
    drawn = row("draw", settings)
    assert drawn == row("draw", settings)
    assert drawn != row("draw", settings | {"seed": 4})
    assert drawn["scores"] == sorted(drawn["scores"])
    assert sum(drawn["probabilities"]) == pytest.approx(1)
    assert len(drawn["gradients"]) == len(drawn["expected"]) == 256
    spread = np.mean([np.std(row("draw", settings | {"seed": seed})["scores"]) for seed in range(40)])
    assert spread == pytest.approx(8 * FACTORS[scale], rel=0.06)
