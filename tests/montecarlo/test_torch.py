"""Attention, distributions and statistics in PyTorch: those of NumPy, but for single precision."""

import importlib
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.strategies import FALSE_ALARM
from verify.engine.catalogue import catalogue
from verify.montecarlo import devices
from verify.montecarlo.blocks import Cell, Chunk, draw_chunk
from verify.montecarlo.devices import Device, DeviceError, SimulationOnDevice, find_device, moved
from verify.montecarlo.distributions import (
    CAUCHY,
    EXPONENTIAL,
    LAPLACE,
    NORMAL,
    RADEMACHER,
    UNIFORM,
    UNIT_INTERVAL,
    Distribution,
    student_t,
)
from verify.montecarlo.experiment import Experiment, Prediction, Quantity, cells_of, every_comparison
from verify.montecarlo.quantities import Simulation, measurement
from verify.symbolic.vocabulary import E, Entropy, Largest, Softmax, Var, d, j, k, m, n, q, score, squares

torch: Any = pytest.importorskip("torch", reason="needs the extra [torch]")

DRAWN = [NORMAL, UNIFORM, UNIT_INTERVAL, RADEMACHER, LAPLACE, EXPONENTIAL]
QUANTITIES = {
    "square": E(score**2),
    "fourth": E(score**4),
    "size": E(abs(score)),
    "largest": E(Largest(Softmax(score, j), j)),
    "squares": E(squares(score / 4)),
    "entropy": E(Entropy(score / 4, j)),
}


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


def test_means_are_those_of_the_array_code() -> None:
    """For the same queries and keys, to the rounding of single precision."""
    here, _ = measurement(
        "here", QUANTITIES, {q: NORMAL, k: EXPONENTIAL}, {d: 16, m: 6, n: 12}, tolerance=0.1
    )
    assert isinstance(here.sampler, Simulation)
    draws = {
        "q": devices.vectors_of(numbers(), NORMAL, 50, 6, 16),
        "k": devices.vectors_of(numbers(4), EXPONENTIAL, 50, 12, 16),
    }
    library = importlib.import_module("array_api_compat.torch")
    found = here.sampler.compiled_with((), library, "cpu").run(draws, np.random.default_rng(1))
    doubled = {name: values.double().numpy() for name, values in draws.items()}
    expected = here.sampler.compiled.run(doubled, np.random.default_rng(1))
    assert found.dtype == torch.float64
    assert found.shape == (50, len(here.sampler.names))
    assert np.allclose(found.numpy(), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "law", [CAUCHY, student_t(9), replace(NORMAL, fill=CAUCHY.fill)], ids=lambda law: law.name
)
def test_a_law_that_is_not_known_there_is_not_drawn_there(law: Distribution) -> None:
    """A cell of such a law stays where it is."""
    here, estimands = measurement("here", {"size": E(abs(score))}, {q: NORMAL, k: law}, {d: 2}, tolerance=0.1)
    check = Quantity("size", "E", here, estimands["size"], Prediction(1.0, "1"))
    assert cells_of(moved(Experiment((check,), ()), find_device("cpu")).checks) == [here]


CARD = Device("cuda", "Card", "PyTorch 2")


def cell(size: int = 16, device: Device | None = None) -> Cell:
    """Return a cell that the processor, or another device, draws as one."""
    at = {d: size, m: 8, n: 8}
    here, estimands = measurement(
        "there", {"variance": Var(score)}, {q: NORMAL, k: NORMAL}, at, tolerance=0.1
    )
    check = Quantity("variance", "Var", here, estimands["variance"], Prediction(float(size), str(size)))
    (there,) = cells_of(moved(Experiment((check,), ()), device or find_device("cpu")).checks)
    return there


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no card")
def test_a_card_draws_the_same_twice_and_what_is_predicted() -> None:
    """The mean square of scores is d, and a batch is a function of its stream."""
    sampler = cell(64, find_device("cuda")).sampler
    first, again = (sampler.sample(np.random.default_rng(1), 4096) for _ in range(2))
    assert np.array_equal(first, again)
    error = first.std(axis=0) / np.sqrt(len(first))
    assert (np.abs(first.mean(axis=0) - (0, 64)) < 5 * error).all()
