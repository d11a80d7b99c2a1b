"""Import of files: read rows, submit them, report what became of each, resume after an interruption."""
