"""When a GPU did the work of a traced run, by its own clock.

The host only launches kernels, and is through with a node long before the GPU is. So events are
put on the stream after each node, and on the stream of copies around each copy: what ran at the same
time is seen to have done so.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dataflow.kernels.cuda.copies import Timed, newest
from dataflow.kernels.xp import num_pretend_gpus


class Turn(NamedTuple):
    """When a node ran, by the host's clock: seconds."""

    start: float
    seconds: float


class _Noted(NamedTuple):
    """After one node: its number, when the host began it, the event behind it, and its copy."""

    number: int
    begun: float
    done: Any
    copy: Timed | None


class DeviceClock:
    """Times the nodes that one thread launches on one GPU. ``clock`` is the host's, in seconds."""

    def __init__(self, index: int, clock: Callable[[], float], cupy: Any = None) -> None:
        self._cupy = cupy or importlib.import_module("cupy")
        self._noted: list[_Noted] = []
        self._device = self._cupy.cuda.Device(index)
        with self._device:
            self._device.synchronize()
            self._zero = self._event()
            self._host_zero = clock()

    def _event(self) -> Any:
        cuda = self._cupy.cuda
        return cuda.get_current_stream().record(cuda.Event())

    def note(self, number: int, begun: float) -> None:
        """A node's kernels have been launched; the host began with it at ``begun``."""
        copy, newest.copy = newest.copy, None
        with self._device:
            self._noted.append(_Noted(number, begun, self._event(), copy))

    def turns(self) -> dict[int, Turn]:
        """When each node ran. The host waits for the last one."""
        found: dict[int, Turn] = {}
        last = self._host_zero
        if self._noted:
            self._noted[-1].done.synchronize()
        for number, begun, done, copy in self._noted:
            end = self._at(done)
            if copy is not None:
                start = self._at(copy.began)
                found[number] = Turn(start, self._at(copy.ended) - start)
            else:  # from when the GPU was free, but not before the host came to it
                start = min(max(last, begun), end)
                found[number] = Turn(start, end - start)
            last = max(last, end)
        return found

    def _at(self, event: Any) -> float:
        milliseconds = self._cupy.cuda.get_elapsed_time(self._zero, event)
        return self._host_zero + float(milliseconds) / 1000


class DeviceClocks:
    """The clocks of a traced run: one for each of its GPUs, none for pretend ones."""

    def __init__(self, devices: dict[int, str], clock: Callable[[], float]) -> None:
        """``devices``: ``"gpu:0"`` by the numbers of the nodes whose kernels run there."""
        names: Iterable[str] = () if num_pretend_gpus() else sorted(set(devices.values()))
        self._clocks = {n: DeviceClock(int(n.partition(":")[2]), clock) for n in names}
        self._devices = devices
        newest.copy = None

    def note(self, node: int, step: int, begun: float) -> None:
        """Node ``node`` has been launched, as the run's step number ``step``."""
        if self._clocks and node in self._devices:
            self._clocks[self._devices[node]].note(step, begun)

    def turns(self) -> dict[int, Turn]:
        """When each step ran that a GPU did."""
        return {
            step: turn for clock in self._clocks.values() for step, turn in clock.turns().items()
        }
