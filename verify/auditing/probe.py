"""What an attention function does, found by giving it chosen inputs: a test of a kernel in one line."""

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from verify.auditing.probing.corners import Case, Corner, cases, in_words, problem_in
from verify.auditing.probing.function import Kernel, RefusedError, Sizes, kernel_of
from verify.auditing.probing.model import GROUPINGS, MOST_KEYS, UNITS, Identity, identify
from verify.auditing.scales import DEFAULT, ScaleExpression, Widths, diagnose, scale_expression
from verify.errors import SettingsError, unknown

_MOST = 4096
_CLOSE = 1e-3  # relative difference up to which a measured scale is the intended scale
_TOKENS = 16
_GROUPS = {
    "interleaved": "as repeat_interleave maps them: query heads 0 and 1 read key head 0",
    "tiled": "as repeat maps them: query heads 0 and 1 read key heads 0 and 1",
}


@dataclass(frozen=True, repr=False)
class Probe:
    """What an attention function was found to do, beside the scale that is ``intended``.

    ``identity`` has the model of it. ``corners`` are other sizes, strides, types and scores in which the
    function was compared with that, none where they could not be tried.
    """

    kernel: Kernel
    sizes: Sizes
    intended: ScaleExpression
    identity: Identity
    corners: tuple[Corner, ...] = ()

    @property
    def scale(self) -> float:
        """The factor of the products q·k at these sizes and 16 tokens, NaN where nothing gives it."""
        return self.identity.model.scale

    @property
    def causal(self) -> bool:
        """Whether a query sees its own token and none after it, of as many queries as keys."""
        return self.identity.model.shift == 0

    @property
    def faults(self) -> tuple[str, ...]:
        """What is not the attention that was meant, in a line each."""
        intended, wrong_scale = self.sizes.scale(self.intended, _TOKENS), tuple[str, ...]()
        if abs(self.scale / intended - 1) > 0.01:
            widths, uncertainty = Widths(self.sizes.width, self.sizes.heads), _CLOSE * abs(self.scale)
            cause, fix = diagnose(self.scale, intended, widths, uncertainty=uncertainty)
            wrong_scale = (f"{cause} (intended: {self.intended.text}); {fix}",)
        return (*self.identity.faults, *wrong_scale, *in_words(self.corners))

    @property
    def unexplained(self) -> tuple[str, ...]:
        """What is not understood or was not tried, in a line each: it may be a fault, or meant."""
        if self.corners and all(tried.outcome == "refused" for tried in self.corners):
            return (*self.identity.unexplained, "no corner was taken, so that none is known to be right")
        return self.identity.unexplained

    def scale_at(self, sizes: Sizes, keys: int) -> float:
        """Return the scale at other sizes: as intended, times the factor by which it is off here."""
        try:
            intended = sizes.scale(self.intended, keys)
        except SettingsError:  # ln n is 0 at one key, where scores do not matter
            return self.scale
        ratio = self.scale / self.sizes.scale(self.intended, _TOKENS)
        return intended if math.isclose(ratio, 1, rel_tol=_CLOSE) else ratio * intended

    def corner(self, name: str, case: Case) -> Corner:
        """Return how the function is in a corner."""
        scale = self.scale_at(case.sizes, case.keys)
        try:
            with np.errstate(all="ignore"):
                problem = problem_in(case, self.kernel, self.identity.model, scale)
        except RefusedError as error:
            return Corner(name, "refused", str(error))
        return Corner(name, "wrong" if problem else "right", problem)

    def problems(self, **expected: Any) -> Iterator[str]:
        """Yield in a line each which properties are otherwise than expected.

        They are ``causal``, ``alignment``, ``window``, ``softcap``, ``sink`` and ``groups``.
        """
        model = self.identity.model
        actual = {
            "causal": self.causal,
            "alignment": model.alignment,
            "window": model.window,
            "softcap": model.softcap,
            "sink": model.sink is not None,
            "groups": model.groups if self.sizes.key_heads < self.sizes.heads else None,
        }
        for name, wanted in expected.items():
            if name not in actual:
                raise SettingsError(unknown("property", name, actual, f"give one of {', '.join(actual)}"))
            value: Any = actual[name]
            if name == "softcap" and value and wanted and math.isclose(value, wanted, rel_tol=0.01):
                continue
            if name == "groups" and value and wanted in GROUPINGS:  # one key head is shared either way
                shared = self.sizes.heads, self.sizes.key_heads
                value = wanted if GROUPINGS[wanted](*shared) == GROUPINGS[value](*shared) else value
            if value != wanted:
                yield f"{name}: {_in_words(value)}, not {_in_words(wanted)}"

    def assert_is(self, **expected: Any) -> None:
        """Raise unless the function is softmax attention with the intended scale, and nothing else is in it.

        ``causal``, ``alignment`` ("top-left" or "bottom-right") and ``groups`` ("interleaved" or "tiled") are
        compared where given. A ``window`` or a ``softcap``, both by their size, or a ``sink`` (True) must be
        expected.

        Raises:
            AssertionError: something is otherwise; the text says what, and how to fix a wrong scale.
            SettingsError: there is no such property.
        """
        expected = {"window": None, "softcap": None, "sink": False, **expected}
        if problems := [*self.faults, *self.unexplained, *self.problems(**expected)]:
            raise AssertionError(f"{self.kernel.name}: " + "; ".join(problems))

    def __repr__(self) -> str:
        model, (heads, key_heads, width) = self.identity.model, self.sizes
        counted = "1 head" if heads == 1 else f"{heads} heads, {key_heads} of keys"
        lines: list[tuple[str, str]] = []
        if math.isfinite(self.scale):
            intended = self.sizes.scale(self.intended, _TOKENS)
            is_intended = math.isclose(self.scale, intended, rel_tol=_CLOSE)
            mask = "none: each query sees all keys" if model.shift is None else "causal"
            mask += f", off by {model.shift:+d}" if model.shift else ""
            mask += f", a window of {model.window} keys" if model.window else ""
            mask += f", rectangles aligned {model.alignment}" if model.alignment else ""
            sinks = ("none",) if model.sink is None else (f"{sink + 0:.4g}" for sink in model.sink)
            lines += [
                ("scale", f"{self.scale:.6g}" + (f" = {self.intended.text}" if is_intended else "")),
                ("softmax over", "keys"),
                ("mask", mask),
                ("soft-cap", _in_words(model.softcap)),
                ("sink", ", ".join(sinks)),
            ]
            if key_heads < heads:
                lines.append(("grouped heads", f"{model.groups}, {_GROUPS[model.groups]}"))
            if self.identity.coarse is not None:
                sums = "lose what it loses" if self.identity.coarse else "are wider"
                lines.append(("float16", f"sums {sums}"))
            if UNITS[model.dtype] > UNITS["float32"]:
                lines.append(("computes", f"as coarsely as {model.dtype}, whatever its arrays are"))
        lines += [("wrong", text) for text in self.faults]
        lines += [("not known", text) for text in self.unexplained]
        outcomes = [tried.outcome for tried in self.corners]
        if outcomes:
            refused = outcomes.count("refused")
            text = f"{outcomes.count('right')} of {len(outcomes) - refused} are right"
            lines += [
                ("corners", text + (f", {refused} not taken" if refused else "")),
                ("not tested", f"other lengths than those, and more than {MOST_KEYS:,} keys"),
            ]
        else:
            lines.append(("note", "its corners were not tried: what it computes elsewhere is not known"))
        first = f"{self.kernel.name} (d_k = {width}, {counted}, arrays of {self.kernel.library})"
        return "\n".join([first, *(f"  {what:<14} {text}" for what, text in lines)])


