"""Answers: what was derived for a question and what was measured, as text, table and figure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sympy import Expr

from verify.engine.questions import Deduction, Question
from verify.evidence import Check, Figure, RunRecord, Verdict
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

    @classmethod
    def of(cls, check: Check, at: Mapping[Any, Any], predicted: Expr | None = None) -> Row:
        """Return the row of a check on record."""
        named = {str(name): value for name, value in at.items()}
        verdict = None if predicted is None else check.verdict
        return cls(
            named, check.estimate, check.standard_error, check.interval, predicted, verdict, check.doubt
        )


@dataclass(frozen=True)
class Answer:
    """What is known of a question: ``formula`` is derived, ``rows`` are measured, ``fits`` go through them.

    ``claim`` is the id of the claim of the catalogue that answers it, empty where none does. ``verdict`` is
    None where nothing is derived and no formula was given. ``record`` is the record of the run behind it;
    where nothing was judged it is made when it is asked for. ``print`` shows the whole answer.
    """

    deduction: Deduction
    rows: tuple[Row, ...]
    fits: tuple[Row, ...]
    verdict: Verdict | None
    reason: str
    false_alarm: float
    make_record: Callable[[], RunRecord]

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.deduction.asked

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
        return plot_figure(figure_of(self.question, self.rows, self.deduction.compared[0]), ax)

    def __repr__(self) -> str:
        verdict = "measured only" if self.verdict is None else str(self.verdict)
        return f"Answer({self.question.text!r}, formula={self.formula}, {verdict})"

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the answer for a terminal, in lines of a ``width``."""
        asked, deduction, formula = self.question, self.deduction, self.formula
        folded = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
        name = plain(asked.quantity)
        name = name if len(name) <= WIDTH // 2 else asked.text
        if formula is None:
            sentences = [f"Nothing is derived: {deduction.derivation.nothing}."]
        else:
            sizes = " and ".join(str(size) for size in (d, n) if formula.has(size)) or "size"
            sentences = [f"Derived for every {sizes}: {name} {deduction.relation} {plain(formula)}"]
        if asked.against is not None:
            sentences.append(f"Your formula: {name} = {plain(asked.against)}")
        if deduction.claim:
            sentences.append(f"By the claim {deduction.claim.id}: {unformatted(deduction.claim.title)}.")
        if deduction.derivation.main:
            sentences += map(unformatted, deduction.derivation.main.assumptions)
        chains = [
            (f"{chain.title[0].upper()}{chain.title[1:]}:\n" if chain.title else "")
            + chain_text(chain, width)
            for chain in deduction.derivation.chains
        ]
        tables = [_aligned(lines) for lines in self._tables()]
        heading = folded(f"{name} for {asked.components}")
        return "\n\n".join(
            [heading, "\n".join(map(folded, sentences)), *chains, *tables, folded(self._closing())]
        )

    def _tables(self) -> list[list[list[str]]]:
        """Return the tables of texts that there are, of values and of fits, each with its head."""
        relation = "" if self.question.against is not None else self.deduction.relation.replace("=", "")
        tables = []
        for rows, predicted in ((self.rows, "predicted"), (self.fits, "expected")):
            if not rows:
                continue
            judged = rows[0].predicted is not None
            head = [*rows[0].at, predicted, "estimate", "error", "interval", ""]
            lines = [head]
            for row in rows:
                text = estimate(row.estimate, row.standard_error, row.interval)
                lines.append(
                    [
                        *map(str, row.at.values()),
                        f"{relation}{_number(row.predicted)}" if row.predicted is not None else "",
                        text.alone,
                        text.error + text.times,
                        text.interval.replace("\N{NO-BREAK SPACE}", " "),
                        f"{_MARKS[row.verdict]} {row.verdict}" if row.verdict is not None else "",
                    ]
                )
            before = len(rows[0].at)
            tables.append(lines if judged else [line[:before] + line[before + 1 : -1] for line in lines])
        return tables

    def _closing(self) -> str:
        level = f"All intervals hold at once with a probability of {1 - self.false_alarm:g}."
        places = [
            (row, ", ".join(f"{name} = {value}" for name, value in row.at.items())) for row in self.rows
        ]
        doubts = "".join(f" At {place}: {row.doubt}." for row, place in places if row.doubt)
        if self.verdict is None:
            return f"Measured only. {level}{doubts}"
        return f"{str(self.verdict).capitalize()}: {self.reason}. {level}{doubts}"

    def _repr_html_(self) -> str:
        """Return formula and tables, which notebooks show; formulas are LaTeX, which they set."""
        against, signs = self.question.against, {"=": "=", "≤": r"\le", "≥": r"\ge"}
        quantity, sides = in_line(self.question.quantity), []
        if against is not None:
            sides.append(rf"${quantity} \overset{{?}}{{=}} {in_line(against)}$")
        if self.formula is not None:
            sides.append(f"${quantity} {signs[self.deduction.relation]} {in_line(self.formula)}$")
        heading = "<br>".join(sides or [f"${quantity}$"])
        tables = [table(head, rows) for head, *rows in self._tables()]
        return "".join(
            [f"<p>{heading} for {self.question.components}</p>", *tables, f"<p>{self._closing()}</p>"]
        )


def _number(value: Expr) -> str:
    """Return a number as it is written, a long one as a decimal."""
    text = plain(value)
    return text if len(text) <= 8 and value.is_Rational else exact(float(value), 6).strip("$")


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are as wide as their texts; intervals and verdicts begin at the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = lines[0].index("interval")
    return "\n".join(
        "  ".join(
            text.ljust(width) if place >= left else text.rjust(width)
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
    over, other = (d, n) if len(asked.dimensions) > 1 or len(asked.keys) < 2 else (n, d)
    layers = []
    for value in dict.fromkeys(row.at.get(str(other)) for row in rows):
        group = [row for row in rows if row.at.get(str(other)) == value]
        places = [float(row.at[str(over)]) for row in group]
        label = "measured" if value is None else f"${other} = {value}$"
        layers.append(figures.points(label, places, [(row.estimate, row.interval) for row in group]))
        if formula is not None and len(places) > 1:
            law = formula.subs(other, value) if value is not None else formula
            y = law if law.has(over) else (lambda _, level=float(law): level)
            layers.append(figures.curve(f"${in_line(law)}$", y, places))
    positive = all(row.estimate > 0 for row in rows)
    return figures.figure(
        "answer",
        f"${in_line(asked.quantity)}$",
        *layers,
        x=over,
        y=f"${in_line(asked.quantity)}$",
        linear="" if positive else "y",
    )
