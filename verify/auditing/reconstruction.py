"""Whether a call's output is the attention that it declares, row by row; else which other it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from scipy import special

from verify.auditing import alternatives
from verify.auditing.alternatives import Place, Variant
from verify.auditing.arrays import unit_of
from verify.auditing.blocks import HIDDEN, Floats, Head, head_of
from verify.auditing.rows import (
    LEAST_STEP,
    SINGLE,
    Looked,
    Mapper,
    Places,
    Residuals,
    each,
    look,
    replaced,
)

if TYPE_CHECKING:
    from verify.auditing.recording import Call

    VariantKind = Callable[[Place], Iterator[Variant]]
    Model = Callable[[float], tuple[Floats, Floats]]

TOLERANCE = 0.01
"""Relative difference from the intended scale that counts as none."""

_STEPS, _FARTHEST, _SURE = 4, 0.5, 5.0
"""Gauss-Newton: iterations, the longest step relative to the scale, and standard errors."""
_SEARCHED_ROWS = 32
_NAMED_ROWS = 64
"""Rows that are off, and as many others, that a cause has to explain where all would take too long."""
_MOST_SEARCHED, _MOST_UNEXPLAINED = 3, 2
_FEWEST_FITTED = 20

_ROUNDINGS = 2.0
"""How many times what roundings at their bounds add up to a residual may be: some 4.7 standard deviations."""
_ITERATIONS, _HALVINGS, _CONVERGED = 30, 12, 1e-8
_BEST = 4
_GRID = np.geomspace(0.003, 300, 24)
"""Sizes of scores inside a row that scales are looked for at, and how many of them are tried."""

_STEP = 1e-5
_SCREENED, _SCREENED_ROWS = 3, 8
_FAR = 0.1  # relative residual after that many iterations beyond which a variant is given up
_CLEARLY = 0.5  # a wrong attention is named where it leaves at most so much of what the declared one does
_ONE_SIDED, _WHOLLY = 0.5, 0.9
"""Shares of a residual's square: what one direction explains is no noise, and is all there is to say."""
_BY_CHANCE = 1e-6  # probability that one direction explains so much of a residual that has none
_LITTLE = 8.0
"""Times its bound up to which a row may be off where most rows are not, and a coarser type explain it."""
_LOOSE = 0.5
COARSER = {
    "24 binary digits (float32)": 2.0**-24,
    "11 binary digits (TF32 or float16)": 2.0**-11,
    "8 binary digits (bfloat16)": 2.0**-8,
}
"""Precisions that programs compute in although they store finer numbers."""


class Fault(NamedTuple):
    """What was found of a block with rows that are off: its sequence's place, a row, and what explains it.

    ``explanations`` are wrong attentions that fit; ``one_sided`` names the direction in which rows are off,
    and ``is_lost`` says that the output is 0 throughout.
    """

    sequence: int
    row: int
    worst: float
    explanations: tuple[Explanation, ...]
    one_sided: str
    is_lost: bool


@dataclass
class HeadProgress:
    """What is known of a head from the sequences before: its implied scale, searches made, faults found.

    ``is_other`` says that another formula gives what looks like a coarser type, for which ``doubted``
    sequences were searched.
    """

    implied: float | None = None
    searched: int = 0
    doubted: int = 0
    is_other: bool = False
    faults: list[Fault] = field(default_factory=list)


class Examined(NamedTuple):
    """What was found of all blocks of a call, each at the scale that explains it best.

    ``coarse`` are places in
    `COARSER` plus 1 of the precision that would explain a residual, 0 where none has to.
    """

    looked: Looked
    scale: Floats
    coarse: np.ndarray


def explained(call: Call, start: float) -> tuple[Residuals, Floats]:
    """Return how outputs of all blocks differ at the scales that explain them best, and these scales."""
    found = Examination(call, start, 0, [HeadProgress() for _ in range(int(call.query.shape[1]))])
    with np.errstate(all="ignore"):
        found.fit()
        # What the start was off by is less than what a declared scale may be.
        found.again(found.blocks, found.scale + found.compared.step)
    return found.compared, found.scale


