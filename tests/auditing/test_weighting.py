"""Weights that are declared as no softmax: every row is compared with them, and what is wrong is named."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from safetensors.numpy import save_file

import verify
from tests.tool import Ended
from verify.auditing.blocks import head_of
from verify.auditing.recording import Call, Layer, Recording
from verify.auditing.weighting import weighting
from verify.errors import RecordingError, SettingsError
from verify.evidence.audits import Judgement

DECLARED = ("sigmoid", "sigmoid-ln-n", "softpick", "clipped=1.5", "differential=0.8")
TOKENS, WIDTH = 24, 64


def attended(text: str, q: Any, k: Any, v: Any, mask: Any, scale: float) -> Any:
    """Return the attention that ``text`` declares, written as its paper has it, in the arrays' type."""
    kind, _, number = text.partition("=")
    if kind == "differential":
        half = q.shape[-1] // 2
        one, other = (
            attended("softmax", q[..., part], k[..., part], v, mask, scale)
            for part in (slice(half), slice(half, None))
        )
        return one - q.dtype.type(number) * other
    scores = q.dtype.type(scale) * (q @ np.swapaxes(k, -1, -2))
    if kind == "clipped":
        scores = np.clip(scores, -q.dtype.type(number), q.dtype.type(number))
    if kind.startswith("sigmoid"):
        bias = np.log(mask.sum(-1, keepdims=True)).astype(q.dtype) if kind == "sigmoid-ln-n" else 0
        weights = np.where(mask, 1 / (1 + np.exp(bias - scores)), 0)
    elif kind == "softpick":
        above = np.where(mask, np.exp(scores) - 1, 0)
        weights = np.maximum(above, 0) / np.abs(above).sum(-1, keepdims=True)
    else:
        raised = np.where(mask, np.exp(scores - scores.max(-1, keepdims=True)), 0)
        weights = raised / raised.sum(-1, keepdims=True)
    return weights.astype(q.dtype) @ v


def made(text: str, applied: str = "", dtype: Any = np.float32, *, causal: bool = False) -> Call:
    """Return a call that declares ``text`` and applies that or something else, in single precision."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((3, 1, TOKENS, WIDTH)).astype(dtype) for _ in "qkv")
    halves = 2 if "differential" in text + applied else 1
    scale = math.sqrt(halves / WIDTH)
    mask = np.tri(TOKENS) > 0 if causal else np.ones((TOKENS, TOKENS), dtype=bool)
    single = [one.astype(np.float32) for one in (q, k, v)]
    out = attended(applied or text, single[0], single[1], single[2], mask, scale).astype(dtype)
    return Call(q, k, v, out, causal=causal, scale=scale, weights=text)


def found_of(call: Call) -> tuple[int, dict[str, Any]]:
    """Return the status of an audit of a call, and what it finds of the first head by kind."""
    record = verify.audit(Recording("tests", [Layer("one", [call])]), workers=1)
    return record.exit_status, {one.kind: one for one in record.findings if one.head == 0}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, bfloat16])
@pytest.mark.parametrize("text", DECLARED)
def test_what_is_declared_passes(text: str, dtype: Any, *, causal: bool) -> None:
    """Every row is compared with the declared formula and is within its bound; the scale follows."""
    _, found = found_of(made(text, dtype=dtype, causal=causal))
    assert found["reconstruction"].judgement is Judgement.CONFIRMED
    assert 0 < found["reconstruction"].estimate < 0.5
    assert found["scale-implied"].judgement in (Judgement.CONFIRMED, Judgement.UNDECIDED)
    assert dtype is not np.float32 or found["scale-implied"].judgement is Judgement.CONFIRMED


@pytest.mark.parametrize(
    ("text", "applied", "named"),
    [
        ("sigmoid", "softmax", "a plain softmax is applied in place of sigmoid"),
        ("sigmoid", "sigmoid-ln-n", "a sigmoid of scores less ln n"),
        ("softpick", "softmax", "a plain softmax is applied in place of softpick"),
        ("clipped=1.5", "clipped=1.6", "scores are clipped at ±1.6"),
        ("differential=0.8", "differential=0.808", "a first map less 0.808 times a second"),
        pytest.param(
            *("differential=0.8", "differential=0.792", "a first map less 0.792 times a second"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_is_declared_wrongly_is_refuted(text: str, applied: str, named: str) -> None:
    """Another function, a bound that is off, and a multiple that is 1% off are named, with the rows."""
    status, found = found_of(made(text, applied))
    one = found["reconstruction"]
    assert status == 1
    assert one.judgement is Judgement.REFUTED
    assert named in one.cause
    assert "rows are off, in 3 of 3 sequences" in one.reason
    assert f"({text})" in one.fix


@pytest.mark.parametrize("text", DECLARED)
def test_one_wrong_row_is_refuted(text: str) -> None:
    """A single row that is 1% off is found, whatever makes the weights."""
    call = made(text)
    output = np.array(call.output)
    output[2, 0, 17] *= 1.01
    call = replace(call, output=output)
    status, found = found_of(call)
    assert status == 1
    assert "1 of 72 rows are off, in 1 of 3 sequences" in found["reconstruction"].reason


def test_a_multiple_that_only_all_rows_show_is_refuted() -> None:
    """In bfloat16 4% of the multiple is within each row's rounding, and all rows together show it."""
    status, found = found_of(made("differential=0.8", "differential=0.83", bfloat16))
    assert status == 1
    assert found["reconstruction"].estimate < 1
    assert "the second map is subtracted about 0.83 times, not 0.8" in found["reconstruction"].cause


