"""All that a claim file imports: claims, derivations, experiments, figures, and what they are made of.

Steps are made by the rules in ``verify.former.rules``. ``help`` of a name tells more than its line here.

A claim and its words
Claim                 a claim: title, statement, meaning, assumptions, references, and its functions
Derivation            what ``derive`` returns: ``Derivation.of(route, again, lemmas=(…))``
Experiment            what ``experiment`` returns: checks and negative controls
Findings              what ``figures`` gets: finished checks, their cells and samples
Fact                  an exact value that a document may print
fact                  a ``Fact`` from an id, words and an expression without symbols
Figure                what ``figures`` returns, one or several
Notation              how a claim writes an expression where SymPy prints it otherwise
assume                the assumptions of a claim: shared ones, then its own by their ids
INDEPENDENT           all components of query and key are independent
STANDARD_COMPONENTS   independent, mean 0, variance 1: what every introduction assumes
cite                  its reference: key, text, address; several are added up
HOEFFDING             Hoeffding 1948, on U-statistics
STEIN                 Stein 1981, on integration by parts
VASWANI               Vaswani et al. 2017, Attention Is All You Need

Symbols and expressions
d                     the dimension d_k
q                     the components of a query, a family: ``q[index]``
k                     the components of a key
index                 the index over components
score                 q·k, the sum of their products
one_product           the product that one dimension contributes to a score
mu_q                  mean of a query's components
mu_k                  mean of a key's components
sigma_q               their standard deviation, for a query
sigma_k               and for a key
s                     the scores of one row, a family
n                     how many keys the row has
p                     the weights of the row, softmax of s
i                     index over keys
j                     another index over keys
sigma                 standard deviation of the scores of a row
SQUARES               Σp², one over the effective number of keys
ENTROPY               -Σp ln p
LOG_TOTAL             ln Σexp(s)
WEIGHTED_SCORE        Σps
E                     an expectation over the law of the hypotheses
Var                   a variance
Ordered               a symbol printed before or after others by its rank
OrderedBase           a family of symbols that sorts as its label
ordered               one ``Ordered`` symbol or several, by their names
function              an expression as a function of its symbols, in double precision
latex                 the LaTeX of an expression

Derivations
Route                 a chain of steps: ``Route.of(title, start, *steps, name=…, defines=…)``
Step                  an expression, how it follows in words, and the rule by which it does
one_step              the route of a single step
rules                 the rules of the kernel, by which steps are made: ``help(verify.former.rules)``
variance_route        the derivation of a variance of scores, index by index
mean_route            that of a mean
kurtosis_route        that of a kurtosis
moment_steps          the steps from means of products of scores to their value
evaluate              an expression with all its variances and means in moments
unfold                an expression with each variance written as two means
Population            independent random components: their moments and the dimension
STANDARD              components with mean 0 and variance 1
CENTRED               components with mean 0 and any variances
GENERAL               components with any means and variances
NORMAL_VECTORS        standard normal components
NORMAL_MOMENTS        E z⁰ to E z⁸ of a standard normal number
matrices              attention with symbolic shapes, entry by entry
score_law             routes to the law of a score of standard normal components
characteristic        the characteristic function of such a score
effective_keys        routes to over how many of very many keys attention spreads
row_means             how much of a bound rows reach, over many numbers of keys
row_integrals         means over rows of normal scores, integrated numerically
gauss                 quadrature by Gauss and Legendre's nodes

Inputs: what is drawn
Simulated             m queries and n keys of d independent components each
normal                the same with standard normal components
Linked                queries, each with a key of its own that depends on it
NormalRows            a sampler of rows of normal scores, without queries and keys
Components            a distribution with its mean and variance written out, for predictions
UNIFORM_COMPONENTS    components that are uniform between 0 and 1
for_components        an expression in means and deviations at those of such components
Distribution          an own distribution: name, moments, and a function that fills an array
NORMAL                the standard normal distribution
UNIFORM               uniform, of variance 1
UNIT_INTERVAL         uniform between 0 and 1
EXPONENTIAL           exponential less its mean
LAPLACE               Laplace's, of variance 1
RADEMACHER            random signs
Input                 base class of an own input: what draws queries and keys
Shape                 numbers of queries, keys and components of a block
VectorSource          independent numbers behind a sample with their law, for ``Input.sources``
BlockSampler          protocol of an own sampler, which draws and reduces blocks at once
stream                the random generator of a claim's cell and batch
Array                 the type of the arrays

Statistics: what a block is reduced to
Statistic             base class of an own statistic: names, and ``reduce(queries, keys)``
ScoreMoments          means of S and S² of all scores
ScorePowers           means of powers of the sizes of scores
PairShares            shares of scores at or below points, each query with its own key
SoftmaxRows           means over rows of weights: squares, entropy, largest and others

Estimands: what is estimated
component             the mean of one output
variance              E S² - (E S)²
kurtosis              E S⁴/(E S²)²
covariance            E XY - E X·E Y
ratio                 a power of the quotient of two outputs
Smooth                an own analytic function of the means of outputs
Quantile              the value below which a share of draws lies
Bounded               the mean of an output between 0 and 1, in an interval that needs no normal law
DistanceToLaw         the largest gap between measured and given distribution functions
Estimand              protocol of an own estimand: ``kind``, ``measure`` and ``blocks_needed``
Measured              what ``measure`` returns: value, error, interval
Sample                what ``measure`` gets: the sums of block vectors
Goal                  what ``blocks_needed`` gets: the precision that is wanted

Cells and checks
Cell                  one setting in which blocks are drawn
cell_of               a cell of an input and a statistic, or of a sampler
score_cell            a cell of scores, its blocks shaped for the tolerance
cells_of              a dictionary of cells of one kind, by their keys
variances             a check of the variance in each score cell
means                 a check of the mean in each score cell
over_cells            a check in each cell of a dictionary, with a law at the cell's settings
in_turn               the checks of several dictionaries, those of one cell side by side
variance_of_scores    the estimand of the variance of scores, with its derived block variance
Quantity              a check of one cell: estimand against prediction
Exact                 a check of a computed value; nothing is drawn
computed              an ``Exact`` check of what a function returns
no_distance           an ``Exact`` check that a largest distance is none
Comparison            type of any check: ``Quantity``, ``Exact`` or fit
Prediction            what is compared with: value and LaTeX
prediction            a derived number as a ``Prediction``
integrated            a number that was integrated numerically as one
threshold             a number that is set, not derived, as one
mean_of_rows          a mean over rows of scores, integrated over queries' lengths
scaled                the number that a scale is in a dimension
Tolerance             the band around a prediction: factor, scale, and why
EVEN                  the run's tolerance, of the prediction
capped                a tolerance that does not grow in coarse profiles
of_deviation          a tolerance of a standard deviation
of_probability        a tolerance of a probability of 1
Allowance             how far a computed value may lie off, and for what
ROUNDING              what array code of numbers near 1 may lose to rounding

Fits
fits                  checks of chosen coefficients of weighted fits
fitting               those coefficients: ``exponent``, ``slope_of``, ``no_slope``, ``misfit``, own ones

Negative controls: what must come out refuted
Control               a wrong version of a check, in words
wrong                 a check against a wrong value, or otherwise changed
biased                a prediction off by twice the tolerance
sharper               a bound with its constant times a factor
wrong_fits            each coefficient of ``fits`` off, and points that are no line

Array code, as programs have it
softmax               exp(s)/Σexp(s) over the last axis
probabilities         the attention weights of queries and keys
complex_step          derivatives by complex steps
in_single_precision   array code that computes with half as many digits
largest_difference    the largest absolute difference of two arrays
loops                 attention and its gradients in plain loops, and fixed numbers for them

Figures
figure                a figure, normally against the dimension on log axes
line                  a derived line, or a function, numbers or points of one
measured              measured points with their intervals
beside                both: a line and what is measured beside it
estimates             points or a band of estimates that no check compares
scatter               points without intervals
"""

