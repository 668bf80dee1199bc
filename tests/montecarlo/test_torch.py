"""Attention, distributions and statistics in PyTorch: those of NumPy, but for single precision."""

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.strategies import FALSE_ALARM
from verify.engine.binding import bound
from verify.engine.catalogue import catalogue
from verify.montecarlo import devices
from verify.montecarlo.attention import attention, gradients, probabilities
from verify.montecarlo.blocks import Cell, Chunk, draw_chunk
from verify.montecarlo.devices import Device, DeviceError, OnDevice, SimulationOnDevice, find_device, moved
from verify.montecarlo.distributions import (
    CAUCHY,
    EXPONENTIAL,
    LAPLACE,
    NORMAL,
    RADEMACHER,
    UNIFORM,
    UNIT_INTERVAL,
    Array,
    Distribution,
    student_t,
)
from verify.montecarlo.experiment import Comparison, Experiment, cells_of, every_comparison
from verify.montecarlo.inputs import SharedVectors, Simulated
from verify.montecarlo.rows import BothScales, CausalRows, RowVariance, SoftmaxRows
from verify.montecarlo.statistics import EntryProducts, PairMoments, ScoreMoments, ScorePowers, Statistic
from verify.symbolic.kernel.core import Theorem

torch: Any = pytest.importorskip("torch", reason="needs the extra [torch]")

DRAWN = [NORMAL, UNIFORM, UNIT_INTERVAL, RADEMACHER, LAPLACE, EXPONENTIAL]
REDUCED = [
    ScoreMoments(),
    ScoreMoments(0.25),
    ScorePowers((1, 2, 4)),
    RowVariance(),
    SoftmaxRows(("largest", "squares", "entropy", "sharp", "jacobian", "product")),
    SoftmaxRows(("entropy", "jacobian"), 1 / 4),
    BothScales(),
    CausalRows((2, 5, 12), 1 / 4),
]


def numbers(seed: int = 3) -> devices.Numbers:
    """Return numbers of the processor's generator in PyTorch."""
    return devices.Numbers(torch, "cpu", seed)


@pytest.mark.parametrize("distribution", DRAWN, ids=lambda one: one.name)
@pytest.mark.parametrize(("loc", "scale"), [(0, 1), (2, -3)])
def test_components_have_the_stated_moments(distribution: Distribution, loc: int, scale: int) -> None:
    """Up to the second; the fourth bounds how far a sample's may be. Two samples are not the same."""
    moved = distribution.moved(loc, scale)
    drawn = devices.vectors_of(numbers(), moved, 2, 100_001).double().numpy()
    bound = stats.norm.isf(FALSE_ALARM / 2)
    _, first, second, _, fourth = map(float, moved.moments(4))
    for half in drawn:
        count = half.size
        assert abs(half.mean() - first) < bound * math.sqrt((second - first**2) / count) + 1e-6
        assert abs((half**2).mean() - second) <= bound * math.sqrt((fourth - second**2) / count) + 1e-5
    assert not np.array_equal(*drawn)


@pytest.mark.parametrize("distribution", DRAWN[:1] + DRAWN[4:], ids=lambda one: one.name)
def test_tails_are_those_of_the_distribution(distribution: Distribution) -> None:
    """The largest of two samples that NumPy and PyTorch draw are compatible, by Kolmogorov and Smirnov."""
    here = distribution.draw(np.random.default_rng(1), (20_000,))
    there = devices.vectors_of(numbers(), distribution, 20_000).double().numpy()
    assert stats.ks_2samp(here, there).pvalue > FALSE_ALARM


