"""Whether the arrays of a call fit each other: every mistake is one line with the place and the fix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.auditing.calls import call
from verify.auditing.recording import Call
from verify.auditing.shapes import ARRAYS, FLOATING, Described, check_call, check_shapes
from verify.errors import RecordingError

SHAPE = (3, 4, 5, 8)


def described(dtype: str = "float32", **shapes: tuple[int, ...]) -> dict[str, Described]:
    """Return q, k, v and out that fit each other, with what is given in their place or beside them."""
    whole = dict.fromkeys(("q", "k", "v", "out"), SHAPE) | shapes
    return {name: Described(shape, dtype) for name, shape in whole.items()}


def of_kind(name: str, dtype: str, shape: tuple[int, ...] = SHAPE) -> dict[str, Described]:
    """Return the same with one array of another kind of number."""
    return described() | {name: Described(shape, dtype)}


WRONG: list[tuple[dict[str, Described], str]] = [
    ({"q": Described(SHAPE, "float32")}, "has no k; give q and k at least"),
    (described(q=(5, 8)), "q has shape [5, 8]; give it as [sequence, head, token, d]"),
    (described(q=(3, 0, 5, 8)), "q has no heads, its shape is [3, 0, 5, 8]; give one at least"),
    (described(k=(3, 4, 0, 8)), "k has no tokens, its shape is [3, 4, 0, 8]; give one at least"),
    (described(q=(0, 4, 5, 8)), "q has no sequences, its shape is [0, 4, 5, 8]; give one at least"),
    (described(q=(3, 4, 5, 0)), "q has d = 0, its shape is [3, 4, 5, 0]; give one at least"),
    (
        described(k=(3, 3, 5, 8)),
        "k has 3 heads, which do not divide q's 4; give as many as q, or a divisor of 4",
    ),
    (
        described(v=(3, 8, 5, 8)),
        "v has 8 heads, which do not divide q's 4; give as many as q, or a divisor of 4",
    ),
    (
        described(k=(3, 4, 5, 9)),
        "k has shape [3, 4, 5, 9] and q [3, 4, 5, 8], which differ in axis 3 (d); give 8 there",
    ),
    (
        described(k=(2, 4, 5, 8)),
        "k has shape [2, 4, 5, 8] and q [3, 4, 5, 8], which differ in axis 0 (sequence); give 3 there",
    ),
    (
        described(v=(2, 4, 5, 8)),
        "v has shape [2, 4, 5, 8] and q [3, 4, 5, 8], which differ in axis 0 (sequence); give 3 there",
    ),
    (
        described(v=(3, 4, 6, 8)),
        "v has shape [3, 4, 6, 8] and k [3, 4, 5, 8], which differ in axis 2 (token); give 5 there",
    ),
    (
        described(out=(1, 4, 5, 8)),
        "out has shape [1, 4, 5, 8] and q [3, 4, 5, 8], which differ in axis 0 (sequence); give 3 there",
    ),
    (
        described(out=(3, 2, 5, 8)),
        "out has shape [3, 2, 5, 8] and q [3, 4, 5, 8], which differ in axis 1 (head); give 4 there",
    ),
    (
        described(out=(3, 4, 6, 8)),
        "out has shape [3, 4, 6, 8] and q [3, 4, 5, 8], which differ in axis 2 (token); give 5 there",
    ),
    (
        described(out=(3, 4, 5, 9)),
        "out has shape [3, 4, 5, 9] and v [3, 4, 5, 8], which differ in axis 3 (d); give 8 there",
    ),
    (
        of_kind("mask", "bool", (4, 5)),
        "mask has shape [4, 5], the scores [3, 4, 5, 5]; give a shape that is broadcast to them",
    ),
    (
        of_kind("bias", "float32", (1, 3, 4, 5, 5)),
        "bias has shape [1, 3, 4, 5, 5], the scores [3, 4, 5, 5]; give a shape that is broadcast to them",
    ),
    (of_kind("sink", "float32", (3,)), "sink has shape [3]; give [4], one a head"),
    (of_kind("q", "int64"), "q has dtype int64; give one of float16, bfloat16, float32, float64"),
    (
        of_kind("out", "complex128"),
        "out has dtype complex128; give one of float16, bfloat16, float32, float64",
    ),
    (
        of_kind("mask", "float32", (5, 5)),
        (
            "mask has dtype float32; give booleans, True where a key may be seen, and what is added to the "
            "scores as bias"
        ),
    ),
]


@pytest.mark.parametrize(("arrays", "wrong"), WRONG, ids=[str(place) for place in range(len(WRONG))])
def test_what_does_not_fit_is_said_with_the_fix(arrays: dict[str, Described], wrong: str) -> None:
    """One line says where, what, and what to give."""
    with pytest.raises(RecordingError) as caught:
        check_shapes(arrays, "the place")
    assert str(caught.value) == f"the place: {wrong}"


@pytest.mark.parametrize("dtype", FLOATING)
def test_every_kind_of_floating_point_number_is_taken(dtype: str) -> None:
    """Queries and keys alone are a call as well."""
    whole = described(dtype)
    check_shapes(whole, "")
    check_shapes({name: whole[name] for name in ("q", "k")}, "")


@given(
    st.tuples(*[st.integers(1, 4)] * 3), st.sampled_from([1, 2, 3, 6]), st.integers(1, 5), st.integers(1, 5),
    st.integers(0, 4).flatmap(lambda rank: st.lists(st.booleans(), min_size=rank, max_size=rank)),
)  # fmt: skip
def test_all_that_numpy_broadcasts_fits(
    sizes: tuple[int, int, int], key_heads: int, d: int, d_v: int, kept: list[bool]
) -> None:
    """Any widths, grouped heads, other numbers of keys; masks and biases of any shape for the scores."""
    sequences, queries, keys = sizes
    scores = (sequences, 6, queries, keys)
    own = scores[len(scores) - len(kept) :]
    shape = tuple(size if keep else 1 for size, keep in zip(own, kept, strict=True))
    assert np.broadcast_shapes(shape, scores) == scores
    arrays = described(
        q=(sequences, 6, queries, d), k=(sequences, key_heads, keys, d), v=(sequences, key_heads, keys, d_v),
        out=(sequences, 6, queries, d_v), bias=shape, sink=(6,),
    )  # fmt: skip
    check_shapes(arrays | {"mask": Described(shape, "bool")}, "")


def test_a_call_is_described_by_its_arrays() -> None:
    """Each under the key that it has in a file; what is not given is not looked at."""
    one = call(sink=np.ones(4))
    check_call(one, "")
    for name, field in ARRAYS.items():
        wrong = Call(**{**vars(one), field: np.ones((1, 7, 1, 1), complex)})
        with pytest.raises(RecordingError, match=f"layer a: {name} has"):
            check_call(wrong, "layer a")


def test_tensors_are_described_alike() -> None:
    """The dtype of another library's array has the same name."""

    class Dtype:
        def __str__(self) -> str:
            return "torch.int8"

    class Tensor:
        shape: Any = SHAPE
        dtype = Dtype()

    with pytest.raises(RecordingError, match="q has dtype int8; give one of"):
        check_call(Call(Tensor(), Tensor()), "")
