"""Back up a stack's tables into a folder, and resume a backup that was interrupted.

A backup holds the items of four tables, scanned in parallel segments: board definitions; entries of every
period, with hidden ones and tombstones; receipts; archives, moderation flags and audit records. Derived data
is left out. A backup is no snapshot: each item is as it was at some moment while the backup ran.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError

from core.storage.database import Database
from local.backups.items_file import append_page, digest
from local.backups.retries import retried
from local.backups.state import SEGMENTS, Part, load_parts, save_parts
from local.console import progress
from local.errors import StackError


def back_up(db: Database, folder: Path) -> Sequence[Part]:
    """Back up the tables into a folder, from where an earlier run stopped; return the parts.

    Raises:
        StackError: the folder cannot be written, or holds a backup of another stack.

    Costs half a read unit for each 4 KB of the tables.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        parts = load_parts(folder, db.tables.boards)
        lock = threading.Lock()
        with progress(f"backing up to {folder}", _estimated_items(db)) as show:

            def save_progress() -> None:
                with lock:
                    save_parts(folder, db.tables.boards, parts)
                    show(sum(part.items for part in parts))

            with ThreadPoolExecutor(max_workers=len(parts)) as threads:
                for _ in threads.map(partial(_back_up_part, db, folder, save_progress), parts):
                    pass
    except BotoCoreError:  # some are OSErrors too
        raise
    except OSError as error:
        raise StackError(f"cannot write {folder}: {error.strerror}") from None
    return parts


def _back_up_part(db: Database, folder: Path, save_progress: Callable[[], object], part: Part) -> None:
    path = folder / part.file
    while not part.complete:
        start: dict[str, Any] = {"ExclusiveStartKey": part.start} if part.start else {}
        page = retried(
            partial(
                db.client.scan,
                TableName=getattr(db.tables, part.table),
                Segment=part.segment,
                TotalSegments=SEGMENTS[part.table],
                **start,
            )
        )
        good = append_page(path, part.good, page["Items"])
        part.start = page.get("LastEvaluatedKey")
        part.items += len(page["Items"])
        part.good = good
        part.complete = part.start is None
        if part.complete:
            part.sha256 = digest(path)
        save_progress()


def _estimated_items(db: Database) -> int:
    """Return about how many items the tables have; DynamoDB updates the number every six hours."""
    return sum(
        db.client.describe_table(TableName=getattr(db.tables, table))["Table"].get("ItemCount", 0)
        for table in SEGMENTS
    )
