"""The soak of subscriptions, in small; in full it is `python -m bench.live`."""

import asyncio

import pytest

from bench.live import Load, soak


@pytest.mark.thorough
def test_nothing_is_lost_or_doubled_and_memory_is_steady() -> None:
    load = Load(connections=40, subscriptions=10, changes_per_second=100, seconds=10, fan_out=10)
    report = asyncio.run(soak(load))
    assert report.published == 1000
    assert report.heard == report.expected == 10_000
    assert report.wrong == 0
    # In the first third caches fill; then 6,000 events may not leave a trace.
    settled = report.memory[len(report.memory) // 3]
    assert report.memory[-1] < settled + 8, report
