"""From claims to evidence: finds them, derives, plans, draws, judges, and decides the statements."""
