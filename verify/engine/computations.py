"""What a statement's part may have computed, without code, named as ``what`` in the file.

A computation has ``Inputs``, the record of what the file gives it, the id of the claim whose derivation it
evaluates, and a function from the inputs to the number that they make, with words and, where it is what a
sample scatters around, the sample's law.
"""

import math
import reprlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails
from sympy import Add, Integer, N, Rational, S, exp, log, sqrt

from verify.errors import unknown
from verify.evidence import Record
from verify.symbolic.calculus import expected
from verify.symbolic.gauss import legendre, of_lengths
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, STANDARD, E, Var, d, score

Characteristic = Callable[[Any], Any]


_DIGITS = 30
INCOMPATIBLE = 0.001
"""Below this probability of what is as extreme, one sample contradicts what is derived."""


@dataclass(frozen=True, slots=True)
class SampleLaw:
    """What one sample's statistic is expected to be: its standard deviation, for words, and its law.

    ``below`` gives the probability that the statistic is at most so large.
    """

    deviation: float
    below: Callable[[float], float]

    def probability(self, low: float, high: float) -> float:
        """Return twice the smaller of the probabilities of at most ``high`` and of at least ``low``.

        A printed figure stands for all numbers from ``low`` to ``high`` that round to it.
        """
        return min(1.0, 2 * self.below(high), 2 * (1 - self.below(low)))


@dataclass(frozen=True, slots=True)
class Computed:
    """A number, in words; where it is what a ``sample`` scatters around, with the sample's law."""

    value: float
    words: str
    sample: SampleLaw | None = None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be finite; correct it")
    return value


Number = Annotated[StrictInt | StrictFloat, AfterValidator(_finite)]
Dimension = Annotated[StrictInt, Field(ge=1, le=10**9)]
Vector = Annotated[tuple[Number, ...], Field(min_length=1, max_length=64)]


def exact(number: float) -> Any:
    """Return a number of the file as the decimal that stands there."""
    return Rational(str(number))


def value_of(expression: Any) -> float:
    """Return an exact expression as the nearest float."""
    return float(N(expression, _DIGITS))


def listed(numbers: Iterable[float]) -> str:
    """Return numbers in a row."""
    return ", ".join(f"{number:g}" for number in numbers)


_SCALES = {"none": Integer(1), "1/sqrt(d_k)": 1 / sqrt(d), "1/d_k": 1 / d}


class Variance(Record):
    """The dimension ``d_k``, the ``scale``, the components' variances, and which of the two is meant."""

    d_k: Dimension
    scale: Literal["none", "1/sqrt(d_k)", "1/d_k"] = "none"
    query_variance: Annotated[Number, Field(gt=0)] = 1
    key_variance: Annotated[Number, Field(gt=0)] = 1
    root: StrictBool = False


def variance(inputs: Variance) -> Computed:
    """Return the derived variance of q·k, or its root, for independent centred components."""
    found = (
        derived_variance()
        * exact(inputs.query_variance)
        * exact(inputs.key_variance)
        * _SCALES[inputs.scale] ** 2
    )
    at = found.subs(d, inputs.d_k)
    name = "standard deviation" if inputs.root else "variance"
    scaled = "" if inputs.scale == "none" else f" times {inputs.scale}"
    return Computed(
        value_of(sqrt(at) if inputs.root else at), f"{name.capitalize()} of q·k{scaled} at d_k = {inputs.d_k}"
    )


def derived_variance() -> Any:
    """Return the variance of q·k as it is derived, in the symbol d."""
    return expected(Var(score), STANDARD)


class Scale(Record):
    """The dimension ``d_k``, and whether the ``factor`` is meant or the ``divisor``."""

    d_k: Dimension
    form: Literal["factor", "divisor"] = "divisor"


def scale(inputs: Scale) -> Computed:
    """Return the root of the derived variance, or 1 over it."""
    root = sqrt(derived_variance().subs(d, inputs.d_k))
    value = root if inputs.form == "divisor" else 1 / root
    verb = "is divided by" if inputs.form == "divisor" else "is multiplied by"
    return Computed(value_of(value), f"What q·k {verb} at d_k = {inputs.d_k}, for variance 1")


