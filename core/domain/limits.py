"""The limits of the API, and the check of a page size."""

from core.domain.errors import InvalidInput

MAX_ID_BYTES = 256
MAX_DISPLAY_NAME_BYTES = 256
MAX_METADATA_BYTES = 1024
MAX_TITLE_BYTES = 256
MAX_COMPONENTS = 32
MAX_RANK_BUCKETS = 32
MAX_RANK_KEY_BYTES = 1024  # DynamoDB's limit of a sort key
MAX_EVENT_BYTES = 240_000  # AppSync drops larger events silently
MAX_REASON_BYTES = 1024
DEFAULT_CLIENT_TIME_ALLOWANCE = 60  # seconds
MAX_CLIENT_TIME_ALLOWANCE = 30 * 86_400

MAX_TOP = 100
MAX_PAGE = 1000
MAX_RADIUS = 100
MAX_ENTRIES_OF = 100
MAX_BOARDS_PAGE = 100
MAX_ARCHIVES_PAGE = 100
MAX_SUBMISSIONS = 100
MAX_BINS = 100


def check_limit(name: str, value: int, maximum: int, minimum: int = 1) -> None:
    """Check that a page size is within its bounds.

    Raises:
        InvalidInput: naming the argument and its bounds.
    """
    if not minimum <= value <= maximum:
        raise InvalidInput(f"{name}: must be from {minimum} to {maximum}, not {value}")
