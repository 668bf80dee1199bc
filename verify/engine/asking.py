"""Answers a reader's question: derives what follows from moments, measures always, and fits over the sizes.

What is derived, or what the asker claims, is made a claim in memory and goes the ordinary way: it is planned,
drawn, judged, put on record. Where there is nothing to compare with, the quantity is measured to the
tolerance; only if a report is wanted, a second sample from other streams is compared with the first.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from sympy import Dummy, Expr, Poly, S, Symbol, sqrt

from verify import defaults
from verify.engine import runner
from verify.engine.answers import Answer, Row, figure_of
from verify.engine.laws import ORDERS, assumed
from verify.engine.questions import Deduction, Question, deduce, question
from verify.engine.sources import SourceBook
from verify.errors import ClaimError, SettingsError, naming_arguments
from verify.evidence import RunRecord, Settings
from verify.evidence.judging import ErrorBudget
from verify.executors.machine import one_blas_thread, processors, thread_map
from verify.executors.workers import Workers, using
from verify.montecarlo.blocks import Cell, Chunk, Drawn, Sums, draw_chunk
from verify.montecarlo.estimands import MIN_BLOCKS, Goal, Measured
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

_COEFFICIENTS: Mapping[str, tuple[Model, Target]] = {
    "slope": ("line", "slope"),
    "intercept": ("line", "constant"),
    "exponent": ("power", "slope"),
}
_SIDES = {"=": ("equals", "="), "≤": ("at_most", r"\le"), "≥": ("at_least", r"\ge")}
"""What a check calls its prediction, by the relation, and the relation in LaTeX."""

_ROUNDING = "it varies by no more than single precision rounds, which the interval leaves out"

Map = Callable[..., Any]


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
    if deduction.compared[0] is None:
        return _measured_only(deduction, chosen, workers)
    if deduction.formula is None:
        # That a formula of the asker's is of something finite, a small sample says before the run.
        _measured(asked, asked.places[-1], chosen, coarse=True)
    record = _run(deduction, chosen, workers, lambda: _comparisons(deduction, chosen))
    (claim,) = record.claims
    rows = [Row.of(claim.check(_id(at)), at, deduction.compared[0].subs(at)) for at in asked.places]
    coefficients = {
        f"{fit.prefix}{name}": getattr(fit, name) for fit in _fits_of(deduction) for name in _COEFFICIENTS
    }
    fits = [
        Row.of(check, {"fit": check.id}, coefficients[check.id])
        for check in claim.checks
        if check.method == "fit"
    ]
    level = chosen.false_alarm
    return Answer(deduction, tuple(rows), tuple(fits), claim.verdict, claim.reason, level, lambda: record)


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


# --- where there is something to compare with ---


def _comparisons(deduction: Deduction, chosen: Settings) -> Items:
    """Yield a check of the formula at each place, and the fits whose coefficients it has."""
    asked, (formula, relation) = deduction.asked, deduction.compared
    side, _ = _SIDES[relation]
    for at in asked.places:
        vanishes = formula.subs(at).is_zero and relation == "="
        within = Within(scale=_spread(asked, at), of="the standard deviation") if vanishes else Within()
        prediction: dict[str, Any] = {side: formula}
        yield Check(_id(at), asked.quantity, at, laws=asked.laws, tolerance=within, **prediction)
    if relation != "=":
        # A bound that a first, small sample shows to be false must come out refuted.
        first = _measured(asked, asked.places[-1], chosen, coarse=True)
        off = max(abs(first.value) / 2, 10 * first.error)
        prediction = {side: Threshold(first.value - off if relation == "≤" else first.value + off)}
        says = "it keeps a bound that lies beyond what a first sample has"
        yield Wrong(
            "broken-bound", asked.quantity, asked.places[-1], laws=asked.laws, says=says, **prediction
        )
    yield from _fits_of(deduction)


def _fits_of(deduction: Deduction) -> Iterator[Fit]:
    """Yield the fits through the checks, over d_k or over n, with the coefficients that the formula has."""
    asked, (formula, relation) = deduction.asked, deduction.compared
    if formula is None or relation != "=" or any(formula.subs(at).is_zero for at in asked.places):
        return
    if len(asked.dimensions) > 1:
        lines = [
            (f"d*-n{keys}", d, f"n{keys}-" if len(asked.keys) > 1 else "", formula.subs(n, keys))
            for keys in asked.keys
        ] or [("d*", d, "", formula)]
    else:
        lines = [("d*", n, "", formula.subs(d, asked.dimensions[0]))] if len(asked.keys) > 1 else []
    for pattern, over, prefix, law in lines:
        if coefficients := _coefficients_of(law, over):
            yield Fit(pattern, over, prefix=prefix, **coefficients)


def _coefficients_of(law: Expr, over: Symbol) -> dict[str, Any]:
    """Return slope and intercept of a formula that is a line, the exponent of one that is a power."""
    coefficients: dict[str, Any] = {}
    if law.is_polynomial(over) and Poly(law, over).degree() <= 1:
        coefficients |= {"slope": law.coeff(over, 1), "intercept": law.coeff(over, 0)}
    factor, power = law.as_independent(over, as_Add=False)
    base, exponent = power.as_base_exp()
    if factor.is_positive and (power == 1 or (base == over and exponent.is_number)):
        coefficients["exponent"] = S.Zero if power == 1 else exponent
    return coefficients


def _spread(asked: Question, at: dict[Any, int]) -> float:
    """Return the standard deviation of what is averaged in a quantity whose value is 0, or 1.

    Of a function of several means, it is that of its linear part; it is 1 where that is not derived.
    """
    quantity = normalised(asked.quantity)
    names = {mean: Dummy() for mean in sorted(quantity.atoms(E), key=str)}
    for order in ORDERS[1:]:
        try:
            laws = {q: assumed(asked.query, order), k: assumed(asked.key, order)}
            values = {name: expected(mean, laws).subs(at) for mean, name in names.items()}
            slopes = [quantity.xreplace(names).diff(name).subs(values).subs(at) for name in values]
            spreads = [sqrt(expected(Var(mean.args[0]), laws).subs(at)) for mean in names]
        except (NotDerived, ValueError):
            continue
        return sum(abs(float(slope * by)) for slope, by in zip(slopes, spreads, strict=True)) or 1.0
    return 1.0


# --- where there is not ---


def _measured_only(deduction: Deduction, chosen: Settings, workers: Workers | int | None) -> Answer:
    """Return the answer of a sample that knows the quantity to the tolerance."""
    asked = deduction.asked
    threads = workers.count if isinstance(workers, Workers) else processors(workers)
    with thread_map(threads) as mapped:
        first = [_measured(asked, at, chosen, mapped) for at in asked.places]
    rows = [
        Row(_named(at), each.value, each.error, each.interval, doubt=each.doubt)
        for at, each in zip(asked.places, first, strict=True)
    ]
    fits = tuple(_fits(asked, first, ErrorBudget(chosen.false_alarm).share(1)))
    record = cache(lambda: _run(deduction, chosen, workers, lambda: _against_first(asked, first, chosen)))
    nothing = deduction.derivation.nothing
    return Answer(deduction, tuple(rows), fits, None, nothing, chosen.false_alarm, record)


def _measured(
    asked: Question, at: dict[Any, int], chosen: Settings, mapped: Map = map, *, coarse: bool = False
) -> Measured:
    """Return what is measured at a place, where the sample grows until the interval has the wanted width.

    A ``coarse`` one is of the smallest sample.

    Raises:
        ClaimError: what is averaged is not finite.
    """
    check = Check(_id(at), asked.quantity, at, equals=S.Zero, laws=asked.laws)
    quantity, setting = measurable(check)
    cell, estimands = measurement(
        f"first-{check.id}",
        {check.id: quantity},
        dict(setting.laws),
        dict(setting.at),
        tolerance=chosen.tolerance,
    )
    estimand, drawn, blocks = estimands[check.id], Drawn(), MIN_BLOCKS
    alpha = ErrorBudget(chosen.false_alarm).share(1)
    most = MIN_BLOCKS if coarse else max(MIN_BLOCKS, _MOST_DRAWS // cell.sampler.coordinates)
    while True:
        chunks = list(drawn.missing(NAME, chosen.seed, -(-blocks // cell.batch_blocks), cell.chunk_batches))
        try:
            with one_blas_thread():
                for chunk, sums in zip(chunks, mapped(partial(_draw, cell), chunks), strict=True):
                    drawn = drawn.then(chunk, sums, cell.chunk_batches)
        except ValueError:
            where = ", ".join(f"{name} = {value}" for name, value in cell.settings)
            raise ClaimError(
                f"{asked.text}: what is averaged is not finite in some draw, at {where}; ask for "
                "less, such as a logarithm or a median, or give smaller --dimensions"
            ) from None
        sample = drawn.sample(cell)
        measured = estimand.measure(sample, alpha)
        width = chosen.tolerance * max(abs(measured.value), measured.error * math.sqrt(measured.blocks))
        goal = Goal(alpha, 0.5, measured.value, width)
        needed = estimand.blocks_needed(goal, sample) or 2 * measured.blocks if width else MIN_BLOCKS
        # What a small sample says of how many it takes is rough.
        blocks = min(needed, most, 16 * measured.blocks)
        if blocks <= measured.blocks:
            is_rounding = 0 < measured.error < 1e-7 * abs(measured.value)
            return replace(measured, doubt=measured.doubt or _ROUNDING) if is_rounding else measured


def _draw(cell: Cell, chunk: Chunk) -> Sums:
    # What is not finite is refused in words.
    with np.errstate(all="ignore"):
        return draw_chunk(cell, chunk)


def _fits(asked: Question, points: Sequence[Measured], alpha: float) -> Iterator[Row]:
    """Yield the coefficients of weighted fits over d_k, or over n where there is only one d_k."""
    over = d if len(asked.dimensions) > 1 else n
    groups: dict[Any, list[tuple[float, Measured]]] = {}
    for at, point in zip(asked.places, points, strict=True):
        groups.setdefault(at.get(n) if over == d else None, []).append((float(at.get(over, 0)), point))
    for keys, group in groups.items():
        x, members = zip(*group, strict=True)
        values = [point.value for point in members]
        if len(group) < 2 or 0 in values:
            continue
        for name, (model, target) in _COEFFICIENTS.items():
            if model == "power" and min(values) <= 0:
                continue
            weights = tuple(1.0 if model == "power" else value**-2.0 for value in values)
            fitted = WeightedFit(model, x, weights).coefficient(target, members, alpha)
            label = f"n{keys}-{name}" if len(groups) > 1 else name
            yield Row({"fit": label}, fitted.value, fitted.error, fitted.interval)


def _against_first(asked: Question, first: Sequence[Measured], chosen: Settings) -> Items:
    """Yield checks of a second sample against the first, and one that must come out refuted."""
    within = Within(3.0, because="what it is compared with was measured as well")
    for at, measured in zip(asked.places, first, strict=True):
        value = Threshold(measured.value)
        yield Check(_id(at), asked.quantity, at, equals=value, laws=asked.laws, tolerance=within)
    off, says = (
        Threshold(first[-1].value * (1 + 12 * chosen.tolerance)),
        "it is larger by twelve times the tolerance",
    )
    yield Wrong("off", asked.quantity, asked.places[-1], equals=off, laws=asked.laws, says=says)


# --- both ---


def _run(
    deduction: Deduction, chosen: Settings, workers: Workers | int | None, items: Callable[[], Items]
) -> RunRecord:
    """Return the record of a run of the question as a claim in memory, which measures these items."""
    asked, (formula, relation) = deduction.asked, deduction.compared
    quantity = in_line(asked.quantity)
    says = f"${quantity}$" if formula is None else f"${quantity} {_SIDES[relation][1]} {in_line(formula)}$"
    meaning = f"A question that was asked as: {asked.text.replace('$', '')}."
    if asked.against is not None:
        meaning += " The formula is the asker's own."
        if deduction.formula is not None:
            meaning += f" What is derived is ${in_line(deduction.formula)}$."
    elif deduction.claim is not None:
        meaning += f" The claim {deduction.claim.id} answers it."
    if deduction.derivation.nothing:
        meaning += f" Nothing is derived: {deduction.derivation.nothing}."

    def figure(findings: Any) -> Any:
        rows = [Row.of(findings.checks[_id(at)], at) for at in asked.places]
        return figure_of(asked, rows, formula)

    claim = Claim(
        id=NAME,
        title=f"{says} for {asked.components}",
        statement=f"For independent {asked.components}, {says}{' is measured' if formula is None else ''}.",
        meaning=meaning,
        references=deduction.claim.references if deduction.claim else (),
        derive=lambda: deduction.derivation,
        experiment=items,
        figures=figure,
    )
    words = runner.presentation(claim.title, f"What is ${quantity}$ for {asked.components}?")
    with using(workers) as processes:
        record = runner.run({NAME: claim}, chosen, SourceBook(), requested=(NAME,), workers=processes)
    return record.presented(words)


def _named(at: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(symbol): value for symbol, value in at.items()}


def _id(at: Mapping[Any, int]) -> str:
    return f"d{at[d]}-n{at[n]}" if n in at else f"d{at[d]}"
