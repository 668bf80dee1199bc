"""What contradicts itself in a file of sources: between its keys, and between its texts and their numbers."""

from __future__ import annotations

from typing import Any

import pytest

from verify.engine.contradictions import contradictions, numbers_without
from verify.engine.sources import SourceBook

PART: dict[str, Any] = {"text": "It says so.", "claim": "a-claim", "evidence": "verdict", "kind": "says"}
PRINTS = PART | {"text": "It is 0.88.", "evidence": "fact:f", "kind": "prints", "printed": "0.88"}
STATEMENT: dict[str, Any] = {"id": "s1", "source": "s", "text": "So it is.", "claim": "a-claim"}
SOURCE = {"id": "s", "title": "A lesson", "kind": "lesson"}


def found(changes: dict[str, Any], *parts: dict[str, Any], **more: Any) -> list[tuple[Any, str]]:
    """Return what is wrong with a file of one statement."""
    entry = STATEMENT | changes | {"part": list(parts or (PART,))}
    book = {"source": [SOURCE], "statement": [entry], **more}
    read = SourceBook.model_validate(book)
    return list(contradictions(read.sources, read.statements))


@pytest.mark.parametrize(
    ("text", "others", "left"),
    [
        ("2 of 3 and 2 again", ["3"], ["2"]),
        ("0 and 1 are limits", [], []),
        ("d_2, x^2, x_{2} and q1", [], []),
        ("0.880 or 0.88", ["0.88"], ["0.880"]),
        ("64", ["at d = 64"], []),
    ],
)
def test_numbers_that_nothing_binds_are_found(text: str, others: list[str], left: list[str]) -> None:
    """Each once, as it is printed; indices and exponents are a part of their formulas."""
    assert numbers_without(text, others) == left


def test_a_file_in_order_contradicts_nothing() -> None:
    """With parts that say and parts that print."""
    assert found({"text": "It is 0.88."}, PART, PRINTS) == []
    assert found({"note": "So.", "noted": "holds"}) == []


@pytest.mark.parametrize(
    ("statement", "key", "remedy"),
    [
        ({"source": "t"}, "source", "is none of the sources s; name one of them"),
        ({"claim": "other"}, "claim", "decides none of the parts; name the claim of one of them"),
        ({"claim": None}, "claim", "is missing; add it, for not all of its parts are computed"),
        ({"note": "So."}, "noted", "is missing beside the other; note and noted go together: add it"),
        ({"noted": "holds"}, "note", "is missing beside the other; note and noted go together: add it"),
        ({"text": "It is 7."}, "text", "has the number 7, which no part of it has"),
    ],
)
def test_keys_of_a_statement_that_do_not_go_together(
    statement: dict[str, Any], key: str, remedy: str
) -> None:
    """By the place of the key that is to be changed."""
    ((place, said),) = found(statement)
    assert place == ("statement", 0, key)
    assert said.startswith(remedy)


@pytest.mark.parametrize(
    ("part", "key", "remedy"),
    [
        (PART | {"claim": None}, "claim", "is missing; add it, or what to compute"),
        (PART | {"evidence": None}, "evidence", "is missing; add it, or what to compute"),
        (PART | {"evidence": "fact:f"}, "evidence", 'is a figure, which decides only kind "prints"'),
        (
            PRINTS | {"evidence": "verdict", "printed": None, "given": ("0.88",)},
            "evidence",
            "has no figure for kind",
        ),
        (PRINTS | {"printed": None, "given": ("0.88",)}, "printed", 'is missing for kind "prints"'),
        (PART | {"printed": "0.88"}, "printed", 'needs kind "prints" and a fact or check to compare with'),
        (
            PART | {"text": "It says 7."},
            "text",
            "has the number 7, which neither its figure nor its evidence has",
        ),
    ],
)
def test_keys_of_a_part_that_do_not_go_together(part: dict[str, Any], key: str, remedy: str) -> None:
    """By the place of the key in its part."""
    claims = {"claim": "a-claim"} if part["claim"] else {"claim": "b-claim"}
    others = [PART | {"claim": claims["claim"]}, part]
    said = dict(found(claims, *others))
    assert said[("statement", 0, "part", 1, key)].startswith(remedy)
    assert all(place[3] == 1 for place in said)


def test_ids_are_given_once() -> None:
    """Of sources and of statements; the later one is named."""
    entry = STATEMENT | {"part": [PART]}
    twice = found({}, source=[SOURCE, SOURCE], statement=[entry, entry])
    assert [place for place, _ in twice] == [("source", 1, "id"), ("statement", 1, "id")]
    assert twice[1][1] == "is the id of an earlier statement, too; give each its own"
