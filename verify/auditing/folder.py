"""Writes recordings: a folder with one safetensors file for each layer and call, and ``recording.json``."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.arrays import as_stored, packed
from verify.auditing.files import INDEX, Index, StoredIntention, StoredLayer
from verify.auditing.shapes import ARRAYS, check_call
from verify.errors import OutputError, RecordingError
from verify.files.writing import check_writable, write_together, write_whole
from verify.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verify.auditing.recording import Call, Layer, Recording


def write(recording: Recording, folder: Path) -> None:
    """Write a recording into a folder, one call at a time, ``recording.json`` last.

    Raises:
        OutputError: the folder holds a recording already, or cannot be written.
        RecordingError: arrays of a call do not fit each other, or two layers have one name.
    """
    for name, count in Counter(layer.name for layer in recording.layers).items():
        if count > 1:
            raise RecordingError(f"layer {name}: is the name of two layers; give each its own")
    writer = FolderWriter(folder)
    for layer in recording.layers:
        for call in layer.calls:
            writer.add(layer.name, call)
    writer.finish(recording)


@dataclass
class FolderWriter:
    """Writes calls as they are made; without `finish` the folder is no recording."""

    folder: Path
    _files: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if os.path.lexists(self.folder / INDEX):
            raise OutputError(
                f"{self.folder}: holds a recording already; remove it, or choose another folder with --out"
            )
        check_writable(self.folder, INDEX)

    def add(self, name: str, call: Call) -> None:
        """Write one call of the layer of this name."""
        check_call(call, f"layer {name}")
        written = self._files.setdefault(name, [])
        number = list(self._files).index(name)
        file = f"{number:04d}-{len(written):04d}.safetensors"
        write_together({self.folder / file: _serialized(call)}, durably=False)
        written.append(file)

    def finish(self, recording: Recording) -> None:
        """Write ``recording.json``, which makes the folder a recording."""
        index = Index(
            source=one_line(recording.source),
            layers=tuple(_described(layer, self._files.get(layer.name, ())) for layer in recording.layers),
            left_out=tuple(map(one_line, recording.left_out)),
        )
        text = index.model_dump_json(by_alias=True, indent=1) + "\n"
        write_whole(self.folder / INDEX, text.encode())


def _described(layer: Layer, files: Sequence[str]) -> StoredLayer:
    meant = layer.intended
    return StoredLayer(
        name=one_line(layer.name),
        files=tuple(files),
        intended=meant
        and StoredIntention(expression=meant.expression, origin=meant.origin, where=one_line(meant.where)),
        width=layer.width,
        backend=one_line(layer.backend),
        padded=dict(layer.padded),
        notes=tuple(map(one_line, layer.notes)),
    )


def _serialized(call: Call) -> bytes:
    """Return the safetensors file of one call."""
    arrays = {key: getattr(call, name) for key, name in ARRAYS.items()}
    numbers = {"scale": call.scale, "softcap": call.softcap, "causal": call.causal or None}
    content = {key: as_stored(array, call.dtype) for key, array in arrays.items() if array is not None}
    content |= {key: as_stored(np.float64(number)) for key, number in numbers.items() if number is not None}
    return packed(content)
