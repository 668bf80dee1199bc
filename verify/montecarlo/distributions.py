"""Random streams, and the distributions of components with their exact moments."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verify.errors import ClaimError


def stream(seed: int, claim: str, cell: str, batch: int) -> np.random.Generator:
    """Return the generator of a batch of a cell's blocks.

    A function of the root seed, the SHA-256 of the claim's and the cell's name, and the batch's number;
    so results are the same for any number of workers, any order and any choice of claims. SFC64 behind
    NumPy's ``SeedSequence``: of NumPy's generators it fills arrays of normals fastest.
    """
    name = hashlib.sha256(f"{claim}\0{cell}".encode()).digest()[:16]
    sequence = np.random.SeedSequence([seed, int.from_bytes(name, "little")], spawn_key=(batch,))
    return np.random.Generator(np.random.SFC64(sequence))


Array = NDArray[np.float64]


def double(numbers: Array) -> Array:
    """Return ``numbers`` in double precision, in which they are summed."""
    return numbers.astype(np.float64, copy=False)


_PIECE = 1 << 16  # numbers that are made at once


@dataclass(frozen=True)
class Distribution:
    """How i.i.d. components x are distributed: as loc + scale·z, with z from the law called ``base``.

    ``base_moments`` are E z^0 … E z^16 exactly; the list is shorter where a moment does not exist. ``fill``
    fills an array in double precision, and where ``fills_single`` an array in single precision as well.
    """

    base: str
    base_moments: tuple[Fraction, ...] = field(hash=False)  # a law is asked for in a cache very often
    fill: Callable[[np.random.Generator, Array], None]
    loc: Fraction = Fraction(0)
    scale: Fraction = Fraction(1)
    fills_single: bool = False

    @property
    def name(self) -> str:
        """Its words, from the parameters: the base distribution's name, its factor and its shift."""
        factor = "" if abs(self.scale) == 1 else f"{abs(self.scale)}·"
        part = f"{factor}{self.base}"
        if self.loc == 0:
            return f"−{part}" if self.scale < 0 else part
        shift = f"{'−' if self.loc < 0 else ''}{abs(self.loc)}"
        return f"{shift} {'−' if self.scale < 0 else '+'} {part}"

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...], *, single: bool = False) -> Array:
        """Return independent components, shape ``shape``, in double precision or ``single``.

        Raises:
            ClaimError: what ``fill`` writes is no number.
        """
        out: Array = np.empty(shape, np.float32 if single and self.fills_single else np.float64)
        self.fill(rng, out)
        # Whatever is made of it has another reason to fail, which would be told instead.
        if out.size and math.isnan(out.min()):
            raise ClaimError(f"distribution {self.base}: its fill writes NaN, no number; correct its fill")
        if self.scale != 1:
            out *= float(self.scale)
        if self.loc != 0:
            out += float(self.loc)
        return out.astype(np.float32, copy=False) if single else out

    def moments(self, highest: int) -> tuple[Fraction, ...]:
        """Return the exact raw moments E x^0 … E x^highest.

        Raises:
            ValueError: the distribution has no finite moment of that order, or none is recorded.
        """
        if highest >= len(self.base_moments):
            raise ValueError(f"{self.name}: no finite moment of order {highest} is recorded")
        z = self.base_moments[: highest + 1]
        if self.loc == 0 and self.scale == 1:
            return z
        # The binomial theorem for (loc + scale·z)ⁿ, term by term.
        raw = (
            [math.comb(n, j) * self.scale**j * z[j] * self.loc ** (n - j) for j in range(n + 1)]
            for n in range(highest + 1)
        )
        return tuple(sum(terms, Fraction(0)) for terms in raw)

    @property
    def mean(self) -> Fraction:
        """The exact mean."""
        return self.moments(1)[1]

    def central_moments(self, highest: int) -> tuple[Fraction, ...]:
        """Return the exact central moments E(x-μ)^0 … E(x-μ)^highest.

        Raises:
            ValueError: the distribution has no finite moment of that order, or none is recorded.
        """
        return self.moved(-self.mean, 1).moments(highest)

    def moved(self, loc: Fraction | int, scale: Fraction | int) -> Distribution:
        """Return the distribution of loc + scale·x."""
        return replace(self, loc=loc + scale * self.loc, scale=scale * self.scale)


