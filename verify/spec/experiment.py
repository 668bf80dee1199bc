"""Makes of an author's checks, fits and wrong versions what the engine draws and judges.

Checks at one setting share a cell and its draws. Labels are printed from expressions. A check of a chain's
start against its end is *derived*, and the laws it is measured with are held against what the chain assumes.
The usual controls are added here: a prediction off by twice the tolerance for each quantity, a sharper bound,
coefficients off by twice their tolerance, points that are bent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from sympy import Expr, Mul, Rational, S, Symbol, diff, log, simplify, sympify

from verify.errors import ClaimError
from verify.evidence.words import cell_text
from verify.montecarlo.blocks import Cell
from verify.montecarlo.compiling import Column
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.montecarlo.estimands import Estimand
from verify.montecarlo.experiment import (
    Comparison,
    Control,
    Exact,
    Experiment,
    Model,
    Prediction,
    Quantity,
    Target,
    Tolerance,
    WeightedFit,
)
from verify.montecarlo.experiment import Fit as FittedCoefficient
from verify.montecarlo.quantities import measurement
from verify.spec.checks import Check, Compared, Computed, Fit, Item, Threshold, Within, Wrong, refuse_symbols
from verify.symbolic import vocabulary
from verify.symbolic.chains import Chain, Derivation
from verify.symbolic.notation import latex
from verify.symbolic.vocabulary import Cov, E, Family, Var, families_of

_CHEAP = "a narrower one would need more draws than its points"


@dataclass(frozen=True)
class Setting:
    """What tells cells apart: the laws of the families drawn, the values of the symbols they depend on, sizes."""

    laws: tuple[tuple[Family, Distribution], ...]
    at: tuple[tuple[Symbol, Any], ...]
    shape: tuple[tuple[Symbol, int], ...]


@dataclass
class Measured:
    """Checks and wrong versions by id, as they were given, with the quantity that is measured of each."""

    quantities: dict[str, Expr] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    given: dict[str, Compared] = field(default_factory=dict)

    def add(self, name: str, quantity: Expr, setting: Setting, given: Compared) -> None:
        """Take in what is measured under an id."""
        self.quantities[name], self.settings[name], self.given[name] = quantity, setting, given


def experiment_of(items: Sequence[Item], derivation: Derivation, run: float) -> Experiment:
    """Return the experiment that an author's items describe, at the ``run``'s relative tolerance.

    Raises:
        ClaimError: an id, pattern, law or prediction does not fit.
    """
    measured = Measured()
    for item in items:
        if isinstance(item, Check) or (isinstance(item, Wrong) and item.quantity is not None):
            measured.add(item.id, *_measurable(item), item)
    fits = [item for item in items if isinstance(item, Fit)]
    for item in fits:  # bent points, which a lack of fit must notice, are quantities of the same cells
        if _has_misfit(item):
            for member in _members(item, items):
                quantity, setting = _measurable(member)
                bent = (1 + sympify(member.at[item.over]) ** 2) * quantity
                measured.add(f"bent-{member.id}", bent, setting, member)
    cells, estimands = _cells(measured, run)

    def quantity_of(given: Compared, name: str = "") -> Quantity:
        name = name or given.id
        setting, prediction = measured.settings[name], predicted(given)
        if isinstance(given, Check) and prediction.origin == "derived":
            prediction = replace(prediction, origin=_origin(given, derivation, prediction.value))
        return Quantity(
            name,
            f"${latex(_shown(given, setting))}$",
            cells[setting],
            estimands[name],
            prediction,
            given.tolerance.tolerance(run),
            given.relation,
            getattr(given, "uncontrolled", ""),
        )

    checks: dict[str, Comparison] = {}
    controls: list[Control] = []
    for item in items:
        if isinstance(item, Check):
            checks[item.id] = quantity_of(item)
        elif isinstance(item, Computed):
            checks[item.id] = _computed(item)
        elif isinstance(item, Fit):
            checks |= {one.id: one for one in _coefficients(item, _members(item, items), checks)}
    for item in items:
        if isinstance(item, Wrong):
            controls.append(_wrong(item, checks, measured, quantity_of, derivation))
    controls += _usual_controls(items, measured, checks, run)
    for item in fits:
        for line in (checks[name] for name in _names(item) if item.control):
            assert isinstance(line, FittedCoefficient)
            controls.append(_wrong_fit(line, item, items, measured, quantity_of, run))
    return Experiment(tuple(checks.values()), tuple(controls))


# ---- quantities and their settings ------------------------------------------------------------------------


def _measurable(given: Compared) -> tuple[Expr, Setting]:
    """Return what is measured of a comparison, and its setting.

    Factors that are not random are taken out of means, so that quantities that differ in these share draws;
    values that then stand outside of every mean are put in.
    """
    quantity = normalised(given.quantity)
    if not quantity.has(E, vocabulary.Quantile):
        raise ClaimError(f"check {given.id}: nothing in {given.quantity} is averaged; write E(…) or Var(…)")
    families = sorted(families_of(quantity), key=str)
    inside = {
        symbol for mean in quantity.atoms(E, vocabulary.Quantile) for symbol in mean.args[0].free_symbols
    }
    needed = {size for family in families for size in family.ranges} | inside
    at = {symbol: sympify(value) for symbol, value in given.at.items()}
    laws = tuple((family, given.laws.get(family, NORMAL)) for family in families)
    outside = {symbol: value for symbol, value in at.items() if symbol not in needed}
    setting = Setting(
        laws,
        tuple((symbol, value) for symbol, value in at.items() if symbol in needed),
        tuple(given.shape.items()),
    )
    return quantity.xreplace(outside), setting


def normalised(quantity: Any) -> Expr:
    """Return a quantity with Var and Cov by their definitions, and factors that are not random before E."""
    opened = sympify(quantity).replace(lambda part: isinstance(part, Var | Cov), lambda part: part.definition)

    def outside(mean: Expr) -> Expr:
        factors = Mul.make_args(mean.args[0])
        random = [factor for factor in factors if families_of(factor) or factor.has(Column)]
        rest = Mul(*(factor for factor in factors if factor not in random))
        return rest * E(Mul(*random)) if random else rest

    return opened.replace(lambda part: isinstance(part, E), outside)


def _shown(given: Compared, setting: Setting) -> Expr:
    """Return the quantity as it is printed: with values put in that the setting does not record."""
    recorded = {symbol for symbol, _ in setting.at}
    values = {symbol: sympify(value) for symbol, value in given.at.items() if symbol not in recorded}
    return sympify(given.quantity).xreplace(values)


def _cells(measured: Measured, run: float) -> tuple[dict[Setting, Cell], dict[str, Estimand]]:
    """Return the cell of each setting, and what is estimated in them by id."""
    together: dict[Setting, dict[str, Expr]] = {}
    for name, setting in measured.settings.items():
        together.setdefault(setting, {})[name] = measured.quantities[name]
    cells: dict[Setting, Cell] = {}
    estimands: dict[str, Estimand] = {}
    taken: set[str] = set()
    for setting, quantities in together.items():
        cell, found = measurement(
            _cell_name(setting, taken),
            quantities,
            dict(setting.laws),
            dict(setting.at),
            tolerance=run,
            shape=dict(setting.shape) or None,
        )
        cells[setting] = cell
        estimands |= found
    return cells, estimands


def _cell_name(setting: Setting, taken: set[str]) -> str:
    """Return the name of a setting, which seeds its draws: its values, and laws other than the normal one."""
    values = [f"{str(symbol).removesuffix('_k')}{value}" for symbol, value in setting.at]
    laws = dict.fromkeys(law.name for _, law in setting.laws if law != NORMAL)
    name = re.sub(r"[^a-z0-9]+", "-", "-".join([*values, *laws]).lower()).strip("-") or "all"
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    taken.add(unique)
    return unique


# ---- predictions ------------------------------------------------------------------------------------------


def predicted(given: Compared) -> Prediction:
    """Return what a comparison's quantity is compared with, as a number with its exact form.

    Raises:
        ClaimError: symbols are left in it.
    """
    value = given.predicted
    if isinstance(value, Prediction):
        return value
    if isinstance(value, Threshold):
        return replace(predicted(replace(given, **_only(given.relation, value.value))), origin="set")
    if isinstance(value, float):
        return Prediction(value, f"{value:.6g}")
    at = {symbol: _exact(number) for symbol, number in given.at.items()}
    number = sympify(value).subs({**_moments(given), **at})
    refuse_symbols(f"check {given.id}", number)
    return Prediction(float(number), latex(number))


def _only(relation: str, value: Any) -> dict[str, Any]:
    names = {"=": "equals", "≤": "at_most", "≥": "at_least"}
    return {name: value if sign == relation else None for sign, name in names.items()}


def _exact(number: Any) -> Any:
    """Return a value of a symbol exactly: a decimal counts as it is written."""
    return Rational(str(number)) if isinstance(number, float) else sympify(number)


def _moments(given: Compared) -> dict[Symbol, Any]:
    """Return mean, deviation, skewness and kurtosis of the components of queries and keys, by their symbols."""
    values: dict[Symbol, Any] = {}
    for name in ("q", "k"):
        law = given.laws.get(getattr(vocabulary, name), NORMAL)
        known = min(len(law.base_moments) - 1, 4)
        central = law.central_moments(known) if known >= 2 else ()
        spread = Rational(central[2]) ** S.Half if central else S.NaN
        if known >= 1:
            values[getattr(vocabulary, f"mu_{name}")] = Rational(law.mean)
        for order, symbol in ((3, "gamma"), (4, "kappa")):
            if len(central) > order:
                values[getattr(vocabulary, f"{symbol}_{name}")] = Rational(central[order]) / spread**order
        if central:
            values[getattr(vocabulary, f"sigma_{name}")] = spread
    return values


def _origin(check: Check, derivation: Derivation, value: float) -> Any:
    """Return "derived" where a check is of a chain's start against its end, else "computed".

    Raises:
        ClaimError: the check's laws are not those that the chain assumes.
    """
    for chain in derivation.chains:
        if _is_of(check, chain, value):
            _refuse_other_laws(check, chain)
            return "derived"
    return "computed"


def _is_of(check: Check, chain: Chain, value: float) -> bool:
    """Return whether a check is of a chain's start, and compares it with the chain's end."""
    weak = {"<": "≤", ">": "≥"}.get(chain.relation, chain.relation)
    end = _end_for(check, chain) if weak == check.relation else None
    return end is not None and abs(end - value) <= 1e-9 * max(1.0, abs(value))


def _end_for(given: Compared, chain: Chain) -> float | None:
    """Return the end of a chain whose start is what is compared, as a number; None where there is none."""
    at = {symbol: _exact(number) for symbol, number in given.at.items()}
    start, quantity = (normalised(side).xreplace(at) for side in (chain.start, given.quantity))
    if start != quantity:
        return None
    try:
        return float(sympify(chain.end).subs({**_moments(given), **at}))
    except TypeError:  # symbols are left, or it is a proposition
        return None


def _refuse_other_laws(check: Compared, chain: Chain) -> None:
    """Refuse a check whose components have other moments than its chain assumes."""
    values = _moments(check)
    for laws in (line.check.laws for line in chain.lines if line.check.laws):
        for family, law in laws.items():
            drawn = check.laws.get(family, NORMAL)
            for order, raw in enumerate(law.raw[: len(drawn.base_moments)]):
                assumed = sympify(raw).subs(values)
                if (
                    assumed.is_number
                    and order
                    and abs(float(assumed) - float(drawn.moments(order)[order])) > 1e-12
                ):
                    raise ClaimError(
                        f"check {check.id}: its chain assumes {law.words} for {family}, but {drawn.name} has "
                        f"moment {order} {Fraction(drawn.moments(order)[order])}; correct the law"
                    )


def bound_to(derivation: Derivation, items: Iterable[Item], experiment: Experiment) -> tuple[str, ...]:
    """Return the ids of the checks that are of a derived quantity, and of the fits through such checks."""
    derived = {
        check.id
        for check in experiment.checks
        if isinstance(check, Quantity) and check.prediction.origin == "derived"
    }
    fits = {
        check.id
        for check in experiment.checks
        if isinstance(check, FittedCoefficient) and all(member.id in derived for member in check.members)
    }
    return tuple(check.id for check in experiment.checks if check.id in derived | fits)


# ---- computed values and fits -----------------------------------------------------------------------------


def _computed(item: Computed) -> Exact:
    given = Compared(item.id, equals=item.equals, at_most=item.at_most, at_least=item.at_least)
    what = item.what if isinstance(item.what, str) else f"${latex(item.what)}$"
    value = float(item.code(*item.arguments))
    return Exact(
        item.id,
        what,
        tuple(item.settings.items()),
        predicted(given),
        value,
        item.allowance,
        given.relation,
        item.code,
        item.uncontrolled,
    )


def _members(item: Fit, items: Sequence[Item]) -> list[Check]:
    """Return the checks that a fit goes through.

    Raises:
        ClaimError: fewer than two match, or one has no value of the symbol.
    """
    members = [check for check in items if isinstance(check, Check) and fnmatchcase(check.id, item.pattern)]
    members = [check for check in members if item.over in check.at]
    if len(members) < 2:
        raise ClaimError(f"fit over {item.pattern!r}: {len(members)} checks match; a fit needs at least two")
    return members


def _wanted(item: Fit) -> dict[str, Any]:
    """Return the coefficients that a fit is asked for, with their expected values, by their ids' endings."""
    given = {
        "slope": item.slope,
        "intercept": item.intercept,
        "curvature": item.curvature,
        "exponent": item.exponent,
    }
    wanted = {name: sympify(value) for name, value in given.items() if value is not None}
    if item.law is not None:
        law, x = sympify(item.law), item.over
        by_law = {"exponent": simplify(x * diff(log(law), x))}
        if not law.has(x):
            by_law = {"level": law, "slope": S.Zero, **by_law}
        elif law.is_polynomial(x):
            line = {"slope": diff(law, x), "intercept": law.subs(x, 0), "curvature": diff(law, x, 2) / 2}
            by_law = line | by_law
        names = item.only or tuple(by_law)
        wanted |= {name: by_law[name] for name in names if name in by_law and name not in wanted}
    return wanted


