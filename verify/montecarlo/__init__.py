"""Measurement: i.i.d. blocks of scores, valid intervals, planned sample sizes."""
