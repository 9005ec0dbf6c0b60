"""Memory that all members of an exchange map, and the doorbells in it."""

import os
import threading
import time

import numpy as np
import pytest

from dataflow.cluster.transport.doorbell import has_doorbells
from dataflow.cluster.transport.shm_common import MOST_MEMBERS, CommonMemory

pytestmark = pytest.mark.skipif(not has_doorbells(), reason="this system has no futex")
PATIENCE = 60


@pytest.fixture
def memory():
    made = CommonMemory.make(4000)
    yield made
    made.close()


def test_a_doorbell_wakes_who_waits_for_its_count(memory):
    bell, heard = memory.bell(3), []

    def wait():
        while not bell.wait(2, PATIENCE):
            heard.append("too early")
        heard.append("rung")

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.05)
    memory.bell(3).ring(1)
    time.sleep(0.05)
    memory.bell(2).ring(9)  # another's
    assert "rung" not in heard
    memory.bell(3).ring(2)
    waiting.join(PATIENCE)
    assert heard[-1] == "rung"
    assert bell.has_rung(1) and bell.has_rung(2) and not bell.has_rung(3)


def test_a_wait_ends_by_itself_and_by_a_call_to_wake(memory):
    bell = memory.bell(0)
    assert not bell.wait(1, 0.01)
    threading.Timer(0.1, bell.wake).start()
    began = time.monotonic()
    assert not bell.wait(1, PATIENCE)
    assert time.monotonic() - began < PATIENCE / 2


def test_doorbells_fall_silent_together(memory):
    for rank in (0, MOST_MEMBERS - 1):
        memory.bell(rank).ring(7)
    vector = memory.vector(np.dtype(np.float32), 1000)
    vector[...] = 5
    memory.silence()
    assert not memory.bell(0).has_rung(1) and not memory.bell(MOST_MEMBERS - 1).has_rung(1)
    assert vector.min() == 5.0  # the last doorbell is not in the vector


def test_another_mapping_has_the_same_numbers_and_doorbells(memory):
    other = CommonMemory.open(os.getpid(), memory.fd, 4000)
    here, there = (m.vector(np.dtype(np.float64), 500) for m in (memory, other))
    here[...] = np.arange(500)
    assert there.tolist() == list(range(500))
    other.bell(1).ring(1)
    assert memory.bell(1).has_rung(1)
    assert other.fd == -1  # it needs no descriptor of its own


def test_memory_is_held_until_the_last_array_is_gone(memory):
    assert not memory.is_held
    first, second = (memory.vector(np.dtype(np.float32), 1000) for _ in range(2))
    view = first[3:5]
    del first, second
    assert memory.is_held
    view[...] = 1
    memory.close()
    assert view.tolist() == [1.0, 1.0]
    del view
    assert not memory.is_held


def test_what_is_no_such_memory_is_refused(memory):
    with pytest.raises(ValueError, match="in memory of 4000 bytes"):
        memory.vector(np.dtype(np.float32), 1001)
    with open(os.devnull) as other, pytest.raises(OSError, match="not a task.s shared memory"):
        CommonMemory.open(os.getpid(), other.fileno(), 4000)
    with pytest.raises(OSError, match="not a task.s shared memory"):  # it would end past the file
        CommonMemory.open(os.getpid(), memory.fd, 5000)
