"""A check has no control, or one that shows nothing."""

from tests.faults.false_claims.shared import Pair, of_experiments, spread
from verify.claims.limits.shared import PairMoments
from verify.spec import NORMAL, Simulated, biased, cell_of, component, wrong

PAIRS: dict[str, Pair] = {
    "excused": of_experiments(
        # False: an excuse, and a control; true: a control through the same code.
        lambda: spread(
            uncontrolled="none is needed", controls=lambda check, tolerance: (biased(check, tolerance),)
        ),
        spread,
    ),
    "near": of_experiments(
        # False: a control that is wrong by less than can be seen; true: a control through the same code.
        lambda: spread(
            controls=lambda check, tolerance: (wrong(check, "near", "it is a little more", 4.02),)
        ),
        spread,
    ),
    "none": of_experiments(
        # False: no control; true: a control through the same code.
        lambda: spread(controls=lambda check, tolerance: ()),
        spread,
    ),
    "other_estimand": of_experiments(
        # False: a control of the mean square only; true: a control through the same code.
        lambda: spread(
            controls=lambda check, tolerance: (
                wrong(check, "double", "it is double", 8.0, estimand=component("square")),
            )
        ),
        spread,
    ),
    "other_relation": of_experiments(
        # False: a control of a bound; true: a control through the same code.
        lambda: spread(
            controls=lambda check, tolerance: (wrong(check, "half", "it is at most half", 2.0, relation="≤"),)
        ),
        spread,
    ),
    "other_statistic": of_experiments(
        # False: a control of another statistic; true: a control through the same code.
        lambda: spread(
            controls=lambda check, tolerance: (
                wrong(
                    check,
                    "double",
                    "it is double",
                    8.0,
                    cell=cell_of("pairs", Simulated(NORMAL, NORMAL, 8, 8, 4), PairMoments()),
                ),
            )
        ),
        spread,
    ),
    "right": of_experiments(
        # False: a control that is right; true: a control through the same code.
        lambda: spread(controls=lambda check, tolerance: (wrong(check, "same", "it is the same", check),)),
        spread,
    ),
}
