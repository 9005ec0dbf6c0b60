"""Copies run beside kernels, and a trace shows it: on a stand-in for CuPy that keeps the time.

Its streams are queues in virtual time: work begins when its stream is free and what it waits for is
done; the host goes on at once, except where it synchronizes. What is captured does not run, and while
a stream that blocks the default one is captured, the default one takes no work.
"""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.cuda import clock as clock_module, copies, graphs
from dataflow.kernels.cuda.capture import HostNumbers
from dataflow.kernels.cuda.clock import DeviceClock
from dataflow.kernels.cuda.copies import HostToDevice
from dataflow.kernels.xp import pretend_gpus
from dataflow.runtime.stepper import record

KERNEL_SECONDS = 0.010
COPY_BYTES_PER_SECOND = 4e6
BATCH = np.ones(8_000, np.float32)  # a copy takes 8 ms


class Cupy:
    """As much of CuPy as copies, events and graphs need. ``now`` is the host's time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.streams: list[Cupy.Stream] = []
        simulated = self
        self.default = self.Stream(self)
        self.current = [self.default]

        class Event:
            def __init__(self, disable_timing: bool = False) -> None:
                self.timed, self.at = not disable_timing, 0.0

            def synchronize(self) -> None:
                simulated.now = max(simulated.now, self.at)

        class Stream(Cupy.Stream):
            def __init__(self, non_blocking: bool = False) -> None:
                super().__init__(simulated, not non_blocking)

        class MemoryPool:
            def malloc(self, size: int) -> Any: ...
            def get_limit(self) -> int:
                return 0

        class Device:
            def __init__(self, index: int) -> None: ...
            def __enter__(self) -> None: ...
            def __exit__(self, *_: object) -> None: ...
            def synchronize(self) -> None: ...

        class Array:
            def __init__(self, shape: Any, dtype: Any) -> None:
                self.value = np.empty(shape, dtype)
                self.shape, self.dtype = self.value.shape, self.value.dtype

            def set(self, value: Any, stream: Any) -> None:
                assert value.shape == self.shape
                stream.run(value.nbytes / COPY_BYTES_PER_SECOND)
                self.value[...] = value

            def __setitem__(self, key: Any, other: Any) -> None:
                simulated.current[-1].run(1e-4)
                self.value[key] = other.value

        def elapsed(first: Any, second: Any) -> float:
            assert first.timed and second.timed
            return float(second.at - first.at) * 1000

        self.empty = Array
        self.cuda = SimpleNamespace(
            Event=Event,
            Stream=Stream,
            Device=Device,
            get_current_stream=lambda: self.current[-1],
            get_elapsed_time=elapsed,
            MemoryPool=MemoryPool,
            using_allocator=contextlib.nullcontext,
            runtime=SimpleNamespace(streamCaptureModeRelaxed=2),
        )
        self.get_default_memory_pool = MemoryPool

    class Stream:
        def __init__(self, cupy: Any, is_blocking: bool = True) -> None:
            self.cupy, self.free, self.is_blocking = cupy, 0.0, is_blocking
            self.captured: list[float] | None = None
            cupy.streams.append(self)

        def run(self, seconds: float) -> tuple[float, float]:
            if self.captured is not None:
                self.captured.append(seconds)
                return self.free, self.free
            if self is self.cupy.default and any(
                s.is_blocking and s.captured is not None for s in self.cupy.streams
            ):
                raise RuntimeError("cudaErrorStreamCaptureImplicit")
            start = max(self.free, self.cupy.now)
            self.free = start + seconds
            return start, self.free

        def begin_capture(self, mode: int) -> None:
            self.captured = []

        def end_capture(self) -> Any:
            found, self.captured = self.captured, None
            assert found is not None
            return SimpleNamespace(launch=lambda stream: stream.run(sum(found)))

        def record(self, event: Any) -> Any:
            event.at = max(self.free, self.cupy.now)
            return event

        def wait_event(self, event: Any) -> None:
            self.free = max(self.free, event.at)

        def __enter__(self) -> None:
            self.cupy.current.append(self)

        def __exit__(self, *_: object) -> None:
            self.cupy.current.pop()


CUPYX: Any = SimpleNamespace(empty_pinned=np.empty)


def overlap(a: tuple[float, float], b: tuple[float, float]) -> float:
    return max(0.0, min(a[1], b[1]) - max(a[0], b[0]))


def test_the_feed_of_the_next_step_travels_while_this_step_computes() -> None:
    cupy = Cupy()
    copy = HostToDevice(0, cupy, CUPYX)
    kernels, travels = [], []
    for _ in range(6):
        copy(BATCH)
        newest = copies.newest.copy
        assert newest is not None
        travels.append((newest.began.at, newest.ended.at))
        kernels.append(cupy.default.run(KERNEL_SECONDS))
    for step in range(2, 6):
        assert overlap(travels[step], kernels[step - 1]) + overlap(
            travels[step], kernels[step - 2]
        ) == pytest.approx(0.008)
        assert kernels[step][0] >= travels[step][1]  # complete when it is read
        assert travels[step][0] >= kernels[step - 2][1]  # its buffer was free
    assert kernels[-1][1] < 6 * (KERNEL_SECONDS + 0.004)


def test_the_feeds_of_a_replayed_graph_do_too(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy: Any = Cupy()
    monkeypatch.setattr(graphs, "HostToDevice", lambda i, c: HostToDevice(i, c, CUPYX))
    work = object.__new__(graphs.CapturedWork)
    work._queue = queue = graphs._Queue(0, cupy)
    work._copies, work._numbers = {}, HostNumbers(cupy)
    launches: list[tuple[float, float]] = []
    work._launch = lambda: launches.append(queue.stream.run(KERNEL_SECONDS))
    buffer, small = cupy.empty(BATCH.shape, BATCH.dtype), cupy.empty((), np.float32)
    for step in range(6):
        work.fill([buffer, small], [BATCH + step, np.asarray(np.float32(step))])
        newest = copies.newest.copy
        assert newest is not None
        travel = (newest.began.at, newest.ended.at)
        work.launch()
        assert buffer.value[0] == 1 + step and small.value == step
        assert launches[-1][0] >= travel[1]
        if step > 1:
            hidden = sum(overlap(travel, launch) for launch in launches[:-1])
            assert hidden == pytest.approx(0.008, rel=0.1)
    assert launches[-1][1] < 6 * (KERNEL_SECONDS + 0.004)
    assert len(cupy.current) == 1


def test_a_capture_is_in_nobodys_way(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy: Any = Cupy()
    monkeypatch.setattr(graphs, "_queue_of", lambda index: graphs._Queue(index, cupy))
    elsewhere: list[tuple[float, float]] = []

    def work() -> list[Any]:
        cupy.current[-1].run(KERNEL_SECONDS)
        # Another thread computes at the same time, and is not captured.
        elsewhere.append(cupy.default.run(2 * KERNEL_SECONDS))
        cupy.current[-1].run(KERNEL_SECONDS)
        return []

    captured = graphs.CapturedWork(0, work, [])
    assert elsewhere == [(0, 2 * KERNEL_SECONDS)]
    assert captured._queue is not None
    assert captured._queue.stream.free == 0  # capturing computes nothing
    captured.launch()
    assert captured._queue.stream.free == 2 * KERNEL_SECONDS


def test_a_clock_tells_the_gpus_time_and_not_the_hosts() -> None:
    cupy: Any = Cupy()
    copy = HostToDevice(0, cupy, CUPYX)
    for _ in range(2):  # runs before this one: the buffers are there
        copy(BATCH)
    copies.newest.copy = None
    cupy.now = 1.0
    clock = DeviceClock(0, lambda: cupy.now, cupy)
    for number in range(6):
        begun = cupy.now
        cupy.now += 20e-6  # what launching takes the host
        if number in (0, 2):
            copy(BATCH)
        else:
            cupy.default.run(KERNEL_SECONDS)
        clock.note(number, begun)
    turns = clock.turns()
    spans = {n: (t.start, t.start + t.seconds) for n, t in turns.items()}
    assert spans[0][1] - spans[0][0] == pytest.approx(0.008)
    assert spans[1][1] - spans[1][0] == pytest.approx(KERNEL_SECONDS)
    assert overlap(spans[2], spans[1]) == pytest.approx(0.008)  # the second feed, beside kernel 1
    assert spans[3][0] >= spans[2][1] and spans[4][0] >= spans[3][1]
    assert cupy.now == pytest.approx(spans[5][1])  # only at the end the host waits


def test_a_trace_on_a_gpu_has_the_gpus_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """`record` notes every node that runs on the GPU, and no other."""
    seen: dict[int, str] = {}

    class Clocks:
        def __init__(self, devices: dict[int, str], clock: Any) -> None:
            self.devices = devices

        def note(self, node: int, step: int, begun: float) -> None:
            if node in self.devices:
                seen[step] = self.devices[node]

        def turns(self) -> dict[int, clock_module.Turn]:
            return {step: clock_module.Turn(1000.0 + step, 0.25) for step in seen}

    monkeypatch.setattr("dataflow.runtime.stepper.DeviceClocks", Clocks)
    with pretend_gpus(1), tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.square(x, name="y")
        text = tf.as_string(y, name="text")
        with tf.Session() as session:
            trace = record(session, text, {x: [1.0, 2.0]}, values="sizes")
    seconds = {s.op_name: s.seconds for s in trace.steps}
    assert seconds.pop("text") != 0.25
    assert seconds == {"x/copy_to_gpu_0": 0.25, "y": 0.25, "y/copy_to_host": 0.25}
    assert [s.outputs[0].nbytes for s in trace.steps][:2] == [8, 8]
