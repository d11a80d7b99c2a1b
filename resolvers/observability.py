"""What a Lambda tells its operators: log lines and metrics as JSON, and traces where they are on."""

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
    """One JSON object a line, with the id of the request that it belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
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
    """Write every log record as JSON, in place of the handler that Lambda brings."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("botocore").setLevel(logging.WARNING)


@contextmanager
def request(settings: Settings, context: object, name: str) -> Iterator[None]:
    """Mark the block as one invocation: its log lines carry the id, and a traced stack gets a subsegment."""
    token = _request_id.set(getattr(context, "aws_request_id", None))
    try:
        if settings.tracing:
            # Imported here: the import alone takes a fifth of a second.
            from aws_xray_sdk.core import xray_recorder  # type: ignore[import-untyped]  # noqa: PLC0415

            with xray_recorder.in_subsegment(name):
                yield
        else:
            yield
    finally:
        _request_id.reset(token)


def emit_metrics(settings: Settings, metrics: Mapping[str, tuple[float, str]]) -> None:
    """Write metrics, each a value and CloudWatch's unit, in the embedded format; the log carries them."""
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
