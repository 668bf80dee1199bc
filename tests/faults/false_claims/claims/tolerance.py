"""A tolerance that lets a wrong value pass."""

from tests.faults.false_claims.shared import Pair, of_experiments, spread
from verify.spec import Tolerance, d

PAIRS: dict[str, Pair] = {
    "blank_name": of_experiments(
        # False: a scale whose name is blank; true: a scale that is named.
        lambda: spread(13 * d / 10, tolerance=Tolerance(1.0, 40.0, " ")),
        lambda: spread(tolerance=Tolerance(1.0, 4.0, "the variance of a score")),
    ),
    "blank": of_experiments(
        # False: a reason that is blank; true: the run's tolerance.
        lambda: spread(13 * d / 10, tolerance=Tolerance(10.0, because=" ")),
        lambda: spread(tolerance=Tolerance()),
    ),
    "infinite": of_experiments(
        # False: a tolerance without end; true: the run's tolerance.
        lambda: spread(tolerance=Tolerance(float("inf"))),
        lambda: spread(tolerance=Tolerance()),
    ),
    "large_scale": of_experiments(
        # False: a scale that is named, and far larger than what is measured; true: twice the tolerance.
        lambda: spread(13 * d / 10, tolerance=Tolerance(1.0, 40.0, "the variance of a larger score")),
        lambda: spread(tolerance=Tolerance(2.0)),
    ),
    "ten_times": of_experiments(
        # False: the variance is 1.3 d, within ten times the tolerance; true: the run's tolerance.
        lambda: spread(13 * d / 10, tolerance=Tolerance(10.0)),
        lambda: spread(tolerance=Tolerance()),
    ),
    "unnamed": of_experiments(
        # False: a scale without a name; true: the run's tolerance.
        lambda: spread(13 * d / 10, tolerance=Tolerance(1.0, 40.0)),
        lambda: spread(tolerance=Tolerance()),
    ),
}
