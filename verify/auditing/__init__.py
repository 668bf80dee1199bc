"""Audits: a program's attention calls come in, judgements with their causes go out."""
