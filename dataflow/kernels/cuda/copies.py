"""Copies from the host to a GPU: from pinned memory, on a stream of their own.

A copy from ordinary memory makes the host wait and the GPU idle. Here the value goes to a pinned
buffer first, and the copy engine takes it from there while kernels of the step before still run.
Two buffers take turns: the copy of step n may not overwrite what the kernels of step n - 2 read, and
waits for them on the device, not on the host.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


class _Slot:
    """One of the two buffers: pinned memory, the device's array, and when each is free again."""

    def __init__(self) -> None:
        self.pinned: Any = None
        self.array: Any = None
        self.copied: Any = None  # event: the pinned memory has been read
        self.used: Any = None  # event: the kernels that read the array have run


class HostToDevice:
    """Copies values of one node to one GPU; called with an array of the host."""

    def __init__(self, index: int, cupy: Any = None, cupyx: Any = None) -> None:
        self._cupy = cupy or importlib.import_module("cupy")
        self._cupyx = cupyx or importlib.import_module("cupyx")
        self._device = self._cupy.cuda.Device(index)
        self._slots = (_Slot(), _Slot())
        self._turn = 0
        self._stream: Any = None

    def __call__(self, value: Any) -> Any:
        """The value in the device's memory; kernels launched from now on see it complete."""
        value = np.asarray(value)
        cuda = self._cupy.cuda
        with self._device:
            if self._stream is None:
                self._stream = cuda.Stream(non_blocking=True)
            compute = cuda.get_current_stream()
            before, self._turn = self._slots[self._turn], 1 - self._turn
            slot = self._slots[self._turn]
            if before.array is not None:
                # All that reads the array of the last copy has been launched by now.
                before.used = compute.record(cuda.Event(disable_timing=True))
            if slot.copied is not None:
                slot.copied.synchronize()  # two copies ago: long done
            if (
                slot.array is None
                or slot.array.shape != value.shape
                or slot.array.dtype != value.dtype
            ):
                if slot.used is not None:
                    slot.used.synchronize()
                slot.pinned = self._cupyx.empty_pinned(value.shape, value.dtype)
                slot.array = self._cupy.empty(value.shape, value.dtype)
                # The pool may hand out memory that launched kernels still read.
                self._stream.wait_event(compute.record(cuda.Event(disable_timing=True)))
            elif slot.used is not None:
                self._stream.wait_event(slot.used)
            np.copyto(slot.pinned, value)
            slot.array.set(slot.pinned, stream=self._stream)
            slot.copied = self._stream.record(cuda.Event(disable_timing=True))
            compute.wait_event(slot.copied)
            return slot.array
