"""`leaderboard import` against a real engine: what it takes, what it refuses, and that again adds nothing."""

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.boards import Boards
from core.domain.board import ComponentInput, define_board
from core.domain.errors import LeaderboardError, Throttled
from core.domain.model import (
    Board,
    Entry,
    PeriodKind,
    ScoreKind,
    ScorePolicy,
    SortOrder,
    SubmitResult,
    TieBreak,
)
from core.domain.periods import ALL_TIME, periods_reached
from core.ranking import queries
from core.storage.database import Database
from core.storage.tables import create_tables
from core.submissions.submit import Submission, submit_score, submit_scores
from local.cli import main
from local.importing.submit import ImportStoppedError, Row, submit_rows
from local.stack.engine import Engine
from local.stack.target import RunningStack, connect_local, recorded

THEN = datetime(2024, 11, 30, 12, tzinfo=UTC)


class World:
    """A running local stack, as the command finds it, and one board on it."""

    def __init__(self, folder: Path, db: Database) -> None:
        self.folder = folder
        self.db = db
        self.boards = Boards(db, cache_seconds=0)
        self.board_id = f"board-{uuid.uuid4().hex}"

    def create(self, policy: ScorePolicy = ScorePolicy.BEST, **definition: Any) -> Board:
        board = define_board(id=self.board_id, policy=policy, now=datetime.now(UTC), **definition)
        return self.boards.create(board)

    def write(self, content: str | bytes, name: str = "scores.csv") -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def arguments(self, file: Path | str, *options: str) -> list[str]:
        return ["import", str(file), "--board", self.board_id, "--data", str(self.folder), *options]

    def run(self, file: Path | str, *options: str) -> int:
        return main(self.arguments(file, *options))

    def entries(self) -> dict[str, Entry]:
        board = self.boards.get(self.board_id)
        return {one.participant_id: one for one in queries.entries(self.db, board, ALL_TIME, 1000).items}

    def scores(self) -> dict[str, tuple[int, ...]]:
        return scores_of(self.db, self.boards.get(self.board_id))


def scores_of(db: Database, board: Board) -> dict[str, tuple[int, ...]]:
    return {one.participant_id: one.score for one in queries.entries(db, board, ALL_TIME, 1000).items}


@pytest.fixture
def world(engine: Engine, tmp_path: Path) -> Iterator[World]:
    db = connect_local(engine.endpoint)
    create_tables(db)
    with recorded(tmp_path, RunningStack(engine.endpoint, "http://localhost/graphql", os.getpid())):
        yield World(tmp_path, db)


# What is read


def test_csv_as_spreadsheets_write_it(world: World) -> None:
    world.create()
    file = world.write(
        b"\xef\xbb\xbf"  # a byte order mark
        + "participantId,score,displayName,achievedAt,metadata\r\n"
        '"smith, ann",10,"Ann ""The Cat"" Smith",2024-01-02T03:04:05Z,"{""level"":7}"\r\n'
        "\r\n"
        "Мария,-3,Мария 🏁,2024-01-02T05:04:05.250+02:00,\r\n"
        " padded , 7 ,,,\r\n".encode()
    )
    assert world.run(file) == 0
    entries = world.entries()
    assert {name: entry.score for name, entry in entries.items()} == {
        "smith, ann": (10,),
        "Мария": (-3,),
        " padded ": (7,),
    }
    ann = entries["smith, ann"]
    assert (ann.display_name, ann.metadata) == ('Ann "The Cat" Smith', '{"level":7}')
    assert ann.achieved_at == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    maria = entries["Мария"]
    assert (maria.display_name, maria.metadata) == ("Мария 🏁", None)
    assert maria.achieved_at == datetime(2024, 1, 2, 3, 4, 5, 250_000, tzinfo=UTC)


def test_named_columns_in_any_order_among_others(world: World) -> None:
    world.create(components=[ComponentInput("points"), ComponentInput("time", ScoreKind.DURATION)])
    file = world.write("rank,time,who,country,points,club\n1,1:27.452,ann,IT,9,Roma\n2,90 s,bob,,8,\n")
    options = ["--participant", "who", "--score", "points,time", "--metadata", "country,club"]
    assert world.run(file, *options) == 0
    assert world.scores() == {"ann": (9, 87_452), "bob": (8, 90_000)}
    assert world.entries()["ann"].metadata == '{"country":"IT","club":"Roma"}'
    assert world.entries()["bob"].metadata is None


