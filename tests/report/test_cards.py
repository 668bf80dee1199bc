"""A claim's card: its alarms, sentences, number and tables; cards and audits' pages word for word."""

from typing import Any

import pytest

from tests.auditing.records import bad, good
from tests.catalogue import CATALOGUE
from tests.report.builders import check, control, spaced
from tests.report.golden import FOLDER, Spelled, audits, cards
from tests.report.records import CLAIMS, SCORE_VARIANCE, record
from verify.evidence import Check, ControlRecord, CoqRecord, Fact, Proof, Reference
from verify.files import shipped_table
from verify.report.audit import audit_report
from verify.report.cards import Card, card
from verify.report.html import render_html
from verify.report.run import Report
from verify.report.tables import check_table


def of(**changes: Any) -> Card:
    """Return the card of the claim with some things changed."""
    claim = SCORE_VARIANCE.model_copy(update=changes)
    return card(record(claim), claim, "1.1")


def page_of(**changes: Any) -> str:
    """Return the page of a run of the claim with some things changed."""
    run = record(SCORE_VARIANCE.model_copy(update=changes))
    return Spelled().render("report.html.j2", Report(run), evidence="results.json", sheet="report.pdf")


def test_what_coq_proved_is_folded_out_with_how_to_check_it() -> None:
    """The theorem, what it rests on, and two commands; a stale record is said to be one."""
    says = "Theorem t (P : space) :\n  0 < 1 ->\n  Var X = 1."
    digests = {"digest": "a" * 64, "library": "b" * 64}
    coq = CoqRecord(theorem="t", statement=says, axioms=("A.b",), version="8.16.1", **digests)
    proved = ("0 &lt; 1 -&gt;", "<code>A.b</code>", "Coq 8.16.1", "coqchk -o -R . SDPA")
    for changes, words in (
        ({"status": Proof.PROVED, "coq": coq}, proved),
        ({"stale": True}, ("differs from this statement",)),
    ):
        page = page_of(derivation=SCORE_VARIANCE.derivation.model_copy(update=changes))
        assert all(word in page for word in words)
        assert ("Two commands check it" in page) is ("coq" in changes)


def test_a_value_is_printed_once_and_only_web_addresses_are_links() -> None:
    """A fact whose formula is its value has no formula; a script is not an address."""
    half = Fact(id="plain", what="p", latex="0.5", value=0.5)
    root = Fact(id="root", what="r", latex=r"\sqrt{2}", value=2**0.5)
    address = Reference(key="a", text="A.", url="https://a.org")
    script = Reference.model_construct(key="b", text="B.", url="javascript:alert(1)")
    page = page_of(facts=(half, root), references=(address, script))
    assert "p: <b>0.5</b>" in page
    assert "r: ⟨√2⟩ = <b>1.41421</b>" in page
    assert 'href="https://a.org"' in page
    assert "javascript" not in page


FIRST, LAST = (check(f"at-d{d}", 1.001 * d, d, error=0.001 * d, cell={"d_k": d}) for d in (4, 64))
OTHER = check("share", 0.5, 0.5, quantity="a share")
BIASED = control("biased-prediction", "it is larger by twice the tolerance", 65.3, 64.1)


def shown(checks: list[Check], controls: list[ControlRecord]) -> tuple[str, str, str]:
    """Return what is printed of a claim with these."""
    made = of(checks=(*checks,), controls=(*controls,)).contrast
    return made.basis, spaced(made.value), spaced(made.wrong)


def test_the_number_is_that_which_refutes_the_first_wrong_version() -> None:
    """Neither the value nearest to its tolerance, nor a control that only moves a number."""
    same: dict[str, Any] = {"interval": FIRST.interval, "cell": dict(FIRST.cell)}
    squared = control("squared", "it is $d_k^2$", 16, FIRST.estimate, **same)
    assert shown([LAST, FIRST, OTHER], [BIASED, squared]) == (
        "Measured",
        r"$\operatorname{Var}(q \cdot k)$ ($d_{k}$ = 4): 4.004 ± 0.004 in [3.984, 4.025], predicted 4 (±1%)",
        "it is $d_k^2$; predicts 16, rejected",
    )


