"""The full edition: all evidence of a run for print, with what is common said once."""

from verify.report.full.view import full_view

__all__ = ["full_view"]
