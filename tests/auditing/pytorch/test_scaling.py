"""What queries and keys were multiplied by before a call is part of its scale, or is said not to be known."""

import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.pytorch.recorded import deviation, only, torch
from verify.evidence.audits import Judgement

functional = torch.nn.functional
D = 16
SCALE = D**-0.5
ANGLES = torch.arange(24.0)[:, None] * 100 ** (-torch.arange(0, D, 2) / D)
WEIGHT = torch.nn.Parameter(torch.randn(D, D, generator=torch.Generator().manual_seed(1)) / 4)
BIAS = torch.nn.Parameter(torch.ones(D))
BUFFER = torch.tensor(SCALE)
UNEVEN = torch.eye(D)[torch.randperm(D)] + torch.ones(D, D) / 4
TURN = torch.linalg.qr(torch.randn(D, D, generator=torch.Generator().manual_seed(2)))[0]
SCALED_TURN = TURN * (2 * SCALE)


def unseen(q: Any, k: Any, v: Any) -> Any:
    """Scale where no mode of functions sees it."""
    with torch._C.DisableTorchFunction():
        return q * SCALE, k, v


def half_turned(x: Any) -> Any:
    """Return the halves of vectors turned by a right angle."""
    one, other = x.chunk(2, -1)
    return torch.cat((-other, one), -1)


def rotary(x: Any, by: float = 1.0) -> Any:
    """Return vectors turned by their positions, as Llama's, cosines and sines multiplied ``by`` a number."""
    angles = torch.cat([ANGLES, ANGLES], -1)
    return x * (angles.cos() * by) + half_turned(x) * (angles.sin() * by)


def complex_rotary(x: Any) -> Any:
    """Return vectors turned by complex numbers, as in the first Llama."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(ANGLES), ANGLES)).flatten(-2)


def rms(x: Any) -> Any:
    """Return vectors divided by the root of their mean square."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def in_place(q: Any, k: Any, v: Any) -> Any:
    """Scale in place."""
    q *= SCALE
    return q, k, v


def first_of_three(q: Any, k: Any, v: Any) -> Any:
    """Scale the queries in a tensor that all three share, in place."""
    one, two, three = torch.cat([q, k, v], -1).chunk(3, -1)
    one *= SCALE
    return one, two, three


def half_of_them(q: Any, k: Any, v: Any) -> Any:
    """Scale in place some heads only."""
    q[:, :2] *= SCALE
    return q, k, v


def into_a_cache(q: Any, k: Any, v: Any) -> Any:
    """Write scaled keys to a cache that was empty."""
    cache = torch.zeros(2, 4, 30, D)
    cache[:, :, :20] = k[:, :, :20] * SCALE
    cache[:, :, 20:24] = k[:, :, 20:] * SCALE
    return q, cache[:, :, :24], v


def drawn() -> Any:
    """Return a weight that is drawn while the program is recorded, as a model made then has."""
    weight = torch.nn.Parameter(torch.randn(D, D))
    return weight.mul_(0.2)


def attended(change: Callable[..., Any], scale: float | None = None) -> tuple[Any, Any]:
    """Record attention whose queries, keys and values ``change`` returns, and audit it."""
    generator = torch.Generator().manual_seed(2)
    given = [2 * torch.randn(2, 4, 24, D, generator=generator) for _ in range(3)]
    with torch.no_grad(), verify.record() as recording:
        functional.scaled_dot_product_attention(*change(*given), scale=scale)
    assert recording.left_out == []
    return recording, verify.audit(recording, workers=1)


