"""Submit scores, each to every period that it reaches."""
