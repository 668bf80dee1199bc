"""Audits: the queries and keys of a user's program, held to the judgement of the claims."""
