"""What an attention function does, found by giving it chosen inputs: a test of a kernel in three lines."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verify.auditing.alternatives import Place
from verify.auditing.candidates import Widths, diagnose
from verify.auditing.heads import head_of
from verify.auditing.intention import DEFAULT, scale_expression
from verify.auditing.probing.callee import RefusedError, callee_of, name_of
from verify.auditing.probing.formula import formula_of
from verify.auditing.probing.precision import Precision, precision_of
from verify.auditing.probing.scores import (
    Measured,
    Model,
    measure,
    normalised,
    random_arrays,
    small_scale,
    softcap_of,
)
from verify.auditing.probing.weights import (
    Mask,
    Sizes,
    axis_of,
    groups_of,
    mask_of,
    position_bias,
    rectangle,
    sinks,
    weights,
)
from verify.auditing.reconstruction import explanations
from verify.auditing.recording import Call
from verify.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verify.auditing.heads import Floats
    from verify.auditing.probing.callee import Callee

_TOKENS = 16
_WIDE = (5, 9)
_HALVES = ("float16", "bfloat16")
_BIASED = 1e-4
_EQUAL = 1e-3
_MOST = 4096


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
    and ``causes`` which mistakes would where it does not.
    """

    name: str
    d_k: int
    heads: int
    key_heads: int
    library: str
    scale: float
    formula: str | None
    measured: tuple[Measured, ...]
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

    @property
    def causal(self) -> bool:
        """Whether a query sees its own token and those before it, of as many queries as keys."""
        return self.mask.known and self.mask.shift == 0

    @property
    def alignment(self) -> str | None:
        """Where a causal mask of fewer queries than keys lies: "top-left", "bottom-right", else None."""
        if self.wide is None or self.wide.shift is None:
            return None
        return {0: "top-left", _WIDE[1] - _WIDE[0]: "bottom-right"}.get(self.wide.shift)

    def problems(
        self,
        scale: str | float = DEFAULT,
        *,
        causal: bool | None = None,
        alignment: str | None = None,
        softcap: float | None = None,
        sink: bool = False,
        groups: str | None = None,
    ) -> tuple[str, ...]:
        """Return in a line each what is otherwise than expected; see `assert_is`."""
        expected = (
            ("causal", causal, self.causal),
            ("aligned", alignment, self.alignment),
            ("mapping of grouped heads", groups, self.groups),
        )
        found = [*self._faults(), *self._wrong_scales(scale)]
        found += [
            f"{what}: {is_so}, not {wanted}"
            for what, wanted, is_so in expected
            if wanted not in (None, is_so)
        ]
        if (softcap is None) != (self.softcap is None) or not math.isclose(
            softcap or 1, self.softcap or 1, rel_tol=0.01
        ):
            found.append(f"soft-cap: {_or_none(self.softcap)}, not {_or_none(softcap)}")
        if sink != (self.sink is not None):
            found.append("the softmax has a sink" if self.sink else "the softmax has no sink")
        return tuple(found)

    def assert_is(self, scale: str | float = DEFAULT, **expected: Any) -> None:
        """Raise unless the function is softmax attention with this scale, and nothing else is in it.

        ``scale`` is a number, or an expression in d, h, D = d·h and n that must hold wherever they were
        varied. ``causal``, ``alignment`` and ``groups`` are compared where given. A soft-cap or sink must be
        expected, by ``softcap=`` its value and ``sink=True``.

        Raises:
            AssertionError: something is otherwise; the text says what, and how to fix a wrong scale.
        """
        if found := self.problems(scale, **expected):
            raise AssertionError(f"{self.name}: " + "; ".join(found))

    def _faults(self) -> Iterator[str]:
        if self.axis not in ("keys", None):
            yield f"the softmax is over the {self.axis}, not the keys"
        if not math.isclose(self.factor, 1, rel_tol=_EQUAL):
            yield f"the weights are multiplied by {self.factor:.4g} after the softmax"
        if self.normalised:
            yield f"{' and '.join(self.normalised)} are normalised"
        if self.bias > _BIASED:
            yield f"positions change scores by up to {self.bias:.4g}"
        if not self.mask.known:
            yield "keys are hidden by no rule of positions"
        yield from self.causes
        if not self.fits and not self.causes:
            yield f"the output is not this attention: {self.residual:.2g} of it is unexplained"

    def _wrong_scales(self, wanted: str | float) -> Iterator[str]:
        """Yield the first setting whose scale is not the wanted one, by name."""
        expression = scale_expression(str(wanted))
        for one in self.measured:
            value = expression.value(d=one.d, h=one.h, D=one.d * one.h, n=one.n)
            if not math.isclose(one.scale, value, rel_tol=0.01):
                half = (one.interval[1] - one.interval[0]) / 2
                widths = Widths(one.d, one.h, one.d * one.h, one.n)
                found = diagnose(one.scale, value, widths, uncertainty=half if math.isfinite(half) else 0.0)
                yield f"{found.cause}, with d = {one.d}, h = {one.h}, n = {one.n}; {found.fix}"
                return

    def __repr__(self) -> str:
        sizes = f"d_k = {self.d_k}, {self.heads} heads, {self.key_heads} of keys, arrays of {self.library}"
        lines = [f"{self.name} ({sizes})", *(f"  {what:<14} {text}" for what, text in self._lines())]
        return "\n".join(lines)

    def _lines(self) -> Iterator[tuple[str, str]]:
        varied = ", ".join(
            f"{axis} = {', '.join(map(str, sorted({getattr(one, axis) for one in self.measured})))}"
            for axis in ("d", "h", "n")
        )
        value = f"{self.scale:.6g}"
        formula = f" = {self.formula}" if self.formula not in (None, value) else ""
        yield "scale", f"{value}{formula} (measured at {varied})" if self.measured else "not found"
        yield "softmax over", self.axis or "no axis: weights do not add up to 1"
        yield "mask", _said(self.mask, self.alignment)
        yield "soft-cap", _or_none(self.softcap)
        yield "sink", "none" if self.sink is None else ", ".join(f"{one:.4g}" for one in self.sink)
        yield "grouped heads", self.groups or "not taken"
        for one in self.precision:
            yield one.dtype, _precise(one)
        yield (
            "unexplained",
            f"{self.residual:.2g} of the output" + ("" if self.fits else ", more than rounding"),
        )
        yield from (("wrong", text) for text in self._faults())
        yield from (("note", text) for text in self.notes)