def test_rows_that_do_not_say_when_count_from_when_the_file_was_written(world: World) -> None:
    world.create()
    file = world.write("participantId,score\nann,1\n")
    os.utime(file, (THEN.timestamp(), datetime(2020, 5, 17, tzinfo=UTC).timestamp()))
    assert world.run(file) == 0
    assert world.entries()["ann"].achieved_at == datetime(2020, 5, 17, tzinfo=UTC)


def test_json_lines_keep_every_digit(world: World) -> None:
    world.create(
        components=[
            ComponentInput("points", ScoreKind.DECIMAL, decimals=18),
            ComponentInput("coins", min="-9223372036854775808"),
        ]
    )
    rows = [
        '{"participantId": "ann", "score": [0.300000000000000004, 9223372036854775807]}',
        '{"participantId": 42, "score": ["-12.5", -9223372036854775808], "metadata": {"run": 1.5}}',
        "",
        '{"score": [1, 2], "participantId": "b\\u00f6b", "displayName": "B", "achievedAt": "2024-01-01T00Z"}',
    ]
    assert world.run(world.write("\r\n".join(rows), "scores.jsonl")) == 0
    assert world.scores() == {
        "ann": (300000000000000004, 2**63 - 1),
        "42": (-12_500000000000000000, -(2**63)),
        "böb": (10**18, 2),
    }
    entries = world.entries()
    assert entries["42"].metadata == '{"run":1.5}'
    assert entries["böb"].display_name == "B"
    assert entries["böb"].achieved_at == datetime(2024, 1, 1, tzinfo=UTC)