FOLLOWED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "number": lambda q, k, v: (q * SCALE, k, v),
    "quotient": lambda q, k, v: (q / math.sqrt(D), k, v),
    "both sides": lambda q, k, v: (q * D**-0.25, k * D**-0.25, v),
    "buffer, rotary": lambda q, k, v: (rotary(q * BUFFER), rotary(k), v),
    "both sides, rotary": lambda q, k, v: (rotary(q * D**-0.25), rotary(k * D**-0.25), v),
    "complex rotary": lambda q, k, v: (complex_rotary(q * BUFFER), complex_rotary(k), v),
    "root of a tensor": lambda q, k, v: (q / torch.sqrt(torch.tensor(D)), k, v),
    "number of NumPy": lambda q, k, v: (q * np.float32(SCALE), k, v),
    "in place": in_place,
    "in place in a shared tensor": first_of_three,
    "into a cache": into_a_cache,
    "moved about": lambda q, k, v: (
        (q * SCALE).reshape(2, 4, -1).double().contiguous().float().view_as(q),
        k,
        v,
    ),
    "put together": lambda q, k, v: (torch.cat([q[..., :8] * SCALE, q[..., 8:] * SCALE], -1), k, v),
    "repeated": lambda q, k, v: ((q * SCALE)[:, :2].repeat(1, 2, 1, 1), k, v),
    "repeated keys": lambda q, k, v: (q, (k * SCALE)[:, :2].repeat_interleave(2, 1), v),
    "linear map": lambda q, k, v: (functional.linear(q * SCALE, WEIGHT), functional.linear(k, WEIGHT), v),
    "scaled weight": lambda q, k, v: (functional.linear(q, WEIGHT * SCALE), functional.linear(k, WEIGHT), v),
    "scaled weight and bias": lambda q, k, v: (functional.linear(q, WEIGHT * SCALE, BIAS * SCALE), k, v),
    "turned": lambda q, k, v: (q * SCALE @ TURN, k @ TURN, v),
    "scaled by constant maps alone": lambda q, k, v: (q @ SCALED_TURN, k @ SCALED_TURN, v),
    "product": lambda q, k, v: ((q * SCALE) @ WEIGHT, k @ WEIGHT, v),
    "after a normalisation": lambda q, k, v: (rms(5 * q) * SCALE, rms(k), v),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_queries_scaled_before_the_call_count_as_scale(name: str) -> None:
    """With the default scale after it, it is applied twice; with a scale of 1 all is right."""
    recording, twice = attended(FOLLOWED[name])
    assert only(recording).scale == pytest.approx(1 / D)
    assert deviation(only(recording)) < 1e-5
    assert twice.exit_status == 1
    causes = {one.cause for one in twice.findings if one.judgement is Judgement.REFUTED}
    assert all("the scale is applied twice" in cause for cause in causes)
    assert all("before the call, which counts as part of its scale" in one for one in twice.layers[0].notes)
    recording, once = attended(FOLLOWED[name], scale=1.0)
    assert only(recording).scale == pytest.approx(SCALE)
    assert once.exit_status == 0


