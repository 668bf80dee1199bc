"""Derivations: an expression and an author's lines come in, a checked chain goes out."""
