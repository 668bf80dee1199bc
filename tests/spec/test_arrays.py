"""Array code by loops, SciPy, closed forms, complex steps and an adversary; numbers of few bits; programs."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from sympy import Le, Symbol

from tests.strategies import examples
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import NORMAL, Array
from verify.spec import NORMAL_ROWS, Chain, Column, E, Line, LineCheck, Named, Softmax, a, algebra, at_most, e
from verify.spec import j, m, moments, n, over_keys, s, score, v
from verify.spec.arrays import Draws, Rounded, attention, complex_step, entries, gradients, probabilities
from verify.spec.arrays import rounded, softmax
from verify.spec.arrays import REACH, attention_in_loops, gradients_of_loops, largest_ratio

c = Symbol("c", positive=True)


@examples(50)
@given(st.integers(1, 6), st.integers(1, 64), st.floats(0.01, 300), st.integers(0, 2**32 - 1))
def test_softmax_is_scipys(rows: int, keys: int, size: float, seed: int) -> None:
    """Rows of any size of score sum to 1 and agree with SciPy."""
    scores = size * np.random.default_rng(seed).normal(size=(rows, keys))
    weights = softmax(scores)
    np.testing.assert_allclose(weights, special.softmax(scores, axis=-1), rtol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-12)


def test_attention_and_its_gradients_are_those_of_loops() -> None:
    """The definition entry by entry, and its derivatives by complex steps, for each matrix of a batch."""
    normal = np.random.default_rng(1).normal
    queries, keys, values, upstream = (normal(size=(2, *shape)) for shape in ((3, 4), (5, 4), (5, 6), (3, 6)))
    output = attention(queries, keys, values, 0.7)
    sent = gradients(queries, keys, values, probabilities(queries, keys, 0.7), upstream, 0.7)
    for batch in range(2):
        parts = queries[batch], keys[batch], values[batch]
        np.testing.assert_allclose(output[batch], attention_in_loops(*parts, 0.7), rtol=1e-12)
        slopes = gradients_of_loops(*parts, upstream[batch], 0.7)
        for by_code, by_step in zip(sent[:3], slopes, strict=True):
            np.testing.assert_allclose(by_code[batch], by_step, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("queries", [1, 5])
def test_gradients_of_more_precise_weights(queries: int) -> None:
    """Weights of double precision with single vectors, of one query and of several: all but rounding."""
    rng = np.random.default_rng(4)
    wide = [rng.standard_normal((3, many, 6)) for many in (queries, 7, 7, queries)]
    weights, narrow = probabilities(3 * wide[0], wide[1], 1.0), [part.astype(np.float32) for part in wide]
    exact = gradients(*wide[:3], weights, wide[3], 0.5)  # type: ignore[call-arg]
    rounded = gradients(*narrow[:3], weights, narrow[3], 0.5)  # type: ignore[call-arg, arg-type]
    for name in ("queries", "keys", "values"):
        assert getattr(rounded, name).dtype == np.float32
        assert np.allclose(getattr(rounded, name), getattr(exact, name), rtol=1e-4, atol=1e-5), name


def test_entries_are_those_of_array_code() -> None:
    """An expression has an entry for each place of its indices, in the order asked for."""
    rng = np.random.default_rng(1)
    arrays = {"q": rng.normal(size=(3, 5)), "k": rng.normal(size=(4, 5)), "v": rng.normal(size=(4, 2))}
    weight = Named(Symbol("P_{aj}"), Softmax(c * score, j))
    weights = probabilities(arrays["q"], arrays["k"], 0.5)
    assert np.allclose(entries(weight, (a, j), arrays, {c: 0.5}), weights, atol=1e-14)
    assert np.allclose(entries(weight, (j, a), arrays, {c: 0.5}), weights.T, atol=1e-14)
    output = entries(over_keys(weight * v[j, e]), (a, e), arrays, {c: 0.5})
    assert np.allclose(output, weights @ arrays["v"], atol=1e-14)


def test_two_keys_by_hand() -> None:
    """Scores ln 3 and 0 have the weights ¾ and ¼, a key that is not seen none; dS is ±p(1-p)·G(v₁-v₂)."""
    query, keys = np.array([[1.0, 0.0]]), np.array([[2 * math.log(3), 5.0], [0.0, 7.0]])
    values = np.array([[4.0, 0.0], [0.0, 8.0]])
    np.testing.assert_allclose(attention_in_loops(query, keys, values, 0.5), [[3.0, 2.0]], rtol=1e-14)
    second = attention_in_loops(query, keys, values, 0.5, lambda _, key: key == 1)
    np.testing.assert_array_equal(second, [[0.0, 8.0]])
    parts, slope = (np.array([[1.0]]), keys[:, :1], np.array([[4.0], [1.0]])), 3 / 16 * 2 * 3
    expected = [[0.5 * slope * 2 * math.log(3)]], [[0.5 * slope], [-0.5 * slope]], [[1.5], [0.5]]
    for stepped, by_hand in zip(gradients_of_loops(*parts, np.array([[2.0]]), 0.5), expected, strict=True):
        np.testing.assert_allclose(stepped, by_hand, rtol=1e-14)


def test_complex_steps_have_no_error_of_a_step() -> None:
    """Derivatives of array code to the last digits; what is not analytic would have none, and is refused."""
    slopes = complex_step(lambda at: np.sqrt(at[..., 0] / at[..., 1]), np.array([3.0, 7.0]))
    assert slopes == pytest.approx([math.sqrt(3 / 7) / 6, -math.sqrt(3 / 7) / 14], rel=1e-15)
    with pytest.raises(TypeError, match="must be analytic"):
        complex_step(lambda at: np.abs(at[..., 0]), np.ones(2))


def largest(weights: Array) -> Array:
    """Return the largest probability of sorted rows."""
    return weights[:, 0]


@pytest.mark.parametrize("keys", [2, 3, 8])
def test_the_worst_row_is_found(keys: int) -> None:
    """The smallest probability is largest where all are alike, the largest where one score leads by most."""
    ones, lead = (lambda weights: np.ones(len(weights))), np.exp(2 * REACH)
    assert largest_ratio(lambda weights: weights[:, -1], ones, keys) == pytest.approx(1 / keys, rel=0.1)
    assert largest_ratio(largest, ones, keys) == pytest.approx(lead / (lead + keys - 1), rel=0.1)
    # All entries count at once, and a ratio of extremes has a ridge there: found less closely.
    assert 0.6 < largest_ratio(lambda weights: weights[:, -1], largest, keys) <= 1


@pytest.mark.parametrize(
    ("wide", "narrow"), [(np.float64, np.float32), (np.float64, np.float16), (np.float32, np.float16)]
)
def test_numbers_are_those_that_numpy_stores(wide: type, narrow: type) -> None:
    """To nearest, ties to even, a carry into the exponent among them."""
    numbers: Any = np.random.default_rng(1).standard_normal(4096).astype(wide)
    bits = np.finfo(narrow).nmant + 1
    ties = 1 + (2 * np.arange(64) + 1) * wide(2.0**-bits)
    last: Any = np.array([2 - 2.0 ** -(bits + 1)], wide)
    for values in (numbers, -numbers, ties.astype(wide), last):
        assert np.array_equal(rounded(values, bits), values.astype(narrow).astype(wide))


def test_an_expression_is_rounded_as_arrays_are() -> None:
    """The compiler applies the same function."""
    cell = Cell("rounded", (), (("rounded", Rounded(s[a, j], 8)),), ((s, NORMAL),), ((m, 4), (n, 5)))
    draws = np.random.default_rng(1).standard_normal((3, 4, 5))
    got = cell.compiled.run({"s": draws}, np.random.default_rng(1))
    assert np.allclose(got[:, 0], rounded(draws, 8).mean(axis=(1, 2)), rtol=1e-12)


def made(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Return the sums of rows, as a program makes them."""
    return {"total": draws["s"].sum(axis=-1)}


TOTAL = Column(made, "total")


@pytest.mark.parametrize(
    ("holds", "start", "end", "check"),
    [
        (True, E(TOTAL) * E(s[a, j] ** 2), E(TOTAL), moments(NORMAL_ROWS)),
        (True, E(3 - TOTAL), 3 - E(TOTAL), algebra),
        (True, E(TOTAL), 3, at_most(E(3 - TOTAL), given=(Le(TOTAL, 3),))),
        (False, E(TOTAL**2), E(TOTAL) ** 2, moments(NORMAL_ROWS)),
        (False, E(TOTAL**2), E(TOTAL) ** 2, algebra),
        (False, E(TOTAL * s[a, j]), E(TOTAL) * E(s[a, j]), moments(NORMAL_ROWS)),
        (False, E(TOTAL), 3, at_most(E(3 - TOTAL))),
    ],
)
def test_lines_may_speak_of_what_a_program_makes(holds: bool, start: Any, end: Any, check: LineCheck) -> None:
    """It is any number, and may be bounded; it is no constant, and independent of nothing that is drawn."""
    relation: Any = "≤" if "≤" in check.relations else "="
    assert bool(Chain(start, Line(end, "so it is", check, relation)).checked[0].problem) is not holds
