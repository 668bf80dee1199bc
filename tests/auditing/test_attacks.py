"""Broken attention that is hard to see, and files that are no recordings: none ends with status 0."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.calls import arrays
from verify.errors import RecordingError, VerifyError
from verify.evidence.audits import AuditRecord

SCALE, TOKENS = 0.25, 40


def given(tokens: int = TOKENS, sequences: int = 30, heads: int = 1) -> dict[str, Any]:
    """Return arrays of right attention in single precision, in heads of 16 dimensions."""
    q, k, v = arrays(3, sequences=sequences, heads=heads, queries=tokens, keys=tokens, d=16)
    return {"q": q, "k": k, "v": v, "out": attend(q, k, v), "scale": SCALE}


def attend(q: Any, k: Any, v: Any, scale: float = SCALE, added: Any = 0.0) -> Any:
    """Return attention by its formula in double precision, stored in single."""
    scores = scale * q.astype(float) @ k.astype(float).mT + added
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True) @ v.astype(float)).astype(np.float32)


def audited(one: dict[str, Any], **options: Any) -> AuditRecord:
    """Return the audit of these arrays."""
    return verify.audit(**one, **options, workers=1)


def last_of_many_keys() -> dict[str, Any]:
    """A last key that is missing among enough keys that a coarser type would hide it, were it not named."""
    one = {name: value[:, :1] if name in "qkv" else value for name, value in given(2000, 1).items()}
    return one | {"out": attend(one["q"], one["k"][:, :, :-1], one["v"][:, :, :-1])}


def first_key_of_some_rows() -> dict[str, Any]:
    """A first key that the first fifty rows do not see."""
    one = given(600, 1)
    one["out"][:, :, :50] = attend(one["q"][:, :, :50], one["k"][:, :, 1:], one["v"][:, :, 1:])
    return one


def one_row_by_little() -> dict[str, Any]:
    """A single row that is off by what a coarser type might leave, where all others are exact."""
    one = given()
    one["out"][3, 0, 7] += 1e-3
    return one


def weak_mask() -> dict[str, Any]:
    """A causal mask that is added as -10, so that it is a bias and hides nothing."""
    one, bias = given(), np.where(np.tri(TOKENS, dtype=bool), 0, -10).astype(np.float32)
    return one | {"out": attend(one["q"], one["k"], one["v"], added=bias), "bias": bias}


def one_bias_that_is_lost() -> dict[str, Any]:
    """A bias that falls slowly with the distance, and that one head does without: it is near rounding."""
    one = given(heads=2)
    slopes = np.array([2.0**-4, 2.0**-8])[:, None, None]
    bias = -slopes * np.abs(np.arange(TOKENS)[:, None] - np.arange(TOKENS))
    out = attend(one["q"], one["k"], one["v"], added=bias * [[[1]], [[0]]])
    return one | {"out": out, "bias": bias.astype(np.float32)}


def noise() -> dict[str, Any]:
    """Noise of the size of a coarser type's."""
    one = given()
    size = np.linalg.norm(one["out"], axis=-1, keepdims=True)
    wobble = np.random.default_rng(1).normal(size=one["out"].shape) * size * 5e-4
    return one | {"out": (one["out"] + wobble).astype(np.float32)}


def rows_that_see_no_key() -> dict[str, Any]:
    """A row that the mask leaves no key, and whose output is anything."""
    one = given()
    one["out"][:, :, 5] = 1e3
    mask = np.ones((TOKENS, TOKENS), dtype=bool)
    mask[5] = False
    return one | {"mask": mask}


def rows_hidden_by_a_bias() -> dict[str, Any]:
    """Rows whose bias is the same for all keys, and so low that it hides each."""
    one = given()
    one["out"][:, :, 5:20] = 1e3
    bias = np.zeros((TOKENS, TOKENS), dtype=np.float32)
    bias[5:20] = -10_000
    return one | {"bias": bias}


def one_large_column() -> dict[str, Any]:
    """A column of values that is so large that rounding it would hide what is wrong in all others."""
    one = given()
    one["v"][..., 0, 0] = 1e8
    one["out"] = attend(one["q"], one["k"], one["v"])
    one["out"][..., 1:] *= 1.5
    return one


def a_token_that_no_query_sees() -> dict[str, Any]:
    """A token in the middle that is hidden from all."""
    hidden = np.tri(TOKENS, dtype=bool)
    hidden[:, 3] = False
    return masked(hidden)


def a_row_that_sees_nothing() -> dict[str, Any]:
    """A row in the middle that sees no key."""
    hidden = np.tri(TOKENS, dtype=bool)
    hidden[10] = False
    return masked(hidden)


