"""What the papers compare with, and what our methods are measured against: one file per rival."""
