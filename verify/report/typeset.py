"""Sets text, formulas, marks and figures into a template, for the screen or for print."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from verify.evidence import Outcome, Proof, Verdict
from verify.evidence.audits import Judgement
from verify.evidence.words import badge
from verify.files import shipped
from verify.report.math import glyph_definitions
from verify.text.escapes import pieces
from verify.text.latex import Prose, Tex, with_apostrophes
from verify.text.speech import in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.evidence.words import Badge
    from verify.report.audits.views import AuditView
    from verify.report.math import Formula, Formulas
    from verify.report.views import ReportView

SCALE = 1.1  # brings the mathematics' x-height (0.431 em) to the text face's (0.475 em)
_STEP_WIDTH = 21.0  # em of a formula between its rule and its check
_WIDE_WIDTH = 32.5  # em of a formula that takes the place of its check as well
_FULL_WIDTH = 44.0  # em of a formula on a line of its own
_NUMBERED_WIDTH = 36.0  # em of a formula that is centred with its number in the margin
_NARROW_WIDTH = 15.5  # em of a formula that fits into half a page, beside its rule
_TALL = 12.0  # em of a formula of many lines, which gets fewer and longer ones
_STRETCH = 1.1  # a formula may shrink by this much before it gets more room
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]*⁻[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_STUCK = re.compile("(?:[^\\s(\\[]|\N{NO-BREAK SPACE})*")  # what must stay on a formula's line
_OPENING = re.compile(r"[(\[“‘]*\Z")  # what must not end the line before a formula
_PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789−")


class Medium(Protocol):
    """How a page takes pictures in: inline, or as images fetched by name."""

    @property
    def folds(self) -> bool:
        """Whether parts of the page can fold."""

    def formula(self, formula: Formula, style: str, latex: str) -> Markup:
        """Return markup for a formula, drawn from this LaTeX."""

    def mark(self, badge: Badge) -> Markup:
        """Return markup for a verdict's sign."""

    def figure(self, key: str, words: str) -> Markup:
        """Return markup for a figure."""


class OnPaper:
    """Pictures as images; ``images``, ``formulas`` and ``marks`` hold those used, by their addresses.

    ``described`` are the words that stand in for figures.
    """

    folds = False

    def __init__(self, figures: Mapping[str, str]) -> None:
        self._figures = figures
        self._names: dict[str, str] = {}
        self.images: dict[str, str] = {}
        self.formulas: dict[str, tuple[Formula, str]] = {}
        self.marks: dict[str, str] = {}
        self.described: set[str] = set()

    def formula(self, formula: Formula, style: str, latex: str) -> Markup:
        """Return an image tag; the same formula is the same image."""
        key = formula.view_box + formula.body
        name = self._names.setdefault(key, f"svg:formula-{len(self._names)}")
        self.formulas.setdefault(name, (formula, latex))
        return Markup('<img class="f" src="{}" alt="{}" style="{}">').format(name, in_words(latex), style)

    def mark(self, badge: Badge) -> Markup:
        """Return a background: decoration to a screen reader, as the word stands beside it."""
        name = f"svg:mark-{badge.mark}"
        self.marks[name] = badge.mark
        return Markup('<span class="mark tone-{}" style="background-image:url({})"></span>').format(
            badge.tone, name
        )

    def figure(self, key: str, words: str) -> Markup:
        """Return an image tag with its words."""
        name = f"svg:figure-{key}"
        self.images[name] = self._figures[key]
        self.described.add(words)
        return Markup('<img class="drawing" src="{}" alt="{}">').format(name, words)


