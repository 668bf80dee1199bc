"""Every check of every claim is refuted under a fault in the array code, or in what is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from tests.catalogue import CATALOGUE
from tests.faults.planted import FAULTS, Bench, everywhere, first_faults
from verify.montecarlo import attention, rows
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.montecarlo.statistics import Reduced

QUICKEST = {"attention-definition", "softmax-identities", "sqrt-scaling-unique"}
"""Claims that take a second or less."""
SAMPLE = list(CATALOGUE)[1::12]
"""A part of the others, tried among the longer studies; the campaign tries all, by hand."""


@pytest.mark.parametrize(
    "name",
    [
        *sorted(QUICKEST),
        *(pytest.param(one, marks=pytest.mark.slow) for one in SAMPLE if one not in QUICKEST),
    ],
)
def test_every_check_is_refuted_under_some_fault(name: str) -> None:
    """None is vacuous."""
    assert [check for check, fault in first_faults(Bench(name)).items() if fault is None] == []


def test_without_a_fault_nothing_is_refuted() -> None:
    """A bench refutes no check of a claim that holds."""
    bench = Bench("sqrt-scaling-unique")
    assert bench.refuted(bench.checks) == set()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_gone_when_it_was_tried(name: str) -> None:
    """Array code, laws and samplers are again what they were."""
    before = [
        attention.softmax,
        attention.gradients,
        vars(rows)["softmax"],
        Distribution.draw,
        Reduced.sample,
    ]
    with pytest.MonkeyPatch.context() as patch:
        FAULTS[name].plant(patch)
    assert before == [
        attention.softmax,
        attention.gradients,
        vars(rows)["softmax"],
        Distribution.draw,
        Reduced.sample,
    ]


def test_a_fault_is_planted_under_every_name() -> None:
    """Modules that import a function have a name of their own for it."""
    with pytest.MonkeyPatch.context() as patch:
        everywhere(patch, attention.softmax, np.zeros_like)
        assert vars(rows)["softmax"] is attention.softmax is np.zeros_like


def test_spoiled_components_have_what_is_said_of_them() -> None:
    """Larger, shifted, correlated, of twice the kurtosis; and otherwise as they were."""
    with pytest.MonkeyPatch.context() as patch:
        found = {}
        for name in ("components-larger", "shifted", "heavier", "correlated"):
            with patch.context() as inner:
                FAULTS[name].plant(inner)
                found[name] = NORMAL.draw(np.random.default_rng(1), (20_000, 4))
    spreads = {name: float(x.std()) for name, x in found.items()}
    assert spreads == pytest.approx(
        {"components-larger": 1.1, "shifted": 1.0, "heavier": 1.0, "correlated": 1.0}, abs=0.02
    )
    assert found["shifted"].mean() == pytest.approx(0.5, abs=0.02)
    assert np.mean(found["heavier"] ** 4) == pytest.approx(6, abs=0.5)
    correlations = np.atleast_2d(np.corrcoef(found["correlated"].T))
    assert correlations[0, 1:] == pytest.approx([0.1] * 3, abs=0.05)
