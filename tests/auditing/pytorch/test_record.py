"""Attention calls of PyTorch are recorded as they are made, and nothing in the program changes."""

from __future__ import annotations

import contextlib
import gc
import math
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import verify
from verify.auditing.files import load
from verify.errors import OutputError, RecordingError, SettingsError

torch = pytest.importorskip("torch", reason="needs the extra [torch]")
functional = torch.nn.functional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from verify.auditing.recording import Call, Recording


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """PyTorch is as it was after each test, and draws the same numbers."""
    hooks = torch.nn.modules.module
    before = torch.overrides.has_torch_function
    torch.manual_seed(1)
    yield
    assert torch.overrides.has_torch_function is before
    assert not hooks._global_forward_pre_hooks
    assert not hooks._global_forward_hooks
    assert not torch._C._len_torch_function_stack()


def only(recording: Recording) -> Call:
    """Return the one call of the one layer."""
    (layer,) = recording.layers
    (call,) = layer.calls
    return call


def reconstructed(call: Call) -> Any:
    """Return the output that follows from a recorded call, in float64."""
    assert call.value is not None
    repeats = call.query.shape[1] // call.key.shape[1]
    key, value = (one.double().repeat_interleave(repeats, 1) for one in (call.key, call.value))
    scale = call.query.shape[-1] ** -0.5 if call.scale is None else call.scale
    scores = scale * call.query.double() @ key.mT
    if call.softcap:
        scores = call.softcap * torch.tanh(scores / call.softcap)
    if call.bias is not None:
        scores = scores + call.bias
    if call.mask is not None:
        scores = scores.masked_fill(~call.mask, -math.inf)
    if call.causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    if call.sink is not None:
        sinks = call.sink.double().reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        return torch.cat([scores, sinks], -1).softmax(-1)[..., :-1] @ value
    return scores.softmax(-1) @ value


def deviation(call: Call) -> float:
    """Return by how much the recorded output differs from the one that follows, over rows that see a key."""
    wanted = reconstructed(call)
    seen = ~wanted.isnan()
    assert seen.any()
    assert call.output is not None
    return float((call.output.double() - wanted)[seen].norm() / wanted[seen].norm())


def attention(*shape: int) -> Callable[..., Any]:
    """Return a function that attends with arrays of a shape drawn once."""
    query, key, value = (torch.randn(shape or (2, 4, 6, 8)) for _ in range(3))
    return lambda **options: functional.scaled_dot_product_attention(query, key, value, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.1},
        {"attn_mask": torch.ones(6, 6, dtype=torch.bool).tril()},
        {"attn_mask": torch.randn(2, 1, 6, 6)},
        {"attn_mask": torch.zeros(6, 6).masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), -math.inf)},
        {"attn_mask": torch.zeros(6, 6).masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), -3.4e38)},
        {"attn_mask": torch.zeros(1, 1, 1, 6).expand(2, 4, 6, 6)},
    ],
)
def test_arguments_as_they_are_given(options: dict[str, Any]) -> None:
    """The output follows from what is recorded, and is the one the program had."""
    attend = attention()
    wanted = attend(**options)
    with verify.record() as recording:
        got = attend(**options)
    assert torch.equal(wanted, got)
    call = only(recording)
    assert torch.equal(call.output, wanted)
    assert call.scale == options.get("scale")
    assert call.causal == options.get("is_causal", False)
    assert deviation(call) < 1e-6


def test_a_mask_that_is_added_is_split() -> None:
    """What hides keys is a mask, what is left a bias, and an axis that is repeated is kept once."""
    bias = torch.randn(6, 6)
    with verify.record() as recording:
        attention()(attn_mask=bias.masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), -math.inf))
    call = only(recording)
    assert torch.equal(call.mask, torch.ones(6, 6, dtype=torch.bool).tril())
    assert torch.equal(call.bias, bias.tril())
    with verify.record() as recording:
        attention()(attn_mask=torch.zeros(1, 1, 1, 6).expand(2, 4, 6, 6))
    assert only(recording).mask is None
    assert only(recording).bias is None


def test_grouped_heads_and_other_ranks() -> None:
    """Keys keep their own number of heads; what has fewer axes has one sequence."""
    query, key = torch.randn(2, 6, 5, 8), torch.randn(2, 3, 5, 8)
    with verify.record() as recording:
        functional.scaled_dot_product_attention(query, key, key, enable_gqa=True)
    assert tuple(only(recording).key.shape) == (2, 3, 5, 8)
    assert deviation(only(recording)) < 1e-6
    for shape, wanted in [((6, 8), (1, 1, 6, 8)), ((3, 6, 8), (1, 3, 6, 8)), ((2, 3, 4, 6, 8), (6, 4, 6, 8))]:
        with verify.record() as recording:
            attention(*shape)()
        assert tuple(only(recording).query.shape) == wanted
        assert deviation(only(recording)) < 1e-6


