"""Hiding, restoring, removing and forgetting participants."""
