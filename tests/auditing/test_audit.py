"""A whole audit: what it says of planted faults and of right attention, of bad input, and of what it saw."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import verify
from tests.auditing.calls import SCALE, arrays, attention, audited, call, finding, of_calls, of_layer
from tests.auditing.planted import CORRECT, FAULTS, OVERFLOWS, Fault
from verify.auditing.formula import FACTOR, Formula, compare, pool
from verify.auditing.recording import Call, Intended, Layer, Recording
from verify.errors import RecordingError
from verify.evidence.audits import Judgement

ROWS = ("query", "key", "value", "output")


def bare(**options: Any) -> Call:
    """Return a call of which neither values, output nor scale were recorded."""
    sound = call(**{"sequences": 12, "heads": 2, "d": 8} | options)
    return replace(sound, value=None, output=None, scale=None)


@pytest.mark.parametrize(
    ("fault", "dtype"),
    [
        *(pytest.param(f, "float32", marks=[pytest.mark.slow] if f.is_slow else ()) for f in FAULTS),
        *(pytest.param(fault, "bfloat16", marks=pytest.mark.slow) for fault in FAULTS),
        # What leaves the range of half precision, or is NaN.
        *(pytest.param(fault, "float16") for fault in OVERFLOWS),
    ],
    ids=lambda given: getattr(given, "named", given),
)
def test_planted_faults_are_caught_and_named(fault: Fault, dtype: str) -> None:
    """Each is refuted by its finding, with the cause that was planted and a fix."""
    finding = of_layer(fault.layer(np.dtype(dtype)))[fault.kind]
    assert finding.judgement is Judgement.REFUTED, finding.reason
    assert fault.named in finding.cause
    assert finding.fix
    assert fault.fix in finding.fix


@pytest.mark.parametrize(
    "fault", [f for f in FAULTS if f.kind == "formula" and not f.is_slow], ids=lambda f: f.named
)
def test_no_cause_is_named_that_does_not_give_every_row(fault: Fault) -> None:
    """With one row off by a hundredth besides, the audit is refuted still, and the fault is not named."""
    layer = fault.layer(np.float32)
    (sound,) = layer.calls
    output = np.array(sound.output)
    output[:, :, 5] *= 1.01
    findings = of_layer(replace(layer, calls=(replace(sound, output=output),)))
    assert any(part.judgement is Judgement.REFUTED for part in findings.values())
    assert fault.named not in findings["formula"].cause


def test_causes_are_sought_among_infinite_numbers_without_a_warning() -> None:
    """A key is infinite and the other sequence's output wrong: both are refuted; warnings are errors."""
    sound = call(sequences=2)
    key, output = np.array(sound.key), np.array(sound.output)
    key[0, 0, 3, 5] = np.inf
    output[1] *= np.linspace(1, 2, output.shape[-1], dtype=np.float32)
    findings = of_calls(replace(sound, key=key, output=output))
    assert findings["overflow"].judgement is findings["formula"].judgement is Judgement.REFUTED


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("what", CORRECT)
def test_correct_attention_passes(what: str, dtype: str) -> None:
    """Attention without a fault is confirmed by every finding."""
    findings = of_layer(CORRECT[what].layer(np.dtype(dtype)))
    assert {"scale", "formula", "overflow"} <= set(findings)
    assert {
        name: part.reason for name, part in findings.items() if part.judgement is not Judgement.CONFIRMED
    } == {}


@pytest.mark.parametrize(
    "kind", ["plain", "causal", "grouped heads", "soft-cap", "sinks", "mask", "bias", "cross attention"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, bfloat16, np.float64])
def test_an_honest_output_is_far_within_its_bound_and_its_scale_is_measured(dtype: Any, kind: str) -> None:
    """Every row of a right output is good; one per cent of scale is seen by all rows together."""
    declared = CORRECT[kind].options | CORRECT[kind].declared
    formula = of_calls(call(dtype, **declared))["formula"]
    assert formula.judgement is Judgement.CONFIRMED
    assert formula.estimate is not None
    assert formula.estimate < 0.4
    scale = of_calls(call(dtype, **declared, applied=1.01 * SCALE))["scale"]
    assert scale.estimate == pytest.approx(1.01, rel=0, abs=3e-4)
    # In single precision every row by itself would tell it.
    assert (scale.standard_error or 0) < (1e-7 if dtype is np.float32 else 1e-3)
    if dtype is np.float32:
        off = call(dtype, **declared, applied=1.01 * SCALE)
        assert compare(Formula.of(off, SCALE)).is_off.mean() > 0.9


