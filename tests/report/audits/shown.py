"""What tests of an audit's pages look at: its view, one group of findings, one map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.report.records import CLAIMS
from verify.report.audits.maps import grids
from verify.report.audits.view import audit_view

if TYPE_CHECKING:
    from verify.evidence.audits import AuditRecord
    from verify.report.audits.maps import Grid
    from verify.report.audits.views import AuditView, FoundGroup

_CATALOGUE = {claim.id: claim for claim in CLAIMS}


def seen(audit: AuditRecord) -> AuditView:
    """Return the view of an audit."""
    return audit_view(audit, _CATALOGUE)


def group(view: AuditView, layer: int, quantity: str) -> FoundGroup:
    """Return the group of a layer whose quantity starts so."""
    return next(one for one in view.layers[layer].groups if one.quantity.startswith(quantity))


def grid(kind: str, audit: AuditRecord) -> Grid:
    """Return the grid of a kind of finding."""
    return next(one for one in grids(audit) if one.name == kind)
