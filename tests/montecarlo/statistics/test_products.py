"""Products of two scores, against plain loops over the same queries and keys."""

from __future__ import annotations

from itertools import product

import numpy as np

from verify.montecarlo.inputs import Shape
from verify.montecarlo.statistics import ScoreProducts


def test_products_pair_by_pair() -> None:
    """Every mean is that over the pairs of scores that it names, however many queries and keys there are."""
    rng = np.random.default_rng(3)
    for shape in (Shape(2, 2, 1), Shape(3, 5, 2), Shape(4, 2, 3)):
        queries, keys = rng.normal(size=(2, shape.m, shape.d)), rng.normal(size=(2, shape.n, shape.d))
        found = ScoreProducts().reduce(queries, keys)
        for block in range(2):
            scores = [[sum(q * k) for k in keys[block]] for q in queries[block]]
            entries = list(product(range(shape.m), range(shape.n)))
            pairs = [(scores[i][j] * scores[a][b], i == a, j == b) for i, j in entries for a, b in entries]
            expected = [
                np.mean([value for value, *same in pairs if same == [query, key]])
                for query, key in ((True, True), (True, False), (False, False))
            ]
            np.testing.assert_allclose(found[block], expected, rtol=1e-12, atol=1e-12)


def test_each_number_has_a_name() -> None:
    """There are as many names as numbers."""
    found = ScoreProducts().reduce(np.ones((1, 2, 1)), np.ones((1, 3, 1)))
    assert found.shape == (1, len(ScoreProducts.names))
