"""Hypothesis strategies that several test modules share, and the settings they run under."""

from fractions import Fraction
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from verify import evidence
from verify.evidence import Proof
from verify.montecarlo.distributions import STANDARD_DISTRIBUTIONS, UNIT_INTERVAL, Distribution
from verify.montecarlo.estimands import Measured
from verify.text.escapes import CONTROLS

FALSE_ALARM = 1e-6
"""How often a statistical assertion may fail for a right program; every bound is derived from it."""


def examples(number: int) -> settings:
    """Return the settings of all tests with ``number`` examples."""
    return settings(max_examples=number)


def fractions(size: int = 5, denominators: int = 6) -> st.SearchStrategy[Fraction]:
    """Return fractions between ±``size``."""
    return st.fractions(-size, size, max_denominator=denominators)


def distributions() -> st.SearchStrategy[Distribution]:
    """Return component distributions with four moments, some of them moved and scaled."""
    base = st.sampled_from((*STANDARD_DISTRIBUTIONS, UNIT_INTERVAL))
    scales = fractions().filter(bool)
    return st.builds(
        lambda distribution, loc, scale: distribution.moved(loc, scale), base, fractions(), scales
    )


def floats(low: float, high: float) -> st.SearchStrategy[float]:
    """Return finite floats between ``low`` and ``high``."""
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


def alphas() -> st.SearchStrategy[float]:
    """Return false-exclusion rates from a coin's to those of a shared budget."""
    return st.floats(-8, -0.5).map(lambda exponent: 10.0**exponent)


def spans() -> st.SearchStrategy[tuple[float, float]]:
    """Return intervals (low, high), some of them single points."""
    return st.tuples(floats(-10, 10), st.just(0.0) | floats(1e-6, 10)).map(lambda x: (x[0], x[0] + x[1]))


def measured(value: float, error: float, blocks: int = 1000, **others: Any) -> Measured:
    """Return an estimate with the interval value ± 5·error."""
    return Measured(value, error, (value - 5 * error, value + 5 * error), blocks, 10 * blocks, **others)


# Any sign that a record may hold; what stands between dollar signs would have to be a formula.
_SIGNS = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="$").filter(
    lambda sign: not CONTROLS.search(sign)
)
_TEXTS = st.text(_SIGNS, min_size=1, max_size=12)
_FORMULAS = st.sampled_from(["", "d_k", r"\frac{7 d}{144}", r"\sqrt{d} \cdot x^{2}", r"\left\{a, b\right\}"])
_SLUGS = st.from_regex(r"[a-z0-9]{1,6}(-[a-z0-9]{1,4}){0,2}", fullmatch=True)
_NUMBERS = floats(-1e300, 1e300)
_COUNTS = st.integers(0, 10**15)
_CELLS = st.dictionaries(_TEXTS, st.integers(-(10**6), 10**6) | _NUMBERS | _TEXTS, max_size=3)


def _texts(*names: str) -> dict[str, st.SearchStrategy[str]]:
    """Return texts for these fields of a record."""
    return dict.fromkeys(names, _TEXTS)


def _some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=2).map(tuple)


