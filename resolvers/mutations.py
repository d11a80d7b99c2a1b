# mypy: disable-error-code=untyped-decorator
"""Mutation: read the arguments, make one core call, wrap its result."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from core.archives.write import begin_archive, write_archive
from core.domain import model
from core.domain.entry_item import TEXTS
from core.domain.errors import LeaderboardNotFound
from core.domain.limits import DEFAULT_CLIENT_TIME_ALLOWANCE
from core.domain.periods import ALL_TIME, resolve_period
from core.entries import texts
from core.moderation import correct, forget, moderate
from core.submissions.submit import submit_score
from resolvers.bulk import submit_many
from resolvers.directives import IAM_ALONE, SIGNED_IN
from resolvers.event_inputs import RankBucketChangeInput, TopChangeInput
from resolvers.inputs import (
    CorrectEntryInput,
    CreateLeaderboardInput,
    SubmitScoreInput,
    UpdateEntryInput,
    UpdateLeaderboardInput,
)
from resolvers.observability import traced
from resolvers.request.arguments import BoardId, ParticipantId, change, change_or_default, given, or_kept
from resolvers.request.auth import AdminOnly, SignedIn
from resolvers.request.context import Info
from resolvers.request.selection import as_selected
from resolvers.request.workers import run_operation
from resolvers.types.archive import Archive, ForgottenParticipant
from resolvers.types.board import Leaderboard
from resolvers.types.entry import Entry
from resolvers.types.event import RankBucketChange, TopChange
from resolvers.types.submission import Submission, SubmissionOutcome

_ARCHIVE_SECONDS = 8.0  # of the 30 that AppSync and the Lambda allow; background work continues it

RootBoardId = Annotated[strawberry.ID, strawberry.argument(name="id", description="The board's id.")]
Reason = Annotated[str | None, strawberry.argument(description="The reason, kept in the audit record.")]


@strawberry.type(description="Changes to boards, entries and participants.")
class Mutation:
    """The root fields that write."""

    @strawberry.mutation(description="Create a leaderboard.", extensions=[AdminOnly()])
    async def create_leaderboard(
        self,
        info: Info,
        new: Annotated[
            CreateLeaderboardInput, strawberry.argument(name="input", description="The new board.")
        ],
    ) -> Leaderboard:
        """Create a board."""
        board = new.define(info.context.now())
        return Leaderboard.of(await run_operation(info.context.boards.create, board))

    @strawberry.mutation(
        description="Change a leaderboard; a VersionConflict error if it was changed since it was read.",
        extensions=[AdminOnly()],
    )
    async def update_leaderboard(
        self,
        info: Info,
        changes: Annotated[
            UpdateLeaderboardInput, strawberry.argument(name="input", description="The changes.")
        ],
    ) -> Leaderboard:
        """Change a board."""
        board = await run_operation(
            info.context.boards.update,
            changes.id,
            changes.version,
            title=change(changes.title),
            rank_buckets=changes.unpack_rank_buckets(),
            client_access=change_or_default(changes.client_access, model.ClientAccess.READ),
            client_time_allowance=change_or_default(
                changes.client_time_allowance, DEFAULT_CLIENT_TIME_ALLOWANCE
            ),
            periods=or_kept(changes.periods),
            time_zone=or_kept(changes.time_zone),
        )
        return Leaderboard.of(board)

    @strawberry.mutation(
        description="Stop accepting submissions to a leaderboard. Takes effect within 5 seconds.",
        extensions=[AdminOnly()],
    )
    async def close_leaderboard(
        self, info: Info, board_id: RootBoardId, reason: Reason = UNSET
    ) -> Leaderboard:
        """Close a board."""
        context = info.context
        board = await run_operation(context.boards.close, board_id, context.audit(given(reason)))
        return Leaderboard.of(board)

    @strawberry.mutation(
        description="Accept submissions to a closed leaderboard again. Takes effect within 5 seconds.",
        extensions=[AdminOnly()],
    )
    async def reopen_leaderboard(
        self, info: Info, board_id: RootBoardId, reason: Reason = UNSET
    ) -> Leaderboard:
        """Reopen a board."""
        context = info.context
        board = await run_operation(context.boards.reopen, board_id, context.audit(given(reason)))
        return Leaderboard.of(board)

    @strawberry.mutation(
        description="Delete a leaderboard with all its entries, counters and archives. The id is free at "
        "once; the data is deleted in the background.",
        extensions=[AdminOnly()],
    )
    async def delete_leaderboard(
        self, info: Info, board_id: RootBoardId, reason: Reason = UNSET
    ) -> Leaderboard:
        """Delete a board."""
        context = info.context
        board = await run_operation(context.boards.delete, board_id, context.audit(given(reason)))
        return Leaderboard.of(board)

    @strawberry.mutation(
        description="Submit a score to all periods of a leaderboard. Participants submit their own scores if "
        "the board's clientAccess is SUBMIT.",
        extensions=[SignedIn()],
        directives=SIGNED_IN,
    )
    async def submit_score(
        self,
        info: Info,
        attempt: Annotated[
            SubmitScoreInput, strawberry.argument(name="input", description="The submission.")
        ],
    ) -> Submission:
        """Submit a score."""
        submission = attempt.submission()
        context = info.context

        def submit() -> Submission:
            board = traced(context.boards.get, attempt.leaderboard_id)
            context.caller.check_submits(board, submission, context.now())
            result = traced(submit_score, context.db, board, submission, now=context.now())
            return Submission.of(board, result)

        return await context.submissions.run(submit)

    @strawberry.mutation(
        description="Submit up to 100 scores. Each is accepted or refused on its own.",
        extensions=[SignedIn()],
        directives=SIGNED_IN,
    )
    async def submit_scores(
        self,
        info: Info,
        inputs: Annotated[
            list[SubmitScoreInput], strawberry.argument(description="The submissions, at most 100.")
        ],
    ) -> list[SubmissionOutcome]:
        """Submit many scores."""
        return await info.context.submissions.run(submit_many, info.context, inputs)

    @strawberry.mutation(
        description="Change the display name or metadata of a participant's entries in the current periods. "
        "Returns the all-time entry if there is one.",
        extensions=[AdminOnly()],
    )
    async def update_entry(
        self,
        info: Info,
        changes: Annotated[UpdateEntryInput, strawberry.argument(name="input", description="The changes.")],
    ) -> Entry:
        """Change a participant's entries."""
        context = info.context
        board = await context.board(changes.leaderboard_id)
        entry = await run_operation(
            texts.update_entry,
            context.db,
            board,
            changes.participant_id,
            now=context.now(),
            **{one.name: change(getattr(changes, one.name)) for one in TEXTS},
        )
        return Entry.of(entry)

    @strawberry.mutation(
        description="Remove a participant from a leaderboard in all periods, and return the removed entry or "
        "null. For 30 days, scores that were achieved before the removal are refused.",
        extensions=[AdminOnly()],
    )
    async def remove_entry(
        self,
        info: Info,
        leaderboard_id: BoardId,
        participant_id: ParticipantId,
        reason: Reason = UNSET,
    ) -> Entry | None:
        """Remove a participant's entries."""
        context = info.context
        board = await context.board(leaderboard_id)
        audit = context.audit(given(reason))
        entry = await run_operation(moderate.remove_entry, context.db, board, participant_id, audit)
        return Entry.of(entry, standing=False) if entry else None

    @strawberry.mutation(
        description="Hide a participant's entries in all periods: until restored they have no rank, while "
        "submissions still change their scores.",
        extensions=[AdminOnly()],
    )
    async def hide_entry(
        self,
        info: Info,
        leaderboard_id: BoardId,
        participant_id: ParticipantId,
        reason: Reason = UNSET,
    ) -> Entry:
        """Hide a participant's entries."""
        context = info.context
        board = await context.board(leaderboard_id)
        audit = context.audit(given(reason))
        entry = await run_operation(moderate.hide_entry, context.db, board, participant_id, audit)
        return Entry.of(entry)

    @strawberry.mutation(
        description="Restore a participant's hidden entries with the scores and achievedAt that they had.",
        extensions=[AdminOnly()],
    )
    async def restore_entry(
        self, info: Info, leaderboard_id: BoardId, participant_id: ParticipantId, reason: Reason = UNSET
    ) -> Entry:
        """Restore a participant's entries."""
        context = info.context
        board = await context.board(leaderboard_id)
        audit = context.audit(given(reason))
        entry = await run_operation(moderate.restore_entry, context.db, board, participant_id, audit)
        return Entry.of(entry)

    @strawberry.mutation(
        description="Set a participant's score, up or down, under any policy, in one period or in all it "
        "reaches. Returns the entries; hidden ones stay hidden. What stands already is not recorded.",
        extensions=[AdminOnly()],
    )
    async def correct_entry(
        self,
        info: Info,
        correction: Annotated[
            CorrectEntryInput, strawberry.argument(name="input", description="The correction.")
        ],
    ) -> list[Entry]:
        """Correct a participant's entries."""
        context = info.context
        board = await context.board(correction.leaderboard_id)
        entries = await run_operation(
            correct.correct_entry,
            context.db,
            board,
            correction.participant_id,
            correction.score,
            context.audit(correction.reason),
            achieved_at=given(correction.achieved_at),
            period=given(correction.period),
        )
        return [Entry.of(entry) for entry in entries]

    @strawberry.mutation(
        description="Erase a participant from all boards, periods and archives. Archived entries keep their "
        "rank and score, without id and name.",
        extensions=[AdminOnly()],
    )
    async def forget_participant(
        self,
        info: Info,
        participant_id: Annotated[
            strawberry.ID, strawberry.argument(name="id", description="The participant's id.")
        ],
    ) -> ForgottenParticipant:
        """Erase a participant."""
        context = info.context
        removed = await run_operation(
            forget.forget_participant, context.db, context.boards, participant_id, context.audit()
        )
        return ForgottenParticipant(id=participant_id, entries_removed=removed)

    @strawberry.mutation(
        description="Archive a period's standings. A large board is archived in the background, and its "
        "archive is listed once it is complete. A second request in the same minute returns the same one.",
        extensions=[AdminOnly()],
    )
    async def archive_leaderboard(
        self,
        info: Info,
        leaderboard_id: BoardId,
        period: Annotated[
            str | None, strawberry.argument(description="The period, by default all-time.")
        ] = ALL_TIME,
        limit: Annotated[
            int | None,
            strawberry.argument(description="The most entries to archive, best first; by default all."),
        ] = UNSET,
    ) -> Archive:
        """Write an archive, or its beginning."""
        context = info.context
        board = await context.board(leaderboard_id)
        key = resolve_period(board, given(period), context.now())
        name = await run_operation(begin_archive, context.db, board, key, context.now(), limit=given(limit))
        archive = await run_operation(write_archive, context.db, name, _ARCHIVE_SECONDS)
        if archive is None:
            raise LeaderboardNotFound(f"there is no leaderboard {leaderboard_id!r}")
        return Archive.of(archive)

    @strawberry.mutation(
        description="Publish a rank bucket change to its subscribers; for the publisher alone. They receive "
        "the fields that the mutation selects.",
        extensions=[AdminOnly()],
        directives=IAM_ALONE,
    )
    async def publish_rank_bucket_change(
        self,
        info: Info,
        event: Annotated[RankBucketChangeInput, strawberry.argument(name="input", description="The event.")],
    ) -> RankBucketChange:
        """Publish a rank bucket change."""
        change = event.unpack()
        info.context.hub.publish(as_selected(info, change))
        return change

    @strawberry.mutation(
        description="Publish a top change to its subscribers; for the publisher alone. They receive the "
        "fields that the mutation selects.",
        extensions=[AdminOnly()],
        directives=IAM_ALONE,
    )
    async def publish_top_change(
        self,
        info: Info,
        event: Annotated[TopChangeInput, strawberry.argument(name="input", description="The event.")],
    ) -> TopChange:
        """Publish a top change."""
        change = event.unpack()
        info.context.hub.publish(as_selected(info, change))
        return change
