"""Forgetting a participant: on every board, in every period, archive and record.

Asking for it is written down first, together with the record that it was asked. Entries and names go at once.
Archives are immutable but for this: the rows of the participant keep score and place, so that nobody else's
rank changes, and lose id, name and metadata. That is done in the background; until then nobody is shown them.

What subscribers were told goes at once, and at the end what was noted there of their leaving.

What stays for 30 days is the id alone, where the entries were: it is what late retries are refused by.
"""

import time
from datetime import UTC, datetime
from typing import Any

from core.archives.read import SHOWN, listed_archives, may_hold
from core.archives.rows import erased, pack, unpack
from core.archives.write import read_archive
from core.boards import Boards
from core.domain.entry_item import is_entry
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


def forget_participant(db: Database, boards: Boards, participant_id: str, audit: AuditContext) -> int:
    """Erase a participant; gives how many entries there were. If it dies, do it again.

    Raises:
        InvalidInput: the id.
        Throttled: too many submissions at once; do it again.

    Costs a read unit for each 4 KB of the participant's entries, for each what it costs to take it off its
    board and a write unit more, and one to two for each record; then what `erase_from_archives` says.
    """
    check_id("participantId", participant_id)
    digest = participant_hash(db, participant_id)
    details: dict[str, Any] = {
        "participant": {"S": participant_id},
        "asked_at": {"N": str(microseconds(audit.at))},
    }
    told = record(db, AuditAction.FORGET, audit, participant_id=participant_id, named=False)
    db.client.transact_write_items(TransactItems=[add_job(db, Job.FORGET, digest, **details), *told])
    removed = 0
    for item in participant_items(db, participant_id):
        removed += _erase(db, boards, item, audit)
    _erase_told(db, participant_id)
    forget_name(db, participant_id)
    return removed


def _erase(db: Database, boards: Boards, item: Item, audit: AuditContext) -> bool:
    board_id, _, generation = split_standings(item["standings"]["S"])
    board = boards.get_generation(board_id, generation)
    if board is None:
        key = {name: item[name] for name in ("participant", "standings")}
        db.client.delete_item(TableName=db.tables.scores, Key=key)
        return False
    mark = flag_removed(db, board, item["participant"]["S"], audit.at)
    db.client.transact_write_items(TransactItems=[mark])
    return is_entry(leave_tombstone(db, board, item, audit))


def _erase_told(db: Database, participant_id: str) -> None:
    """Erase what subscribers were told of a participant, where no entry has come since."""
    gone = [item["standings"]["S"] for item in participant_items(db, participant_id) if not is_entry(item)]
    delete_outgoing(db, gone, participant_id)


def erase_from_archives(db: Database, boards: Boards, name: str, job: Item, seconds: float) -> bool:
    """Go on taking a participant out of the archives, for so many seconds; says whether it is done.

    Costs a read unit for each 4 KB of every archive of every board, and two write units for each KB of the
    chunks that hold the participant; a write unit for each order that they were in.
    """
    until = time.monotonic() + seconds
    participant_id = job["participant"]["S"]
    asked_at = instant(int(job["asked_at"]["N"]))
    after = job["after"]["S"] if "after" in job else ""
    if after:
        is_last = "is_last" in job and job["is_last"]["BOOL"]
    else:
        # What is complete only after its board was gone through would be missed: then all are once more.
        is_last = datetime.now(UTC) >= asked_at + SHOWN and not _is_being_taken(db, asked_at)
    for board in boards.every():
        if board.id <= after:
            continue
        for archive, taken_at in listed_archives(db, board.id, board.generation):
            if may_hold(taken_at, asked_at):
                _erase_rows(db, archive, participant_id)
        save_progress(db, Job.FORGET, name, after={"S": board.id}, is_last={"BOOL": is_last})
        if time.monotonic() > until:
            return False
    if not is_last:
        save_progress(db, Job.FORGET, name, after={"S": ""})
        return False
    _erase_told(db, participant_id)  # the tick that saw them leave has noted it there
    db.client.transact_write_items(TransactItems=[remove_job(db, Job.FORGET, name)])
    return True


def _erase_rows(db: Database, archive: str, participant_id: str) -> None:
    for chunk in query_records(db, archive, prefix="rows "):
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


def _is_being_taken(db: Database, asked_at: datetime) -> bool:
    """Say whether an archive is being taken that may hold who was to be forgotten at an instant."""
    for _, archive, _ in pending_jobs(db, Job.ARCHIVE):
        found = read_archive(db, archive)
        if found and may_hold(found[0].taken_at, asked_at):
            return True
    return False
