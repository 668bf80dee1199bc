"""Statistics: what the queries and keys of a block are reduced to, each a family in a file of its own."""
