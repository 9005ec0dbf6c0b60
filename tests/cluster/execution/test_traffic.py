"""Notes of messages: of the steps that the watcher's mask lets through, while somebody watches."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from dataflow.cluster.execution import traffic
from dataflow.cluster.execution.traffic import NOBODY, Traffic, names_of_slots, names_of_transfer


@pytest.fixture
def clock(monkeypatch):
    """The time that notes are made at; it stands still."""
    now = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(traffic, "time", SimpleNamespace(time=lambda: now.seconds))
    return now


class _Named(NamedTuple):
    name: str


ARRAYS = [np.zeros(3, np.float32), None, np.zeros(2, np.int64)]


def test_nothing_is_noted_until_somebody_asks(clock):
    notes = Traffic()
    assert notes.mask == NOBODY and all(step & notes.mask for step in (1, 7, 2**40))
    notes.sent(0, "/job:ps/task:0", 3, lambda: ["a"], ARRAYS)
    notes.received(0, "/job:ps/task:0", 3)
    assert notes.read(0) == {"sent": [], "received": []}
    assert notes.mask == 0


def test_notes_have_names_sizes_and_times_and_are_given_once(clock):
    notes = Traffic()
    notes.read(3)
    assert notes.mask == 3
    notes.sent(4, "/job:ps/task:0", 2, lambda: ["a", "b", "c", "of no message"], ARRAYS)
    clock.seconds += 1
    notes.received(4, "/job:worker/task:1", 5)
    notes.sent(8, "/job:ps/task:0", 2, lambda: ["a"], [])  # a message without tensors
    assert notes.read(7) == {
        "sent": [(4, "/job:ps/task:0", 2, ["a", "b", "c"], [12, 0, 16], 1000.0)],
        "received": [(4, "/job:worker/task:1", 5, 1001.0)],
    }
    assert notes.read(7) == {"sent": [], "received": []} and notes.mask == 7


def test_whoever_stops_asking_is_forgotten(clock):
    notes = Traffic()
    notes.read(0)
    clock.seconds += 2.9
    notes.received(1, "a", 0)
    assert notes.mask == 0
    clock.seconds += 0.1
    notes.received(2, "a", 0)
    assert notes.mask == NOBODY
    assert [step for step, *_ in notes.read(0)["received"]] == [1]


def test_of_many_notes_the_last_are_kept(clock):
    notes = Traffic()
    notes.read(0)
    for step in range(300):
        notes.received(step, "a", 0)
        notes.sent(step, "a", 0, lambda: ["t"], ARRAYS[:1])
    found = notes.read(0)
    assert len(found["received"]) == len(found["sent"]) < 300
    assert found["received"][-1][0] == found["sent"][-1][0] == 299


def test_names_of_messages():
    slots = {_Named(name): slot for slot, name in enumerate("abcd")}
    partition = SimpleNamespace(
        slots=slots,
        segments=[
            SimpleNamespace(transfers=[("ps", 1, [0, 2]), ("ps", 2, [3])]),
            SimpleNamespace(transfers=[("worker", 1, [1])]),
        ],
    )
    assert names_of_slots(partition, [3, 0]) == ["d", "a"]
    assert names_of_transfer(partition, "ps", 1) == ["a", "c"]
    assert names_of_transfer(partition, "ps", 2) == ["d"]
    assert names_of_transfer(partition, "worker", 1) == ["b"]
    assert names_of_transfer(partition, "worker", 2) == []
