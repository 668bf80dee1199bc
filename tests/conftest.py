"""What tests of several modules share: the tool called in this process, and quick runs, and the reference.

The package is imported where it is used: the process that hands tests out to others needs none of it.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from inspect import getsource
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from tests.tool import EXAMPLE, Ended, example_claim

if TYPE_CHECKING:
    from verify.evidence import RunRecord

_numbers = itertools.count()

# Each of the many processes that tests start would compile the whole package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Little of what collecting makes is garbage.
gc.set_threshold(100_000, 50, 100)

# The same examples in every run, however slow the machine is.
settings.register_profile(
    "tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a campaign of faults test a few claims without measuring all others."""
    parser.addoption(
        "--claims", default="", metavar="IDS", help="claims of the quick runs that tests share, by commas"
    )
    parser.addoption(
        "--extras", action="store_true", help="only tests that are skipped where an extra is not installed"
    )


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from what was collected and imported, which stays to the end."""
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what tests other claims than the chosen ones, or asks for none of the extras."""
    if config.getoption("extras"):
        items[:] = [test for test in items if isinstance(test, pytest.Function) and _asks_for_more(test)]
    chosen = _chosen(config)
    if chosen:
        from verify.engine.catalogue import catalogue

        # What runs all claims then runs these, and a few others need not be.
        others = {*catalogue(), "few"} - set(chosen)
        items[:] = [test for test in items if not others & {_given(test, "name"), _given(test, "quick")}]


def _asks_for_more(test: pytest.Function) -> bool:
    """Return whether a test, or its whole file, asks for a library that the tool does without."""
    whole = re.search(
        r"^[^ \n].*importorskip|^from tests\.auditing\.pytorch", getsource(test.module), re.MULTILINE
    )
    return bool(whole) or "importorskip" in getsource(test.function)


def _chosen(config: pytest.Config) -> list[str]:
    return [name for name in config.getoption("claims").split(",") if name]


def _given(item: pytest.Item, name: str) -> object:
    return getattr(item, "callspec", None) and item.callspec.params.get(name)  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def common(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes share that test together."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(autouse=True, scope="session")
def _own_cache(common: Path) -> Iterator[None]:
    """Keep drawings in a folder of the tests' own, not in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(common / "cache"))
        yield


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give each test a store of its own: what another one has computed would hide a fault in this one."""
    place = tmp_path_factory.getbasetemp() / f"store-{next(_numbers)}" / "store.sqlite"
    monkeypatch.setenv("SDPA_VERIFY_STORE", str(place))


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave lines whole, as in a pipe, whatever width pytest or its shell has set."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return a function that runs the tool in this process, as its command line would."""
    from verify.cli.main import main

    def run(*arguments: object) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments)])
        captured = capsys.readouterr()
        return Ended(ended.value.code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def shared(common: Path) -> Callable[[str, Callable[[], str]], Path]:
    """Return a function that returns a file of a name, made by the first process that asks for it."""

    def made(name: str, text: Callable[[], str]) -> Path:
        file = common / name
        with FileLock(f"{file}.lock"):
            if not file.exists():
                file.write_text(text(), encoding="utf-8")
        return file

    return made


@pytest.fixture(scope="session", params=["few", pytest.param("all", marks=pytest.mark.slow)])
def quick(
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    shared: Callable[[str, Callable[[], str]], Path],
) -> RunRecord:
    """Return one run in the quick profile, of a few claims or of all, which test processes share."""
    from tests.catalogue import QUICKLY_RUN
    from verify import api
    from verify.evidence.load import load

    chosen = _chosen(pytestconfig) or (sorted(QUICKLY_RUN) if request.param == "few" else [])
    # A second process has to load everything first, which a few claims do not repay.
    run = partial(api.run, chosen, profile="quick", workers=1 if chosen else 2, store=False)
    return load(shared(f"{request.param}.json", lambda: run().to_json()))


@pytest.fixture(scope="session")
def reference() -> RunRecord:
    """Return the reference that ships: all claims, all statements."""
    from verify.evidence.load import shipped

    return shipped()


@pytest.fixture(scope="session")
def small() -> RunRecord:
    """Return a run of the smallest claim that draws."""
    from verify import api

    return api.run(["sqrt-scaling-unique"], profile="quick", workers=1, store=False)


@pytest.fixture(scope="module")
def no_faces() -> Iterator[None]:
    """Leave the slow cutting of faces out of a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("verify.report.html.rules_for_screen", lambda *_characters: "")
        yield


@pytest.fixture
def claim_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the example of a claim file, with pieces of it replaced."""

    def write(*changes: tuple[str, str], name: str = EXAMPLE) -> Path:
        text = example_claim()
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write