def test_what_the_kernel_computes_in_under_autocast() -> None:
    """The dtype is the output's, not the one that the arguments have before the kernel."""
    with verify.record() as recording, torch.autocast("cpu", torch.bfloat16):
        attention()()
    call = only(recording)
    assert call.query.dtype == getattr(call.output, "dtype", None) == torch.bfloat16


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_multi_head_attention_in_training(need_weights: bool, masked: bool) -> None:
    """Its calls are seen whether weights are wanted, which it computes itself, or not."""
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
    call = only(recording)
    assert recording.layers[0].name == "MultiheadAttention"
    assert recording.layers[0].width == 16
    assert tuple(call.query.shape) == (3, 4, 5, 4)
    assert (call.mask is not None) is masked
    assert deviation(call) < 1e-6
    assert call.scale == (0.5 if need_weights else None)


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_fast_path_stays_and_is_seen(norm_first: bool) -> None:
    """The fused kernel still runs, with padding too; queries and keys are those of the slow path."""
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval()
    x = torch.randn(2, 5, 16)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, that nested tensors are a prototype
        wanted = model(x), model(x, src_key_padding_mask=padding)
        with verify.record(model) as recording:
            got = model(x), model(x, src_key_padding_mask=padding)
        with torch.enable_grad(), verify.record(model) as slow:
            model(x), model(x, src_key_padding_mask=padding)
    for one, other in zip(wanted, got, strict=True):
        assert torch.equal(one, other)
    assert [layer.name for layer in recording.layers] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert recording.layers[0].backend == "_transformer_encoder_layer_fwd"
    assert "its output is not seen" in recording.layers[0].notes[0]
    for fast, plain in zip(recording.layers[0].calls, slow.layers[0].calls, strict=True):
        real = torch.ones(5, dtype=torch.bool) if plain.mask is None else plain.mask[:, 0, 0, :]
        for name in ("query", "key", "value"):
            one, other = (getattr(call, name).transpose(1, 2) for call in (fast, plain))
            assert torch.allclose(one[real.expand(2, 5)], other[real.expand(2, 5)], atol=1e-5)
        if plain.mask is not None:
            assert torch.equal(fast.mask, plain.mask[:, :1])


def test_the_fused_multi_head_attention_is_seen() -> None:
    """``nn.MultiheadAttention`` in evaluation has a kernel of its own, with three kinds of masks."""
    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(2, 5, 16)
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    for options, seen in [
        ({}, None),
        ({"attn_mask": causal}, ~causal.expand(2, 4, 5, 5)),
        ({"key_padding_mask": padding}, ~padding[:, None, None, :]),
    ]:
        with torch.no_grad():
            wanted = layer(x, x, x, **options)[0]
            with verify.record(layer) as recording:
                got = layer(x, x, x, **options)[0]
        assert torch.equal(wanted, got)
        call = only(recording)
        assert recording.layers[0].backend == "_native_multi_head_attention"
        assert (call.mask is None and seen is None) or torch.equal(*torch.broadcast_tensors(call.mask, seen))


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


