"""How many processors the container of this process may use: Linux's CPU bandwidth control.

A container on Binder or Kubernetes sees all processors of its machine, and may use two of them, say: the kernel
stops its threads for the rest of a period of 100 ms once they have used up the quota together. With a thread for
each processor that it sees, a program stands still most of the time. NumPy's BLAS asks for the processors alone.

Sources: ``Documentation/admin-guide/cgroup-v2.rst`` (``cpu.max``) and ``scheduler/sched-bwc.rst``
(``cpu.cfs_quota_us``) of Linux.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

_MOUNTED = Path("/sys/fs/cgroup")
_GROUPS = Path("/proc/self/cgroup")


def quota(mounted: Path = _MOUNTED, groups: Path = _GROUPS) -> int | None:
    """The least quota of this process's groups, in processors, rounded up; ``None`` where there is none.

    ``mounted`` is where the control groups are mounted, ``groups`` the file that names those of this process.
    """
    quotas = [share for share in _shares(mounted, groups) if share > 0]
    return max(1, math.ceil(min(quotas))) if quotas else None


def _shares(mounted: Path, groups: Path) -> Iterator[float]:
    try:
        lines = groups.read_text("utf-8").splitlines()
    except OSError:
        return  # no Linux
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        for folder in dict.fromkeys((mounted, mounted / "cpu", mounted / controllers)):
            # A container's own group is often mounted as the root; `path` is not there then.
            yield from _share(folder)
            for name in Path(path.lstrip("/")).parts:
                folder = folder / name
                yield from _share(folder)


def _share(folder: Path) -> Iterator[float]:
    """The quota of one group over its period."""
    try:
        allowed, period = (folder / "cpu.max").read_text("utf-8").split()
        if allowed != "max":
            yield int(allowed) / int(period)
    except (OSError, ValueError):
        pass
    try:
        yield int((folder / "cpu.cfs_quota_us").read_text("utf-8")) / int(
            (folder / "cpu.cfs_period_us").read_text("utf-8")
        )
    except (OSError, ValueError, ZeroDivisionError):
        pass
