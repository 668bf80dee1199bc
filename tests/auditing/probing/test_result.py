"""What was found of a function, and whether that is what was expected: every part fails an assertion."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from verify.auditing.probing.precision import Precision
from verify.auditing.probing.result import Probe
from verify.auditing.probing.scores import Measured
from verify.auditing.probing.weights import Mask
from verify.errors import SettingsError


def measured(d: int = 64, h: int = 4, n: int = 16, dtype: str = "float32", **more: Any) -> Measured:
    """Return the right scale at a setting, known to 1e-6."""
    scale = more.pop("scale", d**-0.5)
    half = more.pop("half", 1e-6)
    return Measured(d, h, n, dtype, scale, (scale - half, scale + half), 1e-7, more.pop("fits", True))


GOOD = Probe(
    name="attend", d_k=64, heads=4, key_heads=2, library="numpy", scale=0.125, formula="1/sqrt(d)",
    measured=(measured(), measured(128), measured(32)), axis="keys", mask=Mask(0), wide=Mask(4),
    tall=Mask(-4), softcap=None, sink=None, factor=1.0, normalised=(), bias=0.0, groups="repeated",
    precision=(), fits=True, residual=1e-7,
)  # fmt: skip


def test_nothing_is_otherwise_than_expected() -> None:
    """Whatever is not asked for is not compared."""
    assert GOOD.problems() == ()
    assert replace(GOOD, mask=Mask(0, 4)).problems(window=np.int64(4)) == ()  # type: ignore[arg-type]
    GOOD.assert_is("1/sqrt(d)", causal=True, alignment="bottom-right", groups="repeated")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"axis": "heads"}, "the softmax is over the heads, not the keys"),
        ({"factor": 0.25}, "the weights are multiplied by 0.25 after the softmax"),
        ({"normalised": ("queries", "keys")}, "queries and keys are normalised"),
        ({"bias": 0.5}, "positions change scores by up to 0.5"),
        ({"mask": Mask(known=False)}, "keys are hidden by no rule of positions"),
        ({"fits": False, "residual": 0.3}, "the output is not this attention: 0.3 of it is unexplained"),
        ({"fits": False, "causes": ("the mask is lost",)}, "the mask is lost"),
        ({"softcap": 30.0}, "soft-cap: 30, not none"),
        ({"mask": Mask(0, 4)}, "window: 4, not none"),
        ({"sink": (0.0,)}, "the softmax has a sink"),
        (
            {"measured": (measured(), measured(h=8, fits=False))},
            (
                "with d = 64, h = 8, n = 16 in float32 the output is not this attention: "
                "1e-07 of it is unexplained"
            ),
        ),
    ],
)
def test_each_fault_is_said_in_a_line(changes: dict[str, Any], problem: str) -> None:
    """And fails the assertion, with the function's name before it."""
    found = replace(GOOD, **changes)
    assert found.problems() == (problem,)
    with pytest.raises(AssertionError) as caught:
        found.assert_is()
    assert str(caught.value) == f"attend: {problem}"


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"causal": False}, "it is causal"),
        ({"alignment": "top-left"}, "rectangles are aligned: bottom-right, not top-left"),
        ({"groups": "interleaved"}, "grouped heads are mapped: repeated, not interleaved"),
        ({"softcap": 30.0}, "soft-cap: none, not 30"),
        ({"sink": True}, "the softmax has no sink"),
        ({"window": 128}, "window: none, not 128"),
        ({"bias": True}, "positions change no score"),
    ],
)
def test_what_is_expected_and_not_there_is_a_problem(expected: dict[str, Any], problem: str) -> None:
    """One line each."""
    assert GOOD.problems(**expected) == (problem,)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"groups": "x"}, "groups x: give repeated or interleaved"),
        ({"alignment": "left"}, "alignment left: give top-left or bottom-right"),
        ({"window": 0}, "window 0: give a whole number above 0"),
        ({"window": -3}, "window -3: give a whole number above 0"),
        ({"window": 2.5}, r"window 2\.5: give a whole number above 0"),
        ({"window": "3"}, "window 3: give a whole number above 0"),
        ({"window": True}, "window True: give a whole number above 0"),
        ({"softcap": "30"}, "softcap 30: give a number above 0"),
        ({"softcap": math.inf}, "softcap inf: give a number above 0"),
        ({"softcap": -1.0}, r"softcap -1\.0: give a number above 0"),
        ({"softcap": math.nan}, "softcap nan: give a number above 0"),
    ],
)
def test_what_cannot_be_expected_is_refused(expected: dict[str, Any], message: str) -> None:
    """No function could be that, so saying that this one is not would be no finding."""
    with pytest.raises(SettingsError, match=message):
        GOOD.problems(**expected)


@pytest.mark.parametrize(
    ("changes", "is_wrong"),
    [
        ({}, False),
        ({"axis": "queries"}, True),
        ({"factor": 2.0}, True),
        ({"axis": None, "measured": ()}, True),
        ({"fits": False, "causes": ("the mask is lost",)}, True),
        ({"axis": None}, False),
        ({"fits": False}, False),
        ({"normalised": ("keys",)}, False),
        ({"mask": Mask(known=False)}, False),
        ({"softcap": 30.0}, False),
    ],
)
def test_only_what_no_attention_does_is_called_wrong(changes: dict[str, Any], is_wrong: bool) -> None:
    """What some models mean, normalised queries for one, is unusual: a problem where nobody expects it."""
    found = replace(GOOD, **changes)
    assert bool(found.faults) is is_wrong
    assert ("\n  wrong " in repr(found)) is is_wrong
    assert ("\n  unusual " in repr(found)) is (bool(found.normalised) or not found.mask.known)
    assert ("\n  not known " in repr(found)) is (not found.fits and not found.causes)


