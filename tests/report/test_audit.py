"""What the page says of an audit: what is wrong first, one line a cause; then all findings."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.auditing.records import bad, good
from tests.report.builders import spaced
from verify.evidence.audits import AuditRecord, Judgement
from verify.evidence.words import figures, held_against, most_serious, shape_of, summary, tokens_of
from verify.report.audit import Audit, FoundGroup, audit_report
from verify.report.html import render_html
from verify.report.parts import Parts
from verify.report.write import write_report

pytestmark = pytest.mark.usefixtures("no_faces")

BAD = bad(2, 2)


def seen(audit: AuditRecord) -> Audit:
    """Return what the report prints of an audit."""
    return audit_report(audit)


def group(view: Audit, layer: int, quantity: str) -> FoundGroup:
    """Return the group of a layer whose quantity starts so."""
    return next(one for one in view.layers[layer].groups if one.quantity.startswith(quantity))


def _with(audit: AuditRecord, *judgements: Judgement) -> AuditRecord:
    """Return an audit of one layer whose findings have these judgements."""
    layer = audit.layers[0]
    found = tuple(
        layer.findings[0].model_copy(update={"id": f"f-{n}", "judgement": one})
        for n, one in enumerate(judgements)
    )
    return audit.model_copy(update={"layers": (layer.model_copy(update={"findings": found}),)})


@pytest.mark.parametrize(
    ("judgements", "outcome", "tone"),
    [
        ([Judgement.CONFIRMED] * 2, "The 2 findings that decide are confirmed.", "good"),
        ([Judgement.CONFIRMED], "The 1 finding that decides is confirmed.", "good"),
        ([Judgement.CONFIRMED, Judgement.WARNED], "None of the 2 findings that decide is refuted or", "fair"),
        ([Judgement.CONFIRMED, Judgement.UNDECIDED], "Nothing is refuted, but 1 of the 2 findings", "idle"),
        ([Judgement.REFUTED, Judgement.UNDECIDED], "1 of the 2 findings that decide is refuted.", "bad"),
        ([Judgement.REPORTED], "No finding decides; all are reported.", "idle"),
    ],
)
def test_the_outcome_says_no_more_than_was_found(
    judgements: list[Judgement], outcome: str, tone: str
) -> None:
    """In one sentence, coloured as its judgement."""
    view = seen(_with(good(), *judgements))
    assert view.outcome[0].startswith(outcome)
    assert view.outcome[1] == tone


def test_whose_word_the_intention_is() -> None:
    """The formula, its value and who said so; per layer where they differ."""
    (one,) = seen(good()).intended
    assert (one.value, one.where) == ("0.125", "")
    assert one.origin == "read from the model’s configuration: query_pre_attn_scalar = 64"
    audit = good()
    other = audit.layers[1].intention.model_copy(update={"origin": "default", "where": ""})
    layers = (audit.layers[0], audit.layers[1].model_copy(update={"intention": other}))
    first, second = seen(audit.model_copy(update={"layers": layers})).intended
    assert first.where == "decoder.layers.0.self_attn"
    assert second.where == "decoder.layers.1.self_attn"
    assert second.origin == "assumed, as none was given"


def test_an_audit_that_saw_nothing() -> None:
    """It says so."""
    view = seen(good().model_copy(update={"layers": ()}))
    assert view.seen == "No attention layer was seen."
    assert not any((view.layers, view.shapes))


def test_lines_are_bounded() -> None:
    """A thousand different causes give as many lines as a page has room for, and the number of the rest."""
    audit = bad(2, 2)
    layer = audit.layers[0]
    wrong = layer.findings[0]
    found = tuple(
        wrong.model_copy(update={"id": f"scale-{number}", "cause": f"cause {number}"})
        for number in range(1000)
    )
    many = audit.model_copy(update={"layers": (layer.model_copy(update={"findings": found}),)})
    view = seen(many).found[0]
    assert (len(view.lines), view.more) == (24, 976)


def test_a_reason_stands_before_its_numbers_where_all_give_it() -> None:
    """Else the numbers stand alone."""
    layer = bad(1, 2).layers[0]
    one, other = (
        layer.finding(f"overflow-head-{head}").model_copy(
            update={"judgement": Judgement.WARNED, "reason": reason}
        )
        for head, reason in enumerate(("too low", "too high"))
    )
    same = other.model_copy(update={"reason": "too low"})
    for pair, start in (((one, same), "Too low ("), ((one, other), "Largest $")):
        audit = bad(1, 2).model_copy(update={"layers": (layer.model_copy(update={"findings": pair}),)})
        (line,) = seen(audit).found[2].lines
        assert line.what.startswith(start)


def test_what_could_not_be_estimated_has_no_number() -> None:
    """The quantity alone is named."""
    layer = bad(1, 1).layers[0]
    nothing = layer.findings[0].model_copy(
        update={"estimate": None, "interval": (None, None), "judgement": Judgement.UNDECIDED, "reason": ""}
    )
    audit = bad(1, 1).model_copy(update={"layers": (layer.model_copy(update={"findings": (nothing,)}),)})
    (line,) = seen(audit).found[1].lines
    assert line.what == "Applied scale over the intended one."


def test_a_large_audit_merges_heads_that_are_judged_alike() -> None:
    """A row for each judgement, with the range of the estimates and the hull of the intervals."""
    view = seen(bad(12, 16))
    assert view.merged
    assert sum(len(one.rows) for layer in view.layers for one in layer.groups) < 12 * 10
    confirmed, refuted, nothing = group(view, 11, "Distance from").rows
    assert (confirmed.heads, refuted.heads, nothing.heads) == ("heads 0, 3–15", "head 1", "head 2")
    (row,) = group(view, 0, "$").rows
    assert row.heads == "all 16 heads"
    found = [one for one in bad(12, 16).layers[0].findings if one.kind == "scale-implied"]
    assert row.cells[2].text == f"{min(one.interval[0] or 0.0 for one in found):.4g}"
    assert row.cells[3].text == f"{max(one.interval[1] or 0.0 for one in found):.4g}"
    assert not seen(bad()).merged


LAYER = good(1, 4).layers[0]
FOUND = LAYER.finding("scale-implied-head-0")


@pytest.mark.parametrize(
    ("changes", "shape"),
    [
        ({"heads": 12, "key_heads": 4}, "12 heads (4 for keys), $d_k$ = 64"),
        ({"heads": 1, "key_heads": 1}, "1 head, $d_k$ = 64"),
        ({"d_v": 32}, "4 heads, $d_k$ = 64, $d_v$ = 32"),
        ({"d_v": None}, "4 heads, $d_k$ = 64"),
    ],
)
def test_a_shape_says_what_differs_from_the_usual(changes: dict[str, Any], shape: str) -> None:
    """Fewer heads of keys, and a width of values that is not that of keys."""
    assert shape_of(LAYER.model_copy(update=changes)) == shape


def test_a_layer_is_summed_up_in_a_sentence() -> None:
    """Shape, sequences, tokens, arithmetic and the scale that was meant; a program's name is no formula."""
    assert spaced(summary(LAYER)) == (
        r"4 heads, $d_k$ = 64; 48 sequences of 64 to 512 tokens; float32, sdpa; intended scale "
        r"$\frac{1}{\sqrt{d}}$ = 0.125."
    )
    assert tokens_of(LAYER.model_copy(update={"tokens": (64, 64)})) == "64"
    assert "$x$" not in summary(LAYER.model_copy(update={"backend": "$x$"}))


