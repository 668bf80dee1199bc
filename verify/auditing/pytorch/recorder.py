"""Keeps the attention calls of a program, in memory or in a folder, within limits and never in its way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from verify.auditing.recording import Call, Intended, Layer, Recording
from verify.auditing.shapes import ARRAYS, check_call
from verify.errors import what_is_wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verify.auditing.folder import FolderWriter

_LEARNING = (
    "gradients were wanted, so that weights may have changed between the calls, as they do in training"
)
_BY_SEQUENCE = ("query", "key", "value", "output", "mask", "bias")


@dataclass(frozen=True)
class Limits:
    """How much is kept: sequences of each layer, and bytes of all layers together."""

    sequences: int
    size: int


@dataclass(frozen=True)
class About:
    """What is known of a layer beside its calls; see `Layer`. ``notes`` are of this call."""

    backend: str = ""
    intended: Intended | None = None
    width: int | None = None
    padded: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass
class _Seen:
    """A layer as it is being recorded.

    ``shape`` is (heads, heads of keys, d); ``first`` and ``last`` are (sequences, queries, keys) of calls.
    """

    about: About
    shape: tuple[int, int, int]
    calls: list[Call] = field(default_factory=list)
    kept: int = 0
    passes: int = 0
    is_learning: bool = False
    first: tuple[int, int, int] = (0, 0, 0)
    last: tuple[int, int, int] = (0, 0, 0)
    last_key: Any = None
    notes: dict[str, None] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def said(self) -> tuple[str, ...]:
        """Return what there is to say of the layer."""
        learning = (_LEARNING,) if self.is_learning and self.passes > 1 else ()
        return (*self.notes, *learning, *_counted(self.skipped))


@dataclass
class Recorder:
    """Keeps calls by layer; what it cannot keep it counts, and says at the end.

    ``has_seen_calls`` says whether there was any call to keep.
    """

    limits: Limits
    writer: FolderWriter | None = None
    has_seen_calls: bool = False
    _layers: dict[str, _Seen] = field(default_factory=dict)
    _left_out: dict[str, int] = field(default_factory=dict)
    _written: dict[str, None] = field(default_factory=dict)
    _size: int = 0

    def leave_out(self, what: str) -> None:
        """Note in words what is not recorded; the same words are counted."""
        self._left_out[what] = self._left_out.get(what, 0) + 1

    def note_written_out(self, name: str) -> None:
        """Note that the module of this name has a softmax or scores of its own, as if attending."""
        self._written[name] = None

    def keep(self, name: str, make: Callable[[], tuple[Call, About]]) -> None:
        """Keep the call that ``make`` returns, in the layer of this name; whatever is wrong is noted.

        The program goes on as if nothing were kept.
        """
        self.has_seen_calls = True
        try:
            with torch.no_grad():
                call, about = make()
                check_call(call, name)
                self._keep(name, call, about)
        except Exception as error:  # noqa: BLE001 - nothing here may stop a program that we only look at
            self.leave_out(f"{name}: a call could not be recorded ({what_is_wrong(error)})")

    def finish(self, source: str) -> Recording:
        """Return what was recorded; in a folder, write what makes it a recording, unless it is nothing."""
        layers = [
            Layer(
                name=name,
                calls=seen.calls,
                intended=seen.about.intended,
                width=seen.about.width,
                backend=seen.about.backend,
                padded=seen.about.padded,
                notes=seen.said(),
            )
            for name, seen in self._layers.items()
            if seen.kept
        ]
        empty = [
            f"{name}: {'; '.join(_counted(seen.skipped))}"
            for name, seen in self._layers.items()
            if not seen.kept and seen.skipped
        ]
        left_out = (*_counted(self._left_out), *empty, *self._written_out())
        recording = Recording(source, layers, left_out)
        if self.writer is not None and layers:
            self.writer.finish(recording)
        return recording

    def _written_out(self) -> list[str]:
        names = [name for name in self._written if name not in self._layers]
        if not names:
            return []
        where = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        unseen = "attention that is written out is not recorded"
        return [f"{where}: a softmax, or scores times values, outside any recorded call; {unseen}"]

    def _keep(self, name: str, call: Call, about: About) -> None:
        name, seen = self._layer(name, call, about)
        reason, call = self._within_limits(seen, call)
        if reason:
            seen.skipped[reason] += 1
            return
        seen.is_learning |= bool(call.query.requires_grad)
        seen.passes += 1
        call = _copied(call)
        if self.writer is None:
            seen.calls.append(call)
        else:
            self.writer.add(name, call)
        self._size += _size(call)
        seen.kept += int(call.query.shape[0])
        seen.notes.update(dict.fromkeys(about.notes))

    def _layer(self, name: str, call: Call, about: About) -> tuple[str, _Seen]:
        """Return the layer of this name, and the name; calls of other shapes are a layer of their own."""
        shape = (heads, key_heads, d) = (call.query.shape[1], call.key.shape[1], call.query.shape[3])
        if name in self._layers and self._layers[name].shape != shape:
            name = f"{name} with {heads} heads, {key_heads} of keys, d = {d}"
        if name not in self._layers:
            self._layers[name] = _Seen(about, shape)
        return name, self._layers[name]

    def _within_limits(self, seen: _Seen, call: Call) -> tuple[str, Call]:
        """Return why a call is not kept, or as much of it as is."""
        if _continues(seen, call):
            return "continued sequences that were seen before, as generation does, and were left out", call
        left = self.limits.sequences - seen.kept
        if left <= 0:
            return f"came after the first {self.limits.sequences} sequences and were left out", call
        call = _first(call, left)
        if self._size + _size(call) > self.limits.size:
            return f"were left out, as all together would have more than {self.limits.size} bytes", call
        return "", call


def _counted(reasons: Mapping[str, int]) -> list[str]:
    return [f"{reason} ({count} calls)" if count > 1 else reason for reason, count in reasons.items()]


def _continues(seen: _Seen, call: Call) -> bool:
    """Return whether a call goes on with the sequences of the one before: those are no new observations.

    It has fewer queries than keys, and its queries are the latest of the keys, or it has one query a
    sequence where the first call had more, or the same keys.
    """
    (sequences, _, queries, _), keys = call.query.shape, call.key.shape[2]
    size = (int(sequences), int(queries), int(keys))
    if not seen.first[0]:
        seen.first = size
    last, seen.last = seen.last, size
    before, seen.last_key = seen.last_key, call.key.detach() if queries == 1 else None
    if last[0] != sequences or queries >= keys:
        return False
    if keys - queries == last[2]:
        return True
    if queries > 1:
        return False
    return seen.first[1] > 1 or (before is not None and torch.equal(before, call.key))


def _arrays(call: Call) -> dict[str, Any]:
    return {name: one for name in ARRAYS.values() if (one := getattr(call, name)) is not None}


def _size(call: Call) -> int:
    return sum(one.numel() * one.element_size() for one in _arrays(call).values())


def _first(call: Call, sequences: int) -> Call:
    """Return the first sequences of a call."""
    all_of_them = call.query.shape[0]
    if all_of_them <= sequences:
        return call
    cut = {
        name: one[:sequences]
        for name, one in _arrays(call).items()
        if name in _BY_SEQUENCE and one.dim() == 4 and one.shape[0] == all_of_them
    }
    return replace(call, **cut)


def _copied(call: Call) -> Call:
    """Return a call whose arrays nothing else changes."""
    return replace(call, **{name: one.detach().clone().contiguous() for name, one in _arrays(call).items()})
