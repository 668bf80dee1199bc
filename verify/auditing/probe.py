"""What an attention function does, found by giving it chosen inputs: a test of a kernel in three lines."""

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from verify.auditing.probing.corners import MOST_KEYS, Corner, Corners, in_words, names_of
from verify.auditing.probing.function import Callee, RefusedError, Sizes, callee_of, name_of
from verify.auditing.probing.model import (
    ALIGNMENTS,
    BIASED,
    GROUPINGS,
    UNITS,
    Found,
    MeasuredScale,
    formula_of,
    identify,
)
from verify.auditing.scales import DEFAULT, Diagnosis, Widths, diagnose, scale_expression
from verify.errors import SettingsError, unknown

_MOST = 4096
_HALVES = ("float16", "bfloat16")
_GROUPS = {
    "interleaved": "as repeat_interleave maps them: query heads 0 and 1 read key head 0",
    "tiled": "as repeat maps them: query heads 0 and 1 read key heads 0 and 1",
}


@dataclass(frozen=True, repr=False)
class Probe:
    """What an attention function was found to do.

    ``found`` has the model of it, the scales at all settings, and its faults. ``corners`` are other sizes,
    strides, types and scores in which the function was compared with that.
    """

    name: str
    sizes: Sizes
    library: str
    found: Found
    corners: tuple[Corner, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())

    @property
    def scale(self) -> float:
        """The factor of the products q·k at these sizes and 16 tokens, NaN where nothing gives it."""
        return self.found.measured[0].scale if self.found.measured else math.nan

    @property
    def formula(self) -> str | None:
        """The expression in d, h and n that the scale follows wherever these were varied, None for none."""
        single = [one for one in self.found.measured if one.dtype not in _HALVES]
        return formula_of(single) if single and not any(one.misfit for one in single) else None

    @property
    def causal(self) -> bool:
        """Whether a query sees its own token and none after it, of as many queries as keys."""
        return self.found.model.mask.known and self.found.model.mask.shift == 0

    @property
    def faults(self) -> tuple[str, ...]:
        """What no attention does, in a line each."""
        return (*self.found.faults, *(f"at {text}" for text in in_words(self.corners, "wrong")))

    @property
    def unexplained(self) -> tuple[str, ...]:
        """What is not understood or was not tried, in a line each: it may be a fault, or meant."""
        lines = [*self.found.unexplained, *(f"at {text}" for text in in_words(self.corners, "unknown"))]
        if self.corners and all(corner.outcome == "refused" for corner in self.corners):
            lines.append("no corner was taken, so that none is known to be right")
        return tuple(lines)

    def problems(  # noqa: C901 - one line for each expectation
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
        for what, asked, known in (("alignment", alignment, ALIGNMENTS), ("groups", groups, GROUPINGS)):
            if asked is not None and asked not in known:
                raise SettingsError(f"{what} {asked}: give {' or '.join(known)}")
        if window is not None and not window > 0:
            raise SettingsError(f"window {window}: give a whole number above 0, or leave it out")
        if softcap is not None and not 0 < softcap < math.inf:
            raise SettingsError(f"softcap {softcap}: give a number above 0, or leave it out")
        model, found = self.found.model, self.found
        lines = [*self.faults, *self.unexplained, *self.wrong_scale(scale)]
        if causal not in (None, self.causal):
            lines.append("it is causal" if self.causal else "it is not causal")
        for what, wanted, is_so in (
            ("rectangles are aligned", alignment, model.wide),
            ("grouped heads are mapped", groups, found.groups),
        ):
            if wanted not in (None, is_so):
                lines.append(f"{what}: {is_so or 'not at all'}, not {wanted}")
        same_cap = math.isclose(softcap or 1, model.softcap or 1, rel_tol=0.01)
        if (softcap is None) != (model.softcap is None) or not same_cap:
            lines.append(f"soft-cap: {_or_none(model.softcap)}, not {_or_none(softcap)}")
        if model.mask.known and window != model.mask.window:
            lines.append(f"window: {_or_none(model.mask.window)}, not {_or_none(window)}")
        if bias != (found.bias > BIASED):
            lines.append(f"positions {self._positions()}")
        if sink != (model.sink is not None):
            lines.append("the softmax has a sink" if model.sink else "the softmax has no sink")
        return tuple(lines)

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
        if problems := self.problems(scale, **expected):
            raise AssertionError(f"{self.name}: " + "; ".join(problems))

    def wrong_scale(self, wanted: str | float = DEFAULT) -> Iterator[str]:
        """Yield the first setting whose scale is not the wanted one, by a name that holds at all of them."""
        expression = scale_expression(str(wanted))
        wrong = [
            (one, diagnosis)
            for one in self.found.measured
            if (diagnosis := _diagnosis(one, one.value(expression.text))) is not None
        ]
        if wrong:
            names = [_names(diagnosis) for one, diagnosis in wrong if one.dtype not in _HALVES]
            lasting = set.intersection(*(names or [_names(wrong[0][1])]))
            one, diagnosis = next((pair for pair in wrong if _names(pair[1]) <= lasting), wrong[0])
            cause = diagnosis.cause
            if not _names(diagnosis) <= lasting:
                is_so = self.formula or f"{one.scale:.6g}"
                cause = f"the scale is {is_so} where {expression.text} is intended"
            yield f"{cause}, with d = {one.d}, h = {one.h}, n = {one.n} in {one.dtype}; {diagnosis.fix}"

    def __repr__(self) -> str:
        heads = (
            "1 head" if self.sizes.heads == 1 else f"{self.sizes.heads} heads, {self.sizes.key_heads} of keys"
        )
        sizes = f"d_k = {self.sizes.width}, {heads}, arrays of {self.library}"
        return "\n".join(
            [f"{self.name} ({sizes})", *(f"  {what:<14} {text}" for what, text in self._lines())]
        )

    def _lines(self) -> Iterator[tuple[str, str]]:
        found, model = self.found, self.found.model
        if found.measured:
            varied = ", ".join(
                f"{axis} = {', '.join(map(str, sorted({getattr(one, axis) for one in found.measured})))}"
                for axis in ("d", "h", "n", "dtype")
            )
            value = f"{self.scale:.6g}"
            formula = f" = {self.formula}" if self.formula not in (None, value) else ""
            yield "scale", f"{value}{formula} (measured at {varied})"
            yield "softmax over", found.axis or "keys"
            yield "mask", self._mask()
            yield "soft-cap", _or_none(model.softcap)
            yield "positions", self._positions()
            yield "sink", "none" if model.sink is None else ", ".join(f"{one + 0:.4g}" for one in model.sink)
            said = f", {_GROUPS[found.groups]}" if found.groups in _GROUPS else ""
            yield "grouped heads", f"{found.groups or 'not taken'}{said}"
            for dtype, is_coarse in found.sums.items():
                yield dtype, "sums lose what it loses" if is_coarse else "sums are kept wider"
            if UNITS[model.dtype] > 2.0**-24:
                yield "computes", f"as coarsely as {model.dtype}, whatever its arrays are"
        yield from (("wrong", text) for text in self.faults)
        yield from (("not known", text) for text in self.unexplained)
        if any(self.wrong_scale()):
            yield "note", f"the usual scale is {DEFAULT}, not this one; what is intended decides"
        if self.corners:
            right, refused = (
                sum(one.outcome == kind for one in self.corners) for kind in ("right", "refused")
            )
            tried = len(self.corners) - refused
            yield "corners", f"{right} of {tried} are right" + (f", {refused} not taken" if refused else "")
            yield "not tested", f"other lengths than those, and more than {MOST_KEYS:,} keys"
        yield from (("note", text) for text in (*found.notes, *self.notes))

    def _mask(self) -> str:
        """Return in words which keys are seen."""
        model = self.found.model
        shift, window, known = model.mask
        if not known:
            return "keys are hidden by no rule of positions"
        if shift is None and window is None:
            return "none: each query sees all keys"
        off = "" if shift in (0, None) else f", off by {shift:+d}"
        near = "" if window is None else f", a window of {window} keys"
        lies = f", rectangles aligned {model.wide}" if model.wide else ""
        other = f", with more queries than keys {model.tall}" if model.tall not in (None, model.wide) else ""
        return f"causal{off}{near}{lies}{other}"

    def _positions(self) -> str:
        """Return in words what positions do to scores."""
        bias = self.found.bias
        return f"change scores by up to {bias:.4g}" if bias > BIASED else "change no score"


def probe(
    attention: Callable[..., Any],
    d_k: int = 64,
    *,
    heads: int = 4,
    key_heads: int | None = None,
    layout: str = "bhtd",
    library: str | None = None,
    device: str | None = None,
    gradient: bool = False,
    corners: bool = True,
) -> Probe:
    """Return what a function of (q, k, v) does, found by giving it chosen arrays.

    Arrays have the axes that ``layout`` names: b for sequences, h for heads, t for tokens, d for components;
    b and h may be missing. ``library`` is "numpy", "torch" or "jax", by default the first whose arrays the
    function takes; ``device`` is where PyTorch's are put. Values have as many components as keys. The
    function must give the same for the same arrays: switch dropout off. What is found is then compared in
    ``corners``: at other lengths, rectangles, strides, types and sizes of scores, and where ``gradient`` is
    asked for, backwards.

    Raises:
        SettingsError: the function raises, or returns something else than an output; one line says what.
    """
    sizes = _sizes(d_k, heads, key_heads, layout)
    callee = callee_of(attention, layout, library, device, sizes)
    try:
        # What is no attention gives sums of 0 and overflows; what matters of that is in what is found.
        with np.errstate(all="ignore"), warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
            warnings.simplefilter("ignore", RuntimeWarning)
            found = identify(callee, sizes)
            tried, note = _corners(found, callee, sizes) if corners else (None, "")
            names = () if tried is None else tried.checks(gradient=gradient)
            return Probe(
                name_of(attention),
                sizes,
                callee.library,
                found,
                () if tried is None else tuple(map(tried.at, names)),
                (f"its corners were not tried: {note}",) if note else (),
            )
    except RefusedError as error:
        raise SettingsError(
            f"{name_of(attention)}: {error}; give a function of queries, keys and values"
        ) from error


def parametrize_probes(  # noqa: C901 - its functions wait for the tests
    attention: Callable[..., Any],
    d_k: int = 64,
    *,
    gradient: bool = False,
    expected_failures: Mapping[str, str] = MappingProxyType({}),
    scale: str | float = DEFAULT,
    expected: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> Any:
    """Return a decorator of pytest that gives a test one argument, ``check``, for each check of a function.

    The test calls ``check()``. The first is "attention": `Probe.assert_is` with ``scale`` and what is
    ``expected``; the others are corners. A corner whose arrays are refused is skipped. ``expected_failures``
    are names of checks that are known to fail, with the reason; one that passes fails. ``options`` are those
    of `probe`.

    Raises:
        SettingsError: an expected failure names no check.
    """
    import pytest  # noqa: PLC0415 - only tests have it

    layout = options.get("layout", "bhtd")
    sizes = _sizes(d_k, options.get("heads", 4), options.get("key_heads"), layout)

    @functools.cache
    def found() -> Probe:
        return probe(attention, d_k, corners=False, **options)

    @functools.cache
    def corners() -> tuple[Corners | None, str]:
        callee = Callee(attention, layout, found().library, options.get("device"))
        return _corners(found().found, callee, sizes)

    def check(name: str) -> None:
        if name == "attention":
            found().assert_is(scale, **expected)
            return
        tried, note = corners()
        if tried is None:
            pytest.skip(note)
        corner = tried.at(name)
        if corner.outcome == "refused":
            pytest.skip(corner.text)
        assert corner.outcome == "right", f"{found().name}: {name}: {corner.text}"  # noqa: S101 - a test

    names = ["attention", *names_of(sizes, gradient=gradient)]
    for name in expected_failures:
        if name not in names:
            raise SettingsError(unknown("check", name, names, "they are the names of tests"))
    parameters = [
        pytest.param(
            functools.partial(check, name),
            id=name,
            marks=[pytest.mark.xfail(reason=expected_failures[name], strict=True)]
            if name in expected_failures
            else [],
        )
        for name in names
    ]
    return pytest.mark.parametrize("check", parameters)


def _corners(found: Found, callee: Callee, sizes: Sizes) -> tuple[Corners | None, str]:
    """Return the corners of a function, None with the reason where it is not known what it would do there."""
    model = found.model
    if not found.measured or not model.mask.known or model.is_biased or model.factor != 1:
        return None, "what it does is not the attention of queries and keys alone"
    single = [one for one in found.measured if one.dtype == callee.dtype]
    formula = formula_of(single)

    def scale(d: int, h: int, n: int) -> float:
        if formula is None:
            return single[0].scale if (d, h) == (sizes.width, sizes.heads) else math.nan
        try:
            return MeasuredScale(d, h, n, "", 0.0, 0.0).value(formula)
        except SettingsError:  # ln n is 0 at one key
            return math.nan

    return Corners(callee, sizes, model, scale), ""


def _sizes(d_k: int, heads: int, key_heads: int | None, layout: str) -> Sizes:
    if (
        not isinstance(layout, str)
        or len(set(layout)) < len(layout)
        or not set("td") <= set(layout) <= set("bhtd")
    ):
        raise SettingsError(f"layout {layout!r}: name the axes by letters of 'bhtd', t and d at least")
    if "h" not in layout:
        heads = key_heads = 1
    key_heads = heads if key_heads is None else key_heads
    for name, size in (("d_k", d_k), ("heads", heads), ("key_heads", key_heads)):
        if not isinstance(size, int | np.integer) or not 1 <= size <= _MOST:
            raise SettingsError(f"{name} {size!r}: give a whole number from 1 to {_MOST}")
    if heads % key_heads:
        raise SettingsError(f"heads {heads}, key_heads {key_heads}: give whole groups of heads")
    return Sizes(int(heads), int(key_heads), int(d_k))


def _diagnosis(one: MeasuredScale, wanted: float) -> Diagnosis | None:
    """Return what explains the scale of a setting where that is not the wanted one."""
    if abs(one.scale - wanted) <= 0.01 * abs(wanted) + (one.half if one.dtype in _HALVES else 0):
        return None
    return diagnose(one.scale, wanted, Widths(one.d, one.h, one.d * one.h), uncertainty=one.half)


def _names(diagnosis: Diagnosis) -> set[str]:
    """Return what a program may do that has such a scale."""
    return {does for candidate in diagnosis.candidates for does in candidate.does.split(", or ")}


def _or_none(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
