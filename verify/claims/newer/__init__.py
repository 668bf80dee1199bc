"""Newer kinds of attention, and published statements about how attention fades."""
