"""The collection at a glance: map and sorted grid, near-duplicates, what is exported."""