@pytest.mark.parametrize(
    ("judgements", "worst"),
    [
        ("confirmed warned", Judgement.WARNED),
        ("warned undecided confirmed", Judgement.UNDECIDED),
        ("undecided refuted", Judgement.REFUTED),
        ("confirmed", Judgement.CONFIRMED),
        ("", Judgement.REPORTED),
    ],
)
def test_the_most_serious_judgement_is_of_those_that_decide(judgements: str, worst: Judgement) -> None:
    """What is only reported does not count."""
    found = [FOUND.model_copy(update={"judgement": Judgement(one)}) for one in judgements.split()]
    idle = FOUND.model_copy(update={"judgement": Judgement.REPORTED})
    assert most_serious([idle, *found, idle]) is worst


@pytest.mark.parametrize(
    ("band", "text"),
    [
        (None, ""),
        ((None, None), ""),
        ((None, 2.0), "≤ 2"),
        ((0.0, None), "≥ 0"),
        ((0.5, 2.0), "0.5 to 2"),
        ((0.99, 1.01), "0.99 to 1.01"),
        ((1 - 2e-6, 1 + 2e-6), "1 ± 2×10⁻⁶"),
    ],
)
def test_what_a_finding_is_held_against(band: Any, text: str) -> None:
    """An open side is a bound; a narrow band is its middle and half its width."""
    assert spaced(held_against(FOUND.model_copy(update={"band": band}))) == text


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"interval": (None, None)}, ("0.5", "", "", "")),
        ({"interval": (0.4, None), "standard_error": 0.02}, ("0.500", "0.020", "0.400", "∞")),
        ({"interval": (None, 0.6), "standard_error": None}, ("0.500", "", "−∞", "0.600")),
    ],
)
def test_an_open_end_is_infinite(changes: dict[str, Any], texts: tuple[str, ...]) -> None:
    """Without a standard error the interval says which digits are significant."""
    assert figures(FOUND.model_copy(update={"estimate": 0.5, **changes})) == texts


