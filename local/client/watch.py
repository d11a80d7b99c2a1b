"""Watch a participant's rank changes, or a board's top, and print each event."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gql import Client, GraphQLRequest
from gql.transport.exceptions import TransportError, TransportQueryError, TransportServerError
from websockets.exceptions import WebSocketException

from core.storage.backoff import delay
from local.client.api import Api
from local.errors import Refused, StackError

_RANK = """query ($board: ID!, $who: ID!, $period: String) { leaderboard(id: $board) {
  entry(participantId: $who, period: $period) { score { display } rank { rank total bucket { name } } } } }"""
_TOP = """query ($board: ID!, $period: String) { leaderboard(id: $board) { top(period: $period) {
  participant { id displayName } score { display } rank { rank } } } }"""
_RANK_CHANGES = """subscription ($board: ID!, $who: ID!, $period: String!) {
  onRankBucketChange(leaderboardId: $board, participantId: $who, period: $period) {
    previousBucket bucket previousRank rank cause version at } }"""
_TOP_CHANGES = """subscription ($board: ID!, $period: String!) {
  onTopChange(leaderboardId: $board, period: $period) { version at
    entries { rank participantId displayName score { display } } } }"""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 30.0


def watch(api: Api, board_id: str, period: str, participant_id: str | None) -> None:
    """Print the events of a participant, or of the board's top if there is none, until interrupted.

    Raises:
        Refused: the API refuses the subscription or the query.
        StackError: the API refuses the credentials.
    """
    variables = {"board": board_id, "period": period}
    if participant_id is not None:
        variables["who"] = participant_id
    asyncio.run(_Watch(api, variables, top=participant_id is None).run())


@dataclass
class _Watch:
    """A subscription, the version of the last event printed, and the failed connections since."""

    api: Api
    variables: dict[str, str]
    top: bool
    version: int = -1
    failures: int = 0

    async def run(self) -> None:
        """Connect and reconnect, with a growing delay until a connection succeeds."""
        while True:
            try:
                await self._subscribe()
                cause = "the server ended the subscription"
            except TransportQueryError as refusal:
                raise Refused(refusal.errors or ()) from refusal
            except TransportServerError as refusal:
                raise StackError(f"{self.api.url} refused the connection: {refusal}") from refusal
            except (TransportError, WebSocketException, OSError) as error:
                cause = str(error) or type(error).__name__
            pause = delay(self.failures, base=_FIRST_PAUSE_SECONDS, longest=_LONGEST_PAUSE_SECONDS)
            self.failures += 1
            sys.stderr.write(f"leaderboard: {' '.join(cause.split())}; reconnecting in {pause:.1f} s\n")
            await asyncio.sleep(pause)

    async def _subscribe(self) -> None:
        """Subscribe, then print the current state, then events: in this order none is missed."""
        transport = self.api.transport()
        request = GraphQLRequest(_TOP_CHANGES if self.top else _RANK_CHANGES, variable_values=self.variables)
        async with Client(transport=transport) as session, aclosing(session.subscribe(request)) as events:
            first = asyncio.create_task(_next(events))
            acknowledged = asyncio.create_task(transport.acknowledged.wait())
            try:
                await asyncio.wait({first, acknowledged}, return_when=asyncio.FIRST_COMPLETED)
                if first.done():
                    first.result()  # raises if the subscription was refused
                self.failures = 0
                _print(await self._current())
                event = await first
            finally:
                first.cancel()
                acknowledged.cancel()
            while event is not None:
                self._show(event)
                event = await _next(events)

    async def _current(self) -> str:
        board = (await self.api.ask(_TOP if self.top else _RANK, self.variables))["leaderboard"]
        if self.top:
            rows = [
                (
                    entry["rank"]["rank"],
                    _name(entry["participant"]["id"], entry["participant"]["displayName"]),
                    entry["score"],
                )
                for entry in board["top"]
            ]
            return _line(None, _top(rows))
        entry = board["entry"]
        if entry is None or entry["rank"] is None:
            return _line(None, "not ranked")
        rank = entry["rank"]
        place = f"rank {rank['rank']} of {rank['total']}, {rank['bucket']['name']}"
        return _line(None, f"{place}, with {entry['score']['display']}")

    def _show(self, data: dict[str, Any]) -> None:
        (event,) = data.values()
        if event is None or int(event["version"]) <= self.version:
            return  # late, or a duplicate
        self.version = int(event["version"])
        at = datetime.fromisoformat(event["at"])
        if self.top:
            rows = [
                (row["rank"], _name(row["participantId"], row["displayName"]), row["score"])
                for row in event["entries"]
            ]
            _print(_line(at, _top(rows)))
            return
        bucket, rank = event["bucket"], str(event["rank"])
        if event["previousBucket"] is not None:
            bucket += f", from {event['previousBucket']}"
        if event["previousRank"] is not None:
            rank += f", was {event['previousRank']}"
        cause = "own score" if event["cause"] == "OWN_SCORE" else "others' scores"
        _print(_line(at, f"{bucket}: rank {rank} ({cause})"))


async def _next(events: AsyncGenerator[dict[str, Any], None]) -> dict[str, Any] | None:
    return await anext(events, None)


def _name(participant: str, display_name: str | None) -> str:
    return display_name or participant


def _top(rows: list[tuple[int, str, dict[str, Any]]]) -> str:
    lines = [f"{rank:>4}  {name}  {score['display']}" for rank, name, score in rows]
    return "\n".join(["top", *lines]) if lines else "top: nobody"


def _line(at: datetime | None, text: str) -> str:
    return f"{(at or datetime.now().astimezone()).astimezone():%H:%M:%S}  {'' if at else 'now: '}{text}"


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