@pytest.mark.parametrize("text", ["", *DECLARED])
def test_slope_is_the_derivative_of_the_output(text: str) -> None:
    """The derivative by the scale, from which the implied scale is found, agrees with a difference."""
    call = made(text, causal=True)
    head = head_of(call, 1, 0, np.arange(TOKENS))
    scale, step = 0.15, 1e-6
    difference = (head.attend(scale + step) - head.attend(scale - step)) / (2 * step)
    np.testing.assert_allclose(head.attended(scale)[1], difference, rtol=1e-5, atol=1e-7)


def test_of_a_softmax_alone_nothing_is_estimated() -> None:
    """Weights of a sigmoid have no entropy here, a difference of two maps no statistics of scores either."""
    _, of_sigmoid = found_of(made("sigmoid"))
    assert of_sigmoid["entropy"].estimate is None
    assert of_sigmoid["row-variance"].estimate == pytest.approx(1, abs=0.2)
    _, of_both = found_of(made("differential=0.8"))
    assert of_both["row-variance"].estimate is None
    _, clipped = found_of(made("clipped=1.5"))
    assert 0 < clipped["entropy"].estimate < 1


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_files_declare_it(tmp_path: Path, ending: str) -> None:
    """The key ``weights`` of an archive, or of a safetensors file's texts, declares it."""
    call, path = made("differential=0.8"), tmp_path / f"a.{ending}"
    arrays = {"q": call.query, "k": call.key, "v": call.value, "out": call.output}
    if ending == "npz":
        np.savez(path, **arrays, scale=np.array(call.scale), weights="differential=0.8")
    else:
        save_file(arrays, path, {"weights": "differential=0.8"})
    record = verify.audit(path, workers=1)
    assert record.exit_status == 0
    assert record.layers[0].d_k == WIDTH // 2
    assert record.layers[0].notes[0].startswith("weights are declared as differential=0.8")
    assert str(record).endswith("; declared: weights differential=0.8, mask none")
    verify.auditing.files.write(Recording("again", [Layer("one", [call])]), tmp_path / "again")
    assert verify.audit(tmp_path / "again", workers=1).exit_status == 0


@pytest.mark.parametrize(
    "text", ["sigmoids", "clipped", "clipped=0", "clipped=-2", "clipped=1..2", "differential=1e300", "x" * 99]
)
def test_what_is_malformed_is_refused_in_a_line(
    tmp_path: Path, tool: Callable[..., Ended], text: str
) -> None:
    """Python raises one line, and the command ends with 2."""
    call = made("sigmoid")
    for refused in (lambda: weighting(text), lambda: verify.audit(call.query, call.key, weights=text)):
        with pytest.raises(SettingsError, match=r"give one of softmax, sigmoid.*such as clipped=50$"):
            refused()
    np.savez(tmp_path / "a.npz", q=call.query, k=call.key, weights=text)
    ended = tool("audit", tmp_path / "a.npz", "--out", tmp_path)
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "a.npz: weights" in ended.err


