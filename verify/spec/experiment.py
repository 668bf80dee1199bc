"""Turns an author's checks, fits and wrong versions into the experiment that the engine draws and judges.

Labels are printed from expressions. The usual controls are added here: a prediction off by twice the
tolerance for each quantity, a sharper bound, coefficients off by twice their tolerance, points that are bent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from sympy import Expr, S, diff, log, simplify, sympify

from verify.errors import ClaimError, unknown
from verify.evidence.words import cell_text
from verify.montecarlo.blocks import Cell
from verify.montecarlo.estimands import Estimand
from verify.montecarlo.experiment import Comparison, Control, Exact, Experiment, Model, Prediction, Quantity
from verify.montecarlo.experiment import Target, Tolerance, WeightedFit, Fit as FittedCoefficient
from verify.montecarlo.quantities import measurement, of_pairs
from verify.spec.checks import Check, Compared, Computed, Fit, Item, Threshold, Wrong
from verify.spec.comparisons import Setting, at_places, cell_name, integrated, measurable, normalised
from verify.spec.comparisons import origin, predicted, truth_of
from verify.symbolic.chains import Derivation
from verify.symbolic.notation import latex
from verify.symbolic.vocabulary import Entropy, Index, LargestGap, LogSumExp, Softmax


def experiment_of(items: Sequence[Item], derivation: Derivation, run: float) -> Experiment:
    """Return the experiment that an author's items describe, at the ``run``'s relative tolerance.

    Raises:
        ClaimError: an id, pattern, law or prediction does not fit.
    """
    plan, checks, controlled = Plan(items, derivation, run), list[Comparison](), list[FittedCoefficient]()
    # Points before fits, whichever an author yields first.
    points = {item.id: plan.quantity(item) for item in items if isinstance(item, Check)}
    for item in items:
        if isinstance(item, Check):
            checks.append(points[item.id])
        elif isinstance(item, Computed):
            given = Compared(item.id, equals=item.equals, at_most=item.at_most, at_least=item.at_least)
            what = item.what if isinstance(item.what, str) else f"${latex(item.what)}$"
            compared = tuple(item.settings.items()), predicted(given), float(item.code(*item.arguments))
            checks.append(Exact(item.id, what, *compared, item.allowance, given.relation, item.code))
        elif isinstance(item, Fit):
            fits = coefficients(item, members_of(item, items), points)
            checks += fits
            controlled += fits if item.control else []
    wrong = [item for item in items if isinstance(item, Wrong)]
    ids = Counter(each.id for each in (*checks, *wrong))
    if twice := [name for name, times in ids.items() if times > 1]:
        raise ClaimError(f"check {twice[0]}: there are several of this id; give each its own")
    plan.checks = {check.id: check for check in checks}
    controls = [*map(plan.wrong, wrong), *plan.off(), *plan.biased(), *map(plan.wrong_fit, controlled)]
    return Experiment(tuple(checks), tuple(controls))


class Plan:
    """An experiment in the making: what is measured of each comparison, and the checks made so far."""

    def __init__(self, items: Sequence[Item], derivation: Derivation, run: float) -> None:
        """Find the measured quantity of each comparison, and compile those of a setting together."""
        self.items, self.derivation, self.run = items, derivation, run
        self.checks, self.compared = dict[str, Comparison](), dict[str, Compared]()
        self.cells, self.estimands = dict[Setting, Cell](), dict[str, Estimand]()
        for item in items:
            if isinstance(item, Check | Wrong) and (item.quantity is not None or not getattr(item, "of", "")):
                self.compared[item.id] = item
            elif isinstance(item, Fit) and not item.only:
                # Bent points, which its lack of fit must notice, are quantities of the same cells. From the
                # first place on they bend, as far above it 1 + x² is a power, which a power's fit follows.
                members = members_of(item, items)
                first = min(sympify(check.at[item.over]) for check in members)
                for check in members:
                    name, x = f"bent-{check.id}", sympify(check.at[item.over])
                    given = (1 + (x / first) ** 2) * check.quantity, check.at
                    alike = dict[str, Any](laws=check.laws, tolerance=check.tolerance, shape=check.shape)
                    self.compared[name] = Compared(name, *given, equals=check.predicted, **alike)
        self.measured = {name: measurable(given) for name, given in self.compared.items()}
        together: dict[Setting, dict[str, Expr]] = {}
        for name, (quantity, setting) in self.measured.items():
            together.setdefault(setting, {})[name] = quantity
        # In the order of the items, so that a name that is taken gets its number by what stands before it.
        for setting, quantities in together.items():
            name = cell_name(setting, [cell.id for cell in self.cells.values()])
            laws, at = dict(setting.laws), dict(setting.at)
            if setting.pairs:
                self.cells[setting], estimands = of_pairs(name, quantities, laws, at)
            else:
                self.cells[setting], estimands = measurement(
                    name, quantities, laws, at, tolerance=run, shape=dict(setting.shape) or None
                )
            self.estimands |= estimands

    def quantity(self, given: Compared) -> Quantity:
        """Return a comparison as a quantity to be drawn and judged."""
        _, setting = self.measured[given.id]
        prediction, cell = predicted(given), self.cells[setting]
        if isinstance(given, Check) and prediction.origin == "derived":
            prediction = replace(prediction, origin=origin(given, self.derivation, prediction.value))
        # It is printed with values put in that the setting does not record.
        recorded, places = dict(setting.at), at_places(sympify(given.quantity), given.at)
        shown = places.xreplace(
            {x: sympify(v) for x, v in given.at.items() if x not in recorded and not isinstance(x, Index)}
        )
        label, band = f"${latex(shown)}$", given.within(self.run)
        return Quantity(given.id, label, cell, self.estimands[given.id], prediction, band, given.relation)

    def wrong(self, item: Wrong) -> Control:
        """Return the control of a wrong version: of a check that it changes, or of its own."""
        # Without words it is described in formulas; its truth is known by a check or a chain of its quantity.
        if not item.of:
            truth, wrong = self.value_of_same(item, truth_of(item, self.derivation)), self.quantity(item)
            return Control(item.says or _in_formulas(wrong.label, item), wrong, truth)
        if item.of not in self.checks:
            raise ClaimError(f"wrong version {item.id}: there is no check {item.of!r}; name one with of=")
        check, changes = self.checks[item.of], dict[str, Any](id=item.id)
        # Computed anew with other arguments, it is compared with the right value or with one of its own.
        if item.arguments:
            if not isinstance(check, Exact) or check.code is None:
                raise ClaimError(
                    f"wrong version {item.id}: no code computes {item.of!r}; leave arguments out"
                )
            settings = {**dict(check.settings), **{str(symbol): value for symbol, value in item.at.items()}}
            computed: Any = check.code(*item.arguments)
            changes |= {"computed": float(computed), "settings": tuple(settings.items())}
        if not item.arguments or item.compared:
            same = self.compared.get(item.of, item)
            there = replace(item, at=item.at or same.at, laws=item.laws or same.laws)
            changes["prediction"] = predicted(there)
            if not isinstance(check, FittedCoefficient):
                changes["relation"] = item.relation
        # Where nothing is drawn, a control has no power that could be computed.
        known = _is_known(check) and not isinstance(check, Exact)
        truth, says = check.prediction.value if known else None, item.says or _in_formulas(check.label, item)
        return Control(says, replace(check, **changes), truth)

    def value_of_same(self, item: Compared, otherwise: float | None) -> float | None:
        """Return the prediction of a check of the same quantity at the same setting."""
        same = (name for name, measured in self.measured.items() if measured == self.measured[item.id])
        checks = (self.checks[name] for name in same if name in self.checks)
        return next((check.prediction.value for check in checks if _is_known(check)), otherwise)

    def off(self) -> Iterator[Control]:
        """Yield the wrong versions of checks and computed values whose prediction is off by a factor."""
        for item in (item for item in self.items if isinstance(item, Check | Computed)):
            check, factors, truth = self.checks[item.id], dict(item.off), None
            if isinstance(item, Check):
                factors |= {f"{item.id}-sharper": item.sharper} if item.sharper else {}
                # For a bound, the true value is known by a check of the same quantity, or by an integral.
                known = _is_known(check)
                truth = check.prediction.value if known else self.value_of_same(item, item.sharper_truth)
                if factors and truth is None and sympify(item.quantity).has(Softmax, LogSumExp, Entropy):
                    with suppress(ClaimError, KeyError):
                        truth = integrated(item.quantity, item.at)
            verb, of = ("is", "value") if check.relation == "=" else ("respects", "bound")
            for name, factor in ((name, float(factor)) for name, factor in factors.items()):
                says = f"{check.label} {verb} {factor:.4g} times its {of}"
                yield Control(says, _predicting(factor * check.prediction.value, check, name), truth)

    def biased(self) -> Iterator[Control]:
        """Yield for each quantity the control whose prediction is off by twice the tolerance."""
        # It is of the check that names it, or of the middle check.
        groups: dict[Any, list[Check]] = {}
        for item in self.items:
            if isinstance(item, Check) and _is_known(self.checks[item.id]):
                quantity = normalised(item.quantity)
                # Gaps from laws at several settings are of one kind, though each has its own points.
                kind = quantity.args[0] if isinstance(quantity, LargestGap) else quantity
                groups.setdefault(kind, []).append(item)
        for group in groups.values():
            for item in [item for item in group if item.control] or [group[len(group) // 2]]:
                usual = "biased-prediction" if item.control or len(groups) == 1 else f"biased-{item.id}"
                name = item.control if isinstance(item.control, str) and item.control else usual
                # Of several quantities, its words name the quantity that is meant.
                value = "the value" if len(groups) == 1 else self.checks[item.id].label
                yield self.larger(self.checks[item.id], name, value + _place(item))

    def wrong_fit(self, check: FittedCoefficient) -> Control:
        """Return the control of a fit: a coefficient that is off, or for a lack of fit bent points."""
        if check.target != "misfit":
            return self.larger(check, f"biased-{check.id}", f"the {check.label}")
        # Coefficients could all be right of points that lie on no line: these are drawn bent.
        bent = tuple(self.quantity(self.compared[f"bent-{member.id}"]) for member in check.members)
        first = min(check.fit.x)
        bend = "$1 + x^2$" if first == 1 else f"$1 + (x/{first:g})^2$"
        what = f"points bent upwards, each times {bend} at its $x$, show no {check.label}"
        return Control(what, replace(check, id=f"bent-{check.id}", members=bent), None)

    def larger(self, check: Any, name: str, subject: str) -> Control:
        """Return the control whose prediction is larger than a check's by twice the tolerance."""
        right = check.prediction.value
        off = _predicting(right + 2 * check.tolerance.width(right, self.run), check, name)
        return Control(f"{subject} is larger by twice the tolerance", off, right)


