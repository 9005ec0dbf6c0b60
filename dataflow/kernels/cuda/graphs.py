"""CUDA graphs: work that a stream captured once, launched again in one go."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from dataflow.kernels.pretend import PretendArray, Recording
from dataflow.kernels.xp import address_of, num_pretend_gpus


class CaptureFailed(Exception):
    """Something in the work cannot be captured: the host waits for the device in it, say."""


class CapturedWork:
    """What ``work()`` launches on GPU ``index``, captured. ``results`` are the arrays it returned.

    Capturing computes nothing; `launch` does, each time into the same arrays. Memory that the work
    allocates belongs to this object alone. Raises `CaptureFailed`, with nothing computed.
    """

    def __init__(self, index: int, work: Callable[[], Any], changed: list[Any]) -> None:
        """``changed``: aliases (`alias_of`) of the arrays that the work may change in place."""
        self.results: Any = None
        if num_pretend_gpus():
            self._launch = self._record(work, changed)
        else:
            self._launch = self._capture(index, work)

    def launch(self) -> None:
        """Computes everything once more. The host does not wait."""
        self._launch()

    def _capture(self, index: int, work: Callable[[], Any]) -> Callable[[], None]:
        cupy = importlib.import_module("cupy")
        with cupy.cuda.Device(index):
            stream = cupy.cuda.Stream()
            self._pool = cupy.cuda.MemoryPool()
            relaxed = cupy.cuda.runtime.streamCaptureModeRelaxed  # the pool may ask for memory
            with stream, cupy.cuda.using_allocator(self._pool.malloc):
                stream.begin_capture(relaxed)
                try:
                    self.results = work()
                except Exception as e:
                    _abandon(stream)
                    raise CaptureFailed(str(e)) from e
                try:
                    graph = stream.end_capture()
                except Exception as e:
                    raise CaptureFailed(str(e)) from e
            self._stream = stream
        return lambda: graph.launch(stream)

    def _record(self, work: Callable[[], Any], changed: list[Any]) -> Callable[[], None]:
        """On a pretend GPU: runs the work and takes back what it did to ``changed``."""
        before = [array._array.copy() for array in changed]
        recording = Recording()
        try:
            with recording:
                self.results = work()
        except Exception as e:
            raise CaptureFailed(str(e)) from e
        finally:
            for array, value in zip(changed, before, strict=True):
                array._array[...] = value
        return recording.replay


def _abandon(stream: Any) -> None:
    """Ends a capture that failed, whose graph is of no use."""
    try:
        stream.end_capture()
    except Exception:  # the failure has ended it already
        pass


def buffer_of(array: Any) -> tuple[Any, ...]:
    """Where an array of a device lies, and of what form: equal for the same buffer."""
    return (address_of(array), array.shape, array.dtype, array.strides)


def alias_of(array: Any) -> Any:
    """Another array object on the same memory. The given object is not held by it."""
    if num_pretend_gpus():
        alias = object.__new__(PretendArray)
        alias._array, alias._index = array._array, array._index
        return alias
    cupy = importlib.import_module("cupy")
    return cupy.ndarray(array.shape, array.dtype, memptr=array.data, strides=array.strides)
