"""Watches attention while a model is trained: an audit of a few sequences, now and then."""

import math
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self

from verify.auditing.audit import FALSE_ALARM, LEAST_FALSE_ALARM, Gates, audit_recording, audit_settings
from verify.auditing.record import record
from verify.auditing.recording import Recording
from verify.errors import SettingsError
from verify.evidence.audits import AuditRecord, Finding, Judgement

_SMALLER = "normalise queries and keys, cap the scores, or lower the learning rate"
_TRAINING = {
    "largest-score": ("scores have grown", _SMALLER),
    "row-variance": ("the spread of scores in a row has left its band", _SMALLER),
    "entropy": ("rows have come to see few keys", _SMALLER),
    "effective-keys": ("rows have come to see few keys", _SMALLER),
    "largest-probability": ("rows have come to see few keys", _SMALLER),
    "gradient-pass": ("the softmax passes little of the gradient", _SMALLER),
}
"""What a gate's finding means while a model is trained, and what is done about it: arXiv 2309.14322."""


class Alarm(NamedTuple):
    """A finding that was refuted or warned of: the pass, the module's name, what is wrong and what to do.

    It is refuted for the model as it then was; a gate whose estimate lies outside its band, over too few
    sequences to say so of all, is warned of.
    """

    step: int
    layer: str
    finding: str
    judgement: Judgement
    cause: str
    fix: str


class AttentionMonitor:
    """Audits one in ``every`` passes of a training loop, and keeps what is wrong.

    ``with monitor:`` goes around each pass, the forward pass at least. Of a pass that is looked at the first
    ``max_sequences`` sequences are audited as ``verify.audit`` does and then dropped: what stays are
    ``last``, the record of the latest look, and ``alarms``. All other passes run as if nothing were there.
    Look k has 6/(π²k²) of the false-alarm rate, which so holds for all looks together, however many there
    will be.

    Args:
        model: gives layers their names; None takes those in the outermost module that runs.
        every: how many passes from one look to the next; the first pass is looked at.
        max_sequences: how many sequences a look takes; intervals need several.
        max_bytes: how much memory a look may take for them.
        intended: the scale that was meant; None leaves it to the model's configuration, else to 1/√d.
        gate: as in ``verify.audit``; a finding that it names can give an alarm.
        false_alarm: the rate of all looks together.

    Raises:
        SettingsError: a setting is outside what it may be.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        every: int = 100,
        max_sequences: int = 16,
        max_bytes: int = 2_000_000_000,
        intended: str | float | None = None,
        gate: Gates = (),
        false_alarm: float = FALSE_ALARM,
    ) -> None:
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise SettingsError(f"every {every!r}: give a whole number of at least 1")
        self._settings = audit_settings(intended, gate, false_alarm)
        self._every = every
        self._record = partial(record, model, max_sequences=max_sequences, max_bytes=max_bytes)
        self._passes, self._looks = 0, 0
        self._watched: tuple[Any, Recording] | None = None
        self.last: AuditRecord | None = None
        self.alarms: list[Alarm] = []

    def __enter__(self) -> Self:
        if self._passes % self._every == 0:
            context = self._record()
            self._watched = context, context.__enter__()
        self._passes += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watched is None:
            return
        (context, recording), self._watched = self._watched, None
        context.__exit__(kind, error, trace)
        if error is None:
            self._look(recording)

    def __repr__(self) -> str:
        return f"AttentionMonitor(passes={self._passes}, looks={self._looks}, alarms={len(self.alarms)})"

    def _look(self, recording: Recording) -> None:
        self._looks += 1
        share = 6 / (math.pi * self._looks) ** 2
        rate = max(self._settings.false_alarm * share, LEAST_FALSE_ALARM)
        self.last = audit_recording(recording, self._settings.model_copy(update={"false_alarm": rate}))
        step = self._passes - 1
        for layer, finding in ((one.name, finding) for one in self.last.layers for finding in one.findings):
            judgement, cause = finding.judgement, finding.cause or finding.reason
            if _is_outside(finding):
                judgement = Judgement.WARNED
                cause = f"{finding.estimate:.4g} over these {finding.sequences:,} sequences"
            if judgement in {Judgement.REFUTED, Judgement.WARNED}:
                what, fix = _TRAINING.get(finding.kind, ("", ""))
                cause = f"{what}: {cause}" if what else cause
                self.alarms.append(Alarm(step, layer, finding.id, judgement, cause, finding.fix or fix))


def _is_outside(finding: Finding) -> bool:
    """Return whether a gate's estimate lies outside its band, over too few sequences to refute it."""
    low, high = finding.band or (None, None)
    if finding.judgement is not Judgement.UNDECIDED or finding.exact or finding.estimate is None:
        return False
    return (low is not None and finding.estimate < low) or (high is not None and finding.estimate > high)