def _predicting(value: float, check: Any, name: str) -> Any:
    """Return a check that predicts another value, under a name."""
    return replace(check, id=name, prediction=Prediction(value, f"{value:.6g}"))


def _in_formulas(label: str, item: Wrong) -> str:
    """Return the statement of a wrong version, such as ``$Var(q·k)$ is $d_k^2$``."""
    says = {"=": "is", "≤": "is at most", "≥": "is at least"}[item.relation]
    value = item.predicted.value if isinstance(item.predicted, Threshold) else item.predicted
    return f"{label} {says} ${latex(sympify(value))}${_place(item)}"


def _place(item: Compared) -> str:
    """Return the values of symbols in words, such as `` at $d_k$ = 8``, empty where there are none."""
    values = {str(symbol): sympify(value) for symbol, value in item.at.items()}
    numbers = {name: int(x) if x.is_Integer else float(x) for name, x in values.items()}
    return f" at {cell_text(numbers)}" if numbers else ""


def _is_known(check: Comparison) -> bool:
    """Return whether a check predicts its quantity's value: no bound, and no threshold."""
    return check.relation == "=" and check.prediction.origin != "set"


_COEFFICIENTS: Mapping[str, tuple[str, Model, Target]] = {
    "level": ("level", "line", "constant"),
    "slope": ("slope", "line", "slope"),
    "intercept": ("intercept", "line", "constant"),
    "curvature": ("quadratic term", "parabola", "square"),
    "exponent": ("log–log exponent", "power", "slope"),
    "lack-of-fit": ("relative lack of fit", "line", "misfit"),  # a power's where the law is no polynomial
}