class Examination:
    """Finds what a call is like whose arrays are NumPy's; ``progress`` of its heads goes on.

    ``first`` is the place of its first sequence. All rows are compared at the declared scale, or where the
    head's sequences before implied another at that. Where it is off, Gauss-Newton over all rows goes on from
    there; where it is no use, a search over some of them. What no scale explains is named if it can be.
    """

    def __init__(
        self,
        call: Call,
        intended: float,
        first: int,
        progress: Sequence[HeadProgress],
        mapper: Mapper = map,
    ) -> None:
        self.call, self.intended, self.first = call, intended, first
        self.progress, self.mapper = progress, mapper
        sequences, self.heads = map(int, call.query.shape[:2])
        self.declared = intended if call.scale is None else call.scale
        self.blocks = np.arange(sequences * self.heads)
        before = [self.declared if one.implied is None else one.implied for one in progress]
        self.scale = np.tile(np.array(before, dtype=np.float64), sequences)
        self.unit = unit_of(call)
        self.d_v = 0 if call.value is None else int(call.value.shape[3])
        self.coarse = np.zeros(len(self.blocks), dtype=np.intp)
        self.searches: dict[int, tuple[tuple[Explanation, ...], bool]] = {}
        self.looked = look(call, self.blocks, self.scale, self.unit, mapper)

    @property
    def compared(self) -> Residuals:
        """How outputs differ, of a call that has them."""
        return cast("Residuals", self.looked[1])

    def run(self) -> Examined:
        """Return what is found."""
        if self.looked[1] is not None:
            with np.errstate(all="ignore"):
                self.fit()
                self._coarsen()
                self._name()
        room = TOLERANCE * abs(self.declared)
        # What an output does not tell was as the head's outputs before, as far as that is known.
        implied = np.abs(self.scale - self.declared) > room
        for head, one in enumerate(self.progress):
            if self.looked[1] is not None and (told := np.flatnonzero(self._told()[head :: self.heads])).size:
                last = head + self.heads * told[-1]
                one.implied = float(self.scale[last]) if implied[last] else None
        return Examined(self.looked, self.scale, self.coarse)

    def fit(self) -> None:
        """Let blocks have the scales that explain them best."""
        self._step()
        for start in dict.fromkeys((self.intended, self.declared)):
            self.again(self._wrong(), start)
        self._search()
        self._step()

    def _told(self) -> np.ndarray:
        """Return which blocks tell their scale to within the tolerance."""
        found, most = self.compared, TOLERANCE * abs(self.declared)
        return (found.slope > 0) & (
            (found.room <= most * found.slope) | (_SURE * np.sqrt(found.variance) <= most)
        )

    def _wrong(self) -> Places:
        """Return the blocks most rows of which are off."""
        return np.flatnonzero(2 * self.compared.bad > self.compared.rows)

    def _step(self) -> None:
        for _ in range(_STEPS):
            found = self.compared
            size, scale = np.abs(found.step), np.abs(self.scale)
            moves = (size > LEAST_STEP * scale) & (size <= _FARTHEST * scale)
            moves &= found.off_by_factor(self.unit) == 0
            moves &= (size > _SURE * np.sqrt(found.variance)) & (2 * found.bad <= found.rows)
            places = np.flatnonzero(moves)
            if not len(places) or not self.again(places, self.scale[places] + found.step[places]):
                return

    def again(self, places: Places, scale: Floats | float, unit: float | None = None) -> int:
        """Let blocks have another scale where that explains them; return for how many it does."""
        if not len(places):
            return 0
        scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), len(places))
        other = look(self.call, self.blocks[places], scales, unit or self.unit, self.mapper)
        found = cast("Residuals", other[1])
        better = (2 * found.bad <= found.rows) & (found.bad <= self.compared.bad[places])
        if unit is not None:
            better = found.bad == 0
        kept = (each(other[0], lambda array: array[better]), each(found, lambda array: array[better]))
        replaced(self.looked, places[better], kept)
        self.scale[places[better]] = scales[better]
        return int(better.sum())

    def _search(self) -> None:
        """Search for the scale of heads most rows of which no likely scale explains, on some of these."""
        for place in self._wrong():
            sequence, head = divmod(int(place), self.heads)
            one = self.progress[head]
            if one.searched >= _MOST_SEARCHED or place not in self._wrong():
                continue
            one.searched += 1
            rows = head_of(self.call, sequence, head, _SEARCHED_ROWS, seed=self.first + sequence)
            if not len(rows.places) or not rows.size:
                continue
            alike = self._wrong()
            alike = alike[alike % self.heads == head]
            likely = tuple(dict.fromkeys((self.intended, self.declared)))
            for starts in (likely, (*likely, *_promising(rows))):
                scales = (fitted(rows.attended, rows.output, start) for start in starts)
                if self.again(alike, min(scales, key=partial(_residual, rows))):
                    break

    def _coarsen(self) -> None:
        """Note which blocks with rows that are off a coarser precision would explain, as noise does."""
        for number, unit in enumerate(COARSER.values(), 1):
            found = self.compared
            # Noise is in all rows: where few are off, they are so by little.
            noisy = (2 * found.bad >= found.rows) | (found.worst <= _LITTLE)
            places = np.flatnonzero((found.bad > 0) & (found.attention > 0) & noisy)
            if unit <= self.unit or not len(places):
                continue
            scale, before = self.scale[places].copy(), self.compared.bad.copy()
            self.again(places, scale, unit)
            eased = np.flatnonzero((before > 0) & (self.compared.bad == 0))
            self.coarse[eased] = number
        for place in np.flatnonzero(self.coarse):
            # What has a direction, or another formula gives, is no rounding: it is judged as the program
            # declares its type.
            one_sided = _one_sided(self.compared, int(place), self.d_v)
            known = self.progress[int(place) % self.heads]
            if not (one_sided or known.is_other) and known.doubted < _MOST_UNEXPLAINED:
                known.doubted += 1
                known.is_other = bool(self._searched(int(place))[0])
            if one_sided or known.is_other:
                one = np.array([place])
                replaced(self.looked, one, look(self.call, self.blocks[one], self.scale[one], self.unit))
                self.coarse[place] = 0

    def _name(self) -> None:
        """Name what explains rows that are off, in a few sequences of each head."""
        by_factor = (self.compared.off_by_factor(self.unit) != 0) & (self.coarse == 0)
        off = (self.compared.bad > 0) | by_factor
        for place in np.flatnonzero(off):
            faults = self.progress[int(place) % self.heads].faults
            if len(faults) < _MOST_UNEXPLAINED:
                faults.append(self._fault(int(place)))

    def _searched(self, place: int) -> tuple[tuple[Explanation, ...], bool]:
        """Return what explains a block's output, searched for once, and whether all of it is 0."""
        if place in self.searches:
            return self.searches[place]
        sequence, head = divmod(place, self.heads)
        queries = int(self.call.query.shape[2])
        everything = head_of(self.call, sequence, head, np.arange(queries))
        seeing = np.flatnonzero((everything.added > -math.inf).any(axis=1))
        finite = np.isfinite(everything.output).all(axis=1) & np.isfinite(everything.query).all(axis=1)
        seeing = seeing[finite[seeing]]
        everything = everything.at(seeing)
        some = everything
        if some.added.size > alternatives.MOST_SCORES:
            left = everything.output - everything.attend(float(self.scale[place]))
            off = np.argsort(-np.linalg.norm(left, axis=1))
            rest = np.linspace(0, len(seeing) - 1, min(_NAMED_ROWS, len(seeing))).astype(np.intp)
            some = everything.at(np.union1d(off[:_NAMED_ROWS], rest))
        found: tuple[Explanation, ...] = ()
        if some.output.size >= _FEWEST_FITTED and some.size:
            where = Place(self.call, sequence, head, some, self.intended)
            found = explanations(where, dict.fromkeys((self.intended, float(self.scale[place]), 1.0)))
        self.searches[place] = found, not everything.size
        return self.searches[place]

    def _fault(self, place: int) -> Fault:
        worst, row = float(self.compared.worst[place]), int(self.compared.place[place])
        found, is_lost = self._searched(place)
        # So coarse a type leaves all rows in the sums.
        one = np.array([place])
        _, loose = look(self.call, self.blocks[one], self.scale[one], _LOOSE)
        one_sided = _one_sided(cast("Residuals", loose), 0, self.d_v, _WHOLLY)
        return Fault(self.first + place // self.heads, row, worst, found, one_sided, is_lost)


def _one_sided(compared: Residuals, place: int, d_v: int, least: float = _ONE_SIDED) -> str:
    """Return the direction that explains so much of a block's residual, nothing where none does."""
    error, numbers = float(compared.error[place]), d_v * int(compared.rows[place])
    for direction, what in (
        (2, "keys that the mask hides have weight"),
        (1, "outputs are too large or too small by one factor"),
    ):
        size = float(compared.length[place, direction])
        if size > 0 and numbers > 1 and error > 0:
            share = float(compared.along[place, direction]) ** 2 / size / error
            # Of a residual of normal numbers the share along a direction has a beta distribution.
            chance = special.betainc((numbers - 1) / 2, 0.5, max(0.0, 1 - share))
            if share > least and chance < _BY_CHANCE:
                return what
    return ""


@dataclass(frozen=True)
class Explanation:
    """An attention that gives the output up to rounding: what the program does, what to change.

    ``scale`` is the one it does so with, or where ``is_factor`` the factor of its output.
    """

    cause: str
    fix: str
    scale: float
    is_factor: bool
    residual: float


def explanations(place: Place, starts: Iterable[float]) -> tuple[Explanation, ...]:
    """Return the wrong attentions that give a head's output up to rounding, and better than the declared one.

    ``starts`` are likely scales, the intended one first. If some explain the output with one of these,
    those are returned; else those that do so with any scale that Gauss-Newton reaches from there.
    """
    tried = tuple(dict.fromkeys(starts))
    for kinds in ((alternatives.axes_of_arrays,), alternatives.KINDS):
        if found := _fitting(place, tried, kinds):
            # One that has an expected scale explains more than one that needs its own.
            return tuple([one for one in found if _is_expected(one, tried)] or found)
    return ()


def _fitting(place: Place, starts: Sequence[float], kinds: Iterable[VariantKind]) -> list[Explanation]:
    """Return the attentions of these kinds that fit; what fits a few rows must fit them all."""
    few = replace(place, head=place.head.thinned(_SCREENED_ROWS))
    likely: dict[str, Explanation] = {}
    for variant in (one for kind in kinds for one in kind(few)):
        if (explanation := _fit(variant, few.head.output, starts)) is not None:
            likely[variant.cause] = explanation
    if not likely:
        return []
    most = _CLEARLY * _declared(place.head, starts)
    return [
        explanation
        for variant in (one for kind in kinds for one in kind(place))
        if variant.cause in likely
        and (explanation := _fit(variant, place.head.output, (likely[variant.cause].scale,))) is not None
        and explanation.residual <= most
    ]


def _declared(head: Head, starts: Iterable[float]) -> float:
    """Return the residual of the declared attention, with the best scale reached from ``starts``."""
    outputs = (head.attend(fitted(head.attended, head.output, start)) for start in starts)
    return min(float(np.linalg.norm(head.output - output)) for output in outputs) / head.size


def _is_expected(found: Explanation, starts: Sequence[float]) -> bool:
    """Return whether an explanation needs no number of its own; a factor may only be the intended scale."""
    known = starts[:1] if found.is_factor else starts
    return any(math.isclose(found.scale, start, rel_tol=0.01) for start in known)


def _fit(variant: Variant, output: Floats, starts: Sequence[float]) -> Explanation | None:
    size = float(np.linalg.norm(output))
    model = _numerical(variant.attend)
    for start in variant.starts or starts:
        scale = fitted(model, output, start, _SCREENED)
        residual = float(np.linalg.norm(output - variant.attend(scale)))
        if residual > _FAR * size:
            continue
        scale = fitted(model, output, scale)
        residual = float(np.linalg.norm(output - variant.attend(scale)))
        if residual <= _allowed(variant, scale, size):
            if variant.says is not None:
                return Explanation(
                    variant.says(scale), variant.fix, starts[0], is_factor=False, residual=residual / size
                )
            return Explanation(variant.cause, variant.fix, scale, variant.is_factor, residual / size)
    return None


def _allowed(variant: Variant, scale: float, size: float) -> float:
    """Return the residual that rounding may leave; weights that no model covers lose two more roundings.

    Rounded are the inputs, where a program casts them; the scaled score, up to three times, with bias and
    soft-cap; the weights; and the output. Sums in single precision lose more the longer they are. Roundings
    count as independent, each with its bound for a standard deviation.
    """
    head, scale = variant.head, 1.0 if variant.is_factor else scale
    weights = head.weights(scale) if variant.weights is None else variant.weights(scale)
    output, value = weights @ head.value, head.value
    # A value that gets more weight draws the output away from where weights that add up to 1 have it.
    centre = output if variant.weights is None else np.zeros_like(output)
    width, keys = (head.query.shape[1], len(head.key)) if head.unit <= SINGLE else (0, 1)
    terms = scale**2 * (head.query**2 @ (head.key**2).T)
    added = np.where(np.isfinite(head.added), head.added, 0.0)
    of_scores = 3 * ((scale * head.products) ** 2 + added**2) + (2 + width / 2) * terms
    # An error of a score moves the output by weight·(value - centre).
    moved = weights**2 * of_scores
    through = moved @ value**2 - 2 * centre * (moved @ value) + centre**2 * moved.sum(axis=1, keepdims=True)
    of_outputs = 2 * (weights**2 @ value**2) + keys * output**2
    modelled = float(np.maximum(through, 0).sum() + of_outputs.sum())
    return _ROUNDINGS * head.unit * math.sqrt(modelled + (2 * size) ** 2)


def _numerical(attend: Callable[[float], Floats]) -> Model:
    """Return a model whose derivative is a central difference."""

    def model(scale: float) -> tuple[Floats, Floats]:
        step = _STEP * abs(scale) or _STEP
        return attend(scale), (attend(scale + step) - attend(scale - step)) / (2 * step)

    return model


def fitted(model: Model, target: Floats, start: float, iterations: int = _ITERATIONS) -> float:
    """Return the scale to which Gauss-Newton with halved steps comes from ``start``.

    ``model`` gives the output at a scale and its derivative by it.
    """
    scale = start
    output, slope = model(scale)
    error = target - output
    for _ in range(iterations):
        steepness = float(np.vdot(slope, slope))
        if steepness == 0 or not math.isfinite(steepness):
            return scale
        step = float(np.vdot(slope, error)) / steepness
        for _halving in range(_HALVINGS):
            output, slope = model(scale + step)
            left = target - output
            if np.vdot(left, left) <= np.vdot(error, error):
                break
            step /= 2
        else:
            return scale
        scale, error = scale + step, left
        if abs(step) <= _CONVERGED * abs(scale):
            return scale
    return scale


def _promising(head: Head) -> list[float]:
    """Return the scales of a grid, of either sign, with the least residuals."""
    seen = head.added > HIDDEN
    count = seen.sum(axis=1, keepdims=True)
    mean = np.where(seen, head.products, 0).sum(axis=1, keepdims=True) / count
    squares = np.where(seen, (head.products - mean) ** 2, 0).sum(axis=1, keepdims=True) / count
    spread = math.sqrt(float(squares.mean()))
    if spread == 0:
        return []
    scales = np.concatenate([_GRID, -_GRID]) / spread
    residuals = [_residual(head, float(scale)) for scale in scales]
    return [float(scales[place]) for place in np.argsort(residuals)[:_BEST]]


def _residual(head: Head, scale: float) -> float:
    return float(np.linalg.norm(head.output - head.attend(scale)))
