"""What stands in for PyTorch's functions and transformers' interface while a program is recorded."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from verify.auditing.pytorch import functions, transformers
from verify.auditing.pytorch.recorder import Recorder


@contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """Hand a recorder the calls that are made inside."""
    graphs, fused = recorder.compiled_graphs(), torch.backends.mha.get_fastpath_enabled()
    hooks: list[Any] = []
    with functions.standing_in(recorder), transformers.standing_in() as attach:

        def note(module: Any, _args: Any) -> None:
            if not torch.compiler.is_compiling():
                attach()
                with suppress(TypeError):  # a module without a hash
                    recorder.modules.ran.add(module)

        def look_closely(is_close: bool) -> None:
            """See which modules run, and what PyTorch's fused layers do, until all layers are full."""
            if is_close and not hooks:
                hooks.append(register_module_forward_pre_hook(note))
            elif not is_close and hooks:
                hooks.pop().remove()
            torch.backends.mha.set_fastpath_enabled(fused and not is_close)

        attach()
        recorder.look_closely = look_closely
        look_closely(True)
        try:
            yield
        finally:
            look_closely(False)
    if recorder.compiled_graphs() != graphs + recorder.expected_graphs:
        recorder.leave_out("compiled functions ran; attention calls inside them are not seen")
