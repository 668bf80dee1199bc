"""Devices on which PyTorch draws blocks: what they are, and that results name them."""

from __future__ import annotations

import importlib
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        kind = _GENERATORS[self.name.partition(":")[0]]
        return f"{kind} of {self.library} on {self.model}, single precision"


@cache
def find_device(name: str) -> Device:
    """Return the device that PyTorch calls ``cuda``, ``cuda:1`` and so on; ``cpu`` is the processor.

    Raises:
        DeviceError: it is called otherwise, PyTorch is not installed, or there is no such card.
    """
    form = _FORM.fullmatch(name)
    if form is None:
        raise DeviceError(f"{name}: give cuda, cuda:N with the number of a card, or cpu")
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
        found = f"finds {cards} of them, counted from 0" if cards else "finds no card here"
        raise DeviceError(f"{name}: {library} {found}; leave --device out to draw on the processor")
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
