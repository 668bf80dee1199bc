"""The claim files; one whose name ends in true is the neighbour of the false one."""
