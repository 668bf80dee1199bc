"""Expressions compiled to array operations, against the same written with NumPy and loops."""

import itertools
import pickle
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import special

from tests.montecarlo.samples import generator
from verify.errors import ClaimError
from verify.montecarlo.blocks import Cell
from verify.montecarlo.compiling import Column
from verify.montecarlo.distributions import NORMAL, Array
from verify.symbolic.vocabulary import Dot, Entropy, Family, Index, Indicator, Largest, LogSumExp
from verify.symbolic.vocabulary import Softmax, a, b, d, e, i, j, k, l, m, n, q, s, score, score_of
from verify.symbolic.vocabulary import sigma, squares

SIZES = {d: 3, m: 4, n: 5}
LAWS = ((q, NORMAL), (k, NORMAL), (s, NORMAL))
c = Index("c")


def cell_of(*expressions: Any, sizes: Mapping[Any, int] = SIZES) -> Cell:
    """Return a cell of queries, keys and rows of scores, in which these expressions' means are taken."""
    outputs = tuple((str(place), expression) for place, expression in enumerate(expressions))
    values = {**sizes, sigma: 2.0}
    return Cell("cell", (), outputs, LAWS, tuple(sizes.items()), tuple(values.items()))


def drawn(sizes: Mapping[Any, int] = SIZES, blocks: int = 3) -> dict[str, Array]:
    """Return draws of a few blocks."""
    rng = generator()
    return {
        str(family.label): rng.standard_normal((blocks, *(sizes[extent] for extent in family.ranges)))
        for family, _ in LAWS
    }


def means(*expressions: Any, sizes: Mapping[Any, int] = SIZES) -> Array:
    """Return the means of expressions in a few blocks."""
    got: Array = cell_of(*expressions, sizes=sizes).compiled.run(drawn(sizes), generator())
    return got


class Halved(sp.Function):  # type: ignore[misc]  # SymPy has no types
    """Half of the argument: a function with an operation of its own, as a rounding is."""

    numpy = staticmethod(lambda x: x / 2)


RAW = s[a, j]
PLAIN: list[tuple[Any, str]] = [
    (score, "S"),
    (score**3 / d, "S**3 / 3"),
    (Halved(score), "S / 2"),
    (sp.Abs(score) + score**4 - 2, "abs(S) + S**4 - 2"),
    (sp.Sum(q[a, i] * k[j, i], (i, 1, d)) ** 2, "S**2"),
    (Dot(q, 2, k, j), "S[:, 1]"),
    (Dot(q, a, q, a), "(x**2).sum(2)"),
    (Largest(Softmax(sigma * RAW, j), j), "softmax(2 * z, 2).max(2)"),
    (squares(sigma * RAW), "(softmax(2 * z, 2) ** 2).sum(2)"),
    (Entropy(RAW, j), "entr(softmax(z, 2)).sum(2)"),
    (LogSumExp(score, j), "logsumexp(S, axis=2)"),
    (sp.log(sp.Sum(sp.exp(RAW), (j, 1, n))), "logsumexp(z, axis=2)"),
    (Softmax(RAW, j) * (RAW - sp.Sum(Softmax(RAW, j) * RAW, (j, 1, n))), "0 * z"),
    (Indicator(RAW - sp.Rational(1, 2)), "z > 0.5"),
    (sp.Max(RAW, 0) * sp.Min(RAW, 1), "np.maximum(z, 0) * np.minimum(z, 1)"),
    (sp.tanh(RAW) + sp.erf(RAW) + sp.sign(RAW), "np.tanh(z) + erf(z) + np.sign(z)"),
    (1 / sp.sqrt(1 + RAW**2) + 2**RAW, "(1 + z**2) ** -0.5 + 2**z"),
    (sp.sin(RAW) * sp.cos(RAW) ** 5, "np.sin(z) * np.cos(z) ** 5"),
    (j * RAW - j, "np.arange(1, 6) * z - 3"),
    (sp.Sum(sp.KroneckerDelta(j, l) * s[a, l], (l, 1, n)) * RAW, "z**2"),
    (sp.Sum(s[a, j] * j, (j, 2, 4)), "(np.arange(1, 6) * z)[..., 1:4].sum(2)"),
    (sp.Sum(sp.Sum(RAW + 1, (j, 1, n)), (a, 1, m)), "z.sum((1, 2)) + 20"),
    (sp.Sum(q[a, i] * k[j, i] * s[a, j], (i, 1, d), (a, 1, m)), "np.einsum('bai,bji,baj->bj', x, y, z)"),
    # A factor that stands twice counts twice, also of several that are summed over together.
    (
        sp.Sum(Softmax(score, j) ** 2 * RAW**2 * (RAW - LogSumExp(RAW, j)) ** 2, (j, 1, n)),
        "((softmax(S, 2) * z * (z - logsumexp(z, axis=2)[..., None])) ** 2).sum(2)",
    ),
]


