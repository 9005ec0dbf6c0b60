"""Copies from the host to a GPU: from pinned memory, on a stream of their own.

A copy from ordinary memory makes the host wait and the GPU idle. Here the value goes to a pinned
buffer first, and the copy engine takes it from there while kernels that were launched before still
run. Two buffers take turns: the copy of step n may not overwrite what the kernels of step n - 2
read, and waits for them on the device, not on the host. Each thread has two of its own, as only the
thread that runs a step knows that its kernels have been launched.
"""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any, NamedTuple

import numpy as np

#: A smaller value is not worth a pinned buffer.
PINNED_BYTES = 16_384


class _Slot:
    """One of the two buffers: pinned memory, the device's array, and when each is free again."""

    def __init__(self) -> None:
        self.pinned: Any = None
        self.array: Any = None
        self.copied: Any = None  # event: the pinned memory has been read
        self.used: Any = None  # event: the kernels that read the array have run

    def fits(self, value: np.ndarray) -> bool:
        """Whether the array can take ``value``, and nobody holds it any more (a loop's list may)."""
        array = self.array
        return (
            array is not None
            and array.shape == value.shape
            and array.dtype == value.dtype
            # References: self.array, the local, the argument of getrefcount.
            and sys.getrefcount(array) <= 3
        )


class _Turns(threading.local):
    """The two buffers of one thread."""

    def __init__(self) -> None:
        self.slots = (_Slot(), _Slot())
        self.turn = 0


class Timed(NamedTuple):
    """The events between which a copy was made on its stream."""

    began: Any
    ended: Any


class _Newest(threading.local):
    """The copy that this thread began last; a traced run looks at it after each node."""

    copy: Timed | None = None


newest = _Newest()


class HostToDevice:
    """Copies values of one node to one GPU; called with an array of the host."""

    def __init__(self, index: int, cupy: Any = None, cupyx: Any = None) -> None:
        self._cupy = cupy or importlib.import_module("cupy")
        self._cupyx = cupyx or importlib.import_module("cupyx")
        self._device = self._cupy.cuda.Device(index)
        self._turns = _Turns()
        self._stream: Any = None

    def __call__(self, value: Any) -> Any:
        """The value in the device's memory; kernels launched from now on see it complete."""
        value = np.asarray(value)
        cuda = self._cupy.cuda
        turns = self._turns
        with self._device:
            if self._stream is None:
                self._stream = cuda.Stream(non_blocking=True)
            compute = cuda.get_current_stream()
            before, turns.turn = turns.slots[turns.turn], 1 - turns.turn
            slot = turns.slots[turns.turn]
            if before.array is not None:
                # All that reads the array of the last copy has been launched by now.
                before.used = compute.record(cuda.Event(disable_timing=True))
            if slot.copied is not None:
                slot.copied.synchronize()  # two copies ago: long done
            if not slot.fits(value):
                if slot.used is not None:
                    slot.used.synchronize()
                slot.pinned = self._pinned_for(value, slot.pinned)
                slot.array = self._cupy.empty(value.shape, value.dtype)
                # The pool may hand out memory that launched kernels still read.
                self._stream.wait_event(compute.record(cuda.Event(disable_timing=True)))
            elif slot.used is not None:
                self._stream.wait_event(slot.used)
            np.copyto(slot.pinned, value)
            began = self._stream.record(cuda.Event())
            slot.array.set(slot.pinned, stream=self._stream)
            slot.copied = self._stream.record(cuda.Event())
            newest.copy = Timed(began, slot.copied)
            compute.wait_event(slot.copied)
            return slot.array

    def _pinned_for(self, value: np.ndarray, old: Any) -> Any:
        if old is not None and old.shape == value.shape and old.dtype == value.dtype:
            return old
        return self._cupyx.empty_pinned(value.shape, value.dtype)
