"""The chapters of the report, and the order of the claims in each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verify.claims.chapters import CHAPTERS, Chapter
from verify.spec.claim import USER

LISTED = ("score-mean", "a", "z", "b")
CHAPTER = Chapter("folder", "Title", LISTED)


@given(st.lists(st.sampled_from([*LISTED, "c", "aa", "score-law"]), unique=True))
def test_listed_claims_come_first_in_their_order(claims: list[str]) -> None:
    """The others after them, by their ids."""
    found = sorted(claims, key=CHAPTER.place)
    assert found == [one for one in LISTED if one in claims] + sorted(set(claims) - set(LISTED))


def test_chapters_are_had_by_their_folders() -> None:
    """Titles differ, and claims of one's own come last."""
    assert all(chapter.folder == name for name, chapter in CHAPTERS.items())
    assert len({chapter.title for chapter in CHAPTERS.values()}) == len(CHAPTERS)
    assert list(CHAPTERS)[-1] == USER
    assert CHAPTERS[USER].claims == ()
