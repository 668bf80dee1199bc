"""Chains: a derivation line by line, each with its reason and the check that decides it.

A check decides one line, or refuses it; whatever it says, the second net (``refutation``) tries to refute the
line as well. The end of a chain is *derived*, or *derived, citing* the theorems that its lines rest on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

from sympy import Function, Symbol, sympify
from sympy.logic.boolalg import BooleanAtom

from verify.errors import ClaimError, unknown
from verify.symbolic.notation import SIZES, in_line, latex, plain, sentences_of
from verify.symbolic.refutation import Counterexample, refute
from verify.symbolic.vocabulary import E, Family, Law, Laws, StepError, as_drawn, families_of

Relation = Literal["=", "≤", "<", "≥", ">", "~", "⇔"]
"""How a line stands to the line before it; "~": it is its leading term, "⇔": each implies the other."""

Compare = Callable[[Any, Any, Relation], None]


@dataclass(frozen=True)
class Theorem:
    """A published theorem that a line may rest on: its name, statement, conditions and source.

    ``source`` is the bibliographic text, ``url`` its address; ``relations`` are those of a line that follows
    from it; one ``of_normals`` is for lines of which a family is normal.
    """

    name: str
    says: str
    conditions: str
    source: str
    url: str | None = None
    relations: str = "=≤<≥>~⇔"
    of_normals: bool = False


@dataclass(frozen=True, kw_only=True)
class LineCheck:
    """The check that decides a line, and the assumptions that the line rests on.

    Args:
        compare: Returns where a line follows, given the line before, this line and their relation; else it
            raises ``StepError``, also where that could not be decided.
        words: Its name in print, such as "algebra".
        relations: How lines may be related that it decides.
        given: Inequalities of SymPy under which alone the line holds.
        needs: Other relations under which alone it holds, such as values that are put in.
        assumed: Assumptions that are stated besides ``given``, each a relation or a sentence.
        laws: The laws of the families that it assumes, None where it needs none.
        cites: The theorems that it rests on, none where it decides the line by itself.
        is_exact: Whether it decides a line exactly, so that the second net tries fewer points.
    """

    compare: Compare = field(hash=False)
    words: str = ""
    relations: str = "="
    given: tuple[Any, ...] = ()
    needs: tuple[Any, ...] = ()
    assumed: tuple[Any, ...] = ()
    laws: Laws | None = field(default=None, hash=False)
    cites: tuple[Theorem, ...] = ()
    is_exact: bool = True

    @property
    def conditions(self) -> tuple[Any, ...]:
        """Relations of SymPy under which alone the line holds."""
        return tuple(dict.fromkeys((*self.given, *self.needs)))

    @property
    def assumes(self) -> tuple[str, ...]:
        """The line's assumptions besides laws, in sentences."""
        everything = (*self.given, *self.assumed)
        return tuple(dict.fromkeys(x if isinstance(x, str) else f"${in_line(x)}$." for x in everything))

    def decide(self, before: Any, after: Any, relation: Relation) -> None:
        """Return where the line follows.

        Raises:
            StepError: it does not, or that could not be decided.
        """
        if relation not in self.relations:
            allowed = " or ".join(self.relations)
            raise StepError(
                f"the line is related by {relation}, but this check, {self.words}, is for {allowed}"
            )
        # An equation that SymPy decided when it was written is True or False: nothing is left to check.
        if isinstance(before, BooleanAtom) or isinstance(after, BooleanAtom):
            raise StepError("it is True or False at once; write it as Eq(…, …, evaluate=False)")
        self.compare(before, after, relation)


@dataclass(frozen=True)
class Line:
    """One line of a chain: its expression, its reason, its check, and how it stands to the line before."""

    expression: Any
    because: str
    check: LineCheck = field(hash=False)
    relation: Relation = "="

    def __post_init__(self) -> None:
        check: Any = self.check  # as it is given, whatever it is declared to be
        if not (isinstance(check, LineCheck) and isinstance(self.because, str)):
            form = 'say the reason, then the check: then(…, "why it follows", algebra)'
            raise ClaimError(f"line {plain(self.expression)}: {form}")


class Related(Function):  # type: ignore[misc]  # SymPy has no types
    """Two expressions, or propositions, with the sign of how they stand to each other between them."""

    nargs = 3


