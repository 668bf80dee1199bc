"""Measurement: expressions, laws and a seed come in, estimates with intervals go out."""
