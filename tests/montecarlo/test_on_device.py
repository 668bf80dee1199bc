"""Cells drawn on a device: by a generator that they name, the same by any number of threads."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from verify.engine.catalogue import catalogue
from verify.montecarlo.blocks import Cell, Chunk, draw_chunk
from verify.montecarlo.devices import Device, DeviceError, OnDevice, find_device, moved
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.experiment import cells_of, every_comparison
from verify.montecarlo.inputs import Simulated
from verify.montecarlo.statistics import ScoreMoments

torch: Any = pytest.importorskip("torch")

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


def test_a_batch_has_room() -> None:
    """A batch is larger than the processor's, but no block of a hundred million scores comes twice."""
    assert cell().batch_blocks == 2**21 // 256
    wide = OnDevice(Simulated(NORMAL, NORMAL, 8192, 8192, 1), ScoreMoments(), CARD)
    assert wide.batch_coordinates == wide.coordinates


def test_cells_are_moved_wherever_they_stand() -> None:
    """In checks, in fits' members and in controls; each says what draws it, and keeps its id."""
    claim = catalogue()["score-variance"]
    before = claim.experiment(claim.derive(), 0.05)
    after = moved(before, CARD)
    cells = cells_of(every_comparison(after))
    assert {type(one.sampler) for one in cells} == {OnDevice}
    assert {dict(one.settings)["generator"] for one in cells} == {CARD.generator}
    assert [one.id for one in cells] == [one.id for one in cells_of(every_comparison(before))]
    assert [one.id for one in after.checks] == [one.id for one in before.checks]
    assert all(one.settings == one.sampler.settings for one in cells)


def test_what_cannot_be_drawn_there_stays() -> None:
    """Without a word of a device among its settings."""
    claim = catalogue()["rotary-positions"]
    before = claim.experiment(claim.derive(), 0.05)
    assert moved(before, CARD) == before


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
