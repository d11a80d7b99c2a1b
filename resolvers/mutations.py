# mypy: disable-error-code=untyped-decorator
"""Mutation: unpack, one core call, wrap."""

import asyncio
from typing import Annotated

import strawberry
from strawberry import UNSET

from core.archives.write import begin_archive, write_archive
from core.domain.entry_item import TEXTS
from core.domain.errors import LeaderboardNotFound
from core.domain.periods import ALL_TIME, resolve_period
from core.entries import edit
from core.moderation import forget, moderate
from core.submissions.submit import submit_score
from resolvers.arguments import BoardId, ParticipantId, change, given, or_kept
from resolvers.auth import AdminOnly, SignedIn
from resolvers.bulk import submit_many
from resolvers.context import Info
from resolvers.directives import IAM_ALONE, SIGNED_IN
from resolvers.event_inputs import RankBucketChangeInput, TopChangeInput
from resolvers.inputs import (
    CreateLeaderboardInput,
    SubmitScoreInput,
    UpdateEntryInput,
    UpdateLeaderboardInput,
)
from resolvers.selection import as_selected
from resolvers.types.archive import Archive, ForgottenParticipant
from resolvers.types.board import Leaderboard
from resolvers.types.entry import Entry
from resolvers.types.event import RankBucketChange, TopChange
from resolvers.types.submission import Submission, SubmissionOutcome

_TAKING_SECONDS = 8.0  # a Lambda has 30

RootBoardId = Annotated[strawberry.ID, strawberry.argument(name="id", description="The board's id.")]
Reason = Annotated[str | None, strawberry.argument(description="Why, for the record.")]


