"""Preferences to similarity: one file a method, each calling one solver."""