def _has_misfit(item: Fit) -> bool:
    return item.lack_of_fit is not None or (
        item.law is not None and (not item.only or "lack-of-fit" in item.only)
    )


def _names(item: Fit) -> list[str]:
    names = [f"{item.prefix}{name}" for name in _wanted(item)]
    return [*names, f"{item.prefix}lack-of-fit"] if _has_misfit(item) else names


_COEFFICIENTS: Mapping[str, tuple[str, Model, Target]] = {
    "level": ("level", "line", "constant"),
    "slope": ("slope", "line", "slope"),
    "intercept": ("intercept", "line", "constant"),
    "curvature": ("quadratic term", "parabola", "square"),
    "exponent": ("log–log exponent", "power", "slope"),
}


def _coefficients(
    item: Fit, members: list[Check], checks: Mapping[str, Comparison]
) -> list[FittedCoefficient]:
    """Return the comparisons of a fit's coefficients.

    Points are planned for relative errors in proportion to their tolerances, and weigh accordingly.
    """
    points = [checks[member.id] for member in members]
    quantities = tuple(point for point in points if isinstance(point, Quantity))
    x = tuple(float(member.at[item.over]) for member in members)
    logarithmic = tuple(point.tolerance.factor**-2.0 for point in quantities)
    relative = tuple(
        weight * point.prediction.value**-2.0 for weight, point in zip(logarithmic, quantities, strict=True)
    )
    label = f"${latex(members[0].quantity)}$"

    def fitted(
        name: str, words: str, model: Model, target: Target, value: Any, within: Tolerance
    ) -> FittedCoefficient:
        weights = logarithmic if model == "power" else relative
        prediction = Prediction(float(value), latex(value))
        return FittedCoefficient(
            f"{item.prefix}{name}",
            f"{words} of {label}",
            quantities,
            WeightedFit(model, x, weights),
            target,
            prediction,
            within,
        )

    coefficients = []
    for name, value in _wanted(item).items():
        refuse_symbols(f"fit {item.prefix}{name}", value)
        words, model, target = _COEFFICIENTS[name]
        within = (
            item.tolerance.tolerance(0.01)
            if item.tolerance
            else _usual_tolerance(name, value, item, members, quantities)
        )
        coefficients.append(fitted(name, words, model, target, value, within))
    if _has_misfit(item):
        is_line = item.law is None or sympify(item.law).is_polynomial(item.over)
        model = item.lack_of_fit or ("line" if is_line else "power")
        within = Tolerance(1.0, 1.0, "the fitted values")
        coefficients.append(fitted("lack-of-fit", "relative lack of fit", model, "misfit", S.Zero, within))
    return coefficients


