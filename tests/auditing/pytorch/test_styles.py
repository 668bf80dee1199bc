# ruff: noqa: ARG005 - all styles are given queries, keys and values
"""A program runs the same while it is recorded, to the bit, however it calls PyTorch; so do its errors."""

from collections.abc import Callable
from typing import Any

import pytest

import verify
from verify.errors import RecordingError

torch: Any = pytest.importorskip("torch", reason="needs the extra [torch]")
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


class Attending(torch.nn.Module):  # type: ignore[misc]
    """A module that attends."""

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        """Attend."""
        return functional.scaled_dot_product_attention(q * 0.5, k, v)


def gradients(q: Any, k: Any, v: Any, change: Callable[[Any], Any] = lambda x: x) -> Any:
    """Return the gradients of a loss."""
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    attend(change(leaves[0] * 0.5), *leaves[1:]).square().sum().backward()
    return [leaf.grad for leaf in leaves]


def counted(q: Any, k: Any, v: Any) -> Any:
    """Return how many calls a mode sees."""
    with Loud() as mode:
        out = attend(torch.mul(q, 0.5), k, v)
    return out, torch.tensor(mode.seen)


def under(context: Any, q: Any, k: Any, v: Any) -> Any:
    """Attend in a context."""
    with context:
        return attend(q * 0.5, k, v).float()


STYLES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "by name": lambda q, k, v: attend(query=torch.mul(input=q, other=0.5), key=k, value=v, scale=0.3),
    "turned": lambda q, k, v: attend(q.mT.contiguous().mT, k.transpose(-1, -2).mT, v),
    "expanded": lambda q, k, v: attend(q, k[:1].expand(2, 4, 6, 8), v[:, :1].expand(2, 4, 6, 8)),
    "bfloat16": lambda q, k, v: attend(*(x.to(torch.bfloat16) * 0.5 for x in (q, k, v))).float(),
    "autocast": lambda q, k, v: under(torch.autocast("cpu", torch.bfloat16), q, k, v),
    "inference": lambda q, k, v: under(torch.inference_mode(), q, k, v),
    "own mode": counted,
    "subclass": lambda q, k, v: attend(q.as_subclass(Tagged) * 0.5, k, v).as_subclass(torch.Tensor),
    "gradients": gradients,
    "checkpoint": lambda q, k, v: gradients(
        q, k, v, lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)
    ),
    "nested": lambda q, k, v: attend(*(torch.nested.nested_tensor([*x]) for x in (q, k, v))).to_padded_tensor(
        0
    ),
    "meta": lambda q, k, v: torch.ones(attend(*(x.to("meta") for x in (q, k, v))).shape),
    "vmap": torch.func.vmap(lambda a, b, c: attend(a * 0.5, b, c)),
    "grad": lambda q, k, v: torch.func.grad(lambda a: attend(a * 0.5, k, v).sum())(q),
    "module called by names": lambda q, k, v: Attending()(v=v, k=k, q=q),
}


def flat(result: Any) -> list[Any]:
    """Return all tensors of a result."""
    return [x for part in result for x in flat(part)] if isinstance(result, tuple | list) else [result]


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of prototypes and of what it has given up
@pytest.mark.parametrize("name", STYLES)
def test_the_same_bits(name: str) -> None:
    """With the recording and without it, and no error of the recorder's own is noted."""
    torch.manual_seed(0)
    wanted = flat(STYLES[name](*given()))
    torch.manual_seed(0)
    with verify.record() as recording:
        got = flat(STYLES[name](*given()))
        attend(*given())
    assert len(wanted) == len(got)
    for plain, seen in zip(wanted, got, strict=True):
        assert plain.dtype == seen.dtype
        assert torch.equal(plain.nan_to_num(7), seen.nan_to_num(7))
    # Calls that have no numbers to keep are named.
    unrecorded = [text for text in recording.left_out if "could not be recorded" in text]
    assert all("has no plain numbers" in text for text in unrecorded)
    assert bool(unrecorded) == (name in ("meta", "nested", "vmap", "grad", "subclass"))


@pytest.mark.filterwarnings("ignore")  # scripting is deprecated
def test_scripted_layers_are_as_they_are() -> None:
    """Scripting takes the originals of the functions that stand in for PyTorch's."""
    layer, x = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval(), given()[0][0]
    with verify.record():
        got = torch.jit.script(layer)(x, x, x)[0]
        attend(*given())
    assert torch.allclose(got, layer(x, x, x)[0], atol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda q, k, v: attend(q, k[..., :3], v),
        lambda q, k, v: attend(q, k, v, nothing=1),
        functional.multi_head_attention_forward,
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


@pytest.mark.parametrize(
    ("owner", "name"),
    [("recorder.Modules", "place"), ("recorder.Recorder", "_keep"), ("calls", "split_mask")],
)
def test_an_error_of_the_recorder_is_a_note(owner: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call goes on unrecorded, wherever in the recorder it is."""

    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("planted")

    wanted = Attending()(*given())
    monkeypatch.setattr(f"verify.auditing.pytorch.{owner}.{name}", fail)
    with pytest.raises(RecordingError, match=r"could not be recorded .*planted"), verify.record():
        assert torch.equal(wanted, Attending()(*given()))