def _fill_normal(rng: np.random.Generator, out: Array) -> None:
    """Fill with normals by Box and Muller's transformation, in single precision.

    Three times as fast as NumPy's ziggurat, because NumPy evaluates log, sin and cos eight at a time. A pair
    takes 32 random bits for its radius and 16 for its angle, enough because means of powers of sines and
    cosines over 2¹⁶ equally spaced angles are exact up to the order 2¹⁶ - 1. The price: |z| ends at 6.8
    (beyond lies a share of 1e-11), and moments are off by less than 1e-7, which no check resolves.
    """
    for piece in _pieces(out):
        half, rest = (piece.size + 1) // 2, piece.size // 2
        words = rng.bit_generator.random_raw((3 * half + 3) // 4)
        # The radius √(-2 ln u), in the first half of the piece where that is of single precision.
        radius = piece[:half] if piece.dtype == np.float32 else np.empty(half, np.float32)
        radius[...] = words.view(np.uint32)[:half]
        radius += np.float32(0.5)
        radius *= np.float32(2.0**-32)
        np.log(radius, out=radius)
        radius *= np.float32(-2)
        np.sqrt(radius, out=radius)
        angle = words.view(np.uint16)[2 * half : 3 * half].astype(np.float32)
        angle += np.float32(0.5)
        angle *= np.float32(2 * math.pi * 2.0**-16)
        np.multiply(radius[:rest], np.sin(angle[:rest]), out=piece[half:])
        np.multiply(radius, np.cos(angle, out=angle), out=piece[:half])


def _pieces(out: Array) -> Iterator[Array]:
    """Yield an array in flat pieces that stay in the processor's cache with the numbers they are made of."""
    flat = out.reshape(-1)
    return (flat[first : first + _PIECE] for first in range(0, flat.size, _PIECE))


def _fill_unit_interval(rng: np.random.Generator, out: Array) -> None:
    """Fill with the middles of 2¹⁶ intervals: a quarter of the random bits of NumPy's.

    Mean and symmetry are exact; the variance is off by 2.3e-10 of itself, the other moments by less than
    1e-9, which no check resolves.
    """
    # Each raw word of 64 bits makes four numbers.
    words = rng.bit_generator.random_raw((out.size + 3) // 4).view(np.uint16)
    out[...] = words[: out.size].reshape(out.shape)
    out += 0.5
    out *= 2.0**-16


def _fill_uniform(rng: np.random.Generator, out: Array) -> None:
    _fill_unit_interval(rng, out)
    out -= 0.5
    out *= math.sqrt(12)


def _fill_signs(rng: np.random.Generator, out: Array) -> None:
    # One random byte gives eight signs.
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-out.size // 8)), dtype=np.uint8), count=out.size)
    np.multiply(bits.reshape(out.shape), 2.0, out=out)
    out -= 1.0


def _fill_laplace(rng: np.random.Generator, out: Array) -> None:
    """Fill with signed exponential numbers made as ``_fill_exponential`` makes them, of variance 1."""
    for part in _pieces(out):
        signed = _words_of(rng, part.size).view(np.int32).astype(np.float32)
        signed += np.float32(0.5)
        size = np.abs(signed)
        size *= np.float32(2.0**-31)
        np.log(size, out=size)
        size *= np.float32(-math.sqrt(0.5))
        np.copysign(size, signed, out=part)


def _fill_exponential(rng: np.random.Generator, out: Array) -> None:
    """Fill with minus the logarithms of the middles of 2³² intervals less 1, in single precision.

    Twice as fast as NumPy's ziggurat. The price: they end at 22 (beyond lies a share of 1e-10), and moments
    up to the fourth are off by less than 1e-6 of themselves, which no check resolves.
    """
    for part in _pieces(out):
        size = _words_of(rng, part.size).astype(np.float32)
        size += np.float32(0.5)
        size *= np.float32(2.0**-32)
        np.log(size, out=size)
        np.subtract(np.float32(-1), size, out=part)


def _words_of(rng: np.random.Generator, many: int) -> NDArray[np.uint32]:
    """Return random numbers of 32 bits, shape (many,)."""
    return rng.bit_generator.random_raw((many + 1) // 2).view(np.uint32)[:many]


def _fill_cauchy(rng: np.random.Generator, out: Array) -> None:
    # The tangent of a uniform angle, almost twice as fast as NumPy's quotient of normals.
    rng.random(out=out)
    out -= 0.5 - 2.0**-54
    out *= math.pi
    np.tan(out, out=out)


@dataclass(frozen=True)
class _FillStudent:
    """Fills with √(ν(U^(-2/ν) - 1))·cos(2πV) for uniform U and V, made to variance 1.

    Four times as fast as NumPy's ratio of a normal and a gamma number; the cosine is in single precision.
    Source: R. W. Bailey, Polar Generation of Random Variates with the t-Distribution, Math. Comp. 62 (1994),
    779-781.
    """

    freedom: int

    def __call__(self, rng: np.random.Generator, out: Array) -> None:
        # U is 1 less a number below 1, and so never 0.
        rng.random(out=out)
        np.subtract(1, out, out=out)
        np.log(out, out=out)
        out *= -2 / self.freedom
        np.exp(out, out=out)
        out -= 1
        out *= self.freedom - 2
        np.sqrt(out, out=out)
        turned = _words_of(rng, out.size).astype(np.float32)
        turned *= np.float32(2 * math.pi * 2.0**-32)
        out *= np.cos(turned, out=turned).reshape(out.shape)


HIGHEST = 16
"""The order up to which exact moments are given."""


def _even(moment: Callable[[int], int | Fraction]) -> tuple[Fraction, ...]:
    """Return the moments of a symmetric law; ``moment`` returns those of even order."""
    return tuple(Fraction(0 if order % 2 else moment(order)) for order in range(HIGHEST + 1))


# Of an exponential number less its mean they are the subfactorials, !n = n·!(n - 1) + (-1)^n.
_SUBFACTORIALS = accumulate(range(1, HIGHEST + 1), lambda last, n: n * last + (-1) ** n, initial=1)

NORMAL = Distribution("normal", _even(lambda n: math.prod(range(1, n, 2))), _fill_normal, fills_single=True)
UNIFORM = Distribution(
    "uniform", _even(lambda n: Fraction(3 ** (n // 2), n + 1)), _fill_uniform, fills_single=True
)
UNIT_INTERVAL = Distribution(
    "U(0,1)", tuple(Fraction(1, n + 1) for n in range(HIGHEST + 1)), _fill_unit_interval, fills_single=True
)
RADEMACHER = Distribution("Rademacher", _even(lambda _: 1), _fill_signs, fills_single=True)
LAPLACE = Distribution(
    "Laplace", _even(lambda n: Fraction(math.factorial(n), 2 ** (n // 2))), _fill_laplace, fills_single=True
)
CAUCHY = Distribution("Cauchy", (Fraction(1),), _fill_cauchy)
EXPONENTIAL = Distribution(
    "centred exponential", tuple(map(Fraction, _SUBFACTORIALS)), _fill_exponential, fills_single=True
)


def student_t(freedom: int) -> Distribution:
    """Return Student's t distribution with ``freedom`` ≥ 3 degrees, standardised to unit variance.

    Its moments exist below the order ν: of even n they are (ν-2)^(n/2)·1·3⋯(n-1)/((ν-2)(ν-4)⋯(ν-n)).
    """
    if freedom < 3:
        raise ValueError(f"Student t with {freedom} degrees of freedom has no variance to standardise")

    def moment(n: int) -> Fraction:
        falling = math.prod(freedom - 2 - 2 * step for step in range(n // 2))
        return Fraction((freedom - 2) ** (n // 2) * math.prod(range(1, n, 2)), falling)

    known = tuple(moment(n) if n % 2 == 0 else Fraction(0) for n in range(min(HIGHEST, freedom - 1) + 1))
    return Distribution(f"t({freedom})", known, _FillStudent(freedom))


@dataclass(frozen=True)
class _FillNumbers:
    """Fills with given numbers, in their order, again and again."""

    numbers: tuple[Fraction, ...]

    def __call__(self, _: np.random.Generator, out: Array) -> None:
        out[...] = np.resize(np.array(self.numbers, np.float64), out.shape)


def numbers(values: Any, name: str = "given numbers") -> Distribution:
    """Return the values of a ``Given`` family: a list, or the rows of a matrix."""
    flat = np.ravel(np.array(values, dtype=object))
    return Distribution(name, (Fraction(1),), _FillNumbers(tuple(Fraction(str(value)) for value in flat)))