from typing import TYPE_CHECKING

from verify.evidence import Fact, Figure
from verify.montecarlo import reference_loops as loops
from verify.montecarlo.attention import probabilities, softmax
from verify.montecarlo.blocks import BlockSampler, Cell, Sample
from verify.montecarlo.distributions import (
    EXPONENTIAL, LAPLACE, NORMAL, RADEMACHER, UNIFORM, UNIT_INTERVAL, Array, Distribution, VectorSource,
    stream,
)  # fmt: skip
from verify.montecarlo.estimands import (
    Bounded, DistanceToLaw, Estimand, Goal, Measured, Quantile, Smooth, complex_step, component, covariance,
    kurtosis, ratio, variance,
)  # fmt: skip
from verify.montecarlo.experiment import (
    Allowance, Comparison, Control, Exact, Experiment, Prediction, Quantity, Tolerance,
)  # fmt: skip
from verify.montecarlo.inputs import Input, Linked, Shape, Simulated
from verify.montecarlo.reference_loops import in_single_precision, largest_difference
from verify.montecarlo.rows import NormalRows, SoftmaxRows
from verify.montecarlo.statistics import PairShares, ScoreMoments, ScorePowers, Statistic
from verify.former import fitting, rules
from verify.former.cells import (
    UNIFORM_COMPONENTS, Components, cell_of, cells_of, for_components, normal, scaled, score_cell,
    variance_of_scores,
)  # fmt: skip
from verify.former.checks import (
    EVEN, ROUNDING, biased, capped, computed, fact, in_turn, integrated, mean_of_rows, means, no_distance,
    of_deviation, of_probability, over_cells, prediction, sharper, threshold, variances, wrong, wrong_fits,
)  # fmt: skip
from verify.former.claim import Claim
from verify.former.figures import beside, estimates, figure, line, measured, scatter
from verify.former.fitting import fits
from verify.former.words import Notation
from verify.spec.claim import (
    HOEFFDING, INDEPENDENT, STANDARD_COMPONENTS, STEIN, VASWANI, Findings, assume, cite,
)  # fmt: skip
from verify.symbolic import attention as matrices
from verify.symbolic import characteristic, effective_keys, gauss, row_integrals, row_means
from verify.symbolic import law as score_law
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.hypotheses import Population
from verify.symbolic.kernel.moments import evaluate, unfold
from verify.symbolic.kernel.words import E, Ordered, OrderedBase, Var, n, p, s, sigma
from verify.symbolic.printing import function, latex, ordered
from verify.symbolic.routes import Route, Step, one_step
from verify.symbolic.scores import (
    CENTRED, GENERAL, NORMAL_MOMENTS, NORMAL_VECTORS, STANDARD, d, index, k, kurtosis_route, mean_route,
    moment_steps, mu_k, mu_q, one_product, q, score, sigma_k, sigma_q, variance_route,
)  # fmt: skip
from verify.symbolic.softmax import ENTROPY, LOG_TOTAL, SQUARES, WEIGHTED_SCORE, i, j

