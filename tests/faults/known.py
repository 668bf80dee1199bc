"""Faults that once passed unseen, planted again: each must be caught, and it is said by what.

    python -m tests.faults.known                 # all of them
    python -m tests.faults.known triu-as-causal  # one, or several

Each is one piece of text of a file, and what it becomes. A piece that is no longer there is an error: the
fault has to be planted where its code went.
"""

import argparse
import difflib
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from tests.faults.mutations import ROOT, attempt, fresh_reference, load_what_all_need
from tests.faults.plants import Mutant

CLAIMS = "verify/claims"
ENGINE = "verify/montecarlo"
KERNEL = "verify/symbolic/kernel"


@dataclass(frozen=True)
class Known:
    """A fault: in ``path`` a text, found once, in which each ⟨old→new⟩ is changed."""

    path: str
    text: str

    def mutant(self) -> Mutant:
        """Return it as a fault of the campaign."""
        source = (ROOT / self.path).read_bytes()
        old, new = (re.sub("⟨(.*?)→(.*?)⟩", which, self.text, flags=re.DOTALL) for which in (r"\1", r"\2"))
        if (count := source.count(old.encode())) != 1:
            raise ValueError(f"{self.path}: {old!r} is there {count} times; plant it again")
        start = source.index(old.encode())
        line = source[:start].count(b"\n") + 1
        return Mutant(self.path, line, start, start + len(old.encode()), old, new, "known")


SOFTMAX = f"{CLAIMS}/softmax"
GRADIENTS = f"{CLAIMS}/gradients"
LIMITS = f"{CLAIMS}/limits"
SCALING = f"{CLAIMS}/scaling"
SCORES = f"{CLAIMS}/raw_scores"
PIPELINE = f"{CLAIMS}/pipeline"

