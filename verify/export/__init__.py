"""Results in the forms of other programs."""
