# ruff: noqa: E402 - imported while the collector rests
"""Lambda: AppSync's calls, one at a time or in a list."""

import gc

gc.disable()  # what is imported stays for good; looking for garbage in it takes a seventh of a cold start

import asyncio
from typing import Any

from core.boards import Boards
from resolvers.appsync import Answer, Call, answer
from resolvers.auth import check_origin
from resolvers.observability import configure_logging, emit_metrics, request
from resolvers.settings import Settings
from resolvers.snapshot import reseed_after_restore

configure_logging()
reseed_after_restore()
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db, retention=_settings.retention)
_runner = asyncio.Runner()  # one loop for all invocations, with its threads

gc.freeze()
gc.enable()


def handler(event: Call | list[Call], context: object) -> Answer | list[Answer]:
    """Answer a call with its envelope, and a list of them with a list as long and in the same order.

    Raises:
        PermissionError: the event did not come through AppSync, whose resolvers add the secret.
    """
    calls = event if isinstance(event, list) else [event]
    check_origin(calls[0].get("secret"))
    info: dict[str, Any] = calls[0]["info"]
    with request(_settings, context, f"{info['parentTypeName']}.{info['fieldName']}"):
        answers = _runner.run(answer(_db, _boards, calls))
        refused = _refused_submissions(info["fieldName"], answers)
        if refused:
            emit_metrics(_settings, {"RefusedSubmissions": (refused, "Count")})
    return answers if isinstance(event, list) else answers[0]


def _refused_submissions(field: str, answers: list[Answer]) -> int:
    if field == "submitScores":
        answers = [outcome for one in answers for outcome in one["data"] or [one]]
    elif field != "submitScore":
        return 0
    return sum(bool(one.get("errorType")) for one in answers)
