"""Scales as expressions, and what a wrong one is called."""

import math
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from verify.auditing.scales import DEFAULT, Widths, diagnose, scale_expression
from verify.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (DEFAULT, 1 / 8),
        ("1/d**0.5", 1 / 8),
        ("d**-0.5", 1 / 8),
        ("(d*h)**-0.5", 512**-0.5),
        ("1/sqrt(D)", 768**-0.5),
        ("1", 1.0),
        ("0.0884", 0.0884),
        ("256**-0.5", 1 / 16),
        ("log(n)/sqrt(d)", math.log(100) / 8),
        ("ln(n)/d", math.log(100) / 64),
        ("log2(n) / -d", -math.log2(100) / 64),
        ("exp(-2) + 2e-3", math.exp(-2) + 0.002),
        ("(0.1*log(40) + 1)**2 / sqrt(192)", (0.1 * math.log(40) + 1) ** 2 / 192**0.5),
    ],
)
def test_expressions_have_the_value_of_their_arithmetic(text: str, value: float) -> None:
    """What a user or a configuration would write is read as Python's arithmetic has it."""
    assert scale_expression(text).value(d=64, h=8, D=768, n=100) == pytest.approx(value, rel=1e-14)


REFUSED = [
    *(
        "",
        "1/",
        "__import__('os')",
        "d.real",
        "d[0]",
        "[d]",
        "lambda: 1",
        "x",
        "d if 1 else h",
        "'a'",
        "True",
    ),
    *("1j", "sqrt(d, 2)", "sqrt(x=d)", "open('f')", "9**9**9**9", "2**1000", "d**(h", "nan", "d:=1", "√d"),
    *("(((9**16)**16)**16)**16", "1e999", "exp(exp(exp(9)))", "1/0", "0/0", "d;h", "d**d**d", "1e-400"),
    *("exp(exp(exp(exp(d))))", "1/(d-d)", "d" * 300, "(" * 150 + "d" + ")" * 150, "sqrt(d)\0"),
    "(" * 10 + "d" + "**16)" * 10,
]


@pytest.mark.parametrize("text", REFUSED)
def test_anything_else_is_refused_at_once_in_one_line(text: str) -> None:
    """Programs, unknown names and numbers beyond reason end in one line, without being worked out."""
    begun = time.process_time()
    with pytest.raises(SettingsError) as caught:
        scale_expression(text).value(d=64, h=8, D=512, n=10)
    assert "\n" not in str(caught.value)
    assert time.process_time() - begun < 2


@examples(25)
@given(st.text(alphabet="dhDn0123456789.+-*/() esqrtlogxp,", max_size=30))
def test_no_text_does_anything_but_give_a_number_or_one_line(text: str) -> None:
    """Whatever is typed, there is a finite number or a refusal."""
    value = math.nan
    with suppress(SettingsError):
        value = scale_expression(text).value(d=64, h=8, D=512, n=10)
        assert math.isfinite(value)
    assert value != 0


GPT = Widths(d=64, h=8, D=512)
RIGHT = 1 / 8


YARN = 1.59 * 192**-0.5


@pytest.mark.parametrize(
    ("widths", "scale", "intended", "cause", "fix"),
    [
        (
            GPT,
            512**-0.5,
            RIGHT,
            "model's width",
            "divide by √64, not √512: every score is 2.83 times too small",
        ),
        (GPT, 1.0, RIGHT, "no scale", "divide by √64: every score is 8 times too large"),
        (
            GPT,
            1 / 64,
            RIGHT,
            "the root is missing",
            "divide by √64, not 64: every score is 8 times too small",
        ),
        (GPT, 8**-0.5, RIGHT, "number of heads", "by √64, not √8: every score is 2.83 times too large"),
        (Widths(64, 12), 768**-0.5, RIGHT, "all heads together", "divide by √64, not √768"),
        (Widths(80, 8), 0.0089, 0.0089**0.5, "applied twice", "multiply by 0.0943398: every score is 10.6"),
        (Widths(256, 16, 3584), 1 / 16, 224**-0.5, "default", "by √224, not √256: every score is 6.5%"),
        (Widths(256, 16, 3584), 224**-0.5, 1 / 16, "over the heads", "divide by √256, not √224"),
        (Widths(256, 8, padded={"absorbed width": 576}), 576**-0.5, 1 / 16, "absorbed width", "not √576"),
        (Widths(192, 8), 192**-0.5, YARN, "default 1/√d_k", "every score is 1.59 times too small"),
        (Widths(192, 8), 1 / YARN / 192, YARN, "divides where it should", "2.53 times too small"),
        (Widths(64, 8), 1 / 8, 1.0, "default 1/√d_k", "leave scores unscaled"),
        (GPT, RIGHT / 16, RIGHT, "factor 1/16", "16 times too small"),
        (GPT, -RIGHT, RIGHT, "sign", "every score has the wrong sign"),
        (GPT, RIGHT * math.log(2), RIGHT, "2^x", "divide by √64"),
        (Widths(128, 8), 128**-0.25, 128**-0.5, "one of queries and keys", "divide by √128"),
    ],
)
def test_wrong_scales_are_named_and_fixed(
    widths: Widths, scale: float, intended: float, cause: str, fix: str
) -> None:
    """The cause and the fix say what a maintainer would."""
    found = diagnose(scale, intended, widths, uncertainty=1e-5 * abs(scale))
    assert cause in found.cause
    assert fix in found.fix


def test_scale_without_a_name_gets_none() -> None:
    """A scale that no candidate has is given in numbers, with what to do all the same."""
    found = diagnose(0.0511, RIGHT, GPT, uncertainty=1e-5)
    assert not found.candidates
    assert found.cause == "the scale is 0.0511 where 0.125 is intended"
    assert found.fix == "divide by √64: every score is 2.45 times too small"
