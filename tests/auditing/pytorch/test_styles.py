# ruff: noqa: ARG005, PLW0108 - all styles are given queries, keys and values
"""A program runs the same while it is recorded, to the bit, however it calls PyTorch; so do its errors."""

import contextlib
import copy
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.pytorch.recorded import torch
from verify.errors import RecordingError

functional = torch.nn.functional
attend = functional.scaled_dot_product_attention


def given() -> tuple[Any, Any, Any]:
    """Return queries, keys and values that are the same each time."""
    generator = torch.Generator().manual_seed(3)
    return tuple(torch.randn(2, 4, 6, 8, generator=generator) for _ in range(3))


class Doubling(torch.autograd.Function):  # type: ignore[misc]  # PyTorch is not checked
    """A function with a backward pass of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Return twice ``x``."""
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(_ctx: Any, gradient: Any) -> Any:
        """Return its gradient."""
        return 2 * gradient


class Tagged(torch.Tensor):  # type: ignore[misc]
    """A subclass of tensors that changes nothing."""


class Loud(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """A mode of the program's own, which counts."""

    seen = 0

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call ``func``."""
        self.seen += 1
        return func(*args, **(kwargs or {}))


class Counting(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """A mode of dispatch, which counts the operations of the program."""

    seen = 0

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call ``func``."""
        self.seen += 1
        return func(*args, **(kwargs or {}))


def in_place(q: Any) -> Any:
    """Scale in place, by every spelling."""
    q = q.clone()
    q *= 0.5
    q /= 2
    q.mul_(3).div_(2).add_(1).sub_(1)
    q[..., 0] = 0
    return q.requires_grad_(False)


def gradients(q: Any, k: Any, v: Any, change: Callable[[Any], Any] = lambda x: x) -> Any:
    """Return the gradients of a loss."""
    leaves = [one.clone().requires_grad_() for one in (q, k, v)]
    attend(change(leaves[0] * 0.5), *leaves[1:]).square().sum().backward()
    return [one.grad for one in leaves]


def counted(mode: Any, q: Any, k: Any, v: Any) -> Any:
    """Return how many calls a mode sees."""
    with mode:
        out = attend(torch.mul(q, 0.5), k, v)
    return out, torch.tensor(mode.seen)


def drawn(q: Any, k: Any, v: Any) -> Any:
    """Return what is drawn beside a call with dropout."""
    torch.manual_seed(5)
    out = attend(q, k, v, dropout_p=0.3)
    return out, torch.randn(3), functional.dropout(q, 0.5)


def versions(q: Any, k: Any, v: Any) -> Any:
    """Return how often tensors were written to."""
    x = q.clone()
    x.mul_(2)
    attend(x, k, v)
    return torch.tensor([x._version, k._version])


def traced(q: Any, k: Any, v: Any) -> Any:
    """Return what a traced function gives, and its operations."""
    program = torch.jit.trace(lambda a, b, c: attend(a * 0.5, b, c), (q, k, v), check_trace=False)
    return program(q, k, v), torch.tensor(len(list(program.graph.nodes())))


def made(q: Any, k: Any, v: Any) -> Any:
    """Return the number of operations of a graph."""
    from torch.fx.experimental.proxy_tensor import make_fx  # noqa: PLC0415 - one of many ways

    graph = make_fx(lambda a, b, c: attend(torch.sqrt(a.abs()) * 0.5, b, c))(q, k, v)
    return graph(q, k, v), torch.tensor(len(graph.graph.nodes))


def swapped(q: Any) -> Any:
    """Return what ``out`` is filled with."""
    out = torch.empty_like(q)
    torch.mul(q, 0.5, out=out)
    return out


def _scaled_first(whole: Any) -> Any:
    q, k, v = whole.chunk(3, -1)
    q *= 0.5
    return q, k, v


def _cached(k: Any) -> Any:
    cache = torch.zeros(2, 4, 10, 8)
    cache[:, :, :3] = k[:, :, :3]
    cache.index_copy_(2, torch.arange(3, 6), k[:, :, 3:])
    return cache[:, :, :6]


def _under(context: Any, *given: Any) -> Any:
    with context:
        q, k, v = given
        return attend(q * 0.5, k, v).float()


def _flops(q: Any, k: Any, v: Any) -> Any:
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415 - one of many ways

    with FlopCounterMode(display=False) as counter:
        attend(q * torch.sqrt(torch.tensor(0.5)), k, v)
    return torch.tensor(counter.get_total_flops())


def _hooked(x: Any) -> Any:
    x.register_hook(lambda gradient: gradient * 2)
    return x


def _linear() -> Any:
    torch.manual_seed(2)
    return torch.nn.Linear(8, 8)


class _Attending(torch.nn.Module):  # type: ignore[misc]
    def forward(self, q: Any, k: Any, v: Any) -> Any:
        """Attend."""
        return functional.scaled_dot_product_attention(q * 0.5, k, v)


def _scaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q * 0.5, k, v)


