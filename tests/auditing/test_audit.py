"""A whole audit: layers, refusals, what it takes, and what it says of planted faults."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.calls import arrays, attention
from tests.auditing.calls import call as attended
from tests.auditing.planted import (
    CORRECT,
    OVERFLOWS,
    RECONSTRUCTIONS,
    SCALES,
    Fault,
    dtypes,
    exact_findings,
    is_caught,
)
from verify.auditing.audit import audit_recording, audit_settings
from verify.auditing.recording import Call, Intended, Layer, Recording
from verify.errors import RecordingError, SettingsError
from verify.evidence.audits import AuditRecord, Judgement

SETTINGS = audit_settings()


def call(
    seed: int = 0, *, sequences: int = 12, heads: int = 2, tokens: int = 20, d: int = 8, **more: Any
) -> Call:
    """Return a call on standard normal vectors."""
    q, k, _ = arrays(seed, sequences=sequences, heads=heads, key_heads=1, queries=tokens, keys=tokens, d=d)
    return Call(q.astype(np.float32), k.astype(np.float32), **more)


def recorded(*layers: Layer) -> Recording:
    """Return a recording of these layers."""
    return Recording("a program", layers, ("one call was compiled",))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ({},),
            ["outputs, in whole or in part, so that the scale and the formula could not be judged: give v"],
        ),
        (
            ({}, {}),
            ["outputs of all 2 layers, in whole or in part, so that the scale and the formula could not"],
        ),
        (
            ({"scale": 0.3}, {}),
            ["outputs of all 2 layers, in whole or in part, so that the formula could not"],
        ),
        (
            ({"scale": 0.3},),
            ["outputs, in whole or in part, so that the formula could not be judged: give v"],
        ),
    ],
)
def test_what_could_not_be_judged_is_named(options: tuple[dict[str, Any], ...], said: list[str]) -> None:
    """Without outputs nothing was compared: the audit says so, and is one in part unless that is allowed."""
    layers = [Layer(f"layer {number}", [call(tokens=5, **one)]) for number, one in enumerate(options)]
    record = audit_recording(Recording("a program", layers), audit_settings("0.3"))
    assert [text[: len(start)] for text, start in zip(record.left_out, said, strict=True)] == said
    assert (record.unseen, record.exit_status, record.verdict) == (("output",), 3, "confirmed in part")
    assert "rows compared, not seen: output; declared: mask " in str(record)
    allowed = audit_recording(Recording("a program", layers), audit_settings("0.3", allow_unseen=["output"]))
    assert (allowed.unseen, allowed.exit_status, allowed.verdict) == ((), 0, "confirmed")


@pytest.mark.parametrize(("where", "reason"), [("program", "unrecorded"), ("layer", "calls")])
def test_what_was_left_out_makes_an_audit_one_in_part(where: str, reason: str) -> None:
    """A kernel that was not seen, or calls that were left out, could hide anything."""
    layer = Layer("a", [attended()], left_out=("were left out (20 calls)",) if where == "layer" else ())
    recording = Recording("a program", [layer], ("one call was compiled",) if where == "program" else ())
    record = audit_recording(recording, audit_settings())
    assert (record.unseen, record.exit_status, record.verdict) == ((reason,), 3, "confirmed in part")
    assert audit_recording(recording, audit_settings(allow_unseen=reason)).exit_status == 0
    with pytest.raises(SettingsError, match=r"allow-unseen: .*did you mean 'output'"):
        audit_settings(allow_unseen=["outputs"])


def test_layers_that_declare_different_things_are_listed() -> None:
    """Mask, scale and soft-cap, each with the layers that have it."""
    some = [attended(causal=True), attended(), attended(causal=True)]
    layers = [Layer(f"layer {number}", [one]) for number, one in enumerate(some)]
    record = audit_recording(Recording("a program", layers), audit_settings())
    assert record.differences == ("mask: causal in layer 0, 2; none in layer 1",)
    assert f"- layers differ in {record.differences[0]}" in str(record).splitlines()


@pytest.mark.parametrize(
    ("options", "backend", "status"),
    [({}, "", 3), ({}, "sdpa", 3), ({"scale": 8**-0.5}, "sdpa", 3), ({"scale": 1.0}, "sdpa", 1)],
)
def test_a_program_whose_scale_nothing_tells_does_not_pass(
    options: dict[str, Any], backend: str, status: int
) -> None:
    """Arrays without an output are judged in part; of a program the scale itself was to be judged."""
    layer = Layer("a", [call(**options)], backend=backend, notes=("dropout was on",))
    record = audit_recording(Recording("a program", [layer]), audit_settings())
    assert record.exit_status == status
    undecided = [one.reason for one in record.findings if one.decides and one.judgement == "undecided"]
    assert len(undecided) == (2 if backend and not options else 0)
    assert all("no output that would tell it was kept; dropout was on" in reason for reason in undecided)


def test_the_record_says_what_was_seen_and_asked() -> None:
    """Shapes, dtype, sequences, tokens of two calls, intention, what was left out; it reads back."""
    layer = Layer(
        "model.0", [call(), call(1, tokens=30)], Intended("1/d", "recorded", "config"), backend="sdpa"
    )
    record = audit_recording(recorded(layer), SETTINGS)
    one = record.layers[0]
    assert (one.id, one.name, one.heads, one.key_heads, one.d_k, one.d_v) == (
        "model-0",
        "model.0",
        2,
        1,
        8,
        None,
    )
    assert (one.sequences, one.tokens, one.dtype, one.backend) == (24, (20, 30), "float32", "sdpa")
    assert (one.intention.value, one.intention.origin, one.intention.where) == (0.125, "recorded", "config")
    assert record.left_out[0] == "one call was compiled"
    assert record.environment["workers"]
    assert AuditRecord.model_validate_json(record.to_json()) == record


def test_the_users_intention_comes_before_the_recordings() -> None:
    """Given, else recorded, else 1/√d; it may depend on the number of keys, call by call."""
    layer = Layer("a", [call(), call(tokens=30)], Intended("1/d", "recorded"), width=64)
    given = audit_recording(recorded(layer), audit_settings("log(n)/sqrt(D)")).layers[0]
    assert (given.intention.origin, given.intention.expression) == ("given", "log(n)/sqrt(D)")
    assert given.intention.value == pytest.approx(np.log(30) / 8)
    default = audit_recording(recorded(Layer("a", [call()])), audit_settings()).layers[0]
    assert default.intention.origin == "default"
    assert default.intention.value == pytest.approx(8**-0.5)


def test_threads_and_batches_change_no_result() -> None:
    """One thread or three, all sequences in a call or each in its own: the findings are the same."""
    whole = call(causal=True)
    single = [
        Call(whole.query[place : place + 1], whole.key[place : place + 1], causal=True) for place in range(12)
    ]
    records = [
        audit_recording(recorded(Layer("a", calls)), SETTINGS, workers=workers).layers
        for calls, workers in (([whole], 1), ([whole], 3), (single, 2))
    ]
    assert records[0] == records[1]
    assert records[0][0].findings == records[2][0].findings


def test_ids_of_layers_are_slugs_and_differ() -> None:
    """Names of any kind make ids, of which no two are the same and none is a reserved word."""
    names = ["Model.0/Attn", "model 0 attn", "", "audit", "é"]
    record = audit_recording(recorded(*(Layer(name, [call(sequences=2)]) for name in names)), SETTINGS)
    ids = [one.id for one in record.layers]
    assert len(set(ids)) == 5
    assert ids[:2] == ["model-0-attn", "model-0-attn-2"]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one) and one != "audit" for one in ids)


@pytest.mark.parametrize(
    ("layers", "complaint"),
    [
        ([], "no attention call was seen"),
        ([Layer("a", [])], "layer a: has no calls"),
        ([Layer("a", [call(), call(heads=3)])], "q has 3 heads of 8 dimensions, and in earlier calls 2 of 8"),
        ([Layer("a", [call(), call(d=4)])], "of 4 dimensions, and in earlier calls"),
        ([Layer("a", [Call(call().query, call(d=4).key)])], "layer a: k has shape"),
        ([Layer("a", [call(heads=0)])], "no heads"),
    ],
)
def test_what_does_not_fit_is_refused(layers: list[Layer], complaint: str) -> None:
    """One line names the layer and the fix."""
    with pytest.raises(RecordingError, match=complaint) as caught:
        audit_recording(recorded(*layers), SETTINGS)
    assert "\n" not in str(caught.value)


def test_an_intention_that_has_no_value_is_refused() -> None:
    """The model's width is asked for but not known."""
    with pytest.raises(SettingsError, match="the width of the model"):
        audit_recording(recorded(Layer("a", [call()])), audit_settings("1/sqrt(D)"))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_other_libraries_are_audited_alike(library: str) -> None:
    """PyTorch's and JAX's arrays give what NumPy's of the same numbers do."""
    there = pytest.importorskip(library)
    one = attended(sequences=3, causal=True)
    names = ("query", "key", "value", "output")
    other = replace(one, **{name: there.asarray(np.array(getattr(one, name))) for name in names})
    here, elsewhere = (
        audit_recording(recorded(Layer("a", [each])), SETTINGS).layers[0].findings for each in (one, other)
    )
    assert here == elsewhere


