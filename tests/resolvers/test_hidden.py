"""Hidden entries: only their own participant and the owner of the board can see them."""

import asyncio
from typing import Any

import pytest

from core.boards import Boards
from core.storage.database import Database
from resolvers.appsync import answer
from tests.support.appsync_service import IAM, AppSync
from tests.support.clients import Clients

ANN = """{
  leaderboard(id: "board") {
    entry(participantId: "ann") { hidden rank { rank } }
    entriesOf(participantIds: ["ann", "bob"]) { participant { id } }
    around(participantId: "ann") { hidden }
    entries { items { participant { id } } }
    top { participant { id } }
    archives { items { entries { items { participant { id } } } } }
  }
  participant(id: "ann") { displayName entries { items { leaderboardId hidden } nextToken } }
  bob: participant(id: "bob") { entries { items { participant { entries { items { leaderboardId } } } } } }
}"""
IDENTITIES = {"admin": IAM, "public": None, **{who: {"claims": {"sub": who}} for who in ("ann", "bob")}}


@pytest.fixture
def clients(db: Database, boards: Boards) -> Clients:
    """Ann is hidden on one board, where an archive was written after, and has no other entry."""
    clients = Clients(db, boards)
    clients.board()
    for who, score in (("ann", "9"), ("bob", "7")):
        clients.submit(who, score, displayName=who.title())
    clients.data('mutation { hideEntry(leaderboardId: "board", participantId: "ann") { hidden } }')
    clients.data('mutation { archiveLeaderboard(leaderboardId: "board") { complete } }')
    return clients


@pytest.fixture
def appsync(db: Database, boards: Boards) -> AppSync:
    def invoke(event: Any) -> Any:
        calls = event if isinstance(event, list) else [event]
        envelopes = asyncio.run(answer(db, boards, calls))
        return envelopes if isinstance(event, list) else envelopes[0]

    return AppSync(invoke)


@pytest.mark.parametrize(("who", "sees"), [("admin", True), ("ann", True), ("bob", False), ("public", False)])
def test_a_hidden_entry_exists_for_its_participant_and_the_owner_alone(
    clients: Clients, appsync: AppSync, who: str, *, sees: bool
) -> None:
    response = clients.ask(ANN, key=who)
    assert "errors" not in response
    board, ann = response["data"]["leaderboard"], response["data"]["participant"]
    assert board["entry"] == ({"hidden": True, "rank": None} if sees else None)
    assert [one["participant"]["id"] for one in board["entriesOf"]] == (["ann", "bob"] if sees else ["bob"])
    assert (ann and ann["entries"]) == (
        {"items": [{"leaderboardId": "board", "hidden": True}], "nextToken": None} if sees else None
    )
    # It takes no rank, so what is in rank order leaves it out for everyone.
    assert board["around"] is None
    (archive,) = board["archives"]["items"]
    for ranked in (board["entries"]["items"], board["top"], archive["entries"]["items"]):
        assert [one["participant"]["id"] for one in ranked] == ["bob"]
    assert appsync.ask(ANN, identity=IDENTITIES[who])["data"] == response["data"]


def test_others_entries_of_a_participant_fill_pages_without_the_hidden_ones(clients: Clients) -> None:
    for board in ("a", "c"):
        clients.board(board)
        clients.submit("ann", "1", board=board)
    query = """query ($after: String) {
      participant(id: "ann") { entries(limit: 1, nextToken: $after) { items { leaderboardId } nextToken } }
    }"""
    seen, after = [], None
    for _ in range(2):
        page = clients.ask(query, key="public", after=after)["data"]["participant"]["entries"]
        seen += [one["leaderboardId"] for one in page["items"]]
        after = page["nextToken"]
    assert seen == ["a", "c"]


def test_whoever_was_hidden_is_seen_again_once_restored(clients: Clients) -> None:
    clients.data('mutation { restoreEntry(leaderboardId: "board", participantId: "ann") { hidden } }')
    board = clients.ask(ANN, key="public")["data"]["leaderboard"]
    assert board["entry"] == {"hidden": False, "rank": {"rank": 1}}
