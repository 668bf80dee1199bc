"""Comparisons say which code they go through."""

from __future__ import annotations

import math

from tests.montecarlo.samples import score_matrices
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import Bounded, DistanceToLaw, Quantile, Ratio, component, ratio, variance
from verify.montecarlo.experiment import Exact, Fit, Prediction, Quantity, WeightedFit, route_of

ONE = Prediction(1.0, "1")
CELL = Cell("d8", (), score_matrices(8, 4, NORMAL, NORMAL))


def test_a_quantity_goes_through_its_sampler_its_estimand_and_its_relation() -> None:
    """Cells, labels, predictions and settings of one class of sampler do not matter."""
    checked = Quantity("one", "a", CELL, variance(), ONE)
    wider = Cell("d9", (("d_k", 9),), score_matrices(9, 4, NORMAL, NORMAL, scale=2.0))
    assert route_of(checked) == ("quantity", "Simulated", "ScoreMoments", "variance", "=")
    assert route_of(Quantity("two", "b", wider, variance(block_variance=0.5), ONE)) == route_of(checked)
    assert route_of(Quantity("two", "b", CELL, component("mean"), ONE)) != route_of(checked)
    assert route_of(Quantity("two", "b", CELL, variance(), ONE, relation="≤")) != route_of(checked)


def test_kinds_of_estimands_differ() -> None:
    """No two of them go through the same code."""
    grid = Quantile((0.0, 1.0))
    kinds = [
        one.kind
        for one in (
            component("mean"),
            variance(),
            ratio("mean", "square"),
            DistanceToLaw((0.5,)),
            Bounded("mean"),
            grid,
            Ratio(grid, grid),
        )
    ]
    assert len(set(kinds)) == len(kinds)
    assert component("mean", 2.0).kind == component("square").kind == "component"


def test_a_fit_goes_through_its_model_and_its_coefficient() -> None:
    """Whatever it is fitted to."""
    members = tuple(Quantity(f"v{n}", "v", CELL, variance(), ONE) for n in range(3))
    line = WeightedFit("line", (1.0, 2.0, 3.0), (1.0, 1.0, 1.0))
    slope = Fit("slope", "slope", members, line, "slope", ONE)
    assert route_of(slope) == ("fit", "line", "slope")
    assert route_of(Fit("level", "level", members, line, "constant", ONE)) != route_of(slope)


def test_an_exact_comparison_goes_through_the_function_that_it_names() -> None:
    """Whatever its label and its relation; without a name, the label stands for the function."""
    named = Exact("one", "a", (), ONE, 1.0, code=math.fsum)
    assert route_of(named) == route_of(Exact("two", "b", (), ONE, 2.0, relation="≤", code=math.fsum))
    assert route_of(named) == ("exact", "fsum")
    assert route_of(Exact("two", "b", (), ONE, 2.0)) == ("exact", "b")
