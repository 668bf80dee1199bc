"""Digests see every change that is more than rounding, and no rounding."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.report.builders import check, exact_check
from tests.report.records import SCORE_VARIANCE
from tests.strategies import examples, floats
from verify.evidence import ClaimRecord, Fact, Proof, digest_of

Path = tuple[str | int, ...]


def leaves(content: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths to all values in a JSON document."""
    if isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from leaves(value, (*path, key))
    else:
        yield path


def place_of(content: Any, path: Path) -> Any:
    """Return the list or table that a value is in."""
    for key in path[:-1]:
        content = content[key]
    return content


def size_at(content: Any, path: Path) -> float:
    """Return the largest number of the finding that a number is of, or its own size."""
    if path[0] not in {"checks", "controls", "fits", "series"} or path[2] in {"level", "tolerance", "power"}:
        return abs(float(place_of(content, path)[path[-1]]))
    finding = content[path[0]][path[1]]
    numbers = (place_of(finding, leaf)[leaf[-1]] for leaf in leaves(finding))
    return max((abs(number) for number in numbers if isinstance(number, float)), default=0.0)


def changed(content: Any, path: Path) -> Any:
    """Return another value of the same kind; another number by a hundred-millionth."""
    value = place_of(content, path)[path[-1]]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + (1e-8 * size_at(content, path) or 1e-8)
    return "x" if value is None else value + "x"


@examples(60)
@given(st.data())
def test_the_digest_changes_if_anything_changes(data: st.DataObject) -> None:
    """Any single value that is not computed, by a part in a hundred million or one character."""
    content = SCORE_VARIANCE.model_dump(mode="json", round_trip=True)
    fixed = {"status", "method", "relation", "digest"}
    path = data.draw(st.sampled_from([path for path in leaves(content) if path[-1] not in fixed]))
    place_of(content, path)[path[-1]] = changed(content, path)
    try:
        other = ClaimRecord.model_validate(content)
    except ValidationError:
        event("refused")
    else:
        assert digest_of(other) != digest_of(SCORE_VARIANCE)


def test_a_seal_covers_all_but_itself() -> None:
    """Sealing twice changes nothing, reading back keeps it; another proof has another."""
    sealed = SCORE_VARIANCE.sealed()
    assert len(sealed.digest) == 64
    assert sealed.sealed() == sealed
    assert digest_of(ClaimRecord.model_validate_json(sealed.model_dump_json())) == sealed.digest
    derivations = [sealed.derivation.model_copy(update={"status": proof}) for proof in Proof]
    others = [sealed.model_copy(update={"derivation": derivation}) for derivation in derivations]
    assert len({digest_of(other) for other in others}) == len(Proof)


@examples(60)
@given(floats(-9.9, 9.9), floats(1e-9, 9.9), st.integers(-30, 30), st.integers(-4, 4), st.integers(-4, 4))
def test_the_digest_sees_no_rounding(value: float, width: float, power: int, first: int, second: int) -> None:
    """Errors of a few last digits of the largest number of a check, in numbers near zero as well."""
    low, middle, high = ((value + shift * width) * 10.0**power for shift in (-1, 0.1, 1))
    made = check("a", middle, middle, error=width * 10.0**power)
    largest = max(map(abs, (low, high)))
    error = 2.0**-52 * largest

    def claim(shift: int) -> ClaimRecord:
        moved = {"estimate": middle + shift * error, "interval": (low - shift * error, high + shift * error)}
        return SCORE_VARIANCE.model_copy(update={"checks": (made.model_copy(update=moved),)})

    assert digest_of(claim(first)) == digest_of(claim(second))


@pytest.mark.parametrize("power", [15, 14, 10, -1])
def test_a_number_between_two_of_ten_digits_is_no_edge(power: int) -> None:
    """Powers of two have few digits, and 1/32768 has eleven, of which the last is a five."""
    digests = {
        digest_of(
            SCORE_VARIANCE.model_copy(update={"facts": (Fact(id="f", what="", latex="", value=value),)})
        )
        for value in (2.0**-power * (1 + error * 2.0**-52) for error in range(-4, 5))
    }
    assert len(digests) == 1


def test_what_stands_in_place_of_zero_is_rounding_below_the_tolerance() -> None:
    """5.6e-17 is 1.1e-16; above the tolerance every digit counts again."""

    def digest(value: float) -> str:
        made = exact_check("a", 0.0, "", "an error")
        moved = {"estimate": value, "interval": (value, value), "tolerance": 1e-12}
        return digest_of(SCORE_VARIANCE.model_copy(update={"checks": (made.model_copy(update=moved),)}))

    assert len({digest(value) for value in (0.0, -0.0, 5.6e-17, 1.1e-16, 4e-13)}) == 1
    assert len({digest(value) for value in (0.0, 1e-12, 2e-12, 1e-9)}) == 4
