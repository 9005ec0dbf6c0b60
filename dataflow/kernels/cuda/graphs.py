"""CUDA graphs: work that a stream captured once, launched again in one go."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels import fake_gpu
from dataflow.kernels.array_types import Array
from dataflow.kernels.cuda.capture import HostNumbers, capturing, current_capture
from dataflow.kernels.cuda.copies import PINNED_BYTES, HostToDevice
from dataflow.kernels.cuda.matmul import cublas_of
from dataflow.kernels.fake_gpu import Recording
from dataflow.kernels.xp import (
    address_of,
    array_module,
    is_device_array,
    num_pretend_gpus,
    to_host,
)


class CaptureFailed(Exception):
    """Something in the work cannot be captured: the host waits for the device in it, say."""


class _Queue:
    """The stream on which all graphs of a GPU are launched: each sees what the one before did.

    It waits for CuPy's default stream and is waited for by it, where all other work is done.
    """

    def __init__(self, index: int, cupy: Any) -> None:
        self.index = index
        self.cupy = cupy
        self.device = cupy.cuda.Device(index)
        with self.device:
            self.stream = cupy.cuda.Stream()
            self.blas = cublas_of(cupy)


@functools.cache
def _queue_of(index: int) -> _Queue:
    cupy = importlib.import_module("cupy")
    refuse_host_memory(cupy)
    return _Queue(index, cupy)


def refuse_host_memory(cupy: Any) -> None:
    """Makes a copy from the host an error while its thread captures a stream.

    CuPy would copy by way of pinned memory of its own, which holds something else when the graph is
    launched; CUDA itself does not refuse it.
    """
    pool = cupy.get_default_pinned_memory_pool()

    def allocate(size: int) -> Any:
        if current_capture() is not None:
            raise RuntimeError("a value of the host is copied while the stream is capturing")
        return pool.malloc(size)

    cupy.cuda.set_pinned_memory_allocator(allocate)


class CapturedWork:
    """What ``work()`` launches on GPU ``index``, captured. ``results`` are the arrays it returned.

    Capturing computes nothing; `launch` does, each time into the same arrays. Memory that the work
    allocates belongs to this object alone. Raises `CaptureFailed`, with nothing computed.
    """

    def __init__(self, index: int, work: Callable[[], Any], changed: list[Any]) -> None:
        """``changed``: aliases (`alias_of`) of the arrays that the work may change in place."""
        self.results: Any = None
        if num_pretend_gpus():
            self._queue: _Queue | None = None
            self._numbers = HostNumbers(array_module(f"gpu:{index}"))
            self._launch = self._record(work, changed)
        else:
            self._queue = _queue_of(index)
            with self._queue.device:
                self._numbers = HostNumbers(self._queue.cupy)
            self._launch = self._capture(self._queue, work)
        self._copies: dict[int, HostToDevice] = {}

    def launch(self) -> None:
        """Computes everything once more. The host does not wait."""
        numbers = self._numbers.next_ones()
        if numbers is not None:
            self.fill([numbers[0]], [numbers[1]])
        self._launch()

    @property
    def num_bytes(self) -> int:
        """How much of the GPU's memory the work's own values take."""
        if self._queue is not None:
            with self._queue.device:  # the pool counts for each GPU apart
                return int(self._pool.total_bytes())
        arrays = [a for a in self._recorded if isinstance(a, np.ndarray) and a.base is None]
        return sum(array.nbytes for array in {id(a): a for a in arrays}.values())

    def fill(self, buffers: Sequence[Any], values: Sequence[Any]) -> None:
        """Puts values of the host, or of the same GPU, into buffers that the work reads.

        A large one of the host is on its way while what was launched before still runs, and only then copied
        from the device's memory to the device's memory.
        """
        queue = self._queue
        if queue is None:
            for buffer, value in zip(buffers, values, strict=True):
                if is_device_array(value):
                    buffer[...] = value
                else:
                    buffer.set(value)
            return
        with queue.device, queue.stream:
            for number, (buffer, value) in enumerate(zip(buffers, values, strict=True)):
                if is_device_array(value):
                    buffer[...] = value
                    continue
                if value.nbytes < PINNED_BYTES:
                    buffer.set(value, stream=queue.stream)
                    continue
                if number not in self._copies:
                    self._copies[number] = HostToDevice(queue.index, queue.cupy)
                buffer[...] = self._copies[number](value)

    def fetch(self) -> list[Any]:
        """What the last launch computed, on the host. The host waits for it."""
        queue = self._queue
        if queue is None:
            return [to_host(value) for value in self.results]
        with queue.device:
            return [
                value.get(stream=queue.stream) if is_device_array(value) else value
                for value in self.results
            ]

    def _capture(self, queue: _Queue, work: Callable[[], Any]) -> Callable[[], None]:
        cupy = queue.cupy
        with queue.device:
            # Not the others' stream, on which other threads may be launching; and while a stream
            # that blocks the default one is captured, CUDA refuses all work on the default one.
            stream = cupy.cuda.Stream(non_blocking=True)
            self._pool = cupy.cuda.MemoryPool()
            limited = cupy.get_default_memory_pool()
            if limited.get_limit():  # what the session may take, less what is taken
                left = limited.get_limit() - limited.used_bytes()
                self._pool.set_limit(size=max(1, left))
            relaxed = cupy.cuda.runtime.streamCaptureModeRelaxed  # the pool may ask for memory
            with stream, cupy.cuda.using_allocator(self._pool.malloc), queue.blas.on(stream):
                stream.begin_capture(relaxed)
                try:
                    with capturing(queue.blas, self._numbers):
                        self.results = work()
                except Exception as e:
                    _abandon(stream)
                    raise CaptureFailed(str(e)) from e
                try:
                    graph = stream.end_capture()
                except Exception as e:
                    raise CaptureFailed(str(e)) from e

        def launch() -> None:
            with queue.device:
                graph.launch(queue.stream)

        return launch

    def _record(self, work: Callable[[], Any], changed: list[Any]) -> Callable[[], None]:
        """On a pretend GPU: runs the work and takes back what it did to ``changed``."""
        before = [array.host_array.copy() for array in changed]
        recording = Recording()
        try:
            with recording, capturing(fake_gpu.BLAS, self._numbers), np.errstate(all="ignore"):
                self.results = work()
        except Exception as e:
            raise CaptureFailed(str(e)) from e
        finally:
            for array, value in zip(changed, before, strict=True):
                array.host_array[...] = value
        self._recorded = [result for _, result in recording.steps]
        return recording.replay


def _abandon(stream: Any) -> None:
    """Ends a capture that failed, whose graph is of no use."""
    try:
        stream.end_capture()
    except Exception:  # the failure has ended it already
        pass


def buffer_of(array: Array) -> tuple[Any, ...]:
    """Where an array of a device lies, and of what form: equal for the same buffer."""
    return (address_of(array), array.shape, array.dtype, array.strides)


def alias_of(array: Any) -> Any:
    """Another array object on the same memory. The given object is not held by it."""
    if num_pretend_gpus():
        return fake_gpu.alias_of(array)
    cupy = importlib.import_module("cupy")
    return cupy.ndarray(array.shape, array.dtype, memptr=array.data, strides=array.strides)
