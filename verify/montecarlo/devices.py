"""Blocks drawn and reduced by PyTorch on a device: a graphics card, or the processor by the same code.

Components and scores are in single precision, sums in double. A component or score is rounded by 6e-8 of its
size, in either direction. In blocks of 1 to 512 components, what that does to the mean of each statistic was
less than 5e-7 of it, on the processor; the finest tolerance on a device is 1e-4. Exponentials of a row are
relative to its largest score, whose own is exactly 1: a row that is nearly one-hot loses nothing where 1 is
subtracted from 1. All sums, over keys, rows and blocks, are in double precision.
"""

from __future__ import annotations

import importlib
import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy

from verify.montecarlo.blocks import Cell
from verify.montecarlo.compiling import Column, Compiled
from verify.montecarlo.distributions import (
    EXPONENTIAL,
    LAPLACE,
    NORMAL,
    RADEMACHER,
    UNIFORM,
    UNIT_INTERVAL,
    Array,
    Distribution,
)
from verify.montecarlo.experiment import Exact, Experiment, Fit
from verify.montecarlo.quantities import Simulation

GENERATOR = "generator"
"""The setting of a cell that a device has drawn: by what."""

_FORM = re.compile(r"cpu|cuda(?::(?P<number>[0-9]{1,3}))?")
_GENERATORS = {"cuda": "Philox", "cpu": "Mersenne Twister"}

_one_at_a_time = threading.Lock()


class DeviceError(Exception):
    """A device cannot be used; its text is one line: the device's name, what is wrong, how to fix it."""


@dataclass(frozen=True)
class Device:
    """A device, which numbers drawn there depend on: PyTorch's ``name`` of it, and what it is.

    ``model`` is that of the card, ``library`` PyTorch with its version.
    """

    name: str
    model: str
    library: str

    @property
    def generator(self) -> str:
        """What draws there, as a cell records it."""
        return f"{_GENERATORS[self.kind]} of {self.library} on {self.model}, single precision"

    @property
    def kind(self) -> str:
        """Its name without the number of a card."""
        return self.name.partition(":")[0]


@cache
def find_device(name: str) -> Device:
    """Return the device that PyTorch calls ``cuda``, ``cuda:1`` and so on; ``cpu`` is the processor.

    Raises:
        DeviceError: it is called otherwise, PyTorch is not installed, or there is no such card.
    """
    form = _FORM.fullmatch(name)
    if form is None:
        raise DeviceError(f"{name}: give cuda, cuda:N with the number of a GPU, or cpu")
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise DeviceError(
            f"{name}: needs PyTorch; install it with `pip install 'sdpa-verify[torch]'`"
        ) from error
    library = f"PyTorch {torch.__version__}"
    if name == "cpu":
        return Device(name, "the processor", library)
    number, cards = int(form["number"] or 0), torch.cuda.device_count()
    if number >= cards:
        count = f"finds {cards} of them, counted from 0" if cards else "finds no card here"
        raise DeviceError(f"{name}: {library} {count}; leave --device out to draw on the processor")
    return Device(name, str(torch.cuda.get_device_name(number)), library)


@contextmanager
def computing_on(device: Device) -> Iterator[Any]:
    """Yield PyTorch as it computes on ``device``, one thread of this process at a time.

    Products have all the digits of single precision, and sums do not depend on the number of threads.

    Raises:
        DeviceError: this machine has another device of that name, or PyTorch fails there.
    """
    here = find_device(device.name)
    if here != device:
        raise DeviceError(
            f"{device.name}: is {here.model} with {here.library} here, but {device.model} with "
            f"{device.library} where the run began; use workers with the same"
        )
    torch: Any = importlib.import_module("torch")
    with _one_at_a_time:
        precision, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
        torch.set_float32_matmul_precision("highest")
        torch.set_num_threads(1)
        try:
            with torch.inference_mode():
                yield torch
        except RuntimeError as error:
            why = str(error).partition("\n")[0]
            raise DeviceError(f"{device.name}: PyTorch failed there ({why}); leave --device out") from error
        finally:
            torch.set_float32_matmul_precision(precision)
            torch.set_num_threads(threads)


_BATCH_COORDINATES = {"cuda": 1 << 24, "cpu": 1 << 21}
"""Coordinates of a batch: an H200 draws a batch of 2²⁴ five to eight times as fast as one of 2²¹."""

_BATCH_NUMBERS = 1 << 28  # numbers that are in memory at once, at most: 1 GiB in single precision

_BITS = 63


