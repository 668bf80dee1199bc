"""Reads recordings: NumPy archives, safetensors files and folders, one layer's batch at a time."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from verify.auditing.arrays import HALF
from verify.auditing.intention import scale_expression
from verify.auditing.recording import Call, Intended, Layer, Recording
from verify.auditing.shapes import ARRAYS, FLOATING, Described, check_shapes
from verify.auditing.stored import WANTED, Archive, Stored, open_archive
from verify.errors import RecordingError, SettingsError, unknown, what_is_wrong
from verify.evidence.audits import Origin
from verify.evidence.records import Record
from verify.evidence.texts import Code, Count, Line, Many, Named
from verify.files.reading import MEGABYTE, Kind, read_text
from verify.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

INDEX = "recording.json"
_NUMBERS = ("scale", "causal", "softcap")
_KEYS = (*ARRAYS, *_NUMBERS, "intended")
_AN_INDEX = Kind(32 * MEGABYTE, RecordingError, "give the folder of a recording, which is written at its end")


class StoredIntention(Record):
    """The intended scale of a layer; see `Intended`."""

    expression: Code
    origin: Origin
    where: Line = ""


class StoredLayer(Record):
    """One layer of a recording in a folder; see `Layer`. ``files`` has a file for each call."""

    name: Line
    files: Many[Line]
    intended: StoredIntention | None = None
    width: Count | None = None
    backend: Line = ""
    padded: Named[Count] = Field(default_factory=dict)
    notes: Many[Line] = ()


class Index(Record):
    """What ``recording.json`` says; see `Recording`."""

    schema_version: Literal[1] = Field(default=1, alias="recording_schema")
    source: Line
    layers: Many[StoredLayer]
    left_out: Many[Line] = ()


def load(path: Path) -> Recording:
    """Describe a recording: a NumPy archive, a safetensors file, or a folder with ``recording.json``.

    In a file, arrays of shape [sequence, head, token, d] have the keys ``q`` and ``k`` and, where there are
    any, ``v``, ``out``, ``mask`` (True where a key may be seen), ``bias`` and ``sink``; ``scale``,
    ``softcap`` and ``causal`` are one number each, ``intended`` is a number or an expression. Several layers
    have keys such as ``NAME/q``. Only names, shapes and numbers are read; arrays are as a layer's calls are
    run through.

    Raises:
        RecordingError: it is missing, no regular file, cut short, holds objects, or its arrays do not fit.
    """
    try:
        path = Path(path)
        is_folder = path.is_dir()
    except (TypeError, ValueError) as error:
        raise RecordingError(f"{path!r}: is not a path; {WANTED}") from error
    return _of_folder(path) if is_folder else _of_file(path)


def _of_file(path: Path) -> Recording:
    layers = [_layer(one) for one in _bundles(open_archive(path))]
    if not layers:
        raise RecordingError(f"{path}: holds no arrays; give q and k at least")
    return Recording(source=one_line(path.name), layers=layers)


def _of_folder(path: Path) -> Recording:
    index = _read_index(path / INDEX)
    layers = []
    for stored in index.layers:
        bundles = [_only_bundle(path, name) for name in stored.files]
        _check_same(stored.name, bundles)
        intended = None if stored.intended is None else Intended(**stored.intended.model_dump())
        layers.append(
            Layer(
                name=stored.name,
                calls=_Calls(tuple(bundles)),
                intended=intended,
                width=stored.width,
                backend=stored.backend,
                padded=stored.padded,
                notes=stored.notes,
            )
        )
    return Recording(source=index.source, layers=layers, left_out=index.left_out)


def _read_index(path: Path) -> Index:
    text = read_text(path, _AN_INDEX)
    try:
        return Index.model_validate(json.loads(text))
    except (ValidationError, ValueError, RecursionError) as error:
        raise RecordingError(
            f"{path}: is not what a recording writes ({what_is_wrong(error)}); record again"
        ) from error


@dataclass(frozen=True)
class _Bundle:
    """The arrays and numbers of one call in a file, by their keys without the layer's name."""

    place: str
    name: str
    stored: Mapping[str, Stored]
    texts: Mapping[str, str]

    def number(self, key: str) -> float | None:
        """Return a number of the call, None where it has none."""
        if key not in self.stored:
            return None
        given = self.stored[key].described
        if math.prod(given.shape) != 1 or given.dtype not in ("bool", "int32", "int64", "uint8", *FLOATING):
            raise RecordingError(f"{self.place}: {key} is an array of {given.dtype}; give one number")
        value = float(self.stored[key].read().reshape(()))
        if not math.isfinite(value):
            raise RecordingError(f"{self.place}: {key} is {value}; give a finite number, or none")
        return value

    def intended(self) -> str | None:
        """Return the intended scale as it is written, None where nothing is."""
        if "intended" in self.texts:
            return self.texts["intended"]
        if "intended" in self.stored and self.stored["intended"].described.dtype.startswith("str"):
            given = self.stored["intended"].read()
            if given.size != 1:
                raise RecordingError(f"{self.place}: intended is an array of texts; give one expression")
            return str(given.reshape(()))
        number = self.number("intended")
        return None if number is None else repr(number)

    def call(self) -> Call:
        """Read the call."""
        arrays = {field: self.stored[key].read() for key, field in ARRAYS.items() if key in self.stored}
        return Call(
            **arrays,
            scale=self.number("scale"),
            softcap=self.number("softcap"),
            causal=bool(self.number("causal")),
            dtype=HALF if self.stored["q"].described.dtype == HALF else "",
        )

    @property
    def described(self) -> dict[str, Described]:
        """What the arrays are, by their keys."""
        return {key: one.described for key, one in self.stored.items() if key in ARRAYS}


