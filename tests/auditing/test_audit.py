"""A whole audit: its budget, its layers, what it refuses, and that threads and libraries change nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.auditing.calls import arrays
from verify.auditing.audit import audit
from verify.auditing.findings import kinds
from verify.auditing.gates import audit_settings
from verify.auditing.recording import Call, Intended, Layer, Recording
from verify.errors import RecordingError, SettingsError
from verify.evidence.audits import AuditRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = audit_settings(gate="row-variance:0.5..2", false_alarm=0.05)


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
        (({},), ["the scale, which could not be judged: give v and out, or the scale that calls were given"]),
        (({}, {}), ["the scale of all 2 layers, which could not"]),
        (({"scale": 0.3}, {}), ["the scale of 1 of 2 layers, such as layer 1, which"]),
        (({"scale": 0.3},), []),
    ],
)
def test_a_scale_that_could_not_be_judged_is_named(
    options: tuple[dict[str, Any], ...], said: list[str]
) -> None:
    """Without outputs and without a given scale nothing speaks of it, and the audit says so."""
    layers = [Layer(f"layer {number}", [call(tokens=5, **one)]) for number, one in enumerate(options)]
    found = audit(Recording("a program", layers), SETTINGS).left_out
    assert [text[: len(start)] for text, start in zip(found, said, strict=True)] == said


@pytest.mark.parametrize(
    ("options", "backend", "status"),
    [({}, "", 0), ({}, "sdpa", 3), ({"scale": 8**-0.5}, "sdpa", 0), ({"scale": 1.0}, "sdpa", 1)],
)
def test_a_program_whose_scale_nothing_tells_does_not_pass(
    options: dict[str, Any], backend: str, status: int
) -> None:
    """Arrays without an output are asked for their statistics alone; a program was to be judged."""
    layer = Layer("a", [call(**options)], backend=backend, notes=("dropout was on",))
    record = audit(Recording("a program", [layer]), audit_settings())
    assert record.exit_status() == status
    undecided = [one.reason for one in record.findings if one.decides and one.judgement == "undecided"]
    assert len(undecided) == (2 if status == 3 else 0)
    assert all("no output that would tell it was kept; dropout was on" in reason for reason in undecided)


def test_what_is_refuted_and_does_not_decide_says_so() -> None:
    """Scores beyond 10,000 are named first, and change no status without a gate."""
    one = call()
    large = replace(one, query=1e5 * one.query)
    (line, *_) = str(audit(recorded(Layer("a", [large])), audit_settings())).splitlines()
    assert line.startswith("✗ a, both heads: largest-score-10000 refuted (does not decide): ")
    gated = audit(recorded(Layer("a", [large])), audit_settings(gate="largest-score-10000"))
    assert "refuted: " in str(gated).splitlines()[0]
    assert gated.exit_status() == 1


def test_the_record_says_what_was_seen_and_asked() -> None:
    """Shapes, dtype, sequences, tokens of two calls, intention, what was left out; it reads back sealed."""
    layer = Layer(
        "model.0", [call(), call(1, tokens=30)], Intended("1/d", "recorded", "config"), backend="sdpa"
    )
    record = audit(recorded(layer), SETTINGS)
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
    assert record.seal == record.fitting_seal()


def test_the_budget_is_shared_out_before_the_data_are_seen() -> None:
    """A place for each statistical finding of each head; the level of each finding is what is left."""
    record = audit(recorded(Layer("a", [call()]), Layer("b", [call(heads=3)])), SETTINGS)
    assert record.budget.places == 5 * sum(kind.places for kind in kinds())
    levels = {one.level for one in record.findings if not one.exact}
    assert levels == {1 - 0.05 / record.budget.places}


def test_gates_decide_and_all_else_is_reported() -> None:
    """Queries forty times too long leave less entropy than asked for, on every head: status 1, else 0."""
    settings = audit_settings(gate="entropy:0.6..1", false_alarm=0.05)
    right = call(sequences=60)
    wrong = replace(right, query=40 * right.query)
    for given, judgement, status in ((right, "confirmed", 0), (wrong, "refuted", 1)):
        record = audit(recorded(Layer("a", [given])), settings)
        gated = [one for one in record.findings if one.kind == "entropy"]
        assert [(one.head, one.judgement, one.decides) for one in gated] == [
            (0, judgement, True),
            (1, judgement, True),
        ]
        assert record.exit_status() == status


def test_the_users_intention_comes_before_the_recordings() -> None:
    """Given, else recorded, else 1/√d; it may depend on the number of keys, call by call."""
    layer = Layer("a", [call(), call(tokens=30)], Intended("1/d", "recorded"), width=64)
    given = audit(recorded(layer), audit_settings("log(n)/sqrt(D)")).layers[0]
    assert (given.intention.origin, given.intention.expression) == ("given", "log(n)/sqrt(D)")
    assert given.intention.value == pytest.approx(np.log(30) / 8)
    default = audit(recorded(Layer("a", [call()])), audit_settings()).layers[0]
    assert default.intention.origin == "default"
    assert default.intention.value == pytest.approx(8**-0.5)


def test_threads_and_batches_change_no_result() -> None:
    """One thread or three, all sequences in a call or each in its own: the findings are the same."""
    whole = call(causal=True)
    single = [
        Call(whole.query[place : place + 1], whole.key[place : place + 1], causal=True) for place in range(12)
    ]
    records = [
        audit(recorded(Layer("a", calls)), SETTINGS, workers=workers).layers
        for calls, workers in (([whole], 1), ([whole], 3), (single, 2))
    ]
    assert records[0] == records[1] == records[2]


def test_calls_are_read_one_at_a_time() -> None:
    """A call that is read when it is come to is let go of when the next has been looked at."""
    alive: list[Any] = []

    class Calls:
        def __iter__(self) -> Iterator[Call]:
            import weakref  # noqa: PLC0415

            for seed in range(6):
                made = call(seed, sequences=2)
                alive.append(weakref.ref(made.query))
                assert sum(one() is not None for one in alive) <= 2
                yield made
                del made

    record = audit(recorded(Layer("a", Calls())), SETTINGS, workers=1)
    assert record.layers[0].sequences == 12


def test_ids_of_layers_are_slugs_and_differ() -> None:
    """Names of any kind make ids, of which no two are the same and none is a reserved word."""
    names = ["Model.0/Attn", "model 0 attn", "", "audit", "é"]
    record = audit(recorded(*(Layer(name, [call(sequences=2)]) for name in names)), SETTINGS)
    ids = [one.id for one in record.layers]
    assert len(set(ids)) == 5
    assert ids[:2] == ["model-0-attn", "model-0-attn-2"]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one) and one != "audit" for one in ids)


@pytest.mark.parametrize(
    ("layers", "complaint"),
    [
        ([], "no attention call was seen"),
        ([Layer("a", [])], "layer a: has no calls"),
        ([Layer("a", [call(), call(heads=3)])], "q has 3 heads of 8 dimensions after 2 of 8"),
        ([Layer("a", [call(), call(d=4)])], "of 4 dimensions after"),
        ([Layer("a", [Call(call().query, call(d=4).key)])], "layer a: k has shape"),
        ([Layer("a", [call(heads=0)])], "no heads"),
    ],
)
def test_what_does_not_fit_is_refused(layers: list[Layer], complaint: str) -> None:
    """One line names the layer and the fix."""
    with pytest.raises(RecordingError, match=complaint) as caught:
        audit(recorded(*layers), SETTINGS)
    assert "\n" not in str(caught.value)


def test_an_intention_that_has_no_value_is_refused() -> None:
    """The model's width is asked for but not known."""
    with pytest.raises(SettingsError, match="the width of the model"):
        audit(recorded(Layer("a", [call()])), audit_settings("1/sqrt(D)"))


@pytest.mark.parametrize("is_near", [True, False])
def test_tensors_of_pytorch_are_audited_alike(is_near: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Viewed as NumPy's arrays in memory, or computed where they are, they give what NumPy's give."""
    torch = pytest.importorskip("torch")
    if not is_near:
        monkeypatch.setattr("verify.auditing.arrays._is_near", lambda array: isinstance(array, np.ndarray))
    one = call()
    there = Call(torch.from_numpy(one.query), torch.from_numpy(one.key))
    here, elsewhere = (
        audit(recorded(Layer("a", [each])), SETTINGS).layers[0].findings for each in (one, there)
    )
    for ours, theirs in zip(here, elsewhere, strict=True):
        assert ours.id == theirs.id
        assert ours.judgement == theirs.judgement
        if ours.estimate is not None:
            assert theirs.estimate == pytest.approx(ours.estimate, rel=1e-4, abs=1e-6)
