"""What the claims about raw scores alone measure with: pairs of vectors, and any standard law."""

from verify.montecarlo.distributions import STANDARD_DISTRIBUTIONS
from verify.montecarlo.inputs import SharedVectors
from verify.montecarlo.statistics import AllPairs
from verify.former.cells import ScoreCell
from verify.former.fitting import linear_fits
from verify.symbolic.scores import with_moments