def _usual_tolerance(
    name: str, value: Any, item: Fit, members: list[Check], points: Sequence[Quantity]
) -> Tolerance:
    """Return a coefficient's band: what the points resolve anyway is not judged more coarsely.

    Slope and exponent have the run's tolerance and a third of it; the intercept three times it, of the value at
    the smallest place; the curvature as often, of the slope over the largest place, so that the bend stays
    small against the line at its far end.
    """
    symbol = f"${latex(item.over)}$"
    places = {float(member.at[item.over]): point for member, point in zip(members, points, strict=True)}
    first, last = min(places), max(places)
    level = abs(places[first].prediction.value)
    if name == "exponent":
        return Tolerance(1 / 3, 1.0, "an exponent of 1")
    if name == "intercept":
        return Tolerance(3.0, level, f"the value at ${latex(item.over)} = {first:g}$", _CHEAP)
    if name == "level":
        return Tolerance()
    if name == "curvature":
        rise = abs(float(_wanted(item).get("slope", S.One)))
        return Tolerance(3.0, rise / last, f"the slope over the largest {symbol}", _CHEAP)
    return Tolerance(1.0, level / last, f"the level over the largest {symbol}") if value == 0 else Tolerance()


# ---- controls ---------------------------------------------------------------------------------------------


def _wrong(
    item: Wrong,
    checks: Mapping[str, Comparison],
    measured: Measured,
    quantity_of: Any,
    derivation: Derivation,
) -> Control:
    """Return the control of a wrong version: of a check that it changes, or of its own."""
    if item.of:
        if item.of not in checks:
            raise ClaimError(f"wrong version {item.id}: there is no check {item.of!r}; name one with of=")
        check = checks[item.of]
        changes: dict[str, Any] = {"id": item.id}
        if item.computed is not None:
            changes["computed"] = item.computed
        if any(value is not None for value in (item.equals, item.at_most, item.at_least)):
            at = item.at or getattr(measured.given.get(item.of), "at", {})
            changes |= {"prediction": predicted(replace(item, at=at)), "relation": item.relation}
        if isinstance(check, FittedCoefficient):
            changes.pop("relation", None)
        known = check.relation == "=" and not isinstance(check, Exact) and check.prediction.origin != "set"
        return Control(item.says, replace(check, **changes), check.prediction.value if known else None)
    same = (
        checks[name]
        for name, quantity in measured.quantities.items()
        if name in checks
        and name != item.id
        and (quantity, measured.settings[name]) == (measured.quantities[item.id], measured.settings[item.id])
    )
    truth = next(
        (
            check.prediction.value
            for check in same
            if check.relation == "=" and check.prediction.origin != "set"
        ),
        _truth(item, derivation),
    )
    return Control(item.says, replace(quantity_of(item), uncontrolled=""), truth)