VACUOUS = {
    "same-scores-for-shifted": Known(f"{SOFTMAX}/softmax_identities.py", "code(scores⟨ + 100→⟩)"),
    "output-with-itself": Known(
        f"{PIPELINE}/attention_definition.py", "largest_difference(output, ⟨by_loops→output⟩)"
    ),
    "smallest-difference": Known(f"{ENGINE}/reference_loops.py", "⟨.max→.min⟩("),
    "wide-rounding": Known(f"{GRADIENTS}/jacobian_bounds.py", "Allowance(⟨1e-10→0.1⟩)"),
    "wide-rounding-of-attention": Known(f"{PIPELINE}/attention_definition.py", "Allowance(⟨1e-13→0.1⟩)"),
    "forty-tolerances": Known(f"{LIMITS}/projected_tokens.py", "capped(⟨2.0→40.0⟩, tolerance)"),
    "order-over-the-wrong-axis": Known(
        f"{SCALING}/scaling_keeps_shape_and_order.py", "np.any(one != ranks, axis=⟨1→0⟩)"
    ),
}
STATISTICS = {
    "heavy-tails-unscaled": Known(f"{LIMITS}/heavy_tails.py", "-FAR⟨ / scaled(ROOT, D)→⟩"),
    "causal-rows-other-power": Known(
        f"{LIMITS}/causal_rows.py", "CausalRows(positions), scale=⟨SCALE→d ** Rational(-3, 5)⟩"
    ),
    "stack-scales-exchanged": Known(
        f"{GRADIENTS}/gradient_through_layers.py",
        'output_name("log-growth", '
        "⟨self.scales.index(scale)→{1: 2, 2: 1}.get(self.scales.index(scale), 0)⟩, depth or",
    ),
    "over-scaled-reads-scaled": Known(
        f"{GRADIENTS}/gradient_through_layers.py",
        '("over-scaled-growth", D, ⟨"over-scaled"→"scaled"⟩, "≤", S.One)',
    ),
    "any-rate-of-one-scale": Known(
        f"{GRADIENTS}/training_stability.py", '"any-success", _number(⟨scale→ROOT⟩)'
    ),
    "keys-for-lengths": Known(
        f"{GRADIENTS}/ignored_keys.py",
        'ratio(output_name("⟨length→spread⟩", low, high), output_name("⟨spread→length⟩", low, high))',
    ),
    "unscaled-norms-for-scaled": Known(
        f"{GRADIENTS}/vanishing_or_exploding.py", "sampler.share(scaled=⟨one→False⟩)"
    ),
    "last-corner-is-the-first": Known(f"{ENGINE}/statistics.py", "scores[:, 0, 0], scores[:, ⟨-1, -1→0, 0⟩]"),
    "length-scaling-doubled": Known(
        f"{LIMITS}/length_scaling.py", '_rows(keys, ⟨→2 * ⟩float(GROWING.subs(n, keys)), "growing")'
    ),
}
BOUNDS = {
    "entropy-at-two-deviations": Known(f"{SOFTMAX}/attention_entropy.py", "for deviation in (⟨1→2⟩, WIDE)"),
    "concentration-twice-the-bound": Known(
        f"{SOFTMAX}/attention_concentration.py", "REST, cells, left, ⟨→2 * ⟩derivation.result"
    ),
    "saturation-tenfold": Known(
        f"{GRADIENTS}/jacobian_saturation.py", "(⟨→10 * ⟩for_all.end * sigma * inverse.end)"
    ),
    "half-of-the-second": Known(f"{GRADIENTS}/jacobian_bounds.py", '"second": Bound(second⟨→ / 2⟩, '),
    "twice-the-largest": Known(f"{GRADIENTS}/jacobian_bounds.py", "Bound(⟨→2 * ⟩largest / jacobian.LENGTH, "),
    "rows-with-eight-more": Known(f"{LIMITS}/causal_rows.py", "math.log(of⟨→ + 8⟩) - mean"),
    "largest-weight-not-divided": Known(
        f"{SOFTMAX}/softmax_saturation.py", "over_lengths(mean, keys, d_k, ⟨factor→1.0⟩)"
    ),
    "deeper-root": Known(
        f"{GRADIENTS}/gradient_through_layers.py", "return result ** (1 / (⟨2→4⟩ * layers))"
    ),
}
FACTS = {
    "weights-exchanged": Known(f"{SOFTMAX}/softmax_worked_examples.py", '("first", _of(weight, ⟨a, b→b, a⟩))')
}
LABELS = {
    "triu-as-causal": Known(
        f"{PIPELINE}/attention_definition.py", "⟨np.tril→np.triu⟩(np.ones((QUERIES, KEYS), bool))"
    ),
    "covariance-transposed": Known(
        f"{LIMITS}/dependent_query_key.py", "(0.5, ⟨-1.0→2.0⟩, 1.0, 0.0), (⟨2.0→-1.0⟩, 0.5,"
    ),
    "other-law-under-the-name": Known(
        f"{ENGINE}/distributions.py", "Fraction(9, 5)),\n    ⟨_fill_uniform→_fill_laplace⟩"
    ),
    "he-for-fused-xavier": Known(f"{LIMITS}/projected_tokens.py", "Fraction(2, 128⟨ + 128→⟩)"),
    "per-head-xavier-of-128": Known(f"{LIMITS}/projected_tokens.py", "Fraction(2, 128 + ⟨32→128⟩)"),
    "linear-default-by-two": Known(f"{LIMITS}/projected_tokens.py", "Fraction(1, ⟨3→2⟩ * 128)"),
    "label-of-another-initialisation": Known(
        f"{LIMITS}/projected_tokens.py", '(⟨"Xavier→"He⟩, one matrix for all heads"'
    ),
}
ERRORS = {
    "slope-over-a-hundred": Known(
        f"{ENGINE}/estimands.py",
        "self.function(Outputs(zip(mean, moved.T, strict=True))), mean.vector\n        )⟨→ / 100⟩",
    ),
    "block-variance-over-ten": Known(
        "verify/spec/cells.py", "block_variance=⟨→0.1 * ⟩_relative_variance(d, side, moments)"
    ),
    "mean-variance-over-a-hundred": Known(
        "verify/spec/cells.py", "⟨→0.01 * ⟩mean_variance(d, side, *moments)),"
    ),
    "ratio-exchanged": Known(f"{ENGINE}/estimands.py", "(mean[over] ⟨/→*⟩ mean[under]) ** power"),
    "whole-alpha-excluded": Known(f"{ENGINE}/intervals.py", "far * trials > math.log(⟨2→1⟩ / alpha)"),
    "freedom-of-a-misfit": Known(f"{ENGINE}/experiment.py", "freedom = len(values)⟨ - design.shape[1]→⟩"),
    "power-always-one": Known("verify/engine/measure.py", "⟨float(special.ndtr(room / error))→1.0⟩"),
}
COMMON = {
    "one-kurtosis-twice": Known(
        f"{SCORES}/score_variance_any_law.py", "kappa_k: Rational(⟨key.kurtosis→query.kurtosis⟩)"
    ),
    "scaling-power": Known(
        f"{SCALING}/scaling_exponent.py", "law = derivation.result.subs(alpha, power⟨→ / 2⟩)"
    ),
    "triple-is-double": Known(f"{SCALING}/scaled_variance_general.py", "NORMAL.moved(0, ⟨3→2⟩)"),
    "moments-of-triple": Known(f"{SCALING}/scaled_variance_general.py", "S(0), S(⟨9→4⟩))"),
    "gradient-of-queries-doubled": Known(f"{ENGINE}/attention.py", "⟨→2 * ⟩self._unscaled @ self.passed[1]"),
    "mask-for-arrays-only": Known(f"{ENGINE}/attention.py", "scores if mask is None else scores ⟨+→-⟩ mask"),
}
FIGURES = {
    "lower-bar-at-the-top": Known("verify/spec/figures.py", "lo=tuple(map(⟨min→max⟩, *ends))"),
    "prediction-for-estimate": Known(
        "verify/spec/figures.py", "(⟨one.estimate→one.prediction⟩, one.interval)"
    ),
    "dimension-off-by-one": Known(
        "verify/spec/figures.py", "x = [⟨→1 + ⟩place_of(check.id, check.cell, against)"
    ),
    "curve-one-per-cent-high": Known(
        "verify/spec/figures.py",
        "values = ⟨map(y, places)→[1.01 * y(place) for place in places]⟩ if callable(y) else y",
    ),
    "growth-path-of-another-scale": Known(
        f"{GRADIENTS}/gradient_through_layers.py", 'growth(drawn.log_growth(⟨scale→"scaled"⟩, depth), 1)'
    ),
}
GUARDS = {
    "directions-bound": Known(f"{KERNEL}/entries.py", "⟨free & bound or →⟩"),
    "inductions-from-anywhere": Known(
        f"{KERNEL}/entries.py",
        "if ⟨not same(form.xreplace({self.at: low}), self.starts[kind(low)])→False⟩:",
    ),
    "indices-beyond-their-range": Known(f"{KERNEL}/equations.py", "⟨tuple(ends) == (1, ranges[index])→True⟩"),
    "range-of-half": Known(f"{KERNEL}/sums.py", "M ⟨* (1 - ratio) →⟩/ (1 + ratio)"),
    "one-key-for-two": Known(
        f"{KERNEL}/sums.py",
        "new = ⟨list(islice(others, len(indices)))→[next(others)] * len(indices)⟩",
    ),
    "sums-of-any-size": Known(
        f"{KERNEL}/terms.py",
        "if held and ⟨(held != {index} or term.bound[index] != self._families.size(entry, place))"
        "→held != {index}⟩:",
    ),
    "sums-from-two": Known(f"{KERNEL}/terms.py", "if low ⟨!= 1→> 2⟩ or"),
    "fields-of-any-growth": Known(f"{KERNEL}/normal.py", "if ⟨not _is_tame(self.field)→False⟩:"),
    "bounds-either-way": Known(f"{KERNEL}/normal.py", "    if ⟨slope.is_negative→slope.is_zero⟩:"),
    "chains-of-anything": Known(
        f"{KERNEL}/core.py", "if ⟨(first.relation, second.relation) not in _COMPOSED→False⟩:"
    ),
    "bound-names-put-in": Known(
        f"{KERNEL}/equations.py", "if name in bound⟨ or value.free_symbols & bound→⟩:"
    ),
    "any-size-in-the-summand": Known(
        f"{KERNEL}/equations.py", "if ⟨total.function.has(size) or →⟩form.has(index):"
    ),
    "first-terms-are-all": Known(f"{KERNEL}/limits.py", 'return Conclusion("⟨~→=⟩", where'),
    "laws-of-anything": Known(f"{KERNEL}/moments.py", "if ⟨not is_zero(gap)→False⟩:"),
    "sums-from-anywhere": Known(
        f"{KERNEL}/moments.py",
        "if len(one.limits) != 1⟨ or tuple(one.limits[0][1:]) != (1, population.dimension)→⟩:",
    ),
    "terms-unlike-each-other": Known(f"{KERNEL}/moments.py", "⟨            or rest.has(variable)\n→⟩"),
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