def test_a_number_bears_its_law_where_that_is_not_standard_normal() -> None:
    """A mean of 2 beside a claim that means are 0 would read as a refutation."""
    for laws, text in (
        ({"query": "U(0,1)", "key": "U(0,1)"}, ", law U(0,1)"),
        ({"query": "2·normal", "key": "normal"}, ", query 2·normal, key normal"),
        ({"query": "normal", "key": "normal"}, " ($d_{k}$ = 4)"),
    ):
        moved = FIRST.model_copy(update={"cell": {**FIRST.cell, **laws}})
        assert spaced(of(checks=(moved,), controls=()).contrast.short).endswith(text)


@pytest.mark.parametrize(
    ("estimate", "prediction", "relation", "text"),
    [
        (2.22e-16, 0.0, "=", "2.2×10⁻¹⁶, zero but for rounding"),
        (0.0, 0.0, "=", "0, as predicted"),
        (0.8807970779778823, 0.8807970779778824, "=", "0.8807971, as predicted"),
        (0.99974, 1.0, "≤", "0.99974, predicted ≤ 1"),
    ],
)
def test_exact_numbers_say_how_well_they_agree(
    estimate: float, prediction: float, relation: Any, text: str
) -> None:
    """What differs from zero by rounding alone is called so, and no digit is printed that means nothing."""
    given: dict[str, Any] = {"method": "exact", "tolerance": 1e-12, "scale": 1.0, "quantity": "a distance"}
    exact = check("e", estimate, prediction, error=0.0, relation=relation, **given)
    assert shown([exact], [])[:2] == ("Computed", f"a distance: {text}")


def test_rows_of_one_quantity_stand_under_one_title() -> None:
    """Neighbours in other dimensions; another quantity begins a group of its own."""
    made = [check(f"{name}{n}", n, n, quantity=name, cell={"d_k": n}) for name in "vm" for n in (2, 4)]
    groups, _ = check_table(made)
    assert [" ".join(check.id for check, _ in rows) for _, rows in groups] == ["v2 v4", "m2 m4"]


def test_every_claim_has_other_names() -> None:
    """Each of the catalogue, and none that is not there."""
    assert set(shipped_table("aliases")) == set(CATALOGUE)
    assert all(shipped_table("aliases").values())


def test_layers_that_are_alike_share_a_row() -> None:
    """A sound model of any depth has one, with the worst number of each kind."""
    ((names, _, cells, _),) = audit_report(good(48)).rows
    assert names == "all 48 layers"
    assert [text for _, text in filter(None, cells)] == ["1", "0.07", "0", "< 0.001"]
    assert len(audit_report(bad(4)).rows) == 3


@pytest.mark.usefixtures("no_faces")
def test_names_from_elsewhere_are_only_shown() -> None:
    """A layer's name is no markup and no formula, and an audit that saw nothing says so."""
    audit = good(1)
    layer = audit.layers[0].model_copy(update={"name": "<b>$x$</b>"})
    page = render_html(audit.model_copy(update={"layers": (layer,)}))
    assert "&lt;b&gt;$x$&lt;/b&gt;" in page
    assert "No attention layer was recorded" in render_html(audit.model_copy(update={"layers": ()}))


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """Return the cards and the pages of audits as they come out now."""
    return cards() | audits()


@pytest.mark.parametrize("name", [*(claim.id for claim in CLAIMS), "audit-good", "audit-bad"])
def test_it_is_as_agreed(name: str, drawn: dict[str, str]) -> None:
    """Each equals its golden file; after a wanted change run ``python -m tests.report.golden``."""
    assert drawn[name] == (FOLDER / f"{name}.html").read_text(encoding="utf-8")
