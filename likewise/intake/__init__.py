"""Files into the store: scan, decode and describe in child processes, commit in batches."""
