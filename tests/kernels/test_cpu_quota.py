"""Containers: kernels have as many threads as the quota of the control group, not as there are processors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dataflow.kernels import cpu_quota


def _tree(folder: Path, groups: str, **files: str) -> tuple[Path, Path]:
    for path, text in files.items():
        file = folder / "mounted" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "mounted").mkdir(exist_ok=True)
    (folder / "cgroup").write_text(groups)
    return folder / "mounted", folder / "cgroup"


V1 = "9:name=systemd:/\n5:cpu,cpuacct:/kubepods/pod1\n3:memory:/other\n"


@pytest.mark.parametrize(
    "groups,files,expected",
    [
        ("0::/\n", {"cpu.max": "200000 100000"}, 2),
        ("0::/\n", {"cpu.max": "150000 100000"}, 2),
        ("0::/\n", {"cpu.max": "5000 100000"}, 1),
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        ("0::/pods/mine\n", {"cpu.max": "max 100000", "pods/cpu.max": "300000 100000"}, 3),
        (
            "0::/pods/mine\n",
            {"pods/cpu.max": "300000 100000", "pods/mine/cpu.max": "800000 100000"},
            3,
        ),
        ("0::/gone\n", {"cpu.max": "400000 100000", "other/cpu.max": "100000 100000"}, 4),
        (V1, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        (
            V1,
            {"cpu/cpu.cfs_quota_us": "250000", "cpu/cpu.cfs_period_us": "100000"},
            3,
        ),
        (
            V1,
            {
                "cpu,cpuacct/cpu.cfs_quota_us": "-1",
                "cpu,cpuacct/cpu.cfs_period_us": "100000",
                "cpu,cpuacct/kubepods/pod1/cpu.cfs_quota_us": "100000",
                "cpu,cpuacct/kubepods/pod1/cpu.cfs_period_us": "50000",
            },
            2,
        ),
        ("0::/\n", {"cpu.max": "what is this"}, None),
        ("0::/\n", {}, None),
    ],
)
def test_the_least_quota_of_the_groups(
    tmp_path: Path, groups: str, files: dict[str, str], expected: int | None
) -> None:
    assert cpu_quota.quota(*_tree(tmp_path, groups, **files)) == expected


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert cpu_quota.quota(tmp_path, tmp_path / "none") is None


PROGRAM = """
from dataflow.kernels import cpu_quota
cpu_quota.quota = lambda: {quota}
from dataflow.kernels.blas import num_threads
from dataflow.kernels.parallel import num_workers
print(num_threads(), num_workers())
"""


@pytest.mark.parametrize(
    "quota,given,expected",
    [("2", "", 2), ("1", "", 1), ("1", "2", 2), ("None", "1", 1), ("None", "2", 2)],
)
def test_blas_and_kernels_keep_to_it_unless_the_user_says_more(
    quota: str, given: str, expected: int
) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    if given:
        environment["OPENBLAS_NUM_THREADS"] = given
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(quota=quota)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    there = min(expected, len(os.sched_getaffinity(0)))
    assert done.stdout.split() == [str(there)] * 2
