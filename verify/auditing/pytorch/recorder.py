"""Records the calls of a PyTorch program by layer, in memory or in a folder; the program runs unchanged.

Where a call is made is read off the frames of Python that run the modules. Nothing is hooked into modules for
that, so a program that is not recorded at the moment pays nothing.
"""

import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import torch
from torch.utils._python_dispatch import _disable_current_modes

from verify.auditing.pytorch.calls import described, is_plain
from verify.auditing.recording import ARRAYS, Call, Layer, Recording, check_call
from verify.errors import what_is_wrong

_DROPPED = "dropout was on, so outputs are not those of the scores alone; they were left out"
_SLOW = (
    "PyTorch's fast path is off while recording: without a recording a fused kernel may compute this layer, "
    "with other rounding, and zeros where all is padding"
)
_CALL = torch.nn.Module._call_impl.__code__
_SKIPPED = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
_ATTENTION = re.compile("attention|attn$|mha")


Write = Callable[[str, Call], None]
"""Writes a call of the layer of a name."""


class Caller(NamedTuple):
    """What makes a call: the innermost module that runs, or outside any the program's code and its line."""

    owner: Any
    line: int = 0


def caller() -> Caller:
    """Return what makes the call that is being recorded."""
    # Every module is called by the same function of PyTorch, whose frame has the module as ``self``.
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not _CALL:
        frame = frame.f_back
    if frame is not None:
        return Caller(frame.f_locals["self"])
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_SKIPPED):
        frame = frame.f_back
    return Caller(frame.f_code, frame.f_lineno)


