"""Intended scales: arithmetic in d, h, D and n, and nothing else."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from verify.auditing.intention import DEFAULT, scale_expression
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


def test_latex_is_printed_from_what_was_read() -> None:
    """The default prints as the field writes it, and the names as themselves."""
    assert scale_expression(DEFAULT).latex == r"\frac{1}{\sqrt{d_{k}}}"
    assert scale_expression("0.0884").latex == "0.0884"


@pytest.mark.parametrize(
    "text",
    [
        "", "1/", "__import__('os')", "d.real", "d[0]", "[d]", "lambda: 1", "x", "d if 1 else h", "'a'",
        "True", "1j", "sqrt(d, 2)", "sqrt(x=d)", "open('f')", "9**9**9**9", "2**1000", "d**(h", "nan",
        "(((9**16)**16)**16)**16", "1e999", "d" * 300, "(" * 150 + "d" + ")" * 150, "exp(exp(exp(9)))",
        "1/0", "0/0", "sqrt(d)\0", "d;h", "d:=1", "√d",
    ],
)  # fmt: skip
def test_anything_else_is_refused_at_once_in_one_line(text: str) -> None:
    """Programs, unknown names and numbers beyond reason end in one line, without being worked out."""
    begun = time.perf_counter()
    with pytest.raises(SettingsError) as caught:
        scale_expression(text).value(d=64, h=8, D=512, n=10)
    assert "\n" not in str(caught.value)
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize("text", ["d - 64", "log(d/64)", "1/(d - 64)", "sqrt(0 - d)", "log(h - 8)"])
def test_expression_without_a_value_is_refused(text: str) -> None:
    """A scale must be a number other than 0 at the layer's sizes."""
    with pytest.raises(SettingsError, match="at d = 64, h = 8"):
        scale_expression(text).value(d=64, h=8)


def test_width_that_is_not_known_is_named() -> None:
    """An expression in the model's width needs it."""
    with pytest.raises(SettingsError, match="D, the width of the model, is not known"):
        scale_expression("1/sqrt(D)").value(d=64, h=8)


@examples(25)
@given(st.text(alphabet="dhDn0123456789.+-*/() esqrtlogxp,", max_size=30))
def test_no_text_does_anything_but_give_a_number_or_one_line(text: str) -> None:
    """Whatever is typed, there is a finite number or a refusal."""
    value, refusal = _read(text)
    assert "\n" not in refusal
    assert bool(refusal) != (math.isfinite(value) and value != 0)


def _read(text: str) -> tuple[float, str]:
    try:
        return scale_expression(text).value(d=64, h=8, D=512, n=10), ""
    except SettingsError as error:
        return 0.0, str(error)
