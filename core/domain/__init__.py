"""What a leaderboard is, in values and arithmetic. No I/O."""
