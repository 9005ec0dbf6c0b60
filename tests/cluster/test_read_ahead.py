"""When the reads that came along with a step's end may begin the next one."""

from types import SimpleNamespace

import pytest

from dataflow.cluster import read_ahead


@pytest.fixture
def clock(monkeypatch):
    """The time that `read_ahead` sees, in seconds."""
    time = SimpleNamespace(now=100.0)
    monkeypatch.setattr(read_ahead.time, "monotonic", lambda: time.now)
    return time


@pytest.mark.parametrize(("age", "is_used"), [(0.0, True), (0.9, True), (1.1, False), (50, False)])
def test_reads_are_used_up_to_their_age(clock, age, is_used):
    link, step, reads = SimpleNamespace(ahead=None), object(), [1.0]
    read_ahead.keep_reads(link, step, 7, reads)
    clock.now += age * read_ahead.AHEAD_SECONDS
    assert read_ahead.take_reads(link, step, 8) == (reads if is_used else None)
    assert link.ahead is None, "they are used once"


def test_the_bound_is_half_a_millisecond():
    # What the docstring promises to processes that order their steps by other means.
    assert read_ahead.AHEAD_SECONDS == 0.0005


@pytest.mark.parametrize("count", [7, 9])
def test_reads_of_another_run_are_not_used(clock, count):
    link, step = SimpleNamespace(ahead=None), object()
    read_ahead.keep_reads(link, step, 7, [1.0])
    assert read_ahead.take_reads(link, step, count) is None


def test_reads_of_another_step_are_not_used(clock):
    link = SimpleNamespace(ahead=None)
    read_ahead.keep_reads(link, object(), 7, [1.0])
    assert read_ahead.take_reads(link, object(), 8) is None