class DotProduct(Record):
    """The components ``q`` and ``k``, and whether the product is divided by the root of their number."""

    q: Vector
    k: Vector
    scaled: StrictBool = False

    @model_validator(mode="after")
    def _have_one_length(self) -> Self:
        if len(self.q) != len(self.k):
            raise ValueError(f"q and k have {len(self.q)} and {len(self.k)} components; give as many")
        return self


def dot_product(inputs: DotProduct) -> Computed:
    """Return Σ q_i k_i, divided by √d where it is to be scaled."""
    product = Add(*(exact(one) * exact(other) for one, other in zip(inputs.q, inputs.k, strict=True)))
    scale = sqrt(len(inputs.q)) if inputs.scaled else 1
    name = "Scaled dot product" if inputs.scaled else "Dot product"
    return Computed(value_of(product / scale), f"{name} of ({listed(inputs.q)}) and ({listed(inputs.k)})")


class Softmax(Record):
    """The scores, the ``key`` whose weight is meant, from 1, and ``d_k`` where they are yet to be scaled."""

    scores: Vector
    key: StrictInt = Field(ge=1)
    d_k: Dimension | None = None

    @model_validator(mode="after")
    def _has_the_key(self) -> Self:
        if self.key > len(self.scores):
            raise ValueError(f"key {self.key}: there are {len(self.scores)} scores; correct it")
        return self


def _weights(scores: tuple[float, ...], dimension: int | None) -> list[Any]:
    """Return the exact weights of scores, divided by the root of the dimension where there is one."""
    scale = sqrt(dimension) if dimension else 1
    powers = [exp(exact(score) / scale) for score in scores]
    return [power / sum(powers) for power in powers]


def softmax_weight(inputs: Softmax) -> Computed:
    """Return exp(s_key)/Σexp(s_j), of the scores divided by √d_k where that is given."""
    weight = _weights(inputs.scores, inputs.d_k)[inputs.key - 1]
    scaled = f" divided by √{inputs.d_k}" if inputs.d_k else ""
    return Computed(
        value_of(weight), f"Weight {inputs.key} of the softmax of {listed(inputs.scores)}{scaled}"
    )


class Entropy(Record):
    """The scores, ``d_k`` where they are still to be scaled, and the ``unit``."""

    scores: Vector
    d_k: Dimension | None = None
    unit: Literal["nats", "bits"] = "nats"


def entropy(inputs: Entropy) -> Computed:
    """Return -Σ p log p of the softmax of the scores."""
    nats = -sum(weight * log(weight) for weight in _weights(inputs.scores, inputs.d_k))
    found = nats / log(2) if inputs.unit == "bits" else nats
    scaled = f" divided by √{inputs.d_k}" if inputs.d_k else ""
    words = f"Entropy, in {inputs.unit}, of the softmax of {listed(inputs.scores)}{scaled}"
    return Computed(value_of(found), words)


class SampleOf(Record):
    """The ``statistic``, the dimension ``d_k``, and how many independent ``scores`` the sample has.

    With fewer than 30 of them the law is not evaluated. ``scaled`` scores are divided by √d_k.
    """

    statistic: Literal["mean", "variance", "standard-deviation"]
    d_k: Dimension
    scores: Annotated[StrictInt, Field(ge=30, le=10**12)]
    scaled: StrictBool = False


