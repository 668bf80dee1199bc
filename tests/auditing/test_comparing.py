"""Two recordings are compared: rounding is no difference, a fault is found where it is, the rest is said."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.calls import attention, write
from tests.auditing.calls import call as correct
from verify.auditing.recording import Call, Layer, Recording
from verify.errors import RecordingError, VerifyError
from verify.evidence.comparisons import Agreement, ComparisonRecord
from verify.evidence.load import load_either

D, HEADS, TOKENS = 8, 2, 24


def call(seed: int = 0, noise: float = 0.0, **more: Any) -> Any:
    """Return a call in single precision; ``noise`` is what its q, k and v differ by, relatively."""
    made = correct(seed=seed, sequences=3, heads=HEADS, d=D, scale=D**-0.5, causal=True)
    other = np.random.default_rng(seed + 1000)
    arrays = [np.asarray(array) for array in (made.query, made.key, made.value)]
    q, k, v = (x * np.asarray(1 + noise * other.normal(size=x.shape), np.float32) for x in arrays)
    out = attention(q, k, v, scale=D**-0.5, causal=True).astype(np.float32)
    return replace(made, query=q, key=k, value=v, output=out, **more)


def recording(*calls: Call, name: str = "layer.{}", **more: Any) -> Recording:
    """Return a recording with one call a layer."""
    return Recording("program", [Layer(name.format(at), [sound]) for at, sound in enumerate(calls)], **more)


def changed(**change: Callable[[Any], Any]) -> tuple[Recording, Recording]:
    """Return three layers that differ by rounding, and of which the second one is changed in B."""
    calls = [call(seed) for seed in range(3)]
    other = [call(seed, noise=3e-7 * seed) for seed in range(3)]
    arrays = {name: make(getattr(other[1], name)) for name, make in change.items()}
    other[1] = replace(other[1], **arrays)
    return recording(*calls), recording(*other)


def compared(a: Recording, b: Recording) -> ComparisonRecord:
    """Compare, and check that the record reads back as it is."""
    record = verify.compare_recordings(a, b)
    assert ComparisonRecord.model_validate_json(record.to_json()) == record
    return record


def differing(record: ComparisonRecord) -> dict[str, set[str]]:
    """Return the names of what differs of itself, by layer."""
    return {layer.name: {part.name for part in layer.of(Agreement.DIFFERS)} for layer in record.differing}


def row(array: Any, change: Callable[[Any], Any]) -> Any:
    """Return an array with one row changed."""
    array = array.copy()
    array[2, 1, 5] = change(array[2, 1, 5])
    return array


def test_rounding_that_grows_is_no_difference() -> None:
    """From layer to layer; the verdict says what was compared, and the status is 0."""
    record = compared(*changed())
    assert record.exit_status == 0
    assert str(record) == "no difference found: 3 layers, 3 calls, 432 rows compared"
    assert {part.name for part in record.layers[0].parts} == {"q", "k", "v", "mask", "scale", "out"}


@pytest.mark.parametrize(
    ("name", "field", "change"),
    [
        ("q", "query", lambda array: 1.02 * array),
        ("k", "key", lambda array: array[..., ::-1]),
        ("v", "value", lambda array: row(array, lambda x: -x)),
        ("q", "query", lambda array: row(array, lambda x: math.nan * x)),
        ("k", "key", lambda array: row(array, lambda x: 1e200 + 0 * x.astype(float)).astype(array.dtype)),
        ("mask", "causal", lambda _: False),
        ("mask", "mask", lambda _: np.arange(TOKENS) > 0),
        ("bias", "bias", lambda _: np.linspace(-1, 0, TOKENS, dtype=np.float32)),
        ("scale", "scale", lambda x: x * (1 + 1e-5)),
        ("softcap", "softcap", lambda _: 50.0),
        ("sink", "sink", lambda _: np.zeros(HEADS, dtype=np.float32)),
        ("out", "output", lambda array: 1.001 * array),
        ("out", "output", lambda array: row(array, lambda x: math.inf + x)),
    ],
)
def test_each_quantity_is_told_apart(name: str, field: str, change: Callable[[Any], Any]) -> None:
    """The second layer alone is named, and by what was changed; an output that is off is one more line."""
    with np.errstate(all="ignore"):
        a, b = changed(**{field: change})
    record = compared(a, b)
    assert record.exit_status == 1
    ((layer, names),) = differing(record).items()
    assert layer == "layer.1"
    # The recorded output is not that of what was changed.
    assert names - {"out"} == {name} - {"out"}
    assert name in names
    assert all(str(part) for part in record.differing[0].of(Agreement.DIFFERS))


def test_a_single_row_and_a_factor_of_a_head_are_shown() -> None:
    """The row with its place, counted from 0; a factor far below what a tolerance of all heads would see."""
    record = compared(*changed(output=lambda array: row(array, lambda x: 0 * x)))
    (part,) = record.differing[0].of(Agreement.DIFFERS)
    text = "not the attention of its own q, k and v in B: 1 of 72 rows are off"
    assert (part.heads, part.what.startswith(text)) == ((1,), True)
    assert "the worst is row 5 of sequence 2" in part.what
    record = compared(*changed(query=lambda array: row(array, lambda x: -x)))
    part = record.differing[0].of(Agreement.DIFFERS)[0]
    assert (part.heads, part.example) == ((1,), "call 0, sequence 2, head 1, row 5")
    factors = np.array([1, 1 + 2e-5], dtype=np.float32).reshape(1, 2, 1, 1)
    record = compared(*changed(value=lambda array: array * factors))
    (part,) = (part for part in record.differing[0].of(Agreement.DIFFERS) if part.name == "v")
    assert (part.heads, part.what) == ((1,), "that of B is 1.00002 times that of A")


def test_what_comes_after_follows() -> None:
    """Later layers differ by as much as that fault may make them: they are not called faulty."""
    a = recording(*(call(seed) for seed in range(3)))
    b = recording(call(0), call(1, noise=0.3), call(2, noise=0.3))
    record = compared(a, b)
    assert differing(record) == {"layer.1": {"q", "k", "v"}}
    assert {part.name for part in record.layers[2].of(Agreement.FOLLOWS)} == {"q", "k", "v"}
    assert "layer.2: differences that may follow from that" in str(record)


def test_the_input_tells_what_a_layer_is_given_from_what_it_makes() -> None:
    """With it q, k and v that all differ are the layer's own; without it what it was given is named."""
    x = np.random.default_rng(5).normal(size=(3, TOKENS, 16)).astype(np.float32)
    a = recording(call(0, input=x), call(1, input=x))
    b = recording(call(0, input=x), call(1, noise=0.3, input=x))
    assert differing(compared(a, b))["layer.1"] == {"q", "k", "v"}
    b = recording(call(0, input=x), call(1, noise=0.3, input=1.5 * x))
    assert differing(compared(a, b))["layer.1"] == {"x"}


