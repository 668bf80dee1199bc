"""Answers a reader's question: derives what follows, measures it, and fits over the sizes.

It is derived by an equation of the catalogue, by the moment calculus, or by a bound of the catalogue. Then it
is made a claim in memory and goes the ordinary way: it is planned, drawn, judged, put on record. It is
compared with the derived formula, or with the asker's. Where there is neither, the quantity is measured to
the tolerance first, and then once more from other streams.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np
from sympy import Dummy, Expr, Poly, Rational, S, Symbol, simplify, sqrt, sympify

from verify import defaults
from verify.engine import runner
from verify.engine.catalogue import Entry, catalogue
from verify.engine.preparing import derivation_text
from verify.engine.statements import SourceBook
from verify.errors import ClaimError, SettingsError, nearest
from verify.evidence import USER, Check, ClaimRecord, Presentation, RunRecord, Settings, Verdict
from verify.evidence.judging import share
from verify.executors.workers import Workers, one_blas_thread, threads_of, using
from verify.montecarlo import distributions as laws
from verify.montecarlo.blocks import Drawn, draw_chunk
from verify.montecarlo.distributions import Distribution
from verify.montecarlo.estimands import MIN_BLOCKS, Measured
from verify.montecarlo.quantities import measurement
from verify.spec import checks
from verify.spec.checks import Fit, Items, Plot, Threshold, Within, Wrong
from verify.spec.claim import Claim, Words
from verify.spec.comparisons import measurable, normalised, predicted
from verify.symbolic import vocabulary
from verify.symbolic.bounds import TURNED, earlier
from verify.symbolic.calculus import NotDerived, expected
from verify.symbolic.chains import Chain, Derivation, Related
from verify.symbolic.checks import algebra, cited, derive
from verify.symbolic.grammar import parse, parse_formula
from verify.symbolic.notation import in_line, plain
from verify.symbolic.vocabulary import E, Family, Law, Softmax, Var, d, families_of, k, n, over_keys, q
from verify.text.escapes import for_html
from verify.text.latex import plain as unformatted
from verify.text.numbers import beside, estimate

Made = TypeVar("Made")

NAME = "question"
"""The id of the claim that a question is made, which seeds its draws."""

# Random numbers, at most, by which a value is measured where nothing is to be decided: 10 seconds or so.
_MOST_DRAWS = 4 * 10**9
_LARGEST = 10**7  # dimension, or number of keys

_MARKS = {Verdict.CONFIRMED: "✓", Verdict.APPROXIMATE: "≈", Verdict.REFUTED: "✗", Verdict.UNDECIDED: "?"}


# --- laws ---

_NAMED = {
    "normal": laws.NORMAL,
    "uniform": laws.UNIFORM,
    "rademacher": laws.RADEMACHER,
    "laplace": laws.LAPLACE,
    "exponential": laws.EXPONENTIAL,
    "cauchy": laws.CAUCHY,
}
LAWS = (*_NAMED, "t(9)", "normal(0, 2)", "uniform(0, 1)")
"""Examples of every way to write a law."""

_WRITTEN = re.compile(r"([a-z]+)\s*(?:\(([^()]*)\))?")
_NUMBER = re.compile(r"\s*-?\d{1,12}(\.\d{1,12}|/[1-9]\d{0,11})?\s*")


def law_named(text: str, option: str = "--law") -> Distribution:
    """Return a law that is written as ``uniform``, ``t(9)`` or ``normal(0, 2)``.

    Without brackets it has mean 0 and variance 1. In brackets stand mean and standard deviation, of the
    uniform law its two ends, of Student's law its degrees of freedom.

    Raises:
        SettingsError: there is none of this name, or its parameters do not fit; it names the ``option``.
    """
    written = _WRITTEN.fullmatch(text.strip().lower())
    name, inside = written.groups() if written else (text, None)
    if name not in (*_NAMED, "t"):
        near = nearest(name, (*_NAMED, "t(9)"))
        raise SettingsError(f"{option} {text}: no such law; {near} there are {', '.join(LAWS)}")
    if inside is None and name != "t":
        return _NAMED[name]
    parts = (inside or "").split(",")
    match name, [Fraction(part.strip()) for part in parts if _NUMBER.fullmatch(part)]:
        case _, numbers if len(numbers) < len(parts):
            pass
        case "t", [degrees] if degrees.denominator == 1 and 3 <= degrees < 10**6:
            return laws.student_t(int(degrees))
        case "uniform", [low, high] if low < high:
            return laws.UNIT_INTERVAL.moved(low, high - low)
        case _, [mean, deviation] if deviation > 0 and name not in ("t", "uniform"):
            return _NAMED[name].moved(mean, deviation)
    wanted = {"t": "its degrees of freedom, from 3 on: t(9)", "uniform": "its ends in order: uniform(0, 1)"}
    usual = f"its mean and its deviation, above 0: {name}(0, 2)"
    raise SettingsError(f"{option} {text}: write in brackets {wanted.get(name, usual)}")


def called(law: Distribution) -> str:
    """Return the name of a law before "components": ``normal``, or ``uniform(0, 1)``."""
    if law.base == "U(0,1)":
        return f"uniform({law.loc}, {law.loc + law.scale})"
    base = "exponential" if law.base == "centred exponential" else law.base
    return base if law.loc == 0 and law.scale == 1 else f"{base}({law.loc}, {law.scale})"


@lru_cache
def assumed(law: Distribution, highest: int) -> Law:
    """Return a law as an assumption on components: its moments up to an order.

    Up to the fourth they are those of whatever law has them, more are those of the law by its name.

    Raises:
        NotDerived: it has not so many moments.
    """
    if highest >= len(law.base_moments):
        raise NotDerived(f"{called(law)} components have no moment of order {len(law.base_moments)}")
    raw = tuple(map(Rational, law.moments(highest)))
    mean, variance = raw[1], raw[2] - raw[1] ** 2
    if highest == laws.HIGHEST and law == laws.NORMAL:
        return vocabulary.NORMAL_LAW
    if highest > 4:
        kind = f"Student's {law.base}" if law.base[:2] == "t(" else called(law).partition("(")[0]
        words = f"{kind} components of mean {mean} and variance {variance}"
        return Law(words, raw, whole=highest == laws.HIGHEST)
    parts = [f"mean {mean}", f"variance {variance}"]
    parts += [f"{name} moment {value}" for name, value in zip(("third", "fourth"), raw[3:], strict=False)]
    return Law(f"{', '.join(parts[:-1])} and {parts[-1]}", raw)


# --- the question and its derivation ---

_NOTHING = Derivation(
    (), "what is averaged is no polynomial of the components, so its mean does not follow from moments"
)


@dataclass(frozen=True)
class Question:
    """A question: a quantity, the laws of its families, where it is measured, and what is derived for it.

    ``places`` are the values of sizes, ``against`` is a formula of the asker's own. The ``derivation`` is
    that of a ``claim`` of the catalogue, or made for the question; where there is none, claims that are
    ``near`` speak of the quantity.
    """

    text: str
    quantity: Expr
    laws: Mapping[Family, Distribution]
    places: tuple[dict[Any, int], ...]
    against: Expr | None = None
    derivation: Derivation = _NOTHING
    claim: Claim | None = None
    near: tuple[str, ...] = ()

    @property
    def components(self) -> str:
        """The laws in words."""
        first, *others = dict.fromkeys(map(called, self.laws.values()))
        of_keys = f" of queries and {others[0]} components of keys" if others else ""
        return f"{first} components{of_keys}"

    @property
    def formula(self) -> Expr | None:
        """The derived value of the quantity, or its bound; None where nothing is derived."""
        return self.derivation.end if self.derivation.main else None

    @property
    def relation(self) -> str:
        """How the quantity stands to its formula: ``=``, ``≤`` or ``≥``."""
        relation = self.derivation.main.relation if self.derivation.main else "="
        return {"<": "≤", ">": "≥"}.get(relation, relation)

    @property
    def compared(self) -> tuple[Any, str]:
        """The formula that is decided, the asker's or the derived, and how the quantity stands to it."""
        return (self.formula, self.relation) if self.against is None else (self.against, "=")

    def stated(self, formula: Any, relation: str) -> Expr:
        """Return the statement that the quantity stands to a formula in a relation; itself without one."""
        return self.quantity if formula is None else Related(self.quantity, Symbol(relation), formula)

    def sentences(self, written: Callable[[Any], str]) -> list[str]:
        """Return what is derived, the formula to be decided, and the claim that answers, in sentences."""
        said = [f"Nothing is derived: {self.derivation.nothing}."]
        if self.near:
            said.append(f"Claims that speak of it: {', '.join(self.near)}.")
        if self.formula is not None:
            sizes = " and ".join(written(size) for size in (d, n) if self.formula.has(size)) or "size"
            said = [f"Derived for every {sizes}: {written(self.stated(self.formula, self.relation))}"]
        if self.against is not None:
            said.append(f"Formula to be decided: {written(self.stated(self.against, '='))}")
        if self.claim:
            title = Words(self.claim, self.claim.derived(), ()).fill("title", self.claim.title)
            said.append(f"By the claim {self.claim.id}: {title}.")
        return said


