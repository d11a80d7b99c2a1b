"""Scores that come in, each to every period that it reaches."""
