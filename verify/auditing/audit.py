"""Runs through a recording once, head by head and sequence by sequence, and puts what is found on record."""

from __future__ import annotations

import datetime as dt
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import array_api_compat
from threadpoolctl import threadpool_limits

from verify.auditing.arrays import dtype_of, in_memory
from verify.auditing.block import Block
from verify.auditing.findings import kinds
from verify.auditing.implied import implied_unlike_declared
from verify.auditing.intention import DEFAULT, ScaleExpression, scale_expression
from verify.auditing.kinds import Subject
from verify.auditing.recording import Intended
from verify.auditing.shapes import check_call
from verify.errors import RecordingError, SettingsError
from verify.escapes import as_prose, one_line
from verify.evidence.audits import RESERVED, AuditBudget, AuditRecord, Intention, Judgement, LayerRecord
from verify.evidence.runs import Tool
from verify.executors.machine import environment, processors
from verify.executors.threads import thread_map
from verify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verify.auditing.recording import Call, Layer, Recording
    from verify.evidence.audits import AuditSettings, Finding

RULE = "split evenly over the statistical findings of all heads, before the data are seen; one look"
_ON_SCALE = ("scale-applied", "scale-implied")
_PACKAGES = ("numpy", "scipy", "array-api-compat")


def audit(recording: Recording, settings: AuditSettings, *, workers: int | None = None) -> AuditRecord:
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
    names = [layer.name for layer in layers if not any(map(_judges_scale, layer.findings))]
    if names:
        some = f"{len(names)} of {len(layers)} layers, such as {_plain(names[0])}"
        of = "" if len(layers) == 1 else f" of all {len(layers)} layers"
        of = of if len(names) == len(layers) else f" of {some}"
        yield f"the scale{of}, which could not be judged: give v and out, or the scale that calls were given"


def _judges_scale(finding: Finding) -> bool:
    return finding.kind in _ON_SCALE and finding.judgement is not Judgement.REPORTED


def _plain(text: str) -> str:
    """Return somebody's plain text as one line of prose."""
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
    """What was kept of a layer's calls: looks by head and kind, and how many sequences of which lengths.

    ``is_given`` says whether some call was given a scale.
    """

    looks: list[list[list[Any]]]
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

            def look(head: int, call: Call = call, intended: float = intended) -> None:
                for sequence in range(call.query.shape[0]):
                    place = seen.sequences + sequence
                    block = Block(call, sequence, head, intended, pending[head], place, unexplained[head])
                    implied[head] = implied_unlike_declared(block, implied[head])
                    block = block.scaled(implied[head])
                    pending[head] = block if block.partner is None else None
                    for kept, kind in zip(seen.looks[head], kinds(), strict=True):
                        kept.append(kind.look(block))

            list(mapper(look, heads))
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
        """Return the intended scale for so many keys."""
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
        for head, looks in enumerate(seen.looks):
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
            for kept, kind in zip(looks, kinds(), strict=True):
                yield from kind.find(kept, subject)
