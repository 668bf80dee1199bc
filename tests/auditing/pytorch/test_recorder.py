"""Attention calls of PyTorch are recorded by layer as they are made, with what an audit needs of each."""

import contextlib
import importlib
import math
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.calls import deviation, only
from verify.auditing.record import load
from verify.errors import RecordingError, SettingsError

torch: Any = pytest.importorskip("torch", reason="needs the extra [torch]")
functional = torch.nn.functional
LATER = torch.ones(6, 6, dtype=torch.bool).triu(1)
BIAS = torch.randn(6, 6)


class Block(torch.nn.Module):  # type: ignore[misc]
    """A module that attends."""

    def forward(self, x: Any, k: Any = None) -> Any:
        """Attend to other keys or to itself."""
        k = x if k is None else k
        return functional.scaled_dot_product_attention(x, k, k)


def attend(*shape: int, key_heads: int | None = None, **options: Any) -> Any:
    """Attend with random arrays of a shape, that of keys with so many heads."""
    shape = shape or (2, 4, 6, 8)
    keys = shape if key_heads is None else (shape[0], key_heads, *shape[2:])
    arrays = (torch.randn(size) for size in (shape, keys, keys))
    return functional.scaled_dot_product_attention(*arrays, **options)


@pytest.mark.parametrize(
    ("shape", "options", "mask", "bias"),
    [
        ((), {}, None, None),
        ((), {"is_causal": True}, None, None),
        ((), {"scale": 0.1}, None, None),
        ((), {"attn_mask": ~LATER}, ~LATER, None),
        ((), {"attn_mask": BIAS.expand(2, 1, 6, 6)}, None, BIAS),
        ((), {"attn_mask": torch.zeros(6, 6).masked_fill(LATER, -math.inf)}, ~LATER, None),
        ((), {"attn_mask": torch.zeros(6, 6).masked_fill(LATER, -3.4e38)}, ~LATER, None),
        ((), {"attn_mask": BIAS.masked_fill(LATER, -math.inf)}, ~LATER, BIAS.tril()),
        ((), {"attn_mask": torch.zeros(1, 1, 1, 6).expand(2, 4, 6, 6)}, None, None),
        ((2, 6, 5, 8), {"key_heads": 3, "enable_gqa": True}, None, None),
        ((6, 8), {}, None, None),
        ((3, 6, 8), {}, None, None),
    ],
)
def test_arguments_as_they_are_given(
    shape: tuple[int, ...], options: dict[str, Any], mask: Any, bias: Any
) -> None:
    """The output follows from what is recorded, and is the one the program had.

    What hides keys is a mask, what is left a bias, and an axis that is repeated is kept once. Keys keep
    their own number of heads; what has fewer axes has one sequence.
    """
    torch.manual_seed(1)
    wanted = attend(*shape, **options)
    torch.manual_seed(1)
    with verify.record() as recording:
        got = attend(*shape, **options)
    assert torch.equal(wanted, got)
    call = only(recording)
    sizes = (1, 1, 1, *shape)[-4:] if shape else (2, 4, 6, 8)
    assert tuple(call.query.shape) == sizes
    assert tuple(call.key.shape) == (sizes[0], options.get("key_heads", sizes[1]), *sizes[2:])
    assert torch.equal(call.output, wanted.reshape(sizes))
    assert call.scale == options.get("scale")
    assert call.causal == options.get("is_causal", False)
    pairs: Any = ((call.mask, mask), (call.bias, bias))
    for recorded, exact in pairs:
        assert (recorded is None) == (exact is None)
        assert exact is None or torch.equal(recorded.squeeze(), exact)
    assert deviation(call) < 1e-6


def test_what_the_kernel_computes_in_under_autocast() -> None:
    """The dtype is the output's, not the one that the arguments have before the kernel."""
    with verify.record() as recording, torch.autocast("cpu", torch.bfloat16):
        attend()
    call = only(recording)
    assert call.query.dtype == getattr(call.output, "dtype", None) == torch.bfloat16