def test_arrays_a_file_and_a_recording_are_audited_alike(tmp_path: Path) -> None:
    """The same numbers by three ways have the same findings; a wrong scale ends with 1."""
    q, k, v = (one.astype(np.float32) for one in arrays(1, sequences=3, d=16))
    out = attention(q, k, v, scale=1 / 16).astype(np.float32)
    np.savez(tmp_path / "attention.npz", q=q, k=k, v=v, out=out)
    recording = Recording("mine", [Layer("attention", [Call(q, k, v, out)])])
    first, *others = (
        verify.audit(q, k, v=v, out=out),
        verify.audit(tmp_path / "attention.npz"),
        verify.audit(str(tmp_path / "attention.npz")),
        verify.audit(recording),
    )
    assert all(one.layers[0].findings == first.layers[0].findings for one in others)
    assert first.exit_status == 1
    assert verify.audit(recording, intended=1 / 16).exit_status == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([[1.0]], [[1.0]]), "q: is list; give an array of NumPy, PyTorch or JAX"),
        ((np.ones((1, 1, 9, 4)),), "k: is NoneType; give an array"),
        (
            (np.ones((9, 4)), np.ones((9, 4))),
            r"q has shape \[9, 4\]; give it as \[sequence, head, token, d\]",
        ),
        (("none.npz",), r"none\.npz"),
        (("none.npz", np.ones((1, 1, 9, 4))), "k: a recording has its own; leave it out"),
    ],
)
def test_what_is_no_attention_is_refused_in_one_line(given: tuple[Any, ...], message: str) -> None:
    """The error names the argument and says what is wanted."""
    with pytest.raises(verify.VerifyError, match=message) as caught:
        verify.audit(*given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"scale": one}, "scale .*: give a finite number") for one in (math.nan, "one", np.ones(2), 1j)),
        ({"softcap": 0.0}, "softcap 0.0: give a number above 0, or none"),
        ({"softcap": "high"}, "softcap 'high': give a finite number"),
        ({"sink": [1.0]}, "sink: is list; give an array"),
        ({"sink": np.ones(2)}, r"sink has shape \[2\]; give \[1\], one a head"),
    ],
)
def test_what_is_no_number_or_sink_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    """One line names the argument."""
    with pytest.raises(verify.VerifyError, match=message) as caught:
        verify.audit(np.ones((1, 1, 9, 4)), np.ones((1, 1, 9, 4)), **options)
    assert "\n" not in str(caught.value)


