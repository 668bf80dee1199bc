"""What real programs did, each with its whole kind: the right ones pass, their wrong twins do not."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.calls import arrays, attention, audited, call, finding
from verify.auditing.masks import configured_mask, intended_mask
from verify.auditing.recording import Call, Layer, Recording
from verify.errors import SettingsError

T = 24
PLACE = np.arange(T)
AHEAD = PLACE - PLACE[:, None]
MASKS: dict[str, Any] = {
    "none": np.ones((T, T), dtype=bool),
    "causal": AHEAD <= 0,
    "window=5": (AHEAD <= 0) & (AHEAD > -5),
    "chunk=6": (AHEAD <= 0) & (PLACE[:, None] // 6 == PLACE // 6),
}


@pytest.mark.parametrize("step", [0.02, np.linspace(0.01, 0.04, 64)], ids=["scalar", "channels"])
@pytest.mark.parametrize(("times", "status"), [(1, 0), (0, 1), (2, 1)], ids=["right", "forgotten", "twice"])
def test_keys_of_integer_codes_are_decoded_once(step: Any, times: int, status: int) -> None:
    """A cache in int8: the keys that attention is given are codes times a step, which is no scale."""
    q, k, v = (array.astype(np.float32) for array in arrays(2, sequences=4, keys=T))
    codes = np.clip(np.round(k / 0.02) + 128, 0, 255) - 128
    keys, seen = (codes * step).astype(np.float32), codes * step**times
    out = attention(*(array.astype(float) for array in (q, seen, v))).astype(np.float32)
    assert audited(Call(q, keys, v, out)).exit_status == status


@pytest.mark.parametrize("meant", ["", "causal"])
@pytest.mark.parametrize("dense", [False, True])
def test_a_causal_mask_with_a_cache_is_aligned_at_the_last_key(meant: str, *, dense: bool) -> None:
    """Top left, keys 5 to 12 are seen by no query; keys that were never written are room."""
    declared: dict[str, Any] = {"mask": np.tri(4, 12, dtype=bool)} if dense else {"causal": True}
    recorded = call(queries=4, keys=12, **declared)
    record = audited(recorded, intended_mask=meant)
    if dense and not meant:
        assert record.exit_status == 0  # which keys may be seen was declared one by one
        return
    assert record.exit_status == 1
    assert "keys 4 to 11 are seen by no query" in finding(record, "mask").cause
    key, value = recorded.key.copy(), recorded.value.copy()  # type: ignore[union-attr]  # it has them
    key[:, :, 4:] = value[:, :, 4:] = 0
    assert audited(replace(recorded, key=key, value=value), intended_mask=meant).exit_status == 0
    right = call(queries=4, keys=12, mask=np.tri(4, 12, 8, dtype=bool))
    assert audited(right, intended_mask="causal").exit_status == 0
    assert audited(call(queries=1, keys=12), intended_mask="causal").exit_status == 0


@pytest.mark.parametrize(
    ("config", "mask"),
    [
        ({"sliding_window": 16}, "window=16 (sliding_window = 16 in SimpleNamespace)"),
        ({"sliding_window": 16, "use_sliding_window": False}, ""),
        ({"sliding_window": None}, ""),
        (
            {"sliding_window": 16, "layer_types": ["sliding_attention"]},
            "window=16 (layer_types[0] = sliding_attention",
        ),
        ({"sliding_window": 16, "layer_types": ["full_attention"]}, "causal (layer_types[0]"),
        ({"attention_chunk_size": 8, "layer_types": ["chunked_attention"]}, "chunk=8 (layer_types[0]"),
    ],
)
def test_windows_and_chunks_are_read_from_the_configuration(config: dict[str, Any], mask: str) -> None:
    """With and without a list of the layers' kinds, and it is said where."""
    module = SimpleNamespace(is_causal=True, layer_idx=0)
    meant = configured_mask(module, SimpleNamespace(**config))
    assert meant.startswith(mask) if mask else not meant
    assert configured_mask(SimpleNamespace(is_causal=False, layer_idx=0), SimpleNamespace(**config)) == ""


@pytest.mark.parametrize("meant", ["window=16 (sliding_window = 16 in MistralConfig)", "chunk=8"])
def test_a_window_that_no_layer_keeps_to(meant: str) -> None:
    """It is said, with the first row that sees too much, and where the window was read."""
    layers = [Layer(f"layers.{n}", [call(causal=True)], mask=meant) for n in range(3)]
    record = verify.audit(Recording("x", layers))
    assert record.exit_status == 1
    first = str(record).splitlines()[0]
    kind = "a window of 16" if "window" in meant else "a chunk of 8"
    assert first.startswith(
        f"✗ all 3 layers: mask refuted: {kind} is meant, and the layer does not keep to it: row "
    )
    assert meant in record.intended[0]