def masked(seen: Any) -> dict[str, Any]:
    """Return right attention with this mask, where a causal one was meant."""
    one = given()
    out = attend(one["q"], one["k"], one["v"], added=np.where(seen, 0.0, -1e30))
    return one | {"mask": seen, "out": out, "intended_mask": "causal"}


@pytest.mark.parametrize(
    ("attack", "status", "unseen"),
    [
        pytest.param(last_of_many_keys, 1, "", marks=pytest.mark.slow),
        (first_key_of_some_rows, 1, ""),
        (one_row_by_little, 1, ""),
        (weak_mask, 3, ""),
        (one_bias_that_is_lost, 1, ""),
        (noise, 3, "precision"),
        (rows_that_see_no_key, 3, "rows"),
        (rows_hidden_by_a_bias, 3, "rows"),
        (one_large_column, 1, ""),
        (a_token_that_no_query_sees, 1, ""),
        (a_row_that_sees_nothing, 1, "rows"),
    ],
)
def test_what_is_broken_is_not_confirmed(attack: Any, status: int, unseen: str) -> None:
    """It is refuted, or said not to have been seen; what honest arithmetic may do is allowed by its name."""
    one = attack()
    found = audited(one)
    assert (found.exit_status, ",".join(found.unseen)) == (status, unseen)
    if unseen and status == 3:
        assert not audited(one, allow_unseen=unseen).unseen


@pytest.mark.parametrize("change", [lambda v: 0 * v + v[:, :, :1], lambda v: 1e-6 * v])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_values_that_round_otherwise_are_right(change: Any, dtype: str) -> None:
    """Equal ones, whose outputs are exact, and those near the least number of a type."""
    one = given()
    q, k, v = (array.astype(dtype) for array in (one["q"], one["k"], change(one["v"])))
    seen = np.random.default_rng(2).random((len(q), 1, 1, TOKENS)) < 0.7
    out = attend(q, k, v, added=np.where(seen, 0.0, -1e30)).astype(dtype)
    found = audited({"q": q, "k": k, "v": v, "out": out, "mask": seen, "scale": SCALE})
    assert found.exit_status != 1
    assert not found.unseen


def test_columns_of_any_size_are_right() -> None:
    """Values whose columns differ by powers of ten are compared each by its own rounding."""
    one = given()
    one["v"] = (one["v"] * 10.0 ** np.linspace(-20, 18, 16)).astype(np.float32)
    assert audited(one | {"out": attend(one["q"], one["k"], one["v"])}).exit_status == 0


@pytest.mark.parametrize("name", ["bias", "sink"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_added_to_scores_is_a_number_or_hides(name: str, number: float) -> None:
    """A NaN is no mask: with one, no output would be a number."""
    array = np.zeros((TOKENS, TOKENS) if name == "bias" else 1, dtype=np.float32)
    array.flat[-1] = number
    with pytest.raises(RecordingError, match=f"{name} holds NaN"):
        audited(given() | {name: array})


def test_documents_are_for_a_mask() -> None:
    """Where tokens are of documents and it is not said that these matter, nothing is confirmed."""
    documents = np.repeat([[0, 1]], TOKENS // 2, axis=1).repeat(30, axis=0)
    with pytest.raises(RecordingError, match="give intended_mask= as documents"):
        audited(given() | {"documents": documents})


@pytest.mark.parametrize(
    "changes",
    [
        {"softcap": np.float32(0)},
        {"softcap": np.float32(-5)},
        {"scale": np.zeros(3)},
        {"scale": np.float64("nan")},
        {"q": np.zeros((30, 1, TOKENS, 16), complex)},
        {"q": np.float32(1)},
        {"bias": np.zeros((1, 1, 1, 1, 1), np.float32)},
        {"intended": np.array(["1", "2"])},
        {"intended": np.float64(0)},
        {"intended_mask": np.float64(3)},
        {"documents": np.zeros((30, TOKENS))},
        {"sink": np.zeros(3, np.float32)},
        {"out": np.zeros((30, 1, TOKENS, 15), np.float32)},
    ],
)
def test_a_file_that_is_no_recording_is_refused_in_a_line(changes: dict[str, Any], tmp_path: Path) -> None:
    """One line says which file; there is no warning, no traceback and no waiting."""
    path = tmp_path / "one.npz"
    np.savez(path, **given() | changes)
    with pytest.raises(VerifyError) as refused:
        verify.audit(path, workers=1)
    assert "\n" not in str(refused.value)