def _named(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a few records of different ids."""
    return st.lists(strategy, max_size=2, unique_by=lambda one: one.id).map(tuple)


def _findings(kind: type[evidence.Check | evidence.ControlRecord], **more: Any) -> st.SearchStrategy[Any]:
    """Return findings whose numbers fit: the estimate lies in its interval, the prediction in its band."""
    three = st.tuples(_NUMBERS, _NUMBERS, _NUMBERS).map(sorted)

    def fitting(inside: list[float], around: list[float], relation: str) -> dict[str, Any]:
        band = (None if relation == "≤" else around[0], None if relation == "≥" else around[2])
        numbers = {"interval": (inside[0], inside[2]), "estimate": inside[1]}
        return {**numbers, "prediction": around[1], "band": band, "relation": relation}

    together = st.builds(fitting, three, three, st.sampled_from("=≤≥"))
    rest = st.fixed_dictionaries({"cell": _CELLS, "blocks": _COUNTS, "draws": _COUNTS, **more})
    return st.builds(lambda one, other: kind(**one, **other), together, rest)


CHECKS = _findings(
    evidence.Check,
    id=_SLUGS.map("check-{}".format),
    quantity=_TEXTS,
    method=st.sampled_from(["monte-carlo", "fit", "exact"]),
    prediction_latex=_FORMULAS,
    standard_error=floats(0, 1e300),
    level=floats(0, 1),
    tolerance=floats(0, 1),
    tolerance_of=_TEXTS,
    looks=_COUNTS,
)

WRONG_VERSIONS = _findings(
    evidence.ControlRecord, id=_SLUGS.map("wrong-{}".format), what=_TEXTS, power=floats(0, 1)
)

_LINES = st.builds(evidence.LineRecord, latex=_FORMULAS, holds=st.booleans(), **_texts("because", "checked"))

DERIVATIONS = st.builds(
    evidence.DerivationRecord,
    status=st.sampled_from(Proof),
    chains=_some(
        st.builds(
            evidence.ChainRecord,
            title=_TEXTS,
            start=_FORMULAS,
            shows=_FORMULAS,
            lines=st.lists(_LINES, min_size=1, max_size=2).map(tuple),
        )
    ),
    **_texts("result", "reason"),
)

CLAIM_RECORDS = st.builds(
    evidence.ClaimRecord,
    id=_SLUGS.filter(lambda name: name not in evidence.RESERVED),
    chapter=_SLUGS,
    **_texts("chapter_title", "title", "statement", "meaning"),
    assumptions=_some(st.builds(evidence.Assumption, id=_SLUGS, text=_TEXTS)),
    references=_some(
        st.builds(
            evidence.Reference,
            **_texts("key", "text"),
            url=st.none() | st.just("https://example.org/a?b=c#d"),
        )
    ),
    derivation=DERIVATIONS,
    checks=_named(CHECKS),
    controls=_named(WRONG_VERSIONS),
    facts=_named(
        st.builds(
            evidence.Fact, id=_SLUGS.map("fact-{}".format), what=_TEXTS, latex=_FORMULAS, value=_NUMBERS
        )
    ),
)

_STATEMENTS = st.builds(
    evidence.Statement,
    id=_SLUGS,
    source=st.just("a-source"),
    claim=st.none() | _SLUGS,
    **_texts("text", "note"),
    parts=st.tuples(
        st.builds(
            evidence.Part,
            claim=_SLUGS,
            evidence=st.just("computed"),
            kind=st.sampled_from(["says", "prints"]),
            holds=st.none() | st.booleans(),
            printed=st.none() | _TEXTS,
            **_texts("text", "computed", "reason"),
        )
    ),
)

RUN_RECORDS = st.builds(
    evidence.RunRecord,
    tool=st.builds(
        evidence.Tool, version=st.from_regex(r"[0-9]\.[0-9]{1,2}([a-z]{1,3}[0-9])?", fullmatch=True)
    ),
    run=st.builds(
        evidence.Run,
        settings=st.builds(evidence.Settings, seed=_COUNTS),
        environment=st.dictionaries(_TEXTS, _TEXTS, max_size=2),
        created=st.datetimes().map(lambda moment: moment.isoformat()),
        elapsed_s=floats(0, 1e6),
        phases_s=st.dictionaries(_TEXTS, floats(0, 1e6), max_size=2),
    ),
    claims=_named(CLAIM_RECORDS.map(lambda record: record.sealed())),
    sources=st.tuples(st.builds(evidence.SourceRecord, id=st.just("a-source"), title=_TEXTS, kind=_TEXTS)),
    statements=_named(_STATEMENTS),
).map(lambda record: record.sealed())
