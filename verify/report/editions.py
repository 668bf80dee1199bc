"""The editions of a run's document for print."""

EDITIONS = ("report", "brief", "full")
"""Of at most twelve pages, which is the usual one; of one page; with all of the evidence."""
