"""Chains that several claims about newer kinds of attention rest on."""
