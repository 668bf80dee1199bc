"""Statistics of a block against plain NumPy, whatever the mask, the library and the type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.auditing.calls import arrays
from verify.auditing import block_statistics
from verify.auditing.block_statistics import (
    FEWEST_KEYS,
    RowMeans,
    crossed_variance,
    key_spread,
    over_rows,
    query_spread,
    row_means,
)
from verify.auditing.blocks import Block
from verify.auditing.recording import Call
from verify.montecarlo.rows import of_rows

if TYPE_CHECKING:
    from verify.auditing.block_statistics import OfKeys


SCALE = 0.2
NAMES = ("variance", "between", "entropy", "squares", "jacobian", "largest_weight", "largest_score")
RNG = np.random.default_rng(5)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True},
    "mask": {"mask": RNG.random((2, 1, 40, 30)) > 0.5},
    "padding": {"mask": np.arange(30) < np.array([30, 20]).reshape(2, 1, 1, 1)},
    "causal and mask": {"causal": True, "mask": RNG.random((2, 1, 1, 30)) > 0.3},
    "bias": {"bias": RNG.normal(size=(4, 40, 30))},
    "hiding bias": {"bias": np.where(np.tri(40, 30) > 0, 0.0, -np.inf)[None, None]},
    "soft-cap": {"softcap": 2.0},
    "soft-cap, bias and mask": {
        "softcap": 2.0,
        "bias": RNG.normal(size=(40, 30)),
        "mask": np.tri(40, 30) > 0,
    },
    "sink": {"sink": np.array([0.0, 1.0, 9.0, -9.0])},
    "sink and causal": {"sink": np.array([0.0, 1.0, 9.0, -9.0]), "causal": True},
}


def call(dtype: Any = np.float32, **options: Any) -> Call:
    """Return a call of 2 sequences, 4 heads on 2 of keys, 40 queries, 30 keys, with a mean in the keys."""
    q, k, _ = arrays(3, sequences=2, heads=4, key_heads=2, queries=40, keys=30, d=16)
    return Call(q.astype(dtype), (k + 1).astype(dtype), scale=SCALE, **options)


def expected(one: Call, sequence: int, head: int) -> dict[str, float]:
    """Return the means over rows, row by row in double precision, by nothing but their definitions."""
    q, k = np.asarray(one.query, float)[sequence, head], np.asarray(one.key, float)[sequence, head // 2]
    products = SCALE * q @ k.T
    shape = (2, 4, *products.shape)
    seen = np.ones(shape, dtype=bool) if one.mask is None else np.broadcast_to(one.mask, shape)
    bias = np.zeros(shape) if one.bias is None else np.broadcast_to(one.bias, shape)
    capped = products if one.softcap is None else one.softcap * np.tanh(products / one.softcap)
    found: dict[str, list[float]] = {name: [] for name in (*NAMES, "mean")}
    for row in range(len(q)):
        keys = seen[sequence, head, row] & np.isfinite(bias[sequence, head, row])
        keys = keys & (np.arange(len(k)) <= row) if one.causal else keys
        scores = (capped[row] + bias[sequence, head, row])[keys]
        found["largest_score"] += list(scores)
        if keys.sum() < FEWEST_KEYS:
            continue
        found["largest_weight"].append(0.0)
        if one.sink is not None:
            scores = np.append(scores, one.sink[head])
        p = np.exp(scores - scores.max())
        p /= p.sum()
        jacobian = np.diag(p) - np.outer(p, p)
        found["variance"].append(products[row, keys].var(ddof=1))
        found["mean"].append(products[row, keys].mean())
        found["entropy"].append(-(p * np.log(p)).sum() / np.log(len(p)))
        found["squares"].append((p**2).sum())
        found["jacobian"].append((jacobian**2).sum())
        found["largest_weight"][-1] = p[: keys.sum()].max()
    return {
        **{name: float(np.mean(found[name])) for name in NAMES if name != "between"},
        "between": float(np.var(found["mean"])),
        "largest_score": max(found["largest_score"]),
    }


def values(found: RowMeans) -> list[float]:
    """Return the means in the order of their names."""
    return [getattr(found, name) for name in NAMES]


@pytest.mark.parametrize("name", OPTIONS)
def test_means_are_those_of_the_definitions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mean agrees with double precision row by row, in one strip and in three."""
    one = call(**OPTIONS[name])
    wanted = expected(one, 1, 2)
    for cached in (1 << 16, 1):
        monkeypatch.setattr(block_statistics, "_CACHED", cached)
        found = row_means(Block(one, 1, 2, SCALE))
        assert values(found) == pytest.approx([wanted[name] for name in NAMES], rel=2e-5)
        assert found.finite