def test_a_pipe_on_stdin(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.create(ScorePolicy.SUM)
    for _ in range(2):
        reading, writing = os.pipe()
        os.write(writing, b"participantId,score\nann,1\nann,2\n")
        os.close(writing)
        with os.fdopen(reading) as pipe:
            monkeypatch.setattr(sys, "stdin", pipe)
            assert world.run("-") == 0
    assert world.scores() == {"ann": (3,)}


def test_creating_the_board(world: World) -> None:
    file = world.write("participantId,points,time\nann,9.5,61\n")
    options = ["--score", "points,time", "--create", "--kind", "decimal,DURATION", "--decimals", "1,0"]
    options += ["--order", "descending,ascending", "--policy", "latest", "--tie-break", "participant"]
    assert world.run(file, *options, "--title", "Two things") == 0
    board = world.boards.get(world.board_id)
    assert [(one.name, one.kind, one.order, one.decimals) for one in board.components] == [
        ("points", ScoreKind.DECIMAL, SortOrder.DESCENDING, 1),
        ("time", ScoreKind.DURATION, SortOrder.ASCENDING, 0),
    ]
    assert (board.title, board.policy, board.tie_break) == (
        "Two things",
        ScorePolicy.LATEST,
        TieBreak.PARTICIPANT,
    )
    assert world.scores() == {"ann": (95, 61)}
    assert world.run(file, *options) == 0, "a board that is there is used as it is"


def test_creating_the_board_for_a_column_of_lists(world: World) -> None:
    file = world.write('{"participantId": "ann", "score": [1, 2]}\n', "scores.jsonl")
    assert world.run(file, "--create", "--order", "descending,ascending") == 0
    assert [one.name for one in world.boards.get(world.board_id).components] == ["score 1", "score 2"]


# What is refused


def test_each_refused_line_of_csv_is_named_with_its_rule(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create(components=[ComponentInput(max="100")])
    file = world.write(
        b"who,score,achievedAt\n"
        b"ann,1,\n"
        b",2,\n"
        b"bob,,\n"
        b'"two\nlines",3,\n'
        b"cat,4\n"
        b"dan,NaN,\n"
        b"eve,101,\n"
        b"fay,5,yesterday\n"
        b"gus,5,2024-01-01T00:00:00\n"
        b"caf\xe9,6,\n"
        b'"hal"s,7,\n'
        b"ivy,8,\n"
    )
    refused = world.folder / "refused.csv"
    assert world.run(file, "--participant", "who", "--refused", str(refused)) == 1
    assert world.scores() == {"ann": (1,), "ivy": (8,)}
    output = capsys.readouterr().out
    assert "2 accepted" in output
    assert "10 refused" in output
    why = {
        3: ("participantId", "must not be empty"),
        4: ("score component 'score'", "must be a whole number"),
        5: ("participantId", "must not hold control characters"),
        7: ("row", "must have 3 columns as the header has, not 2"),
        8: ("score component 'score'", "must be a whole number, not 'NaN'"),
        9: ("score component 'score'", "must be at most 100"),
        10: ("achievedAt", "must be a time with its offset"),
        11: ("achievedAt", "must be a time with its offset"),
        12: ("participantId", "must be valid Unicode"),
        13: ("row", "must be valid CSV"),
    }
    for line, (field, rule) in why.items():
        assert f"  line {line}: {field}: {rule}" in output
    with refused.open(encoding="utf-8", errors="surrogateescape", newline="") as written:
        header, *rows = csv.reader(written)
    assert header == ["refused_line", "refused_field", "refused_rule", "who", "score", "achievedAt"]
    assert {int(row[0]): row[1] for row in rows} == {line: field for line, (field, _) in why.items()}
    assert next(row[3:] for row in rows if row[0] == "9") == ["eve", "101", ""]


def test_a_quote_that_nothing_closes_does_not_hide_the_rows_before_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create()
    lines = "".join(f"p{number},{number}\n" for number in range(30))
    assert world.run(world.write(f'participantId,score\nann,1\n"bob,2\n{lines}')) == 1
    assert world.scores() == {"ann": (1,)}
    assert "line 3: row: must be valid CSV: unexpected end of data (lines 3 to 33)" in capsys.readouterr().out


def test_each_refused_line_of_json_is_named_with_its_rule(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create()
    rows = [
        '{"participantId": "ann", "score": 1}',
        '{"participantId": "bob", "score": }',
        '["cat", 3]',
        '{"participantId": "dan"}',
        '{"participantId": "eve", "score": true}',
        '{"participantId": null, "score": 5}',
        '{"participantId": "fay", "score": NaN}',
        '{"participantId": "gus", "score": 1e400}',
        '{"participantId": "hal", "score": [1, 2]}',
        '{"participantId": "ivy", "score": 1, "metadata": {"a": 1e400}}',
        "[" * 100_000,
        '{"participantId": "joe", "score": 12345678901234567890}',
        '{"participantId": "kim", "score": 0}',
    ]
    refused = world.folder / "refused.jsonl"
    file = world.write("\n".join(rows), "scores.ndjson")
    assert world.run(file, "--refused", str(refused)) == 1
    assert world.scores() == {"ann": (1,), "kim": (0,)}
    output = capsys.readouterr().out
    for line, why in {
        2: "row: must be a JSON object",
        3: "row: must be a JSON object",
        4: "score: must be text, a number, or a list",
        5: "score: must be text, a number, or a list",
        6: "participantId: must be text",
        7: "score component 'score': must be a whole number",
        8: "score component 'score': must be a whole number, not '1e400'",
        9: "score: needs 1 value(s)",
        10: "metadata: must be JSON",
        11: "row: must be a JSON object",
        12: "score component 'score': must be at most 9223372036854775807",
    }.items():
        assert f"  line {line}: {why}" in output
    written = [line for line in refused.read_text().splitlines() if "12345678901234567890" in line]
    assert json.loads(written[0])["participantId"] == "joe", "the row is there as it was"


def test_what_was_refused_can_be_mended_and_imported(world: World) -> None:
    world.create(ScorePolicy.SUM)
    file = world.write("participantId,score\nann,1\nann,two\nann,4\nbob,x\n")
    refused = world.folder / "refused.csv"
    assert world.run(file, "--refused", str(refused)) == 1
    assert world.scores() == {"ann": (5,)}
    mended = world.write(refused.read_text().replace("two", "2").replace("bob,x", "bob,8"), "mended.csv")
    for _ in range(2):
        assert world.run(mended) == 0
        assert world.scores() == {"ann": (7,), "bob": (8,)}


def test_only_the_first_refused_lines_are_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.create()
    file = world.write("participantId,score\n" + "ann,x\n" * 100)
    assert world.run(file) == 1
    output = capsys.readouterr().out
    assert "100 refused" in output
    assert output.count("  line ") == 20
    assert "and 80 more" in output


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("who,points\nann,1\n", [], "no column 'participantId'; its columns: who, points"),
        ("participantId,points\nann,1\n", [], "no column 'score'; its columns: participantId, points"),
        ("participantId,score\nann,1\n", ["--achieved-at", "when"], "no column 'when'"),
        ("participantId,score\nann,1\n", ["--metadata", "score,club"], "no column 'club'"),
        ("participantId,score,score\nann,1,2\n", [], "more than one column 'score'"),
        ("participantId,a,b\nann,1,2\n", ["--score", "a,b"], "has 1 component(s), score"),
        ("", [], "no header"),
        ('{"name": "ann"}\n', ["--format", "jsonl"], "no column 'participantId'; its columns: name"),
        ("ann,1\n", ["--format", "jsonl"], "no JSON object"),
    ],
)
def test_a_file_that_cannot_be_imported(
    world: World, capsys: pytest.CaptureFixture[str], content: str, options: list[str], message: str
) -> None:
    world.create()
    assert world.run(world.write(content), *options) == 2
    assert message in capsys.readouterr().err
    assert world.scores() == {}


def test_what_is_not_there(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    file = world.write("participantId,score\nann,1\n")
    assert world.run(file) == 2
    assert f"there is no leaderboard '{world.board_id}'; --create creates it" in capsys.readouterr().err
    assert world.run(world.folder / "nothing.csv") == 2
    assert "cannot read" in capsys.readouterr().err
    assert world.run(world.folder) == 2
    assert "cannot read" in capsys.readouterr().err


def test_refused_rows_never_overwrite_the_file_itself(world: World) -> None:
    world.create()
    content = "participantId,score\nann,x\n"
    file = world.write(content)
    assert world.run(file, "--refused", str(file)) == 2
    assert file.read_text() == content


# Running again


def many_rows(seed: int, participants: int = 20, rows: int = 300) -> list[tuple[str, int, datetime]]:
    chance = random.Random(seed)
    return [
        (
            f"p{chance.randrange(participants)}",
            chance.randrange(-50, 100),
            THEN.replace(minute=chance.randrange(60)),
        )
        for _ in range(rows)
    ]


def as_csv(rows: Sequence[tuple[str, int, datetime]], *, with_time: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["participantId", "score", *(["achievedAt"] if with_time else [])])
    writer.writerows(
        (who, score, when.isoformat()) if with_time else (who, score) for who, score, when in rows
    )
    return text.getvalue()


@pytest.mark.parametrize("with_time", [True, False])
@pytest.mark.parametrize("policy", ScorePolicy)
def test_running_again_changes_nothing(world: World, policy: ScorePolicy, *, with_time: bool) -> None:
    world.create(policy)
    rows = many_rows(seed=1)
    file = world.write(as_csv(rows, with_time=with_time))
    assert world.run(file, "--workers", "16") == 0
    first = world.entries()
    expected: dict[str, int] = {}
    if policy is ScorePolicy.SUM:
        for who, score, _ in rows:
            expected[who] = expected.get(who, 0) + score
    elif policy is ScorePolicy.BEST:
        for who, score, _ in rows:
            expected[who] = max(expected.get(who, score), score)
    else:  # the last in time; of one time, and without any, the last in the file
        in_time = sorted(rows, key=lambda row: row[2]) if with_time else rows
        expected = {who: score for who, score, _ in in_time}
    assert world.scores() == {who: (score,) for who, score in expected.items()}
    assert world.run(file, "--workers", "3") == 0
    assert world.entries() == first, "not a version, a time or a count has moved"


@pytest.mark.parametrize("policy", ScorePolicy)
def test_running_again_leaves_what_others_submitted_since(world: World, policy: ScorePolicy) -> None:
    board = world.create(policy)
    file = world.write(as_csv([("ann", 3, THEN), ("ann", 5, THEN)], with_time=False))
    assert world.run(file) == 0
    submit_score(world.db, board, Submission("ann", ["70"]), now=datetime.now(UTC))
    os.utime(file)  # as if the file had just been copied here
    assert world.run(file) == 0
    assert world.scores() == {"ann": (78 if policy is ScorePolicy.SUM else 70,)}


def test_a_seasons_worth_of_files_each_count_once(db: Database, boards: Boards) -> None:
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=THEN))
    for source in (*range(40), 0, 20, 39):
        submit_score(
            db, board, Submission("ann", ["1"], sequence=(f"race {source}", 1)), now=datetime.now(UTC)
        )
    assert scores_of(db, board) == {"ann": (40,)}