def sample_statistic(inputs: SampleOf) -> Computed:
    """Return what the statistic is expected to be, and its law, for normal components.

    With n scores of variance σ² and kurtosis κ, the sample mean has variance σ²/n, and the sample variance
    has σ⁴(κ - (n - 3)/(n - 1))/n. The root of a sample variance has about half its relative spread.
    """
    n = inputs.scores
    variance = S.One if inputs.scaled else derived_variance().subs(d, inputs.d_k)
    kurtosis = expected(E(score**4) / Var(score) ** 2, NORMAL_COMPONENTS).subs(d, inputs.d_k)
    spread = value_of(sqrt((kurtosis - Rational(n - 3, n - 1)) / n))
    value = {"mean": S.Zero, "variance": variance, "standard-deviation": sqrt(variance)}[inputs.statistic]
    name = inputs.statistic.replace("-", " ")
    kind = "scaled scores" if inputs.scaled else "scores"
    words = f"{name.capitalize()} of {n} {kind} at d_k = {inputs.d_k}"
    if inputs.statistic == "mean":
        sample = _of_mean(inputs, value_of(sqrt(variance / n)))
    else:
        sample = _of_variance(inputs, value_of(variance), spread)
    return Computed(value_of(value), words, sample)


def _of_mean(inputs: SampleOf, deviation: float) -> SampleLaw:
    law = mean_law(inputs.scores, inputs.d_k)
    return SampleLaw(deviation, lambda at: law.below(at / deviation))


def _of_variance(inputs: SampleOf, variance: float, spread: float) -> SampleLaw:
    """Return the law of a sample variance of this relative spread, or of its root."""
    law = variance_law(inputs.scores, inputs.d_k, spread)
    if inputs.statistic == "variance":
        return SampleLaw(variance * spread, lambda at: law.below((at / variance - 1) / spread))
    return SampleLaw(
        math.sqrt(variance) * spread / 2, lambda at: law.below((max(at, 0) ** 2 / variance - 1) / spread)
    )


class Computation(NamedTuple):
    """A computation: its claim's id, the record of its inputs, and what it computes of them."""

    claim: str
    inputs: type[Record]
    compute: Callable[[Any], Computed]


COMPUTATIONS = {
    "dot-product": Computation("worked-dot-products", DotProduct, dot_product),
    "entropy": Computation("attention-entropy", Entropy, entropy),
    "sample": Computation("score-variance", SampleOf, sample_statistic),
    "scale": Computation("sqrt-scaling", Scale, scale),
    "softmax": Computation("softmax-saturation", Softmax, softmax_weight),
    "variance": Computation("score-variance", Variance, variance),
}
"""All computations by their names."""


def inputs_of(table: dict[str, Any]) -> tuple[str, Record]:
    """Return the name of the computation that a table asks for, and its inputs.

    Raises:
        ValueError: there is none of that name, or its inputs are not so; the text says what to correct.
    """
    given = dict(table)
    what = given.pop("what", None)
    if not isinstance(what, str) or what not in COMPUTATIONS:
        known = ", ".join(COMPUTATIONS)
        raise ValueError(unknown("computation", str(what), COMPUTATIONS, f"they are {known}"))
    try:
        return what, COMPUTATIONS[what].inputs.model_validate(given)
    except ValidationError as error:
        # A misspelt input is both unknown and missing: what stands there says more.
        # What may be a whole number or another is best called a number.
        first = min(error.errors(), key=lambda one: (one["type"] == "missing", one["loc"][-1:] == ("int",)))
        place = str(first["loc"][0]) if first["loc"] else ""
        raise ValueError(" ".join(filter(None, (what, place, _said(first))))) from error


_SAID = {
    "extra_forbidden": "is no input of it; remove it or correct its spelling",
    "missing": "is missing; add it",
    "greater_than_equal": "is {input}; give at least {ge}",
    "greater_than": "is {input}; give more than {gt}",
    "less_than_equal": "is {input}; give at most {le}",
    "literal_error": "is {input}; give {expected}",
    "int_type": "is {input}; give a whole number",
    "float_type": "is {input}; give a number",
    "bool_type": "is {input}; give true or false",
    "tuple_type": "is {input}; give numbers in square brackets",
    "too_short": "is empty; give at least {min_length} number",
    "too_long": "has {actual_length} numbers; give at most {max_length}",
}


def _said(mistake: ErrorDetails) -> str:
    """Return what is wrong with an input, and what to give instead."""
    kind, context = mistake["type"], mistake.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    return _SAID.get(kind, "is {input}; correct it").format(input=reprlib.repr(mistake["input"]), **context)


