"""What an attention function does, found by giving it chosen inputs: a test of a kernel in one line.

What it computes, as identified at usual sizes, is computed in double precision for corners, other lengths,
rectangles, strides, types and scores, and compared row by row within what rounding leaves.
"""

import contextlib
import importlib
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from verify.auditing.identity import (
    GROUPINGS,
    MOST_KEYS,
    STRIDES,
    TOKENS,
    UNITS,
    Kernel,
    Model,
    RefusedError,
    Sizes,
    audited,
    identify,
    kernel_of,
)
from verify.auditing.recording import Floats, unit_roundoff
from verify.auditing.scales import DEFAULT, ScaleExpression, Widths, diagnose, scale_expression
from verify.errors import SettingsError, unknown

_MOST = 4096
_CLOSE = 1e-3  # relative difference up to which a measured scale is the intended scale
_GROUPS = {
    "interleaved": "as repeat_interleave maps them: query heads 0 and 1 read key head 0",
    "tiled": "as repeat maps them: query heads 0 and 1 read key heads 0 and 1",
}
_LENGTHS = (1, 2, 3, 7, 9, 15, 17, 31, 33, 63, 65, 100, 127, 129, 255, 257, 383, 513)
_RECTANGLES = (
    *((1, 2), (1, 65), (1, 1025), (1, MOST_KEYS), (3, 100), (17, MOST_KEYS), (64, 130), (127, 129)),
    *((130, 1025), (2, 1), (100, 3), (130, 64), (1025, 5)),
)
_GRADIENTS = ((16, 16), (65, 65), (100, 100), (1, 33), (17, 130), (130, 17), (5, 257))
_WIDTHS = (1, 8, 40, 80, 96, 128, 256)
_GRADIENT_ROOM = 200.0


class Corner(NamedTuple):
    """How a function is in a corner: right, wrong, or it refuses its arrays; ``text`` says how or why."""

    name: str
    outcome: Literal["right", "wrong", "refused"]
    text: str = ""


class Case(NamedTuple):
    """The arrays of a corner, and what of the function is compared.

    Scores have a standard deviation of about ``spread``, and are near ``level`` where that is not 0.
    """

    sizes: Sizes
    queries: int = 40
    keys: int = 40
    sequences: int = 1
    dtype: str = ""
    strides: str = ""
    spread: float = 1.0
    level: float = 0.0
    compared: Literal["output", "inputs", "gradients"] = "output"

    def arrays(self, scale: float, dtype: str) -> tuple[Floats, Floats, Floats]:
        """Return queries, keys and values for a function with this scale, as a dtype holds them."""
        stretch = math.sqrt(self.spread / (abs(scale) * math.sqrt(self.sizes.width)))
        query, key, value = self.sizes.arrays(
            self.queries, self.keys, self.sequences, stretch=stretch, dtype=dtype
        )
        if self.level:  # a common part of all keys meets all queries
            query[..., 0] = np.float32(math.sqrt(abs(self.level / scale)))
            key[..., 0] = math.copysign(query[0, 0, 0, 0], self.level)
        if self.strides == "broadcast":
            key, value = (np.repeat(array[:1], self.sequences, axis=0) for array in (key, value))
        return query, key, value


def cases(sizes: Sizes, *, gradient: bool = False) -> dict[str, Case]:
    """Return all corners of a function with these sizes by their names."""
    usual, shared = Case(sizes), sizes.heads // sizes.key_heads
    table = {f"{n} tokens": usual._replace(queries=n, keys=n) for n in _LENGTHS}
    table |= {f"{m} queries, {n} keys": usual._replace(queries=m, keys=n) for m, n in _RECTANGLES}
    table |= {f"d = {d}": usual._replace(sizes=sizes._replace(width=d)) for d in _WIDTHS}
    table |= {f"{count} sequences": usual._replace(sequences=count) for count in (1, 3, 4, 5)}
    for count in (1, 3, 8):
        more = sizes._replace(heads=count * shared, key_heads=count)
        table["1 head" if more.heads == 1 else f"{more.heads} heads"] = usual._replace(sizes=more)
    table |= {f"{name} arrays": usual._replace(sequences=2, strides=name) for name in STRIDES}
    for dtype in ("float16", "bfloat16", "float64"):
        for n in (17, 130):
            table[f"{dtype}, {n} tokens"] = usual._replace(queries=n, keys=n, dtype=dtype)
    table |= {f"scores of {size:,}": usual._replace(spread=float(size)) for size in (30, 100, 10_000)}
    table |= {f"scores near {level:+,}": usual._replace(level=float(level)) for level in (1000, -1000)}
    table["inputs left as they are"] = usual._replace(compared="inputs")
    if gradient:
        pairs, backwards = "gradients, {} queries, {} keys", usual._replace(compared="gradients")
        table |= {pairs.format(m, n): backwards._replace(queries=m, keys=n) for m, n in _GRADIENTS}
        table["gradients, scores of 30"] = backwards._replace(spread=30.0)
    return table


