"""The made-up run, rendered once for all tests of the report; a browser."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.report.browser import CHROMIUM
from tests.report.records import record
from verify.evidence import RunRecord
from verify.evidence.load import shipped
from verify.report.drawings import draw_figures
from verify.report.html import render_html
from verify.report.pdf import render_pdf
from verify.report.run import Report


@pytest.fixture(scope="session")
def run() -> RunRecord:
    """Return a run with a claim of every outcome."""
    return record()


@pytest.fixture(scope="session")
def figures(run: RunRecord) -> dict[str, str]:
    """Return the run's figures."""
    return draw_figures(run)


@pytest.fixture(scope="session")
def page(run: RunRecord, figures: dict[str, str]) -> str:
    """Return the run's HTML."""
    return render_html(run, figures)


@pytest.fixture(scope="session")
def pdf(run: RunRecord, figures: dict[str, str]) -> bytes:
    """Return the run's PDF with all of its evidence."""
    return render_pdf(run, figures, "full")


@pytest.fixture(scope="session")
def whole() -> Report:
    """Return the report of the reference run."""
    return Report(shipped())


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return Chromium, started once."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an extra

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()
