"""Standard normal vectors in axes of their own, which inner products cannot tell from any other axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.distributions import NORMAL

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array


def normal_vectors(rng: np.random.Generator, count: int, many: int, d: int, axes: int | None = None) -> Array:
    """Return ``many`` standard normal vectors of ``d`` dimensions, so many times, shape (count, many, axes).

    Of more dimensions than ``axes``, by default as many as there are vectors, they are given in these axes
    of their own: the first lies along the first vector, the next along what the second has besides, and so
    on. What vectors have beyond these axes is left out, which the first so many vectors never have; so all
    inner products with those are as in full. Of no more dimensions the shape is (count, many, d). They are in
    single precision.

    Source: M. S. Bartlett, On the theory of statistical regression, Proc. R. Soc. Edinb. 53 (1933), 260-283.
    """
    axes = many if axes is None else axes
    if d <= axes:
        return NORMAL.draw(rng, (count, many, d), single=True)
    own, below = np.arange(axes), NORMAL.draw(rng, (count, axes * (axes - 1) // 2), single=True)
    vectors: Array = np.zeros((count, many, axes), np.float32)
    # What a vector has besides the axes before its own is as long as a normal vector of the dimensions left.
    vectors[:, own, own] = np.sqrt(rng.chisquare(d - own, (count, axes)))
    for place in range(1, axes):
        first = place * (place - 1) // 2
        vectors[:, place, :place] = below[:, first : first + place]
    vectors[:, axes:] = NORMAL.draw(rng, (count, many - axes, axes), single=True)
    return vectors


def components(many: int, d: int, axes: int | None = None) -> int:
    """Return how many random components ``normal_vectors`` draws of so many vectors."""
    axes = many if axes is None else axes
    return many * d if d <= axes else axes * (axes + 1) // 2 + (many - axes) * axes


def in_axes(d: int, axes: int, spanning: str = "the vectors") -> Settings:
    """Return what a cell records where vectors of ``d`` dimensions are drawn in the axes of some or all."""
    return (("drawn in", f"the {axes} axes that {spanning} span"),) if d > axes else ()