@dataclass(frozen=True, kw_only=True)
class SimulationOnDevice(Simulation):
    """The blocks of a simulation, drawn on a device by its own generator."""

    device: Device

    @cached_property
    def compiled(self) -> Compiled:
        """The same operations for PyTorch's arrays, without shortcuts."""
        library = importlib.import_module("array_api_compat.torch")
        return self.compiled_with((), library, self.device.name)

    @property
    def batch_coordinates(self) -> int:
        """Coordinates of a batch that the device has room for."""
        numbers = 3 * self.coordinates + self.compiled.peak
        blocks = min(_BATCH_COORDINATES[self.device.kind] // self.coordinates, _BATCH_NUMBERS // numbers)
        return max(1, blocks) * self.coordinates

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the means of all outputs in ``count`` independent blocks, shape (count, outputs).

        Raises:
            DeviceError: this machine has another device of that name, or PyTorch fails there.
        """
        with computing_on(self.device) as torch:
            numbers = Numbers(torch, self.device.name, int(rng.integers(2**_BITS)))
            drawn = zip(self.shapes.items(), self.laws, strict=True)
            draws = {name: vectors_of(numbers, law, count, *shape) for (name, shape), (_, law) in drawn}
            if self.double:
                draws = {name: values.double() for name, values in draws.items()}
            means: Array = self.means(draws, rng).cpu().numpy()
        return means


def moved(experiment: Experiment, device: Device) -> Experiment:
    """Return the experiment with all cells drawn on ``device`` that can be; the others stay as they are."""

    def of(comparison: Any) -> Any:
        if isinstance(comparison, Fit):
            return replace(comparison, members=tuple(map(of, comparison.members)))
        exact = isinstance(comparison, Exact)
        return comparison if exact else replace(comparison, cell=_moved(comparison.cell, device))

    controls = (replace(control, comparison=of(control.comparison)) for control in experiment.controls)
    return Experiment(tuple(map(of, experiment.checks)), tuple(controls))


def _moved(cell: Cell, device: Device) -> Cell:
    drawn = cell.sampler
    if type(drawn) is Simulation and can_compute(drawn):
        settings = (*drawn.settings, (GENERATOR, device.generator))
        moved_there = SimulationOnDevice(**(drawn.__getstate__() | {"settings": settings}), device=device)
        return replace(
            cell, settings=settings, sampler=moved_there, batch_coordinates=moved_there.batch_coordinates
        )
    return cell


Tensor = Any


class Numbers:
    """Random numbers of one batch, by a generator of the device's own."""

    def __init__(self, torch: Any, device: str, seed: int) -> None:
        self.torch, self._device = torch, device
        self._generator = torch.Generator(device).manual_seed(seed)

    def uniform(self, *shape: int) -> Tensor:
        """Return numbers between 0 and 1, the midpoints of 2³² equal parts rounded to single precision."""
        whole = self.torch.empty(shape, dtype=self.torch.int64, device=self._device)
        whole.random_(0, 2**32, generator=self._generator)
        return (whole.to(self.torch.float32) + 0.5) * 2.0**-32

    def exponential(self, *shape: int) -> Tensor:
        """Return exponential numbers of mean 1."""
        return -self.uniform(*shape).log()

    def normal(self, *shape: int) -> Tensor:
        """Return standard normal numbers by Box and Muller's transformation; |z| ends at 6.8."""
        size = math.prod(shape)
        half = (size + 1) // 2
        radius, angle = (2 * self.exponential(half)).sqrt(), 2 * math.pi * self.uniform(half)
        both = self.torch.cat([radius * angle.cos(), radius * angle.sin()])
        return both[:size].reshape(shape)

    def signs(self, *shape: int) -> Tensor:
        """Return -1 or 1, with equal chance."""
        return 1 - 2 * (self.uniform(*shape) < 0.5).to(self.torch.float32)


_DRAWN: dict[object, Callable[..., Tensor]] = {
    NORMAL.fill: Numbers.normal,
    UNIFORM.fill: lambda numbers, *shape: (numbers.uniform(*shape) - 0.5) * math.sqrt(12),
    UNIT_INTERVAL.fill: Numbers.uniform,
    RADEMACHER.fill: Numbers.signs,
    LAPLACE.fill: lambda numbers, *shape: (
        (numbers.exponential(*shape) - numbers.exponential(*shape)) * math.sqrt(0.5)
    ),
    EXPONENTIAL.fill: lambda numbers, *shape: numbers.exponential(*shape) - 1,
}
"""What a distribution's ``fill`` does, on a device."""


def vectors_of(numbers: Numbers, distribution: Distribution, *shape: int) -> Tensor:
    """Return independent components."""
    return _DRAWN[distribution.fill](numbers, *shape) * float(distribution.scale) + float(distribution.loc)


def can_compute(simulation: Simulation) -> bool:
    """Return whether a device can draw all families; programs' columns and some functions are NumPy's."""
    laws = {law.fill for _, law in simulation.laws}
    parts = {part for _, x in simulation.outputs for part in sympy.preorder_traversal(x)}
    is_ours = any(isinstance(part, Column) or hasattr(part, "numpy") for part in parts)
    return laws <= _DRAWN.keys() and not is_ours
