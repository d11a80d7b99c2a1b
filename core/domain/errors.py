"""The errors that callers can act on; clients see their names as `errorType`."""


class LeaderboardError(Exception):
    """The base of all errors that the caller can act on."""

    @property
    def code(self) -> str:
        """Return the client's `errorType`, which never changes."""
        return type(self).__name__


class LeaderboardNotFound(LeaderboardError):
    """No board has this id."""


class LeaderboardExists(LeaderboardError):
    """There is a board with this id already."""


class ArchiveNotFound(LeaderboardError):
    """No complete archive has this id."""


class EntryNotFound(LeaderboardError):
    """The participant is not on the board."""


class EntryRemoved(LeaderboardError):
    """The participant was taken off the board after this score was achieved; nothing was stored."""


class LeaderboardClosed(LeaderboardError):
    """The board takes no submissions until it is reopened; nothing was stored."""


class InvalidScore(LeaderboardError):
    """A score breaks a rule of its component; nothing was stored."""


class InvalidInput(LeaderboardError):
    """An argument other than a score breaks a rule; nothing was stored."""


class SubmissionConflict(LeaderboardError):
    """The same submission id came with another body."""


class VersionConflict(LeaderboardError):
    """The item was changed by someone else since it was read."""


class Unauthorized(LeaderboardError):
    """The caller may not do this."""


class Unavailable(LeaderboardError):
    """The database did not answer; a change may have been made or not. Try again."""


class Throttled(LeaderboardError):
    """The database is busy; nothing is lost, try again."""
