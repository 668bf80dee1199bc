"""Expressions at given arrays: what a claim holds against the code of a program."""

import numpy as np
from sympy import Symbol

from verify.spec import Named, Softmax, a, e, j, over_keys, score, v
from verify.spec.arrays import entries, probabilities

c = Symbol("c", positive=True)


def test_entries_are_those_of_array_code() -> None:
    """An expression has an entry for each place of its indices, in the order asked for."""
    rng = np.random.default_rng(1)
    given = {"q": rng.normal(size=(3, 5)), "k": rng.normal(size=(4, 5)), "v": rng.normal(size=(4, 2))}
    weight = Named(Symbol("P_{aj}"), Softmax(c * score, j))
    weights = probabilities(given["q"], given["k"], 0.5)
    assert np.allclose(entries(weight, (a, j), given, {c: 0.5}), weights, atol=1e-14)
    assert np.allclose(entries(weight, (j, a), given, {c: 0.5}), weights.T, atol=1e-14)
    output = entries(over_keys(weight * v[j, e]), (a, e), given, {c: 0.5})
    assert np.allclose(output, weights @ given["v"], atol=1e-14)
