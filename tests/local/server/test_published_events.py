"""Which events the local stack publishes: those of boards that somebody follows."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from core.domain.board import define_board
from core.domain.periods import ALL_TIME
from core.notifications.events import Event, Published, TopChange
from local.server.main import _publish
from resolvers.request.hub import MAX_WAITING, Hub, Reader

if TYPE_CHECKING:
    from resolvers.publisher import Publisher

NOW = datetime(2026, 11, 30, tzinfo=UTC)
FOLLOWED, OTHER = (
    TopChange(define_board(id=board_id, now=NOW), ALL_TIME, (), 1, NOW) for board_id in ("followed", "other")
)


class FakePublisher:
    def __init__(self) -> None:
        self.published: list[Event] = []

    def publish(self, events: Sequence[Event]) -> Published:
        self.published += events
        return Published(uncertain=events)


def test_only_events_of_followed_boards_are_published() -> None:
    async def play() -> None:
        hub, fake = Hub(), FakePublisher()
        publisher = cast("Publisher", fake)
        assert _publish(hub, publisher, [FOLLOWED, OTHER]).done == [FOLLOWED, OTHER]
        reader = Reader(MAX_WAITING)
        both = [hub.subscribe(object, {"leaderboard_id": "followed"}, reader) for _ in range(2)]
        await both[0].aclose()
        await both[0].aclose()
        published = _publish(hub, publisher, [OTHER, FOLLOWED])
        assert (published.done, published.uncertain) == ([OTHER], [FOLLOWED])
        assert fake.published == [FOLLOWED]
        await both[1].aclose()
        assert _publish(hub, publisher, [FOLLOWED]).done == [FOLLOWED]

    asyncio.run(play())
