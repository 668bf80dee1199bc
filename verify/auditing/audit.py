"""An audit: what it can find and what of that decides, and the run through a recording.

Head by head and sequence by sequence, one call at a time.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
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
from verify.executors.machine import environment, processors
from verify.executors.threads import thread_map
from verify.text.escapes import as_prose, one_line
from verify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verify.auditing.recording import Array
    from verify.evidence.claims import Band

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
    low, dots, high = band.partition("..")
    if colon and not (dots and (low or high)):
        raise SettingsError(f"gate {text!r}: has no band; {_USAGE}")
    try:
        return name, _checked(name, (float(low) if low else None, float(high) if high else None))
    except ValueError as error:
        raise SettingsError(f"gate {text!r}: its band is no two numbers; {_USAGE}") from error


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
    """Judge what a program's attention does: a recording, or the arrays of one layer.

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
    layers = [_LayerAudit.of(layer, settings) for layer in recording.layers]
    if not layers:
        raise RecordingError(
            f"{recording.source}: no attention call was seen; record a program that makes one"
        )
    places = sum(one.heads for one in layers) * sum(kind.places for kind in kinds())
    budget = AuditBudget(false_alarm=settings.false_alarm, places=places, rule=RULE)
    names: set[str] = set()
    records = []
    with threadpool_limits(limits=1, user_api="blas"), thread_map(threads) as mapper:
        for one in layers:
            one.run_through(mapper if one.is_numpy else map)
            records.append(one.record(_slug(one.layer.name, names), settings, budget))
            one.kept.clear()
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


@dataclass
class _LayerAudit:
    """A layer that is run through: what its calls have in common, and what was kept of them, but no array.

    ``kept`` is by head and kind. ``tokens`` and ``keys`` are the numbers of them in a sequence; ``is_given``
    says whether some call was given a scale.
    """

    layer: Layer
    intended: Intended
    expression: ScaleExpression
    heads: int
    key_heads: int
    d_k: int
    d_v: int | None
    dtype: str
    is_numpy: bool
    kept: list[list[list[Any]]]
    sequences: int = 0
    tokens: set[int] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)
    is_given: bool = False

    @classmethod
    def of(cls, layer: Layer, settings: AuditSettings) -> _LayerAudit:
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
        _, heads, _, d_k = map(int, first.query.shape)
        d_v = None if first.value is None else int(first.value.shape[3])
        is_numpy = bool(array_api_compat.is_numpy_array(first.query))
        kept: list[list[list[Any]]] = [[[] for _ in kinds()] for _ in range(heads)]
        expression, key_heads = scale_expression(intended.expression), int(first.key.shape[1])
        shape = (heads, key_heads, d_k, d_v)
        return cls(layer, intended, expression, *shape, dtype_of(first), is_numpy, kept)

    def run_through(self, mapper: Callable[..., Any]) -> None:
        """Keep what the kinds of findings make of every block, one call at a time."""
        heads = range(self.heads)
        pending: list[Block | None] = [None for _ in heads]
        unexplained: list[list[int]] = [[] for _ in heads]
        implied: list[float | None] = [None for _ in heads]
        for call in map(in_memory, self.layer.calls):
            self._check(call)
            sequences, _, queries, _ = map(int, call.query.shape)
            keys = int(call.key.shape[2])
            intended = self._value(keys)

            def reduce(
                head: int, call: Call = call, intended: float = intended, sequences: int = sequences
            ) -> None:
                for sequence in range(sequences):
                    place = self.sequences + sequence
                    block = Block(call, sequence, head, intended, pending[head], place, unexplained[head])
                    implied[head] = implied_unlike_declared(block, implied[head])
                    block = replace(block, implied=implied[head])
                    pending[head] = block if block.partner is None else None
                    for kept, kind in zip(self.kept[head], kinds(), strict=True):
                        kept.append(kind.reduce(block))

            list(mapper(reduce, heads))
            self.is_given |= call.scale is not None
            self.sequences += sequences
            self.tokens.add(queries)
            self.keys.add(keys)

    def _check(self, call: Call) -> None:
        """Refuse a call that does not fit the first one.

        Raises:
            RecordingError: its arrays do not fit each other, or it has other heads or another width.
        """
        place = f"layer {self.layer.name}"
        check_call(call, place)
        for name, array, heads in (("q", call.query, self.heads), ("k", call.key, self.key_heads)):
            _, own, _, d = array.shape
            if (own, d) != (heads, self.d_k):
                raise RecordingError(
                    f"{place}: {name} has {own} heads of {d} dimensions after {heads} of {self.d_k}; "
                    "record different shapes under different names"
                )

    def _value(self, keys: int) -> float:
        """Return the intended scale for this number of keys."""
        try:
            return self.expression.value(d=self.d_k, h=self.heads, D=self.layer.width, n=keys)
        except SettingsError as error:
            raise SettingsError(f"layer {one_line(self.layer.name)}: {error}") from error

    def record(self, name: str, settings: AuditSettings, budget: AuditBudget) -> LayerRecord:
        """Return the record of the layer, which was run through."""
        intention = Intention(
            expression=self.expression.text,
            latex=self.expression.latex,
            value=self._value(max(self.keys)),
            origin=self.intended.origin,
            where=_plain(self.intended.where),
        )
        findings: list[Finding] = []
        tells, alpha = bool(self.layer.backend) and not self.is_given, budget.false_alarm / budget.places
        for head, by_kind in enumerate(self.kept):
            sizes = (head, self.heads, self.key_heads, self.d_k)
            subject = Subject(self.layer, *sizes, intention, alpha, settings.gates, tells)
            for kept, kind in zip(by_kind, kinds(), strict=True):
                findings.extend(kind.find(kept, subject))
        return LayerRecord(
            id=name,
            name=one_line(self.layer.name),
            heads=self.heads,
            key_heads=self.key_heads,
            d_k=self.d_k,
            d_v=self.d_v,
            sequences=self.sequences,
            tokens=(min(self.tokens), max(self.tokens)),
            dtype=self.dtype,
            backend=one_line(self.layer.backend),
            intention=intention,
            findings=tuple(findings),
            notes=tuple(map(_plain, self.layer.notes)),
        )
