"""What all statistics have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from verify.montecarlo.blocks import numbered
from verify.montecarlo.inputs import Shape
from verify.montecarlo.statistics import Statistic, scale_setting, scores_of

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array


@dataclass(frozen=True)
class _Corner(Statistic):
    """A statistic that says no more than it must."""

    names = ("corner",)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the first score."""
        return scores_of(queries, keys)[:, 0, :1]


def test_names_have_numbers() -> None:
    """From 0 on."""
    assert numbered("share", 3) == ("share-0", "share-1", "share-2")


def test_a_statistic_needs_names_and_a_function_alone() -> None:
    """What else a cell asks has defaults: all scores enter, and their moments up to the third are kept."""
    shape = Shape(2, 3, 4)
    assert _Corner().settings(shape) == (("block", "2×3"),)
    assert (_Corner().scores(shape), _Corner().order, _Corner().columns) == (6, 3, False)
    assert _Corner().held(shape) >= 2 * 6
    with pytest.raises(TypeError, match="abstract"):
        Statistic()  # type: ignore[abstract]


def test_scores_are_all_products() -> None:
    """One row for each query, one column for each key."""
    rng = np.random.default_rng(1)
    queries, keys = rng.normal(size=(5, 2, 4)), rng.normal(size=(5, 3, 4))
    found = scores_of(queries, keys)
    assert found.shape == (5, 2, 3)
    assert found[4, 1, 2] == pytest.approx(sum(queries[4, 1] * keys[4, 2]))
    assert np.array_equal(_Corner().reduce(queries, keys), found[:, 0, :1])


def test_a_scale_of_one_is_no_setting() -> None:
    """Any other is."""
    assert scale_setting(1.0) == ()
    assert scale_setting(0.5) == (("scale", 0.5),)
