# ruff: noqa: E501 - the probe is JavaScript
"""The page in a real browser: no error, nothing fetched, and everything on it works."""

import io
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import pikepdf
import pytest

from tests.report.browser import IN_A_BROWSER, opened
from verify.evidence import Proof, RunRecord
from verify.report.html import render_html

pytestmark = IN_A_BROWSER

PROBE = """async () => {
const $ = (s) => document.querySelector(s), $$ = (s) => [...document.querySelectorAll(s)];
const found = {};
const change = (element, value, kind) => {
  element.value = value;
  element.dispatchEvent(new Event(kind, { bubbles: true }));
};
const slider = (scene) => $(`[data-scene=${scene}] input[name=dimension]`);
const picture = (scene) => $(`[data-scene=${scene}] .picture`).innerHTML;
const reading = (scene) => $(`[data-scene=${scene}] .reading`).textContent;
const label = (scene) => $(`[data-scene=${scene}] .picture svg`).getAttribute("aria-label");
const ticks = (scene) => $$(`[data-scene=${scene}] .picture text.end, [data-scene=${scene}] .picture text.middle`).map((one) => one.textContent).filter((one) => /^[−0-9.]+$/.test(one)).join(" ");
found.scenes = ["variance", "softmax", "gradient"].map((scene) => {
  change(slider(scene), 0, "input");
  const before = [picture(scene), ticks(scene)];
  change(slider(scene), slider(scene).max, "input");
  return { moved: picture(scene) !== before[0], axes: ticks(scene) === before[1], said: reading(scene), label: label(scene), value: slider(scene).ariaValueText };
});
found.dots = $$("[data-scene=variance] circle.measured").length;
const low = picture("gradient"), picker = $("[data-scene=gradient] input[name=row]");
change(picker, 10, "input");
found.picked = [picture("gradient") !== low, picker.ariaValueText];
$("[data-scene=softmax] button[data-n='256']").click();
found.keys = [label("softmax"), $$("[data-scene=softmax] button[aria-pressed=true]").map((one) => one.textContent)];
change(slider("variance"), 0, "input");
$("[data-scene=variance] button[data-more]").click();
found.more = slider("variance").ariaValueText;
$("[data-scene=variance] button[data-d='64']").click();
found.pressed = [slider("variance").ariaValueText, reading("variance")];
found.folded = $$("details.row").every((one) => !one.open);
const shown = () => $$("article.card:not([hidden])").map((card) => card.id);
const filters = $("#filters").elements;
change(filters.q, "saturates dimension", "input");
found.searched = shown();
found.count = $("#filters output").textContent;
found.address = location.search;
change(filters.q, "", "input");
change(filters.derivation, "derived, citing", "input");
found.citing = shown();
change(filters.derivation, "", "input");
change(filters.source, filters.source.options[1].value, "input");
found.ofSource = [filters.source.value, shown()];
location.hash = "#score-mean";
const after = (work) => new Promise((done) => setTimeout(() => { work(); done(); }, 60));
const told = [];
navigator.clipboard.writeText = async (text) => { told.push(text); };
await after(() => { location.hash = "#score-variance.variance-d64"; });
await after(() => {
  const row = document.getElementById("score-variance.variance-d64");
  found.opened = [!row.closest("article").hidden, row.closest("details").open, row.closest("details.row").open];
  found.everything = shown().length;
  const take = row.querySelector(".take");
  for (const button of take.querySelectorAll("button")) button.click();
  const table = row.closest("table");
  table.querySelector("button.sort").click();
  table.querySelector("button.sort").click();
  found.sorted = [...table.querySelectorAll("tbody:first-of-type tr:not(.group)")].map((one) => one.cells[1].textContent);
  const svg = $("#score-variance figure svg"), box = svg.getBoundingClientRect();
  found.taken = $$("#score-variance figcaption button").map((one) => one.textContent);
  const mark = svg.querySelector("use[clip-path], g use") || svg;
  const place = mark.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove", {
    clientX: place.x + place.width / 2, clientY: place.y + place.height / 2, bubbles: true,
  }));
  found.tip = $("#score-variance .tip").textContent;
  dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
});
await after(() => {
  const answer = $("p.answer");
  const copied = () => {
    const taken = new DataTransfer();
    answer.dispatchEvent(new ClipboardEvent("copy", { clipboardData: taken, bubbles: true, cancelable: true }));
    return [taken.getData("text/plain"), taken.getData("text/html")];
  };
  const whole = document.body.innerHTML;
  getSelection().selectAllChildren(answer);
  found.copied = copied();
  const letters = $$("p.answer math mi");
  getSelection().setBaseAndExtent(letters[1].firstChild, 0, letters.at(-1).firstChild, 0);
  found.part = copied()[0];
  getSelection().selectAllChildren(letters.at(-1));
  found.inside = copied()[0];
  found.left = document.body.innerHTML === whole;
  getSelection().removeAllRanges();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }));
  found.focused = document.activeElement.name;
});
return { ...found, told };
}"""
WANTED = {
    "rope": "rotary-positions",
    "fp16": "half-precision",
    "qk-norm": "query-key-normalisation",
    "differential transformer": "differential-attention",
    "entropy collapse": "attention-entropy",
    "kv cache": "grouped-queries",
    "1/sqrt(d_k)": "sqrt-scaling",
    "sqrt(dk)": "sqrt-scaling",
    "√dk": "sqrt-scaling",
    "learning rate": "training-stability",
}
SEARCH = """(wanted) => {
  const box = document.querySelector("#filters [name=q]"), found = {};
  for (const words of [...wanted, ""]) {
    box.value = words;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    found[words] = [...document.querySelectorAll("article.card:not([hidden])")].map((one) => one.id);
  }
  return found;
}"""
WIDTHS = """() => {
  const box = document.querySelector(".keys").closest(".scroll");
  return { page: document.documentElement.scrollWidth, table: box.scrollWidth - box.clientWidth };
}"""
FOLD = """(open) => {
  for (const name of ["score-variance", "rotary-positions"]) document.querySelector(`#${name} .row`).open = open;
  document.querySelector(".source").open = open;
}"""
PAPER = "getComputedStyle(document.body).backgroundColor"
# To look at all 30,000 parts of formulas takes minutes: a text in the place of each has the same colours.
AUDIT = """async () => {
  for (const one of document.querySelectorAll("details")) one.open = true;
  dispatchEvent(new Event("resize"));
  for (const one of document.querySelectorAll("math")) one.innerHTML = "<mtext>x</mtext>";
  const { violations, passes } = await axe.run(document);
  return { checked: passes.length, violations: violations.map((v) => [v.id, v.impact, v.nodes.map((n) => n.html)]) };
}"""
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def pages(reference: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return what gives the address of the page of all claims, or of some."""

    @cache
    def made(*names: str) -> str:
        update = {"claims": tuple(map(reference.claim, names))} if names else {}
        file = tmp_path_factory.mktemp("page") / "page.html"
        file.write_text(render_html(reference.model_copy(update=update)), encoding="utf-8")
        return file.as_uri()

    return made


@pytest.fixture(scope="module")
def state(pages: Callable[..., str], browser: Any) -> dict[str, Any]:
    """Return what the page of all claims, which is loaded once, is like on a phone and in a wide window."""
    with opened(browser, pages(), viewport=PHONE, reduced_motion="reduce") as shown:
        widths = shown.evaluate(WIDTHS)
        shown.set_viewport_size(WIDE)
        sheets = []
        for is_open in (False, True):
            shown.evaluate(FOLD, is_open)
            with pikepdf.open(io.BytesIO(shown.pdf())) as printed:
                sheets.append(len(printed.pages))
        shown.evaluate(FOLD, False)
        by_words = shown.evaluate(SEARCH, list(WANTED))
        return {"widths": widths, "sheets": sheets, "by_words": by_words, **shown.evaluate(PROBE)}


def test_the_scenes_follow_their_sliders(state: dict[str, Any], reference: RunRecord) -> None:
    """Picture, reading and the slider's own words change; no axis does; the run's numbers are linked."""
    for scene in state["scenes"]:
        assert scene["moved"]
        assert scene["axes"]
        assert "drawn here" in scene["said"]
        assert "1024" in scene["label"]
        assert scene["value"] == "1024 components"
    checks = reference.claim("score-variance").checks
    (wide,) = (check for check in checks if check.id == "variance-d1024")
    measured = re.search(r"The run measured ([\d.]+)", state["scenes"][0]["said"])
    assert measured
    assert float(measured[1]) == pytest.approx(wide.estimate, rel=1e-3)
    assert state["dots"] == sum(check.id.startswith("variance-d") for check in checks) + 1
    # The buttons in their prose: numbers of components and keys, one more component, the row shown.
    assert "256 keys" in state["keys"][0]
    assert "256" in state["keys"][1]
    assert state["more"] == "2 components"
    assert state["pressed"][0] == "64 components"
    assert "score-variance.variance-d64" in state["pressed"][1]
    assert state["picked"] == [True, "row 11 of 1000 by size"]


def test_claims_are_found_by_words_derivation_and_source(state: dict[str, Any], reference: RunRecord) -> None:
    """Each leaves what it should, says how many, and stands in the address."""
    assert "softmax-saturation" in state["searched"]
    assert 0 < len(state["searched"]) < 10
    assert state["count"] == f"{len(state['searched'])} of {len(reference.claims)} claims shown"
    assert state["address"] == "?q=saturates+dimension"
    citing = [claim.id for claim in reference.claims if claim.derivation.status is Proof.CITING]
    assert state["citing"] == citing
    source, shown = state["ofSource"]
    said = [statement for statement in reference.statements if f"source-{statement.source}" == source]
    ids = {key for statement in said for key in (statement.claim, *(part.claim for part in statement.parts))}
    assert set(shown) == ids & {claim.id for claim in reference.claims}
    assert state["focused"] == "q"
    # What people call them: short names, code and other spellings, each by a few claims only.
    by_words = state["by_words"]
    assert {words: claim for words, claim in WANTED.items() if claim not in by_words[words]} == {}
    assert len(by_words["rope"]) < 4


def test_a_link_opens_what_it_leads_to(state: dict[str, Any], reference: RunRecord) -> None:
    """Even where it was filtered away and folds within a row: then everything is shown again.

    A check can be taken along: its value with the interval, its key, and its citation.
    """
    assert state["folded"]
    assert state["opened"] == [True, True, True]
    assert state["everything"] == len(reference.claims)
    value, key, citation = state["told"]
    claim = reference.claim("score-variance")
    assert re.fullmatch(r"[\d.]+ \[[\d.]+, [\d.]+\]", value)
    assert key == "score-variance.variance-d64"
    assert citation.startswith(f"sdpa-verify {reference.tool.version}, {key}: ")
    settings = reference.run.settings
    for part in (claim.digest, f"seed {settings.seed}", settings.profile, value.split()[0]):
        assert part.lower() in citation.lower()
    # Figures say their values under the pointer, and as files.
    assert state["taken"] == ["CSV", "SVG"]
    assert re.match(r".+: [\d.]+, [\d.]+", state["tip"])


def test_copied_text_keeps_its_mathematics(state: dict[str, Any]) -> None:
    """As plain text in one line, and as MathML for programs that know it; a formula is copied whole."""
    plain, rich = state["copied"]
    assert "each of the d_k dimensions adds 1 to the variance of the score q·k. Dividing by √d_k" in plain
    assert "<msub><mi>d</mi><mi>k</mi></msub></msqrt></math> restores" in rich
    assert state["part"].startswith("k are independent")
    assert state["part"].endswith("tends to 1 as d_k")
    assert state["inside"] == "d_k"
    assert state["left"]


def test_it_fits_on_paper_and_on_a_phone(state: dict[str, Any]) -> None:
    """Printed are the opening, the scenes, a line for each claim and all statements; else what is open."""
    folded, unfolded = state["sheets"]
    assert 10 < folded < 20
    assert 4 < unfolded < 9
    # A phone scrolls one way only: nothing sticks out, headline numbers stand below each other.
    assert 0 < state["widths"]["page"] <= PHONE["width"]
    assert state["widths"]["table"] <= 0


def test_tables_sort(state: dict[str, Any]) -> None:
    """A second click on a column's head sorts it downwards, by value and not by its letters."""
    values = [float(text.replace("\N{NARROW NO-BREAK SPACE}", "")) for text in state["sorted"]]
    assert values == sorted(values, reverse=True)
    assert len(values) > 5


@pytest.mark.parametrize(
    ("whole", "options", "paper"),
    [
        pytest.param(False, {"viewport": WIDE}, "rgb(255, 255, 255)", id="light"),
        pytest.param(False, {"viewport": WIDE, "color_scheme": "dark"}, "rgb(20, 23, 26)", id="dark"),
        pytest.param(False, {"viewport": {"width": 320, "height": 800}}, "rgb(255, 255, 255)", id="narrow"),
        pytest.param(True, {"viewport": WIDE}, "rgb(255, 255, 255)", id="whole", marks=pytest.mark.by_hand),
    ],
)
def test_axe_finds_no_violation(
    browser: Any, pages: Callable[..., str], whole: bool, options: dict[str, Any], paper: str
) -> None:
    """The auditor of accessibility has nothing to say, whatever the impact: light, dark, at 320 pixels.

    With everything open a few claims have every colour and every width; all are audited by hand.
    """
    few = "score-variance softmax-saturation jacobian-bounds attention-concentration vanishing-or-exploding"
    with opened(browser, pages(*[] if whole else few.split()), **options) as shown:
        assert shown.evaluate(PAPER) == paper
        shown.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        audited = shown.evaluate(AUDIT)
    assert audited["violations"] == []
    assert audited["checked"] > 30
