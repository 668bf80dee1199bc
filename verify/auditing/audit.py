"""An audit: what it can find and what of that decides, and the run through a recording.

Head by head and sequence by sequence, one call at a time.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import array_api_compat
from threadpoolctl import threadpool_limits

from verify.auditing.arrays import dtype_of, in_memory
from verify.auditing.blocks import OWN_RULE, Block, Subject
from verify.auditing.exact import EXACT, Exact
from verify.auditing.files import load
from verify.auditing.reconstruction import implied_unlike_declared
from verify.auditing.recording import ARRAYS, Call, Intended, Layer, Recording, check_call
from verify.auditing.scales import DEFAULT, ScaleExpression, scale_expression
from verify.auditing.statistical import STATISTICAL, Statistical
from verify.errors import RecordingError, SettingsError, unknown
from verify.escapes import as_prose, one_line
from verify.evidence.audits import (
    RESERVED,
    AuditBudget,
    AuditRecord,
    AuditSettings,
    Finding,
    Intention,
    Judgement,
    LayerRecord,
)
from verify.evidence.runs import Tool
from verify.executors.environment import environment
from verify.executors.threads import thread_map
from verify.executors.workers import processors
from verify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verify.auditing.recording import Array
    from verify.evidence.findings import Band

Gates = str | Iterable[str] | Mapping[str, tuple[float | None, float | None] | None]
"""Gates as they are given: FINDING or FINDING:LOW..HIGH, one or several, or bands by findings' names."""

Kind = Exact | Statistical
"""A kind of finding: it reduces every block, and makes findings of what it keeps of a head."""

FALSE_ALARM = 1e-3
"""The false-alarm rate of an audit where none is given."""

LEAST_FALSE_ALARM = 1e-30
RULE = "split evenly over the statistical findings of all heads, before the data are seen; one look"

_USAGE = "write FINDING or FINDING:LOW..HIGH, such as row-variance:0.5..2"
_ON_SCALE = ("scale-applied", "scale-implied")
_PACKAGES = ("numpy", "scipy", "array-api-compat")
_KINDS: list[Kind] = [*EXACT, *STATISTICAL]


def kinds() -> tuple[Kind, ...]:
    """Return all kinds of findings, in the order in which they are made and shown."""
    return tuple(_KINDS)


def register(kind: Kind) -> None:
    """Let audits of this process make findings of one more kind, after all others.

    Raises:
        SettingsError: one of its findings has the name of another.
    """
    taken = {name for one in _KINDS for name in one.names} & set(kind.names)
    if taken:
        raise SettingsError(f"finding {min(taken)!r}: there is one of this name; choose another")
    _KINDS.append(kind)


def kind_of(finding: str) -> Kind:
    """Return the kind that makes the findings of this name.

    Raises:
        SettingsError: there is none; the nearest name is suggested.
    """
    makers = {name: kind for kind in _KINDS for name in kind.names}
    if finding in makers:
        return makers[finding]
    for kind in _KINDS:
        if kind.name == finding:
            raise SettingsError(f"gate {finding!r}: name one of {', '.join(kind.names)}")
    raise SettingsError("gate: " + unknown("finding", finding, makers, f"there are {', '.join(makers)}"))


def audit_settings(
    intended: str | float | None = None, gate: Gates = (), false_alarm: float = FALSE_ALARM
) -> AuditSettings:
    """Return the settings of an audit after checking them.

    Raises:
        SettingsError: the intended scale is no expression, a gate names no finding or has no band where one
            is needed, or the false-alarm rate is not between 0 and 1.
    """
    if intended is not None:
        intended = scale_expression(str(intended)).text
    if isinstance(false_alarm, bool) or not isinstance(false_alarm, int | float):
        raise SettingsError(f"false-alarm {false_alarm!r}: give a number")
    if not LEAST_FALSE_ALARM <= false_alarm < 1:
        raise SettingsError(f"--false-alarm {false_alarm:g}: must lie between {LEAST_FALSE_ALARM:g} and 1")
    return AuditSettings(false_alarm=false_alarm, intended=intended, gates=_gates(gate))


def _gates(given: Gates) -> dict[str, Band]:
    if isinstance(given, Mapping):
        return {name: _checked(name, band or OWN_RULE) for name, band in given.items()}
    return dict(map(_parsed, [given] if isinstance(given, str) else given))


