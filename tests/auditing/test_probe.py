"""Probing attention functions: what is said of right and of deliberately wrong ones, and what is refused."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

import verify
from tests.auditing.calls import attention as correct
from tests.tool import blocks
from verify.auditing.probe import Probe, cases
from verify.auditing.probe import probe as probe_everywhere
from verify.errors import SettingsError

probe = partial(probe_everywhere, heads=1, corners=False)
"""The corners have tests of their own."""


def attention(
    q: Any,
    k: Any,
    v: Any,
    scale: Callable[[Any, Any], float] = lambda q, _: q.shape[-1] ** -0.5,
    shift: Callable[[int, int], int] | None = None,
    window: int = 10**6,
    groups: Callable[[int, int, int], int] = lambda head, heads, key_heads: head * key_heads // heads,
    slope: float = 0.0,
    rule: Callable[[Any, Any], Any] | None = None,
    **declared: Any,
) -> Any:
    """Attention in NumPy with everything that a program may do to it."""
    order = [groups(head, q.shape[1], k.shape[1]) for head in range(q.shape[1])]
    ahead = np.arange(k.shape[2]) - np.arange(q.shape[2])[:, None]
    if shift is not None:
        last = shift(q.shape[2], k.shape[2])
        declared["mask"] = (ahead <= last) & (ahead > last - window)
    if rule is not None:
        declared["mask"] = rule(np.arange(-q.shape[2], 0)[:, None] + k.shape[2], np.arange(k.shape[2]))
    wide = (array.astype(float) for array in (q, k[:, order], v[:, order]))
    return correct(*wide, scale=scale(q, k), bias=slope * ahead, **declared)


def by_scores(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return what weighs the values by a function of the scaled scores."""
    return lambda q, k, v: function(q @ np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5) @ v


def test_what_is_printed_of_plain_attention() -> None:
    """Nothing is wrong with attention as it is written down; a property that there is not is refused."""
    # A model's configuration may have whole numbers of NumPy.
    plain = probe(attention, np.int64(32), heads=np.int32(2))  # type: ignore[arg-type]
    plain.assert_is(causal=False)
    with pytest.raises(SettingsError, match="property 'group'; did you mean 'groups'"):
        plain.assert_is(group="tiled")
    assert plain.scale == pytest.approx(32**-0.5, rel=1e-5)
    assert [" ".join(line.split()) for line in repr(plain).splitlines()] == [
        "attention (d_k = 32, 2 heads, 2 of keys, arrays of numpy)",
        "scale 0.176777 = 1/sqrt(d)",
        "softmax over keys",
        "mask none: each query sees all keys",
        "soft-cap none",
        "sink none",
        "float16 sums are wider",
        "note its corners were not tried: what it computes elsewhere is not known",
    ]


@pytest.mark.slow
def test_the_documented_test_passes_and_can_fail() -> None:
    """It is right for causal attention, and fails for attention without the mask."""
    (example,) = blocks("python", "docs/auditing.md")
    names: dict[str, Any] = {"verify": verify, "my_attention": partial(attention, **CAUSAL)}
    exec(example, names)  # noqa: S102 - as pytest would
    names["test_attention"]()
    names["my_attention"] = attention
    with pytest.raises(AssertionError, match="causal: no, not yes"):
        names["test_attention"]()


def wrong_at(probed: Probe) -> list[str]:
    """Return some corners in which a function is wrong."""
    names = ["1 tokens", "257 tokens", "3 queries, 100 keys", "d = 8", "d = 128", "8 heads"]
    tried = [probed.corner(name, cases(probed.sizes)[name]) for name in names]
    return [f"{name}: {text}" for name, outcome, text in tried if outcome != "right"]


SCALES: dict[str, Callable[[Any, Any], float]] = {
    "0.0884": lambda *_: 0.0884,
    "-2/d": lambda q, _: -2 / q.shape[-1],
    "log(n)/sqrt(d)": lambda q, k: math.log(k.shape[2]) * q.shape[-1] ** -0.5,
    "10": lambda *_: 10.0,
}


@pytest.mark.parametrize("intended", SCALES)
def test_an_intended_scale_is_right_at_all_sizes(intended: str) -> None:
    """Whatever it depends on; and another expression that is equal at these sizes is wrong at others."""
    probed = probe(partial(attention, scale=SCALES[intended]), d_k=32, intended=intended)
    assert (probed.faults, wrong_at(probed)) == ((), [])
    assert f"= {intended}\n" in repr(probed) or probed.scale == pytest.approx(float(intended))
    other = probe(partial(attention, scale=SCALES[intended]), d_k=32, intended=f"{probed.scale!r}*sqrt(d/32)")
    assert other.faults == ()
    assert any(wrong.startswith("d = 8: the scale is") for wrong in wrong_at(other))


