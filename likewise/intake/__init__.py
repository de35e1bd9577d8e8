"""Files into the store: scan, decode and describe in child processes, commit in batches."""

UNREACHABLE = "unreachable"
"""Setting: what the last scan could not reach."""
LOCAL = "local"
"""Block of local features, what visual words are made of."""