def probe(
    attention: Callable[..., Any],
    d_k: int = 64,
    *,
    heads: int = 4,
    key_heads: int | None = None,
    layout: str = "bhtd",
    library: str | None = None,
) -> Probe:
    """Return what a function of (q, k, v) does, found by giving it chosen arrays.

    Arrays have the axes that ``layout`` names: b for sequences, h for heads, t for tokens, d for components;
    b and h may be missing. ``library`` is "numpy", "torch" or "jax", by default the first whose arrays the
    function takes. Values have as many components as keys. The function must give the same for the same
    arrays: switch dropout off.

    Raises:
        SettingsError: the function raises, or returns something else than an output; one line says what.
    """
    heads = heads if "h" in layout else 1
    key_heads = key_heads or heads
    if not (1 <= d_k <= _MOST and 1 <= heads <= _MOST and heads % key_heads == 0):
        raise SettingsError(
            f"d_k = {d_k}, heads = {heads}, key_heads = {key_heads}: give whole groups of heads"
        )
    sizes = Sizes(heads, key_heads, d_k)
    callee = callee_of(attention, layout, library, sizes)
    try:
        return _Probing(callee, sizes).found()
    except RefusedError as error:
        raise SettingsError(
            f"{name_of(attention)}: {error}; give a function of queries, keys and values"
        ) from error