if TYPE_CHECKING:
    # For type checkers alone: with it, ``help`` would print every class and function in full.
    __all__ = [
        "CENTRED", "ENTROPY", "EVEN", "EXPONENTIAL", "GENERAL", "HOEFFDING", "INDEPENDENT", "LAPLACE",
        "LOG_TOTAL", "NORMAL", "NORMAL_MOMENTS", "NORMAL_VECTORS", "RADEMACHER", "ROUNDING", "SQUARES",
        "STANDARD", "STANDARD_COMPONENTS", "STEIN", "UNIFORM", "UNIFORM_COMPONENTS", "UNIT_INTERVAL",
        "VASWANI", "WEIGHTED_SCORE", "Allowance", "Array", "BlockSampler", "Bounded", "Cell", "Claim",
        "Comparison", "Components", "Control", "Derivation", "DistanceToLaw", "Distribution", "E",
        "Estimand", "Exact", "Experiment", "Fact", "Figure", "Findings", "Goal", "Input", "Linked",
        "Measured", "NormalRows", "Notation", "Ordered", "OrderedBase", "PairShares", "Population",
        "Prediction", "Quantile", "Quantity", "Route", "Sample", "ScoreMoments", "ScorePowers", "Shape",
        "Simulated", "Smooth", "SoftmaxRows", "Statistic", "Step", "Tolerance", "Var", "VectorSource",
        "assume", "beside", "biased", "capped", "cell_of", "cells_of", "characteristic", "cite",
        "complex_step", "component", "computed", "covariance", "d", "effective_keys", "estimates",
        "evaluate", "fact", "figure", "fits", "fitting", "for_components", "function", "gauss", "i",
        "in_single_precision", "in_turn", "index", "integrated", "j", "k", "kurtosis", "kurtosis_route",
        "largest_difference", "latex", "line", "loops", "matrices", "mean_of_rows", "mean_route", "means",
        "measured", "moment_steps", "mu_k", "mu_q", "n", "no_distance", "normal", "of_deviation",
        "of_probability", "one_product", "one_step", "ordered", "over_cells", "p", "prediction",
        "probabilities", "q", "ratio", "row_integrals", "row_means", "rules", "s", "scaled", "scatter",
        "score", "score_cell", "score_law", "sharper", "sigma", "sigma_k", "sigma_q", "softmax", "stream",
        "threshold", "unfold", "variance", "variance_of_scores", "variance_route", "variances", "wrong",
        "wrong_fits",
    ]  # fmt: skip
