"""What is recorded as proved is what the claims say, and a record of anything else is noticed."""

import pytest
from sympy import Symbol

from verify.proofs import record
from verify.proofs.__main__ import AXIOMS, scripts, statement
from verify.spec import Chain, Derivation, Sum, algebra, n

RECORDED = record.recorded()["claims"]
term = Symbol("i", positive=True, integer=True)
WORKED = Sum(term * (term + 2), (term, 1, n))


def worked(end: object) -> Derivation:
    """Return a derivation like that of the worked dot products, with any end."""
    return Derivation((Chain(WORKED).then(end, "summed", algebra),))


def test_every_proof_is_of_the_statement_that_is_printed_now() -> None:
    """Each recorded statement is printed again from its claim, and rests on allowed axioms alone."""
    assert RECORDED.keys() == scripts().keys()
    assert record.recorded()["library"] == record.library()
    for claim, proof in RECORDED.items():
        assert statement(claim) == proof["statement"], f"{claim}: run python -m verify.proofs --write"
        assert record.digest(proof["statement"]) == proof["digest"]
        assert proof["statement"].startswith(f"Theorem {proof['theorem']} ")
        assert set(proof["axioms"]) <= AXIOMS


def test_a_stale_record_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that says something else, cannot be printed, or rests on other definitions is not proved."""
    says = n * (n + 1) * (2 * n + 7) / 6
    assert record.is_current("worked-dot-products", worked(says))
    assert not record.is_current("worked-dot-products", worked(2 * says))
    assert not record.is_current("worked-dot-products", worked(says * Symbol("z")))
    assert not record.is_current("worked-dot-products", Derivation((), "nothing is derived"))
    monkeypatch.setattr(record, "library", lambda: "another digest")
    assert not record.is_current("worked-dot-products", worked(says))
