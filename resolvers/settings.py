"""What a Lambda is told by its environment, read once at cold start."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from core.domain.model import Retention
from core.storage.database import Database, Tables, connect


@dataclass(frozen=True, slots=True)
class Settings:
    """The stack that a function belongs to, whether its calls are traced, and how new boards keep things.

    `notify_queue_url` is the queue of standings whose rank changes are due, `api_url` the API that publishes
    them; each is empty for a function that does not need it.
    """

    name_prefix: str
    region: str
    tracing: bool
    retention: Retention
    notify_queue_url: str
    api_url: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read LEADERBOARD_NAME_PREFIX, LEADERBOARD_TRACING ("true" or not) and Lambda's own AWS_REGION.

        And LEADERBOARD_RETENTION, a JSON object of what differs from the defaults of `Retention`.
        LEADERBOARD_NOTIFY_QUEUE_URL and LEADERBOARD_API_URL are those of functions that tell of rank changes.

        Raises:
            KeyError: naming the variable that is missing.
        """
        return cls(
            name_prefix=environment["LEADERBOARD_NAME_PREFIX"],
            region=environment["AWS_REGION"],
            tracing=environment.get("LEADERBOARD_TRACING") == "true",
            retention=Retention(**json.loads(environment.get("LEADERBOARD_RETENTION", "{}"))),
            notify_queue_url=environment.get("LEADERBOARD_NOTIFY_QUEUE_URL", ""),
            api_url=environment.get("LEADERBOARD_API_URL", ""),
        )

    def connect(self) -> Database:
        """Open the stack's tables under the function's own role; no call is made."""
        return connect(Tables.with_prefix(self.name_prefix), region=self.region)
