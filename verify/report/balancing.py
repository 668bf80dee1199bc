"""Columns of equal height in a few steps instead of hundreds, and none of them laid out twice.

WeasyPrint raises two columns, laying all of both out each time, until everything fits. It raises them by
what the next child lacks; of a child that must not break it takes the first line alone, which fits, and then
goes on by one pixel at a time. Once it has found their height, it lays out what it has just laid out again.
"""

from __future__ import annotations

import contextlib
import copy
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_KEPT = 3
"""Columns that are kept for WeasyPrint to ask for again: as many as lie side by side."""

_DECIMALS = 6
"""Of a pixel: what WeasyPrint finds for the space below a column differs in the last digits."""


@contextlib.contextmanager
def laid_out_once() -> Iterator[None]:
    """Let WeasyPrint raise columns by whole rows, and take up again the columns and lines it has tried."""
    from weasyprint.layout import block, inline, preferred  # noqa: PLC0415 - it raises where Pango is missing

    columns, lines = block.block_box_layout, inline.split_first_line
    block.block_box_layout = _Columns(columns, block.avoid_page_break)
    inline.split_first_line = preferred.split_first_line = _Lines(lines)
    try:
        yield
    finally:
        block.block_box_layout = columns
        inline.split_first_line = preferred.split_first_line = lines


class _Columns:
    """WeasyPrint's layout of a block, with a way of its own for columns."""

    def __init__(self, layout: Callable[..., Any], is_avoided: Callable[[Any, Any], bool]) -> None:
        self._layout, self._is_avoided = layout, is_avoided
        self._tried: list[tuple[tuple[Any, ...], Any, Any]] = []

    def __call__(self, context: Any, box: Any, space: float, skip: Any, *rest: Any, **named: Any) -> Any:
        """Return the box laid out, and where to go on; ``space`` is what stays free below it."""
        if not box.is_column:
            return self._layout(context, box, space, skip, *rest, **named)
        if space == math.inf and skip:
            # So the search asks for as little as can be of what comes next.
            space, box = self._whole_row(context, box, skip)
            return self._layout(context, box, space, skip, *rest, **named)
        _around, page_is_empty, *_ = rest
        # The children themselves: as long as they are kept, no others have their place in memory.
        asked = (*map(id, box.children), round(space, _DECIMALS), str(skip), page_is_empty, box.position_y)
        for tried in self._tried:
            known, _, laid_out = tried
            if known == asked:
                self._tried.remove(tried)
                laid_out[0].translate(dx=box.position_x - laid_out[0].position_x)
                return laid_out
        laid_out = self._layout(context, box, space, skip, *rest, **named)
        if laid_out[0] is not None and not context.broken_out_of_flow:
            self._tried = [*self._tried[1 - _KEPT :], (asked, box.children, laid_out)]
        return laid_out

    def _whole_row(self, context: Any, box: Any, skip: Any) -> tuple[float, Any]:
        """Return all the space there can be and a column up to the next child, if that must not break."""
        ((place, within),) = skip.items()
        if within is None and self._is_avoided(box.children[place].style["break_inside"], context):
            return -math.inf, box.copy_with_children(box.children[: place + 1])
        return math.inf, box


class _Lines:
    """WeasyPrint's layout of a text's first line, which remembers what it gave."""

    def __init__(self, layout: Callable[..., Any]) -> None:
        self._layout = layout
        self._known: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def __call__(self, text: str, style: Any, context: Any, *rest: Any, **named: Any) -> tuple[Any, ...]:
        """Return what is drawn of a text, a copy for each box, with its measures."""
        asked = (text, id(style), *rest, *named.values())
        if asked not in self._known:
            # The style is kept, so that no other has its place in memory.
            self._known[asked] = (style, *self._layout(text, style, context, *rest, **named))
        _, line, *measures = self._known[asked]
        return (copy.copy(line), *measures)
