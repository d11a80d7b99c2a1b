"""Run many seeds: `make chaos`."""

import argparse
import sys
import traceback
import uuid

import pytest
from rich.progress import track

from core.storage.database import Tables, connect
from core.storage.tables import create_tables
from local.stack.engine import running_engine, temporary_folder
from tests.chaos.run import Run
from tests.chaos.settings import hurried


def main() -> int:
    """Run seeds; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(
        prog="make chaos",
        description="Run the core on a database that fails at random, a run for each seed; then check that "
        "nothing acknowledged is lost or counted twice. A seed's run is always the same.",
    )
    parser.add_argument("--seeds", type=int, default=200, help="how many; default: 200")
    parser.add_argument("--first", type=int, default=0, help="the first seed; default: 0")
    parser.add_argument("--seed", type=int, help="this one alone")
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.seeds) if args.seed is None else [args.seed]
    failed: list[int] = []
    faults = retried = 0
    with (
        temporary_folder() as folder,
        running_engine(folder) as engine,
        pytest.MonkeyPatch.context() as patch,
    ):
        hurried(patch)
        for seed in track(seeds, description="chaos"):
            tables = Tables.with_prefix(f"chaos-{uuid.uuid4().hex[:8]}")
            db = connect(
                tables,
                region="local",
                endpoint_url=engine.endpoint,
                access_key="x",
                secret_key="x",
            )
            create_tables(db)
            run = Run(db, seed)
            try:
                run.go()
            except Exception:
                failed.append(seed)
                traceback.print_exc()
            faults += run.faults.made.total()
            retried += run.retried
    sys.stdout.write(f"{len(seeds)} runs, {faults:,} faults, {retried:,} calls made again\n")
    if failed:
        sys.stdout.write(
            f'failed: {", ".join(map(str, failed))}; repeat one with ARGS="--seed {failed[0]}"\n'
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
