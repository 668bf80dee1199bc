"""Normal vectors in axes of their own: the law of their inner products is that of vectors drawn in full."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from verify.montecarlo import inputs
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.inputs import bartlett_components, bartlett_setting, bartlett_vectors

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array

SETS = 40_000
ERRORS = 5
"""Standard errors that a mean may be off."""


def products(vectors: Array) -> Array:
    """Return the inner products of the vectors of each set."""
    return vectors @ vectors.swapaxes(1, 2)


def agrees(values: Array, expected: float) -> bool:
    """Return whether the mean of the sets' values is what is expected, but for chance."""
    error = values.std() / math.sqrt(len(values))
    return bool(abs(values.mean() - expected) < ERRORS * error)


@pytest.mark.parametrize("d", [1, 3, 4])
def test_few_dimensions_are_drawn_as_they_are(d: int) -> None:
    """Up to as many dimensions as axes, every component is drawn."""
    drawn = bartlett_vectors(np.random.default_rng(1), 5, 6, d, 4)
    assert np.array_equal(drawn, NORMAL.draw(np.random.default_rng(1), (5, 6, d)))
    assert bartlett_components(6, d, 4) == 6 * d
    assert bartlett_setting(d, 4) == ()


@pytest.mark.parametrize(("many", "axes"), [(4, None), (6, 4), (3, 1)])
def test_axes_are_those_of_the_first_vectors(
    monkeypatch: pytest.MonkeyPatch, many: int, axes: int | None
) -> None:
    """The first vector lies along the first axis, the second in the first two; no axis is left out."""
    drawn: list[int] = []

    class Counted:
        def draw(self, rng: np.random.Generator, shape: tuple[int, ...], *, single: bool) -> Array:
            drawn.append(math.prod(shape))
            return NORMAL.draw(rng, shape, single=single)

    counted: Any = Counted()
    monkeypatch.setattr(inputs, "NORMAL", counted)
    vectors = bartlett_vectors(np.random.default_rng(2), 7, many, 9, axes)
    span = axes or many
    assert vectors.shape == (7, many, span)
    for place in range(many):
        assert np.all(vectors[:, place, : place + 1])
        assert not np.any(vectors[:, place, place + 1 :]) or place >= span
    assert np.all(vectors[:, range(span), range(span)] > 0)
    assert sum(drawn) + 7 * span == 7 * bartlett_components(many, 9, axes), (
        "a length for each axis, and normals"
    )


@pytest.mark.parametrize(("many", "d", "axes"), [(3, 4, None), (4, 5, 2), (3, 40, None)])
def test_inner_products_are_those_of_normal_vectors(many: int, d: int, axes: int | None) -> None:
    """Their moments to the third order are Wishart's: those of products of d independent components."""
    found = products(bartlett_vectors(np.random.default_rng(3), SETS, many, d, axes))
    for one in range(axes or many):
        assert agrees(found[:, one, one], d)
        assert agrees(found[:, one, one] ** 2, d**2 + 2 * d)
        for other in range(one + 1, many):
            assert agrees(found[:, one, other], 0.0)
            assert agrees(found[:, one, other] ** 2, d)
            assert agrees(found[:, one, other] ** 2 * found[:, one, one], d * (d + 2))
    if axes is None:
        assert agrees(found[:, 0, 1] * found[:, 1, 2] * found[:, 2, 0], d)
        determinant = np.linalg.det(found)
        assert agrees(determinant, math.prod(range(d, d - many, -1)))


def test_axes_are_recorded() -> None:
    """Where vectors are drawn in axes of their own, a cell says in how many."""
    assert bartlett_setting(5, 4) == (("drawn in", "the 4 axes that the vectors span"),)
    assert bartlett_setting(5, 4, "the keys") == (("drawn in", "the 4 axes that the keys span"),)
