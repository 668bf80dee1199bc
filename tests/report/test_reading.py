# ruff: noqa: E501 - the probes are JavaScript
"""What readers do with the page of a run: search in everyday words, print what is open, hold it narrow."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pikepdf
import pytest

from tests.catalogue import CATALOGUE
from tests.report.test_browser import BROWSER, probed
from verify.evidence.load import shipped
from verify.report.cards import aliases
from verify.report.html import render_html

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome on the PATH"),
]
WANTED = {
    "rope": "rotary-positions",
    "fp16": "half-precision",
    "bf16": "low-precision-scores",
    "alibi": "linear-bias",
    "gqa": "grouped-queries",
    "qk-norm": "query-key-normalisation",
    "dropout": "dropped-weights",
    "layernorm": "projected-tokens",
    "differential transformer": "differential-attention",
    "muon clip": "score-clip",
    "entropy collapse": "attention-entropy",
    "kv cache": "grouped-queries",
    "online softmax": "online-softmax",
    "1/sqrt(d_k)": "sqrt-scaling",
    "sqrt(dk)": "sqrt-scaling",
    "√dk": "sqrt-scaling",
    "learning rate": "training-stability",
}
SEARCH = """<script>
const box = document.querySelector("#filters [name=q]"), found = {};
for (const words of WANTED) {
  box.value = words;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  found[words] = [...document.querySelectorAll("article.card:not([hidden])")].map((one) => one.id);
}
document.body.append(Object.assign(document.createElement("pre"), { id: "probe", textContent: JSON.stringify(found) }));
</script>"""
WIDTHS = """<script>
const box = document.querySelector(".keys").closest(".scroll");
const found = { page: document.documentElement.scrollWidth, table: box.scrollWidth - box.clientWidth };
document.body.append(Object.assign(document.createElement("pre"), { id: "probe", textContent: JSON.stringify(found) }));
</script>"""
OPEN = """<script>
for (const name of ["score-variance", "rotary-positions"]) document.querySelector(`#${name} .row`).open = true;
document.querySelector(".source").open = true;
</script>"""


def test_every_claim_has_other_names() -> None:
    """Each of the catalogue, and none that is not there."""
    assert set(aliases()) == set(CATALOGUE)
    assert all(aliases().values())


@pytest.fixture(scope="module")
def page() -> str:
    """Return the page of the reference run."""
    return render_html(shipped())


def printed(page: str, folder: Path) -> int:
    """Return how many pages the browser prints."""
    file, sheet = folder / "page.html", folder / "page.pdf"
    file.write_text(page, encoding="utf-8")
    command: list[Any] = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
        "--no-pdf-header-footer", f"--print-to-pdf={sheet}", file.as_uri(),
    ]  # fmt: skip
    subprocess.run(command, capture_output=True, timeout=400, check=True)
    with pikepdf.open(sheet) as opened:
        return len(opened.pages)


class TestInABrowser:
    """What only a browser knows."""

    pytestmark = needs_browser

    def test_claims_are_found_by_what_people_call_them(self, page: str, tmp_path: Path) -> None:
        """Short names, code and other spellings, each by a few claims only."""
        script = SEARCH.replace("WANTED", str(list(WANTED)))
        found = probed(page.replace("</body>", script + "</body>"), tmp_path)
        assert {words: claim for words, claim in WANTED.items() if claim not in found[words]} == {}
        assert all(found[words] for words in WANTED)
        assert len(found["rope"]) < 4

    def test_what_is_open_is_printed(self, page: str, tmp_path: Path) -> None:
        """Closed, it is the first page and the scenes; what is opened follows, and nothing else does."""
        assert printed(page, tmp_path) == 3
        assert 4 < printed(page.replace("</body>", OPEN + "</body>"), tmp_path) < 9

    def test_headline_numbers_need_no_scrolling(self, page: str, tmp_path: Path) -> None:
        """On a narrow screen estimates, intervals and predictions stand below each other."""
        # No window is narrower than 500 columns; a frame is.
        found = probed(page.replace("</body>", WIDTHS + "</body>"), tmp_path, "--window-size=500,900")
        assert found["table"] <= 0
