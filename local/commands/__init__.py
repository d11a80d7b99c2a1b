"""The subcommands of `leaderboard`, a file each: arguments, output, exit code."""
