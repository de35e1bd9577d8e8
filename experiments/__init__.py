"""One file a table or figure of a paper; each prints it with ours beside it."""
