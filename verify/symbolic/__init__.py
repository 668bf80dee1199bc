"""Derivations: expectations with symbolic dimension, and steps that carry how they were checked."""
