# ruff: noqa: ARG005 - all styles are given queries, keys and values
"""A program runs the same while it is recorded, to the bit, however it calls PyTorch; so do its errors."""

import warnings
from collections.abc import Callable
from typing import Any

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


class Tagged(torch.Tensor):  # type: ignore[misc]
    """A subclass of tensors that changes nothing."""


class Loud(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """A mode of the program's own, which counts."""

    seen = 0

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call ``func``."""
        self.seen += 1
        return func(*args, **(kwargs or {}))


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


def _under(context: Any, *given: Any) -> Any:
    with context:
        q, k, v = given
        return attend(q * 0.5, k, v).float()


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


def _step(q: Any, k: Any, v: Any) -> Any:
    layer = _linear()
    optimizer = torch.optim.AdamW(layer.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        attend(layer(q) * 0.5, k, v).sum().backward()
        optimizer.step()
    return layer.weight.detach()


STYLES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "by name": lambda q, k, v: attend(query=torch.mul(input=q, other=0.5), key=k, value=v, scale=0.3),
    "turned": lambda q, k, v: attend(q.mT.contiguous().mT, k.transpose(-1, -2).mT, v.permute(0, 1, 2, 3)),
    "expanded": lambda q, k, v: attend(q, k[:1].expand(2, 4, 6, 8), v[:, :1].expand(2, 4, 6, 8)),
    "half": lambda q, k, v: attend(q.half(), k.half(), v.half()).float(),
    "bfloat16": lambda q, k, v: attend(*(one.to(torch.bfloat16) * 0.5 for one in (q, k, v))).float(),
    "autocast": lambda q, k, v: _under(torch.autocast("cpu", torch.bfloat16), q, k, v),
    "inference": lambda q, k, v: _under(torch.inference_mode(), q, k, v),
    "no gradients": lambda q, k, v: _under(torch.no_grad(), q, k, v),
    "math kernel": lambda q, k, v: _under(
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), q, k, v
    ),
    "own mode": lambda q, k, v: counted(Loud(), q, k, v),
    "subclass": lambda q, k, v: attend(q.as_subclass(Tagged) * 0.5, k, v).as_subclass(torch.Tensor),
    "gradients": gradients,
    "checkpoint": lambda q, k, v: gradients(
        q, k, v, lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)
    ),
    "dropout": drawn,
    "vmap": torch.func.vmap(lambda a, b, c: attend(a * 0.5, b, c)),
    "grad": lambda q, k, v: torch.func.grad(lambda a: attend(a * 0.5, k, v).sum())(q),
    "scripted": _scripted,
    "hooked module": _with_hooks,
    "module called by names": lambda q, k, v: _Attending()(v=v, k=k, q=q),
    "multihead with weights": lambda q, k, v: _module(
        torch.nn.MultiheadAttention, q, 8, 2, need_weights=True
    ),
    "multihead per head": lambda q, k, v: _module(
        torch.nn.MultiheadAttention, q, 8, 2, average_attn_weights=False
    ),
    "multihead with biases": lambda q, k, v: _module(torch.nn.MultiheadAttention, q, 8, 2, add_bias_kv=True),
    "encoder layer": lambda q, k, v: _module(torch.nn.TransformerEncoderLayer, q, 8, 2, 16, times=1),
    "decoder layer": lambda q, k, v: _module(torch.nn.TransformerDecoderLayer, q, 8, 2, 16, times=2),
    "optimizer": _step,
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
        functional.multi_head_attention_forward,
        lambda q, k, v: functional.multi_head_attention_forward(),
        lambda q, k, v: functional.multi_head_attention_forward(None, None, v, 8, 2),
    ],
)
def test_the_same_errors(wrong: Callable[..., Any]) -> None:
    """An error of the program is the one that it has without a recording."""
    with pytest.raises(Exception) as plain:  # noqa: PT011 - whatever it is
        wrong(*given())
    with pytest.raises(type(plain.value)) as seen, verify.record():
        (attend(*given()), wrong(*given()))
    assert str(seen.value) == str(plain.value)


def test_scripted_modules_are_as_they_are() -> None:
    """Scripting takes the originals of the functions that stand in for PyTorch's."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.nn.functional.scaled_dot_product_attention(x, x, x)
            return self.inner(y, y, y)[0]

    model, x = Model().eval(), torch.randn(2, 5, 8)
    wanted = model(x)
    with warnings.catch_warnings(), verify.record():
        warnings.simplefilter("ignore")  # scripting is deprecated
        assert torch.allclose(torch.jit.script(model)(x), wanted, atol=1e-6)
        attend(*given())


@pytest.mark.parametrize(
    ("owner", "name"),
    [("places.Modules", "place"), ("recorder.Recorder", "_keep"), ("functions", "attention_call")],
)
def test_an_error_of_the_recorder_is_a_note(owner: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call goes on unrecorded, wherever in the recorder it is."""

    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("planted")

    wanted = _Attending()(*given())
    monkeypatch.setattr(f"verify.auditing.pytorch.{owner}.{name}", fail)
    with pytest.raises(RecordingError, match=r"could not be recorded .*planted"), verify.record():
        assert torch.equal(wanted, _Attending()(*given()))
