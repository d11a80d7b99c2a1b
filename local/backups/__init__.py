"""Backup of a stack's tables into a folder, and restore from it."""
