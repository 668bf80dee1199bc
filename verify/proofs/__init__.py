"""Coq: chains come in, statements for it and the record of what it proved go out."""

from pathlib import Path

from verify.files import shipped_folder

SOURCES, RECORD = Path(__file__).parent, shipped_folder("data") / "proofs.json"
"""The folder of definitions, theorems and proofs in Coq, and the file that records them."""
