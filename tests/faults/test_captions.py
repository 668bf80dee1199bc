"""What a caption says in numbers is so in the data beside it, and bands are as wide as what is resolved."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from verify.claims.gradients import training_stability
from verify.engine.catalogue import catalogue
from verify.evidence import Check, ClaimRecord, Figure, PlotLayer, RunRecord


@dataclass(frozen=True)
class Caption:
    """Words of a figure's caption, and what must hold of its claim and its layers."""

    claim: str
    figure: str
    words: str
    holds: Callable[[ClaimRecord, Figure], bool]


def measured(figure: Figure, place: int = 0) -> PlotLayer:
    """Return one of a figure's measured layers."""
    return [layer for layer in figure.layers if layer.role == "measured"][place]


def drawn(figure: Figure, label: str) -> PlotLayer:
    """Return the layer whose label holds a text, and which is no wrong version."""
    return next(layer for layer in figure.layers if label in layer.label and layer.role != "control")


def estimate(record: ClaimRecord, name: str) -> float:
    """Return the estimate of one check."""
    return next(check.estimate for check in record.checks if check.id == name)


def _rises_by_half(_: ClaimRecord, figure: Figure) -> bool:
    """Every step of the unscaled path, the first one from 1, rises by about a half or more."""
    heights = [1.0, *drawn(figure, "unscaled").y]
    return float(min(np.divide(heights[1:], heights[:-1]))) > 1.4


def _reach_every_seed(_: ClaimRecord, figure: Figure) -> bool:
    """Every scale has a rate at which all seeds succeed; ranges lie in the order said."""
    layers = [drawn(figure, "unscaled"), measured(figure), drawn(figure, "over $d_k$")]
    ranges = [np.log([x for x, y in zip(one.x, one.y, strict=True) if y > 0.9]) for one in layers]
    middles, widths = [one.mean() for one in ranges], [one.max() - one.min() for one in ranges]
    return (
        all(max(one.y) > 0.99 for one in layers)
        and middles[0] < middles[1] < middles[2]
        and widths[1] == max(widths)
    )


def _starts_higher(_: ClaimRecord, figure: Figure) -> bool:
    """The unscaled curve starts above even attention and falls after both scaled ones, which are alike."""
    unscaled, root, whole = drawn(figure, "unscaled"), measured(figure), drawn(figure, "over $d_k$")
    # Until it is down to the goal, where all three are as good.
    later = [one for one in range(1, len(root.y)) if unscaled.y[one] > training_stability.GOAL]
    return (
        unscaled.y[0] > drawn(figure, "evenly").y[0]
        and all(unscaled.y[one] > max(root.y[one], whole.y[one]) for one in later)
        and max(abs(root.y[one] - whole.y[one]) for one in later) < 0.1
    )


def _a_quarter_to_a_third(record: ClaimRecord, _: Figure) -> bool:
    """At about 2 ln n, and a half at two to three times that."""
    at_once = estimate(record, "raw-n256-d11")
    return 0.2 < at_once < 0.36 and 0.4 < estimate(record, "raw-n256-d32") < 0.6


def _just_above_a_quarter(_: ClaimRecord, figure: Figure) -> bool:
    """Two keys only fall; 128 keys peak just above a quarter where the lead is about ln 127."""
    two, many = drawn(figure, "2 keys"), drawn(figure, "128 keys")
    peak = int(np.argmax(many.y))
    falls = all(one >= other for one, other in zip(two.y, two.y[1:], strict=False))
    return falls and 0.25 < many.y[peak] < 0.26 and abs(many.x[peak] - math.log(127)) < 0.2


def _below_the_logarithm(_: ClaimRecord, figure: Figure) -> bool:
    layer = measured(figure)
    return all(0 < math.log(x) - y < 0.5 for x, y in zip(layer.x, layer.y, strict=True))


def _eight_hundredths(_: ClaimRecord, figure: Figure) -> bool:
    """The exact distance in one dimension, and the slope at the far end."""
    exact = next(layer for layer in figure.layers if layer.role == "truth")
    slope = math.log(exact.y[-1] / exact.y[-2]) / math.log(exact.x[-1] / exact.x[-2])
    return 0.075 < exact.y[0] < 0.085 and abs(slope + 1) < 0.05


CAPTIONS = (
    Caption("causal-rows", "by-position", "within half a nat below it", _below_the_logarithm),
    Caption(
        "length-scaling",
        "thinning-out",
        "stays above one half",
        lambda _, figure: min(drawn(figure, "2\\sqrt").y) > 0.5,
    ),
    Caption("training-stability", "success-by-rate", "reach every seed at some rate", _reach_every_seed),
    Caption("training-stability", "training-curves", "starts higher than uniform attention", _starts_higher),
    Caption("gradient-through-layers", "growth-by-layer", "in each of the six layers", _rises_by_half),
    Caption("jacobian-bounds", "lead", "just above a quarter", _just_above_a_quarter),
    Caption(
        "attention-entropy",
        "losses",
        "below the bound of one half",
        lambda _, figure: all(max(layer.y) < 0.5 for layer in figure.layers if layer.role == "measured"),
    ),
    Caption("attention-concentration", "freezing", "a quarter to a third", _a_quarter_to_a_third),
    Caption(
        "effective-keys",
        "towards-e",
        "towards e, 2.718",
        lambda _, figure: math.e - 0.1 < max(figure.layers[0].y) < math.e,
    ),
    Caption("score-normal-limit", "distance", "eight hundredths in one dimension", _eight_hundredths),
)


@pytest.mark.parametrize("caption", CAPTIONS, ids=lambda one: f"{one.claim}: {one.words}")
def test_a_caption_says_what_is_drawn(reference: RunRecord, caption: Caption) -> None:
    """Its words are there, and what they say holds of the data of the reference."""
    record = reference.claim(caption.claim)
    figure = next(one for one in record.series if one.id == caption.figure)
    assert caption.words in f"{figure.title} {figure.alt}"
    assert caption.holds(record, figure)


CHAPTERS = {"raw_scores", "scaling", "limits"}
WIDEST = 5.0
"""Bands may be this many times as wide as the intervals that lie within them."""
REASONS = {
    ("score-mean", "mean-d1"): "one batch of blocks, the least that is drawn, is more than it takes",
    ("score-variance-any-law", "rademacher-variance-d1"): "a product of two signs squared is always 1",
}
"""Checks whose sample resolves more than their band, each with why."""


@pytest.mark.parametrize("name", [name for name, claim in catalogue().items() if claim.chapter in CHAPTERS])
def test_bands_fit_what_is_resolved(reference: RunRecord, name: str) -> None:
    """A band far wider than its interval lets a wrong constant through that the sample could see."""
    (record,) = (claim for claim in reference.claims if claim.id == name)
    loose = {check.id for check in record.checks if looseness(check) > WIDEST}
    assert loose <= {check for claim, check in REASONS if claim == name}


def looseness(check: Check) -> float:
    """Return how many times as wide as its interval a two-sided check's band is; 0 for all others.

    Where nothing is expected of what cannot be negative, the interval lies on one side.
    """
    low, high = check.band
    if check.method == "exact" or low is None or high is None:
        return 0.0
    least, most = check.interval
    reach = most - least if least == 0 == check.prediction else (most - least) / 2
    return (high - low) / 2 / reach