def test_a_mistyped_folder_is_not_made(
    world: World, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "nowhere"
    file = world.write("participantId,score\nann,1\n")
    assert main(["import", str(file), "--board", "race", "--data", str(missing)]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert not missing.exists()


def test_a_growing_file_under_one_name_adds_only_its_new_rows(world: World) -> None:
    world.create(ScorePolicy.SUM)
    content = "participantId,score\nann,1\nbob,2\n"
    for grown in ("", "ann,4\n", "bob,8\nann,16\n"):
        content += grown
        assert world.run(world.write(content), "--source", "the log") == 0
    assert world.scores() == {"ann": (21,), "bob": (10,)}


def test_another_column_of_the_same_file_is_another_import(world: World) -> None:
    world.create(ScorePolicy.SUM)
    file = world.write("participantId,monday,tuesday\nann,1,10\n")
    for column in ("monday", "tuesday", "monday"):
        assert world.run(file, "--score", column) == 0
    assert world.scores() == {"ann": (11,)}


def test_killed_in_the_middle_of_a_sum_it_ends_exact(world: World) -> None:
    board = world.create(ScorePolicy.SUM)
    rows = many_rows(seed=2, rows=1500)
    file = world.write(as_csv(rows, with_time=True))
    command = [sys.executable, "-c", "import sys; from local.cli import main; sys.exit(main())"]

    def applied() -> int:
        return sum(entry.submissions for entry in world.entries().values())

    for stop_at in (200, 500):
        with subprocess.Popen([*command, *world.arguments(file)], stdout=subprocess.DEVNULL) as process:
            while applied() < stop_at and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL, "it ended before it was killed"
        assert stop_at <= applied() < sum(1 for _, score, _ in rows if score)
    assert world.run(file) == 0
    totals = Counter[str]()
    for who, score, _ in rows:
        totals[who] += score
    assert world.scores() == {who: (total,) for who, total in totals.items()}
    assert {entry.board.generation for entry in world.entries().values()} == {board.generation}


# What fails for a passing reason


def fail_updates(db: Database, participant: str, *, after: int, times: int, error: Exception) -> None:
    """Have the updates of one participant fail `times` times, once `after` of them went well."""
    turns = iter([None] * after + [error] * times)

    def on_update(params: dict[str, Any], **_: object) -> None:
        if json.loads(params["body"])["Key"]["participant"]["S"] == participant:
            failure = next(turns, None)
            if failure is not None:
                raise failure

    db.client.meta.events.register("before-call.dynamodb.UpdateItem", on_update)


def settled(outcomes: Counter[str]) -> Callable[[Row, SubmitResult | LeaderboardError], None]:
    def settle(_: Row, outcome: SubmitResult | LeaderboardError) -> None:
        assert isinstance(outcome, SubmitResult)
        outcomes["accepted" if outcome.accepted else "duplicate" if outcome.duplicate else "kept"] += 1

    return settle


ROWS = [Row(number, f"p{number % 5}", (str(number),), THEN) for number in range(1, 101)]
TOTALS = {f"p{rest}": (sum(number for number in range(1, 101) if number % 5 == rest),) for rest in range(5)}


def test_a_throttled_row_is_tried_again_before_those_behind_it(db: Database, boards: Boards) -> None:
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=THEN))
    fail_updates(db, "p3", after=4, times=3, error=Throttled("busy"))
    outcomes = Counter[str]()
    submit_rows(db, board, ROWS, source="a", workers=4, settle=settled(outcomes))
    assert outcomes == {"accepted": 100}
    assert scores_of(db, board) == TOTALS


