"""Every row against plain NumPy, whatever the mask, the library and the type."""

import math
from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import arrays
from verify.auditing import references, rows
from verify.auditing.arrays import in_memory
from verify.auditing.layers import Seen, run_through
from verify.auditing.recording import Call
from verify.auditing.references import OfKeys, over_rows
from verify.auditing.rows import FEWEST_KEYS, SINGLE, BlockVectors, RowMeans, look, room_for
from verify.montecarlo.rows import of_rows

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


def means(one: Call, sequence: int, head: int) -> RowMeans:
    """Return the means of one head of one sequence, as arrays of one number."""
    place = np.array([sequence * one.query.shape[1] + head])
    return look(in_memory(one), place, np.array([SCALE]), 2.0**-24)[0]


def values(found: RowMeans) -> list[float]:
    """Return the means in the order of their names."""
    return [float(getattr(found, name)[0]) for name in NAMES]


@pytest.mark.parametrize("name", OPTIONS)
def test_means_are_those_of_the_definitions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mean agrees with double precision row by row, in one strip and in three."""
    one = call(**OPTIONS[name])
    wanted = expected(one, 1, 2)
    for piece in (1 << 16, 1):
        monkeypatch.setattr(rows, "_PIECE", piece)
        found = means(one, 1, 2)
        assert values(found) == pytest.approx([wanted[name] for name in NAMES], rel=2e-5)
        assert found.finite.all()


def test_rows_that_see_few_keys_are_left_out_and_counted() -> None:
    """Of causal rows the first seven; a row that sees no key is counted as such, and none is used."""
    found = means(call(causal=True), 0, 0)
    assert [int(one[0]) for one in (found.few, found.blind, found.used)] == [7, 0, 33]
    ((keys, times),) = found.patterns
    assert (keys[0], keys[-1], times[-1]) == (8, 30, 11)
    blind = means(call(mask=np.zeros((1, 1, 40, 30), dtype=bool)), 0, 0)
    assert [int(one[0]) for one in (blind.few, blind.blind, blind.used)] == [40, 40, 0]
    assert blind.largest_score[0] == -np.inf
    assert np.isnan(blind.entropy)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_noticed(bad: float) -> None:
    """One NaN or infinity in a key spoils its sequence, unless no query may see it."""
    one = call()
    one.key[0, 0, 29, 3] = bad
    assert not means(one, 0, 1).finite.all()
    assert means(one, 1, 1).finite.all()
    hidden = call(mask=(np.arange(30) < 29)[None, None, None])
    wanted = means(hidden, 0, 1)
    hidden.key[0, 0, 29, 3] = bad
    found = means(hidden, 0, 1)
    assert found.finite.all()
    assert values(found) == pytest.approx(values(wanted), rel=1e-5)


def test_a_large_common_shift_costs_no_digits() -> None:
    """Keys with a mean of a thousand deviations have the row variance that they have without it."""
    one = call()
    moved = Call(one.query, one.key + np.float32(1024), scale=SCALE)
    assert means(moved, 0, 0).variance == pytest.approx(means(one, 0, 0).variance, rel=1e-3)


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
    assert values(means(there, 1, 1)) == pytest.approx(values(means(rounded, 1, 1)), rel=2e-5)


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
    assert values(means(there, 1, 1)) == pytest.approx(values(means(one, 1, 1)), rel=1e-4)


OTHER_SCALE = 0.3
Q, K, _ = (array.astype(np.float32) for array in arrays(8, sequences=2, heads=1, queries=20, keys=30, d=5))


def seen(one: Call) -> Seen:
    """Return what is kept of a call."""
    found = Seen(1)
    run_through([one], found, lambda _: OTHER_SCALE, lambda _: None, map)
    return found


def vectors_of(one: Call) -> BlockVectors:
    """Return what the vectors of all blocks are like."""
    found = room_for(one)
    blocks = np.arange(len(found.queries))
    look(one, blocks, np.ones(len(blocks)), SINGLE, into=found)
    return found


def test_moments_are_those_of_numpy() -> None:
    """Means and unbiased covariances of the vectors, and of a pair the products that have no bias."""
    found = vectors_of(Call(Q, K + 2))
    for mean, spread, vectors in ((found.query, found.of_query, Q), (found.key, found.of_key, K + 2)):
        assert mean == pytest.approx(vectors[:, 0].mean(axis=1), rel=1e-5)
        for place in (0, 1):
            assert spread[place] == pytest.approx(np.cov(vectors[place, 0].T), rel=1e-4, abs=1e-6)
    pairs = seen(Call(Q, K + 2)).new_pairs
    assert pairs is not None
    product = float(found.key[0] @ found.key[1]) / 5
    assert pairs.key_mean[0, 0] == pytest.approx(product)
    assert pairs.key_variance[0, 0] == pytest.approx(float(((K + 2) ** 2).mean()) - product, rel=1e-5)
    one, other = found.of_query
    wanted = np.trace(one) * np.trace(other) / (5 * np.sum(one * other))
    assert pairs.query_dimension[0, 0] == pytest.approx(wanted)


def test_independence_is_over_scores_with_the_other_sequence() -> None:
    """The mean over queries of the variance over their own keys, over that of the other sequence's."""
    own, crossed = (
        np.mean(
            [
                (OTHER_SCALE * Q[one, 0] @ (K[other, 0] + 2).T).var(axis=1, ddof=1).mean()
                for one, other in some
            ]
        )
        for some in (((0, 0), (1, 1)), ((0, 1), (1, 0)))
    )
    pairs = seen(Call(Q, K + 2)).new_pairs
    assert pairs is not None
    assert pairs.independence[0, 0] == pytest.approx(float(own / crossed), rel=1e-5)


def test_keys_that_no_query_sees_do_not_count() -> None:
    """Padding may hold anything, as may what a bias hides and what lies beyond the last causal query."""
    wanted = vectors_of(Call(Q, K[:, :, :20]))
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
        found = vectors_of(Call(Q, padded, **one))
        assert (found.keys == 20).all()
        assert found.of_key == pytest.approx(wanted.of_key)
    nothing = vectors_of(Call(Q, K, mask=np.zeros((1, 1, 1, 30), dtype=bool)))
    assert (nothing.keys == 0).all()
    assert np.isnan(nothing.key).all()


def test_rows_of_padding_are_in_no_statistic() -> None:
    """Of tokens whose own key the mask hides from all, queries count as little as keys; they are compared."""
    one = call(mask=np.arange(30) < 25)
    square = Call(one.query[:, :, :30], one.key, scale=SCALE, mask=(np.arange(30) < 25)[None, None, None])
    short = Call(one.query[:, :, :25], one.key[:, :, :25], scale=SCALE)
    assert values(means(square, 1, 2)) == pytest.approx(values(means(short, 1, 2)))
    assert means(square, 1, 2).padding == [5]
    spoiled = Call(
        np.where(np.arange(30)[:, None] < 25, square.query, 1e3), one.key, scale=SCALE, mask=square.mask
    )
    assert values(means(spoiled, 1, 2))[:-1] == pytest.approx(values(means(short, 1, 2))[:-1])


BOUNDED: dict[str, OfKeys] = {
    "entropy": references.entropy_share,
    "squares": references.squares,
    "jacobian": references.jacobian,
    "largest": references.largest_weight,
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
    assert math.isnan(references.largest_weight(4096))
    assert math.isnan(over_rows(references.largest_weight, (16, 4096), (1, 1)))
