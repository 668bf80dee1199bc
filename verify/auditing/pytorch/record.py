"""``verify.record``: a context in which PyTorch's attention calls are recorded."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from verify.auditing.files import load
from verify.auditing.folder import FolderWriter
from verify.auditing.pytorch.interface import Interface, replaced
from verify.auditing.pytorch.masks import Masks
from verify.auditing.pytorch.mode import AttentionMode
from verify.auditing.pytorch.modules import Modules
from verify.auditing.pytorch.multihead import has_own_function
from verify.auditing.pytorch.recorder import Limits, Recorder
from verify.auditing.recording import Layer, Recording
from verify.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NOT_SEEN = (
    "record: no attention call was seen; seen are scaled_dot_product_attention, nn.MultiheadAttention and "
    "transformers' models where they are not compiled and run in the thread that records"
)
_NOT_KEPT = "record: no attention call could be kept"
_recording = threading.Lock()


@contextmanager
def recording_of(model: Any, out: Path | None, limits: Limits, source: str = "") -> Iterator[Recording]:
    """Record into memory, or into the folder ``out``; see `verify.auditing.record.record`.

    The recording that is yielded is complete at the end, also where the program ends in an exception.
    """
    if not _recording.acquire(blocking=False):
        raise RecordingError("record: is recording already; end the `with` that does first")
    try:
        recorder = Recorder(limits, None if out is None else FolderWriter(out))
        modules = Modules(recorder.leave_out)
        if model is not None:
            modules.add_root(model)
            source = source or type(model).__name__
        source = source or Path(sys.argv[0]).name or "a program"
        layers: list[Layer] = []
        left_out: list[str] = []
        graphs = _compiled_graphs()
        try:
            with _following(recorder, modules):
                yield Recording(source, layers, left_out)
        finally:
            if _compiled_graphs() != graphs:
                recorder.leave_out("compiled functions ran; attention calls inside them are not seen")
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

    def has_torch_function(tensors: Sequence[Any]) -> bool:
        # By this PyTorch's modules choose their fused kernels, which a mode that only looks must not change.
        return has_own_function(tensors) or torch._C._len_torch_function_stack() > 1

    with ExitStack() as stack:
        interface = Interface(mode, masks, recorder, stack)
        modules.before_each_pass = interface.attach
        stack.enter_context(replaced(torch.overrides, "has_torch_function", has_torch_function))
        stack.enter_context(modules.following())
        stack.enter_context(mode)
        yield


def _compiled_graphs() -> int:
    """Return how many graphs PyTorch has compiled; under a mode that is new it compiles them once more."""
    utils = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters["stats"]["unique_graphs"])
