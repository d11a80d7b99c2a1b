"""What a submission did."""

from typing import Self

import strawberry

from core.domain import model
from resolvers.request.errors import tell
from resolvers.types.entry import Entry
from resolvers.types.score import Score


@strawberry.type(description="What a submission did, and what stands now.")
class Submission:
    """A submission's outcome."""

    accepted: bool = strawberry.field(
        description="False when no period's entry changed, as when BEST kept the earlier ones."
    )
    duplicate: bool = strawberry.field(description="The submissionId was seen before: nothing changed.")
    entries: list[Entry] = strawberry.field(description="One a period, as they stand now.")
    previous_score: Score | None = strawberry.field(description="The all-time score that stood before.")

    @classmethod
    def of(cls, board: model.Board, result: model.SubmitResult) -> Self:
        """Wrap a submission's result."""
        return cls(
            accepted=result.accepted,
            duplicate=result.duplicate,
            entries=[Entry.of(entry) for entry in result.entries],
            previous_score=(
                None if result.previous_score is None else Score.of(board.components, result.previous_score)
            ),
        )


@strawberry.type(description="One of many submissions: what it did, or why it was refused.")
class SubmissionOutcome:
    """One outcome of a batch."""

    submission: Submission | None = strawberry.field(description="What it did; null when refused.")
    error_type: str | None = strawberry.field(description="The error's word, such as InvalidScore.")
    error_message: str | None = strawberry.field(description="Why it was refused.")

    @classmethod
    def of(cls, board: model.Board, outcome: model.SubmitResult | Exception) -> Self:
        """Wrap a submission's result, or why it failed."""
        if isinstance(outcome, Exception):
            return cls.refused(outcome)
        return cls(submission=Submission.of(board, outcome), error_type=None, error_message=None)

    @classmethod
    def refused(cls, error: Exception) -> Self:
        """Wrap a failure; one that is not foreseen is logged, and the client is told no more than that."""
        word, message = tell(error)
        return cls(submission=None, error_type=word, error_message=message)