def _scripted(q: Any, k: Any, v: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scripting is deprecated
        return torch.jit.script(_scaled)(q, k, v)


def _with_hooks(q: Any, k: Any, v: Any) -> Any:
    module = _Attending()
    module.register_forward_pre_hook(lambda _module, args: (args[0] * 2, *args[1:]))
    module.register_forward_hook(lambda _module, _args, out: out + 1)
    return module(q, k, v)


def _module(kind: Any, q: Any, *sizes: int, times: int = 3, **options: Any) -> Any:
    torch.manual_seed(4)
    called = {name: options.pop(name) for name in ("need_weights", "average_attn_weights") if name in options}
    dropout = {} if kind is torch.nn.MultiheadAttention else {"dropout": 0.0}
    out = kind(*sizes, batch_first=True, **dropout, **options)(*[q[0]] * times, **called)
    return [one.detach() for one in out if one is not None] if isinstance(out, tuple) else out.detach()


def _multihead(q: Any) -> Any:
    torch.manual_seed(4)
    layer, x = torch.nn.MultiheadAttention(8, 2), q[0]
    names = ("in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "add_zero_attn")
    options = {name: getattr(layer, name) for name in names}
    return functional.multi_head_attention_forward(
        query=x, key=x, value=x, embed_dim_to_check=8, num_heads=2, dropout_p=0.0,
        out_proj_weight=layer.out_proj.weight, out_proj_bias=layer.out_proj.bias, **options,
    )[0].detach()  # fmt: skip


def _in_double(q: Any, k: Any, v: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    try:
        return attend(q.double() * torch.tensor(0.5), k.double(), v.double())
    finally:
        torch.set_default_dtype(torch.float32)


def _step(q: Any, k: Any, v: Any) -> Any:
    layer = _linear()
    optimizer = torch.optim.AdamW(layer.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        attend(layer(q) * 0.5, k, v).sum().backward()
        optimizer.step()
    return layer.weight.detach()


STYLES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "number first": lambda q, k, v: attend(torch.mul(0.5, q), k, v),
    "two numbers": lambda q, k, v: attend(q * torch.div(7, 2, rounding_mode="trunc"), k, v),
    "floor": lambda q, k, v: attend(torch.div(q, 2, rounding_mode="floor"), k, v),
    "by name": lambda q, k, v: attend(query=torch.mul(input=q, other=0.5), key=k, value=v, scale=0.3),
    "out": lambda q, k, v: attend(swapped(q), k, v),
    "in place": lambda q, k, v: attend(in_place(q), k, v),
    "numpy number": lambda q, k, v: attend(np.float32(0.5) * q * np.float64(2), k, v),
    "numpy array": lambda q, k, v: attend(torch.from_numpy(q.numpy() * 0.5), k, v),
    "numpy array from the left": lambda q, k, v: attend(torch.as_tensor(np.ones(8, np.float32)) * q, k, v),
    "complex": lambda q, k, v: attend((q * 1j).imag, k, v),
    "complex positions": lambda q, k, v: attend(
        torch.view_as_real(
            torch.view_as_complex(q.unflatten(-1, (4, 2))) * torch.polar(torch.ones(4), torch.arange(4.0))
        ).flatten(-2),
        k,
        v,
    ),
    "whole numbers": lambda q, k, v: attend(q * torch.tensor(2), k, v * torch.arange(8)),
    "truth": lambda q, k, v: attend(q * (q > 0), k * True, v),
    "bits": lambda q, k, v: attend((q > 0).float().mul(q), k, v),
    "zero": lambda q, k, v: attend(q * 0, k, v),
    "infinite": lambda q, k, v: attend(q * math.inf, k, v),
    "nothing in it": lambda q, k, v: attend(q[:, :, :0] * 0.5, k, v),
    "no sequences": lambda q, k, v: attend(q[:0] * torch.ones(1), k[:0], v[:0]),
    "scalar tensor": lambda q, k, v: attend(q * torch.tensor(0.5), k, v),
    "power": lambda q, k, v: attend(q * torch.tensor(8.0) ** -0.5, k, v),
    "reversed power": lambda q, k, v: attend(q * 2 ** torch.tensor(-1.5), k, v),
    "reversed division": lambda q, k, v: attend(1 / q, k, v),
    "floor division": lambda q, k, v: attend(q // 0.5, k, v),
    "matrix product": lambda q, k, v: attend(q @ torch.eye(8), k, v),
    "einsum": lambda q, k, v: attend(torch.einsum("bhtd,de->bhte", q, torch.eye(8)), k, v),
    "einsum in lists": lambda q, k, v: attend(torch.einsum("bhtd,de->bhte", [q, torch.eye(8)]), k, v),
    "einsum by numbers": lambda q, k, v: attend(torch.einsum(q, [0, 1, 2, 3], [0, 1, 2, 3]), k, v),
    "tensordot": lambda q, k, v: attend(torch.tensordot(q, torch.eye(8), dims=1), k, v),
    "added products": lambda q, k, v: attend(torch.addcmul(q, q, k, value=0.5), k, v),
    "each": lambda q, k, v: attend(torch._foreach_mul([q, k], [0.5, 2.0])[0], k, v),
    "each in place": lambda q, k, v: (torch._foreach_mul_([q.clone()], 0.5), attend(q, k, v))[1],
    "operator": lambda q, k, v: attend(torch.ops.aten.mul.Tensor(q, torch.tensor(0.5)), k, v),
    "operator with numbers": lambda q, k, v: attend(torch.ops.aten.mul.Scalar(q, 0.5), k, v),
    "private operator": lambda q, k, v: torch.ops.aten._scaled_dot_product_attention_math(q, k, v)[0],
    "sliced and put together": lambda q, k, v: attend(
        torch.cat([q[..., :4] * 0.5, q[..., 4:] * 0.5], -1), k, v
    ),
    "chunks": lambda q, k, v: attend(*(one * 0.5 for one in torch.cat([q, k, v], -1).chunk(3, -1))),
    "split in place": lambda q, k, v: attend(*_scaled_first(torch.cat([q, k, v], -1))),
    "packed": lambda q, k, v: attend(*torch.stack([q, k, v]).unbind()),
    "turned": lambda q, k, v: attend(q.mT.contiguous().mT, k.transpose(-1, -2).mT, v.permute(0, 1, 2, 3)),
    "strided": lambda q, k, v: attend(q.as_strided(q.shape, q.stride()) / 2, k, v),
    "expanded": lambda q, k, v: attend(q, k[:1].expand(2, 4, 6, 8), v[:, :1].expand(2, 4, 6, 8)),
    "gathered": lambda q, k, v: attend(q.gather(2, torch.zeros(2, 4, 6, 8, dtype=torch.long)), k, v),
    "masked": lambda q, k, v: attend(q.masked_fill(q > 1, 0.0), torch.where(k > 0, k, 0.0), v),
    "cache": lambda q, k, v: attend(q, _cached(k), v),
    "half": lambda q, k, v: attend(q.half(), k.half(), v.half()).float(),
    "bfloat16": lambda q, k, v: attend(*(one.to(torch.bfloat16) * 0.5 for one in (q, k, v))).float(),
    "double": lambda q, k, v: attend(q.double() * 0.5, k.double(), v.double()),
    "autocast": lambda q, k, v: _under(torch.autocast("cpu", torch.bfloat16), q, k, v),
    "inference": lambda q, k, v: _under(torch.inference_mode(), q, k, v),
    "no gradients": lambda q, k, v: _under(torch.no_grad(), q, k, v),
    "anomalies": lambda q, k, v: _under(torch.autograd.set_detect_anomaly(True), q, k, v),
    "math kernel": lambda q, k, v: _under(
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), q, k, v
    ),
    "own mode": lambda q, k, v: counted(Loud(), q, k, v),
    "own mode of dispatch": lambda q, k, v: counted(Counting(), q, k, v),
    "counted flops": _flops,
    "subclass": lambda q, k, v: attend(q.as_subclass(Tagged) * 0.5, k, v).as_subclass(torch.Tensor),
    "parameter": lambda q, k, v: attend(torch.nn.Parameter(q) * 0.5, k, v).detach(),
    "gradients": gradients,
    "gradients in place": lambda q, k, v: gradients(q, k, v, lambda x: x.clone().mul_(2)),
    "own function": lambda q, k, v: gradients(q, k, v, Doubling.apply),
    "checkpoint": lambda q, k, v: gradients(
        q, k, v, lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)
    ),
    "hooks of tensors": lambda q, k, v: gradients(q, k, v, _hooked),
    "dropout": drawn,
    "versions": versions,
    "vmap": torch.func.vmap(lambda a, b, c: attend(a * 0.5, b, c)),
    "grad": lambda q, k, v: torch.func.grad(lambda a: attend(a * 0.5, k, v).sum())(q),
    "jvp": lambda q, k, v: torch.func.jvp(lambda a: (a * 0.5) @ k.mT @ v + attend(q, k, v), (q,), (k,)),
    "functional call": lambda q, k, v: torch.func.functional_call(
        _linear(), {"weight": torch.eye(8) * 2}, (attend(q, k, v),)
    ),
    "meta": lambda q, k, v: torch.tensor(attend(*(one.to("meta") * 0.5 for one in (q, k, v))).shape),
    "sparse": lambda q, k, v: attend((q.to_sparse() * 0.5).to_dense(), k, v),
    "nested": lambda q, k, v: torch.nested.to_padded_tensor(
        torch.nested.nested_tensor([q[0], q[1, :, :2]]) * 0.5, 0.0
    ),
    "quantized": lambda q, k, v: attend(torch.quantize_per_tensor(q, 0.1, 0, torch.qint8).dequantize(), k, v),
    "traced": traced,
    "scripted": _scripted,
    "graph": made,
    "symbolic": lambda q, k, v: torch.fx.symbolic_trace(_Attending())(q, k, v),
    "copied": lambda q, k, v: copy.deepcopy(_Attending())(q, copy.deepcopy(k * 0.5), v),
    "pickled": lambda q, k, v: attend(pickle.loads(pickle.dumps(q * 0.5)), k, v),  # noqa: S301 - our own
    "printed": lambda q, k, v: (repr(q * 0.5), attend(q, k, v))[1],
    "compared": lambda q, k, v: torch.tensor(
        [bool((q == k).all()), bool(torch.allclose(q, k)), q[0, 0, 0, 0].item() > 0]
    ),
    "lists": lambda q, k, v: torch.tensor((q * 0.5).tolist()),
    "looped": lambda q, k, v: torch.stack(
        [attend(one * 0.5, *pair) for one, *pair in zip(q, k, v, strict=True)]
    ),
    "written out": lambda q, k, v: (q * 0.5 @ k.mT).softmax(-1) @ v,
    "softmax by name": lambda q, k, v: torch.softmax(input=q @ k.mT, dim=-1) @ v,
    "hooked module": _with_hooks,
    "module called by names": lambda q, k, v: _Attending()(v=v, k=k, q=q),
    "forward called": lambda q, k, v: _Attending().forward(q, k, v),
    "recursive module": lambda q, k, v: torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity())(
        attend(q, k, v)
    ),
    "multihead by names": lambda q, k, v: _multihead(q),
    "multihead with weights": lambda q, k, v: _module(
        torch.nn.MultiheadAttention, q, 8, 2, need_weights=True
    ),
    "multihead per head": lambda q, k, v: _module(
        torch.nn.MultiheadAttention, q, 8, 2, average_attn_weights=False
    ),
    "multihead with zeros": lambda q, k, v: _module(torch.nn.MultiheadAttention, q, 8, 2, add_zero_attn=True),
    "multihead with biases": lambda q, k, v: _module(torch.nn.MultiheadAttention, q, 8, 2, add_bias_kv=True),
    "encoder layer": lambda q, k, v: _module(torch.nn.TransformerEncoderLayer, q, 8, 2, 16, times=1),
    "decoder layer": lambda q, k, v: _module(torch.nn.TransformerDecoderLayer, q, 8, 2, 16, times=2),
    "default dtype": _in_double,
    "optimizer": _step,
    "clipped": lambda q, k, v: torch.nn.utils.clip_grad_norm_([_linear().weight], 1.0) + attend(q, k, v),
    "parametrized": lambda q, k, v: attend(torch.nn.utils.parametrizations.weight_norm(_linear())(q), k, v),
    "iterated": lambda q, k, v: torch.stack(list(iter(attend(q, k, v)))),
    "unpacked": lambda q, k, v: torch.add(*attend(q, k, v)),
    "data": lambda q, k, v: (q.data.mul_(0.5), attend(q, k, v))[1],
    "set": lambda q, k, v: attend(torch.empty(0).set_(q * 0.5), k, v),
    "lazily": lambda q, k, v: attend(torch.nn.LazyLinear(8)(q).detach() * 0 + q, k, v),
}


def _flat(result: Any) -> list[Any]:
    return [one for part in result for one in _flat(part)] if isinstance(result, tuple | list) else [result]


_MEANT = ("plain numbers", "give one at least")
"""What is said of calls that have no numbers to keep."""


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of prototypes and of what it has given up
@pytest.mark.parametrize("name", STYLES)
def test_the_same_bits(name: str) -> None:
    """With the recording and without it, and no error of the recorder's own is noted."""
    torch.manual_seed(0)
    wanted = _flat(STYLES[name](*given()))
    torch.manual_seed(0)
    left_out: list[str] = []
    recording = None
    try:
        with verify.record() as recording:
            got = _flat(STYLES[name](*given()))
            attend(*given())
    finally:
        left_out = list(recording.left_out if recording else ())
    assert len(wanted) == len(got)
    for one, other in zip(wanted, got, strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one.nan_to_num(7), other.nan_to_num(7))
    assert not [
        one for one in left_out if "could not be recorded" in one and not any(word in one for word in _MEANT)
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda q, k, v: attend(q, k[..., :3], v),
        lambda q, k, v: attend(q, k),
        lambda q, k, v: attend(q, k, v, nothing=1),
        lambda q, k, v: torch.mul(q),
        lambda q, k, v: q * "a",
        lambda q, k, v: torch.div(q, 2, rounding_mode="up"),
        functional.multi_head_attention_forward,
        lambda q, k, v: torch.softmax(q),
        lambda q, k, v: torch.cat([q, k[..., :3]]),
    ],
)
def test_the_same_errors(wrong: Callable[..., Any]) -> None:
    """An error of the program is the one that it has without a recording."""
    with pytest.raises(Exception) as plain:  # noqa: PT011 - whatever it is
        wrong(*given())
    with pytest.raises(type(plain.value)) as seen, verify.record():
        (attend(*given()), wrong(*given()))
    assert str(seen.value) == str(plain.value)


def test_an_error_of_the_recorder_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call goes on unrecorded, wherever in the recorder it is."""
    import verify.auditing.pytorch.modules as modules  # noqa: PLC0415, PLR0402
    import verify.auditing.pytorch.scaling as scaling  # noqa: PLC0415, PLR0402

    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("planted")

    wanted = _Attending()(*given())
    for owner, name, is_kept in (
        (scaling.Scaling, "_meet", True),
        (scaling.Scaling, "of_call", False),
        (modules.Modules, "layer", False),
        (modules.Modules, "input", False),
        (modules.Modules, "_begin", True),
    ):
        kept: Any = None
        with monkeypatch.context() as context, contextlib.suppress(RecordingError):
            context.setattr(owner, name, fail)
            with verify.record() as kept:
                got = _Attending()(*given())
        assert torch.equal(wanted, got), name
        assert len(kept.layers) == is_kept
        assert any("could not be recorded" in one and "planted" in one for one in kept.left_out)
        if name == "_meet":
            assert getattr(kept.layers[0].intended, "origin", "") == "unknown"