def test_long_calls_are_judged_in_pieces() -> None:
    """A causal call of many pieces, with groups of heads: each row sees the keys that it should."""
    record = audited(call(np.float64, sequences=1, heads=4, key_heads=2, queries=700, keys=700, causal=True))
    assert record.verdict == "confirmed"
    assert "all 2,800 rows compared" in record.seen


def test_what_is_wrong_with_all_rows_a_little_is_named() -> None:
    """In bfloat16, where no row is off by itself, a factor of the output; and weight on hidden keys."""
    seen = np.tri(64, dtype=bool)
    low = call(bfloat16, sequences=16, queries=64, keys=64, mask=seen)
    wide = [np.asarray(array).astype(np.float64) for array in (low.query, low.key, low.value)]
    scaled, weak = 1.009 * attention(*wide, mask=seen), attention(*wide, bias=np.where(seen, 0.0, -9.0))
    for output, cause in ((scaled, "is multiplied by 1.01"), (weak, "as if it added about -9")):
        formula = of_calls(replace(low, output=output.astype(bfloat16)))["formula"]
        assert (formula.judgement, cause in formula.cause) == (Judgement.REFUTED, True)
        assert ("rows are off" in formula.reason) == (output is weak)
    # All rows together tell half of that factor, which is too little to refute.
    barely = replace(low, output=(1.004 * attention(*wide, mask=seen)).astype(bfloat16))
    rows = compare(Formula.of(barely, SCALE))
    value, error = pool(rows, FACTOR, rows.is_good)
    assert value[0] > 8 * error[0]


@pytest.mark.parametrize("deviation", [0.002, 6.0, 16.0])
def test_what_bfloat16_cannot_tell_is_no_false_alarm(deviation: float) -> None:
    """Scores that hardly differ give equal weights; rounded scores of 20 flatten the softmax."""
    for seed in range(4):
        options = {"deviation": deviation, "queries": 64, "keys": 64, "heads": 2, "seed": seed}
        fault = Fault("", "", lambda a, q, k, v: a.attend(q, k, v, 1 / 8), options)
        findings = of_layer(fault.layer(bfloat16))
        assert findings["formula"].judgement is Judgement.CONFIRMED
        assert findings["scale"].judgement is not Judgement.REFUTED
        if deviation < 0.01:
            assert "cannot tell" in findings["scale"].reason


@pytest.mark.parametrize(
    ("dtype", "deviation", "applied", "judgement", "said"),
    [
        (bfloat16, 3000, 1 / 8, "undecided", "cannot tell: the output does not depend on the scale"),
        (np.float16, 10, 1e-8, "refuted", "the scale is at most 2.2e-07 in size where 0.125 is intended"),
    ],
)
def test_a_scale_that_rounding_hides_is_no_number(
    dtype: Any, deviation: float, applied: float, judgement: str, said: str
) -> None:
    """Saturated weights are those of any larger scale, and equal ones those of any that is near 0."""
    options: dict[str, Any] = {"sequences": 3, "queries": 40, "keys": 40, "deviation": deviation}
    scale = finding(audited(replace(call(dtype, applied=applied, **options), scale=None)), "scale")
    assert scale.judgement == judgement
    assert said in (scale.cause or scale.reason)
    assert "--intended" not in scale.fix
    assert (scale.estimate is None) == (judgement == "undecided")


def test_equal_rows_are_no_independent_ones() -> None:
    """A batch of one sentence 64 times tells no more than the sentence, whatever its rounding is."""
    for seed in range(4):
        sound = call(bfloat16, seed=seed, sequences=1, queries=12, keys=12)
        many: dict[str, Any] = {name: np.repeat(getattr(sound, name), 64, axis=0) for name in ROWS}
        assert of_calls(replace(sound, **many))["scale"].judgement is not Judgement.REFUTED


def test_a_single_row_and_a_single_head_are_found() -> None:
    """All others are exact: it is named by its place, and no coarser type explains it."""
    sound = call(sequences=30, heads=3, queries=40, keys=40, causal=True)
    sound.output[17, 2, 7] += 1e-3  # type: ignore[index]  # it has one
    (judged,) = (part for part in audited(sound).findings if part.judgement is Judgement.REFUTED)
    assert (judged.kind, judged.heads) == ("formula", (2,))
    assert "1 of 1,200 rows are off; the worst is row 7 of sequence 17" in judged.reason
    assert "compare with another kernel" in judged.fix


