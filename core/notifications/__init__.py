"""Finds whose rank bucket has changed and publishes it."""
