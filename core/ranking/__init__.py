"""Ranks, and reads in rank order."""