@pytest.mark.parametrize(
    ("scale", "problem"),
    [
        (lambda q, _: (q.shape[-1] * q.shape[1]) ** -0.5, "the width of all heads together is taken for d_k"),
        (lambda *_: 1.0, "no scale is applied (intended: 1/sqrt(d)); divide by √16: every score is 4 times"),
    ],
)
def test_a_wrong_scale_is_named_with_its_fix(scale: Any, problem: str) -> None:
    """By the mistake that gives it."""
    probed = probe(partial(attention, scale=scale), d_k=16, heads=2)
    (fault,) = probed.faults
    assert problem in fault
    with pytest.raises(AssertionError, match="scale"):
        probed.assert_is()


CAUSAL: dict[str, Any] = {"shift": lambda *_: 0}  # aligned at the first token
BOTTOM: dict[str, Any] = {"shift": lambda queries, keys: keys - queries}
GROUPED = {"heads": 4, "key_heads": 2}
IDENTIFIED: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "not causal": ({}, {}, {"causal": False, "alignment": None}, "none: each query sees all keys"),
    "top left": (CAUSAL, {}, {"causal": True, "alignment": "top-left"}, "aligned top-left"),
    "bottom right": (BOTTOM, {}, {"causal": True, "alignment": "bottom-right"}, "aligned bottom-right"),
    "window": (CAUSAL | {"window": 5}, {}, {"causal": True, "window": 5}, "a window of 5 keys"),
    "soft-cap": ({"softcap": 10.0}, {}, {"softcap": 10.0}, "soft-cap       10"),
    "sinks of 0, which add 1": ({"sink": [0.0, 0.0]}, {"heads": 2}, {"sink": True}, "sink           0, 0"),
    "interleaved": ({}, GROUPED, {"groups": "interleaved"}, "interleaved, as repeat_interleave"),
    "tiled": ({"groups": lambda head, _, n: head % n}, GROUPED, {"groups": "tiled"}, "tiled, as repeat"),
    "all together": (
        BOTTOM | {"window": 7, "softcap": 10.0, "sink": [0.5, -1, 2, 0]},
        {"heads": 4, "key_heads": 1},
        {"causal": True, "window": 7, "softcap": 10.0, "sink": True},
        "sink           0.5, -1, 2, 0",
    ),
    "one key head": ({}, {"heads": 2, "key_heads": 1}, {"groups": "tiled"}, ""),
}
OTHERWISE = {"causal": True, "alignment": "left", "window": 6, "softcap": 20.0, "sink": True, "groups": ""}


@pytest.mark.parametrize("name", IDENTIFIED)
def test_what_is_identified_must_be_expected(name: str) -> None:
    """Each property passes as it is, fails otherwise, and is printed."""
    options, sizes, properties, printed = IDENTIFIED[name]
    probed = probe(partial(attention, **options), d_k=16, **sizes)
    probed.assert_is(**properties)
    assert printed in repr(probed)
    for what in properties:
        other = False if properties[what] is True else OTHERWISE[what]
        with pytest.raises(AssertionError, match=f"{what}: "):
            probed.assert_is(**properties | {what: other})
    if {"window", "softcap", "sink"} & properties.keys():
        with pytest.raises(AssertionError, match=r"not (none|no)$"):
            probed.assert_is()


@pytest.mark.parametrize("cap", [2.0, 10.0])
def test_a_sink_that_only_low_scores_show_is_right_in_corners(cap: float) -> None:
    """With -15 beside scores of 0 a sink is lost in rounding; beside a single key of score -2 it is not."""
    kernel = partial(attention, scale=lambda *_: -0.25, softcap=cap, sink=[0.5, -15.0], **CAUSAL)
    probed = probe(kernel, d_k=16, heads=2, intended=-0.25)
    assert probed.model.sink == pytest.approx((0.5, -15.0))
    names = ("1 tokens", "2 queries, 1 keys", "scores near +1,000", "scores near -1,000")
    assert {probed.corner(name, cases(probed.sizes)[name]).outcome for name in names} == {"right"}


