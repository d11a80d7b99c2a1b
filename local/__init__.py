"""The one-command stack on a laptop, and the `leaderboard` command, which also works on a stack on AWS."""

from pathlib import Path

# `make setup` fetches the DynamoDB engine's binary, GraphiQL and the console's libraries from npm into it.
NODE_MODULES = Path(__file__).resolve().parent.parent / "node_modules"

# The local stack's API keys. They are no secrets: it listens on the loopback interface alone.
ADMIN_KEY = "local-admin"
PUBLIC_KEY = "local-public"
