"""The short of a run: the answer to its question, key numbers, where the claims stop, the notation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence import Verdict
from verify.evidence.words import badge, cell_text, predicted
from verify.report.values import figure_values
from verify.report.views import AnswerView, FigureView, KeyView, LimitView, SummaryView
from verify.text import numbers
from verify.text.latex import Prose, Tex
from verify.text.speech import prose_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.evidence import Check, ClaimRecord, Figure, RunRecord
    from verify.report.views import ChapterView

_ANSWER = (
    (
        (
            r"If the components of a query $q$ and a key $k$ are independent with mean 0 and variance 1, "
            r"each of the $d_k$ dimensions adds 1 to the variance of the score $q\cdot k$, and division by "
            r"$\sqrt{d_k}$, by nothing else but its negative, brings it back to 1 at every width."
        ),
        ("score-variance", "sqrt-scaling-unique"),
    ),
    (
        (
            r"Without it the larger of two softmax weights goes to 1 as $d_k$ grows and the softmax passes "
            r"less of a gradient on; yet not all gradients vanish: the typical one does, while their root "
            r"mean square grows."
        ),
        ("softmax-saturation", "jacobian-saturation", "vanishing-or-exploding"),
    ),
)
"""The sentences of the answer, each with the claims that it rests on."""

_KEYS = {
    "score-variance.slope": r"variance of $q\cdot k$ that each dimension adds",
    "sqrt-scaling.level": r"variance of $q\cdot k/\sqrt{d_k}$, over all widths",
    "softmax-saturation.raw-two-keys-d64": "larger of two softmax weights, unscaled, on average",
    "jacobian-saturation.unscaled-d64": "mean squared norm of the softmax’s Jacobian, two keys, unscaled",
    "vanishing-or-exploding.rms-grows": "root mean square of a query’s gradient, unscaled over scaled",
}
"""The checks that stand on the first page, and what they compare."""

_PANELS = ("sqrt-scaling.three-scales", "softmax-saturation.largest-weight")
"""The figures that stand side by side, those of them that a run has."""

HALF, FRONT = "half.", "front."
"""What the keys of drawings at half the width of the text start with; those of the first page are higher."""

_LIMITS = "limits"
_DEFINITION = (
    r"\operatorname{Attention}(Q, K, V) = "
    r"\operatorname{softmax}\left(\frac{Q K^{\top}}{\sqrt{d_k}}\right) V"
)
_NOTATION = (
    (r"$q$, $k$", "a query and a key: vectors of $d_k$ components"),
    (r"$d_k$", "the width of a head: the number of components of a query or key"),
    (r"$q\cdot k$", r"the score of a query and a key, $\sum_{i=1}^{d_k} q_i k_i$, before any scaling"),
    (r"$c$", r"the scale, the factor of every score; $1/\sqrt{d_k}$ where nothing else is said"),
    (r"$n$", "the number of keys in a row"),
    (r"$s_j$, $p_j$", r"the scores of a row and its weights, $p_j = e^{s_j}/\sum_l e^{s_l}$"),
    (r"$Q$, $K$, $V$", "matrices whose rows are queries, keys and values"),
    (r"$P$", "the matrix of weights, whose rows sum to 1"),
    (r"$J$", r"the Jacobian of the softmax, $\partial p_i/\partial s_j = p_i(\delta_{ij} - p_j)$"),
    (r"$\sigma$", "the standard deviation of the scores in a row"),
    (r"$\mathbb{E}$, $\operatorname{Var}$", "mean and variance over fresh queries and keys"),
    (r"$T$, $D$", "the number of tokens, and the width of the model"),
)


def summary(record: RunRecord, chapters: Sequence[ChapterView]) -> SummaryView:
    """Return the summary of a run from its record and the cards of its claims."""
    claims = {claim.id: claim for claim in record.claims}
    numbered = {card.id: card.number for chapter in chapters for card in chapter.cards}
    figures = _figures(record.claims)
    return SummaryView(
        answer=tuple(_answer(text, [claims.get(name) for name in rests]) for text, rests in _ANSWER),
        keys=tuple(_keys(claims)),
        figures=tuple(_panel(FRONT + key, figures[key]) for key in _PANELS if key in figures),
        limits=tuple(
            LimitView(
                claim.id,
                numbered[claim.id],
                Prose(claim.title),
                Prose(f"${claim.derivation.latex}$" if claim.derivation.latex else ""),
                Prose(claim.statement),
            )
            for claim in record.claims
            if claim.chapter == _LIMITS
        ),
        notation=tuple((Prose(symbol), Prose(meaning)) for symbol, meaning in _NOTATION),
        definition=Tex(_DEFINITION),
    )


def by_chapter(record: RunRecord) -> tuple[list[ClaimRecord], ...]:
    """Return the claims of each chapter, in the record's order."""
    chapters: dict[str, list[ClaimRecord]] = {}
    for claim in record.claims:
        chapters.setdefault(claim.chapter, []).append(claim)
    return tuple(chapters.values())


def chapter_figure(claims: Sequence[ClaimRecord]) -> FigureView | None:
    """Return the figure that stands for a chapter: not on the first page, with a wrong version."""
    figures = {key: one for key, one in _figures(claims).items() if key not in _PANELS}
    chosen = min(figures, key=lambda key: not _is_contrast(figures[key]), default=None)
    return _panel(HALF + chosen, figures[chosen]) if chosen else None


def panels(record: RunRecord, edition: str) -> dict[str, Figure]:
    """Return the figures that an edition has at half the width of the text, by the keys of these drawings."""
    figures = _figures(record.claims)
    front = {FRONT + key: one for key, one in figures.items() if key in _PANELS}
    half = {HALF + key: one for key, one in figures.items()}
    if edition == "full":
        return front | half
    shown = {one.key for claims in by_chapter(record) if (one := chapter_figure(claims))}
    return front | {key: one for key, one in half.items() if key in shown}


def _is_contrast(figure: Figure) -> bool:
    """Whether a figure shows what a wrong version says beside what is measured."""
    return {"control", "measured"} <= {layer.role for layer in figure.layers}


def _figures(claims: Sequence[ClaimRecord]) -> dict[str, Figure]:
    return {f"{claim.id}.{figure.id}": figure for claim in claims for figure in claim.series}


def _panel(key: str, figure: Figure) -> FigureView:
    return FigureView(key, Prose(figure.title), prose_in_words(figure.alt), figure_values(figure))


def _answer(text: str, rests: Sequence[ClaimRecord | None]) -> AnswerView:
    """Return a sentence of the answer, and what of that it rests on this run did not confirm."""
    against = [
        f"“{claim.title}” is {claim.verdict}" if claim else "a claim is not part of this run"
        for claim in rests
        if claim is None or claim.verdict is not Verdict.CONFIRMED
    ]
    return AnswerView(Prose(text), tuple(Prose(one) for one in dict.fromkeys(against)))


def _keys(claims: dict[str, ClaimRecord]) -> Iterator[KeyView]:
    for key, what in _KEYS.items():
        name, _, wanted = key.partition(".")
        found = claims[name].checks if name in claims else ()
        yield from (_key(key, what, check) for check in found if check.id == wanted)


def _key(link: str, what: str, check: Check) -> KeyView:
    found = numbers.estimate(check.estimate, check.standard_error, check.interval)
    width = cell_text({key: value for key, value in check.cell.items() if key == "d_k"})
    return KeyView(
        link=link,
        what=Prose(", ".join(filter(None, [what, width]))),
        predicted=predicted(check, check.standard_error),
        estimate=found.with_error,
        interval=found.interval,
        verdict=badge(check.verdict),
    )
