"""Reading and writing single entries, with their counters."""