def test_no_growth_makes_a_large_difference_rounding() -> None:
    """However slowly it comes about: what is too large for rounding is not known, and the status 3."""
    a = recording(*(call(seed) for seed in range(8)))
    b = recording(*(call(seed, noise=3e-7 * 7**seed) for seed in range(8)))
    record = compared(a, b)
    assert record.exit_status == 3
    assert {part.name for part in record.layers[7].of(Agreement.UNKNOWN)} >= {"q", "k", "v"}
    assert not record.layers[2].of(Agreement.UNKNOWN)


def test_grouped_heads_stand_for_their_repetitions() -> None:
    """Keys of one head in A and the same twice in B are the same keys."""
    sound = call()
    few = {name: getattr(sound, name)[:, :1] for name in ("key", "value")}
    output = attention(sound.query, *few.values(), scale=D**-0.5, causal=True).astype(np.float32)
    a = replace(sound, **few, output=output)
    b = replace(a, **{name: np.repeat(array, 2, axis=1) for name, array in few.items()})
    assert compared(recording(a), recording(b)).exit_status == 0


def test_masks_are_compared_by_what_rows_see() -> None:
    """Whichever way they are given; rows of padding are left out where they are so in both."""
    shown = np.tril(np.ones((TOKENS, TOKENS), dtype=bool))
    sound = call()
    for more in ({"mask": shown}, {"bias": np.where(shown, 0, -np.inf).astype(np.float32)}):
        other = replace(sound, causal=False, **more)
        assert compared(recording(sound), recording(other)).exit_status == 0
    weak = replace(sound, causal=False, bias=np.where(shown, 0, -10).astype(np.float32))
    assert "mask" in differing(compared(recording(sound), recording(weak)))["layer.0"]
    padded = shown & (np.arange(TOKENS) < 20)
    a = replace(sound, causal=False, mask=padded)
    q = sound.query.copy()
    q[:, :, 20:] = 7.0
    b = replace(a, query=q)
    record = compared(recording(a), recording(b))
    assert "q" not in differing(record).get("layer.0", set())
    assert "120 rows compared" in str(record)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (recording, "layer.1 is in A only"),
        (lambda x: recording(x, x, x), "layer.2 is in B only"),
        (
            lambda x: recording(x, correct(sequences=3, heads=HEADS, d=D, queries=12, causal=True)),
            "layer.1: call 0 q has shape [3, 2, 24, 8] in A and",
        ),
        (
            lambda x: recording(x, replace(x, dtype="bfloat16")),
            "layer.1: call 0 is computed in float32 in A and in bfloat16 in B",
        ),
        (
            lambda x: Recording("b", [Layer("layer.0", [x]), Layer("layer.1", [x, x])]),
            "layer.1: has 1 calls in A and 2 in B",
        ),
        (lambda x: recording(x, x, left_out=["flash"]), "in B: flash"),
        (lambda x: recording(x, replace(x, input=x.query)), "layer.1: x is in one"),
        (lambda x: recording(x, replace(x, output=None)), "not all outputs were recorded"),
        (lambda x: recording(x, x, x, name="block.{}"), "no layer of A, such as layer.0, is in B"),
    ],
)
def test_what_cannot_be_compared_is_said(other: Callable[[Call], Recording], said: str) -> None:
    """In a line; the status is 3, as nothing differs that was seen."""
    sound = call()
    record = compared(recording(sound, sound), other(sound))
    assert said in str(record)
    assert record.exit_status == 3


