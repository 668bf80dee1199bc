"""Probing attention functions: what is said of right and of deliberately wrong ones, and what is refused."""

import math
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import verify
from tests.tool import blocks
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
    window: int | None = None,
    cap: float | None = None,
    sink: Any = None,
    axis: int = -1,
    groups: Callable[[int, int, int], int] = lambda head, heads, key_heads: head * key_heads // heads,
    after: float = 1.0,
    bias: float = 0.0,
    norm: bool = False,
) -> Any:
    """Attention in NumPy with everything that a program may do to it."""
    order = [groups(head, q.shape[1], k.shape[1]) for head in range(q.shape[1])]
    k, v = k[:, order], v[:, order]
    if norm:
        q, k = (array / np.linalg.norm(array, axis=-1, keepdims=True) for array in (q, k))
    scores = scale(q, k) * (q @ np.swapaxes(k, -1, -2))
    if cap is not None:
        scores = cap * np.tanh(scores / cap)
    ahead = np.arange(k.shape[2]) - np.arange(q.shape[2])[:, None]
    scores = scores + bias * ahead
    if shift is not None:
        scores = np.where(ahead <= shift(*scores.shape[-2:]), scores, -np.inf)
        if window is not None:
            scores = np.where(ahead > shift(*scores.shape[-2:]) - window, scores, -np.inf)
    top = np.maximum(scores.max(axis=axis, keepdims=True), -1e30)
    e = np.exp(scores - top)
    total = e.sum(axis=axis, keepdims=True)
    if sink is not None:
        total = total + np.exp(np.reshape(sink, (1, -1, 1, 1)) - top)
    return (after * e / np.maximum(total, 1e-30)) @ v


def top_left(_queries: int, _keys: int) -> int:
    """Causal, aligned at the first token."""
    return 0


def bottom_right(queries: int, keys: int) -> int:
    """Causal, aligned at the last token."""
    return keys - queries


def tiled(head: int, _heads: int, key_heads: int) -> int:
    """Map heads as PyTorch's repeat does."""
    return head % key_heads


def test_plain_attention_passes_in_three_lines() -> None:
    """Nothing is wrong with attention as it is written down, and its text says what it is."""
    # A model's configuration may have whole numbers of NumPy.
    found = probe(attention, np.int64(32), heads=np.int32(2))  # type: ignore[arg-type]
    found.assert_is("1/sqrt(d)", causal=False)
    assert found.scale == pytest.approx(32**-0.5, rel=1e-5)
    varied = "measured at d = 16, 32, 64, h = 2, 4, n = 16, 32, 64, dtype = float16, float32"
    lines = [" ".join(line.split()) for line in repr(found).splitlines()]
    assert lines == [
        "attention (d_k = 32, 2 heads, 2 of keys, arrays of numpy)",
        f"scale 0.176777 = 1/sqrt(d) ({varied})",
        "softmax over keys",
        "mask none: each query sees all keys",
        "soft-cap none",
        "positions change no score",
        "sink none",
        "grouped heads not taken",
        "float16 sums are kept wider",
    ]


@pytest.mark.slow
def test_the_documented_test_passes_and_can_fail() -> None:
    """It is right for causal attention, and fails for attention without the mask."""
    (example,) = blocks("python", "docs/auditing.md")
    names: dict[str, Any] = {"verify": verify, "my_attention": partial(attention, shift=top_left)}
    exec(example, names)  # noqa: S102 - as pytest would
    names["test_attention"]()
    names["my_attention"] = attention
    with pytest.raises(AssertionError, match="it is not causal"):
        names["test_attention"]()


@pytest.mark.parametrize(
    ("scale", "formula"),
    [
        (lambda *_: 0.0884, "0.0884"),
        (lambda q, _: (q.shape[-1] * q.shape[1]) ** -0.5, "1/sqrt(d*h)"),
        (lambda q, _: 2 / q.shape[-1], "2/d"),
        (lambda q, _: -1 / q.shape[-1], "-1/d"),
        (lambda q, k: math.log(k.shape[2]) * q.shape[-1] ** -0.5, "log(n)/sqrt(d)"),
        (lambda q, _: 0.3 if q.shape[-1] > 40 else 0.1, None),
        (lambda *_: 10.0, "10"),
    ],
)
def test_formula_of_the_scale_is_found_by_varying_sizes(scale: Any, formula: str | None) -> None:
    """Width, heads and tokens are varied, and only a formula that holds everywhere is given."""
    found = probe(partial(attention, scale=scale), d_k=32)
    assert (found.formula, found.faults) == (formula, ())


