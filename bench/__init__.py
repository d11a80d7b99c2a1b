"""Measurements: what reads and writes cost in capacity units, and what hot counters take."""