def test_heads_have_mistakes_of_their_own() -> None:
    """Each is named for its head, whatever is wrong with the others, also where nothing is known of one."""
    sound = call(heads=5)
    q, k, v = (np.asarray(array).astype(float) for array in (sound.query, sound.key, sound.value))
    heads = (
        0.9 * attention(q, k, v),
        attention(q, k, np.roll(v, 1, axis=2)),
        attention(q, k, v, scale=0.2),
        np.random.default_rng(3).standard_normal(v.shape),
        attention(q, k, v, causal=True),
    )
    output = np.stack([made[:, head] for head, made in enumerate(heads)], axis=1).astype(np.float32)
    causes = {
        part.heads: part.cause for part in audited(replace(sound, output=output)).findings if part.cause
    }
    named = (
        "multiplied by 0.9",
        "values are those of the token before",
        "the scale is 0.2 ",
        "mask is causal",
    )
    for head, cause in zip((0, 1, 2, 4), named, strict=True):
        assert cause in causes[head,]


def test_coarser_arithmetic_is_named_and_makes_an_audit_one_in_part() -> None:
    """Half precision stored in single: a warning, and faults below it are not seen."""
    low = call(np.float16, sequences=8)
    wide = {name: getattr(low, name).astype(np.float32) for name in ROWS}
    record = audited(replace(low, **wide))
    assert (record.exit_status, record.unseen) == (3, ("precision",))
    reason = finding(record, "formula").reason
    assert reason.startswith("sums or weights are rounded to TensorFloat-32 or float16")


def test_what_could_not_be_judged_is_named_and_makes_an_audit_one_in_part() -> None:
    """Without outputs nothing was compared, and of a call that was not recorded either."""
    layers = [Layer(f"layer {number}", [replace(bare(queries=5), scale=0.3)]) for number in range(2)]
    record = verify.audit(Recording("a program", layers), intended="0.3")
    assert record.left_out == ("outputs of layer 0–1, in whole or in part: give v and out",)
    assert (record.unseen, record.exit_status, record.verdict) == (("output",), 3, "confirmed in part")
    assert str(record).endswith("0 of 240 rows compared; not seen: output")
    record = verify.audit(Recording("a program", [Layer("a", [call()])], ("one call was compiled",)))
    assert (record.unseen, record.exit_status) == (("unrecorded",), 3)


@pytest.mark.parametrize(
    ("options", "backend", "judgement"),
    [
        ({}, "", "reported"),
        ({}, "sdpa", "undecided"),
        ({"scale": 8**-0.5}, "sdpa", "confirmed"),
        ({"scale": 1.0}, "sdpa", "refuted"),
    ],
)
def test_a_program_whose_scale_nothing_tells_does_not_pass(
    options: dict[str, Any], backend: str, judgement: str
) -> None:
    """Arrays without an output are judged in part; of a program the scale itself was to be judged."""
    layer = Layer("a", [replace(bare(), **options)], backend=backend, notes=("dropout was on",))
    record = verify.audit(Recording("a program", [layer]))
    scale = finding(record, "scale")
    assert scale.judgement == judgement
    assert record.exit_status == (1 if judgement == "refuted" else 3)
    assert ("dropout was on" in scale.reason) == (not options)


@pytest.mark.parametrize(
    ("factor", "judgement"), [(1, "confirmed"), (1.001, "warned"), (1.01, "refuted"), (8, "refuted")]
)
def test_the_factor_given_has_to_be_the_intended_one(factor: float, judgement: str) -> None:
    """Up to rounding; a refutation says which --intended would mend it, where nobody said what is meant."""
    sound = call(scale=factor / 8)
    scale = finding(audited(sound), "scale")
    assert scale.judgement == judgement
    assert ("if this is meant, say so with --intended" in scale.fix) == (judgement == "refuted")
    assert of_calls(sound, intended=f"{factor}/8")["scale"].judgement == "confirmed"
    if judgement == "refuted":
        meant = scale.fix.rpartition("--intended ")[2]
        assert verify.audit(Recording("x", [Layer("a", [sound])]), intended=meant).exit_status == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float16, bfloat16])
@pytest.mark.parametrize("applied", [0.1, 128**-0.5, 0.0511])
def test_heads_with_the_same_wrong_scale_are_one_finding(dtype: Any, applied: float) -> None:
    """An estimate has no digits in which rounding tells heads apart, and enough to say what is meant."""
    made = replace(call(dtype, applied=applied, heads=12, d=64), scale=None)
    scale = finding(audited(made), "scale")
    assert (scale.judgement, scale.heads) == ("refuted", ())
    meant = scale.fix.rpartition("--intended ")[2]
    assert verify.audit(Recording("x", [Layer("a", [made])]), intended=meant).exit_status == 0


