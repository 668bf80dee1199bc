"""What a forger may put in the place of each value of a JSON document."""

import math
from collections.abc import Iterator
from typing import Any

from verify.evidence import Outcome, Proof, Verdict
from verify.evidence.audits import Judgement

_WORDS = (
    *(*Verdict, *Outcome, *Proof, *Judgement),
    *("=", "≤", "≥", "<", "~", "→", "derived", "computed", "set", "monte-carlo", "fit", "exact"),
    *(
        "all-values",
        "these-values",
        "numerically",
        "says",
        "prints",
        "quick",
        "standard",
        "deep",
        "",
        "other",
    ),
)


def places(value: Any, here: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield everything within a JSON value with its path."""
    if here:
        yield here, value
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*here, step))


def others(value: Any) -> Iterator[Any]:
    """Yield what a forger may put in the place of a value."""
    yield None
    if isinstance(value, bool):
        yield not value
    elif value is None:
        yield from (True, False, 1, "other", "confirmed")
    elif isinstance(value, int | float):
        yield from (
            0,
            1,
            -1,
            -value,
            2 * value,
            value + 1,
            value * 1.001,
            value * 0.999,
            1e308,
            -1e308,
            1e-300,
            math.nan,
            math.inf,
        )
    elif isinstance(value, str):
        yield from map(str, _WORDS if value in _WORDS else ("", "other"))
    elif isinstance(value, list):
        yield from ([], value[1:], value[:-1], [*value, *value[:1]])
    else:
        yield {}
        yield from ({name: one for name, one in value.items() if name != gone} for gone in value)