DTYPES = ("float32", "bfloat16")


@pytest.mark.parametrize(
    ("fault", "dtype"),
    [
        *(pytest.param(one, "float32", id=one.what) for one in (*SCALES, *RECONSTRUCTIONS)[::2]),
        *(
            pytest.param(one, "bfloat16", id=f"{one.what}-bfloat16", marks=pytest.mark.slow)
            for one in (*SCALES, *RECONSTRUCTIONS)
        ),
    ],
)
def test_planted_faults_are_caught_and_named(fault: Fault, dtype: str) -> None:
    """Each is refuted by its finding, with the cause that was planted and a fix; half in single precision."""
    found = exact_findings(fault.layer(dtypes()[dtype]))[fault.kind]
    assert is_caught(fault, found), f"{found.judgement}: {found.cause or found.reason}"
    assert found.fix
    assert found.decides


@pytest.mark.parametrize("fault", OVERFLOWS, ids=lambda fault: fault.what)
def test_numbers_that_are_none_are_found(fault: Fault) -> None:
    """What leaves the range of half precision, or is NaN, is refuted and named."""
    found = exact_findings(fault.layer(np.float16), head=0)[fault.kind]
    assert is_caught(fault, found), f"{found.judgement}: {found.cause or found.reason}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("what", CORRECT)
