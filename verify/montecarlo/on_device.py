"""Blocks drawn and reduced on a device: a graphics card, or the processor by the same code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verify.montecarlo import tensors
from verify.montecarlo.devices import GENERATOR, Device, computing_on
from verify.montecarlo.experiment import Comparison, Control, Exact, Experiment, Fit, Quantity
from verify.montecarlo.reduced import Reduced

if TYPE_CHECKING:
    import numpy as np

    from verify.montecarlo.blocks import Cell, Settings
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.inputs import Simulated

_BATCH_COORDINATES = 1 << 21
"""Coordinates of a batch: few take a card no longer than it takes to begin."""

_BATCH_NUMBERS = 1 << 28
"""Numbers that are in memory at once, at most: 1 GiB in single precision."""

_BITS = 63


@dataclass(frozen=True)
class OnDevice(Reduced):
    """The blocks of an input and a statistic, drawn on a device by its own generator.

    The seed of a batch there is the first number of its stream here. On ``cpu``, PyTorch takes 32 bits of it:
    among 10,000 batches two are the same in one case of 86.
    """

    input: Simulated
    device: Device

    @property
    def settings(self) -> Settings:
        """What is drawn, what is made of it, and which generator draws."""
        return (*super().settings, (GENERATOR, self.device.generator))

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return 3 * self.input.held + self.statistic.copies * self.input.shape.m * self.input.shape.n

    @property
    def batch_coordinates(self) -> int:
        """Coordinates of a batch that the device has room for."""
        blocks = min(_BATCH_COORDINATES // self.coordinates, _BATCH_NUMBERS // self.held)
        return max(1, blocks) * self.coordinates

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the block vectors of ``count`` independent blocks, shape (count, names).

        Raises:
            DeviceError: this machine has another device of that name, or PyTorch fails there.
        """
        seed = int(rng.integers(2**_BITS))
        with computing_on(self.device) as torch:
            numbers = tensors.Numbers(torch, self.device.name, seed)
            drawn = tensors.queries_and_keys(numbers, self.input, count)
            vectors: Array = tensors.reduce(torch, self.statistic, *drawn).cpu().numpy()
        return vectors


def moved(experiment: Experiment, device: Device) -> Experiment:
    """Return the experiment with all cells drawn on ``device`` that can be; the others stay as they are."""

    def of(comparison: Comparison) -> Comparison:
        if isinstance(comparison, Exact):
            return comparison
        if isinstance(comparison, Fit):
            return replace(comparison, members=tuple(map(of_quantity, comparison.members)))
        return of_quantity(comparison)

    def of_quantity(quantity: Quantity) -> Quantity:
        return replace(quantity, cell=_moved(quantity.cell, device))

    def of_control(control: Control) -> Control:
        return replace(control, comparison=of(control.comparison))

    return Experiment(tuple(map(of, experiment.checks)), tuple(map(of_control, experiment.controls)))


def _moved(cell: Cell, device: Device) -> Cell:
    drawn = cell.sampler
    if type(drawn) is not Reduced or not tensors.can_reduce(drawn.statistic):
        return cell
    source = drawn.input
    if not tensors.can_draw(source):
        return cell
    there = OnDevice(source, drawn.statistic, device)
    recorded = (*cell.settings, (GENERATOR, device.generator))
    return replace(cell, settings=recorded, sampler=there, batch_coordinates=there.batch_coordinates)
