"""A short soak test of subscriptions; the full one is `python -m bench.live`."""

import asyncio

import pytest

from bench.live import Load, soak


@pytest.mark.thorough
def test_no_event_is_lost_or_duplicated_and_memory_is_steady() -> None:
    load = Load(connections=40, subscriptions=10, events_per_second=100, seconds=10, fan_out=10)
    report = asyncio.run(soak(load))
    assert report.published == 1000
    assert report.received == report.expected == 10_000
    assert report.wrong == 0
    # Caches fill in the first third; the 6,000 events after that must not use memory.
    settled = report.memory[len(report.memory) // 3]
    assert report.memory[-1] < settled + 8, report
