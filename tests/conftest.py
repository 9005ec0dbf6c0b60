"""What all tests share: where the data is, which parts a test may miss, how long Hypothesis looks.

In CI (`CI=true`) a missing part is a failure, not a skip: a suite that quietly lost its browser or
its Ray would stay green for ever. Five things may be absent there: a GPU, a processor with AVX2, AVX-512 or
NEON, the data folder, the right to make network namespaces, and Pyodide with its NumPy, which no package brings.
(Tests marked `oracle` compare with a TensorFlow that lives in another environment; `make oracle`.)
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA_VARIABLE = "DATAFLOW_DATA"
IN_CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")

# Markers whose tests may be skipped even in CI.
OPTIONAL_MARKERS = ("gpu", "simd", "oracle", "netns", "threads", "wasm")
OPTIONAL_FOLDERS = tuple(ROOT / "tests" / name for name in OPTIONAL_MARKERS)

hypothesis.settings.register_profile(
    "ci", max_examples=50, deadline=None, derandomize=True, database=None, print_blob=True
)
hypothesis.settings.register_profile("dev", max_examples=25, deadline=None)
hypothesis.settings.load_profile("ci" if IN_CI else "dev")


def default_data_folder() -> Path | None:
    """The folder beside the checkout that holds real data, None where there is none."""
    folder = ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


# Set here, not in a fixture: modules decide at collection whether their data is there, and the
# processes that tests start (kernels, Ray) inherit it. An absolute path, as they change folder.
if not os.environ.get(DATA_VARIABLE):
    _folder = default_data_folder()
    if _folder is not None:
        os.environ[DATA_VARIABLE] = str(_folder)
else:
    os.environ[DATA_VARIABLE] = str(Path(os.environ[DATA_VARIABLE]).resolve())

# Tests compile, and leave nothing in the user's cache.
os.environ["DATAFLOW_KERNEL_CACHE"] = ""


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """With DATAFLOW_THREADS=0 no thread starts, as in WebAssembly: one that somebody forgot is an error.

    Only where tests run, and after the plugins have started theirs.
    """
    is_controller = bool(getattr(config.option, "numprocesses", None)) and not hasattr(
        config, "workerinput"
    )
    if os.environ.get("DATAFLOW_THREADS") == "0" and not is_controller:

        def cannot_start(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        threading.Thread.start = cannot_start  # type: ignore[method-assign]


# A shell that runs the suite in the background has it ignore Ctrl-C, and Python then leaves it so:
# what an interrupt does to a step could not be tested, here or in the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@functools.cache
def num_gpus() -> int:
    """How many GPUs CuPy can use here."""
    if importlib.util.find_spec("cupy") is None:
        return 0
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount())
    except Exception:
        return 0


@functools.cache
def missing_part(marker: str) -> str | None:
    """Why tests with this marker cannot run here, None when they can."""
    if marker == "gpu":
        return None if num_gpus() else "no GPU that CuPy can use (pip install dataflow-learn[gpu])"
    if marker == "simd":
        from dataflow.kernels.jit.isa import host

        if importlib.util.find_spec("llvmlite") is None:
            return "llvmlite is not installed: pip install 'dataflow-learn[fast]'"
        return None if host() else "the processor has no AVX2, AVX-512 or NEON; NumPy does it"
    if marker == "cluster" and importlib.util.find_spec("ray") is None:
        return "Ray is not installed: pip install 'dataflow-learn[cluster]'"
    if marker == "threads":
        from dataflow.capabilities import THREADS

        return (
            None
            if THREADS
            else "it needs threads, sockets or machine code, and DATAFLOW_THREADS=0 is set"
        )
    if marker == "wasm":
        from tests.wasm import distribution

        return distribution.missing()
    if marker == "browser":
        from dataflow.cli.browser import HOW_TO_GET_A_BROWSER, find_browser

        if find_browser() is None:
            return f"no browser: {HOW_TO_GET_A_BROWSER}"
        if importlib.util.find_spec("playwright") is None:
            return "Playwright is not installed: pip install 'dataflow-learn[test]'"
    return None


# First, because pytest-xdist reads the groups in a hook of the same name.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here; keep tests that share a heavy process on one worker."""
    if os.environ.get("DATAFLOW_THREADS") != "0":  # `test_without_threads` runs them
        items[:] = [item for item in items if not item.get_closest_marker("without_threads")]
    for item in items:
        known = ("gpu", "cluster", "browser", "simd", "threads", "wasm")
        markers = [m for m in known if item.get_closest_marker(m)]
        if markers and markers[0] not in ("simd", "threads"):
            item.add_marker(pytest.mark.xdist_group(markers[0]))
        for marker in markers:
            reason = missing_part(marker)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


