"""Devices as a setting of a run: found, put on record, and what is wrong with them as one line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from verify import evidence
from verify.errors import SettingsError
from verify.montecarlo.devices import Device, DeviceError, find_device, moved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.montecarlo.experiment import Experiment


@contextmanager
def device_errors() -> Iterator[None]:
    """Report what is wrong with a device as a setting that cannot be."""
    try:
        yield
    except DeviceError as error:
        raise SettingsError(f"--device {error}") from error


def recorded(device: object) -> evidence.Device:
    """Return what goes on record of the device that has this name.

    Raises:
        SettingsError: there is none.
    """
    if not isinstance(device, str):
        raise SettingsError(f"device {device!r}: give its name, such as 'cuda'")
    with device_errors():
        return evidence.Device.model_validate(vars(find_device(device)))


def on_device(experiment: Experiment, device: evidence.Device | None) -> Experiment:
    """Return the experiment as ``device`` draws it; without one, as it is."""
    return experiment if device is None else moved(experiment, Device(**dict(device)))
