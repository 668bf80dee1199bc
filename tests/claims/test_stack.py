"""Gradients through layers of even attention: the derived law against draws, and wrong laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sympy import S

from verify.claims.gradients.shared.stack import even_attention, layers
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.words import n


@pytest.mark.parametrize(("tokens", "width", "depth"), [(2, 3, 1), (3, 4, 3), (5, 2, 2)])
def test_law_of_the_mean_square(tokens: int, width: int, depth: int) -> None:
    """Averaged over many drawn stacks, the mean square grows as derived, within 3%."""
    rng = np.random.default_rng([tokens, depth])
    gradient = rng.standard_normal((200_000, tokens, width))
    for _ in range(depth):
        weights = rng.standard_normal((200_000, width, width)) / width**0.5
        shared = gradient.mean(axis=1, keepdims=True)
        gradient = gradient + shared @ weights.transpose(0, 2, 1)
    derived = float(even_attention().result.subs({n: tokens, layers: depth}))
    assert abs(np.mean(gradient**2) / derived - 1) < 0.03


@pytest.mark.parametrize(
    "wrong", [S(2) ** layers, 1 + layers / n, 1 + (2**layers - 1) / n**2, (1 + 1 / n) ** layers]
)
def test_wrong_laws_fail(wrong: object) -> None:
    """Plausible other laws, some right at one layer, are noticed by the induction."""
    right = even_attention()
    (route,) = right.routes
    last = replace(route.steps[-1], expression=wrong)
    spoiled = replace(route, steps=(*route.steps[:-1], last))
    assert right.examine().status == "proved"
    assert not Derivation.of(spoiled, lemmas=right.lemmas).examine().holds
