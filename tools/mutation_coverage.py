"""Which test of the engine runs which line: what mutation testing chooses a mutant's tests by.

`measure`, called by `tools/mutate.py`, runs `TESTS` once with this module as a pytest plugin.
"""

from __future__ import annotations

import collections
import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("runtime", "rewrites", "cluster/execution", "placement")
# Fast tests of what the packages do.
TESTS = (
    *("tests/runtime", "tests/rewrites", "tests/placement", "tests/test_gradients.py"),
    *(
        "tests/cluster/execution",
        "tests/cluster/partition",
        "tests/cluster/management/test_server.py",
    ),
    *("tests/cluster/management/test_training_modes.py", "tests/cluster/management/test_deaths.py"),
    "tests/eager/test_variables.py",
    *("tests/ops/test_while_loop.py", "tests/ops/test_queue.py", "tests/ops/test_waiting.py"),
    *(
        "tests/ops/test_variables.py",
        "tests/ops/test_failed_updates.py",
        "tests/ops/test_traits.py",
    ),
    *("tests/ops/test_synchronization.py", "tests/ops/test_tensor_array.py"),
    *("tests/ops/test_control_flow_gradients.py", "tests/ops/test_sparse.py", "tests/introspect"),
    *("tests/gpu/test_cuda_graphs.py", "tests/gpu/test_captured_training.py"),
    *("tests/gpu/test_sparse_steps_cuda.py", "tests/gpu/test_overlap.py"),
    *("tests/train/test_background_jobs.py", "tests/cluster/management/test_thread_backend.py"),
    *(
        "tests/cluster/management/test_message_watch.py",
        "tests/cluster/management/test_operations.py",
    ),
)
FAST = (
    "not gpu and not oracle and not binder and not slow and not cluster and not browser"
    " and not netns"
)
# And what runs where no thread can start. Their tests are named with `MARK` in front.
WITHOUT_THREADS = (
    *("tests/runtime/test_cooperative.py", "tests/runtime/test_waiting.py"),
    *("tests/train/test_coordinator.py", "tests/cluster/management/test_cooperative_backend.py"),
)
NO_THREADS = {"DATAFLOW_THREADS": "0"}
MARK = "without threads: "


def measure(tree: Path, environment: dict[str, str], parts: Path, workers: int) -> dict[str, Any]:
    """Run the tests of a tree once; return `lines` (path -> line -> tests) and `seconds` (test -> time)."""
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "tools.mutation_coverage", "-m", FAST]
    in_parallel = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
    environment |= {"DATAFLOW_COVER": str(parts)}
    subprocess.run([*command, *in_parallel, *TESTS], cwd=tree, env=environment, check=False)
    environment |= NO_THREADS
    command += ["-p", "no:xdist", *WITHOUT_THREADS]
    subprocess.run(command, cwd=tree, env=environment, check=False)
    return read_parts(parts)


def read_parts(parts: Path) -> dict[str, Any]:
    """What the processes that measured left in a folder, as one."""
    lines: dict[str, dict[str, list[str]]] = {}
    seconds: dict[str, float] = {}
    for part in parts.glob("*.json"):
        read = json.loads(part.read_text())
        seconds |= read["seconds"]
        for path, by_line in read["lines"].items():
            into = lines.setdefault(path, {})
            for line, tests in by_line.items():
                into.setdefault(line, []).extend(tests)
    return {"lines": lines, "seconds": seconds}


def pytest_configure(config: pytest.Config) -> None:
    """Measure in this process: with pytest-xdist, each worker does."""
    folder = os.environ.get("DATAFLOW_COVER")
    if folder and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(_Measuring(Path(folder)))


class _Measuring:
    """A pytest plugin that notes for each test which lines of the packages it runs."""

    def __init__(self, folder: Path) -> None:
        import coverage

        self.folder = folder
        self.mark = MARK if os.environ.get("DATAFLOW_THREADS") == "0" else ""
        self.seconds: dict[str, float] = {}
        include = [str(Path.cwd() / "dataflow" / package / "*") for package in PACKAGES]
        self.coverage = coverage.Coverage(data_file=None, include=include, config_file=False)
        self.coverage.start()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Of a test with many parameters keep some, drawn at random."""
        chance = random.Random(1)
        by_function: dict[str, list[pytest.Item]] = collections.defaultdict(list)
        for item in items:
            by_function[item.nodeid.partition("[")[0]].append(item)
        kept = {
            item
            for group in by_function.values()
            for item in chance.sample(group, min(len(group), 4 + math.isqrt(len(group))))
        }
        items[:] = [item for item in items if item in kept]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(self.mark + item.nodeid)
        yield
        self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.seconds[self.mark + report.nodeid] = round(report.duration, 3)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {}
        for path in data.measured_files():
            lines[str(Path(path).relative_to(Path.cwd()))] = {
                line: [test for test in tests if test in self.seconds]
                for line, tests in data.contexts_by_lineno(path).items()
            }
        part = self.folder / f"{os.getpid()}.json"
        part.write_text(json.dumps({"lines": lines, "seconds": self.seconds}))