def render(
    template: str, view: ReportView | AuditView, formulas: Formulas, medium: Medium, **more: Any
) -> str:
    """Return a template filled with a view.

    Raises:
        RenderError: a formula of the view cannot be typeset.
    """
    setter = _Setter(formulas, medium)
    environment = Environment(
        loader=FileSystemLoader(shipped.folder("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=setter.finish,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # An attribute's value is plain text, with no markup for raised digits.
    environment.filters["attribute"] = lambda text: trusted(str(escape(text)))
    environment.filters["prose"] = lambda text: setter.finish(Prose(text))
    environment.globals.update(
        step=setter.step,
        narrow=setter.narrow,
        display=setter.display,
        mark=medium.mark,
        figure=medium.figure,
        folds=medium.folds,
        verdicts={verdict.value: badge(verdict) for verdict in Verdict},
        outcomes={outcome.name.lower(): badge(outcome) for outcome in Outcome},
        judgements={judgement.value: badge(judgement) for judgement in Judgement},
        proofs={proof.name.lower(): badge(proof) for proof in Proof},
        alarm=badge(Proof.FAILED),
    )
    return environment.get_template(template).render(report=view, **more)


def step_formula(formulas: Formulas, tex: Tex) -> tuple[Formula, str]:
    """Return a derivation step's formula, broken to its room, and that room: none, wide or full.

    A wide formula takes its check's room, too, and a full one has lines to itself.

    Raises:
        RenderError: the LaTeX cannot be typeset.
    """
    for room, width in (("", _STEP_WIDTH), ("wide", _WIDE_WIDTH)):
        drawn = formulas.display(tex, width if room else None)
        if drawn.width <= width * _STRETCH and drawn.height <= _TALL:
            return drawn, room
    return formulas.display(tex, _FULL_WIDTH), "full"


class _Setter:
    """Turns what a view holds into markup."""

    def __init__(self, formulas: Formulas, medium: Medium) -> None:
        self._formulas = formulas
        self._medium = medium

    def finish(self, value: object) -> object:
        """Return what a template's expression prints: prose typeset, superscripts raised."""
        if isinstance(value, Prose):
            return self._prose(value)
        return _text(value) if type(value) is str else value

    def step(self, tex: Tex) -> dict[str, object]:
        """Return a step's formula and the room it takes."""
        drawn, room = step_formula(self._formulas, tex)
        return {"formula": self._displayed(drawn, tex), "room": room}

    def narrow(self, *steps: Tex) -> bool:
        """Return whether all formulas of some steps fit into half a page, beside their rules."""
        return all(step_formula(self._formulas, tex)[0].width <= _NARROW_WIDTH for tex in steps)

    def display(self, tex: Tex) -> Markup:
        """Return a formula on a line of its own, beside its number."""
        return self._displayed(self._formulas.display(tex, _NUMBERED_WIDTH), tex)

    def _displayed(self, drawn: Formula, tex: Tex) -> Markup:
        width = drawn.width * SCALE
        return self._medium.formula(drawn, f"width:{width:.3f}em;min-width:{0.7 * width:.3f}em", tex)

    def _inline(self, latex: str) -> Markup:
        drawn = self._formulas.inline(latex)
        sizes = (drawn.width * SCALE, drawn.height * SCALE, -drawn.depth * SCALE)
        style = "width:{:.3f}em;height:{:.3f}em;vertical-align:{:.3f}em".format(*sizes)
        return self._medium.formula(drawn, style, latex)

    def _prose(self, prose: Prose) -> Markup:
        set_so_far, formula = Markup(), Markup()
        before, opening = "", ""  # of the formula that waits for its punctuation, and of the next one
        for piece in pieces(prose):
            if piece.is_formula:
                set_so_far += _together(before, formula, "")
                before, formula, opening = opening, self._inline(piece.text), ""
                continue
            text = with_apostrophes(piece.text)
            tail = _STUCK.match(text)
            stuck = tail[0] if tail and formula else ""
            rest = text[len(stuck) :]
            start = next(_OPENING.finditer(rest)).start()
            set_so_far += _together(before, formula, stuck) + _text(rest[:start])
            before, formula, opening = "", Markup(), rest[start:]
        return set_so_far + _together(before, formula, "") + _text(opening)


def _together(before: str, formula: Markup, after: str) -> Markup:
    """Return a formula that no line break can part from the punctuation around it."""
    if not before and not after:
        return formula
    return Markup('<span class="nb">{}{}{}</span>').format(_text(before), formula, _text(after))


def _text(text: str) -> Markup:
    """Return text escaped; a negative power of ten is raised, since no face here has a superscript minus."""
    escaped = str(escape(text))
    return trusted(_SUPERSCRIPT.sub(lambda run: f"<sup>{run[0].translate(_PLAIN_DIGITS)}</sup>", escaped))


def trusted(markup: str) -> Markup:
    """Return markup as such: only for what this package made itself, or has escaped."""
    return Markup(markup)  # noqa: S704


def standalone(formula: Formula) -> str:
    """Return a formula as a complete SVG."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{formula.view_box}" '
        f'width="{formula.width * SCALE:.4f}em" height="{formula.height * SCALE:.4f}em" stroke-width="0">'
        f"<defs>{glyph_definitions([formula], '')}</defs>{formula.body}</svg>"
    )
