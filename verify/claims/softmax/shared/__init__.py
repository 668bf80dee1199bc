"""What the claims about softmax alone measure with: rows of attention, raw and scaled."""

from typing import Any

from verify.montecarlo.estimands import complement
from verify.montecarlo.experiment import best_queries
from verify.montecarlo.rows import OfRow
from verify.former import NORMAL, Cell, Simulated, SoftmaxRows, cell_of


def attention_cell(keys: int, d_k: int, scale: Any, *wanted: OfRow) -> Cell:
    """Return the cell of what is ``wanted`` of attention's rows, for normal queries and keys.

    Its id says whether scores are ``raw``, at scale 1, or ``scaled``.
    """
    drawn = Simulated(NORMAL, NORMAL, best_queries(keys, d_k), keys, d_k)
    name = f"{'raw' if scale == 1 else 'scaled'}-n{keys}-d{d_k}"
    return cell_of(name, drawn, SoftmaxRows(wanted), scale=scale)