@dataclass(frozen=True)
class _Probing:
    """The experiments with one function, one after another, for each needs what those before it found."""

    callee: Callee
    sizes: Sizes

    def found(self) -> Probe:
        """Return what all experiments found."""
        callee, sizes = self.callee, self.sizes
        usual = weights(callee, sizes.queries(6, sequences=2), sizes.keys(6, sequences=2))
        if not np.isfinite(usual).all():
            raise RefusedError("returned NaN or infinities for moderate numbers")
        model, bias, scale = self._model(usual)
        measured, notes = self._measured(model, scale)
        first = measured[0]
        known = first.fits and math.isfinite(first.interval[1])
        return Probe(
            name=name_of(callee.function),
            d_k=sizes.width,
            heads=sizes.heads,
            key_heads=sizes.key_heads,
            library=callee.library,
            scale=first.scale if known else math.nan,
            formula=formula_of(measured) if all(one.fits for one in measured) else None,
            measured=measured if known else (),
            axis="keys" if model.sink or model.factor != 1 else axis_of(usual),
            mask=model.mask,
            wide=rectangle(callee, sizes, *_WIDE),
            tall=rectangle(callee, sizes, *_WIDE[::-1]),
            softcap=model.softcap,
            sink=model.sink,
            factor=model.factor,
            normalised=model.normalised,
            bias=bias,
            groups=self._groups(),
            precision=self._precision(model, first.scale) if known else (),
            fits=first.fits,
            residual=first.residual,
            causes=() if first.fits else self._causes(model, scale),
            notes=notes,
        )

    def _model(self, usual: Floats) -> tuple[Model, float, float]:
        """Return what is found beside the scale, the bias of positions, and a first estimate of the scale."""
        callee, sizes = self.callee, self.sizes
        axis = axis_of(usual)
        sink, factor = (None, 1.0) if axis else sinks(callee, sizes)
        norms = normalised(callee, sizes)
        scale = 0.0 if norms else small_scale(callee, sizes)
        cap = softcap_of(callee, sizes, scale)[0] if scale else None
        model = Model(mask_of(usual), cap, sink, factor if math.isfinite(factor) else 1.0, norms)
        return model, position_bias(callee, sizes), scale or sizes.width**-0.5

    def _measured(self, model: Model, scale: float) -> tuple[tuple[Measured, ...], tuple[str, ...]]:
        """Return the scale as it is and with width, heads and tokens varied, and what was not taken."""
        sizes = self.sizes
        first = measure(self.callee, sizes, model, _TOKENS, (scale,))
        found, notes = [first], []
        for what, others, tokens in (
            (
                "d_k",
                (replace(sizes, width=2 * sizes.width), replace(sizes, width=max(1, sizes.width // 2))),
                _TOKENS,
            ),
            ("the number of heads", (Sizes(2 * sizes.heads, 2 * sizes.key_heads, sizes.width),), _TOKENS),
            ("the number of tokens", (sizes,), 2 * _TOKENS),
        ):
            for other in others:
                try:
                    found.append(self._varied(other, model, tokens, first.scale))
                except RefusedError:
                    notes.append(f"{what} could not be varied: nothing is known of how the scale follows it")
                    break
        return tuple(found), tuple(notes)

    def _varied(self, sizes: Sizes, model: Model, tokens: int, scale: float) -> Measured:
        """Return the scale with other sizes; each head beyond the known ones has the sink of one of them."""
        if model.sink is not None and sizes.heads != self.sizes.heads:
            raise RefusedError("its sinks belong to its heads")
        estimate = scale if model.normalised else small_scale(self.callee, sizes)
        return measure(self.callee, sizes, model, tokens, (estimate or scale,))

    def _groups(self) -> str | None:
        """Return how query heads read key heads where there are fewer of these."""
        sizes = self.sizes
        if sizes.heads == 1:
            return None
        if sizes.key_heads == sizes.heads:
            if sizes.heads % 2 or sizes.heads < 4:
                return None
            sizes = replace(sizes, key_heads=sizes.heads // 2)
        mapping = groups_of(self.callee, sizes)
        if mapping is None:
            return None
        shared = sizes.heads // sizes.key_heads
        rules = {
            "repeated": [head // shared for head in range(sizes.heads)],
            "interleaved": [head % sizes.key_heads for head in range(sizes.heads)],
        }
        found = [name for name, rule in rules.items() if mapping == tuple((one, one) for one in rule)]
        return found[0] if found else "otherwise"

    def _precision(self, model: Model, scale: float) -> tuple[Precision, ...]:
        found = (precision_of(self.callee, self.sizes, model, scale, dtype) for dtype in _HALVES)
        return tuple(one for one in found if one is not None)

    def _causes(self, model: Model, scale: float) -> tuple[str, ...]:
        """Return the mistakes that would give the output, each in a line."""
        query, key, value, output = random_arrays(self.callee, self.sizes, _TOKENS, scale)
        seen = model.mask.visible(_TOKENS, _TOKENS)
        sink = None if model.sink is None else np.array(model.sink)
        call = Call(query, key, value, output, mask=seen, softcap=model.softcap, sink=sink, dtype="float32")
        for number in range(self.sizes.heads):
            head = head_of(call, 0, number, 8)
            starts = (scale, self.sizes.width**-0.5, 1.0)
            if found := explanations(Place(call, 0, number, head, scale), dict.fromkeys(starts)):
                return tuple(one.cause for one in found[:2])
        return ()


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
