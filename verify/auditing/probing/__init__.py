"""Experiments on an attention function, each of which could come out otherwise."""
