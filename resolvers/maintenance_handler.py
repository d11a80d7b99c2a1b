"""Lambda: what is due on a schedule."""

from core.boards import Boards
from core.maintenance import Maintenance
from resolvers.observability import configure_logging, emit_metrics, request
from resolvers.settings import Settings

configure_logging()
_settings = Settings.from_environment()
_db = _settings.connect()
_maintenance = Maintenance(_db, Boards(_db))
_SECONDS = 45.0  # it is started each minute, and may run for five


def handler(_event: object, context: object) -> None:
    """Take trees, archives and what is to go a step further."""
    with request(_settings, context, "maintenance"):
        growing, jobs = _maintenance.run(_SECONDS)
        emit_metrics(_settings, {"GrowingTrees": (growing, "Count"), "Jobs": (jobs, "Count")})
