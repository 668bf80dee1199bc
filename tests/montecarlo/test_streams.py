"""Random streams: a function of what is drawn, and of nothing else."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.strategies import FALSE_ALARM, examples
from verify.montecarlo.distributions import stream

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
PLACES = st.tuples(st.integers(0, 2**64), NAMES, NAMES, st.integers(0, 2**20))

PINNED = [759511605, 1483611121, 1564504643]

PROGRAM = (
    "from verify.montecarlo.distributions import stream\n"
    "print(stream(7, 'claim', 'cell', 3).random(4).tolist())"
)


@examples(50)
@given(PLACES)
def test_the_same_place_gives_the_same_numbers(place: tuple[int, str, str, int]) -> None:
    """A stream is a pure function of seed, claim, cell and batch."""
    assert np.array_equal(stream(*place).random(5), stream(*place).random(5))


@examples(100)
@given(PLACES, PLACES)
def test_another_place_gives_other_numbers(
    one: tuple[int, str, str, int], two: tuple[int, str, str, int]
) -> None:
    """Two places share no stream; 256 bits agree by chance with probability 2⁻²⁵⁶."""
    same = np.array_equal(stream(*one).integers(2**63, size=4), stream(*two).integers(2**63, size=4))
    assert same == (one == two)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((8, "claim", "cell", 3), id="seed"),
        pytest.param((7 + 2**32, "claim", "cell", 3), id="seed-beyond-32-bits"),
        pytest.param((7, "claim2", "cell", 3), id="claim"),
        pytest.param((7, "claim", "cell2", 3), id="cell"),
        pytest.param((7, "claimcell", "", 3), id="boundary-between-the-names"),
        pytest.param((7, "cell", "claim", 3), id="names-exchanged"),
        pytest.param((7, "claim", "cell", 4), id="batch"),
    ],
)
def test_every_part_of_the_place_counts(other: tuple[int, str, str, int]) -> None:
    """Seed, claim, cell and batch each change the stream."""
    assert not np.array_equal(stream(7, "claim", "cell", 3).random(4), stream(*other).random(4))


@pytest.mark.parametrize("salt", ["0", "1", "random"])
def test_independent_of_pythons_hash_salt(salt: str) -> None:
    """Another process with another hash seed draws the same numbers, bit for bit."""
    environment = {**os.environ, "PYTHONHASHSEED": salt}
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True
    )
    assert shown.stdout.strip() == str(stream(7, "claim", "cell", 3).random(4).tolist())


def test_the_numbers_are_pinned() -> None:
    """Published results must stay reproducible: a change of the stream is a change of every result."""
    assert stream(20170612, "score-variance", "d64", 0).integers(2**32, size=3).tolist() == PINNED


@pytest.mark.parametrize(
    "other",
    [(7, "claim", "cell", 1), (7, "claim", "cell2", 0), (7, "claim2", "cell", 0), (8, "claim", "cell", 0)],
)
def test_neighbouring_streams_are_not_correlated(other: tuple[int, str, str, int]) -> None:
    """Products of two streams' normals average to zero, within the central limit bound at 1e-6."""
    one, two = (stream(*place).standard_normal(100_000) for place in ((7, "claim", "cell", 0), other))
    assert abs(float((one * two).mean())) <= stats.norm.isf(FALSE_ALARM / 2) / 100_000**0.5
