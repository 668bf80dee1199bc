"""Experiments on somebody's attention function, each of which could come out otherwise."""
