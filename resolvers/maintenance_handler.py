"""Lambda: background work, on a schedule."""

from core.boards import Boards
from core.maintenance import Maintenance
from resolvers.observability import configure_logging, emit_metrics, request, traced
from resolvers.settings import Settings

configure_logging()
_settings = Settings.from_environment()
_db = _settings.connect()
_maintenance = Maintenance(_db, Boards(_db))
_SECONDS = 45.0  # of a schedule of one minute and a timeout of five


def handler(_event: object, context: object) -> None:
    """Run one slice of background work: growing trees, archives and deletions."""
    with request(_settings, context, "maintenance"):
        growing, jobs = traced(_maintenance.run, _SECONDS)
        emit_metrics(_settings, {"GrowingTrees": (growing, "Count"), "Jobs": (jobs, "Count")})
