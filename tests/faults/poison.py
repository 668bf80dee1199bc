"""Every text field of a results file, found from its model, and a record in which each of them stands."""

import enum
import json
from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from tests.auditing.records import bad
from tests.judged import judged
from tests.report.records import record
from verify.evidence import Calibration, FalseClaims, Falsified, Presentation, Record, RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import stored_table
from verify.evidence.runs import DeviceRecord

Path = tuple[str | int, ...]

POISONS = {
    "tex": r"evil \input{evil} \write18{evil} % ^^5cinput{evil} #1 & _ ~ {",
    "tex in a new line": "evil\n\\input{evil}",
    "html": "\"'><script>evil()</script><img src=x onerror=evil()></title></svg>]]><!-- ",
    "markdown": "| **evil** <b>x</b> [a](javascript:evil) ![x](//evil) `evil` <http://evil.example> &lt; #",
    "links": "http://evil.example www.evil.example evil@evil.example [evil]: http://evil.example ](x)",
    "restructured text": "`evil <http://evil.example>`_ |evil| evil_ :raw:`x` http://evil.example **e** ..",
    "bibtex": "}, evil = {x}} @evil{evil, a = {b",
    "escape": "\x1b[2Jevil",
    "bidi": "\u202eevil",
    "nul": "evil\0",
    "half a character": "evil\ud800",
    "formula that reads": r"evil $\input{evil}$",
    "formula that links": r"evil $\href{javascript:evil()}{x}$",
    "formula with a tag": "evil $a<script>evil()</script>b$",
    "formula with a link": "evil $[a](javascript:evil)$",
    "formula that ends early": "evil $a}{b$",
    "formula in verbatim": "evil $a`b$",
    "script address": "javascript:evil()",
    "host": "//evil.example",
}


def sample() -> RunRecord:
    """Return a record in which every text field has a value."""
    run = record()
    claim, *others = run.claims[:3]
    calibration = stored_table(Calibration)
    one = calibration.together[0]
    reference = claim.references[0].model_copy(update={"url": "https://example.org/paper"})
    first = claim.derivation.routes[0].model_copy(
        update={"name": "mean", "theorem": "a = b", "subject": "a", "result": "b", "assumptions": ("So.",)}
    )
    more = {"beyond": "the remainder", "assumptions": ("So it is.",)}
    routes = (first, *claim.derivation.routes[1:])
    derivation = claim.derivation.model_copy(update=more | {"routes": routes})
    own = {"chapter": "user", "authors": ("A. Author",)}
    update: dict[str, Any] = {"references": (reference,), "derivation": derivation, **own}
    claim = claim.model_copy(update=update)
    source = run.sources[0].model_copy(
        update={"author": "A. Author", "date": "10 March 2025", "url": "https://example.org"}
    )
    device = DeviceRecord(name="cuda", model="a card", library="PyTorch 2")
    settings = {
        "settings": run.run.settings.model_copy(update={"device": device}),
        "claims": (claim.id,),
        "pack": "introductions",
        "numbers": {claim.id: "1.2"},
        "presentation": Presentation(title="A title", question="A question?", author="A. Author"),
        "phases_s": {"derive": 2.1},
        "spent_s": {claim.id: {"derivation": 1.0}},
    }
    changed = run.model_copy(
        update={
            "claims": (claim, *others),
            "sources": (source, *run.sources[1:]),
            "run": run.run.model_copy(update=settings),
            "calibration": calibration.model_copy(
                update={"rows": calibration.cells(one), "together": (one,)}
            ),
            "false_claims": stored_table(FalseClaims),
            "falsified": stored_table(Falsified),
        }
    )
    return judged(changed)


def audit_sample() -> AuditRecord:
    """Return an audit in which every text field has a value."""
    audit = bad(2, 2)
    settings = audit.settings.model_copy(update={"intended": "1/sqrt(d)", "allow_unseen": ("output",)})
    seen = {"differences": ("layers differ in their masks",), "unseen": ("calls",)}
    declared = {"weights": "clipped=0.1", "mask": "causal"}
    layers = tuple(one.model_copy(update={"declared": declared}) for one in audit.layers)
    return audit.model_copy(update={"settings": settings, "layers": layers, **seen}).sealed()


def text_fields(model: type[Record] = RunRecord) -> set[tuple[str, str]]:
    """Return model and name of every field that may hold text of any kind, of a model and all within it."""
    found: set[tuple[str, str]] = set()
    for name, field in model.model_fields.items():
        kinds = set(_kinds(field.annotation))
        if str in kinds:
            found.add((model.__name__, name))
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, Record):
                found |= text_fields(kind)
    return found


def _kinds(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Literal:
        return
    if origin in {Union, UnionType} or get_args(annotation):
        for one in get_args(annotation):
            yield from _kinds(one)
    elif not (isinstance(annotation, type) and issubclass(annotation, enum.Enum)):
        yield annotation


def places(
    value: Any, here: Path = (), of: tuple[str, str] = ("", "")
) -> Iterator[tuple[tuple[str, str], Path]]:
    """Yield every text of a record: the model and field it stands in, and its path in the JSON form.

    Names in a dictionary count as texts; their path ends with the name and a dollar sign.
    """
    if isinstance(value, Record):
        for name, field in type(value).model_fields.items():
            yield from places(
                getattr(value, name), (*here, field.alias or name), (type(value).__name__, name)
            )
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield of, (*here, name, "$")
            yield from places(inner, (*here, name), of)
    elif isinstance(value, tuple):
        for number, inner in enumerate(value):
            yield from places(inner, (*here, number), of)
    elif type(value) is str:
        yield of, here


def poisoned(content: dict[str, Any], path: Path, text: str) -> dict[str, Any]:
    """Return a record's JSON form with one text replaced."""
    changed: dict[str, Any] = json.loads(json.dumps(content))
    is_name = path[-1] == "$"
    *outer, last = path[:-1] if is_name else path
    inside: Any = changed
    for key in outer:
        inside = inside[key]
    if is_name:
        inside[text] = inside.pop(last)
    else:
        inside[last] = text
    return changed