def _wrong_gradients(
    kernel: Kernel, model: Model, scale: float, arrays: tuple[Floats, Floats, Floats]
) -> Iterator[str]:
    """Yield how dQ, dK and dV of the sum of output times random numbers differ from the formula's.

    The formula's are PyTorch's, in double precision.
    """
    query, key, value = arrays
    seen = model.visible(query.shape[2], key.shape[2])
    if not seen.any(axis=-1).all():
        raise RefusedError("queries see no key there")
    upstream = np.random.default_rng(4).standard_normal(query.shape)
    gradients = kernel.gradients(*arrays, upstream)
    torch: Any = importlib.import_module("torch")
    q, k, v = leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    order = GROUPINGS[model.groups](query.shape[1], key.shape[1])
    with torch.enable_grad():
        scores, cap = scale * q @ k[:, order].mT, model.softcap
        scores = scores if cap is None else cap * torch.tanh(scores / cap)
        scores = scores.masked_fill(~torch.from_numpy(seen), -torch.inf)
        sinks = torch.tensor(model.sink or [-math.inf], dtype=scores.dtype)
        sinks = sinks.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
        ((weights @ v[:, order]) * torch.from_numpy(upstream)).sum().backward()
    # Larger scores have larger errors of rounding, and weights pass them on.
    spread = math.sqrt((weights * scores.nan_to_num(neginf=0.0) ** 2).detach().sum(-1).max())
    for name, given, leaf in zip(("dQ", "dK", "dV"), gradients, leaves, strict=True):
        exact: Floats = leaf.grad.numpy()
        if given is None:
            yield f"{name}: there is none"
            continue
        unit = max(UNITS[kernel.dtype], UNITS[model.dtype], unit_roundoff(given))
        size, off = float(np.linalg.norm(exact)) or 1.0, float(np.linalg.norm(given - exact))
        room = _GRADIENT_ROOM * unit * (1 + spread) * size + float(np.linalg.norm(value)) * 2.0**-24
        ratio = float((given * exact).sum() / max(float((exact**2).sum()), 1e-300))
        if not off <= room and np.linalg.norm(given - ratio * exact) <= 0.01 * abs(ratio) * size:
            yield f"{name} is {ratio:.4g} times what it should be"
        elif not off <= room:
            yield f"{name} is off by {off / size:.2g} of its size"


