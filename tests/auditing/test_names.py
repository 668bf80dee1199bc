"""Faults that are named: each planted where its formula gives the output, and right attention beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import SCALE, arrays, attention, of_calls
from verify.auditing.recording import Call
from verify.evidence.audits import Judgement

T, WIDTH = 24, 6
BEHIND = np.arange(T)[:, None] - np.arange(T)
CAUSAL = BEHIND >= 0
WINDOW = CAUSAL & (BEHIND < WIDTH)
PADDED = np.arange(T) < np.array([24, 19]).reshape(2, 1, 1, 1)
BIAS = 0.3 * np.random.default_rng(4).standard_normal((1, 1, T, T))


def with_zeros(q: Any, k: Any, v: Any) -> Any:
    """Return attention that sees 8 keys of zeros beside its own 24."""
    more = np.zeros((*k.shape[:2], 8, k.shape[3]))
    return attention(q, np.concatenate([k, more], axis=2), np.concatenate([v, more], axis=2))


def turned(v: Any, *, in_pairs: bool) -> Any:
    """Return values turned by their positions, in pairs of neighbours or of halves."""
    width = v.shape[-1]
    angle = np.arange(T)[:, None] * 10_000.0 ** (-np.arange(0, width, 2) / width)
    one, other = (v[..., ::2], v[..., 1::2]) if in_pairs else (v[..., : width // 2], v[..., width // 2 :])
    both = (
        one * np.cos(angle) - other * np.sin(angle),
        one * np.sin(angle) + other * np.cos(angle),
    )
    return np.stack(both, axis=-1).reshape(v.shape) if in_pairs else np.concatenate(both, axis=-1)


def merged(q: Any, k: Any, v: Any, seen: Any = True) -> Any:
    """Return the plain mean of attention over the four parts of the keys, of those that rows see."""
    parts = np.arange(T) // (T // 4)
    shown = [np.broadcast_to(seen & (parts == one), (T, T)) for one in range(4)]
    with np.errstate(invalid="ignore"):
        each = [np.nan_to_num(attention(q, k, v, mask=one)) for one in shown]
    return np.sum(each, axis=0) / sum(one.any(axis=-1, keepdims=True) for one in shown)


FAULTS: dict[str, tuple[dict[str, Any], str, Callable[[Any, Any, Any], Any]]] = {
    "window shorter": (
        {"mask": WINDOW}, "the window has 5 keys, not 6",
        lambda q, k, v: attention(q, k, v, mask=CAUSAL & (BEHIND < WIDTH - 1)),
    ),
    "window longer": (
        {"mask": WINDOW}, "the window has 7 keys, not 6",
        lambda q, k, v: attention(q, k, v, mask=CAUSAL & (BEHIND < WIDTH + 1)),
    ),
    "window to both sides": (
        {"mask": WINDOW}, "the window is symmetric",
        lambda q, k, v: attention(q, k, v, mask=abs(BEHIND) < WIDTH),
    ),
    "another mask": (
        {"mask": PADDED}, "the mask is that of sequence 1",
        lambda q, k, v: attention(q, k, v, mask=PADDED[::-1]),
    ),
    "no last key": (
        {}, "the last key is missing", lambda q, k, v: attention(q, k[:, :, :-1], v[:, :, :-1]),
    ),
    "zeros": ({}, "8 keys of padding, all zeros", with_zeros),
    "ring": ({}, "4 parts of the keys is averaged", merged),
    "causal ring": ({"causal": True}, "4 parts of the keys is averaged",
                    lambda q, k, v: merged(q, k, v, CAUSAL)),
    "bias afterwards": (
        {"bias": BIAS}, "the bias is added after the softmax", lambda q, k, v: attention(q, k, v) + BIAS @ v,
    ),
    "values in halves": (
        {}, "values are turned by their positions",
        lambda q, k, v: attention(q, k, turned(v, in_pairs=False)),
    ),
    "values in pairs": (
        {}, "values are turned by their positions",
        lambda q, k, v: attention(q, k, turned(v, in_pairs=True)),
    ),
    "two scales": (
        {}, "scores and outputs are each off by a factor",
        lambda q, k, v: 0.37 * attention(q, k, v, scale=0.61 * SCALE),
    ),
}  # fmt: skip


AT_ONCE = {"window shorter", "ring", "two scales"}
"""Of a mask, of weights and of two factors; the others are tried among the longer studies."""


def planted(declared: dict[str, Any], compute: Callable[[Any, Any, Any], Any]) -> Call:
    """Return a call that declares this and whose output is what is computed."""
    q, k, v = (one.astype(np.float32) for one in arrays(heads=1))
    out = compute(*(one.astype(np.float64) for one in (q, k, v))).astype(np.float32)
    return Call(q, k, v, out, scale=SCALE, **declared)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name: str) -> None:
    """The first thing said is what the program does."""
    declared, cause, compute = FAULTS[name]
    found = of_calls(planted(declared, compute))["reconstruction"]
    assert found.judgement is Judgement.REFUTED
    assert cause in found.cause.split(" or ")[0]


@pytest.mark.parametrize(
    "name",
    [name if name in AT_ONCE else pytest.param(name, marks=pytest.mark.slow) for name in FAULTS],
)
def test_no_name_without_its_formula(name: str) -> None:
    """The right attention has no fault; with one row off by a hundredth the fault's name is not given."""
    declared, cause, compute = FAULTS[name]
    right = planted(declared, partial(attention, **declared))
    assert of_calls(right)["reconstruction"].judgement is Judgement.CONFIRMED
    one = planted(declared, compute)
    one.output[:, :, T - 1] *= 1.01  # type: ignore[index]  # it has one
    found = of_calls(replace(one))["reconstruction"]
    assert found.judgement is Judgement.REFUTED
    assert cause not in found.cause