def test_an_import_stops_at_a_lost_connection_and_goes_on_from_there(db: Database, boards: Boards) -> None:
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=THEN))
    fail_updates(db, "p3", after=4, times=1, error=ConnectionError("gone"))
    outcomes = Counter[str]()
    with pytest.raises(ImportStoppedError, match="row 23: gone") as stop:
        submit_rows(db, board, ROWS, source="a", workers=4, settle=settled(outcomes))
    assert stop.value.number == 23
    assert scores_of(db, board)["p3"] == (3 + 8 + 13 + 18,), "no row of the participant behind it was taken"
    taken = outcomes["accepted"]
    submit_rows(db, board, ROWS, source="a", workers=4, settle=settled(outcomes))
    assert outcomes == {"accepted": 100, "duplicate": taken}
    assert scores_of(db, board) == TOTALS


def test_an_import_that_stopped_goes_on_where_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is done costs nothing again; refused rows are told again."""
    monkeypatch.setattr("local.importing.checkpoint._NOTED_EVERY", 0.0)
    board = world.create(ScorePolicy.SUM)
    rows = [f"p{at % 7},{'x' if at == 3 else 1}" for at in range(60)]
    file = world.write("participantId,score\n" + "\n".join(rows))
    calls: list[int] = []

    def fail_late(db: Database, board: Board, submissions: Sequence[Submission], *, now: datetime) -> Any:
        calls.extend(one.sequence[1] for one in submissions if one.sequence)
        if len(calls) > 40:
            raise ConnectionError
        return submit_scores(db, board, submissions, now=now)

    def count(db: Database, board: Board, submissions: Sequence[Submission], *, now: datetime) -> Any:
        calls.extend(one.sequence[1] for one in submissions if one.sequence)
        return submit_scores(db, board, submissions, now=now)

    monkeypatch.setattr("local.importing.submit.submit_scores", fail_late)
    monkeypatch.setattr("local.importing.submit.MAX_SUBMISSIONS", 5)
    assert world.run(file, "--workers", "1") == 2
    calls.clear()
    monkeypatch.setattr("local.importing.submit.submit_scores", count)
    capsys.readouterr()
    assert world.run(file, "--workers", "1") == 1
    told = capsys.readouterr().out
    assert "line 5: score" in told
    assert len(calls) <= 26
    assert sum(value for (value,) in scores_of(world.db, board).values()) == 59
    calls.clear()
    assert world.run(file) == 1  # through: looked at anew
    assert len(calls) == 60
    assert sum(value for (value,) in scores_of(world.db, board).values()) == 59


def test_two_of_the_same_import_at_once_add_once(db: Database, boards: Boards) -> None:
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=THEN))
    outcomes = Counter[str]()
    both = [
        threading.Thread(
            target=submit_rows,
            args=(db, board, ROWS),
            kwargs={"source": "a", "workers": 3, "settle": settled(outcomes)},
        )
        for _ in range(2)
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert outcomes == {"accepted": 100, "duplicate": 100}
    assert scores_of(db, board) == TOTALS


# Periods


@pytest.mark.parametrize("policy", ScorePolicy)
def test_rows_count_in_the_periods_that_they_were_achieved_in_and_again_changes_nothing(
    world: World, policy: ScorePolicy
) -> None:
    board = world.create(policy, periods=list(PeriodKind))
    now = datetime.now(UTC)
    times = [now - timedelta(hours=hours) for hours in (20, 10, 0)]
    rows = "".join(f"ann,{score},{at.isoformat()}\n" for score, at in zip((5, 3, 4), times, strict=True))
    file = world.write(f"participantId,score,achievedAt\n{rows}")
    expected: dict[str, list[int]] = {}
    for score, at in zip((5, 3, 4), times, strict=True):
        for period in periods_reached(board, at, now):
            expected.setdefault(period, []).append(score)
    for _ in range(2):
        assert world.run(file) == 0
        found = queries.participant_entries(world.db, world.boards, "ann", 100).items
        assert {one.period: one.score[0] for one in found if one.board.id == board.id} == {
            period: {"BEST": max, "SUM": sum, "LATEST": lambda of: of[-1]}[policy](scores)
            for period, scores in expected.items()
        }


def test_old_results_are_refused_line_by_line_where_there_are_periods(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A board of all time alone takes them; half of a result would be worse than none."""
    world.create(periods=[PeriodKind.ALL_TIME, PeriodKind.WEEKLY])
    now = datetime.now(UTC)
    file = world.write(
        f"participantId,score,achievedAt\nann,1,2024-01-02T03:04:05Z\nbob,2,{now.isoformat()}\n"
    )
    assert world.run(file) == 1
    assert (
        "achievedAt: is in weekly-2024-W01, which has been over for more than 24 hours"
        in capsys.readouterr().out
    )
    assert world.scores() == {"bob": (2,)}
