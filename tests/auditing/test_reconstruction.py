"""Wrong attentions by name: each is what a program with that mistake gives, and explains its output."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.auditing.calls import SCALE, arrays, attention, call
from tests.auditing.test_exact import of_calls
from verify.auditing import alternatives
from verify.auditing.alternatives import CAPS, Place
from verify.auditing.blocks import Block, head_of
from verify.auditing.reconstruction import coarser_precision, examine, explanations, implied_unlike_declared
from verify.auditing.recording import Call
from verify.evidence.audits import Judgement

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.auditing.alternatives import Variant


TOKENS = 12
NUMBER = 1
"""The head that is looked at."""
OTHER = 0.3
"""A scale that no call declares."""


def variants(one: Call, kinds: tuple[Any, ...]) -> dict[str, Variant]:
    """Return the variants of the second head on the first sequence, by their causes."""
    place = Place(one, 0, NUMBER, head_of(one, 0, NUMBER, TOKENS), SCALE)
    return {variant.cause: variant for kind in kinds for variant in kind(place)}


def doubled(one: Call) -> list[Any]:
    """Return queries, keys and values in double precision."""
    return [np.array(array, np.float64) for array in (one.query, one.key, one.value)]


def weights(q: Any, k: Any, **declared: Any) -> Any:
    """Return the weights of correct attention, shape [sequence, head, query, key]."""
    return attention(q, k, np.broadcast_to(np.eye(k.shape[2]), (*k.shape[:3], k.shape[2])), **declared)


def products(q: Any, k: Any) -> Any:
    """Return q·k, shape [sequence, head, query, key]."""
    return q @ np.swapaxes(k, -1, -2)


def softmax(scores: Any) -> Any:
    """Return the softmax over the keys."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def agrees(variant: Variant, wanted: Any, one: Call, scale: float = OTHER) -> None:
    """Check a variant's output at a scale against the outputs of all rows, of all heads and sequences."""
    places = head_of(one, 0, NUMBER, TOKENS).places
    np.testing.assert_allclose(variant.attend(scale), wanted[0, NUMBER][places], rtol=1e-9, atol=1e-12)


RNG = np.random.default_rng(5)
MASK = RNG.random((TOKENS, TOKENS)) < 0.6
# Every row sees some keys and does not see others; so does every column.
for row in range(TOKENS):
    MASK[row, [row, (row + 1) % TOKENS, (row + 2) % TOKENS]] = True, False, True
BIAS = RNG.standard_normal((1, 4, TOKENS, TOKENS))
SINKS = np.array([0.5, 1.5, -0.5, 1.0])
CAUSAL = np.tri(TOKENS, dtype=bool)


@pytest.mark.parametrize(
    ("declared", "cause", "wanted"),
    [
        ({"mask": MASK}, "the mask is not applied", {}),
        ({"mask": MASK}, "the mask is inverted", {"mask": ~MASK}),
        ({"mask": MASK}, "the mask is added as the numbers 0 and 1", {"bias": MASK.astype(float)}),
        ({"mask": MASK}, "the mask is transposed", {"mask": MASK.T}),
        ({"mask": MASK, "causal": True}, "the mask is lost beside the causal one", {"causal": True}),
        ({"mask": MASK, "causal": True}, "the causal mask is lost beside the other", {"mask": MASK}),
        ({"mask": MASK}, "the mask is causal", {"mask": CAUSAL}),
        (
            {},
            "the mask is causal and off by one: query i sees the keys up to i+1",
            {"mask": np.tri(TOKENS, k=1) > 0},
        ),
        ({"bias": BIAS}, "the bias is lost", {}),
        ({"bias": BIAS}, "the bias has the wrong sign", {"bias": -BIAS}),
        ({"bias": BIAS}, "the bias is added twice", {"bias": 2 * BIAS}),
        ({"bias": BIAS}, "the bias (or mask) is multiplied by the scale", {"bias": OTHER * BIAS}),
        ({"bias": BIAS}, "the bias is that of head 3", {"bias": BIAS[:, [3]]}),
        *(({}, f"a soft-cap of {cap:g} is applied", {"softcap": cap}) for cap in CAPS),
        ({"softcap": 0.7}, "the soft-cap is lost", {}),
        ({}, "a sink of 0 is in the softmax (a further 1 in its denominator)", {"sink": np.zeros(4)}),
        ({"sink": SINKS}, "the sink is lost", {}),
        ({"sink": SINKS}, "the sink is 0 whatever it should be", {"sink": np.zeros(4)}),
        ({"sink": SINKS}, "the sink is multiplied by the scale", {"sink": OTHER * SINKS}),
    ],
)
def test_what_is_declared_otherwise(declared: dict[str, Any], cause: str, wanted: dict[str, Any]) -> None:
    """A mistake in what is declared gives attention with something else declared, whatever its scale."""
    one = call(queries=TOKENS, keys=TOKENS, **declared)
    variant = variants(one, alternatives.KINDS)[cause]
    agrees(variant, attention(*doubled(one), scale=OTHER, **wanted), one)
    assert not variant.is_factor


