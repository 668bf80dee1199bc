"""Faults that once passed unseen, planted again: each must be caught, and it is said by what.

    python -m tests.faults.known                 # all of them
    python -m tests.faults.known triu-as-causal  # one, or several

Each is one piece of text of a file replaced by another. A piece that is no longer there is an error: the
fault has to be planted where its code went.
"""

import argparse
import difflib
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from tests.faults.mutations import ROOT, attempt, fresh_reference, load_what_all_need
from tests.faults.plants import Mutant

CLAIMS = "verify/claims"
ENGINE = "verify/montecarlo"


@dataclass(frozen=True)
class Known:
    """A fault: in ``path`` the text ``old``, found once, becomes ``new``."""

    path: str
    old: str
    new: str

    def mutant(self) -> Mutant:
        """Return it as a fault of the campaign."""
        source = (ROOT / self.path).read_bytes()
        old = self.old.encode()
        if source.count(old) != 1:
            raise ValueError(f"{self.path}: {self.old!r} is there {source.count(old)} times; plant it again")
        start = source.index(old)
        line = source[:start].count(b"\n") + 1
        return Mutant(self.path, line, start, start + len(old), self.old, self.new, "known")


SOFTMAX = f"{CLAIMS}/softmax"
GRADIENTS = f"{CLAIMS}/gradients"
LIMITS = f"{CLAIMS}/limits"
SCALING = f"{CLAIMS}/scaling"
SCORES = f"{CLAIMS}/raw_scores"
PIPELINE = f"{CLAIMS}/pipeline"

