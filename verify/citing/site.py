"""Where the site of a run has what a key names, and its inventory, by which other documents link there."""

from __future__ import annotations

from collections.abc import Iterator

from verify.citing.values import RUN, SOURCE
from verify.errors import SettingsError
from verify.evidence import RunRecord
from verify.text.latex import plain


def place_on_site(key: str) -> str:
    """Return the folder of the page that has what a key names, relative to the site: ``claims/ID/``.

    The run as a whole has the first page, which is nothing.
    """
    head, _, rest = key.partition(":")[0].partition(".")
    if head == SOURCE:
        return f"statements/{rest}/"
    return "" if head == RUN else f"claims/{head}/"


def address_on_site(site: str, key: str) -> str:
    """Return the permanent address of what a key names on a site, with the place on its page.

    ``site`` is the address of the site's first page or its folder.
    """
    folder = site.removesuffix("index.html").rstrip("/")
    whole = key.partition(":")[0]
    anchor = f"#{whole}" if "." in whole and not whole.startswith(f"{SOURCE}.") else ""
    return f"{folder}/{place_on_site(key)}{anchor}"


def inventory(record: RunRecord) -> bytes:
    """Return the site's ``objects.inv``: a label ``claim:KEY`` or ``statement:ID`` for each of its places.

    Sphinx with intersphinx, MyST and mkdocstrings read it.

    Raises:
        SettingsError: sphobjinv is not installed.
    """
    try:
        from sphobjinv import DataObjStr, Inventory, compress  # noqa: PLC0415 - only sites need it
    except ImportError as error:
        raise SettingsError("site: needs sphobjinv; pip install 'sdpa-verify[site]'") from error
    made = Inventory()
    made.project, made.version = "sdpa-verify", record.tool.version
    made.objects += [
        DataObjStr(name=name, domain="std", role="label", priority="-1", uri=uri, dispname=title)
        for name, uri, title in _labels(record)
    ]
    packed: bytes = compress(made.data_file())
    return packed


def _labels(record: RunRecord) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the place and the title of each thing that a document may link to."""
    for claim in record.claims:
        page = f"{place_on_site(claim.id)}index.html"
        yield f"claim:{claim.id}", page, _line(claim.title)
        parts = [one.id for some in (claim.checks, claim.controls, claim.facts) for one in some]
        for key in (f"{claim.id}.{part}" for part in parts):
            yield f"claim:{key}", f"{page}#{key}", key
    for statement in record.statements:
        page = f"{place_on_site(f'{SOURCE}.{statement.id}')}index.html"
        yield f"statement:{statement.id}", page, _line(statement.text)


def _line(text: str) -> str:
    return " ".join(plain(text).split())
