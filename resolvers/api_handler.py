# ruff: noqa: E402 - imports run while the garbage collector is off
"""Lambda: calls of AppSync's resolvers, one or a batch."""

import gc

gc.disable()  # collecting during imports takes a seventh of a cold start and frees nothing

import asyncio
from contextvars import copy_context
from typing import Any

from core.boards import Boards
from resolvers.appsync import Call, Envelope, answer
from resolvers.observability import configure_logging, emit_metrics, request
from resolvers.request.auth import check_origin
from resolvers.settings import Settings
from resolvers.snapshot import reseed_after_restore

configure_logging()
reseed_after_restore()
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db, retention=_settings.retention)
_runner = asyncio.Runner()  # all invocations share the loop and its threads

gc.freeze()
gc.enable()


def handler(event: Call | list[Call], context: object) -> Envelope | list[Envelope]:
    """Return the envelope of a call, or those of a batch in the same order.

    Raises:
        PermissionError: the event did not come through AppSync, whose resolvers add the secret.
    """
    calls = event if isinstance(event, list) else [event]
    check_origin(calls[0].get("secret"))
    info: dict[str, Any] = calls[0]["info"]
    with request(_settings, context, f"{info['parentTypeName']}.{info['fieldName']}"):
        # The runner would use the context of its first invocation for all.
        envelopes = _runner.run(answer(_db, _boards, calls), context=copy_context())
        refused = _refused_submissions(info["fieldName"], envelopes)
        if refused:
            emit_metrics(_settings, {"RefusedSubmissions": (refused, "Count")})
    return envelopes if isinstance(event, list) else envelopes[0]


def _refused_submissions(field: str, envelopes: list[Envelope]) -> int:
    if field == "submitScores":
        envelopes = [outcome for envelope in envelopes for outcome in envelope["data"] or [envelope]]
    elif field != "submitScore":
        return 0
    return sum(bool(envelope.get("errorType")) for envelope in envelopes)