def test_rows_that_see_few_keys_are_left_out_and_counted() -> None:
    """Of causal rows the first seven; a row that sees no key is counted as such, and none is used."""
    found = row_means(Block(call(causal=True), 0, 0, SCALE))
    assert (found.few, found.blind, found.used) == (7, 0, 33)
    assert (found.keys[0], found.keys[-1], found.rows[-1]) == (8, 30, 11)
    blind = row_means(Block(call(mask=np.zeros((1, 1, 40, 30), dtype=bool)), 0, 0, SCALE))
    assert (blind.few, blind.blind, blind.used, blind.largest_score) == (40, 40, 0, -np.inf)
    assert np.isnan(blind.entropy)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_noticed(bad: float) -> None:
    """One NaN or infinity in a key spoils its sequence, unless no query may see it."""
    one = call()
    one.key[0, 0, 29, 3] = bad
    assert not row_means(Block(one, 0, 1, SCALE)).finite
    assert row_means(Block(one, 1, 1, SCALE)).finite
    hidden = call(mask=(np.arange(30) < 29)[None, None, None])
    wanted = row_means(Block(hidden, 0, 1, SCALE))
    hidden.key[0, 0, 29, 3] = bad
    found = row_means(Block(hidden, 0, 1, SCALE))
    assert found.finite
    assert values(found) == pytest.approx(values(wanted), rel=1e-5)