def members_of(item: Fit, items: Sequence[Item]) -> list[Check]:
    """Return the checks that a fit goes through."""
    checks = [check for check in items if isinstance(check, Check) and fnmatchcase(check.id, item.pattern)]
    members, of_fit = [check for check in checks if item.over in check.at], f"fit over {item.pattern!r}"
    if len(members) < 2:
        have = f"{len(checks)} checks match, {len(members) or 'none'} of them with a value of {item.over}"
        raise ClaimError(f"{of_fit}: {have}; a fit needs two at least, as in Check(…, {{{item.over}: 8}})")
    if len(members) == 2 and (not item.only or "curvature" in _wanted(item)):
        raise ClaimError(
            f"{of_fit}: 2 checks match, through which any line goes; add a third, or ask for less with "
            'only=("slope",)'
        )
    return members


def _wanted(item: Fit) -> dict[str, Any]:
    """Return the coefficients that a fit is asked for, with their expected values, by their ids' endings."""
    law, x = sympify(item.law), item.over
    wanted = {"exponent": simplify(x * diff(log(law), x))}
    if not law.has(x):
        wanted = {"level": law, "slope": S.Zero, **wanted}
    elif law.is_polynomial(x):
        line = {"slope": diff(law, x), "intercept": law.subs(x, 0), "curvature": diff(law, x, 2) / 2}
        wanted = line | wanted
    wanted["lack-of-fit"] = S.Zero
    chosen = {name: value for name, value in wanted.items() if not item.only or name in item.only}
    # A question may ask for more than a law has, but not for nothing.
    if others := set(item.only) - _COEFFICIENTS.keys() or (set() if chosen else set(item.only)):
        says = unknown("coefficient", min(others), wanted, f"of this law there are {', '.join(wanted)}")
        raise ClaimError(f"fit over {item.pattern!r}: {says}")
    return chosen