NO_FORMULA = "the output is not softmax(c·QKᵀ + mask)·V for any c"
norm = partial(np.linalg.norm, axis=-1, keepdims=True)
WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    **{
        f"softmax over {name}": (by_scores(partial(softmax, axis=axis)), f"is over the {name}, not the")
        for axis, name in ((-2, "queries"), (1, "heads"), (0, "sequences"))
    },
    "one key more": (partial(attention, shift=lambda *_: 1), "causal, but off by +1"),
    "one key less": (partial(attention, shift=lambda *_: -1), "causal, but off by -1"),
    "divided": (by_scores(lambda s: s / s.shape[-1]), "there is no softmax over the keys"),
    "sigmoid": (by_scores(lambda s: 1 / (1 + np.exp(-s))), "there is no softmax over the keys"),
    "7% more": (lambda *qkv: 1.07 * attention(*qkv), "do not add up to 1, but to 1.07"),
    "7% less": (lambda *qkv: 0.93 * attention(*qkv, **CAUSAL), "do not add up to 1, but to 0.93"),
    "next values": (
        lambda q, k, v: attention(q, k, np.roll(v, 1, axis=2)),
        f"{NO_FORMULA}: values are those of the token before",
    ),
    "other heads": (
        partial(attention, groups=lambda head, *_: head ^ 1),
        f"{NO_FORMULA}: keys and values are those of head 1",
    ),
    "softmax twice": (by_scores(lambda s: softmax(softmax(s, -1), -1)), "the softmax is applied twice"),
    "29% more": (lambda q, k, v: attention(q, k, v) + 0.29 * np.abs(v.mean(axis=2, keepdims=True)), ""),
    "7% in columns": (lambda q, k, v: attention(q, k, v) * (1 + 0.07 * np.sin(np.arange(16))), ""),
    "squares": (lambda q, k, v: attention(q**2, k, v), ""),
    "uniform": (lambda q, _k, v: v.mean(axis=2, keepdims=True) + 0 * q, ""),
    "normalised": (lambda q, k, v: attention(q / norm(q), k / norm(k), v), "their lengths change nothing"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_off_is_wrong_also_without_a_known_cause(name: str) -> None:
    """By 7%, 29% or 100%: that is no "cannot tell", and comes without NumPy's warnings."""
    function, cause = WRONG[name]
    probed = probe(function, d_k=16, heads=2)
    assert any(cause in line for line in (*probed.faults, *wrong_at(probed)))
    with pytest.raises(AssertionError):
        probed.assert_is()


COARSELY = "sums or weights are rounded to TensorFloat-32 or float16"
NO_RULE = "keys are hidden by no rule of positions"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (partial(attention, rule=lambda i, j: (j <= i) | (j < 3)), NO_RULE),
        (partial(attention, rule=lambda i, j: i // 4 >= j // 4), NO_RULE),
        (partial(attention, rule=lambda i, j: (j <= i) & ((i - j) % 2 == 0)), NO_RULE),
        (partial(attention, slope=0.1), "positions change scores by up to 7.1"),
        (
            lambda q, k, v: attention(q, k, v) * (1 + 5e-4 * np.sin(q.sum(-1, keepdims=True))),
            f"{COARSELY}: the output agrees to that only, and is stored more finely",
        ),
        (partial(attention, shift=lambda *_: -20), "no weights tell its scores"),
    ],
    ids=["prefix", "blocks", "strides", "bias", "coarse", "far behind"],
)
def test_what_is_not_understood_is_no_fault(function: Callable[..., Any], said: str) -> None:
    """Whether it is meant is not known; who expects attention gets it as a problem."""
    probed = probe(function, d_k=16)
    assert (probed.faults, probed.unexplained) == ((), (said,))
    with pytest.raises(AssertionError, match=said):
        probed.assert_is()


def test_tokens_before_heads_are_turned() -> None:
    """A function with the axes [sequence, token, head, d] is told from others, and said how to give it."""

    def turned(q: Any, k: Any, v: Any) -> Any:
        return attention(*(array.swapaxes(1, 2) for array in (q, k, v))).swapaxes(1, 2)

    probe(lambda q, k, v: turned(*(array.swapaxes(1, 2) for array in (q, k, v))).swapaxes(1, 2)).assert_is()
    probed = probe(turned, d_k=8, heads=2)
    assert probed.faults == ()
    assert "turn arrays to the axes [sequence, head, token, d]" in probed.unexplained[0]


DROPS = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda _q, _k, _v: 1 / 0, {}, "raised ZeroDivisionError"),
        (lambda q, _k, _v: q[..., :3], {}, r"returned shape \[1, 1, 6, 3\] where \[1, 1, 6, 8\] is due"),
        (lambda _q, _k, _v: "text", {}, "returned a str, which is not an array"),
        (lambda q: q, {}, "takes 1 positional argument"),
        (lambda q, _k, v: q * np.nan + v, {}, "returned NaN or infinities"),
        (
            lambda q, k, v: attention(q, k, v * (DROPS.random(v.shape) > 0.1)),
            {},
            "another output for the same arrays; switch dropout off",
        ),
        ("text", {}, "is not a function"),
        (attention, {"d_k": 0}, "d_k 0: give a whole number from 1 to 4096"),
        (attention, {"heads": 2.0}, "heads 2.0: give a whole number"),
        (attention, {"heads": 2, "key_heads": 3}, "heads 2, key_heads 3: give whole groups"),
    ],
)
def test_what_cannot_be_probed_ends_in_one_clear_line(
    function: Any, options: dict[str, Any], message: str
) -> None:
    """A function that raises or returns something else is named with what it did; options are checked."""
    with pytest.raises(SettingsError, match=message) as caught:
        probe(function, **{"d_k": 8, **options})
    assert "\n" not in str(caught.value)