def test_correct_attention_passes(what: str, dtype: str) -> None:
    """Attention without a fault is confirmed by every exact finding."""
    found = exact_findings(CORRECT[what].layer(dtypes()[dtype]))
    assert {"scale-implied", "reconstruction", "overflow"} <= set(found)
    assert {name: one.reason for name, one in found.items() if one.judgement is not Judgement.CONFIRMED} == {}


@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_scale_that_bfloat16_cannot_tell_is_undecided_with_the_reason(factor: float) -> None:
    """Where scores differ by 0.02 or less, rounding hides the scale and the finding says so."""
    options = {"deviation": 0.002, "sequences": 2, "heads": 4}
    fault = Fault("", "", "", lambda a, q, k, v: a.attend(q, k, v, factor / 8), options)
    found = exact_findings(fault.layer(dtypes()["bfloat16"]))["scale-implied"]
    assert found.judgement is Judgement.UNDECIDED
    assert "rounding leaves the scale uncertain" in found.reason


@pytest.mark.parametrize("seed", range(6))
def test_weights_rounded_to_one_or_two_numbers_refute_no_scale(seed: int) -> None:
    """In bfloat16 weights near 1/24 are 0.6% apart: what rises by less rises in steps, by up to 30% more."""
    options = {"deviation": 0.002, "sequences": 2, "seed": seed}
    right = Fault("", "", "", lambda a, q, k, v: a.attend(q, k, v, 1 / 8), options)
    found = exact_findings(right.layer(dtypes()["bfloat16"]))["scale-implied"]
    assert found.judgement is Judgement.UNDECIDED
    options |= {"deviation": 0.05, "queries": 64, "keys": 64}
    wrong = Fault("", "", "", lambda a, q, k, v: a.attend(q, k, v, 1.1 / 8), options)
    found = exact_findings(wrong.layer(dtypes()["bfloat16"]))["scale-implied"]
    assert found.judgement is Judgement.REFUTED


def test_large_scores_in_bfloat16_are_no_false_alarm() -> None:
    """Rounded scores of size 20 flatten the softmax; that is allowed for, however many rows there are."""
    for deviation in (6.0, 16.0):
        options = {"deviation": deviation, "queries": 150, "keys": 150, "heads": 2}
        fault = Fault("", "", "", lambda a, q, k, v: a.attend(q, k, v, 1 / 8), options)
        found = exact_findings(fault.layer(dtypes()["bfloat16"]))
        assert found["reconstruction"].judgement is Judgement.CONFIRMED
        assert found["scale-implied"].judgement is not Judgement.REFUTED
