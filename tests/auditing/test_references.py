"""Reference values: what is drawn agrees with them, and many lengths with each length by itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from verify.auditing import references
from verify.auditing.references import over_rows
from verify.montecarlo.rows import of_rows

if TYPE_CHECKING:
    from verify.auditing.references import OfKeys

BOUNDED: dict[str, OfKeys] = {
    "entropy": references.entropy_share,
    "squares": references.squares,
    "jacobian": references.jacobian,
    "largest": references.largest_weight,
}


@pytest.mark.parametrize("name", BOUNDED)
def test_standard_normal_scores_have_the_reference_values(name: str) -> None:
    """Drawn rows over 24 keys agree within five standard errors."""
    scores = np.random.default_rng(11).standard_normal((20_000, 24))
    drawn = of_rows(scores, (name,))[:, 0]  # type: ignore[arg-type]
    drawn = drawn / math.log(24) if name == "entropy" else drawn
    assert BOUNDED[name](24) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / math.sqrt(len(drawn)))


@pytest.mark.parametrize("name", ["entropy", "squares", "jacobian"])
def test_many_lengths_are_interpolated_as_if_each_were_integrated(name: str) -> None:
    """Causal rows over 8 to 400 keys, some more than once, to eight digits."""
    keys = tuple(range(8, 401))
    rows = tuple(1 + place % 3 for place in range(len(keys)))
    wanted = np.average([BOUNDED[name](one) for one in keys], weights=rows)
    assert over_rows(BOUNDED[name], keys, rows) == pytest.approx(float(wanted), rel=1e-8)


def test_a_rough_integral_is_no_reference() -> None:
    """The largest weight of 4096 keys is not known to a thousandth, and then not at all."""
    assert math.isnan(references.largest_weight(4096))
    assert math.isnan(over_rows(references.largest_weight, (16, 4096), (1, 1)))