def may_be_skipped_in_ci(path: Path, markers: set[str], reason: str) -> bool:
    """Whether a skip is one of those that CI accepts."""
    if markers.intersection(OPTIONAL_MARKERS):
        return True
    if any(folder in path.parents for folder in OPTIONAL_FOLDERS):
        return True
    return DATA_VARIABLE in reason and not os.environ.get(DATA_VARIABLE)


def _reason_of(longrepr: object) -> str:
    if isinstance(longrepr, tuple):
        return re.sub(r"^Skipped: ", "", str(longrepr[2]))
    return str(longrepr)


def _fail_if_ci_forbids(
    report: pytest.CollectReport | pytest.TestReport, path: Path, markers: set[str]
) -> None:
    if not IN_CI or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = _reason_of(report.longrepr)
    if not may_be_skipped_in_ci(path, markers, reason):
        report.outcome = "failed"
        report.longrepr = f"skipped, and in CI nothing may be skipped for a missing part: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """Real GPUs are for tests marked `gpu`: the others give the same on every machine."""
    if item.get_closest_marker("gpu"):
        return (yield)
    from dataflow.kernels import xp

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xp, "_real_gpus", tuple)
        patch.setenv("CUDA_VISIBLE_DEVICES", "")  # for processes that the test starts
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logfinish() -> None:
    """End a Ray that is kept for the next launch: no process outlives its test."""
    kept_ray = sys.modules.get("dataflow.cluster.management.kept_ray")
    if kept_ray is not None:
        kept_ray.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    _fail_if_ci_forbids(report, item.path, {mark.name for mark in item.iter_markers()})
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report = yield
    markers = {mark.name for mark in collector.iter_markers()}
    _fail_if_ci_forbids(report, collector.path, markers)
    return report


@pytest.fixture
def graph() -> Iterator[Any]:
    """A new default graph: ``pytestmark = pytest.mark.usefixtures("graph")`` gives one to each test of a file."""
    import dataflow as tf

    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session() -> Iterator[Any]:
    """A session of a new graph, both the default ones."""
    import dataflow as tf

    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.fixture
def as_tensorflow() -> Iterator[None]:
    """Random ops draw the numbers that TensorFlow 1.15 draws from the same seeds, as in a program of its time."""
    from dataflow.tensorflow_numbers import draw_as_tensorflow

    draw_as_tensorflow()
    try:
        yield
    finally:
        draw_as_tensorflow(False)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data; skips where `DATAFLOW_DATA` names none."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        pytest.skip(f"no real data here: set {DATA_VARIABLE} to the folder that holds it")
    assert Path(folder).is_dir(), f"{DATA_VARIABLE}={folder} is not a folder"
    return Path(folder)


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture
def no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test of names and lanes of CPUs: no pretend GPUs either, where the whole suite has them."""
    monkeypatch.delenv("DATAFLOW_PRETEND_GPUS", raising=False)


@pytest.fixture
def real_data(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``DATAFLOW_DATA``, with downloads forbidden; skips where it is not set."""
    monkeypatch.setenv("DATAFLOW_OFFLINE", "1")
    return data_folder
