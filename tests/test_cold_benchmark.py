"""The benchmark of first steps: a new process that finds no machine code on disk, and leaves none."""

from __future__ import annotations

import os
import sys

import pytest


def test_the_first_steps_of_a_workload(
    tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.benchmarks.cold import DEFAULT, first_steps
    from tests.benchmarks.worker import workloads

    # Not where other processes keep theirs.
    monkeypatch.setenv("DATAFLOW_KERNEL_CACHE", str(tmp_path))
    core = max(os.sched_getaffinity(0))
    first, all_steps = first_steps(sys.executable, "dataflow", "two_nodes", 3, core)
    assert 0 < first < all_steps
    assert os.listdir(tmp_path) == []
    assert set(DEFAULT) <= set(workloads("dataflow"))
