"""Processes of this machine: their descendants, whether they run, and ending them after this one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable


def descendants(pid: int) -> list[int]:
    """Return all processes below ``pid``, where the system shows them."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(name))
    found = []
    stack = [pid]
    while stack:
        children = parents.get(stack.pop(), [])
        found += children
        stack += children
    return found


def of_ray(pids: Iterable[int]) -> list[int]:
    """Return those of the processes that belong to Ray, by their command lines."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as file:
            if "ray" in file.read():
                found.append(pid)
    return found


def is_running(pid: int) -> bool:
    """Whether the process is there (a zombie is not)."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    return False


def ensure_ended(pids: list[int], timeout_seconds: float = 5.0) -> None:
    """Wait until the processes of this machine are gone; a process that has not ended by then is killed.

    Ray ends an actor when its servers come to it, which a busy machine may keep them from.
    """
    deadline = time.monotonic() + timeout_seconds
    for pid in pids:
        while pid and is_running(pid):
            if time.monotonic() >= deadline:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                _await_killed(pid)
                break
            time.sleep(0.01)


def _await_killed(pid: int, timeout_seconds: float = 2.0) -> None:
    deadline = time.monotonic() + timeout_seconds
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)


class Reaper:
    """Ends Ray's processes among ``pids`` if this process ends without having dismissed it.

    It is a shell that waits for the end of a pipe.
    """

    _SCRIPT = (
        'read line; [ -n "$line" ] && exit; sleep 1; for pid in "$@"; do '
        "grep -q ray /proc/$pid/cmdline 2>/dev/null && kill -9 $pid; done"
    )

    def __init__(self, pids: list[int]) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", self._SCRIPT, "dataflow-reaper", *map(str, pids)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def send_away(self, kill: bool = False) -> None:
        """Dismiss it; with ``kill`` it first ends the remaining processes."""
        if self._shell is not None:
            with contextlib.suppress(OSError):
                self._shell.communicate(b"" if kill else b"stopped\n", timeout=5)
            self._shell = None
