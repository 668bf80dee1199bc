"""All that a claim file imports: expressions, chains with their checks, and measurements.

An expression, such as ``Var(score)``, is derived line by line and measured as it stands. ``help`` of a name
says more than its line here.

A claim
Claim                a claim: title, statement, meaning, references; its functions have fixed names
cite, assume         its references, by key or as a ``Reference``; assumptions that no chain states
fact                 an exact value that a document may print
latex                the LaTeX of an expression

Expressions
E, Var, Cov          mean, variance, covariance over everything drawn
Quantile             the value below which a share lies; ``LargestGap`` the distance from a law
score, score_of      q·k of any query and key, or of a given query and key
Dot                  the dot product of two vectors of families
Softmax, Entropy     the weight of a key among scores, and the entropy of the weights
LogSumExp, Largest   the logarithm of a sum of exponentials, and the largest of scores
Indicator            1 where something is above 0
over_keys            a sum over keys; ``over_components`` a sum over components
squares              the sum of squared weights
Named                an expression under a name, by which it is printed
Family, Index        random numbers of a kind, and places in their ranges; those of a ``Given`` are not random
q, k, v, u, s        components of queries, keys, values and gradients, and scores of rows
a, b, i, j, l, e     two queries, a component, two keys, a component of a value
d, m, n, d_v, sigma  how many components, queries, keys, components of a value; deviation of scores
mu_q, sigma_q …      mean, deviation, skewness, kurtosis of components: mu, sigma, gamma, kappa of q and k

integrated           a mean over rows of normal scores as a number; ``over_lengths`` and ``mean_beside_sink``
                     are integrals for what it has none for, each an ``Approximation``; ON_PAPER is the
                     precision of a point of a curve
SymPy's own          Symbol, symbols, S, Rational, Float, Expr, Matrix, eye, Sum, Integral, Derivative, Limit,
                     oo, pi, exp, log, sqrt, tanh, sin, cos, erf, erfc, gamma, Abs, Max, Min, Eq, Le, Ge, Gt,
                     KroneckerDelta, kronecker_product, lambdify, simplify; others come from SymPy

Derivations
Chain, Line          a start, and lines: expression, reason and check
Derivation           several chains; or why nothing is derived: ``Derivation((), "…")``
algebra, moments     the same by algebra; the same under laws
substitute, earlier  values put in; an established chain put in
at_most, at_least    by a surplus that is visibly not negative
integral, limit      by integration, in the limit; ``leading`` for the first term; ``derivative``
numerically          closed forms of integrals, to 30 digits; ``between`` two bounds
by_density           means of functions of normal components as integrals over their densities
equivalent           equations with the same solutions
cited                by a published theorem of the table; all checks are ``LineCheck``
Law, normal          assumed moments of a family, or all of a normal law
STANDARD             mean 0, variance 1; also CENTRED, GENERAL, NORMAL_COMPONENTS, NORMAL_ROWS

Measurements
Check                a quantity, values of its symbols, and its prediction or bound; ``Check.sharing(…)``
                     makes several with arguments in common, as Wrong, Computed and Plot do
Fit                  a fit through checks, over a symbol
Wrong                a wrong version, which must come out refuted
Computed             a value that code computes; nothing is drawn; ``Allowance`` or ROUNDING for its band
Program, Column      a NumPy function of the draws, and its columns as expressions
Within               an unusual band around a prediction; also of_probability, of_deviation
Threshold            a number that is set, not derived
Chains, Items        types of the results of ``derive`` and ``experiment``
Plot                 a figure of checks; ``figures`` is the module for a ``Figure`` of ``Findings``
NORMAL, UNIFORM      laws that are drawn, each a ``Distribution``; also UNIT_INTERVAL, RADEMACHER, LAPLACE,
                     EXPONENTIAL, CAUCHY, student_t; numbers are those of a ``Given`` family
"""

from sympy import Abs, Derivative, Eq, Expr, Float, Ge, Gt, Integral, KroneckerDelta, Le, Limit, Matrix, Max
from sympy import Min, Rational, S, Sum, Symbol, cos, erf, erfc, exp, eye, gamma, kronecker_product, lambdify
from sympy import log, oo, pi, simplify, sin, sqrt, symbols, tanh

from verify.evidence import Figure, Reference
from verify.montecarlo.compiling import Column
from verify.montecarlo.distributions import CAUCHY, EXPONENTIAL, LAPLACE, NORMAL, RADEMACHER, UNIFORM
from verify.montecarlo.distributions import UNIT_INTERVAL, Distribution, numbers, student_t
from verify.montecarlo.experiment import Allowance
from verify.montecarlo.operations import Program
from verify.spec import figures
from verify.spec.checks import ROUNDING, Chains, Check, Computed, Fit, Items, Plot, Threshold, Within, Wrong
from verify.spec.checks import fact, of_deviation, of_probability
from verify.spec.claim import Claim, Findings, assume, cite
from verify.spec.comparisons import integrated
from verify.symbolic.analysis import between, by_density, derivative, equivalent, integral, leading, limit
from verify.symbolic.analysis import numerically
from verify.symbolic.bounds import at_least, at_most, earlier
from verify.symbolic.chains import Chain, Derivation, Line, LineCheck
from verify.symbolic.checks import algebra, cited, moments, substitute
from verify.symbolic.notation import latex
from verify.symbolic.row_integrals import ON_PAPER, Approximation, mean_beside_sink, over_lengths
from verify.symbolic.vocabulary import CENTRED, GENERAL, NORMAL_COMPONENTS, NORMAL_ROWS, STANDARD
from verify.symbolic.vocabulary import Cov, Dot, E, Entropy, Family, Given, Index, Indicator, Largest
from verify.symbolic.vocabulary import LargestGap, Law, LogSumExp, Named, Quantile, Softmax, Var
from verify.symbolic.vocabulary import a, b, d, d_v, e, i, j, k, l, m, n, q, s, sigma, u, v
from verify.symbolic.vocabulary import gamma_k, gamma_q, kappa_k, kappa_q, mu_k, mu_q, sigma_k, sigma_q
from verify.symbolic.vocabulary import normal, over_components, over_keys, score, score_of, squares
