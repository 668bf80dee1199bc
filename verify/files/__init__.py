"""Reading and writing files, and finding those that ship with the tool."""