def test_another_scale_than_the_usual_is_said() -> None:
    """It is no fault of its own: nobody has said what is intended."""
    other = replace(GOOD, measured=(measured(scale=1 / 64), measured(128, scale=1 / 128)), formula="1/d")
    assert "the usual scale is 1/sqrt(d), not this one" in repr(other)
    assert "usual scale" not in repr(GOOD)
    assert other.faults == ()


def test_a_soft_cap_may_be_off_by_its_measurement() -> None:
    """Half a percent is none; 2% is another soft-cap."""
    capped = replace(GOOD, softcap=50.2)
    assert capped.problems(softcap=50.0) == ()
    assert capped.problems(softcap=49.0) == ("soft-cap: 50.2, not 49",)


@pytest.mark.parametrize(
    ("shift", "alignment"), [(0, "top-left"), (4, "bottom-right"), (2, None), (None, None)]
)
def test_a_mask_is_aligned_by_its_shift_in_a_rectangle(shift: int | None, alignment: str | None) -> None:
    """Five queries and nine keys: by 0 or by 4; without such shapes nothing is known."""
    assert replace(GOOD, wide=Mask(shift)).alignment == alignment
    assert replace(GOOD, wide=None).alignment is None


@pytest.mark.parametrize(
    ("wide", "tall", "is_other"),
    [(4, -4, False), (4, 0, True), (0, 0, False), (0, -4, True), (2, 2, False), (None, None, False)],
)
def test_more_queries_than_keys_may_be_masked_otherwise(
    wide: int | None, tall: int | None, is_other: bool
) -> None:
    """A mask at the bottom right moves with the numbers of tokens, any other stays; what differs is said."""
    assert ("more queries" in repr(replace(GOOD, wide=Mask(wide), tall=Mask(tall)))) is is_other
    for unknown in (None, Mask(known=False)):
        assert "more queries" not in repr(replace(GOOD, wide=Mask(wide), tall=unknown))


@pytest.mark.parametrize(
    ("mask", "causal"), [(Mask(0), True), (Mask(0, 3), True), (Mask(), False), (Mask(1), False)]
)
def test_causal_is_what_sees_itself_and_nothing_later(mask: Mask, causal: bool) -> None:
    """With a window too; off by one it is not."""
    assert replace(GOOD, mask=mask).causal is causal
    assert not replace(GOOD, mask=replace(mask, known=False)).causal


def test_the_first_setting_with_another_scale_is_named_with_its_fix() -> None:
    """A scale that is right at one width alone; within 1% it is right, in half precision within rounding."""
    same = replace(GOOD, measured=(measured(), measured(128, scale=0.125), measured(32, scale=0.125)))
    (problem,) = same.problems()
    assert "with d = 128, h = 4, n = 16 in float32" in problem
    assert same.problems(0.125) == ()
    for half, count in ((0.01, 0), (1e-6, 1)):
        for dtype, found in (("float16", count), ("float32", 1)):
            rounded = replace(GOOD, measured=(measured(), measured(dtype=dtype, scale=0.13, half=half)))
            assert len(rounded.problems()) == found


@pytest.mark.parametrize(
    ("scales", "cause"),
    [
        (lambda _: 0.125, "the scale is 0.125 where 1/sqrt(d) is intended, with d = 32"),
        (lambda _: 1.0, "no scale is applied, with d = 32"),
        (lambda d: (2 * d) ** -0.5, "twice the width is taken for d_k, with d = 32"),
    ],
)
def test_a_wrong_scale_has_a_name_only_if_it_holds_at_every_width(scales: Any, cause: str) -> None:
    """1/8 at d = 32 is the root of twice the width by accident: at d = 16 it is not."""
    rows = tuple(measured(d, scale=scales(d)) for d in (32, 64, 16))
    found = replace(GOOD, measured=rows, formula="0.125" if scales(1) == 0.125 else None)
    (problem,) = found.problems()
    assert cause in problem


def test_the_text_says_all_that_was_found() -> None:
    """A line a finding, under the function's name and sizes."""
    text = repr(
        replace(
            GOOD,
            mask=Mask(0, 3),
            softcap=30.0,
            sink=(1.0, -0.5),
            precision=(
                Precision("float16", sums_in_dtype=False, scores_in_dtype=True, overflows=None),
                Precision("bfloat16", None, None, None),
            ),
            notes=("d_k could not be varied",),
        )
    )
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines == [
        "attend (d_k = 64, 4 heads, 2 of keys, arrays of numpy)",
        "scale 0.125 = 1/sqrt(d) (measured at d = 32, 64, 128, h = 4, n = 16, dtype = float32)",
        "softmax over keys",
        "mask causal, a window of 3 keys, rectangles aligned bottom-right",
        "soft-cap 30",
        "positions change no score",
        "sink 1, -0.5",
        "grouped heads repeated",
        "float16 sums are kept wider, scores are rounded to it",
        "bfloat16 taken",
        "unexplained 1e-07 of the output",
        "note d_k could not be varied",
    ]