def coefficients(
    item: Fit, members: list[Check], quantities: Mapping[str, Quantity]
) -> list[FittedCoefficient]:
    """Return the comparisons of a fit's coefficients and of its lack of fit."""
    # Points are planned for relative errors in proportion to their tolerances, and weigh accordingly.
    points = tuple(quantities[member.id] for member in members)
    if point := next((point for point in points if not point.prediction.value), None):
        says = "it is predicted as 0, and a fit goes by relative errors; leave it out of the pattern"
        raise ClaimError(f"fit over {item.pattern!r}, check {point.id}: {says}")
    x = tuple(float(member.at[item.over]) for member in members)
    logarithmic = tuple(point.tolerance.factor**-2.0 for point in points)
    relative = tuple(w * p.prediction.value**-2.0 for w, p in zip(logarithmic, points, strict=True))
    # Values that all points share are put in, such as a power, so that labels of several fits differ.
    same = set.intersection(*(set(member.at.items()) for member in members))
    shown = sympify(members[0].quantity).xreplace({symbol: sympify(value) for symbol, value in same})
    drawn = " and ".join(dict.fromkeys(law.name for law in members[0].laws.values()))
    label = f"${latex(shown)}$" + f", {drawn} components" * bool(drawn)
    wanted = _wanted(item)
    for name, value in wanted.items():
        if item.over in value.free_symbols:
            raise ClaimError(
                f"fit {item.prefix}{name}: the law {item.law} is no power of {item.over} and no polynomial; "
                "draw a Plot of the checks in place of the Fit"
            )
        if left := ", ".join(sorted(map(str, value.free_symbols))):
            says = f"it is {value}, in which {left} is left; put a number in, or fit over {left}"
            raise ClaimError(f"fit {item.prefix}{name}: {says}")
    # Bands that take no more draws than the points. An intercept's is of the value at the smallest place; a
    # curvature's keeps the bend small against the line at its far end.
    symbol, last = latex(item.over), max(x)
    start, point = min(zip(x, points, strict=True), key=lambda pair: pair[0])
    level, rise = abs(point.prediction.value), abs(float(wanted.get("slope", S.One)))
    cheap = "a narrower one would need more draws than its points"
    bands = {
        "intercept": Tolerance(3.0, level, f"the value at ${symbol} = {start:g}$", cheap),
        "curvature": Tolerance(3.0, rise / last, f"the slope over the largest ${symbol}$", cheap),
        "exponent": Tolerance(1 / 3, 1.0, "an exponent of 1"),
        "lack-of-fit": Tolerance(1.0, 1.0, "the fitted values"),
    }
    if rise == 0:
        bands["slope"] = Tolerance(1.0, level / last, f"the level over the largest ${symbol}$")
    # A fit through points of which a chain does not derive all is not derived either.
    is_derived, made = all(point.prediction.origin == "derived" for point in points), []
    for name, value in wanted.items():
        words, model, target = _COEFFICIENTS[name]
        if target == "misfit" and not sympify(item.law).is_polynomial(item.over):
            model = "power"
        fit = WeightedFit(model, x, logarithmic if model == "power" else relative)
        of, band = f"{words} of {label}", bands.get(name, Tolerance())
        prediction = Prediction(float(value), latex(value), "derived" if is_derived else "computed")
        made.append(FittedCoefficient(item.prefix + name, of, points, fit, target, prediction, band))
    return made
