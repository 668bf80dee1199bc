"""What may be typed in a claim's texts: words and names, but no number, formula or relation."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.errors import ClaimError
from verify.spec.notation import printed, refuse_typed, unmarked

SIGNS = "=<>≤≥≈~∼≠≡≪⇒→∝$\\^{}+0123456789²½Ⅳ٣"
WORDS = st.text(string.ascii_letters + " ,.;:·ᵀ'“”-%()/äö")
SLOTS = st.sampled_from(("{theorem}", "{exact-variance-d64:3}", printed("$d_k = 64$")))


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (r"For any law, $\operatorname{Var} = 3d_k$.", r"$\operatorname{Var} = 3d_k$"),
        ("components with mean 0 and more", "0"),
        ("the variance is 3d, always", "3d,"),
        ("variance = d", "="),
        ("a cap of {c} takes d² of it", "d²"),
        ("at most ½ of {c}2", "½"),
        ("{bits}2 of them", "{bits}2"),
        ("an open $d", "$d"),
        ("a brace { alone", "{"),
        ("an empty slot {}", "{}"),
        ("about 2e3 or GPT-2", "2e3"),
    ],
)
def test_what_is_typed_is_refused_in_one_line(text: str, piece: str) -> None:
    """The line quotes the formula or the word, and says what to put there."""
    with pytest.raises(ClaimError) as refused:
        refuse_typed("mine", "statement", text)
    assert str(refused.value) == (
        f"claim mine: its statement types “{piece}”; put a slot there, such as {{theorem}}, or a fact, check "
        "or symbol by its name"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Two keys halve it, and four make it a quarter.",
        "bfloat16, float32 and E4M3 round q·k",
        "{theorem} for {d_k}, of QKᵀ",
        f"the value at {printed('$d_k = 64$')}",
    ],
)
def test_words_names_and_slots_pass(text: str) -> None:
    """A digit within a name is none of a number, and what the tool prints is not typed."""
    refuse_typed("mine", "statement", text)


@given(WORDS, SLOTS, st.sampled_from(SIGNS), SLOTS, WORDS)
def test_no_number_and_no_relation_ever_passes(
    before: str, slot: str, sign: str, other: str, after: str
) -> None:
    """Whatever words and slots stand around it, unless a digit goes on with a name."""
    refuse_typed("mine", "meaning", f"{before}{slot}{other}{after}")
    for text in (f"{before} {sign}{after}", f"{slot}{sign}{other}{before}", f"{before}{slot}{sign} {after}"):
        with pytest.raises(ClaimError, match="its meaning types"):
            refuse_typed("mine", "meaning", text)


def test_marks_go() -> None:
    """What is printed is the text alone."""
    assert unmarked(f"a {printed('$b$')} c") == "a $b$ c"
