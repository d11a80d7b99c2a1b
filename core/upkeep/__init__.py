"""Background work: growth, checks, rebuilds, period ends, deletion."""
