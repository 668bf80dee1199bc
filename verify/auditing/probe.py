"""What an attention function does, found by giving it chosen inputs: a test of a kernel in three lines."""

import contextlib
import functools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from verify.auditing.alternatives import Place
from verify.auditing.arrays import unit_roundoff
from verify.auditing.blocks import Floats, head_of
from verify.auditing.probing import experiments
from verify.auditing.probing.corners import Corners, FoundFormula, names_of
from verify.auditing.probing.experiments import (
    AttentionModel,
    MeasuredScale,
    Precision,
    measure,
    precision_of,
    random_arrays,
    small_scale,
)
from verify.auditing.probing.function import Callee, RefusedError, Sizes, callee_of, name_of
from verify.auditing.probing.result import BIASED, HALVES, MAPPINGS, WIDE, Probe
from verify.auditing.reconstruction import explanations
from verify.auditing.recording import Call
from verify.auditing.scales import DEFAULT, scale_expression
from verify.errors import SettingsError, unknown

_TOKENS, _MANY_TOKENS = 16, 64
_MOST = 4096
_STEADY = 1e-3
_COARSE = 1e-5  # the residual of a function that computes more coarsely than it stores

_CLOSE = 1e-3
_FORMULAS = (
    *("1", "1/sqrt(d)", "1/d", "1/sqrt(h)", "1/sqrt(d*h)", "1/sqrt(n)", "1/n", "d**-0.25", "sqrt(d)"),
    *("log(n)", "log(n)/sqrt(d)", "log(n)/d"),
)
"""What scales of programs follow, with a number before it; the first that fits is given."""


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
    function must give the same for the same arrays: switch dropout off.
    What is found is then compared in
    ``corners``: at other lengths, rectangles, strides, types and sizes of scores, and where ``gradient`` is
    asked for, backwards.

    Raises:
        SettingsError: the function raises, or returns something else than an output; one line says what.
    """
    if isinstance(layout, str) and "h" not in layout:
        heads = key_heads = 1
    sizes = _sizes(d_k, heads, heads if key_heads is None else key_heads)
    callee = callee_of(attention, layout, library, device, sizes)
    try:
        # What is no attention gives sums of 0 and overflows; what matters of that is in what is found.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = _Probing(callee, sizes).found()
            if not corners:
                return found
            try:
                tried = _corners(found, callee, sizes)
            except RefusedError as error:
                return replace(found, notes=(*found.notes, f"its corners were not tried: {error}"))
            return replace(found, corners=tuple(map(tried.at, tried.names(gradient=gradient))))
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

    @functools.cache
    def found() -> Probe:
        return probe(attention, d_k, corners=False, **options)

    @functools.cache
    def tried() -> Corners:
        one = found()
        sizes = Sizes(one.heads, one.key_heads, one.d_k)
        layout, device = options.get("layout", "bhtd"), options.get("device")
        return _corners(one, Callee(attention, layout, one.library, device), sizes)

    def whole() -> None:
        found().assert_is(scale, **expected)

    def check(name: str) -> None:
        try:
            corner = tried().at(name)
        except RefusedError as error:
            pytest.skip(str(error))
        if corner.outcome == "refused":
            pytest.skip(corner.text)
        if corner.outcome != "right":
            raise AssertionError(f"{found().name}: {name}: {corner.text}")

    heads = options.get("heads", 4) if "h" in options.get("layout", "bhtd") else 1
    key_heads = options.get("key_heads") or heads
    names = names_of(_sizes(d_k, heads, key_heads), gradient=gradient)
    checks = {"attention": whole} | {name: functools.partial(check, name) for name in names}
    if unknown_names := [name for name in expected_failures if name not in checks]:
        raise SettingsError(unknown("check", unknown_names[0], checks, "they are the names of tests"))
    failing = {
        name: pytest.mark.xfail(reason=reason, strict=True) for name, reason in expected_failures.items()
    }
    parameters = [
        pytest.param(one, id=name, marks=[failing[name]] if name in failing else [])
        for name, one in checks.items()
    ]
    return pytest.mark.parametrize("check", parameters)


def _corners(found: Probe, callee: Callee, sizes: Sizes) -> Corners:
    """Return the corners of a function that was found to do what is known.

    Raises:
        RefusedError: it is not known what it would do there.
    """
    known = found.measured and found.fits and found.axis in ("keys", None) and found.mask.known
    if not known or found.bias > BIASED or found.normalised or not math.isclose(found.factor, 1):
        raise RefusedError("what it does is not the attention of queries and keys alone")
    if found.key_heads < found.heads and found.groups not in MAPPINGS:
        raise RefusedError("how heads are grouped is not known")
    expression = None if found.formula is None else scale_expression(found.formula)

    def scale(d: int, h: int, n: int) -> float:
        if expression is None:
            return found.scale if (d, h) == (found.d_k, found.heads) else math.nan
        try:
            return expression.value(d=d, h=h, D=d * h, n=n)
        except SettingsError:  # ln n is 0 at one key
            return math.nan

    single = [one.residual for one in found.measured if one.dtype == callee.dtype]
    formula = FoundFormula(
        scale=scale,
        mask=found.mask,
        wide=found.alignment,
        tall=found.tall_alignment,
        softcap=found.softcap,
        sink=found.sink,
        interleaved=found.groups == "interleaved",
        residual=max(single) if max(single) > _COARSE else 0.0,
    )
    return Corners(callee, sizes, formula)


def _sizes(d_k: int, heads: int, key_heads: int) -> Sizes:
    for name, size in (("d_k", d_k), ("heads", heads), ("key_heads", key_heads)):
        if not isinstance(size, int | np.integer) or not 1 <= size <= _MOST:
            raise SettingsError(f"{name} {size!r}: give a whole number from 1 to {_MOST}")
    if heads % key_heads:
        raise SettingsError(f"heads {heads}, key_heads {key_heads}: give whole groups of heads")
    return Sizes(int(heads), int(key_heads), int(d_k))


@dataclass(frozen=True)
class _Probing:
    """The experiments with one function, one after another, for each needs what those before it found."""

    callee: Callee
    sizes: Sizes

    def found(self) -> Probe:
        """Return what all experiments found."""
        callee, sizes = self.callee, self.sizes
        usual, again = (
            experiments.weights(callee, sizes.queries(6, sequences=2), sizes.keys(6, sequences=2))
            for _ in range(2)
        )
        if not np.isfinite(usual).all():
            raise RefusedError("returned NaN or infinities for moderate numbers")
        if not np.allclose(usual, again, rtol=_STEADY, atol=_STEADY):
            raise RefusedError("gives another output for the same arrays; switch dropout off")
        model, bias, scale = self._model(usual)
        measured, notes = self._measured(model, scale)
        first = measured[0]
        single = [one for one in measured if one.dtype == callee.dtype]
        is_known = model.sink or model.factor != 1
        known = first.fits and math.isfinite(first.interval[1])
        return Probe(
            name=name_of(callee.function),
            d_k=sizes.width,
            heads=sizes.heads,
            key_heads=sizes.key_heads,
            library=callee.library,
            scale=first.scale if known else math.nan,
            formula=formula_of(single) if all(one.fits for one in single) else None,
            measured=measured if known else (),
            axis="keys" if is_known else experiments.axis_of(usual),
            mask=model.mask,
            wide=experiments.rectangle(callee, sizes, *WIDE),
            tall=experiments.rectangle(callee, sizes, *WIDE[::-1]),
            softcap=model.softcap,
            sink=model.sink,
            factor=model.factor,
            normalised=model.normalised,
            bias=bias,
            groups=self._groups(),
            precision=self._precision(model, measured) if known else (),
            fits=first.fits,
            residual=first.residual,
            causes=() if first.fits else self._causes(model, scale),
            notes=notes,
        )

    def _model(self, usual: Floats) -> tuple[AttentionModel, float, float]:
        """Return what is found beside the scale, the bias of positions, and a first estimate of the scale."""
        callee, sizes = self.callee, self.sizes
        is_over_keys = experiments.axis_of(usual) in (None, "keys")
        sink, factor = experiments.sinks(callee, sizes, unit_roundoff(usual)) if is_over_keys else (None, 1.0)
        norms = experiments.normalised(callee, sizes)
        scale = 0.0 if norms else small_scale(callee, sizes)
        cap = experiments.softcap_of(callee, sizes, scale)[0] if scale else None
        bias, mask = experiments.position_bias(callee, sizes), experiments.square_mask(callee, sizes)
        is_biased = bias > BIASED
        mask = mask if is_biased else experiments.with_long_window(callee, sizes, mask)
        factor = factor if math.isfinite(factor) else 1.0
        model = AttentionModel(mask, cap, sink, factor, norms, is_biased)
        return model, bias, scale or sizes.width**-0.5

    def _measured(
        self, model: AttentionModel, scale: float
    ) -> tuple[tuple[MeasuredScale, ...], tuple[str, ...]]:
        """Return the scale as it is and with width, heads and tokens varied, and what was not taken."""
        sizes = self.sizes
        first = measure(self.callee, sizes, model, _TOKENS, scale)
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
        found += self._in_half(model, first.scale)
        return tuple(found), tuple(notes)

    def _in_half(self, model: AttentionModel, scale: float) -> Iterator[MeasuredScale]:
        """Yield the scale with arrays of half precision, where these are taken."""
        for dtype in HALVES:
            with contextlib.suppress(RefusedError):
                yield measure(replace(self.callee, dtype=dtype), self.sizes, model, _MANY_TOKENS, scale)

    def _varied(self, sizes: Sizes, model: AttentionModel, tokens: int, scale: float) -> MeasuredScale:
        """Return the scale with other sizes; each head beyond the known ones has the sink of one of them."""
        if model.sink is not None and sizes.heads != self.sizes.heads:
            raise RefusedError("its sinks belong to its heads")
        estimate = scale if model.normalised else small_scale(self.callee, sizes)
        return measure(self.callee, sizes, model, tokens, estimate or scale)

    def _groups(self) -> str | None:
        """Return how query heads read key heads where there are fewer of these."""
        sizes = self.sizes
        if sizes.heads == 1:
            return None
        if sizes.key_heads == sizes.heads:
            if sizes.heads % 2 or sizes.heads < 4:
                return None
            sizes = replace(sizes, key_heads=sizes.heads // 2)
        mapping = experiments.groups_of(self.callee, sizes)
        if mapping is None:
            return None
        shared = sizes.heads // sizes.key_heads
        rules = {
            "repeated": [head // shared for head in range(sizes.heads)],
            "interleaved": [head % sizes.key_heads for head in range(sizes.heads)],
        }
        found = [name for name, rule in rules.items() if mapping == tuple((one, one) for one in rule)]
        return found[0] if found else "otherwise"

    def _precision(self, model: AttentionModel, measured: Sequence[MeasuredScale]) -> tuple[Precision, ...]:
        """Return how half precision is handled, each at the scale that was found in it."""
        halves = (one for one in measured if one.dtype in HALVES)
        found = (precision_of(self.callee, self.sizes, model, one.scale, one.dtype) for one in halves)
        return tuple(one for one in found if one is not None)

    def _causes(self, model: AttentionModel, scale: float) -> tuple[str, ...]:
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


def formula_of(measured: Sequence[MeasuredScale]) -> str | None:
    """Return an expression that gives every measured scale: a number, or one times one of `_FORMULAS`.

    It is None where there is none of the kind.
    """
    first = measured[0]
    for form in _FORMULAS:
        size = first.scale / scale_expression(form).value(d=first.d, h=first.h, n=first.n)
        text = form
        if not math.isclose(size, 1, rel_tol=_CLOSE):
            number = f"{'-' if size < 0 else ''}{_number(abs(size))}"
            text = f"{number}{form[1:]}" if form.startswith("1") else f"{number}*{form}"
        if all(_fits(text, one) for one in measured):
            return text
    return None


def _number(size: float) -> str:
    """Return a number, a short one where that is as near as a scale is known."""
    rounded = (float(f"{size:.{digits}g}") for digits in (1, 2, 3, 4, 6))
    return f"{next((one for one in rounded if math.isclose(one, size, rel_tol=1e-5)), size):g}"


def _fits(text: str, one: MeasuredScale) -> bool:
    value = scale_expression(text).value(d=one.d, h=one.h, D=one.d * one.h, n=one.n)
    return math.isclose(value, one.scale, rel_tol=_CLOSE)