@dataclass(frozen=True)
class CheckedLine:
    """A line with its outcome: ``problem`` says why it fails, ``tried`` how the second net tried it.

    ``problem`` is empty where the check took the line and nothing refuted it, ``tried`` where the line could
    be evaluated at no point.
    """

    line: Line
    problem: str = ""
    tried: str = ""


class Chain:
    """A derivation: a start and the lines that lead from it to an end.

    Args:
        start: The expression that it begins with.
        lines: The lines that follow, each from the line before.
        name: Its name in texts and experiments; a claim's main chain needs none.
        title: Its heading on the page.
        defines: The start in words, where it is not the quantity that the claim is about.
        given: Conditions under which all lines hold, as relations of SymPy between symbols. What a check of
            a line says of symbols as its own ``given`` is among them.

    Example:
        >>> Chain(Var(score), title="By moments").then(E(score**2) - E(score) ** 2, "definition", algebra)
    """

    def __init__(
        self,
        start: Any,
        *lines: Line,
        name: str = "",
        title: str = "",
        defines: str = "",
        given: tuple[Any, ...] = (),
    ) -> None:
        self.start, self.lines = sympify(start), lines
        self.name, self.title, self.defines = name, title, defines
        # What a line needs of drawn numbers, such as |x_j| ≤ M, is said of that line alone.
        conditions = (each for line in lines for each in line.check.given if not families_of(each))
        self.stated, self.given = given, tuple(dict.fromkeys((*given, *conditions)))

    def then(self, expression: Any, because: str, check: LineCheck, relation: Relation = "=") -> Chain:
        """Return the chain with a further line, as ``Line`` has it."""
        return self.through((expression, because, check, relation))

    def through(self, *lines: tuple[Any, str, LineCheck] | tuple[Any, str, LineCheck, Relation]) -> Chain:
        """Return the chain with further lines: expression, reason, check, and a relation but for "="."""
        words = {"name": self.name, "title": self.title, "defines": self.defines}
        return Chain(self.start, *self.lines, *(Line(*line) for line in lines), **words, given=self.stated)

    @property
    def end(self) -> Any:
        """The expression of the last line."""
        return sympify(self.lines[-1].expression) if self.lines else self.start

    @property
    def relation(self) -> Relation:
        """How the end stands to the start.

        Raises:
            ClaimError: lines go in opposite directions, or "~" is mixed with a bound.
        """
        # An equation composes with anything; ≤ with < makes <, and ≤ with ≥ or "~" makes nothing.
        relations = {line.relation for line in self.lines} - {"="}
        if relations in ({"≤", "<"}, {"≥", ">"}):
            relations -= {"≤", "≥"}
        if len(relations) > 1:
            directions = ", ".join(sorted(relations))
            raise ClaimError(
                f"chain {self.name or self.start}: its lines go in several directions: {directions}"
            )
        return next(iter(relations), "=")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """All that its lines assume, in sentences: laws, what checks say, conditions, domains of symbols."""
        expressions = [self.start, *(sympify(line.expression) for line in self.lines)]
        families = set().union(*map(families_of, expressions))
        laws: dict[Family, Law] = {}
        for line in self.lines:
            for family, law in (line.check.laws or {}).items():
                # The law of which most is assumed serves all lines.
                laws[family] = max(
                    laws.get(family, law), law, key=lambda known: (known.whole, len(known.raw))
                )
        sentences = sentences_of({family: law for family, law in laws.items() if family in families})
        if not laws and any(expression.has(E) for expression in expressions):
            sentences.append("Any law for which the means exist.")
        sentences += [words for line in self.lines for words in line.check.assumes]
        sentences += [f"${in_line(condition)}$." for condition in self.given]
        # The domains of symbols that are neither indices, sizes, deviations nor any real number.
        symbols = set().union(*(expression.free_symbols for expression in expressions)) - set(SIZES)
        for symbol in sorted(symbols, key=str):
            sign = "positive" if symbol.is_positive else "not negative" if symbol.is_nonnegative else ""
            kind = " ".join(["a", *sign.split(), "whole number"]) if symbol.is_integer else sign
            if kind and type(symbol) is Symbol and not str(symbol).startswith("sigma"):
                sentences.append(f"${latex(symbol)}$ is {kind}.")
        return tuple(dict.fromkeys(sentences))

    @cached_property
    def checked(self) -> tuple[CheckedLine, ...]:
        """Its lines, decided by their checks and tried by the second net, as far as the first that fails."""
        # A column of a program stands as a drawn number of unknown law: the line holds whatever that is.
        checked, before = list[CheckedLine](), as_drawn(self.start)
        for line in self.lines:
            problem, tried, after = "", "", as_drawn(line.expression)
            try:
                line.check.decide(before, after, line.relation)
                conditions = tuple(map(as_drawn, (*self.given, *line.check.conditions)))
                refuting = partial(refute, before, line.relation, after, line.check.laws, conditions)
                # An exact check leaves little to refute: a few points do, unless none could be evaluated.
                tried = (line.check.is_exact and refuting(briefly=True)) or refuting()
            except (StepError, Counterexample) as error:
                problem = str(error)
            checked.append(CheckedLine(line, problem, tried))
            if problem:
                break  # what follows would rest on it
            before = after
        return tuple(checked)

    @property
    def problem(self) -> str:
        """Which line fails and why; empty where all hold."""
        for number, line in enumerate(self.checked, 1):
            if line.problem:
                return f"{self.title or self.name or 'the chain'}, line {number}: {line.problem}"
        return ""