@pytest.mark.parametrize("statistic", REDUCED, ids=repr)
def test_statistics_are_those_of_the_array_code(statistic: Statistic) -> None:
    """For the same queries and keys, to the rounding of single precision."""
    source = Simulated(NORMAL, EXPONENTIAL, 6, 12, 16)
    queries, keys = devices.queries_and_keys(numbers(), source, 50)
    found = devices.reduce(torch, statistic, queries, keys)
    assert found.dtype == torch.float64
    expected = statistic.reduce(queries.double().numpy(), keys.double().numpy())
    assert found.shape == (50, len(statistic.names))
    assert np.allclose(found.numpy(), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("gap", [1.0, 6.0, 12.0, 20.0])
def test_nothing_cancels_in_rows_that_are_nearly_one_hot(gap: float) -> None:
    """Of two keys the Jacobian's squared norm is 4p²(1 - p)², which is 1e-16 where p is 5e-9."""
    queries, keys = torch.ones(1, 1, 1), torch.tensor([[[0.0], [-gap]]])
    ((norm, product),) = devices.reduce(torch, SoftmaxRows(("jacobian", "product")), queries, keys).tolist()
    small = math.exp(-gap) / (1 + math.exp(-gap))
    assert product == pytest.approx(small * (1 - small), rel=1e-6)
    assert norm == pytest.approx(4 * (small * (1 - small)) ** 2, rel=1e-5, abs=1e-15)


def test_correlated_components_share_a_part() -> None:
    """As √(1 - ρ)·x + √ρ·x₀ has it: variance 1, and ρ between components of a vector, not of two."""
    queries, _ = devices.queries_and_keys(numbers(), Simulated(NORMAL, NORMAL, 2, 2, 2, 0.3), 100_000)
    found = np.corrcoef(queries.reshape(-1, 4).double().numpy().T)
    expected = np.kron(np.eye(2), np.array([[1, 0.3], [0.3, 1]]))
    assert np.abs(found - expected).max() < 6 / math.sqrt(100_000)


def test_what_is_not_known_there_is_not_drawn_there() -> None:
    """Distributions without a counterpart, other inputs, and other statistics."""
    assert all(devices.can_draw(Simulated(one.moved(1, 2), NORMAL, 2, 2, 2)) for one in DRAWN)
    for other in (CAUCHY, student_t(9)):
        assert not devices.can_draw(Simulated(NORMAL, other, 2, 2, 2))
    only_called_normal = Distribution("normal", NORMAL.base_moments, CAUCHY.fill)
    assert not devices.can_draw(Simulated(only_called_normal, NORMAL, 2, 2, 2))
    assert not devices.can_draw(SharedVectors(NORMAL, 2, 2))
    assert all(devices.can_reduce(one) for one in REDUCED)
    assert not devices.can_reduce(EntryProducts())
    assert not devices.can_reduce(PairMoments())


def derived_and_measured(name: str) -> tuple[list[Theorem], tuple[Comparison, ...]]:
    """Return the theorems of a claim and its checks."""
    claim = catalogue()[name]
    derivation = claim.derived()
    theorems = [one.theorem for one in derivation.examine().routes if one.theorem]
    return theorems, claim.measured_by(derivation, 0.05).checks


CARD = Device("cuda", "Card", "PyTorch 2")


def cell(d: int = 16, device: Device | None = None) -> Cell:
    """Return a cell that the processor, or another device, draws as one."""
    sampler = OnDevice(Simulated(NORMAL, NORMAL, 8, 8, d), ScoreMoments(), device or find_device("cpu"))
    return Cell("there", sampler.settings, sampler, sampler.batch_coordinates)


def test_a_chunk_is_the_same_by_any_number_of_threads() -> None:
    """To the last bit; another batch, another cell and another seed are others."""
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            found.append(draw_chunk(cell(), Chunk(1, "claim", 0, 2)).to_bytes())
    finally:
        torch.set_num_threads(threads)
    assert found[0] == found[1]
    shift = draw_chunk(cell(), Chunk(1, "claim", 0, 1)).shift
    firsts = [
        draw_chunk(one, Chunk(seed, "claim", batch, batch + 1, shift=shift)).first[0]
        for one, seed, batch in (
            (cell(), 1, 0),
            (cell(), 1, 1),
            (cell(), 2, 0),
            (replace(cell(), id="x"), 1, 0),
        )
    ]
    assert len(set(firsts)) == 4


def test_block_vectors_are_those_of_the_distribution() -> None:
    """The mean score is 0 and the mean square d, within five standard errors."""
    values = cell().sampler.sample(np.random.default_rng(1), 20_000)
    assert values.shape == (20_000, 2)
    assert values.dtype == np.float64
    error = values.std(axis=0) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - (0, 16)) < 5 * error).all()


