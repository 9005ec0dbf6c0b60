"""The benchmark's floor: bare sockets answer each message, or both clients at once."""

import json
import pathlib
import subprocess
import sys

import pytest

from tests.benchmarks import cluster, socket_floor

ROOT = pathlib.Path(__file__).resolve().parents[3]
#: In a process of its own, as it forks.
CODE = (
    "import json, os; from tests.benchmarks.socket_floor import trips;"
    "before = len(os.listdir('/proc/self/fd')); found = trips({}, 0.1, {});"
    "print(json.dumps([*found, len(os.listdir('/proc/self/fd')) - before]))"
)


@pytest.mark.parametrize("num_bytes", [100, 300_000])
@pytest.mark.parametrize("waits_for_all", [False, True])
def test_both_clients_are_answered(num_bytes, waits_for_all):
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(num_bytes, waits_for_all)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    rate, busy, left_open = json.loads(done.stdout)
    assert rate > 0 and busy > 0
    assert left_open == 0


def test_each_small_step_has_its_floor():
    assert set(cluster.TRIPS) <= set(cluster.PATTERNS)
    rate, busy = socket_floor.in_a_process(*cluster.TRIPS["sync 4 B"], 0.1)
    assert rate > 0 and busy > 0