def _parsed(text: str) -> tuple[str, Band]:
    name, colon, band = text.partition(":")
    if not colon:
        return name, _checked(name, OWN_RULE)
    low, dots, high = band.partition("..")
    if not dots or not (low or high):
        raise SettingsError(f"gate {text!r}: has no band; {_USAGE}")
    try:
        ends = (float(low) if low else None, float(high) if high else None)
    except ValueError as error:
        raise SettingsError(f"gate {text!r}: its band is no two numbers; {_USAGE}") from error
    return name, _checked(name, ends)


def _checked(name: str, band: Band) -> Band:
    kind = kind_of(name)
    if band == OWN_RULE:
        if not kind.has_rule:
            raise SettingsError(f"gate {name!r}: has no rule of its own; give a band, such as {name}:0.5..2")
        return band
    low, high = (end if end is None else float(end) for end in band)
    if any(end is not None and not math.isfinite(end) for end in (low, high)):
        raise SettingsError(f"gate {name!r}: leave out an end that is open, such as {name}:0.5..")
    if low is not None and high is not None and low > high:
        raise SettingsError(f"gate {name!r}: its band ends below its start; {_USAGE}")
    return low, high


def audit(
    q: Recording | Path | str | Array,
    k: Array | None = None,
    *,
    v: Array | None = None,
    out: Array | None = None,
    mask: Array | None = None,
    bias: Array | None = None,
    sink: Array | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    causal: bool = False,
    intended: str | float | None = None,
    gate: Gates = (),
    false_alarm: float = FALSE_ALARM,
    workers: int | None = None,
) -> AuditRecord:
    """Judge what somebody's attention does: a recording, or the arrays of one layer.

    ``q`` is a ``Recording``, the path of one, or queries of shape [sequence, head, token, d] beside keys
    ``k``. Arrays may be NumPy's, PyTorch's, JAX's or of any library that keeps to the array API standard;
    statistics are computed where they are. Keys and values ``v`` may have fewer heads, a divisor of the
    queries'. ``out`` is what attention gave back and ``scale`` the factor that it was given; ``mask`` is True
    where a key may be seen and ``bias`` is added to the scaled scores, both broadcast to
    [sequence, head, query, key]. ``causal`` stands for the mask of PyTorch's ``is_causal``; ``softcap`` c
    turns a scaled score s into c·tanh(s/c), before bias and mask; ``sink`` has one score a head, which takes
    part in the softmax's sum alone.

    ``intended`` is the scale that was meant, a number or an expression in d, h, D and n; None leaves it to
    the recording, else to 1/√d. Each ``gate`` is FINDING or FINDING:LOW..HIGH, and lets that finding decide.
    ``false_alarm`` is the rate of the whole audit. ``workers`` None means one for each processor and changes
    no result.

    Returns:
        The record of the audit. Its ``exit_status`` is 1 if a finding that decides is refuted, else 3 if one
        is undecided, else 0.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    settings = audit_settings(intended, gate, false_alarm)
    arrays = {"q": q, "k": k, "v": v, "out": out, "mask": mask, "bias": bias, "sink": sink}
    numbers = {"scale": scale, "softcap": softcap}
    if not isinstance(q, Recording | Path | str):
        recording = Recording("arrays", [Layer("attention", [_call(arrays, numbers, causal=causal)])])
    elif given := [name for name, one in {**arrays, **numbers}.items() if one is not None][1:]:
        raise SettingsError(f"{given[0]}: a recording has its own; leave it out")
    else:
        recording = q if isinstance(q, Recording) else load(Path(q))
    return audit_recording(recording, settings, workers=workers)


def _call(arrays: dict[str, Array], numbers: dict[str, float | None], *, causal: bool) -> Call:
    for name, array in arrays.items():
        if (name in {"q", "k"} or array is not None) and not array_api_compat.is_array_api_obj(array):
            raise SettingsError(f"{name}: is {type(array).__name__}; give an array of NumPy, PyTorch or JAX")
    scale, softcap = (None if one is None else _number(name, one) for name, one in numbers.items())
    if softcap is not None and softcap <= 0:
        raise SettingsError(f"softcap {softcap!r}: give a number above 0, or none")
    fields = {ARRAYS[name]: array for name, array in arrays.items()}
    return Call(**fields, causal=causal, scale=scale, softcap=softcap)


def _number(name: str, given: Any) -> float:
    """Return a number of Python, or of any library's type for one."""
    try:
        is_one = not isinstance(given, str | bytes | bool) and getattr(given, "ndim", 0) == 0
        value = float(given) if is_one else math.nan
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise SettingsError(f"{name} {given!r}: give a finite number")
    return value


