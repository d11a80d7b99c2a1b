"""The leaderboard on one machine: engine, stream consumer, GraphQL server, and the commands around them."""

from pathlib import Path

# What `make setup` fetches from npm: the engine's binary and GraphiQL's built files.
NODE_MODULES = Path(__file__).resolve().parent.parent / "node_modules"

# Values of `x-api-key` that the local stack takes; it listens on the loopback interface alone.
ADMIN_KEY = "local-admin"
PUBLIC_KEY = "local-public"
