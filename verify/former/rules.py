"""The rules by which steps are made, as ``Step(expression, words, rule)``, and what they are given.

A rule decides the relation, adds to the hypotheses what it needs, and refuses what it cannot decide.

Equal by canonical forms
Identity              quotients, exponentials, Γ(x + 1) = x Γ(x): the same, where both sides are defined
Unfolded              the same once symbols stand for what they are defined as
Assuming              parts replaced by what they are assumed to equal, which becomes a hypothesis
SumIdentity           sums over any number of keys
MatrixIdentity        sums of products of entries of matrices, for every size
ShapeOfProduct        the shape of a product of matrices whose inner sizes agree
FewKeys               the same function of the scores, for a number of keys
ClosedSums            sums in closed form, by induction over the size
Induction             what is defined by recursion, in closed form
BinomialTheorem       (a + b)^n as a sum
Solved                f(x) = c exactly where x = a, for a function that rises, or falls
Equivalent            two equations with the same solutions

Theorems from theorems
Replaced              a part replaced by what a theorem says of it; a bound where the whole moves one way
PutIn                 a theorem at values of its symbols
FamilyPutIn           a theorem with a family's entries as a function of their indices
Applied               the same done to both sides
Turned                the sides exchanged, or moved over
TimesPositive         both sides times a positive factor
Integrated            from a bound for all x that of the integrals
Between               the limit of what lies between two bounds
NormalGiven           what holds of any normal number, of a part that is normal given the rest
OverQueries           what holds over normal scores of any deviation, over queries and keys
Multiplied            from the transform of one term that of a sum of terms alike

Bounds and signs
Compared              one side at most, or at least, the other, by the sign of the difference
Surplus               one side more by what is visibly never negative
Sign                  0 ≤ e or 0 < e, by squares, signs of symbols, or Sturm's theorem
PositiveFactor        the sign of a product without a positive factor
Jensen                the mean of a convex or concave function, by that of its argument
AtItsLeast            an argument put where it is least
AtItsMost             a concave function put where it is level
Rising                f(low) ≤ f(x), by a slope that is nowhere negative
FromZero              a bound in an even function, by derivatives from 0 on
OnRange               a bound of polynomials on a range, by Sturm's theorem
RootOfMeanSquare      E X ≤ √(E X²)
EvenIsMost            no entropy is more than that of equal weights
LargestScore          the mean of the largest normal score is at most σ√(2 ln n)
TotalGrows            the mean of ln Σexp(s) is at least ln n + σ²·E(1 - Σp²)/2
OneOfAll              a function of the largest score is at most its sum over all
FirstTerms            the series for a large symbol: "~", never "=" or "≤"
AboutTheMean          the first terms of the mean of a function of a mean of many terms
AtLimit               a limit where the expression is continuous
CentralLimit          sums of ever more terms become normal

Means and laws
Evaluation            the same moments in any dimension: for any moments, or the assumed ones
VectorMoments         means and variances of forms in random vectors
WhichCoincide         means of products of sums over vectors, by which indices coincide
AlikeTerms            the mean of a sum of terms alike
AlongAndAcross        a normal vector has no direction
SumOfSquares          the sum of squares of standard normal components is chi-square
OfSigns               absolute values of what is made of random signs
ByParts               integration by parts over normal scores
Shifted               the mean of a function of a normal variable, shifted
OverNormal            the mean of a function of one combination of normal variables, as an integral
LargestOfNormal       the mean of a function of the largest of n normal scores, as an integral
DensityGiven          the density of a part that is normal given the rest
Moments               moments as derivatives of the characteristic function
SameLaw               equal characteristic functions, so equal means
DensityByTransform    the density with a given transform

Integrals
Primitive             an integral by a primitive
Substituted           an integral over another variable
IntegralByParts       two integrals that differ by a boundary term
Even                  the integral of an even function, folded
SameIntegrands        integrals of the same, over one range
SplitAt               an integral up to a place and from there on
Exchanged             sums and integrals in another order, by Tonelli or Fubini
EulerIntegrals        integrals from 0 to infinity that are gamma or beta functions
BesselIntegrals       integrals from 0 to infinity that are Bessel functions K
GaussIntegrals        integrals of exp of a square over the whole line
GammaTail             the tail of a gamma integral as a finite sum

An own rule
by                    a decorator that makes a rule of a test: what it passes is reviewed, not proved

What rules are given
Hypotheses            what a theorem assumes
Families              the families of entries in an expression, with the sizes of their indices
Vectors               random vectors: means, covariances, normal or not
SCORES                the population of independent normal scores of one row
QUERY                 a query of any covariances, a d×1 matrix
KEY                   such a key
PRODUCT               their product, a trace
MU_Q                  the mean of such a query
MU_K                  and of such a key
SIGMA_Q               the covariance of such a query
SIGMA_K               and of such a key
in_numbers            an expression in traces for given matrices
MatrixShape           the numbers of rows and columns of a matrix
largest               the largest of the scores of a row
density               the density of a random number at a place
exceeds               the chance that a random number exceeds a place
normal_density        the density of a centred normal number
with_entries          an expression with every entry of some families as a function of its indices
by_component          an expression with every mean split by linearity and independence
"""

