"""Measurement: i.i.d. blocks of scores, intervals that hold, planned sample sizes."""
