"""What was found of an attention function, and whether that is what was expected."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verify.auditing.probing.corners import MOST_KEYS, Corner, in_words
from verify.auditing.probing.experiments import Mask, MeasuredScale, Precision
from verify.auditing.scales import DEFAULT, Diagnosis, ScaleExpression, Widths, diagnose, scale_expression
from verify.errors import SettingsError

HALVES = ("float16", "bfloat16")
"""The dtypes of half precision."""

WIDE = (5, 9)
"""Queries and keys of the rectangle that shows how a mask is aligned."""

BIASED = 1e-4
"""Differences of scores beyond which positions change them."""

ALIGNMENTS = ("top-left", "bottom-right")
"""How a causal mask of fewer queries than keys can lie."""

MAPPINGS = ("repeated", "interleaved")
"""How query heads can be mapped to fewer key heads."""

_EQUAL = 1e-3


@dataclass(frozen=True, repr=False)
class Probe:
    """What an attention function was found to do.

    ``scale`` is the factor of the products q·k at ``d_k``, ``heads`` and 16 tokens, NaN where nothing gives
    it; ``formula`` the expression in d, h and n that all of ``measured`` follow, None where none does.
    ``axis`` is what the weights add up to 1 over. ``mask`` is that of as many queries as keys, ``wide`` and
    ``tall`` those of 5 queries and 9 keys and the other way round, None where they are not taken.
    ``softcap`` and ``sink`` are None where there are none, ``factor`` multiplies the weights after the
    softmax, ``normalised`` names what is brought to unit length, ``bias`` is the largest difference of scores
    that positions make. ``groups`` says how grouped heads are mapped: "repeated", "interleaved", "otherwise",
    None where they are not taken. ``fits`` says that all this together gives random outputs up to rounding,
    and ``causes`` which mistakes would where it does not. ``corners`` are other sizes, strides, types and
    scores in which that was compared.
    """

    name: str
    d_k: int
    heads: int
    key_heads: int
    library: str
    scale: float
    formula: str | None
    measured: tuple[MeasuredScale, ...]
    axis: str | None
    mask: Mask
    wide: Mask | None
    tall: Mask | None
    softcap: float | None
    sink: tuple[float, ...] | None
    factor: float
    normalised: tuple[str, ...]
    bias: float
    groups: str | None
    precision: tuple[Precision, ...]
    fits: bool
    residual: float
    causes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    corners: tuple[Corner, ...] = ()

    @property
    def causal(self) -> bool:
        """Whether a query sees its own token and none after it, of as many queries as keys."""
        return self.mask.known and self.mask.shift == 0

    @property
    def alignment(self) -> str | None:
        """Where a causal mask of fewer queries than keys lies: "top-left", "bottom-right", else None."""
        if self.wide is None or self.wide.shift is None:
            return None
        return dict(zip((0, WIDE[1] - WIDE[0]), ALIGNMENTS, strict=True)).get(self.wide.shift)

    @property
    def tall_alignment(self) -> str | None:
        """Where a causal mask of more queries than keys lies."""
        if self.tall is None or self.tall.shift is None:
            return None
        return dict(zip((0, WIDE[0] - WIDE[1]), ALIGNMENTS, strict=True)).get(self.tall.shift)

    def _tall_is_other(self) -> bool:
        """Return whether more queries than keys are not masked by the rule of fewer."""
        if self.tall is None or self.wide is None or not self.tall.known:
            return False
        # Aligned at the last token, a mask moves by the difference of the numbers of tokens.
        shift = WIDE[0] - WIDE[1] if self.alignment == "bottom-right" else self.wide.shift
        return self.tall.shift != shift

    def problems(
        self,
        scale: str | float = DEFAULT,
        *,
        causal: bool | None = None,
        alignment: str | None = None,
        window: int | None = None,
        softcap: float | None = None,
        sink: bool = False,
        bias: bool = False,
        groups: str | None = None,
    ) -> tuple[str, ...]:
        """Return in a line each what is otherwise than expected; see `assert_is`.

        Raises:
            SettingsError: what is expected cannot be.
        """
        positions = f"positions {self._positions()}"
        _refuse_unknown(alignment, groups, window, softcap)
        found = [*self.faults, *self.unexplained, *self._wrong_scales(scale)]
        if self.normalised:
            found.append(f"{' and '.join(self.normalised)} are normalised")
        if causal not in (None, self.causal):
            found.append("it is causal" if self.causal else "it is not causal")
        expected = (
            ("rectangles are aligned", alignment, self.alignment),
            ("grouped heads are mapped", groups, self.groups),
        )
        found += [
            f"{what}: {is_so or 'not at all'}, not {wanted}"
            for what, wanted, is_so in expected
            if wanted not in (None, is_so)
        ]
        if (softcap is None) != (self.softcap is None) or not math.isclose(
            softcap or 1, self.softcap or 1, rel_tol=0.01
        ):
            found.append(f"soft-cap: {_or_none(self.softcap)}, not {_or_none(softcap)}")
        if self.mask.known and window != self.mask.window:
            found.append(f"window: {_or_none(self.mask.window)}, not {_or_none(window)}")
        if bias != (self.bias > BIASED):
            found.append(positions)
        if sink != (self.sink is not None):
            found.append("the softmax has a sink" if self.sink else "the softmax has no sink")
        return tuple(found)

    def assert_is(self, scale: str | float = DEFAULT, **expected: Any) -> None:
        """Raise unless the function is softmax attention with this scale, and nothing else is in it.

        ``scale`` is a number, or an expression in d, h, D = d·h and n that must hold wherever they were
        varied. ``causal``, ``alignment`` and ``groups`` are compared where given. A window (of at most 512
        keys), a soft-cap, a sink, or scores that positions change, as ALiBi's, must be expected: by their
        size as ``window=`` and ``softcap=``, by ``sink=True`` and ``bias=True``.

        Raises:
            AssertionError: something is otherwise; the text says what, and how to fix a wrong scale.
            SettingsError: what is expected cannot be.
        """
        if found := self.problems(scale, **expected):
            raise AssertionError(f"{self.name}: " + "; ".join(found))

    @property
    def faults(self) -> tuple[str, ...]:
        """What no attention does, in a line each."""
        found = []
        if self.axis is None and not self.measured:
            found.append("weights add up to 1 over no axis: there is no softmax")
        elif self.axis not in ("keys", None):
            found.append(f"the softmax is over the {self.axis}, not the keys")
        if not math.isclose(self.factor, 1, rel_tol=_EQUAL):
            found.append(f"the weights are multiplied by {self.factor:.4g} after the softmax")
        if self.axis in ("keys", None):
            found += [one for one in self.causes if not any(one in said for said in found)]
        shift, window = self.mask.shift, self.mask.window
        if self.mask.known and shift and window != 2 * shift + 1:
            found.append(f"the mask is causal, but off by {shift:+d}")
        found += (f"at {text}" for text in in_words(self.corners, "wrong"))
        return tuple(found)

    @property
    def unexplained(self) -> tuple[str, ...]:
        """What of the output is not understood, in a line each: it may be a fault, or meant."""
        found = [] if self.mask.known else ["keys are hidden by no rule of positions"]
        found += (f"at {text}" for text in in_words(self.corners, "unknown"))
        if self.corners and all(one.outcome == "refused" for one in self.corners):
            found.append("no corner was taken, so that none is known to be right")
        unknown = "the output is not this attention: {:.2g} of it is unexplained"
        if not self.fits and not self.causes:
            found.append(unknown.format(self.residual))
        return (
            *found,
            *(
                f"with d = {one.d}, h = {one.h}, n = {one.n} in {one.dtype} {unknown.format(one.residual)}"
                for one in self.measured
                if not one.fits
            ),
        )

    def _positions(self) -> str:
        """Return in words what positions do to scores."""
        return f"change scores by up to {self.bias:.4g}" if self.bias > BIASED else "change no score"

    def _wrong_scales(self, wanted: str | float) -> Iterator[str]:
        """Yield the first setting whose scale is not the wanted one, by a name that holds at all of them."""
        expression = scale_expression(str(wanted))
        wrong = [(one, found) for one in self.measured if (found := _diagnosis(one, expression)) is not None]
        if not wrong:
            return
        names = [_names(found) for one, found in wrong if one.dtype not in HALVES] or [_names(wrong[0][1])]
        lasting = set.intersection(*names)
        one, found = next((pair for pair in wrong if _names(pair[1]) <= lasting), wrong[0])
        cause = found.cause
        if not _names(found) <= lasting:
            cause = f"the scale is {self.formula or f'{one.scale:.6g}'} where {expression.text} is intended"
        yield f"{cause}, with d = {one.d}, h = {one.h}, n = {one.n} in {one.dtype}; {found.fix}"

    def __repr__(self) -> str:
        heads = "1 head" if self.heads == 1 else f"{self.heads} heads, {self.key_heads} of keys"
        sizes = f"d_k = {self.d_k}, {heads}, arrays of {self.library}"
        lines = [f"{self.name} ({sizes})", *(f"  {what:<14} {text}" for what, text in self._lines())]
        return "\n".join(lines)

    def _lines(self) -> Iterator[tuple[str, str]]:
        varied = ", ".join(
            f"{axis} = {', '.join(map(str, sorted({getattr(one, axis) for one in self.measured})))}"
            for axis in ("d", "h", "n", "dtype")
        )
        value = f"{self.scale:.6g}"
        formula = f" = {self.formula}" if self.formula not in (None, value) else ""
        yield "scale", f"{value}{formula} (measured at {varied})" if self.measured else "not found"
        yield "softmax over", self.axis or "no axis: weights do not add up to 1"
        yield "mask", _said(self.mask, self.alignment)
        if self.tall is not None and self._tall_is_other():
            yield "more queries", f"than keys are masked otherwise: {_said(self.tall, None)}"
        yield "soft-cap", _or_none(self.softcap)
        yield "positions", self._positions()
        yield (
            "sink",
            "none" if self.sink is None else ", ".join(f"{round(one, 6) + 0:.4g}" for one in self.sink),
        )
        yield "grouped heads", self.groups or "not taken"
        for one in self.precision:
            yield one.dtype, _precise(one)
        yield (
            "unexplained",
            f"{self.residual:.2g} of the output" + ("" if self.fits else ", more than rounding"),
        )
        yield from (("wrong", text) for text in self.faults)
        if self.normalised:
            yield "unusual", f"{' and '.join(self.normalised)} are normalised"
        yield from (("not known", text) for text in self.unexplained)
        if self.measured and any(self._wrong_scales(DEFAULT)):
            yield "note", f"the usual scale is {DEFAULT}, not this one; what is intended decides"
        if self.corners:
            right, refused = (
                sum(one.outcome == kind for one in self.corners) for kind in ("right", "refused")
            )
            tried = len(self.corners) - refused
            yield "corners", f"{right} of {tried} are right" + (f", {refused} not taken" if refused else "")
            yield "not tested", f"other lengths than those, and more than {MOST_KEYS:,} keys"
        yield from (("note", text) for text in self.notes)


def _refuse_unknown(
    alignment: str | None, groups: str | None, window: int | None, softcap: float | None
) -> None:
    for what, given, known in (("alignment", alignment, ALIGNMENTS), ("groups", groups, MAPPINGS)):
        if given is not None and given not in known:
            raise SettingsError(f"{what} {given}: give {' or '.join(known)}")
    if window is not None and not window > 0:
        raise SettingsError(
            f"window {window}: give a whole number above 0, or leave it out where there is none"
        )
    if softcap is not None and not 0 < softcap < math.inf:
        raise SettingsError(f"softcap {softcap}: give a number above 0, or leave it out where there is none")


def _diagnosis(one: MeasuredScale, wanted: ScaleExpression) -> Diagnosis | None:
    """Return what explains the scale of a setting where that is not the wanted one."""
    value = wanted.value(d=one.d, h=one.h, D=one.d * one.h, n=one.n)
    half = (one.interval[1] - one.interval[0]) / 2
    if abs(one.scale - value) <= 0.01 * abs(value) + (half if one.dtype in HALVES else 0):
        return None
    widths = Widths(one.d, one.h, one.d * one.h)
    return diagnose(one.scale, value, widths, uncertainty=half if math.isfinite(half) else 0.0)


def _names(found: Diagnosis) -> set[str]:
    """Return what a program may do that has such a scale."""
    return {does for candidate in found.candidates for does in candidate.does.split(", or ")}


def _or_none(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _said(mask: Mask, alignment: str | None) -> str:
    """Return in words which keys are seen."""
    if not mask.known:
        return "keys are hidden by no rule of positions"
    if mask.shift is None:
        return "none: each query sees all keys"
    shift = "" if mask.shift == 0 else f", off by {mask.shift:+d}"
    window = "" if mask.window is None else f", a window of {mask.window} keys"
    return f"causal{shift}{window}" + (f", rectangles aligned {alignment}" if alignment else "")


def _precise(found: Precision) -> str:
    """Return in words how half precision is handled."""
    answers = (
        (found.sums_in_dtype, "sums lose what it loses", "sums are kept wider"),
        (found.scores_in_dtype, "scores are rounded to it", "scores are kept wider"),
        (found.overflows, "products overflow before they are scaled", "large products do not overflow"),
    )
    return ", ".join(yes if answer else no for answer, yes, no in answers if answer is not None) or "taken"
