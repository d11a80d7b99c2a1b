"""A leaderboard's values and rules. No I/O."""