@pytest.mark.parametrize(("number", "status"), [(0.0, 0), (np.nan, 1), (7.0, 1)])
@pytest.mark.parametrize("by", ["mask", "bias"])
def test_a_row_that_sees_no_key_holds_zeros(number: float, status: int, by: str) -> None:
    """NaN spreads through later layers, and numbers come from keys that are hidden."""
    seen = MASKS["causal"].copy()
    recorded = call(sequences=2, mask=seen)
    seen = np.broadcast_to(seen, (2, 1, T, T)).copy()
    seen[1, :, 10] = False
    output = recorded.output.copy()  # type: ignore[union-attr]  # it has one
    output[1, :, 10] = number
    declared = {"mask": seen} if by == "mask" else {"mask": None, "bias": np.where(seen, 0, -1e9)}
    record = audited(replace(recorded, output=output, **declared))
    assert (record.exit_status, record.layers[0].rows_without_key) == (status, 1)
    if status:
        assert "such as row 10 of sequence 1" in finding(record, "rows-without-keys").cause


def test_padding_may_hold_the_mean_of_all_values() -> None:
    """Programs that add the least number of a type leave it in rows whose own token is padding."""
    seen = np.broadcast_to(MASKS["causal"] & (PLACE >= 3), (2, 1, T, T))
    recorded = call(sequences=2, mask=MASKS["causal"])
    q, k, v = (np.asarray(array).astype(float) for array in (recorded.query, recorded.key, recorded.value))
    out = attention(q, k, v, bias=np.where(seen, 0, -3e38))
    padded = replace(recorded, mask=seen, output=out.astype(np.float32))
    assert audited(padded, intended_mask="causal").exit_status == 0
    out[:, :, 1] *= 1.1
    assert audited(replace(padded, output=out.astype(np.float32))).exit_status == 1


def test_more_than_200_sequences_are_confirmed() -> None:
    """All that was recorded counts."""
    record = audited(*(call(seed=n, sequences=7, queries=6 + n % 3, keys=6 + n % 3) for n in range(60)))
    assert (record.exit_status, record.layers[0].sequences) == (0, 420)
    assert "all 2,940 rows compared" in record.seen


@pytest.mark.parametrize("heads", [8, 16])
def test_alibi_with_steep_slopes_is_right(heads: int) -> None:
    """Weights that underflow hide nothing that the mask would have shown."""
    slopes = 2.0 ** (-8 / heads * np.arange(1, heads + 1))[:, None, None]
    bias = np.where(AHEAD <= 0, slopes * 8 * AHEAD, -np.inf)[None].astype(np.float32)
    right = call(heads=heads, bias=bias)
    assert audited(right, intended_mask="causal").exit_status == 0
    wrong = audited(replace(right, bias=np.where(bias > -1e9, bias * 2, bias)))
    assert wrong.exit_status == 1


@pytest.mark.parametrize("actual", MASKS)
@pytest.mark.parametrize("meant", MASKS)
def test_a_mask_is_right_where_it_is_the_one_that_was_meant(actual: str, meant: str) -> None:
    """Each against each: the first row and key that are wrong are named, and nothing else is refuted."""
    recorded = call(mask=MASKS[actual])
    record = audited(recorded, intended_mask=meant)
    assert record.exit_status == (0 if actual == meant else 1)
    if actual == meant:
        same = replace(recorded, mask=None, bias=np.where(MASKS[actual], 0.0, -np.inf))
        assert all(f"mask as declared ({actual})" in str(audited(recorded)) for recorded in (recorded, same))
        return
    row, key = np.argwhere(MASKS[actual] != MASKS[meant])[0]
    does = "does not see" if MASKS[meant][row, key] else "sees"
    assert f"row {row} of sequence 0 {does} key {key}, " in finding(record, "mask").cause
    assert [part.kind for part in record.findings if part.judgement == "refuted"] == ["mask"]


def test_a_bias_that_hides_nothing_is_no_mask() -> None:
    """One of 0 and -10 looks like one: it is said that none is declared, and refuted where one is meant.

    Masks without a name are described by how many keys rows see.
    """
    weak = call(bias=np.where(MASKS["causal"], 0, -10.0).astype(np.float32))
    odd = call(mask=MASKS["causal"] | (PLACE < 6))
    for recorded, said in (
        (weak, "none"),
        (call(causal=True), "causal"),
        (odd, "rows see 6 to 24 of 24 keys"),
    ):
        assert f"mask as declared ({said}), not judged without --mask" in str(audited(recorded))
    assert audited(weak, intended_mask="none").exit_status == 0
    assert audited(weak, intended_mask="causal").exit_status == 1


@pytest.mark.parametrize("text", ["", "all", "window", "window=0", "chunk=x", "window=99999999999"])
def test_what_is_no_mask_is_refused(text: str) -> None:
    """One line names those that there are."""
    with pytest.raises(SettingsError, match="give one of none, causal, window=W"):
        intended_mask(text)
