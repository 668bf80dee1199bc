"""Scales as expressions."""

import math
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from verify.auditing.scales import DEFAULT, scale_expression
from verify.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (DEFAULT, 1 / 8),
        ("(d_k*h)**-0.5 / D", 512**-0.5 / 768),
        ("log(n)/sqrt(d) + ln(n)", 1.125 * math.log(100)),
        ("log2(n) / -d", -math.log2(100) / 64),
        ("exp(-2) + 2e-3", math.exp(-2) + 0.002),
        ("(0.1*log(40) + 1)**2 / sqrt(192)", (0.1 * math.log(40) + 1) ** 2 / 192**0.5),
    ],
)
def test_expressions_have_the_value_of_their_arithmetic(text: str, value: float) -> None:
    """What a user or a configuration would write is read as Python's arithmetic has it."""
    assert scale_expression(text).value(d=64, h=8, D=768, n=100) == pytest.approx(value, rel=1e-14)


REFUSED = [
    *("", "1/", "__import__('os')", "d.real", "d[0]", "[d]", "lambda: 1", "x", "d if 1 else h", "'a'", "1j"),
    *("True", "sqrt(d, 2)", "sqrt(x=d)", "open('f')", "9**9**9**9", "2**1000", "d**(h", "nan", "√d", "d:=1"),
    *("(((9**16)**16)**16)**16", "1e999", "exp(exp(exp(exp(d))))", "1/0", "d;h", "d**d**d", "1e-400"),
    *("d" * 300, "(" * 150 + "d" + ")" * 150, "sqrt(d)\0", "(" * 10 + "d" + "**16)" * 10),
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
