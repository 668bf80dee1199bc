"""Expressions that only the claims about gradients are derived and measured with."""
