"""Counter trees in the counters table, and this process's cache of them."""
