"""What stands in for PyTorch's functions and transformers' interface while a program is recorded."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from verify.auditing.pytorch import functions, transformers
from verify.auditing.pytorch.recorder import Recorder


@contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """Hand a recorder the calls that are made inside.

    Until all layers are full it is seen which modules run, and PyTorch's fused layers take their slow path,
    in which attention is called.
    """
    # PyTorch's compiler lists functions when it is first used, and has to find the originals.
    with suppress(ImportError, AttributeError):
        importlib.import_module("torch._dynamo.trace_rules").get_torch_obj_rule_map()
    fused = torch.backends.mha.get_fastpath_enabled()
    with transformers.standing_in() as attach, recorder.until_full:

        def note(module: Any, _args: Any) -> None:
            if not torch.compiler.is_compiling():
                attach()  # once the program has imported transformers
                recorder.modules.ran.add(module)

        attach()
        recorder.until_full.callback(register_module_forward_pre_hook(note).remove)
        recorder.until_full.callback(torch.backends.mha.set_fastpath_enabled, fused)
        torch.backends.mha.set_fastpath_enabled(False)
        functions.replace_everywhere()
        functions.Process.recorder = recorder
        try:
            yield
        finally:
            functions.Process.recorder = None
            functions.replace_everywhere(back=True)
