"""Words say what is not derived."""

from sympy import Eq, Symbol

from tests.faults.false_claims.shared import (
    Pair, a, of_claims, of_derivations, of_experiments, spread, steps, typed,
)  # fmt: skip
from verify.spec import Notation, Prediction, Var, d, figure, line, printed, score, wrong
from verify.spec import measured as points
from verify.spec.rules import Identity

PAIRS: dict[str, Pair] = {
    "alt": of_claims(
        # False: a relation in a figure's text for reading aloud; true: none.
        lambda: {
            "figures": lambda derivation, findings: figure(
                "line",
                "A line",
                "The variance is = 3 d on all points.",
                "variance",
                line("derived", derivation.result),
                points(findings.matching("found")),
            )
        },
        lambda: {
            "figures": lambda derivation, findings: figure(
                "line",
                "A line",
                "The variance lies on the line.",
                "variance",
                line("derived", derivation.result),
                points(findings.matching("found")),
            )
        },
    ),
    "control": of_experiments(
        # False: a number in a control's words; true: a slot.
        lambda: spread(
            controls=lambda check, tolerance: (
                wrong(check, "thrice", "the variance is 12", 3 * d.subs(d, 4)),
            )
        ),
        lambda: spread(
            controls=lambda check, tolerance: (
                wrong(check, "thrice", "the variance is {value}", 3 * d.subs(d, 4)),
            )
        ),
    ),
    "fraction": of_claims(
        # False: a fraction as a sign of its own; true: none.
        lambda: {"statement": "It is ½ of what is expected; {theorem}."},
        lambda: {"statement": "{theorem}."},
    ),
    "greater": of_claims(
        # False: a sign of relation; true: none.
        lambda: {"statement": "The variance {theorem:result} ≥ that of any other; {theorem}."},
        lambda: {"statement": "{theorem}."},
    ),
    "hidden_expression": of_claims(
        # False: a symbol that is nowhere derived; true: one that is.
        lambda: {"symbols": {"own": 3 * d}},
        lambda: {"symbols": {"own": d}},
        statement="It is {own}; {theorem}.",
    ),
    "hidden_number": of_claims(
        # False: a symbol hides a number; true: it names the dimension.
        lambda: {"statement": "Of {own}, {theorem}.", "symbols": {"own": Notation("3 d_k", d)}},
        lambda: {"statement": "In {own}, {theorem}.", "symbols": {"own": d}},
    ),
    "hidden_relation": of_claims(
        # False: a symbol hides a relation; true: a theorem says it.
        lambda: {"statement": "{same}.", "symbols": {"same": Notation("\\operatorname{Var} = 3 d_k", score)}},
        lambda: {"statement": "Of {own}, {theorem}.", "symbols": {"own": Notation("q^\\top k", score)}},
    ),
    "in_a_title": of_claims(
        # False: the title has a formula that is nowhere derived; true: one that is.
        lambda: {"title": "The variance of a score is {own}", "symbols": {"own": 3 * d}},
        lambda: {"title": "The variance of a score is {d_k}"},
        statement="{theorem}.",
    ),
    "label": of_experiments(
        # False: the label of a check says more than what it estimates; true: it names what is estimated.
        lambda: spread(label="$\\operatorname{Var}(q\\cdot k) = 3 d_k$"),
        spread,
    ),
    "less": of_claims(
        # False: what is equal is called less; true: at most.
        lambda: {"statement": "The variance is less than {theorem:result}."},
        lambda: {"statement": "The variance is at most {theorem:result}."},
    ),
    "multiple": of_claims(
        # False: a multiple, in words, of what is derived; true: what is derived.
        lambda: {"statement": "The variance is three times {theorem:result}."},
        lambda: {"statement": "The variance is {theorem:result}."},
    ),
    "number_name": of_derivations(
        # False: the name of a symbol is a number; true: it is a name.
        lambda: steps((Symbol("3") + 1) ** 2, (1 + Symbol("3") ** 2 + 2 * Symbol("3"), Identity())),
        lambda: steps((a + 1) ** 2, (1 + a**2 + 2 * a, Identity())),
        statement="{theorem}.",
    ),
    "other_name": of_claims(
        # False: the dimension is written as the number of keys; true: as itself.
        lambda: {"symbols": {"own": Notation("n", d)}},
        lambda: {"symbols": {"own": d}},
        statement="{theorem}.",
    ),
    "prediction_number": of_experiments(
        # False: another number is typed for the value that is compared with; true: it is derived.
        lambda: lambda derivation, tolerance: typed(derivation, tolerance, Prediction(4.0, "3")),
        spread,
    ),
    "prediction": of_experiments(
        # False: a formula is typed for the value that is compared with; true: it is derived.
        lambda: lambda derivation, tolerance: typed(derivation, tolerance, Prediction(4.0, "3 d_k")),
        spread,
    ),
    "printed": of_claims(
        # False: the author marks text as printed by the tool; true: a slot.
        lambda: {"statement": f"{printed('$= 3 d_k$')}; {{theorem}}."},
        lambda: {"statement": "{theorem}."},
    ),
    "relation_symbol": of_claims(
        # False: a symbol is a relation of SymPy's; true: an expression.
        lambda: {"statement": "It is {own}.", "symbols": {"own": Eq(Var(score), 3 * d, evaluate=False)}},
        lambda: {"statement": "Of {own}, {theorem}.", "symbols": {"own": Var(score)}},
    ),
    "theorem_name": of_derivations(
        # False: the name of a symbol is a relation; true: it is a name.
        lambda: steps(
            (Symbol("x = 3") + 1) ** 2, (1 + Symbol("x = 3") ** 2 + 2 * Symbol("x = 3"), Identity())
        ),
        lambda: steps((a + 1) ** 2, (1 + a**2 + 2 * a, Identity())),
        statement="{theorem}.",
    ),
    "title": of_claims(
        # False: a number in the title; true: none.
        lambda: {"title": "Scores spread 3 times as far as components"},
        lambda: {"title": "Scores spread farther than components"},
        statement="{theorem}.",
    ),
    "typed_plainly": of_claims(
        # False: a number is typed in words for reading aloud; true: a slot.
        lambda: {"statement": "For every head, the variance is 3 times the dimension; {theorem}."},
        lambda: {"statement": "For every head, {theorem}."},
    ),
    "twice": of_claims(
        # False: a multiple in words, and nothing that is derived; true: what is derived.
        lambda: {"statement": "The variance is twice {d_k}."},
        lambda: {"statement": "The variance is {theorem:result}."},
    ),
    "typed": of_claims(
        # False: a formula is typed over the derivation of another; true: a slot.
        lambda: {"statement": "The variance is $= 3 d_k$."},
        lambda: {"statement": "The variance is {theorem:result}."},
    ),
}
