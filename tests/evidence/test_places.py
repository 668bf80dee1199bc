"""Layers and heads in few words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.auditing.records import good
from tests.strategies import examples
from verify.evidence.audits import common, runs, together, where

LAYERS = good(4, 4).layers
ALL = frozenset(range(4))


def ids(*numbers: int) -> list[str]:
    """Return the ids of layers by their places."""
    return [LAYERS[number].id for number in numbers]


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        (dict.fromkeys(ids(0, 1, 2, 3), ALL), "all 4 layers, all 4 heads"),
        (dict.fromkeys(ids(0, 1, 2), ALL), "decoder.layers.0–2.self_attn, all 4 heads"),
        ({ids(3)[0]: frozenset([1])}, "decoder.layers.3.self_attn, head 1"),
        ({ids(3)[0]: frozenset([0, 1, 3])}, "decoder.layers.3.self_attn, heads 0–1, 3"),
        (dict.fromkeys(ids(0, 2), frozenset[int]()), "decoder.layers.0, 2.self_attn"),
        (
            {ids(0)[0]: ALL, ids(1)[0]: frozenset([2])},
            "decoder.layers.0.self_attn, all 4 heads; decoder.layers.1.self_attn, head 2",
        ),
        ({}, ""),
    ],
)
def test_where(heads: dict[str, frozenset[int]], words: str) -> None:
    """What is alike is said once."""
    assert where(heads, LAYERS) == words


def test_a_layer_of_one_head_does_not_count_its_heads() -> None:
    """And an audit of one layer calls it by its name."""
    (layer,) = good(1, 1).layers
    assert where({layer.id: frozenset([0])}, [layer]) == "decoder.layers.0.self_attn"


def test_many_different_layers_stay_short() -> None:
    """Names without a common pattern are listed up to three, groups as well."""
    assert together(["encoder", "decoder", "cross"]) == "encoder, decoder, cross"
    assert together([f"{name}.attn" for name in "abcdefg"]) == "a.attn, b.attn, c.attn and 4 more layers"
    layers = good(8, 8).layers
    text = where({layer.id: frozenset([number]) for number, layer in enumerate(layers)}, layers)
    assert text.endswith("and 5 more groups of heads")


def test_names_have_a_pattern_if_one_number_differs() -> None:
    """Not two numbers, not a word."""
    assert common(["h.0.attn", "h.12.attn"]) == ("h.", ".attn")
    assert common(["block.1.head.1", "block.2.head.2"]) is None
    assert common(["encoder.0", "decoder.0"]) is None
    assert common(["one"]) is None
    assert common(["v1.layer.0", "v1.layer.1"]) == ("v1.layer.", "")


@examples(100)
@given(st.sets(st.integers(0, 60), min_size=1))
def test_runs_name_all_or_count_the_rest(numbers: set[int]) -> None:
    """What is written out and what is counted make up the whole."""
    text, _, left = runs(numbers).partition(" and ")
    shown: set[int] = set()
    for part in text.split(", "):
        first, _, last = part.partition("–")
        shown |= set(range(int(first), int(last or first) + 1))
    assert shown <= numbers
    counted = re.fullmatch(r"(\d+) more", left)
    assert len(numbers) - len(shown) == (int(counted[1]) if counted else 0)
    assert len(text.split(", ")) <= 5