def derived(asked: Question) -> Question:
    """Return a question with its derivation.

    Raises:
        SettingsError: it would be derived of laws with more moments than the question's have.
    """
    quantity, near, bounds = normalised(asked.quantity), dict[str, None](), list[tuple[Chain, Claim]]()
    for claim in catalogue().values():
        for chain in claim.derived().chains:
            start, end = normalised(chain.start), chain.end
            is_formula = not end.free_symbols - {d, n} and not end.has(E, Var, vocabulary.Quantile)
            if is_formula and start == quantity and _holds(chain, asked):
                if chain.relation == "=":
                    return replace(asked, derivation=Derivation((chain,)), claim=claim)
                bounds += [(chain, claim)] * (chain.relation in "≤<≥>")
            elif is_formula and chain.relation in "≤<≥>" and _holds(chain, asked):
                # Of ln n less the mean entropy a bound is known: so is one of the mean entropy.
                rest = (start + quantity).expand()
                if not rest.has(E) and not rest.free_symbols - {d, n}:
                    says = f"as ${in_line(Related(chain.start, Symbol(chain.relation), end))}$"
                    turned = Chain(asked.quantity)
                    turned = turned.then(rest - end, says, earlier(chain), TURNED[chain.relation])
                    bounds += [(turned, claim)] * (not turned.problem)
            if start.has(quantity):
                near[claim.id] = None
    try:
        return replace(asked, derivation=Derivation((_by_moments(asked, partial(_chain, asked.quantity)),)))
    except NotDerived as error:
        missing = str(error)
    # What normal components have and these lack is a matter of their moments.
    with suppress(NotDerived):
        derive(asked.quantity, dict.fromkeys((q, k), vocabulary.NORMAL_LAW))
        raise SettingsError(
            f"{asked.text} does not exist, or cannot be derived, for {asked.components}: {missing}; "
            "take a law with more moments"
        )
    # An equation by moments says more than a bound of the catalogue.
    for chain, claim in bounds:
        return replace(asked, derivation=Derivation((chain,)), claim=claim)
    return replace(asked, near=tuple(near))