def test_wrong_scale_is_named_with_its_fix() -> None:
    """The width of all heads in place of one head's: caught where both agree on nothing."""
    wrong = partial(attention, scale=lambda q, _: (q.shape[-1] * q.shape[1]) ** -0.5)
    with pytest.raises(AssertionError, match=r"not √64: every score is 1.41 times too small"):
        probe(wrong, d_k=32, heads=2).assert_is()
    assert "what is intended decides" in repr(probe(wrong, d_k=32, heads=2))


@pytest.mark.parametrize(
    ("scale", "cause"),
    [
        (lambda *_: 0.125, "the scale is 0.125 where"),
        (lambda *_: 1.0, "no scale is applied, with d = 16"),
    ],
)
def test_a_wrong_scale_has_a_name_only_if_it_holds_at_every_width(scale: Any, cause: str) -> None:
    """1/8 at d = 16 is the root of the width of all heads by accident: at d = 8 it is not."""
    (problem,) = probe(partial(attention, scale=scale), d_k=16, heads=4).problems()
    assert cause in problem


@pytest.mark.slow
def test_a_scale_that_is_zero_at_one_key_stops_no_corner() -> None:
    """The logarithm of the length, of scalable softmax: declared, it passes, and its corners are tried."""
    scaled = partial(attention, scale=lambda q, k: math.log(k.shape[2]) * q.shape[-1] ** -0.5)
    found = probe_everywhere(scaled, d_k=32, heads=1)
    assert found.problems("log(n)/sqrt(d)") == ()
    assert any(corner.outcome == "right" for corner in found.corners)


@pytest.mark.parametrize(
    ("shift", "causal", "alignment"),
    [
        (None, False, None),
        (top_left, True, "top-left"),
        (bottom_right, True, "bottom-right"),
        (lambda *_: 1, False, "top-left"),
        (lambda *_: -1, False, "top-left"),
    ],
)
def test_mask_and_its_alignment_are_read_off_rectangles(
    shift: Any, causal: bool, alignment: str | None
) -> None:
    """Square shapes tell whether it is causal, rectangles how it is aligned; off by one is a fault."""
    found = probe(partial(attention, shift=shift), d_k=8)
    assert (found.causal, found.found.model.wide) == (causal, alignment)
    assert any("causal, but off by" in one for one in found.faults) == (alignment is not None and not causal)


@pytest.mark.parametrize("window", [3, 100])
def test_window_is_found_and_must_be_expected(window: int) -> None:
    """A sliding window is a mask by positions, whatever its size, and causal attention has none."""
    found = probe(partial(attention, shift=top_left, window=window), d_k=16)
    assert (found.found.model.mask.window, found.causal) == (window, True)
    assert f"a window of {window} keys" in repr(found)
    assert found.problems(causal=True) == (f"window: {window}, not none",)
    assert found.problems(causal=True, window=window) == ()
    assert found.problems(window=window + 1) == (f"window: {window}, not {window + 1}",)


def test_window_on_both_sides_is_found() -> None:
    """Without a causal mask a window hides keys before and after a query, which is no fault."""
    found = probe(lambda q, k, v: attention(q, k, v, shift=lambda *_: 90, window=181), d_k=16)
    assert found.found.model.mask[:2] == (90, 181)
    assert found.problems(window=181) == ()


def test_function_that_gives_another_output_each_time_is_refused() -> None:
    """Dropout would be measured as something else."""
    rng = np.random.default_rng(0)

    def dropping(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v * (rng.random(v.shape) > 0.1))

    with pytest.raises(SettingsError, match="another output for the same arrays; switch dropout off"):
        probe(dropping, d_k=8)


def test_softcap_is_measured() -> None:
    """The soft-cap is found with its size, and must be expected."""
    found = probe(partial(attention, cap=10.0), d_k=16)
    assert found.found.model.softcap == pytest.approx(10, rel=1e-3)
    assert found.problems(softcap=10.0) == ()
    assert found.problems() == ("soft-cap: 10, not none",)
    assert found.problems(softcap=20.0) == ("soft-cap: 10, not 20",)


