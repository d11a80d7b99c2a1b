"""Outcomes of submissions."""

from typing import Self

import strawberry

from core.domain import model
from resolvers.request.errors import describe_exception
from resolvers.types.entry import Entry
from resolvers.types.score import Score


@strawberry.type(description="What a submission changed, and the entries as they stand now.")
class Submission:
    """The outcome of a submission that was not refused."""

    accepted: bool = strawberry.field(
        description="Whether the entry of any period changed; false if BEST kept the earlier scores."
    )
    duplicate: bool = strawberry.field(
        description="Whether the submissionId was used before; then nothing changed."
    )
    entries: list[Entry] = strawberry.field(
        description="The participant's entries as they stand now, one for each period."
    )
    previous_score: Score | None = strawberry.field(
        description="The all-time score before the submission; null if there was none."
    )

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


@strawberry.type(description="The outcome of one of many submissions.")
class SubmissionOutcome:
    """The outcome of one submission of a batch."""

    submission: Submission | None = strawberry.field(
        description="What the submission changed; null if it was refused."
    )
    error_type: str | None = strawberry.field(
        description="The type of the error, such as InvalidScore; null if there is none."
    )
    error_message: str | None = strawberry.field(
        description="The field and the rule that it breaks; null if there is no error."
    )

    @classmethod
    def of(cls, board: model.Board, outcome: model.SubmitResult | Exception) -> Self:
        """Wrap a submission's result or its failure."""
        if isinstance(outcome, Exception):
            return cls.refused(outcome)
        return cls(submission=Submission.of(board, outcome), error_type=None, error_message=None)

    @classmethod
    def refused(cls, error: Exception) -> Self:
        """Wrap a failure. An unexpected one is logged; the client sees InternalFailure."""
        error_type, message = describe_exception(error)
        return cls(submission=None, error_type=error_type, error_message=message)
