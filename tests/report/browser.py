"""Chromium, as tests open pages in it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
IN_A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (CHROMIUM and find_spec("axe_playwright_python")), reason="needs Chromium and the extra [browser]"
    ),
]


@contextmanager
def opened(browser: Any, address: str, own: str = "", **options: Any) -> Iterator[Any]:
    """Yield a page, opened by its address; its scripts raise and say nothing and fetch ``own`` files only."""
    said: list[str] = []
    context = browser.new_context(**options)
    shown = context.new_page()
    shown.set_default_timeout(240_000)
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.on("console", lambda message: said.append(message.text))
    shown.on("request", lambda request: said.append(request.url))
    shown.goto(address)
    yield shown
    context.close()
    others = [entry for entry in said if not entry.startswith((own or address, "data:"))]
    assert not others, others
