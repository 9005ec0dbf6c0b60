"""Run a program under a limit on the memory of all its processes together, Ray's daemons included.

    python run_within.py LIMIT_BYTES RESULT.json PROGRAM [ARGUMENT ...]

A container's memory controller counts every process in it, so a limit on one process says little.
This program becomes the parent of every orphan below it, adds up the proportional set size of all its
descendants several times a second (a page that several processes share counts once), and kills them
all as soon as the sum passes the limit. Linux only.

RESULT.json gets `returncode` (null where the limit ended it), `peak_bytes`, `peak_processes` (name
and bytes of each at the peak), and `left_over`: what still ran when the program had ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import subprocess
import sys
import time
from pathlib import Path

import psutil

SECONDS_BETWEEN_SAMPLES = 0.2
#: Ray's daemons end by themselves soon after the process that started them.
SECONDS_TO_END = 20.0
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) was refused")


def descendants() -> list[psutil.Process]:
    """Every process below this one that is no zombie."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def sizes() -> dict[str, int]:
    """Bytes of each descendant, by "name pid"."""
    found = {}
    for process in descendants():
        with contextlib.suppress(psutil.Error, FileNotFoundError):
            found[f"{process.name()} {process.pid}"] = int(process.memory_full_info().pss)
    return found


def stop_all() -> list[str]:
    """Kill what is left; returns the command lines."""
    alive = descendants()
    told = []
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            told.append(" ".join(process.cmdline()))
            process.kill()
    psutil.wait_procs(alive, timeout=10)
    return told


def main(limit_bytes: int, result: Path, command: list[str]) -> int:
    adopt_orphans()
    program = subprocess.Popen(command)
    peak, at_peak, over = 0, {}, False
    try:
        while program.poll() is None and not over:
            now = sizes()
            if sum(now.values()) > peak:
                peak, at_peak = sum(now.values()), now
            over = peak > limit_bytes
            time.sleep(SECONDS_BETWEEN_SAMPLES)
        deadline = time.monotonic() + SECONDS_TO_END
        while not over and descendants() and time.monotonic() < deadline:
            time.sleep(SECONDS_BETWEEN_SAMPLES)
    finally:
        left_over = stop_all()
    told = {
        "returncode": None if over else program.returncode,
        "peak_bytes": peak,
        "peak_processes": at_peak,
        "left_over": [] if over else left_over,
    }
    result.write_text(json.dumps(told, indent=1))
    return 1 if over else program.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