def test_what_came_before_the_call_is_not_guessed() -> None:
    """Where it is not known whether queries were scaled before, the answer is that one cannot tell."""
    layer = Layer("a", [call(scale=1.0)], Intended("1/sqrt(d)", "unknown", "queries are scaled"))
    record = verify.audit(Recording("x", [layer]))
    scale = finding(record, "scale")
    assert (scale.judgement, record.exit_status) == ("undecided", 3)
    assert "cannot tell whether queries were scaled before the call; give --intended" in scale.reason
    assert verify.audit(Recording("x", [layer]), intended="1").exit_status == 0


def test_cosines_at_the_usual_scale_are_warned_of() -> None:
    """Where the scale was not said: such attention is all but even. A longer key or a word, and it passes."""
    q, k, v = arrays(seed=4)
    q, k = (array / np.linalg.norm(array, axis=-1, keepdims=True) for array in (q, k))
    longer = np.where(np.arange(k.shape[2])[:, None] == 3, 1.5 * k, k)
    for keys, said, judgement in (
        (k, None, Judgement.WARNED),
        (k, "1/sqrt(d)", Judgement.CONFIRMED),
        (longer, None, Judgement.CONFIRMED),
    ):
        judged = finding(verify.audit(q, keys, v=v, out=attention(q, keys, v), intended=said), "scale")
        assert judged.judgement is judgement
        assert ("scores are cosines" in judged.reason) == (judgement is Judgement.WARNED)


def test_the_record_says_what_was_seen_and_asked() -> None:
    """Shapes, sequences of two calls, intentions with where they were read, scores."""
    layer = Layer(
        "model.0",
        [call(heads=2, key_heads=1), call(heads=2, key_heads=1, queries=30, keys=30)],
        Intended("1/sqrt(d)", "configuration", "query_pre_attn_scalar = 64 in Gemma"),
        backend="sdpa",
        mask="none",
    )
    record = verify.audit(Recording("a program", [layer]))
    seen = record.layers[0]
    assert (seen.id, seen.name, seen.dtype, seen.backend) == ("model-0", "model.0", "float32", "sdpa")
    assert (seen.heads, seen.key_heads, seen.d_k, seen.d_v) == (2, 1, 64, 64)
    assert (seen.calls, seen.sequences, seen.tokens) == (2, 4, (24, 30))
    origin = "read from the model’s configuration (query_pre_attn_scalar = 64 in Gemma)"
    assert record.intended[0] == f"scale 1/sqrt(d) = 0.125, {origin}; mask none"
    variance, entropy, largest = seen.scores
    assert 0.5 < variance.median < 1.5
    assert 0.7 < entropy.median < 1
    assert 1 / 30 < largest.median < 0.5
    assert variance.low is None
    (layer_of_six,) = audited(call(sequences=6)).layers
    for score in layer_of_six.scores:
        assert score.low is not None
        assert score.high is not None
        assert score.low <= score.median <= score.high


def test_the_users_intention_comes_before_the_recordings() -> None:
    """Given, else recorded, else 1/√d; it may depend on the number of keys, call by call."""
    layer = Layer("a", [bare(), bare(keys=30)], Intended("1/d", "recorded"), width=64)
    given = verify.audit(Recording("x", [layer]), intended="log(n)/sqrt(D)").layers[0]
    assert (given.intention.origin, given.intention.expression) == ("given", "log(n)/sqrt(D)")
    assert given.intention.value == pytest.approx(np.log(30) / 8)
    default = audited(bare()).layers[0]
    assert default.intention.origin == "default"
    assert default.intention.value == pytest.approx(8**-0.5)


def test_batches_change_no_result() -> None:
    """All sequences in a call or each in its own; calls of two shapes by turns keep the program's order."""
    whole = call(sequences=12, causal=True)
    single = [replace(whole, **{n: getattr(whole, n)[at : at + 1] for n in ROWS}) for at in range(12)]
    assert audited(whole).findings == audited(*single).findings
    calls = [call(seed=n, sequences=1, queries=20 + n % 2, keys=20 + n % 2) for n in range(6)]
    calls[3].output[0, 0, 4] += 1  # type: ignore[index]  # it has one
    assert "row 4 of sequence 3" in of_calls(*calls)["formula"].reason


