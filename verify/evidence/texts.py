"""What texts, formulas and numbers of a record may hold.

A results file may come from anyone, whatever its seal says. Citations and exports hand formulas on to TeX,
where commands could read files, write them or redefine what follows: so a formula holds mathematics alone.
The names are those of LaTeX, amsmath and amssymb that only set mathematics.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, FailFast, Field
from pydantic_core import PydanticCustomError

from verify.text.escapes import CONTROLS, pieces

_LONGEST = 20_000
_DEEPEST = 100
_TOKEN = re.compile(r"\\(?P<name>[A-Za-z]+|.|\Z)|(?P<brace>[{}])|(?P<foreign>[%#$`@\"]|\^\^)", re.DOTALL)
_SIGNS = frozenset(",;:!>{}|%#$&_ \\")
_ENVIRONMENT = re.compile(r"\s*\{(?P<name>[a-z]+)\*?\}")
_NAMES = """
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu xi
omicron pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda
Xi Pi Sigma Upsilon Phi Psi Omega digamma varGamma varDelta varTheta varLambda varXi varPi varSigma
varUpsilon varPhi varPsi varOmega aleph beth gimel daleth ell hbar hslash imath jmath wp Re Im eth partial
nabla infty emptyset varnothing forall exists nexists neg lnot top bot angle measuredangle sphericalangle
triangle square blacksquare diamond Diamond lozenge star bigstar surd complement prime backprime degree
dagger ddagger sharp flat natural frac dfrac tfrac cfrac binom dbinom tbinom sqrt root genfrac stackrel
overset underset substack overbrace underbrace overline underline overrightarrow overleftarrow widehat
widetilde hat check breve acute grave tilde bar vec dot ddot dddot mathring not sum prod coprod int iint
iiint oint bigcup bigcap bigsqcup bigvee bigwedge bigoplus bigotimes bigodot biguplus limits nolimits
displaylimits lim limsup liminf varlimsup varliminf injlim projlim arccos arcsin arctan arg cos cosh cot
coth csc deg det dim exp gcd hom inf ker lg ln log max min Pr sec sin sinh sup tan tanh operatorname
operatornamewithlimits mathop mathbin mathrel mathord mathopen mathclose mathpunct mathinner bmod pmod mod
pod le leq ge geq ne neq equiv approx approxeq sim simeq cong propto asymp doteq models prec succ preceq
succeq ll gg lll ggg leqslant geqslant lesssim gtrsim lessgtr gtrless lt gt nless ngtr nleq ngeq nsim
ncong in ni notin subset supset subseteq supseteq nsubseteq nsupseteq subsetneq supsetneq sqsubset
sqsupset mid nmid parallel nparallel perp vdash dashv vDash smile frown bowtie to gets mapsto longmapsto
leftarrow rightarrow leftrightarrow longleftarrow longrightarrow longleftrightarrow Leftarrow Rightarrow
Leftrightarrow Longleftarrow Longrightarrow Longleftrightarrow uparrow downarrow updownarrow Uparrow
Downarrow Updownarrow nearrow searrow swarrow nwarrow hookrightarrow hookleftarrow rightharpoonup
rightharpoondown leftharpoonup leftharpoondown rightleftharpoons xrightarrow xleftarrow implies impliedby
iff leadsto therefore because pm mp times div cdot ast circ bullet cap cup uplus sqcap sqcup vee wedge
land lor setminus smallsetminus oplus ominus otimes oslash odot bigcirc dotplus ltimes rtimes amalg wr
dots ldots cdots vdots ddots dotsb dotsc dotsi dotsm dotso colon vert Vert lvert rvert lVert rVert
backslash left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm Bigm biggm
Biggm lbrace rbrace lbrack rbrack langle rangle lfloor rfloor lceil rceil ulcorner urcorner llcorner
lrcorner mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr mathnormal boldsymbol bm pmb
text textrm textbf textit textsf texttt mbox displaystyle textstyle scriptstyle scriptscriptstyle rm bf it
sf tt cal quad qquad enspace thinspace medspace thickspace negthinspace negmedspace negthickspace phantom
hphantom vphantom smash mathstrut strut cancel boxed begin end hline cr
"""
_COMMANDS = frozenset(_NAMES.split())
_ARRAYS = "aligned alignedat array bmatrix cases gathered matrix pmatrix smallmatrix split vmatrix"
_ENVIRONMENTS = frozenset(_ARRAYS.split())


def formula(latex: str) -> str:
    """Return a formula as it is.

    Raises:
        PydanticCustomError: it is no mathematics, its braces do not pair, or it is too long or too deep.
    """
    if len(latex) > _LONGEST:
        raise PydanticCustomError("long", "is longer than {most} characters; shorten it", {"most": _LONGEST})
    if found := CONTROLS.search(latex):
        raise _refusal(found[0])
    depth = 0
    for token in _TOKEN.finditer(latex):
        depth += {"{": 1, "}": -1}.get(token["brace"] or "", 0)
        wrong = token["foreign"] or _foreign(token, latex)
        if wrong or not 0 <= depth <= _DEEPEST:
            shown = wrong or ("}" if depth < 0 else "{")
            raise _refusal(shown)
    if depth:
        raise _refusal("{")
    return latex


def _foreign(token: re.Match[str], latex: str) -> str:
    """Return what of a command is no mathematics, or nothing."""
    name = token["name"]
    if name is None:
        return ""
    if name in {"begin", "end"}:
        environment = _ENVIRONMENT.match(latex, token.end())
        known = environment is not None and environment["name"] in _ENVIRONMENTS
        return "" if known else token[0]
    return "" if name in _SIGNS or name in _COMMANDS else token[0]


def _refusal(sign: str) -> PydanticCustomError:
    return PydanticCustomError(
        "formula",
        "has a formula with {sign}, which is unpaired or no mathematics; correct the formula",
        {"sign": sign if sign.isprintable() else ascii(sign)},
    )


_MOST = 1000
_AT_HAND = 1024  # texts that need not be looked at again: four of five in a record stand there before
_Item = TypeVar("_Item")


def line(text: str) -> str:
    """Return plain text as it is.

    Raises:
        PydanticCustomError: it is too long, or has more than one line or other control characters.
    """
    if len(text) > _LONGEST:
        raise PydanticCustomError("long", "has more than {most} characters; shorten it", {"most": _LONGEST})
    if found := CONTROLS.search(text):
        sign = found[0].encode("unicode_escape").decode("ascii")
        raise PydanticCustomError("control", "holds the control character {sign}; remove it", {"sign": sign})
    return text


@lru_cache(maxsize=_AT_HAND)
def prose(text: str) -> str:
    """Return text that may hold formulas between dollar signs as it is.

    Raises:
        PydanticCustomError: `line` or `formula` refuses it.
    """
    for piece in pieces(line(text)):
        if piece.is_formula:
            formula(piece.text)
    return text


def code(text: str) -> str:
    """Return plain text in any number of lines as it is.

    Raises:
        PydanticCustomError: `line` refuses one of them.
    """
    line(text.replace("\n", " "))
    return text


def in_utc(text: str) -> datetime:
    """Return a date and time in ISO 8601 in UTC; one without a zone counts as UTC.

    Raises:
        ValueError: it is none, or out of range in UTC.
    """
    given = datetime.fromisoformat(text)
    try:
        return (given if given.tzinfo else given.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is out of range in UTC") from error


def few(data: object) -> object:
    """Return what is given as it is; of millions of names each would be a mistake to keep in mind.

    Raises:
        PydanticCustomError: it has more names than any part of a record.
    """
    if isinstance(data, dict) and len(data) > _MOST:
        raise PydanticCustomError("many", "has more than {most} names; remove some", {"most": _MOST})
    return data


def moment(text: str) -> str:
    """Return a date and time in ISO 8601 as it is.

    Raises:
        ValueError: `in_utc` refuses it.
    """
    in_utc(text)
    return text


def refuse(*mistakes: tuple[bool, str]) -> None:
    """Refuse what parts of a record say together: the first of the pairs (is it so?, what is wrong).

    Raises:
        PydanticCustomError: something is wrong.
    """
    for is_wrong, what in mistakes:
        if is_wrong:
            raise PydanticCustomError("nonsense", "{what}", {"what": what})


def refuse_repeated(names: Iterable[str], of: str) -> None:
    """Refuse a name that is given twice.

    Raises:
        PydanticCustomError: one is.
    """
    seen: set[str] = set()
    for name in names:
        refuse((name in seen, f"{name} is the name of two {of}"))
        seen.add(name)


Line = Annotated[str, AfterValidator(line)]
Text = Annotated[str, AfterValidator(prose)]
Many = Annotated[tuple[_Item, ...], FailFast()]
"""Any number of items; where one is wrong, the next are not looked at."""
Named = Annotated[dict[Text, _Item], BeforeValidator(few)]
"""A few items by their names."""
Formula = Annotated[str, AfterValidator(formula)]
Code = Annotated[str, AfterValidator(code)]
Moment = Annotated[str, AfterValidator(moment)]
SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Slug = Annotated[str, Field(pattern=SLUG, max_length=200)]
Chapter = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,100}$")]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,99}$")]
Address = Annotated[str, Field(pattern=r"^https?://[!#-;=?-\[\]_a-z~]{1,2000}$")]
Evidence = Annotated[str, Field(pattern=r"^(verdict|(check|control|fact|compute):[a-z0-9]+(-[a-z0-9]+)*)$")]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Trials = Annotated[int, Field(gt=0, le=2**63 - 1)]
Seed = Annotated[int, Field(ge=0, lt=2**4096)]
Rate = Annotated[float, Field(gt=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(ge=0)]
