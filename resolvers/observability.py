"""Logs and metrics as JSON lines, and traces where they are enabled."""

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, NamedTuple, ParamSpec, TypeVar

from core.domain.errors import LeaderboardError
from core.storage.database import metered
from resolvers.settings import Settings

NAMESPACE = "Leaderboard"
P = ParamSpec("P")
T = TypeVar("T")


class _Traced(NamedTuple):
    """The open subsegment, and the thread whose X-Ray context holds it."""

    subsegment: Any
    thread: int


_request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
_traced: ContextVar[_Traced | None] = ContextVar("traced", default=None)


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
    """Run a block as one invocation: logs carry its id; if the stack is traced, it is an X-Ray subsegment."""
    token = _request_id.set(getattr(context, "aws_request_id", None))
    try:
        if settings.tracing:
            with _subsegment(name):
                yield
        else:
            yield
    finally:
        _request_id.reset(token)


def traced(operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run an operation of core and return its result; in a traced invocation, in a subsegment of its name.

    The subsegment is annotated with the units and requests consumed, and with the error code of a refusal.
    May be called in any thread that has the invocation's context variables.
    """
    if _traced.get() is None:
        return operation(*args, **kwargs)
    with _subsegment(f"{operation.__module__}.{operation.__qualname__}") as subsegment:
        try:
            with metered() as meter:
                return operation(*args, **kwargs)
        except LeaderboardError as error:
            subsegment.put_annotation("refusal", error.code)
            subsegment.add_error_flag()
            refusal = error
        finally:
            subsegment.put_annotation("read_units", meter.read_units)
            subsegment.put_annotation("write_units", meter.write_units)
            subsegment.put_annotation("requests", meter.requests)
    raise refusal  # outside the subsegment: inside it, X-Ray would record a fault


@contextmanager
def _subsegment(name: str) -> Iterator[Any]:
    # Imported here because the import takes a fifth of a second.
    from aws_xray_sdk.core import xray_recorder  # type: ignore[import-untyped]  # noqa: PLC0415

    parent, thread = _traced.get(), threading.get_ident()
    if parent is not None and parent.thread != thread:
        xray_recorder.set_trace_entity(parent.subsegment)
    with xray_recorder.in_subsegment(name) as subsegment:
        token = _traced.set(None if subsegment is None else _Traced(subsegment, thread))
        try:
            yield subsegment
        finally:
            _traced.reset(token)


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