def audit_recording(
    recording: Recording, settings: AuditSettings, *, workers: int | None = None
) -> AuditRecord:
    """Return everything that is found of a recording.

    ``workers`` threads share out the heads of a layer whose arrays are NumPy's, None meaning one for each
    processor; they change no result.

    Raises:
        RecordingError: there is no attention call, or arrays do not fit each other.
        SettingsError: an intended scale cannot be computed.
    """
    begun = time.perf_counter()
    threads = processors(workers)
    layers = [_Audited.of(layer, settings) for layer in recording.layers]
    if not layers:
        raise RecordingError(
            f"{recording.source}: no attention call was seen; record a program that makes one"
        )
    budget = _budget(layers, settings)
    names: set[str] = set()
    with threadpool_limits(limits=1, user_api="blas"), thread_map(threads) as mapper:
        records = [
            one.record(_slug(one.layer.name, names), settings, budget, mapper if one.shape.is_numpy else map)
            for one in layers
        ]
    return AuditRecord(
        tool=Tool(version=__version__),
        settings=settings,
        budget=budget,
        source=one_line(recording.source),
        layers=tuple(records),
        left_out=(*map(_plain, recording.left_out), *_without_scale(records)),
        environment=environment(threads, _PACKAGES),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        elapsed_s=round(time.perf_counter() - begun, 3),
    ).sealed()


def _budget(layers: Sequence[_Audited], settings: AuditSettings) -> AuditBudget:
    places = sum(one.shape.heads for one in layers) * sum(kind.places for kind in kinds())
    return AuditBudget(false_alarm=settings.false_alarm, places=places, rule=RULE)


def _without_scale(layers: Sequence[LayerRecord]) -> Iterator[str]:
    """Yield in a line that layers had nothing to judge the scale by, if any had."""
    names = [
        layer.name
        for layer in layers
        if all(one.kind not in _ON_SCALE or one.judgement is Judgement.REPORTED for one in layer.findings)
    ]
    if names:
        some = f"{len(names)} of {len(layers)} layers, such as {_plain(names[0])}"
        of = "" if len(layers) == 1 else f" of all {len(layers)} layers"
        of = of if len(names) == len(layers) else f" of {some}"
        yield f"the scale{of}, which could not be judged: give v and out, or the scale that calls were given"


def _plain(text: str) -> str:
    """Return a recording's plain text as one line of prose."""
    return as_prose(one_line(text))