class Twice(torch.nn.Module):  # type: ignore[misc, name-defined]  # PyTorch is not checked
    """A module that attends twice, and one within it that is run twice."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        """Attend four times."""
        for _ in range(2):
            y = functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], scale=2.0)
        return self.inner(x, x, x)[0] + self.inner(x, x, x)[0] + y[:, 0]


def test_every_place_of_a_pass_is_a_layer() -> None:
    """A second pass has the same layers; the calls of one layer are of different sequences."""
    model = torch.nn.Sequential(Twice())
    with verify.record() as recording:
        for _ in range(3):
            model(torch.randn(2, 5, 8))
    assert [(one.name, len(list(one.calls))) for one in recording.layers] == [
        ("0", 3),
        ("0 (2)", 3),
        ("0.inner", 3),
        ("0.inner (2)", 3),
    ]


def test_models_of_one_name_are_told_apart() -> None:
    """The second has its class before the names that the first has, the third a number as well."""
    models = [torch.nn.Sequential(torch.nn.MultiheadAttention(8, 2), torch.nn.Identity()) for _ in range(3)]
    with verify.record() as recording:
        for model in models:
            model[0](torch.randn(5, 2, 8), *[torch.randn(5, 2, 8)] * 2)
            model.forward = lambda x, model=model: model[0](x, x, x)
            model(torch.randn(5, 2, 8))
    assert [one.name for one in recording.layers] == [
        "MultiheadAttention",
        "MultiheadAttention (2)",
        "MultiheadAttention (3)",
    ]
    with verify.record() as recording:
        for model in models:
            model(torch.randn(5, 2, 8))
    assert [one.name for one in recording.layers] == ["0", "Sequential (2).0", "Sequential (3).0"]


def test_modules_that_a_program_makes_in_every_step_are_not_kept() -> None:
    """What it lets go of goes, while it is recorded."""
    with verify.record() as recording:
        attention()()
        modules = [torch.nn.ReLU() for _ in range(3)]
        for one in modules:
            one(torch.ones(2))
        gone = [weakref.ref(one) for one in modules]
        del modules, one
        gc.collect()
        assert [one() for one in gone] == [None] * 3
    assert len(recording.layers) == 1


def test_outside_any_module_a_layer_has_the_name_of_its_line() -> None:
    """A program need not have modules."""
    attend = attention()
    with verify.record() as recording:
        attend()
    assert recording.layers[0].name.startswith("<lambda> in test_record.py, line ")


def test_limits() -> None:
    """The first sequences are kept, and what is not is counted."""
    layer = torch.nn.MultiheadAttention(8, 2)
    x = torch.randn(5, 4, 8)
    with verify.record(layer, max_sequences=6) as recording:
        for _ in range(4):
            layer(x, x, x)
    assert [call.query.shape[0] for call in recording.layers[0].calls] == [4, 2]
    changing, limited = recording.layers[0].notes
    assert changing.startswith("gradients were wanted, so that weights may have changed between the calls")
    assert limited == "came after the first 6 sequences and were left out (2 calls)"
    one = 4 * 4 * 5 * 8 * 4
    with verify.record(layer, max_bytes=one) as recording:
        layer(x, x, x)
        layer(x, x, x)
    assert len(list(recording.layers[0].calls)) == 1
    with (
        pytest.raises(RecordingError, match=f"would have more than {one - 1} bytes"),
        verify.record(max_bytes=one - 1),
    ):
        layer(x, x, x)
    for bad in (0, True, 1.5, "1"):
        with pytest.raises(SettingsError, match=r"max_bytes .*: give a whole number of at least 1"):
            verify.record(max_bytes=bad)  # type: ignore[arg-type]


def test_steps_of_generation_are_no_new_sequences() -> None:
    """A query that goes on with the keys of the call before is of the same sequence."""
    layer = torch.nn.Module()
    q, k = torch.randn(2, 2, 9, 4), torch.randn(2, 2, 9, 4)
    layer.forward = lambda m, n: functional.scaled_dot_product_attention(
        q[:, :, m:n], k[:, :, :n], k[:, :, :n]
    )
    with verify.record(layer) as recording:
        for m, n in [(0, 5), (5, 6), (6, 7), (7, 9)]:
            layer(m, n)
    assert [call.query.shape[2] for call in recording.layers[0].calls] == [5]
    assert recording.layers[0].notes[0].startswith("continued sequences that were seen before")
    # A probe of one query is no step: it is of other sequences each time.
    with verify.record(layer) as recording:
        for _ in range(3):
            q, k = torch.randn(2, 2, 1, 4), torch.randn(2, 2, 9, 4)
            layer(0, 9)
    assert len(list(recording.layers[0].calls)) == 3


def test_what_the_program_changes_later_stays_as_it_was() -> None:
    """Caches are written to in place."""
    x = torch.ones(1, 1, 3, 4)
    with verify.record() as recording:
        functional.scaled_dot_product_attention(x, x, x)
        x.zero_()
    assert torch.equal(only(recording).query, torch.ones(1, 1, 3, 4))


def test_attention_that_is_written_out_is_named() -> None:
    """It is not recorded, and that is said, also beside calls that are."""

    class Own(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return (x @ x.mT).softmax(-1) @ x

    model = torch.nn.ModuleDict({"own": Own(), "theirs": torch.nn.MultiheadAttention(8, 2)})
    model.forward = lambda x: model["own"](x) + model["theirs"](x, x, x)[0]
    with verify.record(model) as recording:
        model(torch.randn(5, 2, 8))
    assert recording.left_out == [
        "own: a softmax outside any recorded call; attention that is written out is not recorded"
    ]
    with (
        pytest.raises(RecordingError, match=r"no attention call was seen; .*; Own: a softmax outside"),
        verify.record(),
    ):
        Own()(torch.randn(5, 2, 8))


def test_other_functions_of_attention_are_named() -> None:
    """The operations behind PyTorch's attention can be called directly."""
    x = torch.randn(1, 2, 4, 8)
    with pytest.raises(RecordingError, match="attention_math was called, which is not"), verify.record():
        torch.ops.aten._scaled_dot_product_attention_math(x, x, x)