def test_sinks_are_measured_head_by_head() -> None:
    """Each head's own sink is found, and must be expected."""
    found = probe(partial(attention, sink=np.array([1.0, -1.0])), d_k=16, heads=2)
    assert found.found.model.sink == pytest.approx((1.0, -1.0), abs=1e-3)
    assert found.problems() == ("the softmax has a sink",)
    assert found.problems(sink=True) == ()
    none = str(probe(partial(attention, sink=np.zeros(2)), d_k=16, heads=2))
    assert re.search("sink +0, 0$", re.sub(r"-?\d\.?\d*e-\d+", "0", none), re.MULTILINE)
    assert probe(attention, d_k=16).problems(sink=True) == ("the softmax has no sink",)


@pytest.mark.parametrize(("axis", "name"), [(-2, "queries"), (-1, "keys"), (1, "heads"), (0, "sequences")])
def test_axis_of_the_softmax_is_found(axis: int, name: str) -> None:
    """Weights add up to 1 over the axis that the softmax runs over, and over no other."""
    found = probe(partial(attention, axis=axis), d_k=16, heads=2)
    assert found.found.axis == name
    assert found.faults == (() if name == "keys" else (f"the softmax is over the {name}, not the keys",))


@pytest.mark.parametrize(
    ("groups", "name"),
    [
        (lambda head, heads, key_heads: head * key_heads // heads, "interleaved"),
        (tiled, "tiled"),
        (lambda head, heads, key_heads: key_heads - 1 - head * key_heads // heads, "otherwise"),
    ],
)
def test_mapping_of_grouped_heads_is_found(groups: Any, name: str) -> None:
    """In the words of repeat_interleave and repeat; what is expected passes, and nothing else."""
    found = probe(partial(attention, groups=groups), d_k=8, heads=4, key_heads=2)
    assert (found.found.groups, found.faults) == (name, ())
    for wanted in ("interleaved", "tiled"):
        assert (found.problems(groups=wanted) == ()) == (wanted == name)
    if name != "otherwise":
        assert f"{name}, as repeat" in repr(found)


def test_heads_that_read_other_heads_are_wrong() -> None:
    """Also where there are as many heads of keys as of queries."""
    crossed = partial(attention, groups=lambda head, *_: head ^ 1)
    assert "read the keys and values of other heads: (1, 0)" in probe(crossed, d_k=8, heads=2).faults[0]


def test_bias_of_positions_is_found() -> None:
    """Scores that positions change without any query show as a bias."""
    found = probe(partial(attention, bias=0.1), d_k=16)
    assert found.found.bias == pytest.approx(1.1, rel=1e-3)
    assert found.problems() == ("positions change scores by up to 1.1",)
    assert found.scale == pytest.approx(0.25, rel=1e-5)
    found.assert_is(bias=True)


@pytest.mark.parametrize("layout", ["bthd", "td"])
def test_arrays_come_in_the_layout_that_is_asked_for(layout: str) -> None:
    """Axes are put where the letters say, and the same is found."""
    shapes = []

    def function(q: Any, k: Any, v: Any) -> Any:
        shapes.append(dict(zip(layout, q.shape, strict=True)))
        missing = tuple(place for place, axis in enumerate("bhtd") if axis not in layout)
        order = [layout.index(axis) for axis in "bhtd" if axis in layout]
        q, k, v = (np.expand_dims(np.transpose(array, order), missing) for array in (q, k, v))
        out = np.squeeze(attention(q, k, v, shift=top_left), missing)
        return np.transpose(out, np.argsort(order))

    found = probe(function, d_k=8, layout=layout)
    found.assert_is(causal=True)
    assert {shape["d"] for shape in shapes} == {4, 8, 16}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _q, _k, _v: 1 / 0, "raised ZeroDivisionError"),
        (lambda q, _k, _v: q[..., :3], r"returned shape \[1, 1, 6, 3\] where \[1, 1, 6, 8\] is due"),
        (lambda _q, _k, _v: "text", "returned a str, which is no array"),
        (lambda _q, _k, _v: None, "returned None"),
        (lambda q: q, "takes 1 positional argument"),
        (lambda q, _k, v: q * np.nan + v, "returned NaN or infinities"),
        ("text", "is no function"),
    ],
)
def test_what_cannot_be_probed_ends_in_one_clear_line(function: Any, message: str) -> None:
    """A function that raises or returns something else is named with what it did."""
    with pytest.raises(SettingsError, match=message) as caught:
        probe(function, d_k=8)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "bhqd"}, "name the axes"),
        ({"layout": "bhtt"}, "name the axes"),
        ({"layout": 3}, "name the axes"),
        ({"library": "cupy"}, "give one of numpy, torch, jax"),
        ({"library": "numpy", "device": "cuda"}, "device cuda: is for PyTorch's arrays"),
        ({"d_k": 0}, "d_k 0: give a whole number from 1 to 4096"),
        ({"d_k": "a"}, "d_k 'a': give a whole number"),
        ({"heads": 2.0}, "heads 2.0: give a whole number"),
        ({"key_heads": -2}, "key_heads -2: give a whole number"),
        ({"heads": 2, "key_heads": 3}, "heads 2, key_heads 3: give whole groups"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], message: str) -> None:
    """Layout, library and sizes are checked before the function is called."""
    with pytest.raises(SettingsError, match=message):
        probe(attention, **options)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"groups": "x"}, "groups x: give interleaved or tiled"),
        ({"alignment": "left"}, "alignment left: give top-left or bottom-right"),
        ({"window": 0}, "window 0: give a whole number above 0"),
        ({"softcap": math.nan}, "softcap nan: give a number above 0"),
    ],
)
def test_what_cannot_be_expected_is_refused(expected: dict[str, Any], message: str) -> None:
    """No function could be that, so saying that this one is not would be no finding."""
    with pytest.raises(SettingsError, match=message):
        probe(attention, d_k=8).problems(**expected)