def test_arrays_that_are_refused_are_no_fault() -> None:
    """A function may have a width of its own, and take no single token, by which a sink is read best."""

    def fixed(q: Any, k: Any, v: Any) -> Any:
        assert q.shape[-1] == 16
        assert q.shape[2] > 1
        return attention(q, k, v, softcap=10.0, sink=[0.5])

    probed = probe(fixed, d_k=16)
    probed.assert_is(softcap=10.0, sink=True)
    assert probed.corner("d = 8", cases(probed.sizes)["d = 8"]).outcome == "refused"
    assert probed.corner("3 tokens", cases(probed.sizes)["3 tokens"]).outcome == "right"


def test_pytorch_is_what_it_is_known_to_be() -> None:
    """PyTorch's attention is aligned at the first token, interleaves groups and keeps sums wider."""
    torch = pytest.importorskip("torch")
    kernel = torch.nn.functional.scaled_dot_product_attention
    probed = probe(partial(kernel, is_causal=True, enable_gqa=True), d_k=32, heads=4, key_heads=2)
    probed.assert_is(causal=True, alignment="top-left", groups="interleaved")
    assert probed.kernel.library == "torch"
    assert probed.model.coarse is False
    with pytest.raises(SettingsError, match="raised RuntimeError") as caught:
        probe(kernel, d_k=8, device="nowhere")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cap", [None, 20.0])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_function_that_computes_in_half_precision_throughout_is_understood(
    dtype: str, cap: float | None
) -> None:
    """Rounding on the way is no soft-cap, hides none, is no sink and no fault, and is said."""
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)

    def half(q: Any, k: Any, v: Any) -> Any:
        scores = q.to(kind) @ k.to(kind).mT * q.shape[-1] ** -0.5
        scores = scores if cap is None else cap * torch.tanh(scores / cap)
        return (scores.softmax(-1) @ v.to(kind)).float()

    probed = probe(half, d_k=32, heads=2, device="cpu")
    probed.assert_is(causal=False, softcap=cap)
    assert f"as coarsely as {dtype}" in repr(probed)


@pytest.mark.slow  # JAX compiles its attention for each shape
def test_functions_of_jax_are_given_arrays_of_numpy() -> None:
    """JAX's attention takes NumPy's arrays, [sequence, token, head, d], also of bfloat16."""
    jax = pytest.importorskip("jax")

    def attend(*given: Any) -> Any:
        return jax.nn.dot_product_attention(*(array.swapaxes(1, 2) for array in given)).swapaxes(1, 2)

    probed = probe(attend, d_k=16)
    probed.assert_is()
    assert probed.corner("bfloat16, 17 tokens", cases(probed.sizes)["bfloat16, 17 tokens"]).outcome == "right"


@pytest.mark.parametrize("is_coarse", [True, False])
def test_sums_in_half_precision_are_told_from_wider_ones(is_coarse: bool) -> None:
    """Added up key by key in the type of the arrays, or wider."""

    def half(q: Any, k: Any, v: Any) -> Any:
        dtype = q.dtype
        q, k = (array.astype(np.float64) for array in (q, k))
        weights = attention(q, k, np.eye(k.shape[2])[None, None])
        if not is_coarse:
            return (weights @ v.astype(np.float64)).astype(dtype)
        out = np.zeros((*weights.shape[:3], v.shape[3]), dtype)
        for key in range(v.shape[2]):
            out = out + (weights[..., key, None] * v[:, :, None, key]).astype(dtype)
        return out

    assert probe(half, d_k=16).model.coarse is is_coarse
