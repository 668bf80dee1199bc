"""Quoting results: keys and their values, quotes in documents, citations, badges, macros."""