def _truth(item: Wrong, derivation: Derivation) -> float | None:
    """Return what a chain derives for the quantity of a wrong version, None where none does."""
    for chain in derivation.chains:
        end = _end_for(item, chain) if chain.relation == "=" else None
        if end is not None:
            with suppress(ClaimError):
                _refuse_other_laws(item, chain)
                return end
    return None


def _usual_controls(
    items: Sequence[Item], measured: Measured, checks: Mapping[str, Comparison], run: float
) -> list[Control]:
    """Return the controls that every claim gets: a biased prediction of each quantity, and sharper bounds."""
    groups: dict[Any, list[Check]] = {}
    controls = []
    for item in items:
        if not isinstance(item, Check) or item.uncontrolled:
            continue
        check = checks[item.id]
        if item.relation == "=" and check.prediction.origin != "set":
            groups.setdefault(normalised(item.quantity), []).append(item)
        if item.sharper:
            sharp = Prediction(
                item.sharper * check.prediction.value,
                f"{item.sharper * check.prediction.value:.4g}",
                check.prediction.origin,
            )
            what = f"{check.label} respects {item.sharper:.4g} times its bound"
            controls.append(
                Control(
                    what,
                    replace(check, id=f"{item.id}-sharper", prediction=sharp, uncontrolled=""),
                    item.sharper_truth,
                )
            )
    for group in groups.values():
        chosen = [item for item in group if item.control] or [group[len(group) // 2]]
        for item in chosen:
            quantity = checks[item.id]
            assert isinstance(quantity, Quantity)
            name = item.control or ("biased-prediction" if len(groups) == 1 else f"biased-{item.id}")
            where = cell_text({str(symbol): _plain_value(value) for symbol, value in item.at.items()})
            controls.append(_off(quantity, name, f"the value at {where}" if where else "the value", run))
    return controls


def _plain_value(value: Any) -> Any:
    number = sympify(value)
    return int(number) if number.is_Integer else float(number)


def _off(check: Quantity | FittedCoefficient, name: str, subject: str, run: float) -> Control:
    """Return the control whose prediction is larger than a check's by twice the tolerance."""
    right = check.prediction.value
    off = right + 2 * check.tolerance.width(right, run)
    shown = Prediction(off, f"{off:.6g}")
    return Control(
        f"{subject} is larger by twice the tolerance",
        replace(check, id=name, prediction=shown, uncontrolled=""),
        right,
    )


def _wrong_fit(
    line: FittedCoefficient,
    item: Fit,
    items: Sequence[Item],
    measured: Measured,
    quantity_of: Any,
    run: float,
) -> Control:
    """Return what a fit must refute, through the same code: a coefficient that is off, points that are bent."""
    if line.target != "misfit":
        return _off(line, f"biased-{line.id}", f"the {line.label}", run)
    bent = tuple(
        quantity_of(measured.given[f"bent-{member.id}"], f"bent-{member.id}") for member in line.members
    )
    what = f"points bent upwards, each times $1 + x^2$ at its $x$, show no {line.label}"
    return Control(what, replace(line, id=f"bent-{line.id}", members=bent), None)
