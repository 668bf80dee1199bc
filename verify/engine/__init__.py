"""From claims to evidence: claims and settings come in, the records of a run go out."""
