"""A block: its part of the call, its scale, and what is computed once."""

from __future__ import annotations

import numpy as np

from tests.auditing.calls import arrays
from verify.auditing.block import Block
from verify.auditing.recording import Call


def test_a_block_has_its_own_queries_and_the_keys_of_its_group() -> None:
    """Four heads share two of keys: heads 2 and 3 have the second."""
    q, k, _ = arrays(key_heads=2)
    block = Block(Call(q, k), 1, 3, 0.5)
    assert np.array_equal(block.query, q[1, 3])
    assert np.array_equal(block.key, k[1, 1])


def test_the_scale_is_the_applied_one_where_there_is_one() -> None:
    """The intended scale stands in only where the call was given none; 0 is a scale."""
    q, k, _ = arrays()
    assert [Block(Call(q, k, scale=scale), 0, 0, 0.5).scale for scale in (None, 0.25, 0.0)] == [
        0.5,
        0.25,
        0.0,
    ]


def test_a_scale_that_outputs_imply_takes_the_place_of_the_declared_one() -> None:
    """Partner and what was found stay; without its partner the block keeps its scale."""
    q, k, _ = arrays()
    block = Block(Call(q, k), 1, 0, 0.5, Block(Call(q, k), 0, 0, 0.5))
    scaled = block.scaled(2.0)
    assert (block.scale, scaled.scale, scaled.declared, scaled.scaled(None).scale) == (0.5, 2.0, 0.5, 0.5)
    assert scaled.partner is block.partner
    assert (scaled.alone().scale, scaled.alone().partner) == (2.0, None)


def test_what_is_asked_for_twice_is_computed_once() -> None:
    """Two kinds that need the same share it, and each function has its own place."""
    q, k, _ = arrays()
    block, asked = Block(Call(q, k), 0, 0, 0.5), []

    def head(of: Block) -> int:
        asked.append(of)
        return of.head

    assert [block.once(head), block.once(head), block.once(lambda of: of.sequence + 7)] == [0, 0, 7]
    assert asked == [block]
