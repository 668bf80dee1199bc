"""Comparisons in several cells: of scores' variances and means, and of whatever a cell gives."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import S, Symbol, sqrt

from verify.claims.modern.shared.variants import BiasedRows
from verify.errors import ClaimError
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import component
from verify.montecarlo.experiment import Tolerance
from verify.montecarlo.inputs import Simulated
from verify.montecarlo.statistics import ScoreMoments
from verify.spec.cells import cell_of, cells_of, score_cell
from verify.spec.checks import EVEN, in_turn, integrated, means, over_cells, prediction, variances
from verify.symbolic.scores import d

r = Symbol("r")
CELLS = [score_cell(n, NORMAL, NORMAL, 0.05) for n in (1, 2, 8)]


def test_variances() -> None:
    """One comparison a cell, with the predicted number of its dimension."""
    made = variances(CELLS, "Var", 3 * d)
    assert [one.id for one in made] == ["variance-d1", "variance-d2", "variance-d8"]
    assert [one.prediction.value for one in made] == [3.0, 6.0, 24.0]
    assert all(one.cell is cell.cell for one, cell in zip(made, CELLS, strict=True))
    renamed = variances([score_cell(1, NORMAL, NORMAL, 0.05, prefix="my-")], "Var", d)
    assert renamed[0].id == "my-variance-d1"
    (other,) = variances([score_cell(2, NORMAL, NORMAL, 0.05, r=4)], "Var", d * r, name="variance-r{r}")
    assert (other.id, other.prediction.value) == ("variance-r4", 8.0)


def test_means() -> None:
    """They have a tolerance of their own in each dimension, for they may be 0."""
    made = means(CELLS, "E", 0, lambda n: Tolerance(2.0, n**0.5, "the root"))
    assert [one.id for one in made] == ["mean-d1", "mean-d2", "mean-d8"]
    assert all(one.estimand is cell.mean for one, cell in zip(made, CELLS, strict=True))
    assert made[2].tolerance.width(0.0, 0.01) == pytest.approx(0.02 * 8**0.5)


def test_what_is_given_once_is_that_of_all_cells() -> None:
    """Estimand, tolerance and relation; the ids and the law take the settings of each cell."""
    cells = {one.d: one.cell for one in CELLS[:2]}
    mean = component("mean")
    alike = over_cells("size-d{d_k}", "E", cells, mean, d**2, relation="≤")
    assert [(key, one.id, one.cell, one.prediction.value) for key, one in alike.items()] == [
        (1, "size-d1", cells[1], 1.0),
        (2, "size-d2", cells[2], 4.0),
    ]
    assert {(one.estimand, one.tolerance, one.relation) for one in alike.values()} == {(mean, EVEN, "≤")}


def test_each_cell_may_have_its_own() -> None:
    """A function of the key gives what is not one for all, also where SymPy's symbols can be called."""
    cells = {(one.d, "c"): one.cell for one in CELLS[:2]}
    own = over_cells(
        "{cell}",
        "E",
        cells,
        lambda n, _: component(f"mean-{n}"),
        lambda n, _: n / 3,
        lambda n, _: Tolerance(n),
    )
    assert [one.id for one in own.values()] == ["d1", "d2"]
    assert [one.tolerance.factor for one in own.values()] == [1, 2]
    assert [one.prediction for one in own.values()] == [integrated(1 / 3), integrated(2 / 3)]
    assert own[1, "c"].estimand != own[2, "c"].estimand
    assert over_cells("c", "E", {1: CELLS[2].cell}, component("mean"), d)[1].prediction.value == 8.0


@pytest.mark.parametrize(
    ("law", "latex"),
    [(r, r"\frac{1}{10}"), (1 / (1 - r), r"\frac{10}{9}"), (prediction(S.Half), r"\frac{1}{2}"), (0, "0")],
)
def test_a_law_is_put_into_its_numbers_exactly(law: Any, latex: str) -> None:
    """A decimal among the settings is what it says: a tenth, not the nearest number of base two."""
    cell = cell_of("a", Simulated(NORMAL, NORMAL, 4, 4, 8), ScoreMoments(), r=0.1)
    assert over_cells("x", "E", {0: cell}, component("mean"), law)[0].prediction.latex == latex


def test_what_no_setting_says_is_refused() -> None:
    """In the law, and in the id."""
    cells = {0: CELLS[0].cell}
    with pytest.raises(ClaimError, match="r is left in it"):
        over_cells("x", "E", cells, component("mean"), r * d)
    with pytest.raises(ClaimError, match="no setting 'd'; did you mean 'd_k'"):
        over_cells("x-{d}", "E", cells, component("mean"), d)


def test_families_in_turn() -> None:
    """What is compared in one cell stands together."""
    cells = {one.d: one.cell for one in CELLS[:2]}
    families = [over_cells(f"{name}-{{cell}}", "E", cells, component("mean"), 0) for name in "ab"]
    assert [one.id for one in in_turn(*families)] == ["a-d1", "b-d1", "a-d2", "b-d2"]


def test_cells_from_the_names_of_a_functions_parameters() -> None:
    """They are settings, stand in the ids, and a key may be several of them or have a scale of its own."""
    cells = cells_of(
        "m{m}-n{n}", [(0.5, 4), (0.125, 8)],
        lambda m, n: (Simulated(NORMAL, NORMAL, 2, n, 16), BiasedRows(m)), scale=1 / sqrt(d), heads=3,
    )  # fmt: skip
    assert [one.id for one in cells.values()] == ["m05-n4", "m0125-n8"]
    drawn = Simulated(NORMAL, NORMAL, 2, 4, 16)
    assert cells[0.5, 4] == cell_of("m05-n4", drawn, BiasedRows(0.5), scale=1 / sqrt(d), m=0.5, n=4, heads=3)
    own = cells_of("r{r:.0%}", (0.1, 0.5), lambda r: (drawn, BiasedRows(1.0), r / sqrt(d)))
    assert own[0.1] == cell_of("r10", drawn, BiasedRows(1.0), scale=0.1 / sqrt(d), r=0.1)
