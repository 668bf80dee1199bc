"""Numbers of few bits, against formats that NumPy has; and what programs make, in lines."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from sympy import Le

from verify.montecarlo.cells import Cell
from verify.montecarlo.distributions import NORMAL, Array
from verify.spec import NORMAL_ROWS, Chain, Column, E, Line, LineCheck, algebra, at_most, moments
from verify.spec.rounding import Rounded, rounded
from verify.symbolic.vocabulary import a, j, m, n, s


@pytest.mark.parametrize(
    ("wide", "narrow"), [(np.float64, np.float32), (np.float64, np.float16), (np.float32, np.float16)]
)
def test_numbers_are_those_that_numpy_stores(wide: type, narrow: type) -> None:
    """To nearest, ties to even, a carry into the exponent among them."""
    numbers: Any = np.random.default_rng(1).standard_normal(4096).astype(wide)
    bits = np.finfo(narrow).nmant + 1
    ties = 1 + (2 * np.arange(64) + 1) * wide(2.0**-bits)
    last: Any = np.array([2 - 2.0 ** -(bits + 1)], wide)
    for values in (numbers, -numbers, ties.astype(wide), last):
        assert np.array_equal(rounded(values, bits), values.astype(narrow).astype(wide))


def test_an_expression_is_rounded_as_arrays_are() -> None:
    """The compiler applies the same function."""
    cell = Cell("rounded", (), (("rounded", Rounded(s[a, j], 8)),), ((s, NORMAL),), ((m, 4), (n, 5)))
    draws = np.random.default_rng(1).standard_normal((3, 4, 5))
    got = cell.compiled.run({"s": draws}, np.random.default_rng(1))
    assert np.allclose(got[:, 0], rounded(draws, 8).mean(axis=(1, 2)), rtol=1e-12)


def made(draws: Mapping[str, Any], _: np.random.Generator) -> dict[str, Array]:
    """Return the sums of rows, as a program makes them."""
    return {"total": draws["s"].sum(axis=-1)}


TOTAL = Column(made, "total")


@pytest.mark.parametrize(
    ("holds", "start", "end", "check"),
    [
        (True, E(TOTAL) * E(s[a, j] ** 2), E(TOTAL), moments(NORMAL_ROWS)),
        (True, E(3 - TOTAL), 3 - E(TOTAL), algebra),
        (True, E(TOTAL), 3, at_most(E(3 - TOTAL), given=(Le(TOTAL, 3),))),
        (False, E(TOTAL**2), E(TOTAL) ** 2, moments(NORMAL_ROWS)),
        (False, E(TOTAL**2), E(TOTAL) ** 2, algebra),
        (False, E(TOTAL * s[a, j]), E(TOTAL) * E(s[a, j]), moments(NORMAL_ROWS)),
        (False, E(TOTAL), 3, at_most(E(3 - TOTAL))),
    ],
)
def test_lines_may_speak_of_what_a_program_makes(holds: bool, start: Any, end: Any, check: LineCheck) -> None:
    """It is any number, and may be bounded; it is no constant, and independent of nothing that is drawn."""
    relation: Any = "≤" if "≤" in check.relations else "="
    assert Chain(start, Line(end, "so it is", check, relation)).checked[0].holds is holds
