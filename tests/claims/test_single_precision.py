"""What is drawn and multiplied in single precision, against the same numbers in double precision."""

from typing import Any

import numpy as np
import pytest

from tests.catalogue import EACH_BY_HAND, experiment
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import Array, Distribution, stream
from verify.montecarlo.estimands import Bounded, Estimand, Smooth
from verify.montecarlo.experiment import cells_of, every_comparison, quantities_of

OF_ERROR = 0.02
"""How many standard errors of a batch, which is a few thousandths of a run, rounding may move its mean."""

OF_SIZE = 2e-6
"""And so much of itself, where blocks hardly differ."""


class Read(dict[str, Any]):
    """Outputs that remember which of them an estimand reads: no other is compared with anything.

    A mean that no estimand reads may be of a law without one, as the square of a gradient after many layers.
    """

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)
        self.read: set[str] = set()

    def note(self, estimand: Estimand) -> None:
        """Note what ``estimand`` reads: all, where it is more than a function of the means."""
        if isinstance(estimand, Smooth):
            estimand.function(self)
        elif isinstance(estimand, Bounded):
            self.read.add(estimand.output)
        else:
            self.read.update(self)

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


def _batch(cell: Cell) -> Array:
    count = max(2, cell.batch_blocks)
    values: Array = cell.sampler.sample(stream(5, "single", cell.id, 0), count)
    return values


@EACH_BY_HAND
def test_rounding_moves_no_mean(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draws in double precision have the same means, where one is read, but for part of their error.

    Training is left out: it multiplies rounding at each of its steps, and ends as another seed would.
    """
    comparisons = every_comparison(experiment(name))
    cells = [] if name == "training-stability" else cells_of(comparisons)
    single = [_batch(cell) for cell in cells]
    _in_double(monkeypatch)
    for cell, rounded in zip(cells, single, strict=True):
        exact = _batch(cell).astype(np.float64)
        mean = Read(zip(cell.sampler.names, exact.mean(axis=0), strict=True))
        for quantity in quantities_of(comparisons):
            if quantity.cell.id == cell.id:
                mean.note(quantity.estimand)
        error = exact.std(axis=0, ddof=1) / len(exact) ** 0.5
        moved = np.abs(rounded.mean(axis=0, dtype=np.float64) - np.array([*mean.values()]))
        far = moved > OF_ERROR * error + OF_SIZE * np.abs(np.array([*mean.values()]))
        assert mean.read, cell.id
        assert not mean.read & {one for one, is_far in zip(mean, far, strict=True) if is_far}, cell.id


def _in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the same numbers given in double precision from now on."""
    draw = Distribution.draw

    def drawn(*arguments: Any, **named: Any) -> Array:
        return draw(*arguments, **named).astype(np.float64)

    monkeypatch.setattr(Distribution, "draw", drawn)
