"""A client of a stack's GraphQL API, local or on AppSync, and what `leaderboard watch` does with it."""