def test_tensors_without_plain_numbers_are_named() -> None:
    """On the meta device there is nothing to record; the program goes on."""
    with (
        pytest.raises(RecordingError, match=r"could not be recorded .*has no plain numbers"),
        verify.record(),
    ):
        functional.scaled_dot_product_attention(*(torch.randn(1, 2, 4, 8, device="meta") for _ in range(3)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_tensors_inside_a_transformation_are_named() -> None:
    """They stand for many, and mean nothing outside it."""
    with pytest.raises(RecordingError, match="has no plain numbers"), verify.record():
        torch.func.vmap(lambda x: functional.scaled_dot_product_attention(x, x, x))(torch.randn(3, 2, 4, 8))


@pytest.mark.filterwarnings("ignore")  # the compiler gives several
def test_compiled_code_runs_and_is_named() -> None:
    """A compiled model is not broken by being recorded."""
    layer = torch.nn.MultiheadAttention(8, 2)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    model[1] = torch.compile(model[1], backend="eager", fullgraph=True)
    x = torch.randn(5, 2, 8)
    wanted = model(x)
    with verify.record(model) as recording:
        got = model(x)
        layer(x, x, x)
    assert torch.equal(wanted, got)
    assert "1: is compiled; attention calls inside it are not seen" in recording.left_out
    assert any("compiled functions ran" in one for one in recording.left_out)


@pytest.mark.parametrize("reentrant", [True, False])
def test_calls_that_checkpointing_makes_again_are_kept_once(reentrant: bool) -> None:
    """The backward pass runs the layer once more."""
    layer = torch.nn.MultiheadAttention(8, 2)
    x = torch.randn(5, 2, 8, requires_grad=True)
    with verify.record(layer) as recording:
        y = torch.utils.checkpoint.checkpoint(
            lambda z: (layer(z, z, z)[0] * z).sin(), x, use_reentrant=reentrant
        )
        y.sum().backward()
    assert len(list(recording.layers[0].calls)) == 1
    assert x.grad is not None


def test_other_threads_are_named() -> None:
    """What runs there is not seen."""
    layer = torch.nn.MultiheadAttention(8, 2)
    x = torch.randn(5, 2, 8)
    with verify.record(layer) as recording:
        thread = threading.Thread(target=lambda: layer(x, x, x))
        thread.start()
        thread.join()
        layer(x, x, x)
    assert len(list(recording.layers[0].calls)) == 1
    assert recording.left_out[0].startswith("modules ran in other threads")


def test_one_recording_at_a_time() -> None:
    """A second one is refused in one line, and the first goes on."""
    with verify.record() as recording:
        with (
            pytest.raises(RecordingError, match="record: is recording already; end the `with`"),
            verify.record(),
        ):
            pass
        attention()()
    assert len(recording.layers) == 1


def test_an_exception_passes_and_the_recording_is_whole(tmp_path: Path) -> None:
    """What was seen before it is kept, in memory and in a folder."""
    for out in (None, tmp_path / "rec"):
        with contextlib.suppress(ZeroDivisionError), verify.record(out=out) as recording:
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
    one, other = only(folder), only(memory)
    for name in ("query", "key", "value", "output"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name).float())
    assert one.dtype == ("bfloat16" if dtype == torch.bfloat16 else "")
    with pytest.raises(OutputError, match="holds a recording already"), verify.record(out=tmp_path / "rec"):
        pass
    attention()()


def test_no_call_is_said() -> None:
    """A program without attention has nothing to audit."""
    with pytest.raises(RecordingError, match="no attention call was seen; seen are"), verify.record():
        torch.ones(2) + 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_own_modules_of_pytorch_pass_their_audit(dtype: Any) -> None:
    """Exact findings of a transformer in training are confirmed; rounding may leave a scale undecided."""
    model = torch.nn.Transformer(32, 4, 2, 2, 48, dropout=0.0, batch_first=True, dtype=dtype)
    x = 3 * torch.randn(4, 12, 32, dtype=dtype)
    mask = torch.ones(12, 12, dtype=torch.bool).triu(1)
    with verify.record(model) as recording:
        model(x, x, tgt_mask=mask)
    record = verify.audit(recording, workers=1)
    assert len(record.layers) == 6
    found = {str(one.judgement) for one in record.findings if one.exact}
    assert found == {"confirmed"} or (dtype == torch.bfloat16 and found == {"confirmed", "undecided"})
