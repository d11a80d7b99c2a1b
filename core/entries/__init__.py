"""Read and write single entries, together with their counters."""
