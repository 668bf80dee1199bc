"""Published theorems that lines of derivations rest on, and the check that cites a theorem.

A cited line is printed as such: that the theorem applies is the reader's to judge. Conditions that show in
a line are checked: that a law is normal where it has to be, which way a bound goes, that Jensen's function
bends that way. The rest of the conditions stands in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sympy import Dummy, Limit, sqrt

from verify.errors import ClaimError, unknown
from verify.symbolic.vocabulary import StepError
from verify.symbolic.bounds import equal, slope
from verify.symbolic.chains import LineCheck, Relation, Theorem
from verify.symbolic.signs import Signs
from verify.symbolic.vocabulary import E, Largest, Law, Laws, families_of, normal

_BILLINGSLEY = "P. Billingsley, Probability and Measure, 3rd ed., Wiley, 1995"

THEOREMS: Mapping[str, Theorem] = {
    "normal combination": Theorem(
        "a linear combination of normals is normal",
        "Σ c_i X_i of independent normal X_i is normal, of mean Σ c_i E X_i and variance Σ c_i² Var X_i.",
        "The X_i are independent and normal; the c_i are fixed, or independent of the X_i and given.",
        f"{_BILLINGSLEY}, section 20",
    ),
    "rotation": Theorem(
        "rotation invariance of the normal law",
        "A vector of independent standard normal components has one law in every orthonormal basis.",
        "The components are independent and standard normal; the basis is fixed or independent of them.",
        "R. Vershynin, High-Dimensional Probability, Cambridge University Press, 2018, Proposition 3.3.2",
        "https://doi.org/10.1017/9781108231596",
    ),
    "change of measure": Theorem(
        "change of measure",
        "E exp(cX) f(X) = exp(c²σ²/2) E f(X + cσ²) for normal X of mean 0 and variance σ².",
        "X is normal and independent of all else in f; one of the two means exists.",
        "R. H. Cameron and W. T. Martin, Transformations of Wiener integrals under translations, Annals of "
        "Mathematics 45 (1944), 386-396",
        "https://doi.org/10.2307/1969276",
    ),
    "stein": Theorem(
        "Stein's identity",
        "E X f(X) = σ² E f'(X) for normal X of mean 0 and variance σ².",
        "X is normal and independent of all else in f; f is absolutely continuous and E |f'(X)| is finite.",
        "C. M. Stein, Estimation of the mean of a multivariate normal distribution, Annals of Statistics 9 "
        "(1981), 1135-1151, Lemma 1",
        "https://doi.org/10.1214/aos/1176345632",
    ),
    "chi-square": Theorem(
        "the sum of squares is chi-square",
        "Σ X_i² of d independent standard normal X_i has the density "
        "w^(d/2-1) exp(-w/2)/(2^(d/2) Γ(d/2)), w > 0.",
        "The X_i are independent and standard normal.",
        "N. L. Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate Distributions, vol. 1, 2nd ed., "
        "Wiley, 1994, chapter 18",
    ),
    "jensen": Theorem(
        "Jensen's inequality",
        "f(E X) ≤ E f(X) for convex f, and ≥ for concave f.",
        "f is convex, or concave, on an interval that X lies in; E X and E f(X) exist.",
        "J. L. W. V. Jensen, Sur les fonctions convexes et les inégalités entre les valeurs moyennes, Acta "
        "Mathematica 30 (1906), 175-193",
        "https://doi.org/10.1007/BF02418571",
    ),
    "normal maximum": Theorem(
        "the expected maximum of normals",
        "E max_j X_j ≤ σ√(2 ln n) for n normal X_j of mean 0 and variance σ².",
        "Each X_j is normal (or sub-Gaussian with that variance factor); they need not be independent.",
        "S. Boucheron, G. Lugosi and P. Massart, Concentration Inequalities, Oxford University Press, 2013, "
        "Theorem 2.5",
        "https://doi.org/10.1093/acprof:oso/9780199535255.001.0001",
    ),
    "gibbs": Theorem(
        "Gibbs' inequality",
        "-Σ p_j ln p_j ≤ -Σ p_j ln r_j; with r_j = 1/n the entropy of n weights is at most ln n.",
        "The p_j are not negative and sum to 1; the r_j are positive and sum to at most 1.",
        "T. M. Cover and J. A. Thomas, Elements of Information Theory, 2nd ed., Wiley, 2006, section 2.6",
        "https://doi.org/10.1002/047174882X",
    ),
    "interpolation": Theorem(
        "interpolation in σ",
        "E ln Σ exp(σ X_j) ≥ ln n + σ²(1 - E Σ p_j²)/2 with p the softmax of σX: its derivative by σ²/2 is "
        "1 - E Σ p_j², which falls with σ.",
        "The X_j are independent and standard normal.",
        "M. Talagrand, Mean Field Models for Spin Glasses, vol. I, Springer, 2011, section 1.3",
        "https://doi.org/10.1007/978-3-642-15202-3",
    ),
    "density of a maximum": Theorem(
        "the density of a maximum",
        "The largest of n independent X_j with distribution function F and density f has density nfF^(n-1).",
        "The X_j are independent and have one law with a density.",
        "H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., Wiley, 2003, section 2.1",
        "https://doi.org/10.1002/0471722162",
    ),
    "below a maximum": Theorem(
        "what lies below a maximum",
        "Given that the largest of n independent X_j is x, the others are independent and have the law of an "
        "X_j that is known to be below x.",
        "The X_j are independent and have one law with a density.",
        "H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., Wiley, 2003, section 2.5",
        "https://doi.org/10.1002/0471722162",
    ),
    "uniform cosine": Theorem(
        "cosines with a direction in space are uniform",
        "The cosine of the angle between a fixed direction in three dimensions and a random one is uniform "
        "between -1 and 1.",
        "The random direction is uniform on the sphere, as that of a vector of independent standard normal "
        "components is; the other one is fixed, or independent of it.",
        "W. Feller, An Introduction to Probability Theory and Its Applications, vol. II, 2nd ed., Wiley, "
        "1971, section I.10",
    ),
    "fubini": Theorem(
        "Fubini's theorem",
        "Integrals, sums and means change their order.",
        "The integrand is nowhere negative, or integrable over both together.",
        f"{_BILLINGSLEY}, Theorem 18.3",
    ),
    "monotone convergence": Theorem(
        "monotone convergence",
        "E f_n(X) tends to E f(X), be it finite or not, where f_n(X) tends to f(X).",
        "f_n(X) is not negative and does not fall as n grows.",
        f"{_BILLINGSLEY}, Theorem 16.2",
    ),
    "independence": Theorem(
        "means of independent factors multiply",
        "E Π f_i(X_i) = Π E f_i(X_i).",
        "The X_i are independent, and each mean exists.",
        f"{_BILLINGSLEY}, section 21",
    ),
    "conditioning": Theorem(
        "the tower rule",
        "E f(X, Y) = E g(X) with g(x) = E f(x, Y) for independent X and Y: the mean is taken of Y first.",
        "X and Y are independent; f is not negative, or E |f(X, Y)| is finite.",
        f"{_BILLINGSLEY}, section 34",
    ),
    "central limit": Theorem(
        "the central limit theorem",
        "The sum of n independent X_i of one law, less its mean and over its deviation, is at most x with a "
        "probability that tends to Φ(x).",
        "The X_i are independent, have one law, and a finite variance that is not 0.",
        f"{_BILLINGSLEY}, Theorem 27.1",
    ),
    "delta method": Theorem(
        "the delta method",
        "E f(X̄) = f(μ) + f''(μ)σ²/(2n) + O(n^(-3/2)) for the mean X̄ of n independent numbers of one law.",
        "E |X_1|³ is finite, and f has a bounded third derivative.",
        "P. J. Bickel and K. A. Doksum, Mathematical Statistics, vol. I, 2nd ed., Prentice Hall, 2001, "
        "section 5.3.1",
    ),
}
"""Theorems that a line may cite by a short name; any other theorem is given as a ``Theorem``."""


def cited(theorem: str | Theorem, *, laws: Laws | None = None, assumes: tuple[str, ...] = ()) -> LineCheck:
    """Take a line on the authority of a published theorem, which is printed with it.

    Args:
        theorem: Its short name in ``THEOREMS``, or a theorem that is not in this table.
        laws: The laws of the families that the line speaks of; the line is tried under them.
        assumes: Conditions of the theorem that the line needs and a reader has to know, in words.

    Raises:
        ClaimError: there is no theorem of this name.

    Example:
        >>> Line(E(over_keys(p * s[a, j])) / sigma**2, "by parts", cited("stein", laws=NORMAL_ROWS))
    """
    short, relations = "", "=≤<≥>~⇔"
    if isinstance(theorem, str):
        if theorem not in THEOREMS:
            raise ClaimError(unknown("theorem", theorem, THEOREMS, "give a Theorem(…) of your own"))
        short, relations, theorem = theorem, _ALLOWED.get(theorem, "=⇔"), THEOREMS[theorem]
    name, words = theorem.name, f"cited: {theorem.name}"

    def compare(before: Any, after: Any, relation: Relation) -> None:
        families = families_of(before) | families_of(after)
        normals = (family in (laws or {}) and is_normal((laws or {})[family]) for family in families)
        if short in _NORMAL and not any(normals):
            named = ", ".join(sorted(str(family.label) for family in families)) or "what it speaks of"
            raise StepError(f"{name} needs a normal law: say it of one of {named}, as laws={{s: normal()}}")
        if short in _FORMS:
            _FORMS[short](name, before, after, relation)

    return LineCheck(
        compare=compare,
        words=words,
        relations=relations,
        assumed=assumes,
        laws=laws,
        cites=(theorem,),
        is_exact=False,
    )


def is_normal(law: Law) -> bool:
    """Return whether a law is assumed to be normal, and not only to share moments with a normal law."""
    if not law.whole or len(law.raw) < 3:
        return False
    variance = law.raw[2] - law.raw[1] ** 2
    return all(equal(x, y) for x, y in zip(law.raw, normal(law.raw[1], sqrt(variance)).raw, strict=False))


def _in_the_limit(name: str, before: Any, after: Any, relation: Relation) -> None:
    if relation == "=" and not (before.has(Limit) or after.has(Limit)):
        raise StepError(f"{name} is about a limit, and the line has no Limit(…)")


def _maximum(name: str, before: Any, after: Any, relation: Relation) -> None:
    """The mean of a largest stands on the smaller side, which rises with it, and not on the other."""
    less, more = (before, after) if relation in "≤<" else (after, before)
    means = [mean for mean in less.atoms(E) if mean.has(Largest)]
    hole = Dummy("X", real=True)
    if not means or more.has(Largest) or slope(less.xreplace({means[0]: hole}), hole, Signs()) < 0:
        raise StepError(f"{name} bounds the mean of a Largest(…) from above; the line does not read so")


def _jensen(name: str, before: Any, after: Any, relation: Relation) -> None:
    """The mean of f is above f of the mean where f is visibly convex; the function may be hidden from us."""
    for inside, outside in ((before, after), (after, before)):
        for mean in outside.atoms(E):
            (x,) = mean.args
            hole = Dummy("X", real=True, positive=Signs().nonnegative(x) or None)
            function = outside.xreplace({mean: hole})
            if function.has(E) or not equal(E(function.xreplace({hole: x})), inside):
                continue
            above = relation in ("≥>" if inside is before else "≤<")
            bend = function.diff(hole, 2)
            if Signs().positive(-bend if above else bend):
                shape = "concave" if above else "convex"
                raise StepError(f"{name} goes the other way: {function} is {shape} in {hole}")
            return


_ALLOWED = {
    name: relations
    for relations, names in {
        "≤<≥>": ("jensen", "gibbs", "interpolation", "normal maximum"),
        "~": ("delta method",),
        "=~": ("central limit",),
    }.items()
    for name in names
}
"""Relations of a line that cites the theorem; every other theorem gives an equation."""

_NORMAL = {
    *("normal combination", "rotation", "change of measure", "stein", "chi-square"),
    *("normal maximum", "interpolation"),
}
"""Theorems for which a family of the line has to be normal."""

_FORMS: Mapping[str, Callable[[str, Any, Any, Relation], None]] = {
    "jensen": _jensen,
    "normal maximum": _maximum,
    "central limit": _in_the_limit,
    "monotone convergence": _in_the_limit,
}
"""Conditions of theorems that can be seen in the line itself."""
