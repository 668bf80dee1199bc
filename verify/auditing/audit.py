"""An audit: what it can find and what of that decides, and the run through a recording.

All rows of every call, a few calls at a time.
"""

import datetime as dt
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import array_api_compat
import numpy as np
from threadpoolctl import threadpool_limits

from verify.auditing.arrays import dtype_of, to_numpy
from verify.auditing.blocks import Subject
from verify.auditing.exact import FINDINGS
from verify.auditing.files import load
from verify.auditing.layers import Seen, run_through
from verify.auditing.masks import intended_mask
from verify.auditing.recording import ARRAYS, Array, Call, Intended, Layer, Recording, check_call
from verify.auditing.rows import Mapper
from verify.auditing.scales import DEFAULT, scale_expression
from verify.errors import RecordingError, SettingsError, naming_arguments, unknown
from verify.evidence.audits import (
    RESERVED,
    UNSEEN,
    AuditRecord,
    AuditSettings,
    Finding,
    Intention,
    Judgement,
    LayerRecord,
    counted,
    together,
)
from verify.evidence.runs import Tool
from verify.executors.machine import environment, processors, thread_map
from verify.text.escapes import as_prose, one_line
from verify.version import __version__

FALSE_ALARM = 1e-3
"""The rate at which the intervals of the scales that outputs imply may miss, all heads together."""

_ON_SCALE = ("scale-applied", "scale-implied")
_PACKAGES = ("numpy", "scipy", "array-api-compat")


def audit_settings(
    intended: str | float | None = None,
    *,
    mask: str = "",
    allow_unseen: Iterable[str] = (),
) -> AuditSettings:
    """Return the settings of an audit after checking them.

    Raises:
        SettingsError: the intended scale is no expression, the mask none of `INTENDED_MASKS`, or what may be
            unseen is no reason.
    """
    allowed = (allow_unseen,) if isinstance(allow_unseen, str) else tuple(allow_unseen)
    for reason in allowed:
        if reason not in UNSEEN:
            raise SettingsError(
                "--allow-unseen: " + unknown("reason", reason, UNSEEN, f"there are {', '.join(UNSEEN)}")
            )
    if mask:
        intended_mask(mask)
    if intended is not None:
        intended = scale_expression(str(intended)).text
    return AuditSettings(intended=intended, mask=mask, allow_unseen=allowed)


@naming_arguments(mask="intended_mask")
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
    intended_mask: str = "",
    documents: Array | None = None,
    allow_unseen: Iterable[str] = (),
    workers: int | None = None,
) -> AuditRecord:
    """Judge what a program's attention does: a recording, or the arrays of one layer.

    ``q`` is a ``Recording``, the path of one, or queries of shape [sequence, head, token, d] beside keys
    ``k``. Arrays may be NumPy's, PyTorch's, JAX's or of any library that keeps to the array API standard.
    Keys and values ``v`` may have fewer heads, a divisor of the queries'. ``out`` is what attention gave back
    and ``scale`` the factor that it was given; ``mask`` is True where a key may be seen and ``bias`` is added
    to the scaled scores, both broadcast to [sequence, head, query, key]. ``causal`` stands for the mask of
    PyTorch's ``is_causal``; ``softcap`` c turns a scaled score s into c·tanh(s/c), before bias and mask;
    ``sink`` has one score a head, which takes part in the softmax's sum alone.

    ``intended`` is the scale that was meant, a number or an expression in d, h, D and n; None leaves it to
    the recording, else to 1/√d. ``intended_mask`` is the mask that was meant: ``none``, ``causal``,
    ``window=W``, ``prefix=N`` or ``documents``; the last one takes the number of each token's document,
    ``documents`` of shape [sequence, token]. What was not seen and could differ makes it one in part,
    unless ``allow_unseen`` has the reason: ``calls`` that were left out, values or ``output`` that were not
    given, ``rows`` of tokens that see no key, the ``precision`` that outputs agree to where it is coarser
    than they are stored in, or what is ``unrecorded``. ``workers`` None means one for each processor and
    changes no result.

    Returns:
        The record of the audit. Its ``exit_status`` is 1 if a finding that decides is refuted, else 3 if
        one is undecided or the audit is one in part, else 0.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    settings = audit_settings(intended, mask=intended_mask, allow_unseen=allow_unseen)
    arrays = {
        "q": q,
        "k": k,
        "v": v,
        "out": out,
        "mask": mask,
        "bias": bias,
        "sink": sink,
        "documents": documents,
    }
    numbers = {"scale": scale, "softcap": softcap}
    if not isinstance(q, Recording | Path | str):
        call = _call(arrays, numbers, causal=causal)
        recording = Recording("arrays", [Layer("attention", [call])])
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
    fields = {ARRAYS[name]: array for name, array in arrays.items()}
    return Call(**fields, causal=causal, scale=scale, softcap=softcap)


def _number(name: str, given: Any) -> float:
    """Return a number of Python, or of any library's type for one."""
    try:
        value = float(given)
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
    layers = [_LayerAudit(layer, settings) for layer in recording.layers]
    if not layers:
        raise RecordingError(
            f"{recording.source}: no attention call was seen; record a program that makes one"
        )
    alpha = FALSE_ALARM / sum(one.heads for one in layers)
    names: set[str] = set()
    records, declared, astray = [], [], 0
    with threadpool_limits(limits=1, user_api="blas"), thread_map(threads) as mapper:
        for one in layers:
            one.run_through(mapper)
            records.append(one.record(_slug(one.layer.name, names), alpha))
            declared.append(one.declared())
            astray += sum(int(batch.counts.astray.sum()) for batch in one.seen.batches)
            one.seen = Seen(one.heads)
    differences = tuple(_differences(records, declared))
    left_out = list(_left_out(recording, records, astray))
    return AuditRecord(
        tool=Tool(version=__version__),
        settings=settings,
        source=one_line(recording.source),
        layers=tuple(records),
        left_out=tuple(text for _, text in left_out),
        differences=differences,
        unseen=tuple(sorted({reason for reason, _ in left_out} - set(settings.allow_unseen))),
        environment=environment(threads, _PACKAGES),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        elapsed_s=round(time.perf_counter() - begun, 3),
    ).sealed()


