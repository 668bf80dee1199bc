"""Records the calls of a PyTorch program by layer, in memory or in a folder; the program runs unchanged."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from verify.auditing.files import FolderWriter, load
from verify.auditing.pytorch import flex
from verify.auditing.pytorch.calls import LayerInfo, Masks
from verify.auditing.pytorch.mode import AttentionMode
from verify.auditing.pytorch.modules import Modules
from verify.auditing.pytorch.transformers import Interface
from verify.auditing.recording import ARRAYS, Call, Layer, Recording, check_call
from verify.errors import RecordingError, SettingsError, what_is_wrong

_BY_SEQUENCE = ("query", "key", "value", "output", "mask", "bias", "input")
_NOT_SEEN = (
    "record: no attention call was seen; seen are scaled_dot_product_attention, nn.MultiheadAttention and "
    "transformers' models where they are not compiled and run in the thread that records"
)
_NOT_KEPT = "record: no attention call could be kept"
_recording = threading.Lock()


@contextmanager
def recording_of(
    model: Any,
    out: Path | None,
    max_sequences: int,
    max_bytes: int,
    source: str = "",
    *,
    inputs: bool = False,
) -> Iterator[Recording]:
    """Record into memory, or into the folder ``out``; see `verify.auditing.record.record`.

    The recording that is yielded is complete at the end, also where the program ends in an exception.
    """
    if not _recording.acquire(blocking=False):
        raise RecordingError("record: is recording already; end the `with` that does first")
    try:
        writer = None if out is None else FolderWriter(out)
        recorder = Recorder(max_sequences, max_bytes, writer)
        modules = Modules(recorder, inputs=inputs)
        if model is not None:
            if not isinstance(model, torch.nn.Module):
                raise SettingsError(f"model {str(model)[:60]!r}: is no torch.nn.Module; give one, or None")
            modules.add_root(model)
            source = source or type(model).__name__
        source = source or Path(sys.argv[0]).name or "a program"
        layers: list[Layer] = []
        left_out: list[str] = []
        graphs = compiled_graphs()
        try:
            with _following(recorder, modules):
                yield Recording(source, layers, left_out)
        finally:
            if compiled_graphs() != graphs + recorder.expected_graphs:
                recorder.leave_out("compiled functions ran; attention calls inside them are not seen")
            recorder.note_silent(modules.silent)
            done = recorder.finish(source)
            layers.extend(load(out).layers if out is not None and done.layers else done.layers)
            left_out.extend(done.left_out)
        if not layers:
            nothing = _NOT_KEPT if recorder.has_seen_calls else _NOT_SEEN
            raise RecordingError("; ".join((nothing, *left_out)))
    finally:
        _recording.release()


@contextmanager
def _following(recorder: Recorder, modules: Modules) -> Iterator[None]:
    masks = Masks()
    mode = AttentionMode(recorder, modules, masks)
    with ExitStack() as stack:
        interface = Interface(mode, masks, recorder, stack)

        def attach() -> None:
            interface.attach()
            flex.attach(mode, recorder, stack)

        modules.before_each_pass = attach
        stack.enter_context(modules.following())
        stack.enter_context(mode)
        attach()
        yield


def compiled_graphs() -> int:
    """Return how many graphs PyTorch has compiled; under a mode that is new it compiles them once more."""
    utils = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters["stats"]["unique_graphs"])


@dataclass
class _RecordedLayer:
    """A layer as it is being recorded.

    ``shape`` is (heads, heads of keys, d); ``kept`` counts sequences, each step of a generation as one.
    """

    info: LayerInfo
    shape: tuple[int, int, int]
    calls: list[Call] = field(default_factory=list)
    kept: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass
class Recorder:
    """Keeps calls by layer; what it cannot keep it counts, and says at the end.

    At most ``max_sequences`` of each layer are kept and ``max_bytes`` of all. ``has_seen_calls`` says
    whether there was any call to keep, ``expected_graphs`` how many graphs calls that are kept compiled.
    """

    max_sequences: int
    max_bytes: int
    writer: FolderWriter | None = None
    has_seen_calls: bool = False
    expected_graphs: int = 0
    _layers: dict[str, _RecordedLayer] = field(default_factory=dict)
    _left_out: dict[str, int] = field(default_factory=dict)
    _written: dict[str, None] = field(default_factory=dict)
    _size: int = 0

    def leave_out(self, what: str) -> None:
        """Note in words what is not recorded; the same words are counted."""
        self._left_out[what] = self._left_out.get(what, 0) + 1

    def note_written_out(self, name: str) -> None:
        """Note that the module of this name has a softmax or scores of its own, as if attending."""
        self._written[name] = None

    def note_silent(self, silent: Callable[[Collection[str]], list[str]]) -> None:
        """Note the modules that ran without a call; ``silent`` is given those with scores of their own."""
        if names := [name for name in silent(self._written) if name not in self._written]:
            self.leave_out(f"{_listed(names)}: ran, and no attention call in it was seen")

    def keep(self, name: str, make: Callable[[], tuple[Call, LayerInfo]]) -> None:
        """Keep the call that ``make`` returns, in the layer of this name; whatever is wrong is noted.

        The program goes on as if nothing were kept.
        """
        self.has_seen_calls = True
        with self.unharmed(f"{name}: a call"), torch.no_grad():
            call, info = make()
            check_call(call, name)
            self._keep(name, call, info)

    @contextmanager
    def expecting_graphs(self) -> Iterator[None]:
        """Count the graphs that are compiled inside as seen."""
        before = compiled_graphs()
        try:
            yield
        finally:
            self.expected_graphs += compiled_graphs() - before

    @contextmanager
    def unharmed(self, what: str) -> Iterator[None]:
        """Note an error inside, which the program does not see; nor do PyTorch's modes of dispatch."""
        hidden = nullcontext() if not torch._C._len_torch_dispatch_stack() else _disable_current_modes()
        try:
            with hidden:
                yield
        except Exception as error:  # noqa: BLE001 - nothing here may stop a program that we only look at
            self.leave_out(f"{what} could not be recorded ({what_is_wrong(error)})")

    def finish(self, source: str) -> Recording:
        """Return what was recorded; in a folder, write what makes it a recording, unless it is nothing."""
        layers = [
            Layer(name, seen.calls, *seen.info[:4], tuple(seen.notes), _counted(seen.skipped), seen.info.mask)
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
        unseen = "attention that is written out is not recorded"
        what = f"a softmax, or scores times values, outside any recorded call; {unseen}"
        return [f"{_listed(names)}: {what}"] if names else []

    def _keep(self, name: str, call: Call, info: LayerInfo) -> None:
        name, seen = self._layer(name, call, info)
        if info.intended is not None and info.intended.origin == "unknown":
            seen.info = info
        reason, call = self._within_limits(seen, call)
        if reason:
            seen.skipped[reason] += 1
            return
        call = _copied(call)
        if self.writer is None:
            seen.calls.append(call)
        else:
            self.writer.add(name, call)
        self._size += _size(call)
        seen.kept += int(call.query.shape[0])
        seen.notes.update(dict.fromkeys(info.notes))

    def _layer(self, name: str, call: Call, info: LayerInfo) -> tuple[str, _RecordedLayer]:
        """Return the layer of this name, and the name; calls of other shapes are a layer of their own."""
        shape = (heads, key_heads, d) = (call.query.shape[1], call.key.shape[1], call.query.shape[3])
        if name in self._layers and self._layers[name].shape != shape:
            name = f"{name} with {heads} heads, {key_heads} of keys, d = {d}"
        if name not in self._layers:
            self._layers[name] = _RecordedLayer(info, shape)
        return name, self._layers[name]

    def _within_limits(self, seen: _RecordedLayer, call: Call) -> tuple[str, Call]:
        """Return why a call is not kept, or as much of it as is."""
        left = self.max_sequences - seen.kept
        if left <= 0:
            return f"came after the first {self.max_sequences} sequences and were left out", call
        cut = _first(call, left)
        if self._size + _size(cut) > self.max_bytes:
            return f"were left out, as all together would have more than {self.max_bytes} bytes", cut
        if cut is not call:
            seen.skipped[f"had sequences after the first {self.max_sequences}, which were left out"] += 1
        return "", cut


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _counted(reasons: Mapping[str, int]) -> list[str]:
    return [f"{reason} ({count} calls)" if count > 1 else reason for reason, count in reasons.items()]


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
        if name in _BY_SEQUENCE and (one.dim() == 4 or name == "input") and one.shape[0] == all_of_them
    }
    return replace(call, **cut)


def _copied(call: Call) -> Call:
    """Return a call whose arrays nothing else changes."""
    return replace(call, **{name: one.detach().clone().contiguous() for name, one in _arrays(call).items()})
