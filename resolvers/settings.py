"""Settings of the Lambdas, read from the environment once at cold start."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from core.domain.model import Retention
from core.storage.database import Database, Tables, connect


@dataclass(frozen=True, slots=True)
class Settings:
    """The stack of a function, whether calls are traced, and the retention of new boards.

    `bookkeeper_queue_url` is the queue of bundles to count, `notify_queue_url` that of standings that are due
    for a pass, `api_url` the API that events are published to; empty for functions that do not need them.
    """

    name_prefix: str
    region: str
    tracing: bool
    retention: Retention
    bookkeeper_queue_url: str
    notify_queue_url: str
    api_url: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings.

        Required are LEADERBOARD_NAME_PREFIX and Lambda's own AWS_REGION. Optional are LEADERBOARD_TRACING
        ("true" or not), LEADERBOARD_RETENTION (a JSON object of what differs from the defaults of
        `Retention`), LEADERBOARD_BOOKKEEPER_QUEUE_URL, LEADERBOARD_NOTIFY_QUEUE_URL and LEADERBOARD_API_URL.

        Raises:
            KeyError: naming the required variable that is missing.
        """
        return cls(
            name_prefix=environment["LEADERBOARD_NAME_PREFIX"],
            region=environment["AWS_REGION"],
            tracing=environment.get("LEADERBOARD_TRACING") == "true",
            retention=Retention(**json.loads(environment.get("LEADERBOARD_RETENTION", "{}"))),
            bookkeeper_queue_url=environment.get("LEADERBOARD_BOOKKEEPER_QUEUE_URL", ""),
            notify_queue_url=environment.get("LEADERBOARD_NOTIFY_QUEUE_URL", ""),
            api_url=environment.get("LEADERBOARD_API_URL", ""),
        )

    def connect(self) -> Database:
        """Return the stack's database under the function's own role; makes no call."""
        return connect(Tables.with_prefix(self.name_prefix), region=self.region)