@strawberry.type(description="What can be changed.")
class Mutation:
    """Every root field that writes."""

    @strawberry.mutation(description="Makes a leaderboard.", extensions=[AdminOnly()])
    async def create_leaderboard(
        self,
        info: Info,
        new: Annotated[
            CreateLeaderboardInput, strawberry.argument(name="input", description="The board to make.")
        ],
    ) -> Leaderboard:
        """Make a board."""
        board = new.define(info.context.now())
        return Leaderboard.of(await asyncio.to_thread(info.context.boards.create, board))

    @strawberry.mutation(
        description="Changes a leaderboard that nobody else changed since.", extensions=[AdminOnly()]
    )
    async def update_leaderboard(
        self,
        info: Info,
        changes: Annotated[
            UpdateLeaderboardInput, strawberry.argument(name="input", description="What to change.")
        ],
    ) -> Leaderboard:
        """Change a board's title, rank buckets, periods or time zone."""
        board = await asyncio.to_thread(
            info.context.boards.update,
            changes.id,
            changes.version,
            title=change(changes.title),
            rank_buckets=changes.unpack_rank_buckets(),
            client_access=changes.unpack_client_access(),
            periods=or_kept(changes.periods),
            time_zone=or_kept(changes.time_zone),
        )
        return Leaderboard.of(board)

    @strawberry.mutation(
        description="Takes no more submissions, whatever the board's version; within 5 seconds everywhere.",
        extensions=[AdminOnly()],
    )
    async def close_leaderboard(
        self, info: Info, board_id: RootBoardId, reason: Reason = UNSET
    ) -> Leaderboard:
        """Close a board."""
        context = info.context
        board = await asyncio.to_thread(context.boards.close, board_id, context.audit(given(reason)))
        return Leaderboard.of(board)

    @strawberry.mutation(
        description="Takes submissions again; within 5 seconds everywhere.", extensions=[AdminOnly()]
    )
    async def reopen_leaderboard(
        self, info: Info, board_id: RootBoardId, reason: Reason = UNSET
    ) -> Leaderboard:
        """Reopen a board."""
        context = info.context
        board = await asyncio.to_thread(context.boards.reopen, board_id, context.audit(given(reason)))
        return Leaderboard.of(board)

    @strawberry.mutation(
        description="Deletes a leaderboard with every entry, counter and archive. It is gone at once, and "
        "its id free; what it held goes in the background.",
        extensions=[AdminOnly()],
    )
    async def delete_leaderboard(
        self, info: Info, board_id: RootBoardId, reason: Reason = UNSET
    ) -> Leaderboard:
        """Delete a board."""
        context = info.context
        board = await asyncio.to_thread(context.boards.delete, board_id, context.audit(given(reason)))
        return Leaderboard.of(board)

    @strawberry.mutation(
        description="Submits a score to every period of a leaderboard; participants submit their own, where "
        "the board's clientAccess is SUBMIT.",
        extensions=[SignedIn()],
        directives=SIGNED_IN,
    )
    async def submit_score(
        self,
        info: Info,
        attempt: Annotated[
            SubmitScoreInput, strawberry.argument(name="input", description="The score to submit.")
        ],
    ) -> Submission:
        """Submit a score."""
        submission = attempt.submission()
        context = info.context
        board = await asyncio.to_thread(context.boards.get, attempt.leaderboard_id)
        context.caller.check_submits(board, attempt.participant_id)
        result = await asyncio.to_thread(submit_score, context.db, board, submission, now=context.now())
        return Submission.of(board, result)

    @strawberry.mutation(
        description="Submits up to 100 scores; one that is refused never fails its neighbours.",
        extensions=[SignedIn()],
        directives=SIGNED_IN,
    )
    async def submit_scores(
        self,
        info: Info,
        inputs: Annotated[
            list[SubmitScoreInput], strawberry.argument(description="The scores to submit; at most 100.")
        ],
    ) -> list[SubmissionOutcome]:
        """Submit many scores."""
        return await submit_many(info.context, inputs)

    @strawberry.mutation(
        description="Changes an entry's name or metadata in each current period, never score or place.",
        extensions=[AdminOnly()],
    )
    async def update_entry(
        self,
        info: Info,
        changes: Annotated[
            UpdateEntryInput, strawberry.argument(name="input", description="What to change.")
        ],
    ) -> Entry:
        """Change an entry."""
        context = info.context
        board = await asyncio.to_thread(context.boards.get, changes.leaderboard_id)
        entry = await asyncio.to_thread(
            edit.update_entry,
            context.db,
            board,
            changes.participant_id,
            now=context.now(),
            **{one.name: change(getattr(changes, one.name)) for one in TEXTS},
        )
        return Entry.of(entry)

    @strawberry.mutation(
        description="Takes a participant off a leaderboard, in every period; gives the entry that stood "
        "there, or null. For 30 days, scores achieved before are refused.",
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
        board = await asyncio.to_thread(context.boards.get, leaderboard_id)
        audit = context.audit(given(reason))
        entry = await asyncio.to_thread(moderate.remove_entry, context.db, board, participant_id, audit)
        return Entry.of(entry, standing=False) if entry else None

    @strawberry.mutation(
        description="Hides a participant's entries in every period: they keep their scores, and take no rank "
        "until they are restored.",
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
        board = await asyncio.to_thread(context.boards.get, leaderboard_id)
        audit = context.audit(given(reason))
        entry = await asyncio.to_thread(moderate.hide_entry, context.db, board, participant_id, audit)
        return Entry.of(entry)

    @strawberry.mutation(
        description="Restores hidden entries to the places that their scores have; achievedAt is as it was.",
        extensions=[AdminOnly()],
    )
    async def restore_entry(
        self, info: Info, leaderboard_id: BoardId, participant_id: ParticipantId, reason: Reason = UNSET
    ) -> Entry:
        """Restore a participant's entries."""
        context = info.context
        board = await asyncio.to_thread(context.boards.get, leaderboard_id)
        audit = context.audit(given(reason))
        entry = await asyncio.to_thread(moderate.restore_entry, context.db, board, participant_id, audit)
        return Entry.of(entry)

    @strawberry.mutation(
        description="Erases a participant from every board, period and archive. Archived rows keep their "
        "place and score, and lose who they were.",
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
        removed = await asyncio.to_thread(
            forget.forget_participant, context.db, context.boards, participant_id, context.audit()
        )
        return ForgottenParticipant(id=participant_id, entries_removed=removed)

    @strawberry.mutation(
        description="Freezes a period's standings, under an id of their own. A large board's are taken in "
        "the background: the archive is in the board's list once it is complete. Asked for again within the "
        "same minute, it is the same archive.",
        extensions=[AdminOnly()],
    )
    async def archive_leaderboard(
        self,
        info: Info,
        leaderboard_id: BoardId,
        period: Annotated[
            str | None, strawberry.argument(description="Which period; all-time when left out.")
        ] = ALL_TIME,
        limit: Annotated[
            int | None, strawberry.argument(description="How many entries to keep; all when left out.")
        ] = UNSET,
    ) -> Archive:
        """Take an archive, or begin to."""
        context = info.context
        board = await asyncio.to_thread(context.boards.get, leaderboard_id)
        key = resolve_period(board, given(period), context.now())
        name = await asyncio.to_thread(
            begin_archive, context.db, board, key, context.now(), limit=given(limit)
        )
        archive = await asyncio.to_thread(write_archive, context.db, name, _TAKING_SECONDS)
        if archive is None:
            raise LeaderboardNotFound(f"there is no leaderboard {leaderboard_id!r}")
        return Archive.of(archive)

    @strawberry.mutation(
        description="Tells subscribers that a participant changed rank bucket; for the stream's publisher "
        "alone. They are told the fields that it selects, and no others.",
        extensions=[AdminOnly()],
        directives=IAM_ALONE,
    )
    async def publish_rank_bucket_change(
        self,
        info: Info,
        event: Annotated[
            RankBucketChangeInput, strawberry.argument(name="input", description="What happened.")
        ],
    ) -> RankBucketChange:
        """Tell of a change of rank bucket."""
        change = event.unpack()
        info.context.hub.publish(as_selected(info, change))
        return change

    @strawberry.mutation(
        description="Tells subscribers that a board's top changed; for the stream's publisher alone. They "
        "are told the fields that it selects, and no others.",
        extensions=[AdminOnly()],
        directives=IAM_ALONE,
    )
    async def publish_top_change(
        self,
        info: Info,
        event: Annotated[TopChangeInput, strawberry.argument(name="input", description="What happened.")],
    ) -> TopChange:
        """Tell of a change of a top."""
        change = event.unpack()
        info.context.hub.publish(as_selected(info, change))
        return change