class Modules:
    """Names the modules of the models that run, and knows which of them made calls."""

    def __init__(self) -> None:
        self.ran: WeakSet[Any] = WeakSet()
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._titles: Counter[str] = Counter()
        self._attended: WeakSet[Any] = WeakSet()
        self._attending: set[type[Any]] = set()

    def add_root(self, root: Any) -> None:
        """Name a model and all its modules; the second model with a name puts its class before it."""
        kind = type(root).__name__
        self._titles[kind] += 1
        title = kind if self._titles[kind] == 1 else f"{kind} ({self._titles[kind]})"
        taken = set(self._names.values())
        for path, module in root.named_modules():
            name = path or title
            self._names.setdefault(module, name if name not in taken else f"{title}.{name}")

    def place(self, at: Caller) -> tuple[str, Any, Any]:
        """Return its layer's name, the innermost module if any, and what that was given, of a call."""
        if not isinstance(at.owner, torch.nn.Module):
            code = at.owner
            return f"{code.co_name} in {Path(code.co_filename).name}, line {at.line}", None, None
        frame: FrameType | None = sys._getframe(1)
        running = []
        while frame is not None:
            if frame.f_code is _CALL:
                running.append(frame.f_locals)
            frame = frame.f_back
        self._attended.update(names["self"] for names in running)
        self._attending.add(type(at.owner))
        given = (*running[0].get("args", ()), *running[0].get("kwargs", {}).values())
        real = (x for x in given if isinstance(x, torch.Tensor) and x.is_floating_point() and is_plain(x))
        if running[-1]["self"] not in self._names:
            self.add_root(running[-1]["self"])
        # Modules that the model has got since it began have no name.
        name = self._names.get(at.owner, type(at.owner).__name__)
        return name, at.owner, next(real, None)

    def unseen(self) -> Iterator[str]:
        """Yield in words which modules ran as compiled code, or are called attention and made no call."""
        compiled, silent = [], []
        for module in self.ran:
            kind, calls = type(module), getattr(module, "_compiled_call_impl", None)
            if hasattr(module, "_orig_mod") or calls or isinstance(module, torch.jit.ScriptModule):
                compiled.append(module)
            is_attention = kind in self._attending or _ATTENTION.search(kind.__name__.lower())
            if is_attention and module not in self._attended:
                silent.append(module)
        # Of modules within each other the innermost ones attend.
        inner = [module for module in silent if not any(part in silent for part in [*module.modules()][1:])]
        for modules, what in (
            (compiled, "compiled code, in which attention calls are not seen"),
            (inner, "ran, and no attention call in it was seen"),
        ):
            names = sorted(self._names.get(module, type(module).__name__) for module in modules)
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            if names:
                yield f"{', '.join(names[:3])}{more}: {what}"


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

    def __init__(self, max_sequences: int, max_bytes: int, write: Write | None, *, inputs: bool) -> None:
        self.max_sequences, self.max_bytes, self.write, self.inputs = max_sequences, max_bytes, write, inputs
        self.modules = Modules()
        self.has_seen_calls = False
        self.until_full = ExitStack()
        self.left_out: Counter[str] = Counter()  # what is not recorded, in words
        self._layers: dict[tuple[object, ...], _RecordedLayer] = {}
        self._closed: WeakKeyDictionary[Any, set[object]] = WeakKeyDictionary()
        self._left, self._is_full, self._lock = max_bytes, False, threading.RLock()

    def is_closed(self, at: Caller, kind: object) -> bool:
        """Return whether no more calls of this kind are recorded of a caller."""
        return (at.line, kind) in self._closed.get(at.owner, ())

    def see(self, at: Caller, kind: object, backend: str, make: Callable[[], Call]) -> None:
        """Store the call that ``make`` returns if its layer has room for it, else close its caller.

        ``backend`` says what computed it. An error in here is noted, and the program does not see it.
        """
        self.has_seen_calls, evaluates, what = True, not torch.is_grad_enabled(), "a call"
        # Modes that the program has entered do not see us.
        hidden = _disable_current_modes() if torch._C._len_torch_dispatch_stack() else nullcontext()
        try:
            with hidden, torch._C.DisableTorchFunction(), torch.no_grad(), self._lock:
                name, module, given = self.modules.place(at)
                what = f"{name}: a call"
                call = replace(make(), input=given if self.inputs else None)
                check_call(call, name)
                layer = self._layer(name, call)
                is_step = call.query.shape[2] < call.key.shape[2]
                left = self.max_sequences - layer.sequences[is_step]
                if left > 0 and not self._is_full and self._keep(layer, call, left):
                    layer.sequences[is_step] += min(len(call.query), left)
                    layer.described = layer.described or described(module, backend, call.scale)
                    layer.notes |= {_DROPPED: None} if call.output is None else {}
                    if evaluates and isinstance(module, torch.nn.MultiheadAttention) and not module.training:
                        layer.notes[_SLOW] = None
                    return
                layer.later = True
                self._closed.setdefault(at.owner, set()).add((at.line, kind))
                counts = (max(other.sequences.values(), default=0) for other in self._layers.values())
                if self._is_full or min(counts) >= self.max_sequences:
                    self.until_full.close()
        except Exception as error:  # noqa: BLE001 - nothing here may stop a program that is only watched
            self.left_out[f"{what} could not be recorded ({what_is_wrong(error)})"] += 1

    def _layer(self, name: str, call: Call) -> _RecordedLayer:
        """Return the layer of this name whose heads have this number and width."""
        heads, key_heads, width = call.query.shape[1], call.key.shape[1], call.query.shape[3]
        shape = (name, heads, key_heads, width)
        if shape not in self._layers:
            if any(other == name for other, *_ in self._layers):
                name += f" with {heads} heads, {key_heads} of keys, d = {width}"
            self._layers[shape] = _RecordedLayer(name)
        return self._layers[shape]

    def _keep(self, layer: _RecordedLayer, call: Call, left: int) -> bool:
        """Copy the first ``left`` sequences of a call, so that nothing changes them later, if they fit in."""
        sequences, arrays = len(call.query), call.arrays
        for key, array in arrays.items():
            # Masks and biases may be shared by all sequences, and sinks always are.
            if array.shape[:1] == (sequences,) and (array.dim() == 4 or key == "x"):
                arrays[key] = array[:left]
        size = sum(array.numel() * array.element_size() for array in arrays.values())
        self._is_full = size > self._left
        layer.later |= sequences > left
        if self._is_full:
            return False
        # Caches are written to in place, and views change with what they are of.
        copies = {ARRAYS[key]: array.detach().clone().contiguous() for key, array in arrays.items()}
        call = replace(call, **copies)
        if self.write is None:
            layer.calls.append(call)
        else:
            self.write(layer.name, call)
        self._left -= size
        return True

    def finish(self, source: str) -> Recording:
        """Return what was recorded, the layers without calls where these were written."""
        layers = []
        limit = f"{self.max_bytes} bytes" if self._is_full else f"{self.max_sequences} sequences"
        later = f"what came after the first {limit} was not recorded"
        for layer in self._layers.values():
            if layer.described is not None:
                notes = (*layer.notes, *([later] if layer.later else ()))
                layers.append(replace(layer.described, name=layer.name, calls=layer.calls, notes=notes))
            elif layer.later:
                self.left_out[f"{layer.name}: {later}"] += 1
        self.left_out.update(self.modules.unseen())
        counts = self.left_out.items()
        left_out = tuple(f"{what} ({count} calls)" if count > 1 else what for what, count in counts)
        return Recording(source, layers, left_out)
