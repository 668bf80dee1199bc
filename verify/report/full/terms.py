"""The index: terms, and the claims whose title, statement or meaning uses them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.report.views import CardView

_TERMS = {
    "attention, definition of": r"attention of|definition of attention",
    "causal mask": r"causal|mask",
    "Cauchy distribution": r"Cauchy",
    "characteristic function": r"characteristic function",
    "correlated components": r"correlat",
    "cosine similarity": r"cosine",
    "effective number of keys": r"effective",
    "entropy": r"entrop",
    "gradient, exploding": r"explod",
    "gradient, of queries and keys": r"gradient",
    "gradient, vanishing": r"vanish",
    "half precision": r"half[- ]precision|float16|bfloat16",
    "heads, number of": r"\bheads\b",
    "heavy tails": r"heavy|tails",
    "identity of weights under shifts": r"shift",
    "independence": r"independent",
    "Jacobian": r"Jacobian",
    "kurtosis": r"kurtosis",
    "layers": r"\blayers?\b",
    "layer normalisation": r"layer ?norm|normalis",
    "learning rate": r"learning rate|\brate\b",
    "length of the sequence": r"length of (?:the|a) (?:sequence|context)|tokens",
    "normal limit": r"normal limit|tends? to (?:the )?normal|nearly normal",
    "one-hot weights": r"one-hot|one hot",
    "order of scores": r"\border\b",
    "padding": r"padd",
    "projections": r"project",
    "Rademacher components": r"Rademacher",
    "rotary embedding": r"rotary|rotat",
    "row of weights": r"\brows?\b",
    "saturation": r"saturat",
    "scale, estimated from outputs": r"from (?:the |its )?outputs?",
    "scaling by $1/\\sqrt{d_k}$": r"\\sqrt\{?d_k",
    "shapes": r"\bshapes?\b",
    "softmax": r"softmax",
    "temperature": r"temperature",
    "training": r"train",
    "uniform components": r"uniform|U\(0",
    "values": r"\bvalues\b",
    "variance, between and within rows": r"within rows|between rows",
    "variance, of a score": r"variance of (?:a|the) (?:raw )?score",
    "width of the model": r"width of the model|model.s width",
}
_MOST = 8  # claims; a term that more of them use says nothing


def index(cards: Sequence[CardView]) -> tuple[tuple[str, tuple[CardView, ...]], ...]:
    """Return each term with the claims that use it; a term in many texts leads to the titles that have it."""
    return tuple(sorted(_entries(cards), key=lambda entry: entry[0].casefold()))


def _entries(cards: Sequence[CardView]) -> Iterator[tuple[str, tuple[CardView, ...]]]:
    for term, words in _TERMS.items():
        wanted = re.compile(words, re.IGNORECASE)
        found = [one for one in cards if wanted.search(f"{one.title}\n{one.statement}\n{one.meaning}")]
        if len(found) > _MOST:
            found = [one for one in found if wanted.search(one.title)]
        if found:
            yield term, tuple(found[:_MOST])