@dataclass(frozen=True)
class _Calls:
    """The calls of a layer, each read as it is come to; they can be run through again."""

    bundles: Sequence[_Bundle]

    def __iter__(self) -> Iterator[Call]:
        return (one.call() for one in self.bundles)

    def __len__(self) -> int:
        return len(self.bundles)


def _bundles(archive: Archive) -> list[_Bundle]:
    """Return the layers of a file in the natural order of their names, each checked."""
    stored: dict[str, dict[str, Stored]] = {}
    for key, array in archive.arrays.items():
        name, _, last = key.rpartition("/")
        if last not in _KEYS:
            raise RecordingError(f"{archive.path}: {_unknown_key(key, archive)}")
        stored.setdefault(name, {})[last] = array
    bundles = []
    for name in sorted(stored, key=_natural):
        place = one_line(f"{archive.path}: layer {name}" if name else str(archive.path))
        texts = {
            key: archive.texts[full]
            for key in ("intended",)
            if (full := f"{name}/{key}" if name else key) in archive.texts
        }
        bundle = _Bundle(place, one_line(name) or one_line(archive.path.stem), stored[name], texts)
        check_shapes(bundle.described, place)
        bundles.append(bundle)
    return bundles


def _unknown_key(key: str, archive: Archive) -> str:
    """Return what is wrong with a file that has such a key; where q or k is missing, that comes first."""
    known = ", ".join(_KEYS)
    missing = {"q", "k"} - {one.rpartition("/")[2] for one in archive.arrays}
    if missing:
        has = " and no ".join(one for one in ("q", "k") if one in missing)
        return f"has no {has}, but a key {key!r}; the keys are {known}"
    return unknown("key", key, _KEYS, f"the keys are {known}")


def _only_bundle(folder: Path, name: str) -> _Bundle:
    if Path(name).name != name:
        raise RecordingError(f"{folder / INDEX}: names the file {name!r} outside its folder; record again")
    bundles = _bundles(open_archive(folder / name))
    if len(bundles) != 1:
        raise RecordingError(f"{folder / name}: holds {len(bundles)} layers instead of one; record again")
    return bundles[0]


def _check_same(layer: str, bundles: Sequence[_Bundle]) -> None:
    """Refuse batches of a layer that differ in heads or d."""
    if not bundles:
        raise RecordingError(f"layer {layer}: has no calls; record again")
    first = bundles[0]
    for key in ("q", "k"):
        for one in bundles[1:]:
            (_, heads, _, d), (_, wanted, _, wanted_d) = (
                one.described[key].shape,
                first.described[key].shape,
            )
            if (heads, d) != (wanted, wanted_d):
                raise RecordingError(
                    f"{one.place}: {key} has {heads} heads of {d} dimensions, in {first.place} {wanted} of "
                    f"{wanted_d}; record layers of different shapes under different names"
                )


def _layer(bundle: _Bundle) -> Layer:
    for key in _NUMBERS:
        bundle.number(key)
    expression = bundle.intended()
    if expression is not None:
        try:
            scale_expression(expression)
        except SettingsError as error:
            raise RecordingError(f"{bundle.place}: {error}") from error
    intended = None if expression is None else Intended(expression, "recorded", f"intended in {bundle.place}")
    return Layer(name=bundle.name, calls=_Calls((bundle,)), intended=intended)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return what sorts layer 2 before layer 10."""
    parts: list[Any] = re.split(r"(\d{1,18})", name)
    return [(0, int(one), "") if one.isdecimal() else (1, 0, one) for one in parts]