def test_ids_of_layers_are_slugs_and_differ() -> None:
    """Names of any kind make ids, of which no two are the same and none is a reserved word."""
    names = ["Model.0/Attn", "model 0 attn", "", "audit", "é"]
    record = verify.audit(Recording("x", [Layer(name, [call()]) for name in names]))
    ids = [layer.id for layer in record.layers]
    assert len(set(ids)) == 5
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id_) and id_ != "audit" for id_ in ids)


@pytest.mark.parametrize(
    ("layers", "complaint"),
    [
        ([], "no attention call was recorded"),
        ([Layer("a", [])], "layer a: has no calls"),
        ([Layer("a", [bare(), bare(heads=3)])], "q has 3 heads of 8 dimensions, and in earlier calls 2 of 8"),
        ([Layer("a", [Call(bare().query, bare(d=4).key)])], "layer a: k has shape"),
        ([Layer("a", [replace(bare(), bias=np.array(np.nan, np.float32))])], "bias holds NaN"),
        ([Layer("a", [replace(bare(), softcap=0.0)])], "softcap 0.0: give a number above 0"),
    ],
)
def test_what_does_not_fit_is_refused(layers: list[Layer], complaint: str) -> None:
    """One line names the layer and the fix."""
    with pytest.raises(RecordingError, match=complaint) as caught:
        verify.audit(Recording("a program", layers))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("library", ["numpy", "torch", "jax.numpy"])
def test_arrays_a_file_and_a_recording_are_audited_alike(tmp_path: Path, library: str) -> None:
    """The same numbers of any library, by three ways, have the same findings; a wrong scale ends with 1."""
    there = pytest.importorskip(library)
    q, k, v = (array.astype(np.float32) for array in arrays(1, sequences=3, d=16))
    out = attention(q, k, v, scale=1 / 16, causal=True).astype(np.float32)
    np.savez(tmp_path / "attention.npz", q=q, k=k, v=v, out=out, causal=True)
    file = verify.audit(tmp_path / "attention.npz")
    q, k, v, out = map(there.asarray, (q, k, v, out))
    recording = Recording("mine", [Layer("attention", [Call(q, k, v, out, causal=True)])])
    for record in (verify.audit(q, k, v=v, out=out, causal=True), verify.audit(recording)):
        assert record.layers[0].findings == file.layers[0].findings
    assert file.exit_status == 1
    assert verify.audit(recording, intended=1 / 16).exit_status == 0


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (([[1.0]], [[1.0]]), {}, "q: is list; give an array of NumPy, PyTorch or JAX"),
        ((np.ones((1, 1, 9, 4)),), {}, "k: is NoneType; give an array"),
        (("none.npz", np.ones((1, 1, 9, 4))), {}, "k: a recording has its own; leave it out"),
        *(
            ((np.ones((1, 1, 9, 4)),) * 2, {"scale": scale}, "scale .*: give a finite")
            for scale in (math.nan, "one")
        ),
        ((np.ones((1, 1, 9, 4)),) * 2, {"softcap": "high"}, "softcap 'high': give a finite number"),
        ((np.ones((1, 1, 9, 4)),) * 2, {"intended": "1/sqrt(D)"}, "the model's width, is not known"),
        ((np.ones((1, 1, 9, 4)),) * 2, {"intended": "d**d**d**d"}, "is not a number other than 0 at d = 4"),
    ],
)
def test_what_is_no_attention_is_refused_in_one_line(
    given: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    """The error names the argument and says what is wanted."""
    with pytest.raises(verify.VerifyError, match=message) as caught:
        verify.audit(*given, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", range(8))
def test_attention_of_any_shape_is_right_and_garbage_is_refuted(seed: int) -> None:
    """Whatever sizes, masks and types are; garbage has nothing to do with its inputs."""
    rng = np.random.default_rng(seed)
    sequences, heads, queries, keys = (int(size) for size in rng.integers(1, [5, 4, 30, 30]))
    options: dict[str, Any] = {"causal": bool(seed % 2), "softcap": (None, 5.0)[seed % 3 == 0]}
    shape = {"sequences": sequences, "heads": 2 * heads, "key_heads": heads, "queries": queries, "keys": keys}
    sound = call((np.float32, np.float16)[seed % 4 == 0], seed=seed, d=16, **shape, **options)
    assert of_calls(sound)["formula"].judgement is Judgement.CONFIRMED
    noise = rng.standard_normal(np.asarray(sound.output).shape).astype(sound.query.dtype)
    garbage = of_calls(replace(sound, output=noise))["formula"]
    assert (garbage.judgement, garbage.cause) == (Judgement.REFUTED, "")
    assert "no known mistake gives this output: compare with another kernel" in garbage.fix
