"""What is installed is complete, outside the checkout: the wheel, and the wheel by way of the sdist."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.tool import ROOT
from verify.evidence import RunRecord
from verify.version import __version__

pytestmark = pytest.mark.slow


def _do(*command: object, cwd: Path) -> str:
    """Run a command as on a machine that knows nothing of the checkout, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the wheel, the sdist, and the wheel that is built from the sdist."""
    folder = tmp_path_factory.mktemp("built")
    build = (sys.executable, "-m", "build", "--no-isolation")
    _do(*build, "--wheel", "--outdir", folder / "direct", ROOT, cwd=folder)
    _do(*build, "--outdir", folder / "both", ROOT, cwd=folder)
    (wheel,) = (folder / "direct").glob("*.whl")
    (sdist,) = (folder / "both").glob("*.tar.gz")
    (through,) = (folder / "both").glob("*.whl")
    return {"wheel": wheel, "sdist": sdist, "sdist-wheel": through}


def _environment(folder: Path, wheel: Path) -> Path:
    """Return the programs' folder of a new environment with the package; its dependencies are ours."""
    venv.create(folder, with_pip=False, symlinks=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    base = {"base": str(folder), "platbase": str(folder)}
    (Path(sysconfig.get_path("purelib", "venv", base)) / "ours.pth").write_text(
        sysconfig.get_path("purelib") + "\n"
    )
    pip = (sys.executable, "-m", "pip", "--python", programs / "python", "--disable-pip-version-check")
    _do(*pip, "install", "--no-deps", "--no-index", "--force-reinstall", wheel, cwd=folder)
    return programs


def test_the_wheel_holds_what_the_tool_needs(built: dict[str, Path]) -> None:
    """Code, templates, data and the mark that it is typed; no tests."""
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = set(archive.namelist())
    assert names >= {"verify/_data/sources.toml", "verify/proofs/Scores.v", "verify/py.typed"}
    inside = {path.relative_to(ROOT).as_posix() for path in (ROOT / "verify").rglob("*.py")}
    assert inside <= names
    templates = {f"verify/_templates/{path.name}" for path in (ROOT / "templates").iterdir()}
    assert templates <= names
    assert {name.split("/")[0] for name in names} == {"verify", f"sdpa_verify-{__version__}.dist-info"}


def test_the_wheel_is_the_same_by_way_of_the_sdist(built: dict[str, Path]) -> None:
    """The sdist is complete: what is built from it is, file by file, what is built from the checkout."""
    with zipfile.ZipFile(built["wheel"]) as direct, zipfile.ZipFile(built["sdist-wheel"]) as other:
        assert {info.filename: info.CRC for info in direct.infolist()} == {
            info.filename: info.CRC for info in other.infolist()
        }


def test_the_sdist_holds_tests_and_papers(built: dict[str, Path]) -> None:
    """Whoever packages the tool can test it."""
    with tarfile.open(built["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    papers = {"README.md", "docs/ci.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff", "CHANGELOG.md"}
    assert papers | {"tests/test_packaging.py"} <= names


def test_an_installed_tool_verifies_and_renders(
    built: dict[str, Path], tmp_path: Path, small: RunRecord
) -> None:
    """In an environment of its own, outside the checkout: the version, a run, and a whole report."""
    programs = _environment(tmp_path / "environment", built["wheel"])
    tool, python = programs / "sdpa-verify", programs / "python"
    code = "import importlib.metadata as m, verify; print(m.version('sdpa-verify'), verify.__file__)"
    version, _, place = _do(python, "-c", code, cwd=tmp_path).strip().partition(" ")
    assert version == __version__
    assert Path(place).resolve().is_relative_to((tmp_path / "environment").resolve())
    assert _do(tool, "--version", cwd=tmp_path) == f"sdpa-verify, version {__version__}\n"
    output = _do(tool, "run", "worked-dot-products", "--profile", "quick", "--out", "run", cwd=tmp_path)
    assert "✓ worked-dot-products" in output
    (tmp_path / "results.json").write_text(small.to_json(), encoding="utf-8")
    _do(tool, "render", "results.json", "--out", "report", cwd=tmp_path)
    assert (tmp_path / "report" / "report.html").stat().st_size > 50_000
    assert (tmp_path / "report" / "report.pdf").read_bytes().startswith(b"%PDF")
