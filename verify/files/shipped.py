"""Finds the files that ship beside the code: templates and data, in a checkout and in a wheel alike."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_IN_CHECKOUT = {"reference": "reports/reference"}


def folder(name: str) -> Path:
    """Return the folder of shipped files called ``name``: ``"templates"``, ``"data"`` or ``"reference"``.

    A wheel carries them as ``verify/_templates`` and the like; a checkout and an editable install have them
    at the top level, beside the package, the reference among the reports.

    Raises:
        FileNotFoundError: the installation is broken and has neither.
    """
    for place in (_PACKAGE / f"_{name}", _PACKAGE.parent / _IN_CHECKOUT.get(name, name)):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"the {name} folder is missing from this installation of sdpa-verify")