def test_heads_judged_alike_share_a_row_with_hull_and_largest_error() -> None:
    """An open end of one is an open end of all; another judgement is another row."""
    rows = [
        (0.5, 0.01, (0.4, 0.6), Judgement.CONFIRMED),
        (0.7, 0.03, (0.5, None), Judgement.CONFIRMED),
        (0.6, 0.02, (0.3, 0.9), Judgement.CONFIRMED),
        (0.1, 0.02, (0.0, 0.2), Judgement.REFUTED),
    ]
    found = [
        FOUND.model_copy(
            update={
                "id": f"scale-implied-head-{head}",
                "head": head,
                "estimate": value,
                "standard_error": error,
                "interval": ends,
                "judgement": judgement,
            }
        )
        for head, (value, error, ends, judgement) in enumerate(rows)
    ]
    layer = LAYER.model_copy(update={"findings": tuple(found)})
    # Findings on other layers make the audit a large one.
    many = layer.model_copy(update={"id": "many", "findings": (FOUND,) * 597})
    large = seen(good().model_copy(update={"layers": (layer, many)}))
    ((confirmed, refuted),) = (one.rows for one in large.layers[0].groups)
    assert (refuted.heads, refuted.cells[0].text) == ("head 3", "0.100")
    assert confirmed.heads == "heads 0–2"
    assert [spaced(cell.text) for cell in confirmed.cells] == ["0.5 to 0.7", "≤ 0.03", "0.3", "∞"]
    single = seen(good().model_copy(update={"layers": (layer,)}))
    alone = [row for one in single.layers[0].groups for row in one.rows]
    assert (large.merged, single.merged) == (True, False)
    assert [row.heads for row in alone] == [f"head {n}" for n in range(4)]


@pytest.fixture(scope="module")
def parts() -> Parts:
    """Return the bad audit's view and drawings."""
    return Parts.of(BAD)


@pytest.fixture(scope="module")
def page(parts: Parts) -> str:
    """Return the bad audit's page."""
    return render_html(BAD, parts)


def test_the_page_is_complete(page: str) -> None:
    """Every link leads to an element of the page, no id comes twice, and nothing is fetched."""
    ids = re.findall(r'\bid="?([^\s">]+)', page)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="?([^\s">]+)', page))
    assert {link for link in links if not link.startswith("#")} == {"data:,"}
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert not re.findall(r'src="(?!data:)', page)


def test_an_audit_is_written_whole(tmp_path: Path) -> None:
    """Evidence and page, by their names, and the same bytes when they are made again."""
    audit = good(1, 2)
    written = write_report(audit, tmp_path / "one", lambda _phase: None, 1)
    assert written.problem is None
    assert [path.name for path in written.paths] == ["audit.json", "audit.html"]
    write_report(audit, tmp_path / "two", lambda _phase: None, 1)
    for path in written.paths:
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
