"""What the papers compare with: one file a baseline."""