def _slug(name: str, taken: set[str]) -> str:
    """Return an id for a layer of this name, different from those ``taken``, which it joins."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:100].strip("-") or "layer"
    plain = f"layer-{plain}" if plain in RESERVED else plain
    number, slug = 1, plain
    while slug in taken:
        number += 1
        slug = f"{plain}-{number}"
    taken.add(slug)
    return slug


@dataclass(frozen=True)
class _Shape:
    """What all calls of a layer have in common."""

    heads: int
    key_heads: int
    d_k: int
    d_v: int | None
    dtype: str
    is_numpy: bool

    @classmethod
    def of(cls, call: Call) -> _Shape:
        """Return the shape of a call whose arrays fit each other."""
        return cls(
            heads=int(call.query.shape[1]),
            key_heads=int(call.key.shape[1]),
            d_k=int(call.query.shape[3]),
            d_v=None if call.value is None else int(call.value.shape[3]),
            dtype=dtype_of(call),
            is_numpy=bool(array_api_compat.is_numpy_array(call.query)),
        )


@dataclass
class _Seen:
    """What was kept of a layer's calls, by head and kind, and the number of sequences and their lengths.

    ``is_given`` says whether some call was given a scale.
    """

    kept: list[list[list[Any]]]
    sequences: int = 0
    tokens: set[int] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)
    is_given: bool = False


@dataclass(frozen=True)
class _Audited:
    """A layer that is to be run through: its shape and its intended scale. No array is kept."""

    layer: Layer
    intended: Intended
    expression: ScaleExpression
    shape: _Shape

    @classmethod
    def of(cls, layer: Layer, settings: AuditSettings) -> _Audited:
        """Return a layer before it is run through: only the shapes of its first call are looked at.

        Raises:
            RecordingError: the layer has no call, or its first one's arrays do not fit each other.
        """
        first = next(iter(layer.calls), None)
        if first is None:
            raise RecordingError(f"layer {layer.name}: has no calls; record again")
        check_call(first, f"layer {layer.name}")
        first = in_memory(first)
        intended = layer.intended or Intended(DEFAULT, "default")
        if settings.intended is not None:
            intended = Intended(settings.intended, "given")
        return cls(layer, intended, scale_expression(intended.expression), _Shape.of(first))

    def record(
        self, name: str, settings: AuditSettings, budget: AuditBudget, mapper: Callable[..., Any]
    ) -> LayerRecord:
        """Run through the calls and return the record of the layer."""
        seen = self._run_through(mapper)
        intention = self._intention(seen)
        return LayerRecord(
            id=name,
            name=one_line(self.layer.name),
            heads=self.shape.heads,
            key_heads=self.shape.key_heads,
            d_k=self.shape.d_k,
            d_v=self.shape.d_v,
            sequences=seen.sequences,
            tokens=(min(seen.tokens), max(seen.tokens)),
            dtype=self.shape.dtype,
            backend=one_line(self.layer.backend),
            intention=intention,
            findings=tuple(self._findings(seen, intention, settings, budget)),
            notes=tuple(map(_plain, self.layer.notes)),
        )

    def _run_through(self, mapper: Callable[..., Any]) -> _Seen:
        heads = range(self.shape.heads)
        seen = _Seen([[[] for _ in kinds()] for _ in heads])
        pending: list[Block | None] = [None for _ in heads]
        unexplained: list[list[int]] = [[] for _ in heads]
        implied: list[float | None] = [None for _ in heads]
        for call in map(in_memory, self.layer.calls):
            self._check(call)
            intended = self._value(int(call.key.shape[2]))

            def reduce(head: int, call: Call = call, intended: float = intended) -> None:
                for sequence in range(call.query.shape[0]):
                    place = seen.sequences + sequence
                    block = Block(call, sequence, head, intended, pending[head], place, unexplained[head])
                    implied[head] = implied_unlike_declared(block, implied[head])
                    block = block.scaled(implied[head])
                    pending[head] = block if block.partner is None else None
                    for kept, kind in zip(seen.kept[head], kinds(), strict=True):
                        kept.append(kind.reduce(block))

            list(mapper(reduce, heads))
            seen.is_given |= call.scale is not None
            seen.sequences += int(call.query.shape[0])
            seen.tokens.add(int(call.query.shape[2]))
            seen.keys.add(int(call.key.shape[2]))
        return seen

    def _check(self, call: Call) -> None:
        """Refuse a call that does not fit the first one.

        Raises:
            RecordingError: its arrays do not fit each other, or it has other heads or another width.
        """
        place = f"layer {self.layer.name}"
        check_call(call, place)
        one, other = _Shape.of(call), self.shape
        for name, got, wanted in (
            ("q", (one.heads, one.d_k), (other.heads, other.d_k)),
            ("k", (one.key_heads, one.d_k), (other.key_heads, other.d_k)),
        ):
            if got != wanted:
                raise RecordingError(
                    f"{place}: {name} has {got[0]} heads of {got[1]} dimensions after {wanted[0]} of "
                    f"{wanted[1]}; record different shapes under different names"
                )

    def _value(self, keys: int) -> float:
        """Return the intended scale for this number of keys."""
        try:
            return self.expression.value(d=self.shape.d_k, h=self.shape.heads, D=self.layer.width, n=keys)
        except SettingsError as error:
            raise SettingsError(f"layer {one_line(self.layer.name)}: {error}") from error

    def _intention(self, seen: _Seen) -> Intention:
        return Intention(
            expression=self.expression.text,
            latex=self.expression.latex,
            value=self._value(max(seen.keys)),
            origin=self.intended.origin,
            where=_plain(self.intended.where),
        )

    def _findings(
        self, seen: _Seen, intention: Intention, settings: AuditSettings, budget: AuditBudget
    ) -> Iterator[Finding]:
        for head, by_kind in enumerate(seen.kept):
            subject = Subject(
                layer=self.layer,
                head=head,
                heads=self.shape.heads,
                key_heads=self.shape.key_heads,
                d_k=self.shape.d_k,
                intention=intention,
                alpha=budget.false_alarm / budget.places,
                gates=settings.gates,
                only_output_tells=bool(self.layer.backend) and not seen.is_given,
            )
            for kept, kind in zip(by_kind, kinds(), strict=True):
                yield from kind.find(kept, subject)
