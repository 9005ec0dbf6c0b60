"""Copies on their own stream: who waits for whom, on a stand-in for CuPy that writes it down."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dataflow.kernels.cuda.copies import HostToDevice


class Cupy:
    """As much of CuPy as a copy needs; ``log`` says what was asked of streams and events."""

    def __init__(self) -> None:
        self.log: list[str] = []
        log = self.log
        counts = {"event": 0, "stream": 0}

        class Event:
            def __init__(self, disable_timing: bool = False) -> None:
                counts["event"] += 1
                self.name = f"event{counts['event']}"

            def synchronize(self) -> None:
                log.append(f"host waits for {self.name}")

        class Stream:
            def __init__(self, non_blocking: bool = False, name: str = "copies") -> None:
                self.name = name

            def record(self, event: Any) -> Any:
                log.append(f"{self.name} records {event.name}")
                return event

            def wait_event(self, event: Any) -> None:
                log.append(f"{self.name} waits for {event.name}")

        compute = Stream(name="compute")

        class Array:
            def __init__(self, shape: Any, dtype: Any) -> None:
                self.value = np.empty(shape, dtype)
                self.shape, self.dtype = self.value.shape, self.value.dtype

            def set(self, value: Any, stream: Any) -> None:
                log.append(f"{stream.name} copies {value.nbytes} bytes")
                self.value[...] = value

        class Device:
            def __init__(self, index: int) -> None:
                self.id = index

            def __enter__(self) -> None: ...
            def __exit__(self, *_: object) -> None: ...

        self.empty = Array
        self.cuda = SimpleNamespace(
            Event=Event, Stream=Stream, Device=Device, get_current_stream=lambda: compute
        )


@pytest.fixture
def copier() -> tuple[HostToDevice, list[str]]:
    cupy = Cupy()
    cupyx: Any = SimpleNamespace(empty_pinned=np.empty)
    return HostToDevice(0, cupy, cupyx), cupy.log


def test_kernels_wait_for_the_copy_and_the_host_does_not(copier: Any) -> None:
    copy, log = copier
    array = copy(np.arange(4.0))
    assert array.value.tolist() == [0, 1, 2, 3]
    assert log == [
        "compute records event1",
        "copies waits for event1",
        "copies records event2",
        "copies copies 32 bytes",
        "copies records event3",
        "compute waits for event3",
    ]


def test_two_buffers_take_turns(copier: Any) -> None:
    copy, log = copier
    first, second = id(copy(np.arange(4.0))), id(copy(np.arange(4.0) + 1))
    assert first != second
    log.clear()
    third = copy(np.arange(4.0) + 2)
    assert id(third) == first and third.value.tolist() == [2, 3, 4, 5]
    waits = [line for line in log if "waits" in line]
    # The copy waits for the kernels of two steps ago, not for those of the last one, which were
    # launched before `compute records` in this log.
    assert waits[0].startswith("host waits for event3")
    assert waits[1].startswith("copies waits for") and log[0].startswith("compute records")
    assert waits[1].split()[-1] != log[0].split()[-1]
    assert waits[2].startswith("compute waits for")


def test_what_somebody_holds_is_not_written_over(copier: Any) -> None:
    """A loop may keep the copies of all its iterations, for the way back."""
    copy, _ = copier
    kept = [copy(np.arange(4.0) + i) for i in range(6)]
    assert [array.value[0] for array in kept] == [0, 1, 2, 3, 4, 5]


def test_each_thread_has_its_own_buffers(copier: Any) -> None:
    """Another thread's copy says nothing of whether this one's kernels have been launched."""
    copy, _ = copier
    mine = id(copy(np.arange(4.0)))
    others: list[int] = []

    def run() -> None:
        others.extend(id(copy(np.arange(4.0))) for _ in range(5))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert len(others) == 5 and mine not in others


def test_another_shape_gets_other_buffers(copier: Any) -> None:
    copy, _ = copier
    copy(np.arange(4.0)), copy(np.arange(4.0))
    larger = copy(np.ones((2, 3), np.float32))
    assert larger.shape == (2, 3) and larger.dtype == np.float32 and larger.value.all()
