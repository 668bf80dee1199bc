"""The cosine of two vectors: what is along the key, and what is across."""

from __future__ import annotations

from sympy import Integral, S, oo

from tests.symbolic.kernel.proving import proved, refused
from verify.claims.modern.shared.cosine import ACROSS, ALONG, MEANING, along_the_key, n, z
from verify.symbolic.kernel.words import E
from verify.symbolic.law import w
from verify.symbolic.scores import d


def test_one_component_is_along_the_key() -> None:
    """The right densities pass; others, another range or twice as much do not."""
    start, part = E(MEANING ** (2 * n)), z ** (2 * n) / (z**2 + w) ** n
    whole = (z, 0, oo), (w, 0, oo)
    proved(along_the_key, start, Integral(part * ALONG * ACROSS, *whole))
    refused(along_the_key, start, Integral(part * ALONG * ACROSS.subs(d, d + 1), *whole))
    refused(along_the_key, start, Integral(part * ALONG * ACROSS, (z, 0, oo), (w, 1, oo)))
    refused(along_the_key, start, Integral(2 * part * ALONG * ACROSS, *whole))
    refused(along_the_key, E(MEANING**n), Integral(part * ALONG * ACROSS, *whole))
    assert Integral(ALONG, (z, 0, oo)).doit() == S.One