def test_layers_of_other_names_are_matched_in_their_order() -> None:
    """Where there are as many, and none of one name: two libraries call them differently."""
    a, b = changed(scale=lambda x: 2 * x)
    renamed = [replace(layer, name=f"h.{at}") for at, layer in enumerate(b.layers)]
    record = compared(a, Recording("other", renamed))
    assert set(differing(record)) == {"layer.1"}
    assert record.layers[1].other == "h.1"
    assert "matched in their order" in str(record)


def test_neither_output_by_its_formula_is_not_known() -> None:
    """Unless they agree: an attention of another kind on both sides is no difference."""
    sound = call()
    strange = replace(sound, output=sound.output * 2)
    assert compared(recording(strange), recording(strange)).exit_status == 0
    other = replace(sound, output=sound.output * 3)
    record = compared(recording(strange), recording(other))
    assert record.exit_status == 3
    assert "neither output is that of its own formula" in str(record)


def test_what_differs_alike_in_several_layers_is_one_line() -> None:
    """A model with another scale has it in all layers."""
    calls = [call(seed) for seed in range(3)]
    others = [replace(sound, scale=2 * sound.scale, output=None) for sound in calls]
    line, *_ = str(compared(recording(*calls), recording(*others))).splitlines()
    assert line == "✗ layer.0–2: scale differs: 0.353553 in A, 0.707107 in B"


def test_bad_input_is_refused_in_a_line() -> None:
    """No layer, arrays that do not fit, two layers of one name."""
    right = recording(call())
    with pytest.raises(RecordingError, match="A, program: no attention call"):
        verify.compare_recordings(recording(), right)
    broken = recording(replace(call(), key=call().key[:, :, :3]))
    with pytest.raises(RecordingError, match=r"B, layer layer\.0: v has shape"):
        verify.compare_recordings(right, broken)
    twice = Recording("b", [Layer("same", [call()]), Layer("same", [call()])])
    with pytest.raises(RecordingError, match="two of a recording have one name"):
        verify.compare_recordings(right, twice)


def test_a_comparison_of_folders_is_no_evidence(tmp_path: Path) -> None:
    """It is none to cite or to make a page of."""
    write(recording(call()), tmp_path / "a")
    path = tmp_path / "comparison.json"
    path.write_text(verify.compare_recordings(tmp_path / "a", str(tmp_path / "a")).to_json(), "utf-8")
    with pytest.raises(VerifyError, match='has no "schema"'):
        load_either(path)
