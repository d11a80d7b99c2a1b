"""Frozen standings: how they are written and read."""