# The laws of the mean and the variance of one sample of scores, from their characteristic functions:
#
# With normal components a score is √R·z for R ~ χ²_d and a standard normal z, independent of it. With
# X = R/d, scores of variance 1 and Q the sum of the squared distances of n of them from their mean,
#
#     E exp(itQ) = E_g ψ(t, g)ⁿ,  ψ(t, g) = E (1 - 2itX)^(-1/2) exp(-itg²X / (n(1 - 2itX))),
#
# with a standard normal g: exp(-itn·mean²) is the mean of exp(iug·mean) over g for u² = 2itn. The sum of N
# products of components has (1 + t²)^(-N/2). All is evaluated for the sample's own n, not for large n.

_FARTHEST = 12.0  # standard deviations; what is farther away is no more probable
_DIED = 1e-8  # of a characteristic function: what is left of it no longer counts
_POINTS, _RADII, _INNER = 240, 40, 64  # with more, probabilities change by less than 10⁻⁸


@dataclass(frozen=True, slots=True)
class StandardLaw:
    """A standardised statistic's law: its characteristic function, of mean 0 and variance 1, tabulated."""

    times: Any
    weights: Any
    values: Any

    def below(self, place: float) -> float:
        """Return the probability of at most ``place`` standard deviations above the mean, to about 10⁻⁶.

        Source: J. Gil-Pelaez, Note on the inversion theorem, Biometrika 38 (1951), 481-482.
        """
        at = min(max(place, -_FARTHEST), _FARTHEST)
        inverted = np.exp(-1j * self.times * at) * self.values
        found = 0.5 - float((self.weights * inverted.imag / self.times).sum()) / math.pi
        return min(max(found, 0.0), 1.0)


def mean_law(scores: int, dimension: int) -> StandardLaw:
    """Return the law of a sample's mean, a sum of ``scores``·``dimension`` products of components."""
    products = float(scores * dimension)
    return _tabulated(lambda t: np.exp(-products / 2 * np.log1p(t * t / products)))


def variance_law(scores: int, dimension: int, relative_deviation: float) -> StandardLaw:
    """Return the law of a sample's variance, whose standard deviation is so much of its mean."""
    n, mean = float(scores), float(scores - 1)
    lengths, of_radii = of_lengths(dimension, _RADII)
    radii = lengths**2 / dimension

    def characteristic(times: Any) -> Any:
        return np.array([at(t) for t in np.asarray(times) / (mean * relative_deviation)])

    def at(t: float) -> complex:
        reach = 7 * math.sqrt(1 + 4 * t * t)
        g, of_g = legendre(0, reach, _INNER)
        # 1/(1 - 2itX) is (1 + 2itX)/(1 + 4t²X²).
        size = 4 * t * t * radii**2
        real = -np.log1p(size) / 4 + np.outer(g * g, 2 * t * t * radii**2 / (1 + size)) / n
        imaginary = np.arctan(2 * t * radii) / 2 - np.outer(g * g, t * radii / (1 + size)) / n
        excess = (np.expm1(real + 1j * imaginary) * of_radii).sum(axis=1)
        # log ψ from ψ - 1, of which the square of a large sample's small t would be lost.
        x, y = excess.real, excess.imag
        logarithm = np.log1p(2 * x + x * x + y * y) / 2 + 1j * np.arctan2(y, 1 + x)
        # g < 0 is as probable as g > 0.
        density = np.exp(n * logarithm - 1j * t * mean - g * g / 2) * math.sqrt(2 / math.pi)
        return complex((of_g * density).sum())

    return _tabulated(characteristic)


def _tabulated(characteristic: Characteristic) -> StandardLaw:
    last = 8.0
    while abs(characteristic(np.array([last]))[0]) > _DIED:
        last *= 1.25
    times, weights = legendre(0, last, _POINTS)
    return StandardLaw(times, weights, characteristic(times))
