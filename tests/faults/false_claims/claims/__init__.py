"""The pairs, a module for each kind of mistake."""
