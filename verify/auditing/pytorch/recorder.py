"""Records the calls of a PyTorch program by layer, in memory or in a folder; the program runs unchanged."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils._python_dispatch import _disable_current_modes

from verify.auditing.files import FolderWriter, load
from verify.auditing.pytorch import functions, transformers
from verify.auditing.pytorch.places import Modules
from verify.auditing.recording import ARRAYS, Call, Layer, Recording, check_call
from verify.errors import RecordingError, SettingsError, what_is_wrong

if TYPE_CHECKING:
    from verify.auditing.pytorch.calls import LayerInfo, Make

_BY_SEQUENCE = ("query", "key", "value", "output", "mask", "bias", "input")
_NOT_SEEN = (
    "record: no attention call was seen; seen are scaled_dot_product_attention, nn.MultiheadAttention, "
    "flex_attention and transformers' models where they are not compiled"
)
_NOT_KEPT = "record: no attention call could be kept"
_REFUSALS = 8
"""So many calls in a row that are not kept close a caller, for as many queries as keys or for fewer."""

_NOTHING = (0, 0)
_recording = threading.Lock()


@contextmanager
def recording_of(
    model: Any, out: Path | None, max_sequences: int, max_bytes: int, source: str, *, inputs: bool
) -> Iterator[Recording]:
    """Record into memory, or into the folder ``out``; see `verify.auditing.record.record`.

    The recording that is yielded is complete at the end, also where the program ends in an exception.
    """
    if not _recording.acquire(blocking=False):
        raise RecordingError("record: is recording already; end the `with` that does first")
    try:
        writer = None if out is None else FolderWriter(out)
        recorder = Recorder(max_sequences, max_bytes, writer, inputs=inputs)
        if model is not None:
            if not isinstance(model, torch.nn.Module):
                raise SettingsError(f"model {str(model)[:60]!r}: is no torch.nn.Module; give one, or None")
            recorder.modules.add_root(model)
            source = source or type(model).__name__
        source = source or Path(sys.argv[0]).name or "a program"
        layers: list[Layer] = []
        left_out: list[str] = []
        try:
            with recorder.watching():
                yield Recording(source, layers, left_out)
        finally:
            done = recorder.finish(source)
            layers.extend(load(out).layers if out is not None and done.layers else done.layers)
            left_out.extend(done.left_out)
        if not layers:
            nothing = _NOT_KEPT if recorder.has_seen_calls else _NOT_SEEN
            raise RecordingError("; ".join((nothing, *left_out)))
    finally:
        _recording.release()


def compiled_graphs() -> int:
    """Return how many graphs PyTorch has compiled; it compiles again what calls a function that records."""
    utils = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters["stats"]["unique_graphs"])


@dataclass
class _RecordedLayer:
    """A layer as it is being recorded.

    ``sequences`` were kept of calls that begin with them, and of calls that go on with them, as decoding
    does. ``first`` and ``last`` are (sequences, queries, keys) of calls.
    """

    name: str
    info: LayerInfo | None = None
    calls: list[Call] = field(default_factory=list)
    sequences: Counter[bool] = field(default_factory=Counter)
    first: tuple[int, int, int] = (0, 0, 0)
    last: tuple[int, int, int] = (0, 0, 0)
    notes: dict[str, None] = field(default_factory=dict)
    later: bool = False

    def goes_on(self, size: tuple[int, int, int]) -> bool:
        """Return whether a call of this size goes on with the sequences of the one before.

        It has fewer queries than keys: those after the keys of the last call, or one where there were more.
        """
        self.first, last, self.last = self.first if self.first[0] else size, self.last, size
        sequences, queries, keys = size
        is_latest = keys - queries == last[2] or (queries == 1 and self.first[1] > 1)
        return sequences == last[0] and queries < keys and is_latest


@dataclass
class Recorder:
    """Keeps calls by layer; what it cannot keep it counts, and says at the end.

    At most ``max_sequences`` of each layer are kept and ``max_bytes`` of all.
    """

    max_sequences: int
    max_bytes: int
    writer: FolderWriter | None = None
    inputs: bool = False
    has_seen_calls: bool = False
    modules: Modules = field(default_factory=Modules)
    _layers: dict[tuple[object, ...], _RecordedLayer] = field(default_factory=dict)
    _left_out: Counter[str] = field(default_factory=Counter)
    _size: int = 0
    _is_full: bool = False
    _expected_graphs: int = 0
    _lock: Any = field(default_factory=threading.RLock)
    _hook: Any = None
    _look: Any = None
    _closed: WeakKeyDictionary[Any, list[int]] = field(default_factory=WeakKeyDictionary)
    _closed_lines: dict[Any, list[int]] = field(default_factory=dict)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See the calls that are made inside."""
        graphs, fused = compiled_graphs(), torch.backends.mha.get_fastpath_enabled()
        with functions.standing_in(self), transformers.standing_in() as attach:

            def note(module: Any, _args: Any) -> None:
                if not torch.compiler.is_compiling():
                    attach()
                    with suppress(TypeError):  # a module without a hash
                        self.modules.ran.add(module)

            def look(is_close: bool) -> None:
                # Which modules run, and what PyTorch's fused layers do, is seen until all layers are full.
                if is_close and self._hook is None:
                    self._hook = register_module_forward_pre_hook(note)
                elif not is_close and self._hook is not None:
                    self._hook = self._hook.remove()
                torch.backends.mha.set_fastpath_enabled(fused and not is_close)

            attach()
            self._look = look
            look(True)
            try:
                yield
            finally:
                look(False)
        if compiled_graphs() != graphs + self._expected_graphs:
            self.leave_out("compiled functions ran; attention calls inside them are not seen")

    def leave_out(self, what: str) -> None:
        """Note in words what is not recorded; the same words are counted."""
        self._left_out[what] += 1

    @contextmanager
    def unharmed(self, what: str) -> Iterator[None]:
        """Note an error inside, which the program does not see; nor do modes that it has entered see us."""
        hidden = _disable_current_modes() if torch._C._len_torch_dispatch_stack() else nullcontext()
        try:
            with hidden, torch._C.DisableTorchFunction(), torch.no_grad():
                yield
        except Exception as error:  # noqa: BLE001 - nothing here may stop a program that we only look at
            self.leave_out(f"{what} could not be recorded ({what_is_wrong(error)})")

    @contextmanager
    def expecting_graphs(self) -> Iterator[None]:
        """Count the graphs that are compiled inside as seen."""
        before = compiled_graphs()
        try:
            yield
        finally:
            self._expected_graphs += compiled_graphs() - before

    def is_closed(self, at: Any, query: Any, key: Any, axis: int = -2) -> bool:
        """Return whether no more calls of a caller are kept; this is all that a full recording costs."""
        closed = self._closed_lines if isinstance(at, tuple) else self._closed
        try:
            with torch._C.DisableTorchFunction():
                return closed.get(at, _NOTHING)[query.size(axis) < key.size(axis)] >= _REFUSALS
        except (AttributeError, TypeError):
            return True  # no tensors, which the program is told by PyTorch, or a module without a hash

    def see(self, at: Any, query: Any, key: Any, make: Make) -> None:
        """Keep the call with these queries and keys that ``make`` returns, if its layer has room for it."""
        self.has_seen_calls = True
        with self.unharmed("a call"), self._lock:
            place = self.modules.place(at)
            with self.unharmed(f"{place.name}: a call"):
                heads, key_heads = (part.shape[-3] if part.dim() > 2 else 1 for part in (query, key))
                shape = (place.name, heads, key_heads, query.shape[-1])
                layer = self._layers.get(shape)
                if layer is None:
                    others = any(name == place.name for name, *_ in self._layers)
                    more = (
                        f" with {heads} heads, {key_heads} of keys, d = {query.shape[-1]}" if others else ""
                    )
                    layer = self._layers[shape] = _RecordedLayer(place.name + more)
                    self._look(True)
                sequences = query.shape[:-3].numel() if query.dim() > 3 else 1
                queries, keys = query.shape[-2], key.shape[-2]
                goes_on = layer.goes_on((sequences, queries, keys))
                left = self.max_sequences - layer.sequences[goes_on]
                closed = self._closed_lines if isinstance(at, tuple) else self._closed
                refusals = closed.setdefault(at, [0, 0])
                refusals[queries < keys] += 1
                if left <= 0 or self._is_full:
                    layer.later = True
                    return
                refusals[queries < keys] = 0
                call, info = make(place.module)
                call = replace(call, input=place.input()) if self.inputs else call
                self._keep(layer, call, info, left, goes_on=goes_on)

    def _keep(self, layer: _RecordedLayer, call: Call, info: LayerInfo, left: int, *, goes_on: bool) -> None:
        check_call(call, layer.name)
        sequences = len(call.query)
        arrays = {name: array for name in ARRAYS.values() if (array := getattr(call, name)) is not None}
        if sequences > left:
            arrays = {
                name: array[:left]
                if name in _BY_SEQUENCE and len(array) == sequences and (array.dim() == 4 or name == "input")
                else array
                for name, array in arrays.items()
            }
            layer.later = True
        size = sum(array.numel() * array.element_size() for array in arrays.values())
        if self._size + size > self.max_bytes:
            self._is_full = True
            layer.later = True
        else:
            # Copied, so that nothing else changes them.
            call = replace(
                call, **{name: array.detach().clone().contiguous() for name, array in arrays.items()}
            )
            if self.writer is None:
                layer.calls.append(call)
            else:
                self.writer.add(layer.name, call)
            self._size += size
            layer.sequences[goes_on] += min(sequences, left)
            if layer.info is None or (info.intended is not None and info.intended.origin == "unknown"):
                layer.info = info
            layer.notes.update(dict.fromkeys(info.notes))
        if self._is_full or all(
            other.sequences[False] >= self.max_sequences for other in self._layers.values()
        ):
            self._look(False)

    def finish(self, source: str) -> Recording:
        """Return what was recorded; in a folder, write what makes it a recording, unless it is nothing."""
        layers = []
        for layer in self._layers.values():
            limit = f"{self.max_bytes} bytes" if self._is_full else f"{self.max_sequences} sequences"
            later = f"what came after the first {limit} was not recorded"
            if layer.info is not None:
                info, notes = layer.info, (*layer.notes, *([later] if layer.later else ()))
                layers.append(
                    Layer(
                        layer.name,
                        layer.calls,
                        info.intended,
                        info.width,
                        info.backend,
                        info.padded,
                        notes,
                        mask=info.mask,
                    )
                )
            elif layer.later:
                self.leave_out(f"{layer.name}: {later}")
        for names, what in (
            (self.modules.compiled(), "compiled code, in which attention calls are not seen"),
            (self.modules.silent(), "ran, and no attention call in it was seen"),
        ):
            if names:
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                self.leave_out(f"{', '.join(names[:3])}{more}: {what}")
        counts = self._left_out.items()
        left_out = tuple(f"{what} ({count} calls)" if count > 1 else what for what, count in counts)
        recording = Recording(source, layers, left_out)
        if self.writer is not None and layers:
            self.writer.finish(recording)
        return recording
