"""Attention calls are recorded by layer as they are made, and nothing in the program changes."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.pytorch.recorded import attention, only, torch
from verify.auditing.files import load
from verify.errors import OutputError, RecordingError, SettingsError

functional = torch.nn.functional


@pytest.mark.parametrize("reentrant", [True, False])
def test_calls_that_checkpointing_makes_again_are_kept_once(reentrant: bool) -> None:
    """The backward pass runs the layer once more."""
    layer, x = torch.nn.MultiheadAttention(8, 2), torch.randn(5, 2, 8, requires_grad=True)
    with verify.record(layer) as recording:
        torch.utils.checkpoint.checkpoint(
            lambda z: (layer(z, z, z)[0] * z).sin(), x, use_reentrant=reentrant
        ).sum().backward()
    assert only(recording).query.shape == (2, 2, 5, 4)


def test_a_second_recording_and_an_exception(tmp_path: Path) -> None:
    """One is refused in one line, the other passes; what was seen before stays, in memory and in a folder."""
    for out in (None, tmp_path / "rec"):
        with contextlib.suppress(ZeroDivisionError), verify.record(out=out) as recording:
            with pytest.raises(RecordingError, match="is recording already; end the `with`"), verify.record():
                pass
            attention()()
            assert not 1 // 0
        assert len(recording.layers) == 1
    assert len(load(tmp_path / "rec").layers) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_folder_has_what_memory_has(tmp_path: Path, dtype: Any) -> None:
    """To the bit; it is read as NumPy arrays."""
    layer = torch.nn.MultiheadAttention(8, 2, dtype=dtype)
    x = torch.randn(5, 2, 8, dtype=dtype)
    with verify.record(layer, out=tmp_path / "rec") as folder:
        layer(x, x, x, need_weights=False)
    with verify.record(layer) as memory:
        layer(x, x, x, need_weights=False)
    read, memorised = only(folder), only(memory)
    for name in ("query", "key", "value", "output"):
        np.testing.assert_array_equal(getattr(read, name), getattr(memorised, name).float())
    assert str(read.query.dtype) == str(dtype).removeprefix("torch.")
    with pytest.raises(OutputError, match="holds a recording already"), verify.record(out=tmp_path / "rec"):
        pass
    attention()()


@pytest.mark.parametrize("to_folder", [True, False])
def test_inputs_of_modules_are_kept_on_request(tmp_path: Path, to_folder: bool) -> None:
    """By position or by name, in their own shape and type."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = (torch.nn.MultiheadAttention(8, 2) for _ in range(2))

        def forward(self, x: Any) -> Any:
            x = self.first(x, x, x)[0]
            return self.second(query=x, key=2 * x, value=x)[0]

    model, x = Model().eval(), torch.randn(5, 3, 8)
    y = model.first(x, x, x)[0].detach()
    out = tmp_path / "rec" if to_folder else None
    with verify.record(model, inputs=True, out=out) as recording, torch.no_grad():
        model(x)
    for layer, given in zip(recording.layers, (x, y), strict=True):
        np.testing.assert_array_equal(next(iter(layer.calls)).input, given)
    with verify.record(model) as recording, torch.no_grad():
        model(x)
    assert [next(iter(layer.calls)).input for layer in recording.layers] == [None, None]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_own_modules_of_pytorch_pass_their_audit(dtype: Any) -> None:
    """Exact findings of a transformer in training are confirmed; rounding may leave a scale undecided."""
    model = torch.nn.Transformer(32, 4, 2, 2, 48, dropout=0.0, batch_first=True, dtype=dtype)
    x = 3 * torch.randn(4, 12, 32, dtype=dtype)
    mask = torch.ones(12, 12, dtype=torch.bool).triu(1)
    with verify.record(model) as recording:
        model(x, x, tgt_mask=mask)
    record = verify.audit(recording)
    assert len(record.layers) == 6
    judgements = {str(finding.judgement) for finding in record.findings}
    rounded = {"undecided"} if dtype == torch.bfloat16 else set()
    assert {"confirmed"} <= judgements <= {"confirmed"} | rounded


def test_limits() -> None:
    """The first sequences are kept; that there were more is one note, and no gap in what was recorded."""
    layer = torch.nn.MultiheadAttention(8, 2)
    x = torch.randn(5, 4, 8)
    with verify.record(layer, max_sequences=6) as recording:
        for _ in range(12):
            layer(x, x, x)
    (recorded,) = recording.layers
    assert [call.query.shape[0] for call in recorded.calls] == [4, 2]
    assert recorded.notes == ("what came after the first 6 sequences was not recorded",)
    with pytest.raises(SettingsError, match="model 'layer': is not a torch"), verify.record("layer"):
        pass
    size = 4 * 4 * 5 * 8 * 4
    with verify.record(layer, max_bytes=size) as recording:
        layer(x, x, x)
        layer(x, x, x)
    assert len(list(recording.layers[0].calls)) == 1
    with (
        pytest.raises(RecordingError, match=f"after the first {size - 1} bytes was not recorded"),
        verify.record(max_bytes=size - 1),
    ):
        layer(x, x, x)