def _chain(quantity: Expr, laws: Mapping[Any, Law]) -> Chain:
    """Return a chain from a quantity to its value under laws, by symmetry for a mean weight, or by moments.

    Raises:
        NotDerived: its value does not follow.
    """
    if not (isinstance(quantity, E) and isinstance(quantity.args[0], Softmax)):
        return derive(quantity, laws)
    row = E(over_keys(quantity.args[0]))
    same = "all $n$ weights of a row have one law, hence one mean"
    chain = Chain(quantity).then(row / n, same, cited("fubini", laws=laws))
    return chain.then(1 / n, "the weights of a row add up to one", algebra)


def _by_moments(asked: Question, made: Callable[[dict[Any, Law]], Made]) -> Made:
    """Return the result of ``made`` for the laws of a question with as few moments as it takes.

    Raises:
        NotDerived: it does not follow from moments, or the laws have too few.
    """
    # Few moments make the statement general: what follows from two holds for all laws that have these.
    problem = NotDerived("")
    for order in (2, 4, 8, laws.HIGHEST):
        try:
            return made({family: assumed(law, order) for family, law in asked.laws.items()})
        except NotDerived as error:
            problem = error
    raise problem


def _holds(chain: Chain, asked: Question) -> bool:
    """Return whether a chain holds of the laws drawn, by the moments that it assumes, and at all places."""
    conditions = [*chain.given, *(each for line in chain.lines for each in line.check.conditions)]
    if any(condition.subs(at) == S.false for condition in conditions for at in asked.places):
        return False
    for assumptions in (line.check.laws for line in chain.lines if line.check.laws):
        for family in families_of(chain.start) & set(assumptions):
            raw, drawn = tuple(map(sympify, assumptions[family].raw)), asked.laws.get(family)
            if drawn is None or len(raw) > len(drawn.base_moments):
                return False
            if raw != tuple(map(Rational, drawn.moments(len(raw) - 1))):
                return False
    return True