def _differences(records: Sequence[LayerRecord], declared: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield a line for each thing in which the calls of layers differ, with the layers of each kind."""
    for what in declared[0]:
        alike: dict[str, list[str]] = {}
        for record, one in zip(records, declared, strict=True):
            alike.setdefault(one[what], []).append(record.name)
        if len(alike) > 1:
            yield f"{what}: " + "; ".join(f"{value} in {together(names)}" for value, names in alike.items())


def _is_coarse(finding: Finding) -> bool:
    return finding.kind == "reconstruction" and finding.judgement is Judgement.WARNED


def _left_out(recording: Recording, records: Sequence[LayerRecord], astray: int) -> Iterator[tuple[str, str]]:
    """Yield what was not seen and could differ: its reason, one of `UNSEEN`, and a line."""
    yield from (("unrecorded", _plain(text)) for text in recording.left_out)
    for layer in recording.layers:
        yield from (("calls", f"{_plain(layer.name)}: calls {_plain(text)}") for text in layer.left_out)
    coarse = [one.name for one in records if any(map(_is_coarse, one.findings))]
    if coarse:
        yield "precision", f"faults in {together(coarse)} below the precision that outputs agree to"
    if astray:
        yield "rows", f"{counted(astray, 'row')} that see no key, and whose own token is no padding"
    silent = [layer for layer in records if layer.rows_compared + layer.rows_without_key < layer.rows]
    if silent:
        some = f"{len(silent)} of {len(records)} layers, such as {_plain(silent[0].name)}"
        of = "" if len(records) == 1 else f" of all {len(records)} layers"
        of = of if len(silent) == len(records) else f" of {some}"
        scale = all(
            one.kind not in _ON_SCALE or one.judgement is Judgement.REPORTED for one in silent[0].findings
        )
        what = "the scale and the formula" if scale else "the formula"
        yield (
            "output",
            f"outputs{of}, in whole or in part, so that {what} could not be judged: give v and out",
        )


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


class _LayerAudit:
    """A layer of a recording: what its calls have in common, and what is kept of them once it is run through.

    Only the shapes of its first call are looked at at first.

    Raises:
        RecordingError: the layer has no call, or its first one's arrays do not fit each other.
    """

    def __init__(self, layer: Layer, settings: AuditSettings) -> None:
        first = next(iter(layer.calls), None)
        if first is None:
            raise RecordingError(f"layer {layer.name}: has no calls; record again")
        check_call(first, f"layer {layer.name}")
        given = None if settings.intended is None else Intended(settings.intended, "given")
        self.layer = layer
        self.intended = given or layer.intended or Intended(DEFAULT, "default")
        self.expression = scale_expression(self.intended.expression)
        _, self.heads, _, self.d_k = map(int, first.query.shape)
        self.key_heads = int(first.key.shape[1])
        self.d_v = None if first.value is None else int(first.value.shape[3])
        self.dtype = dtype_of(first)
        self.mask = settings.mask or layer.mask
        meant = intended_mask(self.mask) if self.mask else None
        self.seen = Seen(self.heads, meant)

    def run_through(self, mapper: Mapper) -> None:
        """Keep what all calls are like, a few at a time."""
        run_through(self.layer.calls, self.seen, self._value, self._check, mapper)

    def _check(self, call: Call) -> None:
        """Refuse a call that does not fit the first one.

        Raises:
            RecordingError: its arrays do not fit each other, or it has other heads or another width.
        """
        place = f"layer {self.layer.name}"
        check_call(call, place)
        for name, given in (("bias", call.bias), ("sink", call.sink)):
            if given is not None and not np.all(to_numpy(given) < math.inf):
                raise RecordingError(f"{place}: {name} holds NaN or +inf; give -inf where a key is hidden")
        if call.softcap is not None and not 0 < call.softcap < math.inf:
            raise RecordingError(f"{place}: softcap {call.softcap!r}: give a number above 0, or none")
        if call.documents is not None and not self.mask:
            raise RecordingError(
                f"{place}: has documents, and no mask is meant that they are for; give --mask as documents"
            )
        for name, array, heads in (("q", call.query, self.heads), ("k", call.key, self.key_heads)):
            _, own, _, d = array.shape
            if (own, d) != (heads, self.d_k):
                raise RecordingError(
                    f"{place}: {name} has {own} heads of {d} dimensions, and in earlier calls "
                    f"{heads} of {self.d_k}; record different shapes under different names"
                )

    def _value(self, keys: int) -> float:
        """Return the intended scale for this number of keys."""
        try:
            return self.expression.value(d=self.d_k, h=self.heads, D=self.layer.width, n=keys)
        except SettingsError as error:
            raise SettingsError(f"layer {one_line(self.layer.name)}: {error}") from error

    def declared(self) -> dict[str, str]:
        """Return in words what calls of the layer declare."""
        some = self.seen.batches
        kinds_of = {
            "mask": (one.mask for one in some if one.queries > 1),
            "scale": ("none given" if one.given is None else f"{one.given:.6g}" for one in some),
            "soft-cap": ("none" if one.softcap is None else f"{one.softcap:g}" for one in some),
        }
        return {what: " or ".join(sorted(set(values))) or "none" for what, values in kinds_of.items()}

    def record(self, name: str, alpha: float) -> LayerRecord:
        """Return the record of the layer, which was run through; intervals of its heads miss at ``alpha``."""
        seen = self.seen
        intention = Intention(
            expression=self.expression.text,
            latex=self.expression.latex,
            value=self._value(max(one.keys for one in seen.batches)),
            origin=self.intended.origin,
            where=_plain(self.intended.where),
        )
        is_given = any(one.given is not None for one in seen.batches)
        tells = bool(self.layer.backend) and not is_given
        sizes = (self.heads, self.key_heads, self.d_k)
        findings = [
            finding
            for head in range(self.heads)
            for find in FINDINGS
            for finding in find(seen, Subject(self.layer, head, *sizes, intention, alpha, tells, self.mask))
        ]
        compared = [one.compared for one in seen.batches if one.compared is not None]
        declared = {"mask": self.declared()["mask"], "intended mask": self.mask}
        tokens = [one.queries for one in seen.batches]
        return LayerRecord(
            id=name,
            name=one_line(self.layer.name),
            heads=self.heads,
            key_heads=self.key_heads,
            d_k=self.d_k,
            d_v=self.d_v,
            calls=seen.calls,
            sequences=seen.sequences,
            tokens=(min(tokens), max(tokens)),
            rows=sum(len(one.places) * self.heads * one.queries for one in seen.batches),
            rows_compared=sum(int(one.rows.sum()) for one in compared),
            rows_without_key=sum(int(one.counts.blind.sum()) for one in seen.batches),
            dtype=self.dtype,
            backend=one_line(self.layer.backend),
            declared={what: value for what, value in declared.items() if value},
            intention=intention,
            findings=tuple(findings),
            notes=tuple(map(_plain, self.layer.notes)),
        )
