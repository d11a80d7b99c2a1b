"""Forget a participant: erase them on every board, in every period, archive and record.

The job and the audit record are written first, in one transaction. Then entries, names on audit records and
the outbox are erased at once. Archives are immutable but for this: the participant's rows keep score and
place, so that nobody else's rank changes, and lose id, name and metadata. That is done in the background;
until then readers erase them from each page. It ends by erasing from the outbox the event of their leaving.

The id alone stays in tombstones and flags for 30 days, to refuse late retries.
"""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.archives.items import ROWS, read_archive
from core.archives.read import INDEX_LAG, listed_archives, may_hold
from core.archives.rows import erased, pack, unpack
from core.boards import Boards
from core.domain.entry_item import is_entry, written_at
from core.domain.keys import split_standings
from core.domain.rank_key import instant, microseconds
from core.domain.text import check_id
from core.entries.read import participant_items
from core.moderation.moderate import leave_tombstone
from core.notifications.outbox import delete_outgoing
from core.records.audit import AuditAction, AuditContext, forget_name, participant_hash, record
from core.records.flags import flag_removed
from core.records.jobs import Item, Job, add_job, pending_jobs, remove_job, save_progress
from core.records.table import query_records, record_key
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_ENTRIES_ERASED: "dict[str, AttributeValueTypeDef]" = {"entries_erased": {"BOOL": True}}


def forget_participant(db: Database, boards: Boards, participant_id: str, audit: AuditContext) -> int:
    """Erase a participant and return how many entries there were. If interrupted, background work goes on.

    Raises:
        InvalidInput: the id.
        Throttled: too many submissions at once; do it again.

    Costs a read unit for each 4 KB of the participant's entries; for each entry what it costs to take it off
    its board, and a write unit more; for each record what `forget_name` does; then `erase_from_archives`.
    """
    check_id("participantId", participant_id)
    digest, asked_at = participant_hash(db, participant_id), str(microseconds(audit.at))
    job = add_job(db, Job.FORGET, digest, participant={"S": participant_id}, asked_at={"N": asked_at})
    records = record(db, AuditAction.FORGET, audit, participant_id=participant_id, named=False)
    db.client.transact_write_items(TransactItems=[job, *records])
    removed = sum(_erase_entry(db, boards, item, audit.at) for item in participant_items(db, participant_id))
    _erase_outbox(db, participant_id)
    forget_name(db, participant_id)
    save_progress(db, Job.FORGET, digest, **_ENTRIES_ERASED)
    return removed


def erase_from_archives(db: Database, boards: Boards, name: str, job: Item, seconds: float) -> bool:
    """Go on erasing a participant from the archives, for so many seconds. Return whether it is done.

    If erasing the entries was interrupted, it is finished first, for entries not written since it was asked
    for; those of deleted boards go with their boards.

    Costs a read unit for each 4 KB of every archive of every board, a write unit for each KB of the chunks
    that hold the participant, and one for each of the standings that they were in.
    """
    until = time.monotonic() + seconds
    participant_id = job["participant"]["S"]
    asked_at = instant(int(job["asked_at"]["N"]))
    if "entries_erased" not in job:
        for item in participant_items(db, participant_id):
            board_id, _, generation = split_standings(item["standings"]["S"])
            is_older = written_at(item) <= asked_at.timestamp() * 1000
            if is_entry(item) and is_older and boards.get_generation(board_id, generation):
                _erase_entry(db, boards, item, asked_at)
        _erase_outbox(db, participant_id)
        forget_name(db, participant_id)
        save_progress(db, Job.FORGET, name, **_ENTRIES_ERASED)
    after = job["after"]["S"] if "after" in job else ""
    if after:
        is_last_round = "is_last" in job and job["is_last"]["BOOL"]
    else:
        # An archive may be completed behind a round over the boards. The last one begins when none can be.
        is_last_round = datetime.now(UTC) >= asked_at + INDEX_LAG and not _is_being_written(db, asked_at)
    for board in boards.every():
        if board.id <= after:
            continue
        for archive in listed_archives(db, board.id, board.generation):
            if may_hold(archive.taken_at, asked_at):
                _erase_rows(db, archive.id, participant_id)
        save_progress(db, Job.FORGET, name, after={"S": board.id}, is_last={"BOOL": is_last_round})
        if time.monotonic() > until:
            return False
    if not is_last_round:
        save_progress(db, Job.FORGET, name, after={"S": ""})
        return False
    _erase_outbox(db, participant_id)
    db.client.transact_write_items(TransactItems=[remove_job(db, Job.FORGET, name)])
    return True


def _erase_entry(db: Database, boards: Boards, item: Item, at: datetime) -> bool:
    """Remove an entry, or what a deleted board has left of one. Return whether there was one."""
    board_id, _, generation = split_standings(item["standings"]["S"])
    board = boards.get_generation(board_id, generation)
    if board is None:
        key = {name: item[name] for name in ("participant", "standings")}
        db.client.delete_item(TableName=db.tables.scores, Key=key)
        return False
    flags = flag_removed(db, board, item["participant"]["S"], at)
    db.client.transact_write_items(TransactItems=[flags])
    return is_entry(leave_tombstone(db, board, item, at))


def _erase_outbox(db: Database, participant_id: str) -> None:
    """Erase a participant from the outbox, except where they have an entry again."""
    gone = [item["standings"]["S"] for item in participant_items(db, participant_id) if not is_entry(item)]
    delete_outgoing(db, gone, participant_id)


def _erase_rows(db: Database, archive: str, participant_id: str) -> None:
    for chunk in query_records(db, archive, prefix=ROWS):
        rows = unpack(bytes(chunk["rows"]["B"]))
        if all(row.participant_id != participant_id for row in rows):
            continue
        kept = [erased(row) if row.participant_id == participant_id else row for row in rows]
        db.client.update_item(
            TableName=db.tables.records,
            Key=record_key(archive, chunk["record_id"]["S"]),
            UpdateExpression="SET #rows = :kept",
            ConditionExpression="#rows = :rows",
            ExpressionAttributeNames={"#rows": "rows"},
            ExpressionAttributeValues={":kept": {"B": pack(kept)}, ":rows": chunk["rows"]},
        )


def _is_being_written(db: Database, asked_at: datetime) -> bool:
    """Return whether an archive that may hold the participant is being written."""
    found = (read_archive(db, name) for _, name, _ in pending_jobs(db, Job.ARCHIVE))
    return any(archive and may_hold(archive[0].taken_at, asked_at) for archive in found)