@pytest.mark.parametrize("norm_first", [True, False])
def test_layers_of_pytorch_in_evaluation_are_judged(norm_first: bool) -> None:
    """The slow path computes them while they are recorded, which is said; with padding and masks too."""
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval()
    x = torch.randn(2, 5, 16)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, that nested tensors are a prototype
        wanted = model(x), model(x, src_key_padding_mask=padding)
        with verify.record(model) as recording:
            got = model(x), model(x, src_key_padding_mask=padding)
            model.layers[0].self_attn(x, x, x, attn_mask=torch.ones(5, 5, dtype=torch.bool).triu(1))
    for plain, seen in zip(wanted, got, strict=True):
        assert torch.allclose(plain[~padding], seen[~padding], atol=1e-5)
    assert [layer.name for layer in recording.layers] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert [len(list(layer.calls)) for layer in recording.layers] == [3, 2]
    assert all("fast path is off while recording" in layer.notes[0] for layer in recording.layers)
    record = verify.audit(recording)
    assert record.exit_status == 0
    assert {str(finding.judgement) for finding in record.findings} == {"confirmed"}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_multi_head_attention_in_training(need_weights: bool, masked: bool) -> None:
    """Its calls are seen whether weights are wanted, or not; there is no fast path."""
    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    x = torch.randn(3, 5, 16)
    options: dict[str, Any] = {"need_weights": need_weights}
    if masked:
        options["attn_mask"] = torch.ones(5, 5, dtype=torch.bool).triu(1)
        options["key_padding_mask"] = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 5])
    wanted, weights = layer(x, x, x, **options)
    with verify.record(layer) as recording:
        got, same = layer(x, x, x, **options)
        got.sum().backward()
    assert torch.equal(wanted, got)
    assert need_weights is (same is not None and torch.equal(weights, same))
    assert layer.in_proj_weight.grad is not None
    call, (recorded,) = only(recording), recording.layers
    assert (recorded.name, recorded.width, recorded.notes) == ("MultiheadAttention", 16, ())
    assert tuple(call.query.shape) == (3, 4, 5, 4)
    assert (call.mask is not None) is masked
    assert deviation(call) < 1e-6
    assert call.scale is None


def test_dropout_goes_on_and_its_outputs_are_left_out() -> None:
    """The same numbers are drawn; an output with dropout says nothing of the scores."""
    model = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.5, batch_first=True)
    x = torch.randn(2, 5, 16)
    torch.manual_seed(2)
    wanted = model(x)
    torch.manual_seed(2)
    with verify.record(model) as recording:
        got = model(x)
    assert torch.equal(wanted, got)
    assert only(recording).output is None
    assert "dropout was on" in recording.layers[0].notes[0]


@pytest.mark.filterwarnings("ignore")  # the compiler gives several
def test_flex_attention_is_recorded_with_its_mask_evaluated() -> None:
    """Where a score function changes scores, that is said."""
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    original = flex.flex_attention
    q, k = torch.randn(2, 4, 130, 16), torch.randn(2, 2, 130, 16)
    mask = flex.create_block_mask(lambda _b, _h, i, j: i >= j, None, None, 130, 130, device="cpu")
    options = {"block_mask": mask, "enable_gqa": True}
    wanted = flex.flex_attention(q, k, k, **options)
    with verify.record() as recording:
        got = flex.flex_attention(q, k, k, **options)
        attend()
        flex.flex_attention(q, k, k, score_mod=lambda s, *_: s * 0.5, **options)
    assert flex.flex_attention is original
    assert torch.equal(wanted, got)
    (said,) = recording.left_out
    assert "its score function is not read" in said
    (call,) = recording.layers[0].calls
    assert deviation(call) < 1e-6
    assert call.mask is not None
    assert torch.equal(call.mask[0, 0], torch.ones(130, 130).tril().bool())
    assert {str(part.judgement) for part in verify.audit(recording).findings} == {"confirmed"}


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
            attend()
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


