"""Formulas of a record hold mathematics alone."""

from __future__ import annotations

import pytest
from pydantic_core import PydanticCustomError

from tests.report.records import record
from verify.evidence.texts import formula


@pytest.mark.parametrize(
    "latex",
    [
        "",
        "d_k",
        r"\operatorname{Var}\left(q^{\mathsf T} k\right) = d_k",
        r"\begin{aligned} a & = b \\ & \le c \end{aligned}",
        r"\left\{ x \;\middle|\; x > 0 \right\}",
        r"50\%",
    ],
)
def test_mathematics_passes(latex: str) -> None:
    """As it is."""
    assert formula(latex) == latex


@pytest.mark.parametrize(
    ("latex", "sign"),
    [
        (r"\input{x}", r"\\input"),
        (r"\write18{id}", r"\\write"),
        (r"\def\a{b}", r"\\def"),
        (r"\href{javascript:x}{y}", r"\\href"),
        (r"\begin{filecontents}", r"\\begin"),
        (r"\frac{a", r"with \{,"),
        ("a}{b", r"with \},"),
        ("a\\", "with "),
        ("a % b", "with %"),
        ("#1", "with #"),
        ("a$b", r"with \$"),
        ("a`b", "with `"),
        ("^^5cinput", r"with \^\^"),
        ("a\nb", r"with '\\n'"),
        ("a\x1bb", r"with '\\x1b'"),
        ("{" * 200 + "}" * 200, r"with \{,"),
        ("x" * 20_001, "longer than 20000"),
    ],
)
def test_all_else_is_refused(latex: str, sign: str) -> None:
    """The sign is named."""
    with pytest.raises(PydanticCustomError, match=sign):
        formula(latex)


def test_the_records_made_up_for_other_tests_are_good() -> None:
    """They pass what is asked of a file."""
    run = record()
    assert type(run).model_validate_json(run.to_json()) == run
