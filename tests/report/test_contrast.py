"""The number that stands for a claim, and the wrong version that it refutes."""

from typing import Any

import pytest

from tests.report.builders import check, control, spaced
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import Check, Control, Verdict
from verify.report.contrast import contrast

FIRST, LAST = (check(f"at-d{d}", 1.001 * d, d, error=0.001 * d, cell={"d_k": d}) for d in (4, 64))
OTHER = check("share", 0.5, 0.5, quantity="a share")
BIASED = control("biased-prediction", "it is larger by twice the tolerance", 65.3, 64.1)


def shown(checks: list[Check], controls: list[Control]) -> tuple[str, str, str]:
    """Return what is printed of a claim with these."""
    made = contrast(SCORE_VARIANCE.model_copy(update={"checks": (*checks,), "controls": (*controls,)}))
    assert made is not None
    return made.basis, spaced(made.found), spaced(made.wrong)


def test_the_number_is_that_which_refutes_the_first_wrong_version() -> None:
    """Neither the value nearest to its tolerance, nor a control that only moves a number."""
    same: dict[str, Any] = {"interval": FIRST.interval, "cell": dict(FIRST.cell)}
    squared = control("squared", "it is $d_k^2$", 16, FIRST.estimate, **same)
    assert shown([LAST, FIRST, OTHER], [BIASED, squared]) == (
        "Measured",
        r"$\operatorname{Var}(q \cdot k)$ ($d_{k}$ = 4): 4.004 in [3.984, 4.025], predicted 4",
        "it is $d_k^2$, which predicts 16",
    )


def test_a_wrong_version_with_a_sample_of_its_own_says_what_is_found() -> None:
    """Beside the last value of the first quantity, which is the hardest."""
    unscaled = control("unscaled", "it is 1 unscaled, too", 1, 64)
    _, found, wrong = shown([FIRST, LAST, OTHER], [unscaled])
    assert found.startswith(r"$\operatorname{Var}(q \cdot k)$ ($d_{k}$ = 64): 64.06 in")
    assert wrong == "it is 1 unscaled, too, which predicts 1; found: 64.00"


def test_only_what_is_refuted_is_called_so() -> None:
    """A control that stands is no contrast, one that moves a number is where there is no other."""
    standing = control("squared", "it is $d_k^2$", 16, 4, verdict=Verdict.UNDECIDED)
    assert shown([FIRST], [standing])[2] == ""
    assert shown([FIRST], [standing, BIASED])[2].startswith("it is larger by twice the tolerance, which")
    assert contrast(SCORE_VARIANCE.model_copy(update={"checks": ()})) is None


@pytest.mark.parametrize(
    ("estimate", "prediction", "relation", "text"),
    [
        (2.22e-16, 0.0, "=", "2.2×10⁻¹⁶, zero but for rounding"),
        (0.0, 0.0, "=", "0, as predicted"),
        (0.8807970779778823, 0.8807970779778824, "=", "0.8807971, as predicted"),
        (0.99974, 1.0, "≤", "0.99974, predicted ≤ 1"),
    ],
)
def test_exact_numbers_say_how_well_they_agree(
    estimate: float, prediction: float, relation: Any, text: str
) -> None:
    """What differs from zero by rounding alone is called so, and no digit is printed that means nothing."""
    exact = check(
        "e", estimate, prediction, error=0.0, method="exact", relation=relation, tolerance=1e-12, scale=1.0,
        quantity="a distance",
    )  # fmt: skip
    assert shown([exact], [])[:2] == ("Computed", f"a distance: {text}")