@dataclass(frozen=True)
class Derivation:
    """The chains of a claim: the main chain, and others, with names, that it rests on or speaks of.

    Chains are in the order in which they are read. Where ``nothing`` says why nothing is derived for the
    statement itself, none of them is the main chain.
    """

    chains: tuple[Chain, ...]
    nothing: str = ""

    @classmethod
    def of(cls, given: Any) -> Derivation:
        """Return the result of an author's ``derive``, a chain, several or a derivation, as a derivation.

        Of several, the main chain is that without a name.

        Raises:
            ClaimError: it is something else, no chain or two are without a name, or two have the same.
        """
        if isinstance(given, Derivation):
            return given
        chains = tuple(given) if isinstance(given, Iterable) else (given,)
        if not chains or not all(isinstance(chain, Chain) for chain in chains):
            raise ClaimError("its derive returns no chain; end it with return Chain(start).then(…)")
        names = [chain.name for chain in chains]
        if len(chains) > 1 and (names.count("") != 1 or len(set(names)) < len(names)):
            raise ClaimError(
                "its derive returns several chains; give each but the main one a name of its own"
            )
        return cls(chains)

    @property
    def main(self) -> Chain | None:
        """The chain of the claim's own statement, None where nothing is derived for it."""
        if self.nothing:
            return None
        # Where there is one chain, it is the main chain, whatever its name.
        return next(chain for chain in self.chains if not chain.name or len(self.chains) == 1)

    @property
    def others(self) -> Mapping[str, Chain]:
        """The chains with names."""
        return {chain.name: chain for chain in self.chains if chain is not self.main}

    @property
    def start(self) -> Any:
        """The start of the main chain: the quantity that the claim is about."""
        return self._main.start

    @property
    def end(self) -> Any:
        """The end of the main chain."""
        return self._main.end

    @property
    def relation(self) -> Relation:
        """How the end of the main chain stands to its start."""
        return self._main.relation

    @property
    def _main(self) -> Chain:
        if self.main is None:
            raise ClaimError("nothing is derived for the claim itself; name a chain")
        return self.main

    def __getitem__(self, name: str) -> Chain:
        """Return the chain of this name.

        Raises:
            ClaimError: there is none.
        """
        if name not in self.others:
            raise ClaimError(unknown("chain", name, self.others, "name it with Chain(…, name=…)"))
        return self.others[name]

    @cached_property
    def problem(self) -> str:
        """Which line fails and why; empty where all hold."""
        return next((chain.problem for chain in self.chains if chain.problem), "")

    @property
    def cited(self) -> tuple[Theorem, ...]:
        """The theorems that its lines rest on, each once."""
        lines = (line for chain in self.chains for line in chain.lines)
        return tuple(dict.fromkeys(theorem for line in lines for theorem in line.check.cites))