def probe(
    attention: Callable[..., Any],
    d_k: int = 64,
    *,
    intended: str | float = DEFAULT,
    heads: int = 4,
    key_heads: int | None = None,
    device: str | None = None,
    gradient: bool = False,
    corners: bool = True,
) -> Probe:
    """Return what a function of (q, k, v) does, found by giving it chosen arrays.

    ``intended`` is the scale that is meant: a number, or an expression in d, h, D = d·h and n. Arrays have
    the axes [sequence, head, token, d]; wrap a function that has tokens before heads. They are NumPy's, which
    functions of JAX take too, or where the function takes none PyTorch's, on the ``device`` if one is given.
    Values have as many components as keys. The function must give the same for the same arrays: switch
    dropout off. What is found is then compared in ``corners``: at other lengths, rectangles, strides, types
    and sizes of scores, and of PyTorch's functions with ``gradient`` backwards.

        >>> from torch.nn.functional import scaled_dot_product_attention
        >>> verify.probe(scaled_dot_product_attention, d_k=64).assert_is(causal=False)

    Raises:
        SettingsError: the function raises, or returns something else than an output; one line says what.
    """
    expression, sizes = scale_expression(str(intended)), _sizes(d_k, heads, key_heads)
    sizes.scale(expression, _TOKENS)
    kernel = kernel_of(attention, device, sizes)
    try:
        # What is no attention gives sums of 0 and overflows; what matters of that is in what is found.
        with np.errstate(all="ignore"), warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
            warnings.simplefilter("ignore", RuntimeWarning)
            probed = Probe(kernel, sizes, expression, identify(kernel, sizes))
            if not corners or not math.isfinite(probed.scale):
                return probed
            tried = tuple(probed.corner(*case) for case in cases(sizes, gradient=gradient).items())
            return replace(probed, corners=tried)
    except RefusedError as error:
        wanted = "give a function of queries, keys and values"
        raise SettingsError(f"{kernel.name}: {error}; {wanted}") from error