def test_another_kind_of_call_is_recorded_though_a_layer_is_full() -> None:
    """Decoding after many passes, and a layer that runs for the first time."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, q: Any, k: Any) -> Any:
            return functional.scaled_dot_product_attention(q, k, k)

    model, other, x = Model(), Model(), torch.randn(2, 1, 9, 4)
    with verify.record(max_sequences=4) as recording:
        for _ in range(20):
            model(x, x)
        model(x[:, :, :1], torch.cat([x, x[:, :, :1]], 2))
        other(x, x)
    assert [[call.query.shape[2] for call in layer.calls] for layer in recording.layers] == [[9, 9, 1], [9]]
    assert not torch.nn.modules.module._global_forward_pre_hooks


def test_what_the_program_changes_later_stays_as_it_was() -> None:
    """Caches are written to in place."""
    x = torch.ones(1, 1, 3, 4)
    with verify.record() as recording:
        functional.scaled_dot_product_attention(x, x, x)
        x.zero_()
    assert torch.equal(only(recording).query, torch.ones(1, 1, 3, 4))


def test_every_module_is_a_layer() -> None:
    """Also where it attends several times in a pass, and one within it does."""

    class Twice(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x: Any) -> Any:
            for _ in range(2):
                y = functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], scale=2.0)
            return self.inner(x, x, x)[0] + self.inner(x, x, x)[0] + y[:, 0]

    model = torch.nn.Sequential(Twice())
    with verify.record() as recording:
        for _ in range(3):
            model(torch.randn(2, 5, 8))
    layers = [(layer.name, len(list(layer.calls))) for layer in recording.layers]
    assert layers == [("0", 6), ("0.inner", 6)]


def test_layers_after_one_that_is_full_are_recorded() -> None:
    """PyTorch's fast path stays off until all are."""
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    with torch.no_grad(), verify.record(model, max_sequences=1) as recording:
        for _ in range(3):
            model(torch.randn(2, 5, 16))
    assert [len(list(layer.calls)) for layer in recording.layers] == [1, 1, 1]


def test_calls_of_other_threads_are_recorded() -> None:
    """By the name that their module has; attending at once leaves nothing of ours in PyTorch."""
    layer, before = torch.nn.MultiheadAttention(8, 2), functional.has_torch_function
    x, switch = torch.randn(5, 2, 8), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    with verify.record(layer) as recording:
        threads = [threading.Thread(target=lambda: [layer(x, x, x) for _ in range(5)]) for _ in range(4)]
        for act in (threading.Thread.start, threading.Thread.join):
            for thread in threads:
                act(thread)
    sys.setswitchinterval(switch)
    assert len(list(recording.layers[0].calls)) == 20
    assert functional.has_torch_function is before


def test_modules_whose_kernel_is_not_seen_are_named() -> None:
    """Those of a class of which others are recorded, and those called attention: none is passed over."""

    class Block(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            if self is model[1]:
                return torch.from_numpy(x.numpy() + 1)
            return torch.nn.functional.scaled_dot_product_attention(x, x, x)

    class PagedAttention(Block):
        pass

    for unseen in (Block(), PagedAttention()):
        model = torch.nn.Sequential(Block(), unseen, torch.nn.Sequential(torch.nn.Linear(8, 8)))
        with torch.no_grad(), verify.record(model) as recording:
            model(torch.randn(1, 2, 5, 8))
        assert recording.left_out == ["1: ran, and no attention call in it was seen"]


AFTER_A_RECORDING = """
import torch, verify
from torch.nn import functional
from torch.nn.attention.flex_attention import flex_attention
x = torch.randn(1, 5, 2, 8)
with verify.record() as recording:
    flex_attention(x, x, x)
def attend(x):
    return functional.scaled_dot_product_attention(x, x, x)
print(torch.allclose(torch.compile(attend, backend="aot_eager", fullgraph=True)(x), attend(x)))
"""


def test_what_is_compiled_after_a_recording_is_as_without() -> None:
    """Flex attention loads the compiler while functions are replaced; it has to know the originals."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", AFTER_A_RECORDING], capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n", done.stderr[-2000:]


@pytest.mark.filterwarnings("ignore")  # the compiler gives several
def test_compiled_code_runs_and_is_named() -> None:
    """A compiled model is not broken by being recorded, and that calls inside are not seen is said."""

    class Block(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return functional.scaled_dot_product_attention(x, x, x)

    model = torch.nn.Sequential(torch.compile(Block(), backend="aot_eager", fullgraph=True))
    layer, x = torch.nn.MultiheadAttention(8, 2), torch.randn(1, 5, 2, 8)
    wanted = model(x)
    with verify.record(model) as recording:
        got = model(x)
        layer(x[0], x[0], x[0])
    assert torch.allclose(wanted, got)
    for said in ("0: compiled code, in which attention calls", "compiled functions ran"):
        assert any(said in text for text in recording.left_out)
