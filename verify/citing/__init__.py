"""Quoting: records and documents come in; citations, comparisons, exports and stale quotations go out."""
