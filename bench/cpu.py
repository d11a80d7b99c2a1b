"""Measure CPU: of requests to DynamoDB by boto3's client and the lean one, and of GraphQL above core.

CPU time is that of this process; the engine is another one. What is compared alternates, block by block, in
one process, or, with --against, in processes of two checkouts of the project. Printed are the medians of the
blocks' times and of their paired ratios, with the lowest and the highest ratio.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from core.boards import Boards
from core.domain.board import define_board
from core.domain.model import Board, RankStrategy
from core.ranking import pages, queries, ranks
from core.storage.database import Database, Tables, connect
from core.storage.tables import create_tables
from core.submissions.submit import Submission, submit_score, submit_scores
from local.stack.engine import Engine, running_engine, temporary_folder
from local.stack.stream_reader import StreamReader, connect_streams
from resolvers.appsync import Call, answer
from resolvers.http import Backend, serve
from resolvers.request.auth import Credentials, Role

_ENTRIES = 2_000
_PERIOD = "all-time"
_PARTICIPANT = "p00999"  # a participant in the middle of the board
_IAM = {"userArn": "arn:aws:sts::123456789012:assumed-role/game/server"}
_ENTRY = "leaderboardId period participant { id displayName } score { value display } achievedAt"
_RANK = "rank { rank position total percentile bucket { name } exact }"
_SELECTED = f"{{ {_ENTRY} {_RANK} }}"
_QUERIES = {
    name: f'{{ leaderboard(id: "cpu") {{ {field} }} }}'
    for name, field in {
        "entry with rank": f'entry(participantId: "{_PARTICIPANT}") {_SELECTED}',
        "page of 10": f"entries(limit: 10) {{ items {_SELECTED} }}",
        "page of 100": f"entries(limit: 100) {{ items {_SELECTED} }}",
    }.items()
}


def _nested(field: str, arguments: dict[str, Any], selected: str) -> "Call":
    info = {"parentTypeName": "Leaderboard", "fieldName": field, "selectionSetGraphQL": selected}
    return {"arguments": arguments, "info": info}


_FIELDS = {
    "entry with rank": _nested("entry", {"participantId": _PARTICIPANT}, _SELECTED),
    "page of 10": _nested("entries", {"limit": 10}, f"{{ items {_SELECTED} }}"),
    "page of 100": _nested("entries", {"limit": 100}, f"{{ items {_SELECTED} }}"),
}


def _entry(db: Database, board: Board) -> object:
    entry = queries.entry(db, board, _PERIOD, _PARTICIPANT, lambda _: True)
    assert entry is not None
    return ranks.rank_entries(db, board, _PERIOD, [entry])


def _page(limit: int, db: Database, board: Board) -> object:
    return ranks.rank_entries(db, board, _PERIOD, pages.entries(db, board, _PERIOD, limit).items)


_READS: dict[str, Callable[[Database, Board], object]] = {
    "entry with rank": _entry,
    "page of 10": partial(_page, 10),
    "page of 100": partial(_page, 100),
}

Work = Callable[[], object]
Times = dict[str, list[float]]  # by name, milliseconds of CPU a call, one for each block


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["clients", "graphql"])
    parser.add_argument("--blocks", type=int, default=20, help="of each (default: %(default)s)")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout, for graphql")
    parser.add_argument("--json", action="store_true", help="print the times alone")
    args = parser.parse_args()
    if args.against:
        _print("this", "other", *_both_checkouts(args.against, args.blocks))
        return 0
    with temporary_folder() as folder, running_engine(folder) as engine:
        if args.what == "clients":
            _print("lean", "boto3", *_clients(engine, args.blocks))
            return 0
        times = _graphql(engine, args.blocks)
        if args.json:
            print(json.dumps(times))
        else:
            for name, blocks in times.items():
                print(f"{name:28}{median(blocks):9.3f} ms")
    return 0


def _print(ours: str, others: str, first: Times, second: Times) -> None:
    print(f"{'CPU, ms':28}{ours:>9}{others:>9}{others + '/' + ours:>14}   lowest to highest")
    for name, blocks in first.items():
        ratios = [other / own for own, other in zip(blocks, second[name], strict=True)]
        times = f"{median(blocks):9.3f}{median(second[name]):9.3f}"
        print(f"{name:28}{times}{median(ratios):14.2f}   {min(ratios):.2f} to {max(ratios):.2f}")


def _clients(engine: Engine, blocks: int) -> tuple[Times, Times]:
    lean, boto3 = (_client_work(engine, client) for client in ("lean", "boto3"))
    both: tuple[Times, Times] = ({}, {})
    for name in lean:
        for works in (lean, boto3):  # connections, caches
            _cpu(works[name], 3)
        for _ in range(blocks):
            for works, times in zip((lean, boto3), both, strict=True):
                times.setdefault(name, []).append(_cpu(works[name], 20))
    return both


def _client_work(engine: Engine, client: str) -> Mapping[str, Work]:
    """Return requests and operations of core by one client, on tables of its own."""
    os.environ["LEADERBOARD_DYNAMODB_CLIENT"] = client
    db, board = _filled(engine, client)
    table, key = db.tables.counters, {"standings": {"S": "cpu"}, "node": {"S": "n"}}
    item: dict[str, Any] = {
        "a": {"N": "1"},
        "b": {"B": bytes(16)},
        "m": {"M": {str(n): {"N": "1"} for n in range(20)}},
    }
    keys = [{**key, "node": {"S": f"n{number}"}} for number in range(25)]
    add: dict[str, Any] = {"UpdateExpression": "ADD a :a", "ExpressionAttributeValues": {":a": {"N": "1"}}}
    puts = [{"PutRequest": {"Item": {**each, **item}}} for each in keys]
    request: Any = db.client
    request.put_item(TableName=table, Item={**key, **item})
    entry = queries.entry(db, board, _PERIOD, _PARTICIPANT, lambda _: True)
    assert entry is not None
    numbers = iter(range(10**9))

    def submit() -> object:
        score = [str(10**6 + next(numbers))]  # better each time
        return submit_score(db, board, Submission(_PARTICIPANT, score), now=datetime.now(UTC))

    return {
        "GetItem": lambda: request.get_item(TableName=table, Key=key),
        "UpdateItem": lambda: request.update_item(TableName=table, Key=key, **add),
        "PutItem": lambda: request.put_item(TableName=table, Item={**key, **item}),
        "BatchGetItem of 25": lambda: request.batch_get_item(RequestItems={table: {"Keys": keys}}),
        "BatchWriteItem of 25": lambda: request.batch_write_item(RequestItems={table: puts}),
        "TransactWriteItems of 3": lambda: request.transact_write_items(
            TransactItems=[{"Update": {"TableName": table, "Key": each, **add}} for each in keys[:3]]
        ),
        "Query of 100 entries": lambda: pages.entries(db, board, _PERIOD, 100),
        "core: entry": lambda: queries.entry(db, board, _PERIOD, _PARTICIPANT, lambda _: True),
        "core: rank by TREE": lambda: ranks.rank_entries(db, board, _PERIOD, [entry], RankStrategy.TREE),
        "core: around, radius 5": lambda: queries.around(db, board, _PERIOD, _PARTICIPANT, 5),
        "core: submit": submit,
    }


def _graphql(engine: Engine, blocks: int) -> Times:
    """Time core's calls, the same by HTTP above it, and the same by AppSync's handler above it."""
    db, board = _filled(engine, "graphql")
    boards = Boards(db)
    times: Times = {}
    with asyncio.Runner() as runner:
        by_http = {name: _by_http(runner, db, boards, query) for name, query in _QUERIES.items()}
        by_appsync = {name: _by_appsync(runner, db, boards, field) for name, field in _FIELDS.items()}
        for _ in range(blocks + 1):
            for name, read in _READS.items():
                core = _cpu(lambda read=read: read(db, board), 5)  # type: ignore[misc]
                times.setdefault(f"core: {name}", []).append(core)
                times.setdefault(f"HTTP: {name}", []).append(_cpu(by_http[name], 5) - core)
                times.setdefault(f"AppSync: {name}", []).append(_cpu(by_appsync[name], 5) - core)
    return {name: figures[1:] for name, figures in times.items()}  # the first one fills caches


def _by_http(runner: asyncio.Runner, db: Database, boards: Boards, query: str) -> Work:
    app = serve(Backend(db, boards, Credentials({"key": Role.ADMIN})))
    headers = {"host": "localhost", "x-api-key": "key", "content-type": "application/json"}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/graphql",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    body = json.dumps({"query": query}).encode()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    sent: list[bytes] = []

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message.get("body", b""))

    def ask() -> object:
        sent.clear()
        runner.run(app(dict(scope), receive, send))
        assert b'"errors"' not in sent[-1], sent
        return json.loads(sent[-1])

    return ask


def _by_appsync(runner: asyncio.Runner, db: Database, boards: Boards, field: Call) -> Work:
    """Return what AppSync calls for a query: the board, the field, the ranks of its entries."""

    def invoke(calls: list[Call]) -> list[Any]:
        envelopes = runner.run(answer(db, boards, json.loads(json.dumps(calls))))
        assert not any(envelope.get("errorType") for envelope in envelopes), envelopes
        return [envelope["data"] for envelope in json.loads(json.dumps(envelopes))]

    def ask() -> object:
        of_board = {"parentTypeName": "Query", "fieldName": "leaderboard", "selectionSetGraphQL": "{ id }"}
        (board,) = invoke([{"arguments": {"id": "cpu"}, "identity": _IAM, "info": of_board}])
        (found,) = invoke([{**field, "identity": _IAM, "source": board}])
        of_rank = {
            "parentTypeName": "Entry",
            "fieldName": "rank",
            "selectionSetGraphQL": _RANK.removeprefix("rank "),
        }
        entries = found.get("items", [found])
        return invoke(
            [{"arguments": {}, "identity": _IAM, "info": of_rank, "source": entry} for entry in entries]
        )

    return ask


def _both_checkouts(other: Path, blocks: int) -> tuple[Times, Times]:
    """Time both in turn, each block in a process of its own."""
    both: tuple[Times, Times] = ({}, {})
    for _ in range(blocks):
        for root, times in zip((Path.cwd(), other.resolve()), both, strict=True):
            done = subprocess.run(
                [sys.executable, __file__, "graphql", "--json", "--blocks", "6"],
                env={**os.environ, "PYTHONPATH": str(root)},
                cwd=root,
                capture_output=True,
                text=True,
                check=True,
            )
            for name, figures in json.loads(done.stdout).items():
                times.setdefault(name, []).append(median(figures))
    return both


def _filled(engine: Engine, name: str) -> tuple[Database, Board]:
    tables = Tables.with_prefix(name)
    db = connect(
        tables, region="us-east-1", endpoint_url=engine.endpoint, access_key="local", secret_key="local"
    )
    create_tables(db)
    boards = Boards(db)
    board = boards.create(define_board(id="cpu", now=datetime.now(UTC)))
    for start in range(0, _ENTRIES, 100):
        batch = [
            Submission(f"p{number:05}", [str(10 * number)], display_name=f"Player {number}")
            for number in range(start, start + 100)
        ]
        submit_scores(db, board, batch, now=datetime.now(UTC))
    StreamReader(db, boards, connect_streams(db)).drain()
    return db, board


def _cpu(work: Work, times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) * 1000 / times


if __name__ == "__main__":
    sys.exit(main())
