"""`leaderboard watch`: a participant's rank changes, or a board's top, as they come."""

import argparse
import asyncio
import random
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gql import Client, GraphQLRequest
from gql.transport.exceptions import TransportError, TransportQueryError, TransportServerError
from websockets.exceptions import WebSocketException

from core.domain.errors import InvalidInput
from local.api_client import Api
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


def watch(api: Api, args: argparse.Namespace) -> int:
    """Watch until interrupted; give the exit code.

    Raises:
        Refused: the API refuses the subscription or the query.
    """
    if (args.participant is None) != args.top:
        raise InvalidInput("PARTICIPANT: name one, or ask for the board's --top, not both")
    variables = {"board": args.board, "period": args.period}
    if not args.top:
        variables["who"] = args.participant
    asyncio.run(_Watch(api, variables, top=args.top).run())
    return 0


@dataclass
class _Watch:
    """What is watched, and the version of the last event that was told."""

    api: Api
    variables: dict[str, str]
    top: bool
    version: int = -1
    pause: float = field(default=_FIRST_PAUSE_SECONDS)

    async def run(self) -> None:
        """Connect, again and again; each time later, until a connection has held."""
        while True:
            try:
                await self._connected()
                cause = "the server ended the subscription"
            except TransportQueryError as refusal:
                raise Refused(refusal.errors or ()) from refusal
            except TransportServerError as refusal:
                raise StackError(f"{self.api.url} lets nobody in: {refusal}") from refusal
            except (TransportError, WebSocketException, OSError) as error:
                cause = str(error) or type(error).__name__
            pause = self.pause * random.uniform(0.5, 1.0)
            self.pause = min(self.pause * 2, _LONGEST_PAUSE_SECONDS)
            sys.stderr.write(f"leaderboard: {' '.join(cause.split())}; connecting again in {pause:.1f} s\n")
            await asyncio.sleep(pause)

    async def _connected(self) -> None:
        """Subscribe, then ask how things stand, then tell what changes: so nothing is missed in between."""
        transport = self.api.transport()
        request = GraphQLRequest(_TOP_CHANGES if self.top else _RANK_CHANGES, variable_values=self.variables)
        async with Client(transport=transport) as session, aclosing(session.subscribe(request)) as events:
            first = asyncio.create_task(_next(events))
            begun = asyncio.create_task(transport.acknowledged.wait())
            try:
                await asyncio.wait({first, begun}, return_when=asyncio.FIRST_COMPLETED)
                if first.done():
                    first.result()  # raises if it was refused
                self.pause = _FIRST_PAUSE_SECONDS
                _say(await self._present())
                event = await first
            finally:
                first.cancel()
                begun.cancel()
            while event is not None:
                self._tell(event)
                event = await _next(events)

    async def _present(self) -> str:
        board = (await self.api.ask(_TOP if self.top else _RANK, self.variables))["leaderboard"]
        if self.top:
            rows = [
                (one["rank"]["rank"], _name(one["participant"]["id"], one["participant"]), one["score"])
                for one in board["top"]
            ]
            return _line(None, _top(rows))
        entry = board["entry"]
        if entry is None or entry["rank"] is None:
            return _line(None, "not ranked")
        rank = entry["rank"]
        place = f"rank {rank['rank']} of {rank['total']}, {rank['bucket']['name']}"
        return _line(None, f"{place}, with {entry['score']['display']}")

    def _tell(self, told: dict[str, Any]) -> None:
        (event,) = told.values()
        if event is None or int(event["version"]) <= self.version:
            return  # it came late, or twice
        self.version = int(event["version"])
        at = datetime.fromisoformat(event["at"])
        if self.top:
            rows = [(one["rank"], _name(one["participantId"], one), one["score"]) for one in event["entries"]]
            _say(_line(at, _top(rows)))
            return
        bucket, rank = event["bucket"], str(event["rank"])
        if event["previousBucket"] is not None:
            bucket += f", from {event['previousBucket']}"
        if event["previousRank"] is not None:
            rank += f", was {event['previousRank']}"
        cause = "own score" if event["cause"] == "OWN_SCORE" else "others' scores"
        _say(_line(at, f"{bucket}: rank {rank} ({cause})"))


async def _next(events: AsyncGenerator[dict[str, Any], None]) -> dict[str, Any] | None:
    return await anext(events, None)


def _name(participant: str, shown: dict[str, Any]) -> str:
    name: str | None = shown["displayName"]
    return name or participant


def _top(rows: list[tuple[int, str, dict[str, Any]]]) -> str:
    lines = [f"{rank:>4}  {name}  {score['display']}" for rank, name, score in rows]
    return "\n".join(["top", *lines]) if lines else "top: nobody"


def _line(at: datetime | None, text: str) -> str:
    return f"{(at or datetime.now().astimezone()).astimezone():%H:%M:%S}  {'' if at else 'now: '}{text}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