@pytest.mark.parametrize(("queries", "keys"), [(5, 9), (9, 5)])
def test_causal_masks_are_aligned_at_either_end(queries: int, keys: int) -> None:
    """Where queries and keys differ in number; what is declared itself is no mistake."""
    one = call(queries=queries, keys=keys, mask=np.arange(keys) < keys - 1)
    found = variants(one, (alternatives.alignments,))
    ends = {" and aligned at the first token (top left)": 0}
    ends[" and aligned at the last token (bottom right)"] = keys - queries
    for end, shift in ends.items():
        mask = np.tri(queries, keys, shift, dtype=bool)
        # A row that sees no key has an output of 0.
        wanted = np.nan_to_num(attention(*doubled(one), scale=OTHER, mask=mask)) if mask[0].any() else None
        variant = found[f"the mask is causal{end}"]
        if wanted is not None:
            agrees(variant, wanted, one)
        else:
            assert np.array_equal(variant.attend(OTHER)[0], np.zeros(64))
    declared = call(queries=queries, keys=keys, mask=np.tri(queries, keys, dtype=bool))
    assert not [cause for cause in variants(declared, (alternatives.alignments,)) if "top left" in cause]


def _ln_n(q: Any, k: Any, v: Any) -> Any:
    seen = np.tri(TOKENS).sum(axis=1)[:, None]
    return softmax(np.where(CAUSAL, OTHER * np.log(seen) * products(q, k), -np.inf)) @ v


@pytest.mark.parametrize(
    ("declared", "cause", "wanted"),
    [
        (
            {"mask": MASK},
            "the mask is applied after the softmax, and the weights are not normalised again",
            lambda q, k, v: (weights(q, k, scale=OTHER) * MASK) @ v,
        ),
        (
            {"softcap": 0.7},
            "the soft-cap is applied before the scale",
            lambda q, k, v: softmax(OTHER * 0.7 * np.tanh(products(q, k) / 0.7)) @ v,
        ),
        (
            {"softcap": 0.7, "bias": BIAS},
            "the soft-cap is applied after bias and mask, so that hidden keys get weight",
            lambda q, k, v: softmax(0.7 * np.tanh((OTHER * products(q, k) + BIAS) / 0.7)) @ v,
        ),
        ({}, "the scale is applied after the softmax", lambda q, k, v: OTHER * attention(q, k, v, scale=1.0)),
        ({}, "the output is multiplied by a factor", lambda q, k, v: OTHER * attention(q, k, v)),
        (
            {"mask": MASK},
            "there is no softmax",
            lambda q, k, v: np.where(MASK, OTHER * products(q, k), 0) @ v,
        ),
        (
            {"mask": MASK},
            "the softmax is applied twice",
            lambda q, k, v: softmax(np.where(MASK, weights(q, k, scale=OTHER, mask=MASK), -np.inf)) @ v,
        ),
        (
            {"mask": MASK},
            "a sigmoid is applied in place of the softmax",
            lambda q, k, v: (MASK / (1 + np.exp(-OTHER * products(q, k)))) @ v,
        ),
        ({"causal": True}, "the scale is multiplied by ln n, the number of keys that a query sees", _ln_n),
    ],
)
def test_what_is_computed_otherwise(declared: dict[str, Any], cause: str, wanted: Callable[..., Any]) -> None:
    """A mistake in the order of steps, or another step; two take a factor in place of a scale."""
    one = call(queries=TOKENS, keys=TOKENS, **declared)
    variant = variants(one, alternatives.KINDS)[cause]
    agrees(variant, wanted(*doubled(one)), one)
    assert variant.is_factor == (
        cause in ("the scale is applied after the softmax", "the output is multiplied by a factor")
    )


