"""Sets text, formulas, marks and figures into a template, for the screen or for print."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from verify.evidence import Outcome, Proof, Verdict, words
from verify.evidence.load import command, creation, digest
from verify.evidence.words import Badge, Tally
from verify.files import shipped_folder, shipped_table
from verify.report import tables
from verify.report.formulas import Formula, Formulas
from verify.text import numbers
from verify.text.escapes import for_tex, pieces, prose_for_tex
from verify.text.latex import Prose, in_pieces, low, plain, spoken, with_apostrophes

SCALE = 1.1  # brings the mathematics' x-height (0.431 em) to the text face's (0.475 em)
_NUMBERED = 36.0  # em of a formula that is centred with its number in the margin
_BROKEN = 16.0  # em from which on a formula in text is pieces, between which lines may break
_WIDEST_PIECE = 27.0  # em of a piece in the columns of the print's tables
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]*⁻[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
# What must not be parted from a formula, whose place is marked: an opening before it, all that follows it.
_AROUND = re.compile("([(\\[“‘]*)\0((?:[^\\s(\\[\0]|\N{NO-BREAK SPACE})*)")
_JOINER = "\N{WORD JOINER}"
_PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789−")
MARKS = shipped_table("marks")
"""The drawn signs of the verdicts: paths on a square of 16 units."""
STROKE_WIDTH = 1.5


def _tallied(records: Sequence[object], name: str) -> tuple[Tally, ...]:
    """Return how often each verdict, or what else this attribute of records is, occurs."""
    counts = Counter(map(attrgetter(name), records))
    kinds: Any = type(next(iter(counts), None))
    return words.tallies(counts, kinds) if counts else ()


_FILTERS: dict[str, Callable[..., object]] = {
    "alone": tables.alone,
    "badge": words.badge,
    "cells": tables.cells,
    "closed": words.closed,
    "command": command,
    "control_badge": words.control_badge,
    "count": numbers.count,
    "created": creation,
    "date": lambda moment: f"{moment.day} {moment:%B %Y}",
    "digest": digest,
    "exact": numbers.exact,
    "for_tex": for_tex,
    "measured": tables.measured,
    "percent": numbers.percent,
    "plain": plain,
    "prose_for_tex": prose_for_tex,
    "remark": words.remark,
    "sample": tables.sample_size,
    "short": "{:g}".format,
    "small": numbers.small,
    "spoken": spoken,
    "tallies": _tallied,
    "timestamp": "{:%Y-%m-%dT%H:%M:%SZ}".format,
    "tolerance": numbers.tolerance,
    "value": tables.value_of,
}


class Medium(ABC):
    """Sets text, formulas, marks and figures into templates; how a page takes pictures in is its own.

    ``figures`` are SVGs by their keys.
    """

    folds: bool
    """Whether parts of the page can fold."""

    def __init__(self, formulas: Formulas, figures: Mapping[str, str]) -> None:
        self.formulas = formulas
        self.figures = figures

    @abstractmethod
    def formula(self, formula: Formula, latex: str) -> Markup:
        """Return markup for a formula, made of this LaTeX."""

    @abstractmethod
    def mark(self, badge: Badge) -> Markup:
        """Return markup for a verdict's sign."""

    @abstractmethod
    def figure(self, key: str, words: str) -> Markup:
        """Return markup for a figure."""

    def render(self, template: str, report: object, **more: Any) -> str:
        """Return a template filled with a report, and with what else it is given.

        Templates read records: filters turn what these hold into text, `prose` into typeset text.

        Raises:
            RenderError: a formula of the report cannot be typeset.
        """

        def finished(value: object) -> object:
            if isinstance(value, Prose):
                return self._prose(value)
            return _text(value) if type(value) is str else value

        environment = Environment(
            loader=FileSystemLoader(shipped_folder("templates")),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=finished,  # prose is typeset, and superscripts are raised, wherever they are printed
            trim_blocks=True,
            lstrip_blocks=True,
        )
        # An attribute's value is plain text, with no markup for raised digits.
        environment.filters["attribute"] = lambda text: trusted(str(escape(text)))
        environment.filters["prose"] = self._prose
        environment.filters |= _FILTERS
        # A claim file may come from anywhere: only a web address becomes a link, never a script.
        environment.tests["web"] = lambda url: bool(url) and url.startswith(("https://", "http://"))
        environment.globals.update(
            relations=shipped_table("report")["relations"],
            display=self._display,
            small_print=self._small_print,
            fits=self._fits,
            mark=self.mark,
            figure=self.figure,
            folds=self.folds,
            verdicts={verdict.value: words.badge(verdict) for verdict in Verdict},
            outcomes={outcome.name.lower(): words.badge(outcome) for outcome in Outcome},
            proofs={proof.name.lower(): words.badge(proof) for proof in Proof},
            alarm=words.badge(Proof.FAILED),
        )
        return environment.get_template(template).render(report=report, **more)

    def _display(self, latex: str, limit: float = _NUMBERED * SCALE) -> Markup:
        """Return a formula on a line of its own, in lines if it is wider than ``limit`` em."""
        return self.formula(self.formulas.display(latex, limit / SCALE), latex)

    def _small_print(self, latex: str) -> Markup:
        """Return a formula for a narrow column, in lines; what would have to be shrunk stands elsewhere."""
        if not latex:
            return Markup()
        # Three lines of the column at most, each no wider than it.
        widths = [self.formulas.inline(part).width for part in in_pieces(latex)]
        if max(widths) > _WIDEST_PIECE or sum(widths) > 3 * _WIDEST_PIECE:
            return Markup("<i>in the full edition</i>")
        return self._inline(low(latex))

    def _fits(self, latex: str, width: float) -> bool:
        """Return whether there is a formula, and it has room in a place of this width in em."""
        return bool(latex) and self.formulas.display(latex, _NUMBERED).width * SCALE <= width

    def _inline(self, latex: str) -> Markup:
        """Return a formula in running text; a long formula is pieces, between which lines may break."""
        is_long = self.formulas.inline(latex).width > _BROKEN and r"\begin" not in latex
        parts = in_pieces(latex) if is_long else []
        whole = parts if len(parts) > 1 else [latex]
        return Markup(" ").join(self.formula(self.formulas.inline(part), part) for part in whole)

    def _prose(self, prose: str) -> Markup:
        parts = pieces(prose.replace("\0", ""))
        formulas = [self._inline(part.text) for part in parts if part.is_formula]
        text = "".join("\0" if part.is_formula else with_apostrophes(part.text) for part in parts)
        first, *rest = _AROUND.split(text)
        typeset = _text(first)
        for formula, before, after, further in zip(formulas, rest[::3], rest[1::3], rest[2::3], strict=True):
            # No line break may part a formula from what touches it; in print, signs stay beside it anyway.
            joiner = "" if self.folds else _JOINER * after[:1].isalnum()
            together = _text(before) + formula + joiner + _text(after)
            if self.folds and (before or after):
                together = Markup('<span class="nb">{}</span>').format(together)
            typeset += together + _text(further)
        return typeset


def _text(text: str) -> Markup:
    """Return text escaped; a negative power of ten is raised, since no face here has a superscript minus."""
    escaped = str(escape(text))
    return trusted(_SUPERSCRIPT.sub(lambda run: f"<sup>{run[0].translate(_PLAIN_DIGITS)}</sup>", escaped))


def trusted(markup: str) -> Markup:
    """Return markup as such: only for what this package made itself, or has escaped."""
    return Markup(markup)  # noqa: S704
