"""Gates: the findings that are to decide, and the bands that they are held against."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from verify.auditing.findings import kind_of
from verify.auditing.intention import scale_expression
from verify.auditing.kinds import OWN_RULE
from verify.errors import SettingsError
from verify.evidence.audits import AuditSettings

if TYPE_CHECKING:
    from verify.evidence.claims import Band

Gates = str | Iterable[str] | Mapping[str, tuple[float | None, float | None] | None]
"""Gates as they are given: FINDING or FINDING:LOW..HIGH, one or several, or bands by findings' names."""

FALSE_ALARM = 1e-3
"""The false-alarm rate of an audit where none is given."""

_USAGE = "write FINDING or FINDING:LOW..HIGH, such as row-variance:0.5..2"
LEAST_FALSE_ALARM = 1e-30


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
