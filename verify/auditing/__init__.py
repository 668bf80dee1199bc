"""Audits: the queries and keys of somebody's own program, held to the judgement of the claims."""