# --- measuring ---


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
    # In the order in which a reader would correct them: the expression, the laws, the sizes.
    quantity = parse(text)
    formula = None if against is None else parse_formula(against)
    of_all = law_named(law)
    of_queries = of_all if query_law is None else law_named(query_law, "--query-law")
    of_keys = of_all if key_law is None else law_named(key_law, "--key-law")
    # A law of what does not stand in the quantity would be that of nothing that is drawn.
    families = families_of(quantity)
    drawn = {family: law for family, law in ((q, of_queries), (k, of_keys)) if family in families}
    has_keys = quantity.has(n, *vocabulary.BINDERS) or (formula is not None and formula.has(n))
    if keys and not has_keys:
        raise SettingsError(
            f"--keys: nothing in {plain(quantity)} depends on how many keys there are; leave it out"
        )
    sizes = sorted(set((4, 16, 64, 256) if dimensions is None else dimensions))
    many = sorted(set((16,) if keys is None else keys))
    for option, values in (("--dimensions", sizes), ("--keys", many)):
        if wrong := [size for size in values if size % 1 or not 1 <= size <= _LARGEST]:
            raise SettingsError(f"{option} {wrong[0]}: give whole numbers from 1 to {_LARGEST:,}")
        if not values:
            raise SettingsError(f"{option}: give at least one number")
    at_keys: list[dict[Any, int]] = [{n: int(size)} for size in many] if has_keys else [{}]
    places = tuple({d: int(size), **at} for at in at_keys for size in sizes)
    asked = derived(Question(text, quantity, drawn, places, formula))
    with one_blas_thread(), using(workers) as processes:
        return Answer(asked, _measured(asked, runner.settings(seed=seed, tolerance=tolerance), processes))


def _measured(asked: Question, chosen: Settings, workers: Workers) -> RunRecord:
    """Return the record of a run that measures a question, as a claim."""
    formula, relation = asked.compared
    first: list[Measured] = []
    if asked.formula is None or relation != "=":
        # One place is enough to see what is beyond a bound, and that what is averaged is finite.
        places = asked.places if formula is None else asked.places[-1:]
        with threads_of(workers.count) as threads:
            first = [_sampled(asked, at, chosen, threads.map) for at in places]
    says = f"${in_line(asked.stated(formula, relation))}$"
    is_measured = " is measured" if formula is None else ""
    meaning = [f"A question that was asked as: {asked.text.replace('$', '')}."]
    meaning += [f"{sentence.rstrip('.')}." for sentence in asked.sentences(lambda x: f"${in_line(x)}$")]
    claim = Claim(
        id=NAME,
        title=f"{says} for {asked.components}",
        statement=f"For independent {asked.components}, {says}{is_measured}.",
        meaning=" ".join(meaning),
        references=asked.claim.references if asked.claim else (),
        derive=lambda: asked.derivation,
        experiment=lambda: _items(asked, first, chosen.tolerance),
    )
    asks = f"What is ${in_line(asked.quantity)}$ for {asked.components}?"
    return runner.run(
        {NAME: Entry(NAME, USER, made=claim)},
        chosen,
        SourceBook(),
        requested=(NAME,),
        words=Presentation(title=claim.title, question=asks),
        workers=workers,
    )


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
            # Of a value that may be 0 no share could be told from 0.
            if first[place].interval[0] <= 0 <= first[place].interval[1]:
                within = replace(within, scale=_deviation(first[place]) or 1.0, of="a block's deviation")
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
        off, says = 12 * tolerance * (within.scale or value), "it is larger by twelve times the tolerance"
        if relation != "=":
            # A bound that a first sample shows to be false must come out refuted.
            off = max(abs(value) / 2, 10 * error) * (-1 if relation == "≤" else 1)
            says = "it keeps a bound that lies beyond what a first sample has"
        given = {side: Threshold(value + off)}
        yield Wrong("off", asked.quantity, asked.places[-1], laws=asked.laws, says=says, **given)
    varying = [size for size in asked.places[0] if len({at[size] for at in asked.places}) > 1]
    if formula is None or len(varying) > 1:
        return
    # The figure over the size that varies, and the fits with the coefficients that the formula has.
    over = varying[0] if varying else d
    law = formula.subs({symbol: size for symbol, size in asked.places[0].items() if symbol != over})
    quantity, curve = f"${in_line(asked.quantity)}$", {f"${in_line(law)}$": law}
    is_positive = all(law.subs(at).is_positive for at in asked.places)
    yield Plot("answer", "d*", over, quantity, y=quantity, curves=curve, linear="" if is_positive else "y")
    if relation != "=" or not varying or any(law.subs(at).is_zero for at in asked.places):
        return
    # A line has slope and intercept, a power times a positive number its exponent; a constant is both.
    is_linear = law.is_polynomial(over) and Poly(law, over).degree() <= 1
    only = ("level", "slope", "intercept") if is_linear else ()
    if is_positive and not simplify(over * law.diff(over) / law).has(over):
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

    with suppress(NotDerived):
        return _by_moments(asked, linear_part)
    return 1.0