from typing import TYPE_CHECKING

from verify.symbolic.kernel.calculus import (
    AtItsLeast, AtItsMost, Compared, FromZero, Jensen, OnRange, Rising, Solved,
)  # fmt: skip
from verify.symbolic.kernel.entries import FamilyPutIn, Induction, OfSigns, PositiveFactor, with_entries
from verify.symbolic.kernel.equations import (
    Applied, Assuming, ClosedSums, Equivalent, Identity, PutIn, Replaced, Turned, Unfolded,
)  # fmt: skip
from verify.symbolic.kernel.hypotheses import Hypotheses, Vectors
from verify.symbolic.kernel.integrals import (
    EulerIntegrals, Even, IntegralByParts, Integrated, Primitive, SameIntegrands, Substituted,
)  # fmt: skip
from verify.symbolic.kernel.laws import (
    AlikeTerms, AlongAndAcross, DensityGiven, NormalGiven, RootOfMeanSquare, SumOfSquares, density, exceeds,
    normal_density,
)  # fmt: skip
from verify.symbolic.kernel.limits import (
    AboutTheMean, AtLimit, Between, CentralLimit, FirstTerms, TimesPositive,
)  # fmt: skip
from verify.symbolic.kernel.matrices import MatrixIdentity, ShapeOfProduct, VectorMoments, WhichCoincide
from verify.symbolic.kernel.moments import Evaluation, by_component
from verify.symbolic.kernel.normal import (
    ByParts, EvenIsMost, LargestScore, OneOfAll, OverQueries, Shifted, TotalGrows,
)  # fmt: skip
from verify.symbolic.kernel.signs import Sign
from verify.symbolic.kernel.special_integrals import (
    BesselIntegrals, BinomialTheorem, Exchanged, GammaTail, GaussIntegrals, SplitAt,
)  # fmt: skip
from verify.symbolic.kernel.sums import FewKeys, SumIdentity, Surplus
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.transforms import (
    SCORES, DensityByTransform, LargestOfNormal, Moments, Multiplied, OverNormal, SameLaw,
)  # fmt: skip
from verify.symbolic.kernel.words import MatrixShape, largest
from verify.symbolic.routes import by
from verify.symbolic.scores import KEY, MU_K, MU_Q, PRODUCT, QUERY, SIGMA_K, SIGMA_Q, in_numbers

if TYPE_CHECKING:
    # As in ``verify.former``.
    __all__ = [
        "KEY", "MU_K", "MU_Q", "PRODUCT", "QUERY", "SCORES", "SIGMA_K", "SIGMA_Q", "AboutTheMean",
        "AlikeTerms", "AlongAndAcross", "Applied", "Assuming", "AtItsLeast", "AtItsMost", "AtLimit",
        "BesselIntegrals", "Between", "BinomialTheorem", "ByParts", "CentralLimit", "ClosedSums", "Compared",
        "DensityByTransform", "DensityGiven", "Equivalent", "EulerIntegrals", "Evaluation", "Even",
        "EvenIsMost", "Exchanged", "Families", "FamilyPutIn", "FewKeys", "FirstTerms", "FromZero",
        "GammaTail", "GaussIntegrals", "Hypotheses", "Identity", "Induction", "IntegralByParts", "Integrated",
        "Jensen", "LargestOfNormal", "LargestScore", "MatrixIdentity", "MatrixShape", "Moments", "Multiplied",
        "NormalGiven", "OfSigns", "OnRange", "OneOfAll", "OverNormal", "OverQueries", "PositiveFactor",
        "Primitive", "PutIn", "Replaced", "Rising", "RootOfMeanSquare", "SameIntegrands", "SameLaw",
        "ShapeOfProduct", "Shifted", "Sign", "Solved", "SplitAt", "Substituted", "SumIdentity",
        "SumOfSquares", "Surplus", "TimesPositive", "TotalGrows", "Turned", "Unfolded", "VectorMoments",
        "Vectors", "WhichCoincide", "by", "by_component", "density", "exceeds", "in_numbers", "largest",
        "normal_density", "with_entries",
    ]  # fmt: skip
