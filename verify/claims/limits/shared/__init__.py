"""Expressions that only the claims about the limits of the law are derived with."""
