"""Mean, variance and effective dimension of the components, and the claims whose conditions they break."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.estimates import MeanFunction
from verify.auditing.looks import of_pairs
from verify.auditing.spread import Spread, key_spread, query_spread
from verify.auditing.statistical import Quantity, Statistical
from verify.montecarlo.estimands import Smooth, component, ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.auditing.block import Block
    from verify.auditing.estimates import Estimate
    from verify.auditing.statistical import Floats

_OF_TWO = ("square", "squared-mean", "squared-trace", "trace-of-square")
_NAMES = tuple(f"{side}-{what}" for side in ("query", "key") for what in _OF_TWO)
"""Statistics of queries, and then of keys."""


def _of_two(one: Spread, other: Spread) -> tuple[float, ...]:
    """Return E x², |μ|²/d, (tr Σ)² and d·tr Σ² of the components, unbiased for independent sequences."""
    return (
        (one.mean_square + other.mean_square) / 2,
        float(one.mean @ other.mean) / len(one.mean),
        float(np.trace(one.covariance) * np.trace(other.covariance)),
        float(len(one.mean) * np.sum(one.covariance * other.covariance)),
    )


def _look(block: Block, partner: Block) -> tuple[float, ...]:
    return tuple(
        number
        for spread in (query_spread, key_spread)
        for number in _of_two(block.once(spread), partner.once(spread))
    )


def _unless(value: float, broken: str) -> Callable[[Estimate, Floats], str]:
    """Return what remarks that an interval excludes the ``value`` that a claim needs."""

    def remark(estimate: Estimate, _: Floats) -> str:
        if estimate.interval is None or estimate.interval[0] <= value <= estimate.interval[1]:
            return ""
        return broken

    return remark


def _quantities(name: str, sign: str) -> tuple[Quantity, ...]:
    square, squared_mean, squared_trace, trace_of_square = (f"{name}-{what}" for what in _OF_TWO)
    variance = Smooth(lambda mean: mean[square] - mean[squared_mean], positive=True)
    return (
        Quantity(
            f"components-{name}-mean",
            rf"$|\mu_{sign}|^2/d_k$",
            "score-variance-general",
            MeanFunction(component(squared_mean), _NAMES),
            remark=_unless(0.0, "score-variance asks for mean 0; score-variance-general does not"),
        ),
        Quantity(
            f"components-{name}-variance",
            rf"$\operatorname{{tr}}\Sigma_{sign}/d_k$ over all tokens",
            "score-variance-general",
            MeanFunction(variance, _NAMES),
            remark=_unless(1.0, "score-variance asks for variance 1; scaled-variance-general does not"),
        ),
        Quantity(
            f"components-{name}-dimension",
            rf"$(\operatorname{{tr}}\Sigma_{sign})^2/(d_k\operatorname{{tr}}\Sigma_{sign}^2)$ in sequences",
            "correlated-components",
            MeanFunction(ratio(squared_trace, trace_of_square), _NAMES),
            remark=_unless(
                1.0,
                "score-variance asks for uncorrelated components of one variance; see correlated-components",
            ),
        ),
    )


KIND = Statistical(
    "components",
    (*_quantities("query", "q"), *_quantities("key", "k")),
    of_pairs(_look),
    sequences=2,
)