def test_without_an_occasion_there_is_no_such_mistake() -> None:
    """A call without mask, bias, soft-cap and sink has none of them lost, and all that can be added."""
    found = variants(call(queries=TOKENS, keys=TOKENS), alternatives.KINDS)
    assert not [
        cause
        for cause in found
        if re.search("lost|inverted|mask is transposed|wrong sign|not applied", cause)
    ]
    assert {f"a soft-cap of {cap:g} is applied" for cap in CAPS} <= set(found)
    alone = call(queries=TOKENS, keys=TOKENS, bias=BIAS[:, :1])
    assert not [
        cause for cause in variants(alone, alternatives.KINDS) if cause.startswith("the bias is that of")
    ]


HEADS = 4


def plain(**options: Any) -> Call:
    """Return a correct call whose second head reads the first group of keys where there are two."""
    return call(**{"queries": TOKENS, "keys": TOKENS, **options})


def over(axis: int) -> Callable[..., Any]:
    """Return attention whose softmax runs over another axis of the scores."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        e = np.exp(OTHER * products(q, k))
        return e / e.sum(axis=axis, keepdims=True) @ v

    return attend


def reading(keys: list[int], values: list[int]) -> Callable[..., Any]:
    """Return attention whose heads read these heads of keys and of values."""
    return lambda q, k, v: attention(q, k[:, keys], v[:, values], scale=OTHER)


def changing(**changes: Callable[..., Any]) -> Callable[..., Any]:
    """Return attention of queries, keys and values of which some are changed."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        named = {"q": q, "k": k, "v": v}
        return attention(
            *(changes[name](**named) if name in changes else array for name, array in named.items()),
            scale=OTHER,
        )

    return attend


def reshaped(array: Any) -> Any:
    """Return [token, d] read as if it lay as [d, token]."""
    return np.stack([[head.reshape(head.shape[::-1]).T for head in sequence] for sequence in array])


def normed(array: Any) -> Any:
    """Return vectors of length 1."""
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


GROUPED: list[tuple[str, Callable[..., Any]]] = [
    (
        "grouped heads are mapped interleaved (query head i reads key head i mod h_k)",
        reading([0, 1, 0, 1], [0, 1, 0, 1]),
    ),
    ("values are those of head 1", reading([0, 0, 1, 1], [0, 1, 1, 1])),
    ("keys are those of head 1", reading([0, 1, 1, 1], [0, 0, 1, 1])),
]
SEPARATE: list[tuple[str, Callable[..., Any]]] = [
    ("keys and values are those of head 2", reading([0, 2, 2, 3], [0, 2, 2, 3])),
    ("values are those of head 3", reading([0, 1, 2, 3], [0, 3, 2, 3])),
    ("keys are those of head 3", reading([0, 3, 2, 3], [0, 1, 2, 3])),
    ("the output is that of head 2", lambda q, k, v: attention(q, k, v, scale=OTHER)[:, [0, 2, 2, 3]]),
    ("keys are those of one token later", changing(k=lambda k, **_: np.roll(k, 1, axis=2))),
    ("values are those of one token earlier", changing(v=lambda v, **_: np.roll(v, -1, axis=2))),
    ("keys are reshaped where they should be transposed", changing(k=lambda k, **_: reshaped(k))),
    ("values are reshaped where they should be transposed", changing(v=lambda v, **_: reshaped(v))),
    ("keys are used as values", changing(v=lambda k, **_: k)),
    ("values are used as keys", changing(k=lambda v, **_: v)),
    ("keys and values are exchanged", changing(k=lambda v, **_: v, v=lambda k, **_: k)),
    ("queries and keys are exchanged", changing(q=lambda k, **_: k, k=lambda q, **_: q)),
    (
        "queries and keys are normalised first",
        changing(q=lambda q, **_: normed(q), k=lambda k, **_: normed(k)),
    ),
    ("the softmax is over the queries, not the keys", over(-2)),
    ("the softmax is over the heads, not the keys", over(1)),
    ("the softmax is over the sequences, not the keys", over(0)),
    (
        "the output is reshaped to [token, head] where it should be transposed",
        # Heads and tokens of what was computed are read as if tokens came first.
        lambda q, k, v: _read(attention(q, k, v, scale=OTHER).swapaxes(1, 2)),
    ),
    (
        "the output is reshaped from [head, token] where it should be transposed",
        lambda q, k, v: _read(attention(q, k, v, scale=OTHER)).reshape(2, TOKENS, HEADS, -1).swapaxes(1, 2),
    ),
]


