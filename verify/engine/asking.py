"""Answers a reader's question: derives what follows from moments, measures always, and fits over the sizes.

What is derived, or what the asker claims, is made a claim in memory and goes the ordinary way: it is planned,
drawn, judged, put on record. Where there is nothing to compare with, the quantity is measured to the
tolerance; only if a report is wanted, a second sample from other streams is compared with the first.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from sympy import Dummy, Expr, Float, Poly, S, Symbol, sqrt, sympify

from verify import defaults
from verify.engine import runner
from verify.engine.answers import Answer, Row, figure_of
from verify.engine.laws import ORDERS, assumed
from verify.engine.questions import Deduction, Question, deduce, question
from verify.engine.sources import SourceBook
from verify.errors import ClaimError, SettingsError, naming_arguments
from verify.evidence import Check as CheckRecord
from verify.evidence import Figure, RunRecord, Settings, Verdict
from verify.evidence.judging import ErrorBudget
from verify.executors.machine import one_blas_thread, processors, thread_map
from verify.executors.workers import Workers, using
from verify.montecarlo.blocks import Cell, Chunk, Drawn, Sums, draw_chunk
from verify.montecarlo.estimands import MIN_BLOCKS, Estimand, Goal, Measured
from verify.montecarlo.experiment import Model, Target, WeightedFit
from verify.montecarlo.quantities import measurement
from verify.spec.checks import Check, Fit, Items, Threshold, Within, Wrong
from verify.spec.claim import Claim
from verify.spec.settings import measurable, normalised
from verify.symbolic.calculus import NotDerived, expected
from verify.symbolic.notation import in_line
from verify.symbolic.vocabulary import E, Var, d, k, n, q

NAME = "question"
"""The id of the claim that a question is made, which seeds its draws."""

_MOST_DRAWS = 4 * 10**9
"""Random numbers, at most, by which a value is measured where nothing is to be decided: 10 seconds or so."""

_COEFFICIENTS: tuple[tuple[str, Model, Target], ...] = (
    ("slope", "line", "slope"),
    ("intercept", "line", "constant"),
    ("exponent", "power", "slope"),
)
_BECAUSE = "what it is compared with was measured as well"


@naming_arguments(question="text")
def ask(
    text: str,
    *,
    law: str = "normal",
    query_law: str | None = None,
    key_law: str | None = None,
    dimensions: Sequence[int] | None = None,
    keys: Sequence[int] | None = None,
    against: str | None = None,
    tolerance: float | None = None,
    seed: int = defaults.SEED,
    false_alarm: float = defaults.FALSE_ALARM,
    workers: Workers | int | None = None,
) -> Answer:
    """Answer a question such as ``Var(q·k)``: what is derived, what is measured, and whether both agree.

    Args:
        text: The quantity, in the report's symbols: ``q·k``, ``p`` and ``p_scaled`` (the weight of any key,
            or in ``sum`` and ``max`` that of each), ``H`` (their entropy), ``d_k``, ``n``; in ``E``, ``Var``,
            ``Cov``, ``P``, ``median``, ``quantile``, ``kurtosis`` or ``skewness``.
        law: The law of all components: ``normal``, ``uniform(0, 1)``, ``t(9)``, …; without brackets with mean
            0 and variance 1.
        query_law: The law of the components of queries, if it is another.
        key_law: The law of the components of keys, if it is another.
        dimensions: The values of d_k at which it is measured; 4, 16, 64 and 256 if none are given.
        keys: The numbers of keys; 16 if it depends on them and none are given.
        against: A formula in d_k and n that is decided in place of the derived one.
        tolerance: How far, relative to it, the measured may be from what is expected; 1% if not given.
        seed: The root seed of all draws.
        false_alarm: The chance that any interval is wrong.
        workers: How many processors draw; results do not depend on it.

    Raises:
        VerifyError: something cannot be read or cannot be; one line says what, and how to correct it.
    """
    asked = question(
        text, law=law, query_law=query_law, key_law=key_law, dimensions=dimensions, keys=keys, against=against
    )
    chosen = runner.settings(seed=seed, tolerance=tolerance, false_alarm=false_alarm)
    deduction = deduce(asked)
    _refuse_too_large(asked)
    answering = _Answering(asked, deduction, chosen, workers)
    return answering.judged() if answering.compared is not None else answering.measured()


def _refuse_too_large(asked: Question) -> None:
    """Refuse a block, of one query and all its keys, that memory cannot hold."""
    numbers = max(asked.dimensions) * (1 + max(asked.keys, default=1))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # Scores, weights and what comes of them are as large again.
    if 4 * 4 * numbers > memory:
        raise SettingsError(
            f"--dimensions {max(asked.dimensions)}: {numbers:.1e} components at once take more than this "
            f"machine's {memory / 2**30:.0f} GiB of memory; give smaller --dimensions or --keys"
        )


class _Answering:
    """A question with all that its answer is made from."""

    def __init__(
        self, asked: Question, deduction: Deduction, chosen: Settings, workers: Workers | int | None
    ) -> None:
        self.asked, self.deduction, self.chosen, self.workers = asked, deduction, chosen, workers
        self.compared = deduction.formula if asked.against is None else asked.against
        self.relation = deduction.relation if asked.against is None else "="
        self.alpha = ErrorBudget(chosen.false_alarm).share(1)
        self.first: list[Measured] = []

    # --- where there is something to compare with ---

    def judged(self) -> Answer:
        """Return the answer of a run that decides the formula."""
        if self.deduction.formula is None:
            with one_blas_thread():
                self._measure(self.asked.places[-1], map, coarse=True)
        (claim,) = self.record.claims
        checks = [claim.check(_id_of(at)) for at in self.asked.places]
        rows = tuple(map(self._row, self.asked.places, checks))
        points = [
            Measured(check.estimate, check.standard_error, check.interval, check.blocks, check.draws)
            for check in checks
        ]
        judged = {check.id: check.verdict for check in claim.checks if check.method == "fit"}
        fits = tuple(self._fits(points, judged))
        return self._answer(rows, fits, claim.verdict, claim.reason)

    def _row(self, at: dict[Any, int], check: CheckRecord) -> Row:
        measured = (check.estimate, check.standard_error, check.interval)
        return Row(_shown(at), *measured, sympify(self.compared).subs(at), check.verdict, check.doubt)

    @cached_property
    def record(self) -> RunRecord:
        """The record of the run of the question as a claim."""
        claim = self.claim()
        with using(self.workers) as workers:
            return runner.run(
                {claim.id: claim}, self.chosen, SourceBook(), requested=(claim.id,), workers=workers
            ).presented(runner.presentation(claim.title, self._asks()))

    def _asks(self) -> str:
        return f"What is ${in_line(self.asked.quantity)}$ for {self.asked.components}?"

    def claim(self) -> Claim:
        """Return the question as a claim in memory."""
        asked, deduction = self.asked, self.deduction
        quantity = in_line(asked.quantity)
        sign = {"=": "=", "≤": r"\le", "≥": r"\ge"}[self.relation]
        claimed = "" if self.compared is None else f" {sign} {in_line(self.compared)}"
        statement = f"For independent {asked.components}, "
        statement += f"${quantity}${' is measured'}." if self.compared is None else f"${quantity}{claimed}$."
        meaning = f"A question that was asked as: {asked.text.replace('$', '')}."
        if asked.against is not None:
            meaning += " The formula is the asker's own."
            if deduction.formula is not None:
                meaning += f" What is derived is ${in_line(deduction.formula)}$."
        elif deduction.claim is not None:
            meaning += f" The claim {deduction.claim.id} answers it."
        if deduction.missing:
            meaning += f" Nothing is derived: {deduction.missing}."
        return Claim(
            id=NAME,
            title=f"${quantity}{claimed}$ for {asked.components}",
            statement=statement,
            meaning=meaning,
            references=deduction.claim.references if deduction.claim else (),
            derive=lambda: deduction.derivation,
            experiment=self._items,
            figures=self._figure,
        )

    def _items(self) -> Items:
        """Yield a check at each place, and the fits whose coefficients the formula has."""
        asked, laws = self.asked, self.asked.laws
        if self.compared is None:
            yield from self._compared_with_first()
            return
        side = {"=": "equals", "≤": "at_most", "≥": "at_least"}[self.relation]
        for at in asked.places:
            value = self.compared.subs(at)
            if value.is_zero and self.relation == "=":
                within = Within(scale=_spread(asked, at), of="the standard deviation")
            else:
                within = Within()
            more: dict[str, Any] = {side: self.compared}
            yield Check(_id_of(at), asked.quantity, at, laws=laws, tolerance=within, **more)
        if self.relation != "=":
            yield self._broken_bound
        vanishes = any(self.compared.subs(at).is_zero for at in asked.places)
        if self.relation == "=" and len(asked.dimensions) > 1 and not vanishes:
            for keys in asked.keys or (None,):
                if coefficients := _coefficients_of(self.compared.subs(n, keys) if keys else self.compared):
                    prefix = f"n{keys}-" if len(asked.keys) > 1 else ""
                    pattern = f"d*-n{keys}" if keys else "d*"
                    yield Fit(pattern, d, prefix=prefix, **coefficients)

    @cached_property
    def _broken_bound(self) -> Wrong:
        """A bound that a first, small sample shows to be false, which must come out refuted."""
        at = self.asked.places[-1]
        with one_blas_thread():
            first = self._measure(at, map, coarse=True)
        off = max(abs(first.value) / 2, 10 * first.error)
        beyond: dict[str, dict[str, Any]] = {
            "≤": {"at_most": Threshold(first.value - off)},
            "≥": {"at_least": Threshold(first.value + off)},
        }
        says = "it keeps a bound that lies beyond what a first sample has"
        side = beyond[self.relation]
        return Wrong("broken-bound", self.asked.quantity, at, laws=self.asked.laws, says=says, **side)

    def _figure(self, findings: Any) -> Figure:
        """Return the figure of what is measured, on the curve of the formula."""
        rows = [
            Row(_shown(at), check.estimate, check.standard_error, check.interval)
            for at in self.asked.places
            for check in [findings.checks[_id_of(at)]]
        ]
        return figure_of(self.asked, rows, self.compared)

    # --- where there is not ---

    def measured(self) -> Answer:
        """Return the answer of a sample that knows the quantity to the tolerance."""
        with one_blas_thread(), thread_map(self._threads()) as mapped:
            self.first = [self._measure(at, mapped) for at in self.asked.places]
        rows = tuple(
            Row(_shown(at), one.value, one.error, one.interval, doubt=one.doubt)
            for at, one in zip(self.asked.places, self.first, strict=True)
        )
        return self._answer(rows, tuple(self._fits(self.first, {})), None, self.deduction.missing)

    def _threads(self) -> int:
        return self.workers.count if isinstance(self.workers, Workers) else processors(self.workers)

    def _measure(self, at: dict[Any, int], mapped: Any, *, coarse: bool = False) -> Measured:
        """Return what is measured at a place, where the sample grows until the interval has the wanted width.

        A ``coarse`` one is of the smallest sample.

        Raises:
            ClaimError: what is averaged is not finite.
        """
        given = Check(_id_of(at), self.asked.quantity, at, equals=S.Zero, laws=self.asked.laws)
        quantity, setting = measurable(given)
        cell, estimands = measurement(
            f"first-{given.id}",
            {given.id: quantity},
            dict(setting.laws),
            dict(setting.at),
            tolerance=self.chosen.tolerance,
        )
        estimand, drawn, blocks = estimands[given.id], Drawn(), MIN_BLOCKS
        if coarse:
            return estimand.measure(self._drawn(cell, drawn, blocks, mapped).sample(cell), self.alpha)
        most = max(MIN_BLOCKS, _MOST_DRAWS // cell.sampler.coordinates)
        while True:
            drawn = self._drawn(cell, drawn, blocks, mapped)
            measured = estimand.measure(drawn.sample(cell), self.alpha)
            wanted = self._wanted(estimand, measured, drawn.sample(cell))
            # What a small sample says of how many it takes is rough.
            following = min(wanted, most, 16 * measured.blocks)
            if following <= measured.blocks:
                return measured
            blocks = following

    def _wanted(self, estimand: Estimand, measured: Measured, sample: Any) -> int:
        of_block = measured.error * math.sqrt(measured.blocks)
        width = self.chosen.tolerance * max(abs(measured.value), of_block)
        if width == 0:
            return MIN_BLOCKS
        goal = Goal(self.alpha, 0.5, measured.value, width)
        return estimand.blocks_needed(goal, sample) or 2 * measured.blocks

    def _drawn(self, cell: Cell, drawn: Drawn, blocks: int, mapped: Any) -> Drawn:
        batches = -(-blocks // cell.batch_blocks)
        chunks = list(drawn.missing(NAME, self.chosen.seed, batches, cell.chunk_batches))
        try:
            for chunk, sums in zip(chunks, mapped(partial(_draw, cell), chunks), strict=True):
                drawn = drawn.then(chunk, sums, cell.chunk_batches)
        except ValueError:
            where = ", ".join(f"{name} = {value}" for name, value in cell.settings)
            raise ClaimError(
                f"{self.asked.text}: what is averaged is not finite in some draw, at {where}; ask for "
                "less, such as a logarithm or a median, or give smaller --dimensions"
            ) from None
        return drawn

    def _compared_with_first(self) -> Items:
        """Yield checks of a second sample against the first, and one that must come out refuted."""
        asked, laws = self.asked, self.asked.laws
        width = 3 * self.chosen.tolerance
        for at, first in zip(asked.places, self.first, strict=True):
            within = Within(3.0, because=_BECAUSE)
            yield Check(
                _id_of(at), asked.quantity, at, equals=Threshold(first.value), laws=laws, tolerance=within
            )
        at, first = asked.places[-1], self.first[-1]
        off = Threshold(first.value * (1 + 4 * width))
        yield Wrong(
            "off",
            asked.quantity,
            at,
            equals=off,
            laws=laws,
            says="it is larger by twelve times the tolerance",
        )

    # --- both ---

    def _fits(self, points: Sequence[Measured], judged: dict[str, Verdict]) -> Iterator[Row]:
        """Yield the coefficients of weighted fits over d_k, or over n where there is only one d_k."""
        asked = self.asked
        over = d if len(asked.dimensions) > 1 else n
        groups: dict[Any, list[tuple[dict[Any, int], Measured]]] = {}
        for at, point in zip(asked.places, points, strict=True):
            groups.setdefault(at.get(n) if over == d else None, []).append((at, point))
        for keys, group in groups.items():
            values = [point.value for _, point in group]
            exact = [None if self.compared is None else self.compared.subs(at) for at, _ in group]
            if len(group) < 2 or 0 in (*values, *exact):
                continue
            prefix = f"n{keys}-" if len(groups) > 1 else ""
            x = tuple(float(at[over]) for at, _ in group)
            for name, model, target in _COEFFICIENTS:
                if model == "power" and min(values) <= 0:
                    continue
                weights = tuple(1.0 if model == "power" else value**-2.0 for value in values)
                fit = WeightedFit(model, x, weights)
                found = fit.coefficient(target, [point for _, point in group], self.alpha)
                yield Row(
                    {"fit": f"{prefix}{name}"},
                    found.value,
                    found.error,
                    found.interval,
                    self._expected(name, fit, target, exact, over, keys),
                    judged.get(f"{prefix}{name}"),
                )

    def _expected(
        self, name: str, fit: WeightedFit, target: Any, exact: Sequence[Any], over: Symbol, keys: Any
    ) -> Expr | None:
        """Return the coefficient that a formula has, or that the same fit through its values has."""
        if self.compared is None or self.relation != "=":
            return None
        law = self.compared.subs({n: keys} if keys else {d: self.asked.dimensions[0]} if over == n else {})
        if (value := _coefficients_of(law, over).get(name)) is not None:
            return value
        numbers = [float(value) for value in exact]
        if fit.model == "power":
            if min(numbers) <= 0:
                return None
            numbers = [math.log(value) for value in numbers]
        return Float(float(fit.influence(target) @ numbers))

    def _answer(self, rows: Any, fits: Any, verdict: Verdict | None, reason: str) -> Answer:
        return Answer(
            self.asked,
            self.deduction,
            rows,
            fits,
            verdict,
            reason,
            self.chosen.false_alarm,
            lambda: self.record,
        )


def _draw(cell: Cell, chunk: Chunk) -> Sums:
    # What is not finite is refused in words.
    with np.errstate(all="ignore"):
        return draw_chunk(cell, chunk)


def _shown(at: dict[Any, int]) -> dict[str, Any]:
    return {str(symbol): value for symbol, value in at.items()}


def _id_of(at: dict[Any, int]) -> str:
    return f"d{at[d]}-n{at[n]}" if n in at else f"d{at[d]}"


def _coefficients_of(law: Expr, over: Symbol = d) -> dict[str, Any]:
    """Return slope and intercept of a formula that is a line, the exponent of one that is a power."""
    found: dict[str, Any] = {}
    if law.is_polynomial(over) and Poly(law, over).degree() <= 1:
        found |= {"slope": law.coeff(over, 1), "intercept": law.coeff(over, 0)}
    factor, power = law.as_independent(over, as_Add=False)
    base, exponent = power.as_base_exp()
    if factor.is_positive and (power == 1 or (base == over and exponent.is_number)):
        found["exponent"] = S.Zero if power == 1 else exponent
    return found


def _spread(asked: Question, at: dict[Any, int]) -> float:
    """Return the standard deviation of what is averaged in a quantity whose value is 0, or 1.

    Of a function of several means, it is that of its linear part; it is 1 where that is not derived.
    """
    quantity = normalised(asked.quantity)
    means = sorted(quantity.atoms(E), key=str)
    names = {mean: Dummy() for mean in means}
    for order in ORDERS[1:]:
        try:
            laws = {q: assumed(asked.query, order), k: assumed(asked.key, order)}
            values = {names[mean]: expected(mean, laws).subs(at) for mean in means}
            slopes = [quantity.xreplace(names).diff(names[mean]).subs(values).subs(at) for mean in means]
            spreads = [sqrt(expected(Var(mean.args[0]), laws).subs(at)) for mean in means]
        except (NotDerived, ValueError):
            continue
        total = sum(abs(float(slope * spread)) for slope, spread in zip(slopes, spreads, strict=True))
        return total or 1.0
    return 1.0
