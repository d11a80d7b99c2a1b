"""Compare the import time of each Lambda entry with that of boto3 and a bare DynamoDB client.

Every run is a new process with compiled bytecode, as in the packages. The two alternate and are timed in CPU
time. The shortest time of each counts: the work is the same, and other processes only add to it.
"""

import argparse
import os
import subprocess
import sys
import tempfile

LIMIT = 2.0
BARE = "import boto3; boto3.client('dynamodb', region_name='us-east-1')"
ENTRIES = ("api_handler", "http_handler", "stream_handler", "notify_handler", "maintenance_handler")
ENVIRONMENT = {
    "LEADERBOARD_NAME_PREFIX": "bench",
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "PYTHONDONTWRITEBYTECODE": "",
}


def time_import(code: str, bytecode: str) -> float:
    """Run code in a new process; return its CPU time in milliseconds."""
    timed = f"import time; start = time.process_time()\n{code}\nprint(time.process_time() - start)"
    done = subprocess.run(
        [sys.executable, "-c", timed],
        env=os.environ | ENVIRONMENT | {"PYTHONPYCACHEPREFIX": bytecode},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout) * 1000


def compare(entry: str, rounds: int, bytecode: str) -> tuple[float, float]:
    """Return the shortest times of an entry's import and of the bare client's, in milliseconds."""
    pairs = [
        (time_import(f"import resolvers.{entry}", bytecode), time_import(BARE, bytecode))
        for _ in range(rounds)
    ]
    return min(ours for ours, _ in pairs), min(bare for _, bare in pairs)


def main() -> int:
    """Print the table; return 1 if the API's entry is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="runs of each (default: %(default)s)")
    rounds = parser.parse_args().rounds
    ratios = {}
    print(f"{'entry':22}{'ms':>8}{'bare ms':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as bytecode:
        for entry in ENTRIES:
            ours, bare = compare(entry, rounds, bytecode)
            ratios[entry] = ours / bare
            print(f"{entry:22}{ours:8.0f}{bare:10.0f}{ours / bare:8.2f}")
    return 0 if ratios["api_handler"] <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