LOST: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "bias": (lambda q, k, v: (functional.linear(q * SCALE, WEIGHT, BIAS), k, v), "had a bias added"),
    "sum": (lambda q, k, v: (q * 3 + 1, k, v), "had 1 added"),
    "some heads": (half_of_them, "written to in part"),
    "a part": (lambda q, k, v: (torch.cat([q[..., :8] * SCALE, q[..., 8:]], -1), k, v), "joined by cat"),
    "one number a head": (lambda q, k, v: (q * torch.rand(4, 1, 1), k, v), "differ between rows or heads"),
    "one number a row": (lambda q, k, v: (q, k * torch.rand(24, 1), v), "keys were multiplied by numbers"),
    "learned": (lambda q, k, v: (q * torch.nn.Parameter(torch.tensor(3.0)), k, v), "a learned number"),
    "addcmul": (lambda q, k, v: (torch.addcmul(torch.zeros_like(q), q, BUFFER), k, v), "came from addcmul"),
    "lerp": (lambda q, k, v: (torch.lerp(torch.zeros_like(q), q, SCALE), k, v), "came from lerp"),
    "alpha": (lambda q, k, v: (torch.add(torch.zeros_like(q), q, alpha=SCALE), k, v), "came from add"),
    "ldexp": (lambda q, k, v: (torch.ldexp(q, torch.tensor(-2)), k, v), "came from ldexp"),
    "all at once": (lambda q, k, v: (torch._foreach_mul([q], SCALE)[0], k, v), "came from _foreach_mul"),
    "all in place": (
        lambda q, k, v: (torch._foreach_mul_([q], SCALE), (q, k, v))[1],
        "came from _foreach_mul",
    ),
    "curve": (lambda q, k, v: (torch.tanh(q * SCALE), k, v), "went through tanh"),
    "unseen": (unseen, "where a recording does not see"),
    "mapped": (lambda q, k, v: (torch.vmap(lambda one: one * SCALE)(q), k, v), "does not see"),
    "a constant map": (
        lambda q, k, v: (q * SCALE @ UNEVEN, k, v),
        "a constant linear map that is not learned",
    ),
    "foreign": (lambda q, k, v: (torch.from_numpy(q.numpy() * np.float32(SCALE)), k, v), "does not see"),
    "of unit length": (
        lambda q, k, v: (functional.normalize(q, dim=-1) * 10, k, v),
        "brought to unit length",
    ),
    "not finite": (lambda q, k, v: (q * math.inf, k, v), "no number that is finite"),
}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.filterwarnings("ignore:.*invalid value")
def test_what_cannot_be_followed_is_said_and_no_default_decides(name: str) -> None:
    """The scale is undecided, unless the user says what was meant by the call's own.

    Also where objects are frozen, as all are here that were made before the first test.
    """
    assert gc.get_freeze_count()
    change, reason = LOST[name]
    recording, record = attended(change)
    assert only(recording).scale is None
    assert record.layers[0].intention.origin == "unknown"
    assert reason in record.layers[0].intention.where
    on_scale = [one for one in record.findings if one.kind == "scale-implied"]
    assert {one.judgement for one in on_scale} == {Judgement.UNDECIDED}
    assert record.exit_status != 0
    if name != "not finite":
        given = verify.audit(recording, intended="1/sqrt(d)", workers=1)
        assert {one.judgement for one in given.findings if one.kind == "scale-implied"} == {
            Judgement.CONFIRMED
        }


NO_SCALE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "nothing": lambda q, k, v: (q, k, v),
    "rotary": lambda q, k, v: (rotary(q), rotary(k), v),
    "ones": lambda q, k, v: (q * 1.0, k * torch.ones(D), v / 1),
    "values": lambda q, k, v: (q, k, v * 3),
    "overwritten": lambda q, k, v: ((q * 3).copy_(q), k, v),
    "norm": lambda q, k, v: (rms(q * 3), rms(k), v),
    "layer norm": lambda q, k, v: (functional.layer_norm(q * 5, (D,)), k, v),
    "normalised": lambda q, k, v: (functional.normalize(q, dim=-1), k, v),
    "normalised to √d": lambda q, k, v: (functional.normalize(q, dim=-1) * D**0.5, k, v),
    "one row normalised": lambda q, k, v: (rms(q[:1, :1, :1]), k[:1, :1], v[:1, :1]),
    "common input": lambda q, _k, _v: [functional.linear(one, WEIGHT) for one in [q * 4] * 3],
    "common input with a sum": lambda q, _k, _v: [
        functional.linear(one, WEIGHT, BIAS) for one in [q * 4 + 1] * 3
    ],
    "one tensor": lambda q, _k, _v: (q * 3,) * 3,
    "curve before a projection": lambda q, k, v: (functional.linear(functional.gelu(q), WEIGHT), k, v),
    "unknown before a projection": lambda q, k, v: (functional.linear(torch.addcmul(q, q, k), WEIGHT), k, v),
    "learned components": lambda q, k, v: (rms(q) * torch.nn.Parameter(torch.full((D,), 2.0)), k, v),
    "dropped": lambda q, k, v: (functional.dropout(q, 0.0), k, v),
    "weights drawn meanwhile": lambda *qkv: [functional.linear(one, drawn()) for one in qkv],
}


@pytest.mark.parametrize("name", NO_SCALE)
def test_what_is_no_scale_leaves_the_call_as_it_is(name: str) -> None:
    """What all three have in common, what ends in a normalisation, values, weights."""
    recording, record = attended(NO_SCALE[name])
    assert only(recording).scale is None
    assert record.layers[0].intention.origin == "default"
    assert not [one for one in record.layers[0].notes if "before the call" in one]
