"""Processes that were told to end are gone, whether they obeyed or not."""

from __future__ import annotations

import subprocess
import sys

from dataflow.cluster.management.processes import ensure_ended, is_running


def started(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)


def test_one_that_ends_by_itself_is_waited_for_and_another_is_killed() -> None:
    quick = started("pass")
    stubborn = started("import time; print('up', flush=True); time.sleep(60)")
    try:
        assert stubborn.stdout is not None and stubborn.stdout.readline() == b"up\n"
        ensure_ended([quick.pid, 0, stubborn.pid], timeout_seconds=1.0)
        assert not is_running(quick.pid) and not is_running(stubborn.pid)
        assert quick.wait(60) == 0 and stubborn.wait(60) == -9
    finally:
        for process in (quick, stubborn):
            process.kill()
            process.wait(60)
            assert process.stdout is not None
            process.stdout.close()
