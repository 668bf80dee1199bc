"""Records the calls of a PyTorch program by layer, in memory or in a folder; the program runs unchanged."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils._python_dispatch import _disable_current_modes

from verify.auditing.files import FolderWriter
from verify.auditing.pytorch.calls import DROPPED, refuse_other
from verify.auditing.pytorch.intentions import described
from verify.auditing.pytorch.places import Caller, Modules, compiled_graphs
from verify.auditing.recording import ARRAYS, Call, Layer, Recording, check_call
from verify.errors import what_is_wrong

_BY_SEQUENCE = ("query", "key", "value", "output", "mask", "bias", "input")


@dataclass
class _RecordedLayer:
    """A layer as it is being recorded.

    ``sequences`` were recorded of calls with as many queries as keys (False), and with fewer (True), as
    steps of decoding are. ``later`` says that more came when it was full.
    """

    name: str
    described: Layer | None = None
    calls: list[Call] = field(default_factory=list)
    sequences: Counter[bool] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)
    later: bool = False


class Recorder:
    """Stores calls by layer; what it cannot store it counts, and reports at the end.

    At most ``max_sequences`` of each layer are stored, and ``max_bytes`` of all. Once they are full, callers
    are closed: asking `is_closed` is then all that a call costs, and ``until_full`` is left when all are.
    """

    def __init__(
        self, max_sequences: int, max_bytes: int, writer: FolderWriter | None = None, *, inputs: bool = False
    ) -> None:
        self.max_sequences, self.max_bytes = max_sequences, max_bytes
        self.writer, self.inputs = writer, inputs
        self.modules = Modules()
        self.has_seen_calls = False
        self.until_full = ExitStack()
        self._layers: dict[tuple[object, ...], _RecordedLayer] = {}
        self._closed: WeakKeyDictionary[Any, set[object]] = WeakKeyDictionary()
        self._left_out: Counter[str] = Counter()
        self._size, self._is_full = 0, False
        self.graphs = compiled_graphs()
        self._lock = threading.RLock()

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
        except Exception as error:  # noqa: BLE001 - nothing here may stop a program that is only watched
            self.leave_out(f"{what} could not be recorded ({what_is_wrong(error)})")

    def is_closed(self, at: Caller, kind: object) -> bool:
        """Return whether no more calls of this kind are recorded of a caller."""
        return (at.line, kind) in self._closed.get(at.owner, ())

    def see(
        self,
        at: Caller,
        kind: object,
        query: Any,
        key: Any,
        backend: str,
        make: Callable[[], Call],
        notes: tuple[str, ...] = (),
    ) -> None:
        """Keep the call with these queries and keys if its layer has room for it, else close its caller.

        ``make`` returns the call, and ``backend`` says what computed it.
        """
        self.has_seen_calls = True
        # The place is found outside the inner guard, so that its notes can name the layer.
        with self.unharmed("a call"), self._lock:
            place = self.modules.place(at)
            with self.unharmed(f"{place.name}: a call"):
                refuse_other(query, key)
                layer = self._layer(place.name, query, key)
                left = self.max_sequences - layer.sequences[query.shape[-2] < key.shape[-2]]
                if left > 0 and not self._is_full:
                    call = make()
                    if self._keep(layer, replace(call, input=place.given) if self.inputs else call, left):
                        layer.described = layer.described or described(place.module, backend, call.scale)
                        dropped = (DROPPED,) if call.output is None else ()
                        layer.notes.update(dict.fromkeys((*dropped, *notes)))
                    return
                layer.later = True
                self._closed.setdefault(at.owner, set()).add((at.line, kind))
                counts = (max(other.sequences.values(), default=0) for other in self._layers.values())
                if self._is_full or min(counts) >= self.max_sequences:
                    self.until_full.close()

    def _layer(self, name: str, query: Any, key: Any) -> _RecordedLayer:
        """Return the layer of this name whose heads have this number and width."""
        heads, key_heads = (part.shape[-3] if part.dim() > 2 else 1 for part in (query, key))
        shape = (name, heads, key_heads, query.shape[-1])
        if shape not in self._layers:
            if any(other == name for other, *_ in self._layers):
                name += f" with {heads} heads, {key_heads} of keys, d = {query.shape[-1]}"
            self._layers[shape] = _RecordedLayer(name)
        return self._layers[shape]

    def _keep(self, layer: _RecordedLayer, call: Call, left: int) -> bool:
        """Copy the first ``left`` sequences of a call, so that nothing changes them later, if they fit in."""
        check_call(call, layer.name)
        sequences = len(call.query)
        arrays = {name: array for name in ARRAYS.values() if (array := getattr(call, name)) is not None}
        for name in _BY_SEQUENCE if sequences > left else ():
            array = arrays.get(name)
            if array is not None and len(array) == sequences and (array.dim() == 4 or name == "input"):
                arrays[name] = array[:left]
        size = sum(array.numel() * array.element_size() for array in arrays.values())
        self._is_full = self._size + size > self.max_bytes
        layer.later |= sequences > left or self._is_full
        if self._is_full:
            return False
        # Caches are written to in place, and views change with what they are of.
        copies = {name: array.detach().clone().contiguous() for name, array in arrays.items()}
        call = replace(call, **copies)
        if self.writer is None:
            layer.calls.append(call)
        else:
            self.writer.add(layer.name, call)
        self._size += size
        layer.sequences[call.query.shape[2] < call.key.shape[2]] += min(sequences, left)
        return True

    def finish(self, source: str) -> Recording:
        """Return what was recorded; in a folder, write what makes it a recording, unless it is nothing."""
        layers = []
        limit = f"{self.max_bytes} bytes" if self._is_full else f"{self.max_sequences} sequences"
        later = f"what came after the first {limit} was not recorded"
        for layer in self._layers.values():
            if layer.described is not None:
                notes = (*layer.notes, *([later] if layer.later else ()))
                layers.append(replace(layer.described, name=layer.name, calls=layer.calls, notes=notes))
            elif layer.later:
                self.leave_out(f"{layer.name}: {later}")
        for text in self.modules.unseen():
            self.leave_out(text)
        if compiled_graphs() != self.graphs:
            self.leave_out("compiled functions ran; attention calls inside them are not seen")
        counts = self._left_out.items()
        left_out = tuple(f"{what} ({count} calls)" if count > 1 else what for what, count in counts)
        recording = Recording(source, layers, left_out)
        if self.writer is not None and layers:
            self.writer.finish(recording)
        return recording
