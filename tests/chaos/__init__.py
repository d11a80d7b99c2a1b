"""Runs of the core on a database that fails at random."""