def _deviation(measured: Measured) -> float:
    return measured.error * math.sqrt(measured.blocks)


def _sampled(asked: Question, at: dict[Any, int], chosen: Settings, mapped: Callable[..., Any]) -> Measured:
    """Return the estimate at a place, from a sample that is doubled until its interval is narrow enough."""
    alpha, name = share(chosen.false_alarm, 1), _id(at)
    quantity, setting = measurable(checks.Check(name, asked.quantity, at, equals=S.Zero, laws=asked.laws))
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
        deviation = _deviation(measured)
        is_narrow = high - low <= 2 * chosen.tolerance * max(abs(measured.value), deviation)
        # Blocks that all agree tell nothing, however many there are.
        if is_narrow or not deviation or 2 * measured.blocks * cell.coordinates > _MOST_DRAWS:
            return measured
        blocks = 2 * measured.blocks


# --- the answer ---


@dataclass(frozen=True)
class Answer:
    """The answer to a question: its derivation, and the record of the run that measured it.

    ``verdict`` is None where nothing is derived and no formula was given: two samples agree, no more. An
    answer shows itself in full, in a notebook as well.
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
        return self.text()

    def text(self, width: int = 80) -> str:
        """Return the answer for a terminal, in lines of a ``width``."""
        asked, claim = self.question, self.evidence
        folded = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
        # A kurtosis, say, is long in means: as it was asked, it is known again.
        in_means, of = plain(asked.quantity), f" for {asked.components}"
        name = min(in_means, asked.text, key=lambda words: len(words + of) // width)
        sentences = asked.sentences(lambda x: plain(x).replace(in_means, name))
        blocks = [folded(name + of), "\n".join(folded(unformatted(sentence)) for sentence in sentences)]
        blocks += derivation_text(asked.derivation, width)
        if asked.derivation.problem:
            return "\n\n".join([*blocks, folded(f"Undecided: {claim.reason}.")])
        rows = [([*map(str, at.values())], claim.check(_id(at))) for at in asked.places]
        heading = "first sample" if self.verdict is None else "predicted"
        blocks.append(self._table([*map(str, asked.places[0]), heading], rows))
        if fits := [([check.id], check) for check in claim.checks if check.method == "fit"]:
            blocks.append(self._table(["fit", "expected"], fits))
        closing = f"{str(claim.verdict).capitalize()}: {claim.reason}"
        if self.verdict is None:
            agree = "agree" if claim.verdict is Verdict.CONFIRMED else "do not agree"
            closing = f"Measured only, twice: the samples {agree}"
        level = (
            f"All intervals hold at once with a probability of {1 - self.record.run.settings.false_alarm:g}."
        )
        doubts = [f" {check.id}: {check.doubt}." for check in claim.checks if check.doubt]
        return "\n\n".join([*blocks, folded(f"{closing}. {level}{''.join(doubts)}")])

    def _table(self, headings: list[str], rows: Sequence[tuple[list[str], Check]]) -> str:
        """Return checks as a table, each beside its place and what it is compared with."""
        lines = [[*headings, "estimate", "error", "interval", ""]]
        for place, check in rows:
            number = estimate(check.estimate, check.standard_error, check.interval)
            predicted = check.relation.strip("=") + beside(check.prediction, check.standard_error)
            interval = number.interval.replace("\N{NO-BREAK SPACE}", " ")
            verdict = "" if self.verdict is None else f"{_MARKS[check.verdict]} {check.verdict}"
            lines.append([*place, predicted, number.alone, number.error + number.times, interval, verdict])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        # Numbers end at the right; intervals and verdicts begin at the left.
        sides = [">"] * (len(widths) - 2) + ["<"] * 2
        form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
        return "\n".join(form.format(*line).rstrip() for line in lines)
