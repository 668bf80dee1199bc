"""What Coq proved of claims: statements printed from their chains, proofs in plain Coq, and a record."""