@pytest.mark.parametrize(("expression", "text"), PLAIN, ids=[text for _, text in PLAIN])
def test_a_mean_over_places_is_that_of_numpy(expression: Any, text: str) -> None:
    """What is compiled has the value that NumPy's functions have, on the same draws."""
    x, y, z = drawn().values()
    known = {"np": np, **vars(special), "x": x, "y": y, "z": z, "S": x @ y.swapaxes(1, 2)}
    values = eval(text, known).reshape(3, -1)  # noqa: S307  # ours
    np.testing.assert_allclose(means(expression)[:, 0], values.mean(1), rtol=1e-9, atol=1e-9)


APART: list[tuple[Any, str]] = [
    (s[a, j] ** 2 * s[b, j] ** 2, "z[a, j]**2 * z[b, j]**2"),
    (s[a, j] * s[a, l] * s[b, l], "z[a, j] * z[a, l] * z[b, l]"),
    ((s[a, j] - s[b, j]) ** 2, "(z[a, j] - z[b, j])**2"),
    (s[a, j] * s[b, j] * s[c, j] + s[a, j], "z[a, j] * z[b, j] * z[c, j] + z[a, j]"),
    (Indicator(s[a, j] - s[a, l]), "z[a, j] > z[a, l]"),
]


@pytest.mark.parametrize(("expression", "text"), APART, ids=[text for _, text in APART])
def test_free_indices_of_one_range_are_different_places(expression: Any, text: str) -> None:
    """Two and three indices over one range never coincide, whether or not a product splits."""
    for block, z in enumerate(drawn()["s"]):
        rows, keys = (list(itertools.permutations(range(size), 3)) for size in z.shape)
        values = [
            eval(text, {"z": z, "a": x[0], "b": x[1], "c": x[2], "j": y[0], "l": y[1]})  # noqa: S307  # ours
            for x in rows
            for y in keys
        ]
        assert means(expression)[block, 0] == pytest.approx(np.mean(values), rel=1e-9, abs=1e-12)


def test_rows_of_large_scores_stay_finite() -> None:
    """Softmax, entropy and log-sum-exp of scores in the thousands, in single precision."""
    row: Any = np.array([[[9000.0, 8999.0, -5000.0, 0.0, 1.0]]], np.float32)
    cell = cell_of(*(of(RAW, j) for of in (Entropy, LogSumExp, Softmax)))
    entropy_of, total, share = cell.compiled.run({**drawn(), "s": row}, generator())[0]
    assert entropy_of == pytest.approx(0.582203, rel=1e-5)
    assert total == pytest.approx(9000.313262, rel=1e-7)
    assert share == pytest.approx(0.2)


