"""Claims on where the others stop, and the formula that takes over there."""
