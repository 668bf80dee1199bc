"""Quoting results."""
