"""What an instance that starts from a snapshot (SnapStart) has to renew."""

import random


def reseed_after_restore() -> None:
    """Give every instance of one snapshot random numbers of its own.

    They spread writes over shards and retries over time; with a shared seed all would draw the same.
    """
    try:
        # Part of Lambda's runtime from Python 3.12 on.
        from snapshot_restore_py import (  # type: ignore[import-not-found]  # noqa: PLC0415
            register_after_restore,
        )
    except ImportError:
        return
    register_after_restore(random.seed)
