"""What can go wrong, in the words that clients see as `errorType`."""


class LeaderboardError(Exception):
    """A refusal that the caller can act on; its class name is the client's `errorType`."""

    @property
    def code(self) -> str:
        """The stable word for this kind of error."""
        return type(self).__name__


class LeaderboardNotFound(LeaderboardError):
    """No board has this id."""


class LeaderboardExists(LeaderboardError):
    """A board with this id is already there."""


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


class Throttled(LeaderboardError):
    """The database asks for patience; nothing is lost, try again."""
