"""Answers: what was derived for a question and what was measured, as text, table and figure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sympy import Expr

from verify.engine.questions import Deduction, Question
from verify.evidence import Figure, RunRecord, Verdict
from verify.evidence.judging import Interval
from verify.evidence.plots import plot_figure
from verify.evidence.records import Frame, frame_of, table
from verify.spec import figures
from verify.symbolic.notation import in_line, plain
from verify.symbolic.vocabulary import d, n
from verify.text.latex import plain as unformatted
from verify.text.numbers import estimate, exact

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from verify.symbolic.chains import Chain

WIDTH = 80
_MARKS = {Verdict.CONFIRMED: "✓", Verdict.APPROXIMATE: "≈", Verdict.REFUTED: "✗", Verdict.UNDECIDED: "?"}


@dataclass(frozen=True)
class Row:
    """A measured value: of the quantity at sizes ``at``, or of a coefficient of a fit.

    ``predicted`` is what it is compared with and ``verdict`` what came of that, None where nothing is.
    ``doubt`` says why the interval cannot be relied on.
    """

    at: dict[str, Any]
    estimate: float
    standard_error: float
    interval: Interval
    predicted: Expr | None = None
    verdict: Verdict | None = None
    doubt: str = ""


@dataclass(frozen=True)
class Answer:
    """What is known of a question: ``formula`` is derived, ``rows`` are measured, ``fits`` go through them.

    ``claim`` is the id of the claim of the catalogue that answers it, empty where none does. ``verdict`` is
    None where nothing is derived and no formula was given. ``record`` is the record of the run behind it;
    where nothing was judged it is made when it is asked for. ``print`` shows the whole answer.
    """

    question: Question
    deduction: Deduction
    rows: tuple[Row, ...]
    fits: tuple[Row, ...]
    verdict: Verdict | None
    reason: str
    false_alarm: float
    make_record: Callable[[], RunRecord]

    @property
    def formula(self) -> Expr | None:
        """What the quantity is derived to be, for every size."""
        return self.deduction.formula

    @property
    def claim(self) -> str:
        """The id of the claim that answers the question."""
        return self.deduction.claim.id if self.deduction.claim else ""

    @property
    def record(self) -> RunRecord:
        """The record of the run, for ``verify.render`` and all that reads records."""
        return self.make_record()

    @property
    def exit_status(self) -> int:
        """0 if confirmed, 1 if refuted, 3 if undecided or nothing was judged."""
        if self.verdict in (Verdict.CONFIRMED, Verdict.APPROXIMATE):
            return 0
        return 1 if self.verdict is Verdict.REFUTED or self.deduction.derivation.problem else 3

    def to_frame(self) -> Frame:
        """Return the measured values as columns for ``pandas.DataFrame`` or ``polars.DataFrame``."""
        return frame_of(
            {
                **row.at,
                "predicted": None if row.predicted is None else float(row.predicted),
                "estimate": row.estimate,
                "standard_error": row.standard_error,
                "interval_low": row.interval[0],
                "interval_high": row.interval[1],
                "verdict": None if row.verdict is None else str(row.verdict),
            }
            for row in self.rows
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return matplotlib's axes, new ones if none are given, with the measured on the derived."""
        return plot_figure(figure_of(self.question, self.rows, self.compared), ax)

    @property
    def compared(self) -> Expr | None:
        """What the measured is compared with: the asker's formula, or the derived one."""
        return self.formula if self.question.against is None else self.question.against

    def __repr__(self) -> str:
        found = "measured only" if self.verdict is None else str(self.verdict)
        return f"Answer({self.question.text!r}, formula={self.formula}, {found})"

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the answer for a terminal, in lines of a ``width``."""
        folded = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
        heading = f"{self._name} for {self.question.components}"
        blocks = [folded(heading), "\n".join(map(folded, self._said())), *self._chains(width)]
        blocks += [
            _aligned(self._table(self.rows, "predicted")),
            _aligned(self._table(self.fits, "expected")),
        ]
        blocks.append(folded(self._closing()))
        return "\n\n".join(block for block in blocks if block)

    @property
    def _name(self) -> str:
        """The quantity as it is printed, or, if that is long, as it was asked for."""
        name = plain(self.question.quantity)
        return name if len(name) <= WIDTH // 2 else self.question.text

    def _said(self) -> Iterator[str]:
        """Yield what is derived, in sentences."""
        asked, deduction = self.question, self.deduction
        name = self._name
        if self.formula is None:
            yield f"Nothing is derived: {deduction.missing}."
        else:
            sizes = " and ".join(str(size) for size in (d, n) if self.formula.has(size)) or "size"
            yield f"Derived for every {sizes}: {name} {deduction.relation} {plain(self.formula)}"
        if asked.against is not None:
            yield f"Your formula: {name} = {plain(asked.against)}"
        if deduction.claim:
            yield f"By the claim {deduction.claim.id}: {unformatted(deduction.claim.title)}."
        if deduction.derivation.main:
            yield from map(unformatted, deduction.derivation.main.assumptions)

    def _chains(self, width: int) -> Iterator[str]:
        for chain in self.deduction.derivation.chains:
            title = f"{chain.title[0].upper()}{chain.title[1:]}:\n" if chain.title else ""
            yield title + chain_text(chain, width)

    def _table(self, rows: Sequence[Row], predicted: str) -> list[list[str]]:
        """Return the head and the rows of a table of texts."""
        if not rows:
            return []
        judged = any(row.predicted is not None for row in rows)
        head = [*rows[0].at, *([predicted] if judged else []), "estimate", "error", "interval"]
        usable = [(row.estimate, row.standard_error, row.interval) for row in rows]
        texts = [estimate(*numbers) for numbers in usable]
        lines = [head + ([""] if judged else [])]
        for row, text in zip(rows, texts, strict=True):
            line = [str(value) for value in row.at.values()]
            if judged:
                sign = self.deduction.relation.replace("=", "") if self.question.against is None else ""
                line.append("" if row.predicted is None else f"{sign}{_number(row.predicted)}")
            line += [text.alone, text.error + text.times, text.interval.replace("\N{NO-BREAK SPACE}", " ")]
            if judged:
                line.append("" if row.verdict is None else f"{_MARKS[row.verdict]} {row.verdict}")
            lines.append(line)
        return lines

    def _closing(self) -> str:
        level = f"All intervals hold together but for a chance of {self.false_alarm:g}."
        doubts = "".join(f" At {_place(row)}: {row.doubt}." for row in self.rows if row.doubt)
        verdict = (
            "Measured only" if self.verdict is None else f"{str(self.verdict).capitalize()}: {self.reason}"
        )
        return f"{verdict}. {level}{doubts}"

    def _repr_html_(self) -> str:
        """Return formula and tables, which notebooks show; formulas are LaTeX, which they set."""
        quantity = f"${in_line(self.question.quantity)}"
        sides = [
            quantity + (f" {sign} {in_line(side)}$" if side is not None else "$")
            for sign, side in self._sides()
        ]
        parts = [f"<p>{'<br>'.join(sides)} for {self.question.components}</p>"]
        for rows, name in ((self.rows, "predicted"), (self.fits, "expected")):
            if text := self._table(rows, name):
                parts.append(table(text[0], text[1:]))
        return "".join([*parts, f"<p>{self._closing()}</p>"])

    def _sides(self) -> Iterator[tuple[str, Expr | None]]:
        latex = {"=": "=", "≤": r"\le", "≥": r"\ge"}
        if self.question.against is not None:
            yield r"\overset{?}{=}", self.question.against
        if self.formula is not None or self.question.against is None:
            yield latex[self.deduction.relation], self.formula


def _place(row: Row) -> str:
    return ", ".join(f"{name} = {value}" for name, value in row.at.items())


def _number(value: Expr) -> str:
    """Return a number as it is written, a long one as a decimal."""
    text = plain(value)
    return text if len(text) <= 8 and value.is_Rational else exact(float(value), 6).strip("$")


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are as wide as their texts; the last two begin at the left."""
    if not lines:
        return ""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    last = len(widths) - (2 if lines[0][-1] == "" else 1)
    return "\n".join(
        "  ".join(
            text.ljust(width) if place >= last else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def chain_text(chain: Chain, width: int | None = WIDTH) -> str:
    """Return a chain as text: its start, and each line behind its sign, with its reason below.

    Without a ``width``, lines are not broken.
    """

    def beside(head: str, text: str) -> str:
        if width is None:
            return head + text
        return textwrap.fill(
            text,
            width,
            initial_indent=head,
            subsequent_indent=" " * 6,
            break_long_words=False,
            break_on_hyphens=False,
        )

    lines = [beside("    ", plain(chain.start))]
    for checked in chain.checked:
        line = checked.line
        decided = unformatted(line.check.words)
        tried = f"tried: {checked.tried}" if checked.tried else "tried at no point"
        ending = f"✓ {decided}, {tried}" if checked.holds else f"✗ {checked.problem}"
        lines.append(beside(f"  {line.relation} ", plain(line.expression)))
        lines.append(beside("      ", f"{unformatted(line.because)} ({ending})"))
    return "\n".join(lines)


def figure_of(asked: Question, rows: Sequence[Row], formula: Expr | None) -> Figure:
    """Return the figure of an answer: estimates with their intervals, and the curve of a formula."""
    over = d if len(asked.dimensions) > 1 or len(asked.keys) < 2 else n
    others = list(dict.fromkeys(tuple(_other(row, over)) for row in rows))
    layers = []
    for others_of in others:
        group = [row for row in rows if tuple(_other(row, over)) == others_of]
        label = ", ".join(f"${name} = {value}$" for name, value in others_of)
        places = [float(row.at[str(over)]) for row in group]
        values = [(row.estimate, row.interval) for row in group]
        layers.append(figures.points(label or "measured", places, values))
        if formula is not None and len(places) > 1:
            law = formula.subs({symbol: dict(others_of).get(str(symbol), symbol) for symbol in (d, n)})
            y = law if law.has(over) else (lambda _, value=float(law): value)
            layers.append(figures.curve(f"${in_line(law)}$", y, places))
    positive = all(row.estimate > 0 for row in rows)
    return figures.figure(
        "answer",
        f"${in_line(asked.quantity)}$",
        f"Measured: {plain(asked.quantity)} for {asked.components}.",
        *layers,
        x=over,
        y=f"${in_line(asked.quantity)}$",
        y_scale="log" if positive else "linear",
    )


def _other(row: Row, over: Any) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in row.at.items() if name != str(over)]