@pytest.mark.parametrize("sizes", [{d: 3, m: 8, n: 9}, {d: 8, m: 3, n: 4}, {d: 1, m: 4, n: 4}])
def test_totals_of_scores_are_those_of_the_scores_themselves(sizes: dict[Any, int]) -> None:
    """Sums and means of scores and their squares, which long lists of short vectors get by components."""
    cell = cell_of(score / d, score**2, sp.Sum(score**2, (a, 1, m), (j, 1, n)), sizes=sizes)
    draws = cell.draws(generator(), 3)
    scores = np.einsum("bai,bji->baj", draws["q"].astype(float), draws["k"].astype(float))
    squares = (scores**2).sum((1, 2))
    expected = [scores.mean((1, 2)) / sizes[d], squares / (sizes[m] * sizes[n]), squares]
    np.testing.assert_allclose(cell.compiled.run(draws, generator()).T, expected, rtol=1e-5)
    makes_scores = any(step.size >= sizes[m] * sizes[n] for _, step, _ in cell.compiled.steps)
    assert makes_scores == (sizes[d] > min(sizes[m], sizes[n]))


def ends(draws: Mapping[str, Array], rng: np.random.Generator) -> dict[str, Array]:
    """Return the first component of each block's first query, and numbers of its own for all keys."""
    return {"first": draws["q"][:, 0, 0], "noise": rng.standard_normal((len(draws["q"]), 6))}


def too_few(draws: Mapping[str, Array], rng: np.random.Generator) -> dict[str, Array]:
    """Return a column of two blocks, whatever it is given."""
    return {"first": ends(draws, rng)["first"][:2]}


def test_a_program_makes_columns_of_the_draws() -> None:
    """Its columns are averaged in each block, and stand in expressions like any other."""
    first, noise = Column(ends, "first"), Column(ends, "noise")
    got = cell_of(first, first**2, noise).compiled.run(drawn(), generator(1))
    expected = drawn()["q"][:, 0, 0]
    noises = generator(1).standard_normal((3, 6)).mean(1)
    np.testing.assert_allclose(got, np.stack([expected, expected**2, noises], axis=1))
    with pytest.raises(ClaimError, match="a program's columns need a row for each block"):
        cell_of(Column(too_few, "first")).sample(generator(), 3)
    with pytest.raises(ClaimError, match="makes no column 'last', but first, noise"):
        cell_of(Column(ends, "last")).compiled.run(drawn(), generator())


WRONG: list[tuple[Any, str]] = [
    (sp.gamma(RAW), "gamma cannot be measured"),
    (Family("t", m)[a], "no law is given for t"),
    (sp.Symbol("x") * RAW, "no value is given for x"),
    (s[a, j + 1], "an index is a, b, i, j, l, e or a number"),
    (s[a, 9], "no place 9 of 5"),
    (sp.Sum(RAW, (j, 1, a)), "no value is given for a"),
    (sp.Sum(RAW, (j, 0, n)), "there are 5 of them"),
    (Softmax(s[a, 1], j), "its scores do not depend on j"),
    (e, "no family has the index e"),
    (sp.Integer(2), "nothing of it is random"),
    (sp.prod(s[Index(f"a_{query}"), j] for query in range(5)), "needs 5 different places of 4"),
    (score * score_of(a, 3), "j may be place 3 as well; write another index for the number"),
]


@pytest.mark.parametrize(("expression", "problem"), WRONG, ids=[text for _, text in WRONG])
def test_what_cannot_be_measured_is_refused_in_a_line(expression: Any, problem: str) -> None:
    """Each honest mistake has one clear line."""
    with pytest.raises(ClaimError, match=problem) as caught:
        _ = cell_of(expression).compiled
    assert "\n" not in str(caught.value)


SAMPLED = """
import pickle, sys
cell, rng = pickle.loads(sys.stdin.buffer.read())
sys.stdout.buffer.write(cell.sample(rng, 7).tobytes())
"""


def test_another_process_draws_the_same_to_the_last_bit() -> None:
    """A cell is compiled anew in each process, in the same order whatever its hashes are."""
    pair = score_of(a, j) ** 2 * score_of(b, j) ** 2
    cell = cell_of(pair, squares(score), score, Entropy(sigma * RAW, j) + sp.Abs(score))
    here = cell.sample(generator(), 7).tobytes()
    there = subprocess.run(
        [sys.executable, "-c", SAMPLED],
        input=pickle.dumps((cell, generator())),
        capture_output=True,
        check=True,
    )
    assert there.stdout == here