def by_scores(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return what weighs the values by a function of the scaled scores."""
    return lambda q, k, v: function(q @ np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5) @ v


@pytest.mark.parametrize(
    "function", [lambda s: s / s.shape[-1], lambda s: 1 / (1 + np.exp(-s))], ids=["divided", "sigmoid"]
)
def test_what_has_no_softmax_is_wrong(function: Callable[[Any], Any]) -> None:
    """It need not be asked for, and comes without NumPy's warnings."""
    found = probe(by_scores(function), d_k=8)
    assert found.faults == ("the weights of a row do not add up to 1: there is no softmax over the keys",)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda q, k, v: 1.07 * attention(q, k, v),
        lambda q, k, v: attention(q, k, np.roll(v, 1, axis=2)),
        lambda q, k, v: attention(q, k, v) + 0.29 * np.abs(v.mean(axis=2, keepdims=True)),
        lambda q, k, v: attention(q, k, v) * (1 + 0.07 * np.sin(np.arange(q.shape[-1]))),
        lambda q, k, v: attention(q, k, v[..., ::-1]),
        lambda q, k, v: attention(q**2, k, v),
        lambda q, _k, v: v.mean(axis=2, keepdims=True) + 0 * q,
        partial(attention, norm=True),
    ],
)
def test_what_is_off_is_wrong_also_without_a_known_cause(wrong: Callable[..., Any]) -> None:
    """By 7%, 29% or 100%: that is no "cannot tell"."""
    found = probe(wrong, d_k=16)
    assert found.faults or found.problems() != ()
    with pytest.raises(AssertionError):
        found.assert_is()


def test_a_known_cause_is_named_and_coarse_rows_are_said() -> None:
    """What an audit would name; rows that are off by no more than half precision are not understood."""
    found = probe(lambda q, k, v: attention(q, k, np.roll(v, 1, axis=2)), d_k=16)
    assert "values are those of the token before" in found.faults[0]
    near = probe(lambda q, k, v: attention(q, k, v) + 1e-3 * np.roll(v.mean(2, keepdims=True), 1, 3), d_k=16)
    assert near.unexplained == ("rows are the formula's to the rounding of float16 only",)


