"""The report of an audit: what is wrong first, maps of layers and heads, then the tables."""
