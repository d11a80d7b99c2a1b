"""Ranks, and what is read in rank order."""