def test_a_large_common_shift_costs_no_digits() -> None:
    """Keys with a mean of a thousand deviations have the row variance that they have without it."""
    one = call()
    moved = Call(one.query, one.key + np.float32(1024), scale=SCALE)
    assert row_means(Block(moved, 0, 0, SCALE)).variance == pytest.approx(
        row_means(Block(one, 0, 0, SCALE)).variance, rel=1e-3
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_every_type_is_taken(dtype: Any) -> None:
    """Half and double precision give what these very numbers mean."""
    one = call(dtype)
    wanted = expected(one, 0, 3)
    assert values(row_means(Block(one, 0, 3, SCALE))) == pytest.approx(
        [wanted[name] for name in NAMES], rel=2e-5
    )


@pytest.mark.parametrize("name", ["causal and mask", "soft-cap, bias and mask", "sink and causal"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_arrays_of_pytorch_stay_where_they_are(name: str, dtype: str) -> None:
    """PyTorch's tensors, with or without gradients, give what NumPy's arrays of the same numbers do."""
    torch = pytest.importorskip("torch")
    one = call(**OPTIONS[name])

    def tensor(array: Any) -> Any:
        return None if array is None else torch.from_numpy(np.array(array))

    query, key = (tensor(array).to(getattr(torch, dtype)) for array in (one.query, one.key))
    rounded = Call(query.float().numpy(), key.float().numpy(), scale=SCALE, **OPTIONS[name])
    options = {
        field: tensor(value) if isinstance(value, np.ndarray) else value
        for field, value in OPTIONS[name].items()
    }
    there = Call(query.requires_grad_(), key, scale=SCALE, **options)
    assert values(row_means(Block(there, 1, 1, SCALE))) == pytest.approx(
        values(row_means(Block(rounded, 1, 1, SCALE))), rel=2e-5
    )


@pytest.mark.parametrize("name", ["causal and mask", "soft-cap, bias and mask", "sink and causal"])
def test_arrays_of_jax_stay_where_they_are(name: str) -> None:
    """JAX's arrays, which cannot be written to, give the same."""
    jnp = pytest.importorskip("jax.numpy")
    one = call(**OPTIONS[name])
    options = {
        field: jnp.asarray(value, dtype=None if value.dtype == bool else jnp.float32)
        if isinstance(value, np.ndarray)
        else value
        for field, value in OPTIONS[name].items()
    }
    there = Call(jnp.asarray(one.query), jnp.asarray(one.key), scale=SCALE, **options)
    assert values(row_means(Block(there, 1, 1, SCALE))) == pytest.approx(
        values(row_means(Block(one, 1, 1, SCALE))), rel=1e-4
    )


OTHER_SCALE = 0.3
Q, K, _ = (array.astype(np.float32) for array in arrays(8, sequences=2, heads=1, queries=20, keys=30, d=5))
BLOCKS = [Block(Call(Q, K + 2, scale=OTHER_SCALE), place, 0, OTHER_SCALE) for place in (0, 1)]


def test_moments_are_those_of_numpy() -> None:
    """Mean, unbiased covariance, second moment and mean square of the vectors."""
    for found, vectors in ((query_spread(BLOCKS[1]), Q[1, 0]), (key_spread(BLOCKS[0]), K[0, 0] + 2)):
        assert found.mean == pytest.approx(vectors.mean(axis=0), rel=1e-5)
        assert found.covariance == pytest.approx(np.cov(vectors.T), rel=1e-4, abs=1e-6)
        assert found.second_moment() == pytest.approx(vectors.T @ vectors / len(vectors), rel=1e-4, abs=1e-6)
        assert found.mean_square == pytest.approx(float((vectors**2).mean()), rel=1e-5)


def test_the_crossed_variance_is_that_of_scores_with_the_other_sequence() -> None:
    """The mean over queries of the variance over the other sequence's keys, both ways round."""
    scores = [OTHER_SCALE * Q[one, 0] @ (K[1 - one, 0] + 2).T for one in (0, 1)]
    wanted = np.mean([one.var(axis=1, ddof=1).mean() for one in scores])
    assert crossed_variance(*BLOCKS) == pytest.approx(float(wanted), rel=1e-5)


def test_a_single_vector_has_no_covariance() -> None:
    """One token has a mean, and NaN for all that takes two."""
    found = query_spread(Block(Call(Q[:, :, :1], K), 0, 0, OTHER_SCALE))
    assert found.mean == pytest.approx(Q[0, 0, 0])
    assert np.isnan(found.covariance).all()


def test_keys_that_no_query_sees_do_not_count() -> None:
    """Padding may hold anything, as may what a bias hides and what lies beyond the last causal query."""
    wanted = key_spread(Block(Call(Q, K[:, :, :20]), 0, 0, OTHER_SCALE))
    padded = K.copy()
    padded[:, :, 20:] = np.nan
    shown = np.arange(30) < 20
    hiding = np.where(shown, 0.0, -np.inf).astype(np.float32)
    options: tuple[dict[str, Any], ...] = (
        {"mask": shown[None, None, None]},
        {"bias": hiding},
        {"causal": True},
    )
    for one in options:
        found = key_spread(Block(Call(Q, padded, **one), 0, 0, OTHER_SCALE))
        assert found.vectors == 20
        assert found.covariance == pytest.approx(wanted.covariance)
    nothing = key_spread(Block(Call(Q, K, mask=np.zeros((1, 1, 1, 30), dtype=bool)), 0, 0, OTHER_SCALE))
    assert nothing.vectors == 0
    assert np.isnan(nothing.mean).all()


BOUNDED: dict[str, OfKeys] = {
    "entropy": block_statistics.entropy_share,
    "squares": block_statistics.squares,
    "jacobian": block_statistics.jacobian,
    "largest": block_statistics.largest_weight,
}


@pytest.mark.parametrize("name", BOUNDED)
def test_standard_normal_scores_have_the_reference_values(name: str) -> None:
    """Drawn rows over 24 keys agree within five standard errors."""
    scores = np.random.default_rng(11).standard_normal((20_000, 24))
    drawn = of_rows(scores, (name,))[:, 0]  # type: ignore[arg-type]
    drawn = drawn / math.log(24) if name == "entropy" else drawn
    assert BOUNDED[name](24) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / math.sqrt(len(drawn)))


@pytest.mark.parametrize("name", ["entropy", "squares", "jacobian"])
def test_many_lengths_are_interpolated_as_if_each_were_integrated(name: str) -> None:
    """Causal rows over 8 to 400 keys, some more than once, to eight digits."""
    keys = tuple(range(8, 401))
    rows = tuple(1 + place % 3 for place in range(len(keys)))
    wanted = np.average([BOUNDED[name](one) for one in keys], weights=rows)
    assert over_rows(BOUNDED[name], keys, rows) == pytest.approx(float(wanted), rel=1e-8)


def test_a_rough_integral_is_no_reference() -> None:
    """The largest weight of 4096 keys is not known to a thousandth, and then not at all."""
    assert math.isnan(block_statistics.largest_weight(4096))
    assert math.isnan(over_rows(block_statistics.largest_weight, (16, 4096), (1, 1)))