def _read(array: Any) -> Any:
    """Return the same numbers in the shape [sequence, head, token, d]."""
    return array.reshape(2, HEADS, TOKENS, -1)


@pytest.mark.parametrize(
    ("key_heads", "cause", "wanted"),
    [*((2, *one) for one in GROUPED), *((HEADS, *one) for one in SEPARATE)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_gives_what_a_program_with_it_gives(
    key_heads: int, cause: str, wanted: Callable[..., Any]
) -> None:
    """Whatever its scale, on every row that is looked at."""
    one = plain(key_heads=key_heads)
    agrees(variants(one, alternatives.KINDS)[cause], wanted(*doubled(one)), one)


def test_a_mistake_needs_an_occasion() -> None:
    """One head and one sequence cannot be taken for another's; other widths of values are no keys."""
    one = plain(sequences=1, heads=1)
    mapped = {*variants_of_first_head(one)}
    assert not {cause for cause in mapped if "head" in cause or "sequences" in cause}
    assert "keys are used as values" in mapped
    wide = plain()
    assert wide.value is not None
    narrow = replace(wide, value=wide.value[..., :8], output=attention(*doubled(wide))[..., :8])
    assert "keys are used as values" not in variants(narrow, alternatives.KINDS)
    rectangle = plain(queries=TOKENS - 2)
    assert "queries and keys are exchanged" not in variants(rectangle, alternatives.KINDS)


def variants_of_first_head(one: Call) -> set[str]:
    """Return the causes that are tried for the first head of the first sequence."""
    place = Place(one, 0, 0, head_of(one, 0, 0, TOKENS), SCALE)
    return {variant.cause for kind in alternatives.KINDS for variant in kind(place)}


STARTS = (SCALE, 1.0)


def _place(one: Call, number: int = 1, rows: int = 8) -> Place:
    return Place(one, 0, number, head_of(one, 0, number, rows), SCALE)


def _full() -> Call:
    """Return a correct call that gives occasion for every alternative."""
    rng = np.random.default_rng(8)
    mask = rng.random((2, 1, 24, 24)) < 0.7
    mask[..., :3] = True
    bias = rng.standard_normal((1, 4, 24, 24))
    return call(mask=mask, bias=bias, softcap=2.0, sink=np.ones(4), key_heads=2, causal=True)


@pytest.mark.parametrize("kind", alternatives.KINDS, ids=lambda kind: kind.__name__)
def test_no_alternative_is_the_declared_attention(kind: Any) -> None:
    """Each variant of a call that has everything differs from the call's own output, at its own scale."""
    place = _place(_full())
    variants = list(kind(place))
    assert variants
    for variant in variants:
        output = variant.attend(SCALE)
        assert output.shape == place.head.output.shape
        assert np.linalg.norm(output - place.head.output) > 1e-3 * place.head.size, variant.cause
        assert variant.fix


def test_alternatives_have_different_names() -> None:
    """A cause that is named says which alternative it was."""
    place = _place(_full())
    causes = [one.cause for kind in alternatives.KINDS for one in kind(place)]
    assert len(causes) == len(set(causes)) > 40


def test_correct_attention_has_no_other_explanation() -> None:
    """A correct call also has the output that a factor of 1 gives, which is no better and not named."""
    assert explanations(_place(_full()), STARTS) == ()


def test_what_fits_some_rows_only_is_not_named() -> None:
    """Of 16 rows the second, which is not among the eight that are screened, is wrong: no cause fits it."""
    one = call()
    place = _place(one, rows=16)
    output = np.array(one.output)
    output[:, :, place.head.places[1]] *= -7
    spoiled = _place(replace(one, output=output), rows=16)
    assert np.array_equal(spoiled.head.thinned(8).output, place.head.thinned(8).output)
    assert explanations(spoiled, STARTS) == ()


def test_noise_has_no_explanation() -> None:
    """An output of random numbers is explained by nothing, not even with a scale of its own."""
    one = call()
    noise = np.random.default_rng(1).standard_normal(one.query.shape).astype(np.float32)
    assert explanations(_place(replace(one, output=noise)), STARTS) == ()


def test_explanation_with_an_expected_scale_goes_first() -> None:
    """A lost bias needs no number of its own; what does is not named beside it."""
    bias = np.random.default_rng(2).standard_normal((1, 4, 24, 24))
    (found,) = explanations(_place(replace(call(), bias=bias)), STARTS)
    assert found.cause == "the bias is lost"
    assert found.scale == pytest.approx(SCALE, rel=1e-4)


def test_two_mistakes_at_once_are_found_with_the_scale() -> None:
    """A lost mask and a wrong scale: the mask is named, with the scale that fits."""
    one = call(applied=0.3)
    mask = np.tri(24) > 0
    (found, *_) = explanations(_place(replace(one, mask=mask)), STARTS)
    assert found.cause == "the mask is not applied"
    assert found.scale == pytest.approx(0.3, rel=1e-4)


def test_scale_after_the_softmax_is_told_from_any_other_factor() -> None:
    """The intended scale as a factor of unscaled attention is named so, a factor of 0.9 as what it is."""
    one = call(deviation=0.1)
    exact = [np.array(array, dtype=np.float64) for array in (one.query, one.key, one.value)]
    unscaled = attention(*exact, scale=1.0).astype(np.float32)
    (found,) = explanations(_place(replace(one, output=np.float32(SCALE) * unscaled)), STARTS)
    assert found.cause == "the scale is applied after the softmax"
    (found,) = explanations(_place(replace(one, output=np.float32(0.9) * np.array(one.output))), STARTS)
    assert found.cause == "the output is multiplied by a factor"


def test_coarser_arithmetic_is_recognised() -> None:
    """Inputs that were cut to TF32's digits give a residual that single precision does not explain."""
    one = call()
    cut = [_tf32(array) for array in (one.query, one.key, one.value)]
    head = head_of(replace(one, output=attention(*cut).astype(np.float32)), 0, 0, 16)
    assert coarser_precision(head, SCALE) == "11 binary digits (TF32 or float16)"
    assert coarser_precision(head, 2 * SCALE) == ""


def _tf32(array: Any) -> Any:
    """Return single precision with 11 binary digits, rounded to nearest."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


@pytest.mark.parametrize(("axis", "over"), [(0, "sequences"), (1, "heads"), (2, "queries")])
def test_softmax_over_another_axis_is_named_in_single_precision(axis: int, over: str) -> None:
    """Its weights add up to more than 1 over many keys, and so do their roundings."""
    q, k, v = (array.astype(np.float32) for array in arrays(3, queries=128, keys=128))
    scores = np.float32(SCALE) * (q @ np.swapaxes(k, -1, -2))
    raised = np.exp(scores - scores.max(axis=axis, keepdims=True))
    output = (raised / raised.sum(axis=axis, keepdims=True)) @ v
    assert output.dtype == np.float32
    for number in (0, 3):
        causes = [one.cause for one in explanations(_place(Call(q, k, v, output), number, rows=16), STARTS)]
        assert causes == [f"the softmax is over the {over}, not the keys"]


@pytest.mark.parametrize("declared", [{}, {"causal": True}, {"key_heads": 2}], ids=str)
def test_arrays_with_heads_after_tokens_are_recognised(declared: dict[str, Any]) -> None:
    """All arrays as [sequence, token, head, d]: that is named, and nothing else tried."""
    one = call(sequences=2, queries=32, keys=32, **declared)
    swapped = replace(
        one,
        query=np.swapaxes(np.asarray(one.query), 1, 2),
        key=np.swapaxes(np.asarray(one.key), 1, 2),
        value=np.swapaxes(np.asarray(one.value), 1, 2),
        output=np.swapaxes(np.asarray(one.output), 1, 2),
    )
    (found,) = explanations(_place(swapped, number=5, rows=16), STARTS)
    assert found.cause == "the arrays have the axes [sequence, token, head, d]"
    assert found.scale == pytest.approx(SCALE, rel=1e-4)
    assert explanations(_place(one, number=1, rows=16), STARTS) == ()


def test_every_sequence_is_looked_at_and_others_of_its_rows() -> None:
    """Of the first and those whose place is a power of two 16 rows, of the others four."""
    one = call(sequences=1, heads=1, queries=64)
    looks = [examine(Block(one, 0, 0, SCALE, place=place)) for place in range(10)]
    rows = [look.rows for look in looks if look is not None]
    assert rows == [16 if place in (0, 1, 2, 4, 8) else 4 for place in range(10)]
    assert {look.queries for look in looks if look is not None} == {64}


def test_wrong_attention_is_searched_for_in_two_sequences_of_a_head() -> None:
    """The search takes long; sequences after two that nothing explains are not looked at."""
    one = call(sequences=1)
    wrong = replace(one, output=np.array(one.output)[:, ::-1])
    unexplained: list[int] = []
    blocks = [
        Block(each, 0, 0, SCALE, place=place, unexplained=unexplained)
        for place, each in enumerate([one, one, one, wrong, one, wrong, one, wrong])
    ]
    looks = [examine(block) for block in blocks]
    assert [look is not None for look in looks] == [True] * 6 + [False] * 2
    assert unexplained == [3, 5]
    assert [bool(look.explanations) for look in looks[3:6] if look] == [True, False, True]


def test_a_head_without_scale_in_a_few_sequences_is_refuted() -> None:
    """Sequences 3, 5, 6 and 7 of eight have no scale; how many rows and sequences were looked at is said."""
    calls = [
        call(seed=place, sequences=1, queries=64, applied=1.0 if place in (3, 5, 6, 7) else SCALE)
        for place in range(8)
    ]
    found = of_calls(*calls)
    assert found["scale-implied"].judgement is Judgement.REFUTED
    assert "no scale is applied" in found["scale-implied"].cause
    assert found["scale-implied"].reason == (
        "it is so in 4 of 8 sequences; looked at 80 of 512 rows, drawn, of 8 sequences"
    )
    assert found["reconstruction"].judgement is Judgement.CONFIRMED
    assert found["reconstruction"].reason == "looked at 80 of 512 rows, drawn, of 8 sequences"


def test_rows_that_are_garbage_are_no_factor_of_the_output() -> None:
    """Six rows of 64 are wrong: the output is refuted, and no cause is named that most rows fit."""
    one = call(sequences=4, queries=64)
    output = np.array(one.output)
    output[:, :, 1:4], output[:, :, 33:36] = 0, -7 * output[:, :, 33:36]
    found = of_calls(replace(one, output=output))["reconstruction"]
    assert (found.judgement, found.cause) == (Judgement.REFUTED, "")
    assert "no known mistake gives it" in found.reason


@pytest.mark.parametrize("missing", ["value", "output"])
def test_calls_without_output_or_values_are_not_looked_at(missing: str) -> None:
    """Queries and keys alone say nothing of the scale that was applied."""
    one = replace(call(), value=None) if missing == "value" else replace(call(), output=None)
    assert examine(Block(one, 0, 0, SCALE)) is None


def test_more_rows_are_taken_where_few_do_not_decide() -> None:
    """In half precision with nearly equal scores more rows are read, up to all there are."""
    plain = examine(Block(call(queries=300, keys=40), 0, 0, SCALE))
    hard = examine(Block(call(np.float16, queries=300, keys=40, deviation=0.0005), 0, 0, SCALE))
    assert plain is not None
    assert hard is not None
    assert plain.implied is not None
    assert hard.implied is not None
    assert (plain.implied.rows, hard.implied.rows) == (16, 256)


def test_one_key_and_broken_numbers_leave_nothing_to_imply() -> None:
    """A single key says nothing of a scale, and NaN is said to be NaN."""
    single = examine(Block(call(keys=1), 0, 0, SCALE))
    assert single is not None
    assert (single.implied, single.broken) == (None, False)
    one = call()
    output = np.array(one.output)
    output[0, 0] = np.nan
    broken = examine(Block(replace(one, output=output), 0, 0, SCALE))
    assert broken is not None
    assert (broken.implied, broken.broken) == (None, True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"applied": 1.0}, 1.0),
        ({"applied": -SCALE}, -SCALE),
        ({}, None),
        ({"applied": 1.005 * SCALE}, None),
        ({"dtype": np.float16, "deviation": 0.00005}, 0.7),
        ({"keys": 1}, 0.7),
    ],
)
def test_scale_is_the_implied_one_only_where_the_output_tells(
    options: dict[str, Any], expected: float | None
) -> None:
    """Within the tolerance it is the declared one; where nothing tells, what was found before stands."""
    found = implied_unlike_declared(Block(call(**options), 0, 0, SCALE), 0.7)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-3))


def test_output_that_no_scale_gives_leaves_what_was_found_before() -> None:
    """Noise for an output implies nothing."""
    one = call()
    noise = replace(one, output=np.random.default_rng(1).standard_normal(one.query.shape))
    assert implied_unlike_declared(Block(noise, 0, 0, SCALE), 0.7) == 0.7