VACUOUS = {
    "same-scores-for-shifted": Known(
        f"{SOFTMAX}/softmax_identities.py", "code(scores + 100)", "code(scores)"
    ),
    "output-with-itself": Known(
        f"{PIPELINE}/attention_definition.py",
        "largest_difference(output, by_loops)",
        "largest_difference(output, output)",
    ),
    "smallest-difference": Known(f"{ENGINE}/reference_loops.py", ".max(", ".min("),
    "wide-rounding": Known(f"{GRADIENTS}/jacobian_bounds.py", "Allowance(1e-10)", "Allowance(0.1)"),
    "wide-rounding-of-attention": Known(
        f"{PIPELINE}/attention_definition.py", "Allowance(1e-13)", "Allowance(0.1)"
    ),
    "forty-tolerances": Known(
        f"{LIMITS}/projected_tokens.py", "capped(2.0, tolerance)", "capped(40.0, tolerance)"
    ),
    "order-over-the-wrong-axis": Known(
        f"{SCALING}/scaling_keeps_shape_and_order.py",
        "np.any(one != ranks, axis=1)",
        "np.any(one != ranks, axis=0)",
    ),
}
STATISTICS = {
    "heavy-tails-unscaled": Known(f"{LIMITS}/heavy_tails.py", "-FAR / scaled(ROOT, D)", "-FAR"),
    "causal-rows-other-power": Known(
        f"{LIMITS}/causal_rows.py",
        "CausalRows(positions), scale=SCALE",
        "CausalRows(positions), scale=d ** Rational(-3, 5)",
    ),
    "stack-scales-exchanged": Known(
        f"{GRADIENTS}/gradient_through_layers.py",
        'output_name("log-growth", self.scales.index(scale), depth or',
        'output_name("log-growth", {1: 2, 2: 1}.get(self.scales.index(scale), 0), depth or',
    ),
    "over-scaled-reads-scaled": Known(
        f"{GRADIENTS}/gradient_through_layers.py",
        '("over-scaled-growth", D, "over-scaled", "≤", S.One)',
        '("over-scaled-growth", D, "scaled", "≤", S.One)',
    ),
    "any-rate-of-one-scale": Known(
        f"{GRADIENTS}/training_stability.py", '"any-success", _number(scale)', '"any-success", _number(ROOT)'
    ),
    "keys-for-lengths": Known(
        f"{GRADIENTS}/ignored_keys.py",
        'ratio(output_name("length", low, high), output_name("spread", low, high))',
        'ratio(output_name("spread", low, high), output_name("length", low, high))',
    ),
    "unscaled-norms-for-scaled": Known(
        f"{GRADIENTS}/vanishing_or_exploding.py", "sampler.share(scaled=one)", "sampler.share(scaled=False)"
    ),
    "last-corner-is-the-first": Known(
        f"{ENGINE}/statistics.py", "scores[:, 0, 0], scores[:, -1, -1]", "scores[:, 0, 0], scores[:, 0, 0]"
    ),
    "length-scaling-doubled": Known(
        f"{LIMITS}/length_scaling.py",
        '_rows(keys, float(GROWING.subs(n, keys)), "growing")',
        '_rows(keys, 2 * float(GROWING.subs(n, keys)), "growing")',
    ),
}
BOUNDS = {
    "entropy-at-two-deviations": Known(
        f"{SOFTMAX}/attention_entropy.py", "for deviation in (1, WIDE)", "for deviation in (2, WIDE)"
    ),
    "concentration-twice-the-bound": Known(
        f"{SOFTMAX}/attention_concentration.py",
        "REST, cells, left, derivation.result",
        "REST, cells, left, 2 * derivation.result",
    ),
    "saturation-tenfold": Known(
        f"{GRADIENTS}/jacobian_saturation.py",
        "(for_all.end * sigma * inverse.end)",
        "(10 * for_all.end * sigma * inverse.end)",
    ),
    "half-of-the-second": Known(
        f"{GRADIENTS}/jacobian_bounds.py", '"second": Bound(second, ', '"second": Bound(second / 2, '
    ),
    "twice-the-largest": Known(
        f"{GRADIENTS}/jacobian_bounds.py",
        "Bound(largest / jacobian.LENGTH, ",
        "Bound(2 * largest / jacobian.LENGTH, ",
    ),
    "rows-with-eight-more": Known(
        f"{LIMITS}/causal_rows.py", "math.log(of) - mean", "math.log(of + 8) - mean"
    ),
    "largest-weight-not-divided": Known(
        f"{SOFTMAX}/softmax_saturation.py",
        "over_lengths(mean, keys, d_k, factor)",
        "over_lengths(mean, keys, d_k, 1.0)",
    ),
    "deeper-root": Known(
        f"{GRADIENTS}/gradient_through_layers.py",
        "return result ** (1 / (2 * layers))",
        "return result ** (1 / (4 * layers))",
    ),
}
FACTS = {
    "weights-exchanged": Known(
        f"{SOFTMAX}/softmax_worked_examples.py",
        '("first", _of(weight, a, b))',
        '("first", _of(weight, b, a))',
    )
}
LABELS = {
    "triu-as-causal": Known(
        f"{PIPELINE}/attention_definition.py",
        "np.tril(np.ones((QUERIES, KEYS), bool))",
        "np.triu(np.ones((QUERIES, KEYS), bool))",
    ),
    "covariance-transposed": Known(
        f"{LIMITS}/dependent_query_key.py",
        "(0.5, -1.0, 1.0, 0.0), (2.0, 0.5,",
        "(0.5, 2.0, 1.0, 0.0), (-1.0, 0.5,",
    ),
    "other-law-under-the-name": Known(
        f"{ENGINE}/distributions.py",
        "Fraction(9, 5)),\n    _fill_uniform",
        "Fraction(9, 5)),\n    _fill_laplace",
    ),
    "he-for-fused-xavier": Known(
        f"{LIMITS}/projected_tokens.py", "Fraction(2, 128 + 128)", "Fraction(2, 128)"
    ),
    "per-head-xavier-of-128": Known(
        f"{LIMITS}/projected_tokens.py", "Fraction(2, 128 + 32)", "Fraction(2, 128 + 128)"
    ),
    "linear-default-by-two": Known(
        f"{LIMITS}/projected_tokens.py", "Fraction(1, 3 * 128)", "Fraction(1, 2 * 128)"
    ),
    "label-of-another-initialisation": Known(
        f"{LIMITS}/projected_tokens.py",
        '("Xavier, one matrix for all heads"',
        '("He, one matrix for all heads"',
    ),
}
ERRORS = {
    "slope-over-a-hundred": Known(
        f"{ENGINE}/estimands.py",
        "self.function(Outputs(zip(mean, moved.T, strict=True))), mean.vector\n        )",
        "self.function(Outputs(zip(mean, moved.T, strict=True))), mean.vector\n        ) / 100",
    ),
    "block-variance-over-ten": Known(
        "verify/spec/cells.py",
        "block_variance=_relative_variance(d, side, moments)",
        "block_variance=0.1 * _relative_variance(d, side, moments)",
    ),
    "mean-variance-over-a-hundred": Known(
        "verify/spec/cells.py",
        "mean_variance(d, side, *moments)),",
        "0.01 * mean_variance(d, side, *moments)),",
    ),
    "ratio-exchanged": Known(
        f"{ENGINE}/estimands.py", "(mean[over] / mean[under]) ** power", "(mean[over] * mean[under]) ** power"
    ),
    "whole-alpha-excluded": Known(
        f"{ENGINE}/intervals.py", "far * trials > math.log(2 / alpha)", "far * trials > math.log(1 / alpha)"
    ),
    "freedom-of-a-misfit": Known(
        f"{ENGINE}/experiment.py", "freedom = len(values) - design.shape[1]", "freedom = len(values)"
    ),
    "power-always-one": Known("verify/engine/measure.py", "float(special.ndtr(room / error))", "1.0"),
}
COMMON = {
    "one-kurtosis-twice": Known(
        f"{SCORES}/score_variance_any_law.py",
        "kappa_k: Rational(key.kurtosis)",
        "kappa_k: Rational(query.kurtosis)",
    ),
    "scaling-power": Known(
        f"{SCALING}/scaling_exponent.py",
        "law = derivation.result.subs(alpha, power)",
        "law = derivation.result.subs(alpha, power / 2)",
    ),
    "triple-is-double": Known(
        f"{SCALING}/scaled_variance_general.py", "NORMAL.moved(0, 3)", "NORMAL.moved(0, 2)"
    ),
    "moments-of-triple": Known(f"{SCALING}/scaled_variance_general.py", "S(0), S(9))", "S(0), S(4))"),
    "gradient-of-queries-doubled": Known(
        f"{ENGINE}/attention.py", "self._unscaled @ self.passed[1]", "2 * self._unscaled @ self.passed[1]"
    ),
    "mask-for-arrays-only": Known(
        f"{ENGINE}/attention.py",
        "scores if mask is None else scores + mask",
        "scores if mask is None else scores - mask",
    ),
}
FIGURES = {
    "lower-bar-at-the-top": Known(
        "verify/spec/figures.py", "lo=tuple(map(min, *ends))", "lo=tuple(map(max, *ends))"
    ),
    "prediction-for-estimate": Known(
        "verify/spec/figures.py", "(one.estimate, one.interval)", "(one.prediction, one.interval)"
    ),
    "dimension-off-by-one": Known(
        "verify/spec/figures.py",
        "x = [place_of(check.id, check.cell, against)",
        "x = [1 + place_of(check.id, check.cell, against)",
    ),
    "curve-one-per-cent-high": Known(
        "verify/spec/figures.py",
        "values = map(y, places) if callable(y) else y",
        "values = [1.01 * y(place) for place in places] if callable(y) else y",
    ),
    "growth-path-of-another-scale": Known(
        f"{GRADIENTS}/gradient_through_layers.py",
        "growth(drawn.log_growth(scale, depth), 1)",
        'growth(drawn.log_growth("scaled", depth), 1)',
    ),
}
GUARDS = {
    "directions-bound": Known("verify/symbolic/kernel/entries.py", "free & bound or ", ""),
    "inductions-from-anywhere": Known(
        "verify/symbolic/kernel/entries.py",
        "if not same(form.xreplace({self.at: low}), self.starts[kind(low)]):",
        "if False:",
    ),
    "indices-beyond-their-range": Known(
        "verify/symbolic/kernel/equations.py", "tuple(ends) == (1, ranges[index])", "True"
    ),
    "range-of-half": Known(
        "verify/symbolic/kernel/sums.py", "M * (1 - ratio) / (1 + ratio)", "M / (1 + ratio)"
    ),
    "one-key-for-two": Known(
        "verify/symbolic/kernel/sums.py",
        "new = list(islice(others, len(indices)))",
        "new = [next(others)] * len(indices)",
    ),
    "sums-of-any-size": Known(
        "verify/symbolic/kernel/terms.py",
        "if held and (held != {index} or term.bound[index] != self._families.size(entry, place)):",
        "if held and held != {index}:",
    ),
    "sums-from-two": Known("verify/symbolic/kernel/terms.py", "if low != 1 or", "if low > 2 or"),
    "fields-of-any-growth": Known(
        "verify/symbolic/kernel/normal.py", "if not _is_tame(self.field):", "if False:"
    ),
    "bounds-either-way": Known(
        "verify/symbolic/kernel/normal.py", "    if slope.is_negative:", "    if slope.is_zero:"
    ),
    "chains-of-anything": Known(
        "verify/symbolic/kernel/core.py",
        "if (first.relation, second.relation) not in _COMPOSED:",
        "if False:",
    ),
    "bound-names-put-in": Known(
        "verify/symbolic/kernel/equations.py",
        "if name in bound or value.free_symbols & bound:",
        "if name in bound:",
    ),
    "any-size-in-the-summand": Known(
        "verify/symbolic/kernel/equations.py",
        "if total.function.has(size) or form.has(index):",
        "if form.has(index):",
    ),
    "first-terms-are-all": Known(
        "verify/symbolic/kernel/equations.py", 'return Conclusion("~", where', 'return Conclusion("=", where'
    ),
    "laws-of-anything": Known("verify/symbolic/kernel/moments.py", "if not is_zero(gap):", "if False:"),
    "sums-from-anywhere": Known(
        "verify/symbolic/kernel/moments.py",
        "if len(one.limits) != 1 or tuple(one.limits[0][1:]) != (1, population.dimension):",
        "if len(one.limits) != 1:",
    ),
    "terms-unlike-each-other": Known(
        "verify/symbolic/kernel/moments.py", "            or rest.has(variable)\n", ""
    ),
}
KNOWN = VACUOUS | STATISTICS | BOUNDS | FACTS | LABELS | ERRORS | COMMON | FIGURES | GUARDS


def uncaught(names: list[str]) -> list[str]:
    """Return which of these faults nothing catches, printing what catches each."""
    faults = {name: KNOWN[name].mutant() for name in names}
    load_what_all_need()
    left = []
    with tempfile.TemporaryDirectory() as folder:
        reference = fresh_reference(list(faults.values()), folder)
        for name, fault in faults.items():
            result = attempt(fault, reference)
            print(f"{name:34} {result.caught_by or 'SURVIVED'}", flush=True)
            left += [name] if result.survived else []
    return left


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant the faults named, or all; return 1 where one survives."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to plant; all of them by default")
    names = parser.parse_args(arguments).names
    for name in names:
        if name not in KNOWN:
            near = difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.0)[0]
            parser.error(f"no fault {name!r}; did you mean {near!r}?")
    return bool(uncaught(names or list(KNOWN)))


if __name__ == "__main__":
    sys.exit(main())
