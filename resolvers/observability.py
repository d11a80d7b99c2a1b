"""Logs and metrics as JSON lines, and traces where they are enabled."""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from resolvers.settings import Settings

NAMESPACE = "Leaderboard"

_request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON line with the id of the Lambda request."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one record as JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "requestId": _request_id.get(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def configure_logging() -> None:
    """Write all log records as JSON, instead of by Lambda's own handler."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("botocore").setLevel(logging.WARNING)


@contextmanager
def request(settings: Settings, context: object, name: str) -> Iterator[None]:
    """Run a block as one invocation: logs carry its id, and a traced stack gets a subsegment."""
    token = _request_id.set(getattr(context, "aws_request_id", None))
    try:
        if settings.tracing:
            # Imported here because the import takes a fifth of a second.
            from aws_xray_sdk.core import xray_recorder  # type: ignore[import-untyped]  # noqa: PLC0415

            with xray_recorder.in_subsegment(name):
                yield
        else:
            yield
    finally:
        _request_id.reset(token)


def emit_metrics(settings: Settings, metrics: Mapping[str, tuple[float, str]]) -> None:
    """Log metrics in CloudWatch's embedded format; each is a value with CloudWatch's unit."""
    line = {
        "_aws": {
            "Timestamp": int(datetime.now(UTC).timestamp() * 1000),
            "CloudWatchMetrics": [
                {
                    "Namespace": NAMESPACE,
                    "Dimensions": [["Stack"]],
                    "Metrics": [{"Name": name, "Unit": unit} for name, (_, unit) in metrics.items()],
                }
            ],
        },
        "Stack": settings.name_prefix,
        **{name: value for name, (value, _) in metrics.items()},
    }
    sys.stdout.write(json.dumps(line) + "\n")
