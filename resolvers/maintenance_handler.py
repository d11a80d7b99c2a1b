"""Lambda: what is due on a schedule."""

from core.boards import Boards
from core.growth import grow_all
from resolvers.observability import configure_logging, emit_metrics, request
from resolvers.settings import Settings

configure_logging()
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db)


def handler(_event: object, context: object) -> None:
    """Take every counter tree that has something to grow a step further."""
    with request(_settings, context, "maintenance"):
        left = grow_all(_db, _boards)
        emit_metrics(_settings, {"GrowingTrees": (left, "Count")})