@pytest.mark.parametrize("to_folder", [True, False])
def test_inputs_of_modules_are_kept_on_request(tmp_path: Path, to_folder: bool) -> None:
    """By position or by name, in their own shape and type."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            x = self.first(x, x, x)[0]
            return self.second(query=x, key=2 * x, value=x)[0]

    model, x = Model(), torch.randn(5, 3, 8)
    model.first, model.second = (torch.nn.MultiheadAttention(8, 2).eval() for _ in range(2))
    y = model.first(x, x, x)[0].detach()
    out = tmp_path / "rec" if to_folder else None
    with verify.record(model, inputs=True, out=out) as recording, torch.no_grad():
        model(x)
    for layer, given in zip(recording.layers, (x, y), strict=True):
        np.testing.assert_array_equal(next(iter(layer.calls)).input, given)
    with verify.record(model) as recording, torch.no_grad():
        model(x)
    assert [next(iter(layer.calls)).input for layer in recording.layers] == [None, None]


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


def test_a_full_layer_ends_no_other_and_no_other_kind_of_call() -> None:
    """Decoding after many passes, a layer that runs for the first time, and PyTorch's by their slow path."""
    model, other, x = Block(), Block(), torch.randn(2, 1, 9, 4)
    with verify.record(max_sequences=4) as recording:
        for _ in range(20):
            model(x, x)
        model(x[:, :, :1], torch.cat([x, x[:, :, :1]], 2))
        other(x, x)
    assert [[call.query.shape[2] for call in layer.calls] for layer in recording.layers] == [[9, 9, 1], [9]]
    assert not torch.nn.modules.module._global_forward_pre_hooks
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    with torch.no_grad(), verify.record(encoder, max_sequences=1) as recording:
        for _ in range(3):
            encoder(torch.randn(2, 5, 16))
    assert [len(list(layer.calls)) for layer in recording.layers] == [1, 1, 1]


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
        def forward(self, x: Any) -> Any:
            for _ in range(2):
                y = functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], scale=2.0)
            return self.inner(x, x, x)[0] + self.inner(x, x, x)[0] + y[:, 0]

    model = torch.nn.Sequential(Twice())
    model[0].inner = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    with verify.record() as recording:
        for _ in range(3):
            model(torch.randn(2, 5, 8))
    layers = [(layer.name, len(list(layer.calls))) for layer in recording.layers]
    assert layers == [("0", 6), ("0.inner", 6)]


def test_calls_of_other_threads_are_recorded() -> None:
    """By the name that their module has."""
    layer, x, switch = torch.nn.MultiheadAttention(8, 2), torch.randn(5, 2, 8), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    with verify.record(layer) as recording:
        threads = [threading.Thread(target=lambda: [layer(x, x, x) for _ in range(5)]) for _ in range(4)]
        for act in (threading.Thread.start, threading.Thread.join):
            for thread in threads:
                act(thread)
    sys.setswitchinterval(switch)
    assert len(list(recording.layers[0].calls)) == 20


def test_modules_whose_kernel_is_not_seen_are_named() -> None:
    """Those of a class of which others are recorded, and those called attention: none is passed over."""
    unseen: Any
    for unseen in (Block(), type("PagedAttention", (Block,), {})()):
        unseen.forward = lambda x: torch.from_numpy(x.numpy() + 1)
        model = torch.nn.Sequential(Block(), unseen, torch.nn.Sequential(torch.nn.Linear(8, 8)))
        with torch.no_grad(), verify.record(model) as recording:
            model(torch.randn(1, 2, 5, 8))
        assert recording.left_out == ["1: ran, and no attention call in it was seen"]


def test_what_is_compiled_after_a_recording_is_as_without() -> None:
    """Flex attention loads the compiler while functions are replaced; it has to know the originals."""
    program = """
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
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n", done.stderr[-2000:]


@pytest.mark.filterwarnings("ignore")  # the compiler gives several
def test_compiled_code_runs_and_is_named() -> None:
    """A compiled model is not broken by being recorded, and that calls inside are not seen is said.

    A compiled function that does not attend is not named.
    """
    model = torch.nn.Sequential(torch.compile(Block(), backend="aot_eager", fullgraph=True))
    layer, x = torch.nn.MultiheadAttention(8, 2), torch.randn(1, 5, 2, 8)
    wanted = model(x)
    with verify.record(model) as recording:
        got = model(x)
        layer(x[0], x[0], x[0])
    assert torch.allclose(wanted, got)
    for said in ("0: compiled code, in which attention calls", "compiled functions ran"):
        assert any(said in text for text in recording.left_out)
    with verify.record() as recording:
        torch.compile(torch.relu, backend="aot_eager")(x)
        layer(x[0], x[0], x[0])
    assert recording.left_out == []