@pytest.mark.parametrize(
    "shown",
    [
        lambda i, j: (j <= i) | (j < 3),
        lambda i, j: i // 4 >= j // 4,
        lambda i, j: (j <= i) & ((i - j) % 2 == 0),
    ],
    ids=["prefix", "blocks", "strides"],
)
def test_a_mask_that_is_not_understood_is_no_fault(shown: Callable[[Any, Any], Any]) -> None:
    """Whether it is meant is not known; who expects none gets it as a problem."""

    def masked(scores: Any) -> Any:
        later, earlier = scores.shape[-2:]
        i, j = np.arange(later)[:, None] + earlier - later, np.arange(earlier)
        weights = np.exp(np.where(shown(i, j), scores, -np.inf) - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    found = probe(by_scores(masked), d_k=8)
    assert found.faults == ()
    assert found.unexplained == ("keys are hidden by no rule of positions",)
    assert found.problems()


def test_a_library_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    with pytest.raises(SettingsError, match="library jax: is not installed; run `pip install jax`"):
        probe(attention, library="jax")


def test_function_with_a_width_of_its_own_says_what_was_not_varied() -> None:
    """Where another width is not taken, the formula is what is known, and a note says so."""

    def fixed(q: Any, k: Any, v: Any) -> Any:
        assert q.shape[-1] == 16
        return attention(q, k, v)

    found = probe(fixed, d_k=16)
    assert "d_k could not be varied" in found.found.notes[0]
    assert {one.d for one in found.found.measured} == {16}


def test_scale_of_a_path_for_half_precision_is_measured_too() -> None:
    """A fused path with a scale of its own is caught by its dtype."""

    def wrong(q: Any, k: Any, v: Any) -> Any:
        scale = 1 / q.shape[-1] if q.dtype == np.float16 else q.shape[-1] ** -0.5
        dtype, (q, k, v) = q.dtype, (array.astype(np.float64) for array in (q, k, v))
        return attention(q, k, v, scale=lambda *_: scale).astype(dtype)

    (problem,) = probe(wrong, d_k=32).problems()
    assert "in float16; divide by √32, not 32" in problem


def test_heads_that_are_lost_at_another_number_are_found() -> None:
    """A function that is right for four heads only does not fit at eight, and that is said."""

    def wrong(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v[:, [min(head, 3) for head in range(v.shape[1])]])

    assert any("h = 8" in one and "not this attention" in one for one in probe(wrong, 16, heads=4).faults)


def test_pytorch_is_what_it_is_known_to_be() -> None:
    """PyTorch's attention is aligned at the first token, interleaves groups and keeps sums wider."""
    torch = pytest.importorskip("torch")
    kernel = torch.nn.functional.scaled_dot_product_attention
    found = probe(partial(kernel, is_causal=True, enable_gqa=True), d_k=32, heads=4)
    found.assert_is(causal=True, alignment="top-left", groups="interleaved")
    assert found.library == "torch"
    assert found.found.sums == {"float16": False, "bfloat16": False}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_function_that_computes_in_half_precision_throughout_is_understood(dtype: str) -> None:
    """Rounding on the way is no soft-cap, no sink and no fault, and is said."""
    torch = pytest.importorskip("torch")
    kernel, kind = torch.nn.functional.scaled_dot_product_attention, getattr(torch, dtype)

    def half(q: Any, k: Any, v: Any) -> Any:
        return kernel(q.to(kind), k.to(kind), v.to(kind), is_causal=True).float()

    found = probe(half, d_k=32, library="torch", device="cpu")
    found.assert_is("1/sqrt(d)", causal=True)
    assert f"as coarsely as {dtype}" in repr(found)


def test_a_device_that_is_none_is_refused_in_one_line() -> None:
    """What PyTorch says of it is passed on."""
    pytest.importorskip("torch")
    with pytest.raises(SettingsError, match="raised RuntimeError") as caught:
        probe(attention, d_k=8, library="torch", device="nowhere")
    assert "\n" not in str(caught.value)


@pytest.mark.slow  # JAX compiles its attention for each shape
def test_jax_is_given_its_own_arrays() -> None:
    """JAX's attention takes [sequence, token, head, d], and its default scale is found."""
    jax = pytest.importorskip("jax")
    found = probe(jax.nn.dot_product_attention, d_k=16, layout="bthd", library="jax")
    found.assert_is()
    assert found.library == "jax"


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

    assert probe(half, d_k=16).found.sums == {"float16": is_coarse}
