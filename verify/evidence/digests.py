"""The digest of a claim's record, over rounded numbers: the same whatever libraries computed them.

Another version of NumPy or SciPy adds in another order, and differs in the last of sixteen digits. Each
number counts with ten significant digits: of itself or, where numbers belong together, of the largest of
them, since what is left of a difference has the rounding errors of what was subtracted. It is rounded to
three digits more first, as numbers like 1/32768 = 3.0517578125e-05 lie just between two of ten digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from verify.evidence.records import Record, fingerprint

_DIGITS, _MORE = 10, 3
_TOGETHER = (
    ("checks", ("prediction", "estimate", "standard_error", "interval", "band")),
    ("controls", ("prediction", "estimate", "interval", "band")),
    ("fits", ("slope", "intercept")),
)
"""The numbers of a finding that are in one unit, and come out of each other by sums and differences."""


def digest_of(claim: Record) -> str:
    """Return the SHA-256, in hexadecimal, of a claim's record as canonical JSON without its digest.

    Numbers are rounded: those of a check, a control or a fit, and those of a layer of a figure, to the tenth
    digit of the largest among them; any other to its own. Where an exact check allows for rounding errors in
    place of 0, what is below its tolerance counts as 0. ``tightness`` is left out, as it is a quotient of two
    numbers that are there.
    """
    content = claim.model_dump(mode="json", exclude={"digest": True, "checks": {"__all__": {"tightness"}}})
    for kind, names in _TOGETHER:
        for finding in content[kind]:
            is_zero = finding.get("method") == "exact" and finding["prediction"] == 0
            _round_together(finding, names, finding["tolerance"] if is_zero else 0.0)
    for figure in content["series"]:
        for layer in figure["layers"]:
            _round_together(layer, ("x",))
            _round_together(layer, ("y", "lo", "hi"))
    return fingerprint(_rounded(content))


def _round_together(part: dict[str, Any], names: Iterable[str], least: float = 0.0) -> None:
    """Round the numbers of these names to the tenth digit of the largest, at best to ``least``."""
    found = {name: part[name] for name in names}
    largest = max((abs(number) for value in found.values() for number in _numbers(value)), default=0.0)
    place = _place(largest)
    if least:
        place = min(place, _place(least) - _DIGITS + 1)
    part.update({name: _rounded(value, place) for name, value in found.items()})


def _numbers(value: Any) -> Iterable[float]:
    return [one for one in (value if isinstance(value, list) else [value]) if one is not None]


def _place(number: float) -> int:
    """Return the decimal place of the tenth digit of a number, as it is once it is rounded to that."""
    return _DIGITS - 1 - int(f"{number:.{_DIGITS - 1}e}".partition("e")[2])


def _rounded(value: Any, place: int | None = None) -> Any:
    """Return a value of JSON with its fractions rounded to a decimal place, by default each to its own."""
    if isinstance(value, dict):
        return {name: _rounded(one, place) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one, place) for one in value]
    if not isinstance(value, float):
        return value
    at = _place(value) if place is None else place
    try:
        # Zero has no sign here.
        return round(round(value, at + _MORE), at) + 0.0
    except OverflowError:  # of the largest doubles, rounded up
        return value
