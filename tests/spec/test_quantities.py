"""Comparisons over the dimensions: of scores' variances and means, and of whatever a cell gives."""

from __future__ import annotations

import pytest

from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import component
from verify.montecarlo.experiment import Tolerance
from verify.spec.designs import EVEN, score_cell
from verify.spec.quantities import means, over_dimensions, variances
from verify.symbolic.scores import d

CELLS = [score_cell(n, NORMAL, NORMAL, 0.05) for n in (1, 2, 8)]


def test_variances() -> None:
    """One comparison a cell, with the predicted number of its dimension."""
    made = variances(CELLS, "Var", 3 * d)
    assert [one.id for one in made] == ["variance-d1", "variance-d2", "variance-d8"]
    assert [one.prediction.value for one in made] == [3.0, 6.0, 24.0]
    assert all(one.cell is cell.cell for one, cell in zip(made, CELLS, strict=True))
    renamed = variances([score_cell(1, NORMAL, NORMAL, 0.05, prefix="my-")], "Var", d)
    assert renamed[0].id == "my-variance-d1"


def test_means() -> None:
    """They have a tolerance of their own in each dimension, for they may be 0."""
    made = means(CELLS, "E", 0, lambda n: Tolerance(2.0, n**0.5, "the root"))
    assert [one.id for one in made] == ["mean-d1", "mean-d2", "mean-d8"]
    assert all(one.estimand is cell.mean for one, cell in zip(made, CELLS, strict=True))
    assert made[2].tolerance.width(0.0, 0.01) == pytest.approx(0.02 * 8**0.5)


def test_what_is_given_once_is_that_of_all_dimensions() -> None:
    """Estimand and tolerance may be one for all, or a function of the dimension."""
    cells = {one.d: one.cell for one in CELLS[:2]}
    mean = component("mean")
    alike = over_dimensions("size", "E", cells, mean, d**2)
    assert [(one.id, one.cell, one.prediction.value) for one in alike] == [
        ("size-d1", cells[1], 1.0),
        ("size-d2", cells[2], 4.0),
    ]
    assert all(one.estimand is mean and one.tolerance is EVEN for one in alike)
    own = over_dimensions("size", "E", cells, lambda n: component(f"mean-{n}"), d, Tolerance)
    assert [one.tolerance.factor for one in own] == [1, 2]
    assert own[0].estimand != own[1].estimand
