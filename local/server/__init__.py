"""What `leaderboard run` runs: GraphQL over HTTP and WebSockets, GraphiQL, and the background threads."""