@pytest.mark.parametrize(
    ("text", "changes", "wrong"),
    [
        ("sigmoid", {"sink": np.zeros(1)}, "sink has no place beside weights 'sigmoid'"),
        ("clipped=2", {"softcap": 5.0}, "softcap has no place beside weights 'clipped=2'"),
        ("differential=0.5", {"odd": True}, "of two halves, and q has 63 dimensions"),
    ],
)
def test_what_does_not_go_together_is_refused(text: str, changes: dict[str, Any], wrong: str) -> None:
    """A sink belongs to a softmax, and halves to an even number of dimensions."""
    call, given = made(""), dict(changes)
    width = WIDTH - given.pop("odd", False)
    with pytest.raises(RecordingError, match=wrong):
        verify.audit(call.query[..., :width], call.key[..., :width], weights=text, **given)


def test_calls_of_a_layer_declare_the_same() -> None:
    """A layer with a softmax and a sigmoid is two layers."""
    with pytest.raises(
        RecordingError, match="weights 'sigmoid', and in earlier calls 'softmax'; record them under"
    ):
        verify.audit(Recording("tests", [Layer("one", [made("", "softmax"), made("sigmoid")])]))


def test_recordings_are_compared_by_what_they_declare() -> None:
    """Each side is held against its own formula; two that declare different weights are not compared."""
    one, same, other, softmax = (
        Recording("tests", [Layer("one", [call])])
        for call in (
            *(made("differential=0.8"),) * 2,
            made("differential=0.8", "differential=0.81"),
            made("", "softmax"),
        )
    )
    assert verify.compare_recordings(one, same).exit_status == 0
    assert verify.compare_recordings(one, other).exit_status == 1
    found = verify.compare_recordings(one, softmax)
    assert found.exit_status == 3
    assert "declares weights as differential=0.8 in A and as softmax in B" in str(found).replace("\n ", "")


def _kernel(text: str, factor: float = 1.0) -> Callable[..., Any]:
    def attention(q: Any, k: Any, v: Any) -> Any:
        group = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
        width = q.shape[-1] // (2 if "differential" in text else 1)
        mask = np.ones((q.shape[-2], k.shape[-2]), dtype=bool)
        return attended(text, q, k, v, mask, factor / math.sqrt(width))

    return attention


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(one, marks=[] if one in {"sigmoid", "differential=0.8"} else pytest.mark.slow)
        for one in DECLARED
    ],
)
def test_a_probe_finds_the_scale_of_what_is_declared(text: str) -> None:
    """Scale, mask and groups are found, and nothing is wrong on ordinary arrays."""
    found = verify.probe(_kernel(text), weights=text, heads=1, corners=False)
    assert found.problems() == ()
    assert found.formula == "1/sqrt(d)"
    assert found.mask.known
    assert f"declared as {text}" in repr(found)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["sigmoid", "sigmoid-ln-n", "clipped=1.5", "differential=0.8"])
def test_a_probe_tries_corners_of_what_is_declared(text: str) -> None:
    """Lengths, strides and types are compared with the declared formula, and none is wrong."""
    found = verify.probe(_kernel(text), weights=text)
    assert [one for one in found.corners if one.outcome not in ("right", "refused")] == []
    assert sum(one.outcome == "right" for one in found.corners) > 60


def test_a_probe_names_what_is_declared_wrongly() -> None:
    """A function that does something else than is declared has a fault with its name."""
    found = verify.probe(_kernel("softmax"), weights="sigmoid", heads=1, corners=False)
    assert any("a plain softmax is applied in place of sigmoid" in one for one in found.faults)


def test_a_probe_refuses_halves_of_an_odd_width() -> None:
    """One line says so."""
    with pytest.raises(SettingsError, match=r"d_k 5: weights 'differential=0\.8' are of two halves"):
        verify.probe(_kernel("differential=0.8"), 5, weights="differential=0.8")
