"""The arrays that a function is given: the same for the same sizes, and of the sizes asked for."""

from __future__ import annotations

import numpy as np

from verify.auditing.probing.sizes import Sizes

SIZES = Sizes(heads=6, key_heads=2, width=8)


def test_arrays_have_the_sizes_asked_for() -> None:
    """Queries have all heads, keys and values those of their groups."""
    assert SIZES.queries(5).shape == (1, 6, 5, 8)
    assert SIZES.keys(5, sequences=3).shape == SIZES.values(5, sequences=3).shape == (3, 2, 5, 8)


def test_they_are_the_same_every_time_and_differ_from_one_another() -> None:
    """Two calls of a function differ in what is varied alone; keys are no queries."""
    square = Sizes(2, 2, 8)
    arrays = [square.queries(9), square.keys(9), square.values(9)]
    again = [square.queries(9), square.keys(9), square.values(9)]
    for number, (one, same) in enumerate(zip(arrays, again, strict=True)):
        assert np.array_equal(one, same)
        assert not any(np.array_equal(one, other) for other in arrays[number + 1 :])


def test_sizes_of_components_are_standard_deviations() -> None:
    """Normal components: mean 0 and the deviation asked for, within five standard errors."""
    many = Sizes(4, 4, 64)
    for array, size in ((many.queries(400, 3.0), 3.0), (many.keys(400, 0.5), 0.5), (many.values(400), 1.0)):
        assert abs(array.mean()) < 5 * size / array.size**0.5
        assert abs(array.std() / size - 1) < 5 / (2 * array.size) ** 0.5
        assert np.allclose(array, size * array / size)


def test_rows_are_the_same_in_all_heads() -> None:
    """Of queries and of keys, each with its own number of heads."""
    vectors = np.arange(24.0).reshape(3, 8)
    queries, keys = SIZES.rows(vectors)
    assert (queries.shape, keys.shape) == ((1, 6, 3, 8), (1, 2, 3, 8))
    assert all(np.array_equal(head, vectors) for head in (*queries[0], *keys[0]))
