"""Answers a reader's question: derives what follows, measures it, and fits over the sizes.

A question is made a claim in memory and goes the ordinary way: it is planned, drawn, judged, put on record.
It is compared with the derived formula, or with the asker's. Where there is neither, the quantity is
measured to the tolerance first, and then once more from other streams.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sympy import Dummy, Expr, Poly, S, sqrt

from verify import defaults
from verify.engine import runner
from verify.engine.catalogue import in_memory
from verify.engine.questions import Question, derivation_text, question
from verify.engine.statements import SourceBook
from verify.errors import ClaimError, SettingsError
from verify.evidence import Check, ClaimRecord, Presentation, RunRecord, Settings, Verdict
from verify.evidence.judging import ErrorBudget
from verify.executors.machine import threads_of
from verify.executors.workers import Workers, using
from verify.montecarlo.blocks import Drawn, draw_chunk
from verify.montecarlo.estimands import MIN_BLOCKS, Measured
from verify.montecarlo.quantities import measurement
from verify.spec import checks
from verify.spec.checks import Fit, Items, Plot, Threshold, Within, Wrong
from verify.spec.claim import Claim
from verify.spec.comparisons import measurable, normalised, predicted
from verify.symbolic.calculus import NotDerived, expected
from verify.symbolic.notation import in_line, plain
from verify.symbolic.vocabulary import E, Var, d, n
from verify.text.escapes import for_html
from verify.text.latex import plain as unformatted
from verify.text.numbers import beside, estimate

NAME = "question"
"""The id of the claim that a question is made, which seeds its draws."""

# Random numbers, at most, by which a value is measured where nothing is to be decided: 10 seconds or so.
_MOST_DRAWS = 4 * 10**9

_MARKS = {Verdict.CONFIRMED: "✓", Verdict.APPROXIMATE: "≈", Verdict.REFUTED: "✗", Verdict.UNDECIDED: "?"}


@dataclass(frozen=True)
class Answer:
    """The answer to a question: its derivation, and the record of the run that measured it.

    ``verdict`` is None where nothing is derived and no formula was given: two samples agree, no more.
    ``print`` shows the whole answer, a notebook its claim.
    """

    question: Question
    record: RunRecord

    @property
    def formula(self) -> Expr | None:
        """The derived value of the quantity, or its bound, for every size."""
        return self.question.formula

    @property
    def claim(self) -> str:
        """The id of the claim of the catalogue that answers the question, empty where none does."""
        return self.question.claim.id if self.question.claim else ""

    @property
    def evidence(self) -> ClaimRecord:
        """The record of the claim that the question was made."""
        return self.record.claims[0]

    @property
    def verdict(self) -> Verdict | None:
        """The outcome of the comparison, None where nothing was compared but two samples."""
        return None if self.question.compared[0] is None else self.evidence.verdict

    @property
    def exit_status(self) -> int:
        """0 if confirmed, 1 if refuted, 3 if undecided or nothing was judged."""
        if self.verdict in (Verdict.CONFIRMED, Verdict.APPROXIMATE):
            return 0
        return 1 if self.verdict is Verdict.REFUTED or self.question.derivation.problem else 3

    def _repr_html_(self) -> str:
        return f"<pre>{for_html(self.text())}</pre>"

    def __repr__(self) -> str:
        return f"Answer({self.question.text!r}, formula={self.formula}, {self.verdict or 'measured only'})"

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = 80) -> str:
        """Return the answer for a terminal, in lines of a ``width``."""
        asked, derivation = self.question, self.question.derivation
        folded = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
        blocks = [folded(f"{plain(asked.quantity)} for {asked.components}")]
        blocks.append("\n".join(folded(unformatted(sentence)) for sentence in asked.sentences(plain)))
        blocks += derivation_text(derivation, width)
        if derivation.problem:
            return "\n\n".join([*blocks, folded(f"Undecided: {self.evidence.reason}.")])
        rows = [({str(size): at[size] for size in at}, self.evidence.check(_id(at))) for at in asked.places]
        blocks.append(self._table("first sample" if asked.compared[0] is None else "predicted", rows))
        if fits := [({"fit": check.id}, check) for check in self.evidence.checks if check.method == "fit"]:
            blocks.append(self._table("expected", fits))
        level = (
            f"All intervals hold at once with a probability of {1 - self.record.run.settings.false_alarm:g}."
        )
        doubts = [f" {check.id}: {check.doubt}." for check in self.evidence.checks if check.doubt]
        closing = f"{str(self.evidence.verdict).capitalize()}: {self.evidence.reason}"
        if self.verdict is None:
            agree = "agree" if self.evidence.verdict is Verdict.CONFIRMED else "do not agree"
            closing = f"Measured only, twice: the samples {agree}"
        return "\n\n".join([*blocks, folded(f"{closing}. {level}{''.join(doubts)}")])

    def _table(self, heading: str, rows: Sequence[tuple[Mapping[str, Any], Check]]) -> str:
        """Return checks as a table, each at its place; ``heading`` is that of what they are compared with."""
        lines = [[*rows[0][0], heading, "estimate", "error", "interval", ""]]
        for at, check in rows:
            number = estimate(check.estimate, check.standard_error, check.interval)
            interval = number.interval.replace("\N{NO-BREAK SPACE}", " ")
            predicted = check.relation.strip("=") + beside(check.prediction, check.standard_error)
            texts = [predicted, number.alone, number.error + number.times, interval]
            verdict = "" if self.verdict is None else f"{_MARKS[check.verdict]} {check.verdict}"
            lines.append([*map(str, at.values()), *texts, verdict])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        # Numbers end at the right; intervals and verdicts begin at the left.
        sides = [">"] * (len(widths) - 2) + ["<"] * 2
        form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
        return "\n".join(form.format(*line).rstrip() for line in lines)


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
    workers: Workers | int | None = None,
) -> Answer:
    """Answer a question such as ``Var(q·k)``: derive it, measure it, and say whether both agree.

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
        against: A formula in d_k and n that is decided in place of the derived formula.
        tolerance: How far the measured may be from the expected, relative to that; 1% if not given.
        seed: The root seed of all draws.
        workers: How many processors draw; results do not depend on it.

    Raises:
        VerifyError: an argument cannot be read or is impossible; a line says which, and how to correct it.
    """
    asked = question(
        text, law=law, query_law=query_law, key_law=key_law, dimensions=dimensions, keys=keys, against=against
    )
    chosen = runner.settings(seed=seed, tolerance=tolerance)
    (formula, relation), known = asked.compared, asked.claim
    says = f"${in_line(asked.stated(formula, relation))}$"
    is_measured = " is measured" if formula is None else ""
    sentences = asked.sentences(lambda x: f"${in_line(x)}$")
    meaning = [f"A question that was asked as: {asked.text.replace('$', '')}.", *sentences]
    with using(workers) as processes:
        first: list[Measured] = []
        if asked.formula is None or relation != "=":
            # One place is enough to see what is beyond a bound, and that what is averaged is finite.
            places = asked.places if formula is None else asked.places[-1:]
            with threads_of(processes.count) as threads:
                first = [_measured(asked, at, chosen, threads.map) for at in places]
        claim = Claim(
            id=NAME,
            title=f"{says} for {asked.components}",
            statement=f"For independent {asked.components}, {says}{is_measured}.",
            meaning=" ".join(f"{sentence.rstrip('.')}." for sentence in meaning),
            references=known.references if known else (),
            derive=lambda: asked.derivation,
            experiment=lambda: _items(asked, first, chosen.tolerance),
        )
        asks = f"What is ${in_line(asked.quantity)}$ for {asked.components}?"
        record = runner.run(
            {NAME: in_memory(claim)},
            chosen,
            SourceBook(),
            requested=(NAME,),
            words=Presentation(title=claim.title, question=asks),
            workers=processes,
        )
    return Answer(asked, record)


def _id(at: Mapping[Any, int]) -> str:
    return f"d{at[d]}-n{at[n]}" if n in at else f"d{at[d]}"


def _items(asked: Question, first: Sequence[Measured], tolerance: float) -> Items:
    """Yield a check at each place, the line through them where there is one, and else a wrong version.

    ``first`` are earlier samples: of every place where there is no formula.
    """
    formula, relation = asked.compared
    side = {"=": "equals", "≤": "at_most", "≥": "at_least"}[relation]
    # The order of checks is that of the places, so that tables and figures have it, too.
    for place, at in enumerate(asked.places):
        value, within = formula, Within()
        if formula is None:
            value = Threshold(first[place].value)
            within = Within(3.0, because="what it is compared with was measured as well")
        elif relation == "=" and formula.subs(at).is_zero:
            within = Within(scale=_spread(asked, at), of="the standard deviation")
        given: dict[str, Any] = {side: value}
        check = checks.Check(_id(at), asked.quantity, at, laws=asked.laws, tolerance=within, **given)
        if asked.against is not None and asked.formula not in (None, formula):
            # A claim may not contradict what it derives. That of a question may: the asker wants to know.
            check = replace(check, equals=replace(predicted(check), origin="computed"))
        yield check
    if formula is None or relation != "=":
        value, error = first[-1].value, first[-1].error
        off, says = 12 * tolerance * value, "it is larger by twelve times the tolerance"
        if relation != "=":
            # A bound that a first sample shows to be false must come out refuted.
            off = max(abs(value) / 2, 10 * error) * (-1 if relation == "≤" else 1)
            says = "it keeps a bound that lies beyond what a first sample has"
        given = {side: Threshold(value + off)}
        yield Wrong("off", asked.quantity, asked.places[-1], laws=asked.laws, says=says, **given)
    if formula is not None and (len(asked.dimensions) == 1 or len(asked.keys) < 2):
        yield from _line(asked, formula, relation)


def _line(asked: Question, formula: Expr, relation: str) -> Items:
    """Yield the figure over d_k or n, whichever varies, and the fits with coefficients that a formula has.

    Slope and intercept are those of a linear formula, the exponent that of a power.
    """
    over = n if len(asked.dimensions) == 1 < len(asked.keys) else d
    law = formula.subs({symbol: size for symbol, size in asked.places[0].items() if symbol != over})
    quantity, curve = f"${in_line(asked.quantity)}$", {f"${in_line(law)}$": law}
    linear: Literal["", "y"] = "" if all(law.subs(at).is_positive for at in asked.places) else "y"
    yield Plot("answer", "d*", over, quantity, y=quantity, curves=curve, linear=linear)
    if relation != "=" or len(asked.places) == 1 or any(law.subs(at).is_zero for at in asked.places):
        return
    # A line has slope and intercept, a power times a number its exponent; a constant is both.
    is_linear = law.is_polynomial(over) and Poly(law, over).degree() <= 1
    only = ("level", "slope", "intercept") if is_linear else ()
    factor, power = law.as_independent(over, as_Add=False)
    base, exponent = (over, S.Zero) if power == 1 else power.as_base_exp()
    if factor.is_positive and base == over and exponent.is_number:
        only = (*only, "exponent")
    if only:
        yield Fit("d*", over, law, only)


def _spread(asked: Question, at: dict[Any, int]) -> float:
    """Return the standard deviation of the averaged numbers of a quantity whose value is 0, or 1.

    Of a function of several means, it is that of its linear part; it is 1 where that is not derived.
    """
    quantity = normalised(asked.quantity)
    # By a symbol for each mean the quantity is a function whose slopes SymPy takes.
    names = {mean: Dummy() for mean in sorted(quantity.atoms(E), key=str)}

    def linear_part(laws: Any) -> float:
        values = {name: expected(mean, laws).subs(at) for mean, name in names.items()}
        slopes = [quantity.xreplace(names).diff(name).subs(values).subs(at) for name in values]
        spreads = [sqrt(expected(Var(mean.args[0]), laws).subs(at)) for mean in names]
        return sum(abs(float(slope * by)) for slope, by in zip(slopes, spreads, strict=True)) or 1.0

    try:
        return asked.by_moments(linear_part)
    except NotDerived:
        return 1.0


def _measured(asked: Question, at: dict[Any, int], chosen: Settings, mapped: Callable[..., Any]) -> Measured:
    """Return the estimate at a place, from a sample that is doubled until its interval is narrow enough."""
    alpha, name = ErrorBudget(chosen.false_alarm).share(1), _id(at)
    check = checks.Check(name, asked.quantity, at, equals=S.Zero, laws=asked.laws)
    quantity, setting = measurable(check)
    cell, estimands = measurement(
        f"first-{name}", {name: quantity}, dict(setting.laws), dict(setting.at), tolerance=chosen.tolerance
    )
    if cell.too_large:
        raise SettingsError(f"{asked.text}, {name}: {cell.too_large}: give smaller --dimensions or --keys")
    # Numbers that are not finite are refused in words.
    quietly = np.errstate(all="ignore")(partial(draw_chunk, cell))
    drawn, blocks = Drawn(), MIN_BLOCKS
    while True:
        batches = -(-blocks // cell.batch_blocks)
        chunks = list(drawn.missing(NAME, chosen.seed, batches, cell.chunk_batches))
        try:
            for chunk, sums in zip(chunks, mapped(quietly, chunks), strict=True):
                drawn = drawn.then(chunk, sums, cell.chunk_batches)
        except ValueError:
            where = ", ".join(f"{name} = {value}" for name, value in cell.settings)
            raise ClaimError(
                f"{asked.text}: what is averaged is not finite in some draw, at {where}; ask for "
                "less, such as a logarithm or a median, or give smaller --dimensions"
            ) from None
        measured = estimands[name].measure(drawn.total.sample(cell), alpha)
        low, high = measured.interval
        deviation = measured.error * math.sqrt(measured.blocks)
        is_narrow = high - low <= 2 * chosen.tolerance * max(abs(measured.value), deviation)
        # Blocks that all agree tell nothing, however many there are.
        if is_narrow or not deviation or 2 * measured.blocks * cell.coordinates > _MOST_DRAWS:
            return measured
        blocks = 2 * measured.blocks