@dataclass(frozen=True, repr=False)
class Probe:
    """What an attention function was found to do, beside the scale that is ``intended``.

    ``model`` is what it computes. ``corners`` are other sizes, strides, types and scores in which the
    function was compared with that, none where they could not be tried.
    """

    kernel: Kernel
    sizes: Sizes
    intended: ScaleExpression
    model: Model
    corners: tuple[Corner, ...] = ()

    @property
    def scale(self) -> float:
        """The factor of the products q·k at these sizes and 16 tokens, NaN where nothing gives it."""
        return self.model.scale

    @property
    def causal(self) -> bool:
        """Whether a query sees its own token and none after it, of as many queries as keys."""
        return self.model.shift == 0

    @property
    def faults(self) -> tuple[str, ...]:
        """What is not the attention that was meant, in a line each."""
        intended, wrong_scale = self.sizes.scale(self.intended, TOKENS), tuple[str, ...]()
        if abs(self.scale / intended - 1) > 0.01:
            widths, uncertainty = Widths(self.sizes.width, self.sizes.heads), _CLOSE * abs(self.scale)
            cause, fix = diagnose(self.scale, intended, widths, uncertainty=uncertainty)
            wrong_scale = (f"{cause} (intended: {self.intended.text}); {fix}",)
        # Corners that are wrong in one way share a line; numbers differ from corner to corner.
        alike: dict[str, list[Corner]] = {}
        for corner in self.corners:
            if corner.outcome == "wrong":
                alike.setdefault(re.sub(r"[\d.e+-]+", "", corner.text), []).append(corner)
        in_corners = []
        for same in alike.values():
            more = f" and {len(same) - 4} more" if len(same) > 4 else ""
            names = "; ".join(corner.name for corner in same[:4])
            in_corners.append(f"at {names}{more}: {same[0].text}")
        return (*self.model.faults, *wrong_scale, *in_corners)

    @property
    def unexplained(self) -> tuple[str, ...]:
        """What is not understood or was not tried, in a line each: it may be a fault, or meant."""
        if self.corners and all(tried.outcome == "refused" for tried in self.corners):
            return (*self.model.unexplained, "no corner was taken, so that none is known to be right")
        return self.model.unexplained

    def corner(self, name: str, case: Case) -> Corner:
        """Return how the function is in a corner: as intended there, times the factor by which it is off."""
        model, scale = self.model, self.scale
        if math.isnan(scale):
            return Corner(name, "refused", "what it computes elsewhere is not known")
        with contextlib.suppress(SettingsError):  # ln n is 0 at one key, where scores do not matter
            ratio = scale / self.sizes.scale(self.intended, TOKENS)
            ratio = 1 if math.isclose(ratio, 1, rel_tol=_CLOSE) else ratio
            scale = case.sizes.scale(self.intended, case.keys) * ratio
        kernel = replace(self.kernel, dtype=case.dtype or self.kernel.dtype, strides=case.strides)
        arrays = case.arrays(scale, kernel.dtype)
        try:
            if case.compared == "inputs":
                problems = [f"it writes to its {array}" for array in kernel.changed(*arrays)]
            elif case.compared == "gradients":
                problems = list(_wrong_gradients(kernel, model, scale, arrays))
            else:
                wrong, coarse, _ = audited(model.call(kernel, *arrays), scale)
                # What is coarse everywhere is no fault of a corner.
                problems = wrong + [text for text in coarse if not model.unexplained]
        except RefusedError as error:
            return Corner(name, "refused", str(error))
        return Corner(name, "wrong" if problems else "right", "; ".join(problems))

    def problems(self, **expected: Any) -> Iterator[str]:
        """Yield in a line each which properties are otherwise than expected.

        They are ``causal``, ``alignment``, ``window``, ``softcap``, ``sink`` and ``groups``.
        """
        model = self.model
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
        model, (heads, key_heads, width) = self.model, self.sizes
        counted = "1 head" if heads == 1 else f"{heads} heads, {key_heads} of keys"
        lines: list[tuple[str, str]] = []
        if math.isfinite(self.scale):
            intended = self.sizes.scale(self.intended, TOKENS)
            is_intended = math.isclose(self.scale, intended, rel_tol=_CLOSE)
            mask = "none: each query sees all keys" if model.shift is None else "causal"
            mask += f", off by {model.shift:+d}" if model.shift else ""
            mask += f", a window of {model.window} keys" if model.window else ""
            mask += f", rectangles aligned {model.alignment}" if model.alignment else ""
            sinks = ("none",) if model.sink is None else (f"{round(sink, 6) + 0:.4g}" for sink in model.sink)
            lines += [
                ("scale", f"{self.scale:.6g}" + (f" = {self.intended.text}" if is_intended else "")),
                ("softmax over", "keys"),
                ("mask", mask),
                ("soft-cap", _in_words(model.softcap)),
                ("sink", ", ".join(sinks)),
            ]
            if key_heads < heads:
                lines.append(("grouped heads", f"{model.groups}, {_GROUPS[model.groups]}"))
            if self.model.coarse is not None:
                sums = "lose what it loses" if self.model.coarse else "are wider"
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
    sizes.scale(expression, TOKENS)
    kernel = kernel_of(attention, device, sizes)
    try:
        # What is no attention gives sums of 0 and overflows; what matters of that is in what is found.
        with np.errstate(all="ignore"), warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
            warnings.simplefilter("ignore", RuntimeWarning)
            probed = Probe(kernel, sizes, expression, identify(kernel, sizes, expression))
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

    @cache
    def probed() -> Probe:
        """Probe the function when the first test runs, not while tests are collected."""
        return probe(attention, d_k, corners=False, **options)

    def check(name: str) -> None:
        if name == "attention":
            probed().assert_is(**expected)
            return
        _, outcome, text = probed().corner(name, named[name])
        if outcome == "refused":
            pytest.skip(text)
        assert outcome == "right", f"{probed().kernel.name}: {name}: {text}"  # noqa: S101 - a test

    checks = "attention", *named
    for name in expected_failures:
        if name not in checks:
            raise SettingsError(unknown("check", name, checks, "they are the names of tests"))
    fails = {name: pytest.mark.xfail(reason=why, strict=True) for name, why in expected_failures.items()}
    runs = [pytest.param(partial(check, name), id=name, marks=fails.get(name, ())) for name in checks]
    return pytest.mark.parametrize("check", runs)


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