def test_cells_are_moved_wherever_they_stand() -> None:
    """In checks, in fits' members and in controls; each says what draws it, and keeps its id."""
    claim = catalogue()["score-variance"]
    before = claim.measured_by(claim.derived(), 0.05)
    after = moved(before, CARD)
    cells = cells_of(every_comparison(after))
    assert {type(one.sampler) for one in cells} == {SimulationOnDevice}
    assert {dict(one.settings)["generator"] for one in cells} == {CARD.generator}
    assert [one.id for one in cells] == [one.id for one in cells_of(every_comparison(before))]
    assert [one.id for one in after.checks] == [one.id for one in before.checks]
    assert all(one.settings == one.sampler.settings for one in cells)


def test_a_cell_is_another_one_on_another_device() -> None:
    """So what is stored for one is none for the other; and it goes to another process as it is."""
    here, there = cell(), cell(device=CARD)
    assert pickle.dumps(here) != pickle.dumps(there)
    assert pickle.loads(pickle.dumps(there)) == there  # noqa: S301 - its own
    with pytest.raises(DeviceError, match="cuda: "):
        there.sampler.sample(np.random.default_rng(1), 1)


@pytest.mark.parametrize("name", ["correlated-components"])
def test_what_a_device_measures_is_bound_as_here(name: str) -> None:
    """On draws of the device's own."""
    theorems, checks = derived_and_measured(name)
    there = moved(Experiment(checks, ()), find_device("cpu")).checks
    assert bound(name, theorems, there) == bound(name, theorems, checks) != ()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no card")
def test_a_card_draws_the_same_twice_and_what_is_predicted() -> None:
    """The mean square of scores is d, and a batch is a function of its stream."""
    sampler = cell(64, find_device("cuda")).sampler
    first, again = (sampler.sample(np.random.default_rng(1), 4096) for _ in range(2))
    assert np.array_equal(first, again)
    error = first.std(axis=0) / np.sqrt(len(first))
    assert (np.abs(first.mean(axis=0) - (0, 64)) < 5 * error).all()


def drawn() -> tuple[Array, Array, Array, Array]:
    """Return queries, keys, values and a gradient at the output, for a batch of two heads."""
    rng = np.random.default_rng(1)
    shapes = ((2, 6, 8), (2, 6, 8), (2, 6, 5), (2, 6, 5))
    queries, keys, values, upstream = (rng.normal(size=shape) for shape in shapes)
    return queries, keys, values, upstream


@pytest.mark.parametrize("masked", ["not", "causal", "padding"])
@pytest.mark.parametrize("scale", [None, 1.0, 0.125])
def test_output(masked: str, scale: float | None) -> None:
    """The same output to rounding, at the default scale and others, with and without a mask."""
    queries, keys, values, _ = drawn()
    allowed = np.ones((6, 6), dtype=bool)
    if masked == "causal":
        allowed = np.tril(allowed)
    if masked == "padding":
        allowed[:, -2:] = False
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(one) for one in (queries, keys, values)),
        attn_mask=None if masked == "not" else torch.from_numpy(allowed),
        scale=scale,
    )
    mask = np.where(allowed, 0.0, -np.inf)
    ours = attention(queries, keys, values, 8**-0.5 if scale is None else scale, mask)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-10, atol=1e-12)


def test_gradients() -> None:
    """The derived gradients are those of automatic differentiation."""
    queries, keys, values, upstream = drawn()
    leaves = [torch.from_numpy(one).requires_grad_() for one in (queries, keys, values)]
    output = torch.nn.functional.scaled_dot_product_attention(*leaves)
    output.backward(torch.from_numpy(upstream))
    weights = probabilities(queries, keys, 8**-0.5)
    ours = gradients(queries, keys, values, weights, upstream, 8**-0.5)
    for mine, leaf in zip((ours.queries, ours.keys, ours.values), leaves, strict=True):
        np.testing.assert_allclose(mine, leaf.grad.numpy(), rtol=1e-10, atol=1e-12)
