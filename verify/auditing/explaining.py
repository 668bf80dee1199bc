"""A search for what gives the outputs of a layer that are off: another scale, a factor, or a named mistake.

Candidates are chosen by a sample of rows around the worst row of a head, and then have to give every row.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from verify.auditing.causes import MOST_OTHERS, Cause, changed
from verify.auditing.formula import FACTOR, SCALE, Formula, Rows, compare, pool
from verify.auditing.heads import HeadSums
from verify.auditing.recording import ARRAYS, Call, unit_of
from verify.auditing.scales import Widths, named_scales

_MOST_TRIES = 2  # heads of a layer for which no cause is known, after which no more is searched
_SAMPLE = 1 << 14  # scores of the rows that are tried first
_STEPS = 12  # of Newton's from each start
_AS_DECLARED = Cause("", "")


class Explanation(NamedTuple):
    """What gives a head's output in every row: a cause, and the head's scale over the declared one.

    ``misfit`` orders explanations. The declared formula with another scale is a cause that does nothing.
    """

    cause: Cause
    ratio: float
    misfit: float


class Search:
    """A search in all calls of a layer.

    ``calls`` gives them from the beginning, with NumPy's arrays; ``declared`` the formula of a call whose
    scale is multiplied by a number, or by a number for each head.
    """

    def __init__(
        self, calls: Callable[[], Iterable[Call]], declared: Callable[[Call, Any], Formula], widths: Widths
    ) -> None:
        self.calls, self.declared, self.widths = calls, declared, widths

    # What is tried may be of any size, and what was recorded may be infinite: neither is worth a warning.
    @np.errstate(all="ignore")
    def explain(self, sums: HeadSums, off: Any) -> dict[int, list[Explanation]]:
        """Return for each head that is ``off`` what gives its output in all rows, the nearest first."""
        explained: dict[int, list[Explanation]] = {int(head): [] for head in np.flatnonzero(off)}
        tries = 0
        for worst, known in explained.items():
            if known or tries == _MOST_TRIES:
                continue
            tries += 1
            left = [head for head in explained if not explained[head]]
            self._take_sample(worst, *map(int, sums.place[worst]))
            for cause, ratio in self._candidates():
                for head, explanation in self._explained_heads(cause, ratio, left):
                    # Coarser arithmetic makes itself felt in most rows: it explains no few that are off.
                    if not cause.is_coarse or 2 * sums.bad[head] >= sums.compared[head]:
                        explained[head].append(explanation)
            for head in left:
                explained[head].sort(key=lambda x: (x.cause.is_coarse, x.misfit * (not x.cause.is_coarse)))
        return explained

    def _take_sample(self, head: int, sequence: int, row: int) -> None:
        """Take the sequence of the worst row and those before it, of which a mask may have been taken."""
        for call in self.calls():
            if sequence < len(call.query):
                break
            sequence -= len(call.query)
        every = len(call.query)
        # The worst row's own sequence comes last.
        chosen = (sequence + 1 + np.arange(-min(every, MOST_OTHERS), 0)) % every
        arrays = {name: getattr(call, name) for name in ARRAYS.values() if name != "input"}
        cut: dict[str, Any] = {
            name: np.asarray(array)[chosen]
            for name, array in arrays.items()
            if array is not None and array.ndim == 4 and len(array) == every
        }
        self.head, self.sample = head, replace(call, **cut)
        _, self.heads, queries, keys = self.declared(call, 1.0).scores
        count = max(min(8, queries), min(queries, _SAMPLE // (self.heads * keys)))
        start = min(max(row - count // 2, 0), queries - count)
        self.rows, self.sequence = slice(start, start + count), slice(len(chosen) - 1, len(chosen))

    def _try(self, cause: Cause, formula: Formula) -> tuple[Rows, bool]:
        """Return the sample's rows by the formula of a cause, and whether it gives those of the head."""
        rows = compare(formula, rows=self.rows, sequences=self.sequence)
        off = rows.is_off if cause.moves_rows else rows.is_off[:, self.head]
        return rows, bool(rows.is_compared.any() and not off.any())

    def _candidates(self) -> Iterator[tuple[Cause, Any]]:
        """Yield what fits the sample, with what multiplies the declared scale of each head.

        Another scale, and at the declared scale each known mistake and a factor of the output.
        """
        declared, same = self.declared(self.sample, 1.0), np.ones(self.heads)
        intended = float(np.ravel(declared.scale)[0])
        named = named_scales(self.widths, intended)[:12]
        # Mistakes by name are where minima are likely; -1 is the sign reversed.
        starts = [1.0, 1 / intended, *(scale.value / intended for scale in named), -1.0]
        if (ratio := self._fitted_scale(starts)) is not None:
            yield _AS_DECLARED, ratio
        rows, _ = self._try(_AS_DECLARED, declared)
        # Least squares: the multiple of the formula's output that is nearest to the recorded one.
        factor = 1 + float(pool(rows, FACTOR, rows.is_compared)[0][self.head])
        by_factor = Cause(
            f"the output (or its values) is multiplied by {factor:.3g}",
            "leave the output as the weighted mean of the values",
            lambda given: given.having(factor=factor),
        )
        # Each is a copy of the sample's arrays, so they are tried as they are made.
        for cause, formula in chain(changed(declared), [(by_factor, replace(declared, factor=factor))]):
            if self._try(cause, formula)[1]:
                yield cause, same

    def _fitted_scale(self, starts: Sequence[float]) -> Any:
        """Return by head the multiple of the declared scale that gives the sample, None where none does.

        It is found by Newton’s steps from several starts, for errors have several minima over the scale.
        """
        for start in starts:
            ratio = np.full(self.heads, start)
            for _ in range(_STEPS):
                rows, good = self._try(_AS_DECLARED, self.declared(self.sample, ratio))
                step = np.nan_to_num(pool(rows, SCALE, rows.is_compared)[0])
                # Where it fits, one more step brings the scale as near as the rows determine it.
                step = np.clip(step, -0.1, 0.1) if good else np.clip(step, -0.7, 2.0)
                ratio = ratio * (1 + step)
                if good:
                    return ratio
                if abs(step[self.head]) < 1e-12:
                    break
        return None

    def _explained_heads(
        self, cause: Cause, ratio: Any, heads: Sequence[int]
    ) -> Iterator[tuple[int, Explanation]]:
        """Yield those heads whose output a cause gives in every row of every call."""
        sums, unit = HeadSums(self.heads), 0.0
        for call in self.calls():
            if call.value is None or call.output is None:
                continue
            declared = self.declared(call, ratio)
            rows = compare(cause.of(declared) or declared)
            sums.add(rows, np.arange(len(rows.keys)))
            unit = max(unit, unit_of(call))
            if sums.bad.all() or (cause.moves_rows and sums.bad.any()):
                return
        off = sums.is_off(unit) | (sums.compared == 0)
        if cause.moves_rows and off.any():
            return
        count = int(self.sample.key.shape[1]) if cause.of_keys else self.heads
        for head in heads:
            if not off[head]:
                misfit = float(sums.misfit.mean() if cause.moves_rows else sums.misfit[head])
                does = cause.does.format(other=(head * count // self.heads - cause.other) % count)
                yield head, Explanation(cause._replace(does=does), float(ratio[head]), misfit)