def parametrize_probes(
    attention: Callable[..., Any],
    d_k: int = 64,
    *,
    gradient: bool = False,
    expected_failures: Mapping[str, str] = MappingProxyType({}),
    expected: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> Any:
    """Return a decorator of pytest that gives a test one argument, ``check``, for each check of a function.

    The test calls ``check()``. The first is "attention": `Probe.assert_is` with what is ``expected``; the
    others are corners. A corner whose arrays are refused is skipped. ``expected_failures`` are names of
    checks that are known to fail, with the reason; if such a check passes, its test fails. ``options`` are
    those of `probe`.

    Raises:
        SettingsError: an expected failure names no check.
    """
    import pytest  # noqa: PLC0415 - only tests have it

    sizes = _sizes(d_k, options.get("heads", 4), options.get("key_heads"))
    named = cases(sizes, gradient=gradient)

    @functools.cache
    def probed() -> Probe:
        """Probe the function when the first test runs, not while tests are collected."""
        return probe(attention, d_k, corners=False, **options)

    def check(name: str) -> None:
        if name == "attention":
            probed().assert_is(**expected)
            return
        if not math.isfinite(probed().scale):
            pytest.skip("what it computes elsewhere is not known")
        _, outcome, text = probed().corner(name, named[name])
        if outcome == "refused":
            pytest.skip(text)
        assert outcome == "right", f"{probed().kernel.name}: {name}: {text}"  # noqa: S101 - a test

    names = ["attention", *named]
    for name in expected_failures:
        if name not in names:
            raise SettingsError(unknown("check", name, names, "they are the names of tests"))
    failing = {
        name: [pytest.mark.xfail(reason=reason, strict=True)] for name, reason in expected_failures.items()
    }
    parameters = [
        pytest.param(functools.partial(check, name), id=name, marks=failing.get(name, [])) for name in names
    ]
    return pytest.mark.parametrize("check", parameters)


def _sizes(d_k: int, heads: int, key_heads: int | None) -> Sizes:
    key_heads = heads if key_heads is None else key_heads
    for name, size in (("d_k", d_k), ("heads", heads), ("key_heads", key_heads)):
        if not isinstance(size, int | np.integer) or not 1 <= size <= _MOST:
            raise SettingsError(f"{name} {size!r}: give a whole number from 1 to {_MOST}")
    if heads % key_heads:
        raise SettingsError(f"heads {heads}, key_heads {key_heads}: give whole groups of heads")
    return Sizes(int(heads), int(key_heads), int(d_k))


def _in_words(value: object) -> str:
    """Return a property of a function as it is printed."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
    return str(value)
