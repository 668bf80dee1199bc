"""Columns of equal height in a few steps instead of hundreds: what WeasyPrint's search for them looks at.

WeasyPrint raises two columns, laying all of both out each time, until everything fits. It raises them by
what the next child lacks; of a child that must not break it takes the first line alone, which fits, and then
goes on by one pixel at a time.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def raised_by_whole_rows() -> Iterator[None]:
    """Let WeasyPrint take all of a child that must not break for what columns lack."""
    from weasyprint.layout import block  # noqa: PLC0415 - it raises at import where Pango is missing

    layout = block.block_box_layout

    def layout_whole(context: Any, box: Any, bottom_space: float, skip: Any, *rest: Any, **named: Any) -> Any:
        # Endless space at the bottom is how the search asks for as little as can be of what comes next.
        if bottom_space == math.inf and box.is_column and skip:
            ((next_one, within),) = skip.items()
            rule = box.children[next_one].style["break_inside"]
            if within is None and block.avoid_page_break(rule, context):
                bottom_space = -math.inf
                box = box.copy_with_children(box.children[: next_one + 1])
        return layout(context, box, bottom_space, skip, *rest, **named)

    block.block_box_layout = layout_whole
    try:
        yield
    finally:
        block.block_box_layout = layout
