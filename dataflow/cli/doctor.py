"""`dataflow doctor`: what this machine has, and what to do about what is missing."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dataflow.cli.browser import HOW_TO_GET_A_BROWSER, find_browser
from dataflow.extras import install

MINIMUM_PYTHON = (3, 11)


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        name: what was looked for.
        status: "ok"; "optional" (not there, and everything else goes on); "problem" (there and
            unusable, or not there and needed).
        found: what is there, in words.
        advice: what to do about it; empty when nothing is to be done.
        required: whether nothing at all works without it.
        lessons: the numbers of the lessons that cannot be done without it.
    """

    name: str
    status: str
    found: str
    advice: str = ""
    required: bool = False
    lessons: tuple[int, ...] = ()


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_python() -> Finding:
    """The interpreter."""
    found = f"{platform.python_version()} ({platform.python_implementation()}) {sys.executable}"
    if sys.version_info < MINIMUM_PYTHON:
        needed = ".".join(map(str, MINIMUM_PYTHON))
        return Finding("Python", "problem", found, f"install Python {needed} or newer", True)
    return Finding("Python", "ok", found, required=True)


def _blas_of(configuration: Any) -> str:
    blas = configuration.get("Build Dependencies", {}).get("blas", {})
    parts = [blas.get("name"), blas.get("version")]
    return " ".join(str(part) for part in parts if part) or "unknown BLAS"


def check_numpy() -> Finding:
    """NumPy, the BLAS that its matrix products run on, and the processors that it may use."""
    from dataflow.kernels import cpu_quota

    advice = "pip install numpy"
    try:
        import numpy
    except ImportError:
        return Finding("NumPy", "problem", "not installed", advice, True)
    except Exception as error:
        return Finding("NumPy", "problem", f"import fails: {error}", advice, True)
    try:
        blas = _blas_of(numpy.show_config(mode="dicts"))
    except Exception:
        blas = "unknown BLAS"
    num_cores = os.cpu_count() or 1
    found = f"{numpy.__version__}, {blas}, {num_cores} CPU core{'s' * (num_cores != 1)}"
    allowed = cpu_quota.quota()
    if allowed is not None and allowed < num_cores:
        found += f", of which this container may use {allowed}"
    return Finding("NumPy", "ok", found, required=True)


def check_cupy() -> Finding:
    """CuPy, and the GPUs it sees; pretend GPUs, where the environment asks for them."""
    from dataflow.kernels.xp import INSTALL_CUPY, PRETEND_VARIABLE, reason_of

    num_pretend = os.environ.get(PRETEND_VARIABLE, "")
    if num_pretend.isdigit() and int(num_pretend):
        return Finding(
            "CuPy and GPUs",
            "ok",
            f"{num_pretend} pretend GPU{'s' * (num_pretend != '1')} made of NumPy "
            f"({PRETEND_VARIABLE}={num_pretend}); real ones are hidden",
            f"unset {PRETEND_VARIABLE} to use real ones",
        )
    if importlib.util.find_spec("cupy") is None:
        return _without_cupy()
    try:
        import cupy

        num_gpus = cupy.cuda.runtime.getDeviceCount()
        names = [
            cupy.cuda.runtime.getDeviceProperties(index)["name"].decode()
            for index in range(num_gpus)
        ]
        if not names:
            raise RuntimeError("the driver lists no device")
    except Exception as error:
        return Finding(
            "CuPy and GPUs",
            "problem",
            f"CuPy {_version_of_cupy()} sees no GPU: {reason_of(error)}",
            "check the driver with nvidia-smi, and that the extra (gpu, gpu13) fits its CUDA; "
            "until then everything runs on the CPU",
        )
    try:
        # A compiled kernel, and a product of cuBLAS: CuPy's wheels hold neither library.
        ones = cupy.ones((2, 2), cupy.float32)
        assert float((ones @ ones + ones).sum()) == 12
    except Exception as error:
        return Finding(
            "CuPy and GPUs",
            "problem",
            f"CuPy {cupy.__version__} sees {', '.join(names)} and cannot compute: "
            f"{reason_of(error)}",
            f"{INSTALL_CUPY}: they bring CUDA's libraries as well; until then everything runs on "
            "the CPU",
        )
    return Finding("CuPy and GPUs", "ok", f"CuPy {cupy.__version__}; {', '.join(names)}")


def _without_cupy() -> Finding:
    from dataflow.kernels.xp import INSTALL_CUPY

    if shutil.which("nvidia-smi") is not None:
        return Finding("CuPy and GPUs", "optional", "an NVIDIA driver, but no CuPy", INSTALL_CUPY)
    return Finding(
        "CuPy and GPUs",
        "optional",
        "no NVIDIA driver; everything runs on the CPU",
        "nothing to do, unless there is an NVIDIA GPU: then install its driver; "
        "tf.test.pretend_gpus(1) shows placement and copies without one",
    )


def _version_of_cupy() -> str:
    for distribution in ("cupy-cuda13x", "cupy-cuda12x", "cupy"):
        version = _version(distribution)
        if version:
            return version
    return "(version unknown)"


def _check_distribution(
    name: str, distribution: str, advice: str, lessons: tuple[int, ...] = ()
) -> Finding:
    version = _version(distribution)
    if version is None:
        return Finding(name, "optional", "not installed", advice, lessons=lessons)
    return Finding(name, "ok", version, lessons=lessons)


def check_ray() -> Finding:
    """Ray, which keeps the processes of a cluster; asked for its version, never started."""
    finding = _check_distribution(
        "Ray",
        "ray",
        f"{install('cluster')}; clusters of processes (tf.cluster.launch) need it",
        (17, 18, 19, 20),
    )
    address = os.environ.get("RAY_ADDRESS")
    if finding.status == "ok" and address:
        return replace(finding, found=f"{finding.found}, RAY_ADDRESS={address}")
    return finding


def check_jupyterlab() -> Finding:
    """JupyterLab with the packages the widgets need."""
    advice = install("lab")
    wanted = ("jupyterlab", "ipywidgets", "anywidget", "ipykernel")
    versions = {distribution: _version(distribution) for distribution in wanted}
    absent = [distribution for distribution, version in versions.items() if version is None]
    if versions["jupyterlab"] is None:
        return Finding("JupyterLab", "problem", "not installed", advice)
    found = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    if absent:
        return Finding("JupyterLab", "problem", f"{found}; without {', '.join(absent)}", advice)
    return Finding("JupyterLab", "ok", found.removeprefix("jupyterlab "))


def check_graphviz() -> Finding:
    """Graphviz's `dot`, for static pictures; the widgets bring their own."""
    path = shutil.which("dot")
    if path is None:
        if importlib.util.find_spec("pygraphviz") is not None:
            return Finding("Graphviz", "ok", f"inside pygraphviz {_version('pygraphviz') or ''}")
        return Finding(
            "Graphviz",
            "optional",
            "no dot; widgets bring their own, static pictures become plainer",
            "apt-get install graphviz, brew install graphviz, or pip install pygraphviz",
        )
    try:
        result = subprocess.run([path, "-V"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("Graphviz", "problem", f"{path}: {error}", "reinstall Graphviz")
    said = (result.stderr or result.stdout).strip()
    return Finding("Graphviz", "ok", f"{said.removeprefix('dot - graphviz version ')} {path}")


def check_tensorboard() -> Finding:
    """TensorBoard, which reads what tf.summary.FileWriter writes."""
    return _check_distribution(
        "TensorBoard",
        "tensorboard",
        f"{install('train')}; only looking at event files needs it",
    )


def check_class() -> Finding:
    """What `dataflow class` runs on: Tornado, which JupyterLab brings, and SQLite, which most Pythons have."""
    if importlib.util.find_spec("_sqlite3") is None:
        advice = "take a Python with SQLite to run `dataflow class`"
        return Finding("Class server", "optional", "this Python has no SQLite", advice)
    finding = _check_distribution(
        "Class server", "tornado", f"{install('lab')} to run `dataflow class`"
    )
    if finding.status == "ok":
        import sqlite3

        found = f"Tornado {finding.found}, SQLite {sqlite3.sqlite_version}"
        return replace(finding, found=found)
    return finding


def check_llvmlite() -> Finding:
    """llvmlite, with which kernels that run often become machine code."""
    return _check_distribution(
        "llvmlite",
        "llvmlite",
        f"{install('fast')}; without it optimizers, pooling and convolutions "
        "run on NumPy alone, more slowly",
    )


def check_ml_dtypes() -> Finding:
    """ml_dtypes, which holds the NumPy type of tf.bfloat16."""
    return _check_distribution(
        "ml_dtypes", "ml-dtypes", f"{install('bfloat16')}; only tf.bfloat16 needs it", (25,)
    )


def check_tables() -> Finding:
    """pandas and scikit-learn, from which the small data sets of lessons come."""
    absent = [name for name in ("pandas", "scikit-learn") if _version(name) is None]
    lessons = (0, 5, 6, 7, 8, 9, 17, 18, 19, 23, 25, 26)
    name = "Small data sets"
    if absent:
        advice = f"{install('data')}; digits, iris, wine and diabetes need it"
        return Finding(name, "optional", f"without {', '.join(absent)}", advice, lessons=lessons)
    found = f"pandas {_version('pandas')}, scikit-learn {_version('scikit-learn')}"
    return Finding(name, "ok", found, lessons=lessons)


def check_browser() -> Finding:
    """A browser for the tests; a learner's own browser is not looked at."""
    path = find_browser()
    if path is None:
        return Finding(
            "Browser for tests", "optional", "no Chromium or Chrome", HOW_TO_GET_A_BROWSER
        )
    if importlib.util.find_spec("playwright") is None:
        return Finding(
            "Browser for tests",
            "optional",
            f"{path}, but no Playwright to drive it",
            install("test"),
        )
    return Finding("Browser for tests", "ok", path)


def check_data() -> Finding:
    """The folder named by DATAFLOW_DATA, where loaders look before they download."""
    folder = os.environ.get("DATAFLOW_DATA")
    advice = "set DATAFLOW_DATA to a folder with the data sets to work without downloads"
    if not folder:
        return Finding("Data folder", "optional", "DATAFLOW_DATA is not set", advice)
    path = Path(folder)
    if not path.is_dir():
        return Finding("Data folder", "problem", f"DATAFLOW_DATA={folder} is not a folder", advice)
    try:
        names = sorted(child.name for child in path.iterdir() if child.is_dir())
    except OSError as error:
        return Finding("Data folder", "problem", f"DATAFLOW_DATA={folder}: {error}", advice)
    return Finding("Data folder", "ok", f"{path.resolve()} ({', '.join(names) or 'empty'})")


CHECKS: tuple[Callable[[], Finding], ...] = (
    check_python,
    check_numpy,
    check_cupy,
    check_ray,
    check_jupyterlab,
    check_graphviz,
    check_tensorboard,
    check_class,
    check_llvmlite,
    check_ml_dtypes,
    check_tables,
    check_browser,
    check_data,
)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Libraries that warn while they load would tear the table, or the JSON, apart."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def examine() -> list[Finding]:
    """Run every check. A check that fails in a way nobody thought of is a finding too."""
    findings = []
    for check in CHECKS:
        with _quiet():
            try:
                finding = check()
            except Exception as error:
                name = check.__name__.removeprefix("check_")
                finding = Finding(name, "problem", f"{type(error).__name__}: {error}")
        findings.append(finding)
    return findings


def report_text(findings: list[Finding]) -> str:
    """The table that `dataflow doctor` prints: a line a finding, its advice below."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.status:<10}{finding.name:<{width + 2}}{finding.found}")
        if finding.advice:
            lines.append(" " * (10 + width + 2) + "-> " + finding.advice)
        if finding.lessons and finding.status != "ok":
            lines.append(" " * (10 + width + 2) + f"   needed by {_lessons(finding.lessons)}")
    return "\n".join([*lines, "", lessons_text(findings)])


def lessons_text(findings: list[Finding]) -> str:
    """Which lessons can be done here, in a sentence."""
    if any(f.status == "problem" and (f.required or f.name == "JupyterLab") for f in findings):
        return "No lesson can be done here before the problems above are solved."
    without = {number for f in findings if f.status != "ok" for number in f.lessons}
    if not without:
        return "Every lesson can be done here."
    needed = _lessons(tuple(sorted(without)))
    verb = "needs" if len(without) == 1 else "need"
    return (
        f"{needed[0].upper()}{needed[1:]} {verb} what is not here; every other lesson can be done."
    )


def _lessons(numbers: tuple[int, ...]) -> str:
    if len(numbers) == 1:
        return f"lesson {numbers[0]}"
    return f"lessons {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def run_doctor(*, as_json: bool = False) -> int:
    """Print the report; the status is 1 when something required is missing or broken."""
    findings = examine()
    if as_json:
        print(json.dumps({"findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        print(report_text(findings))
    return int(any(finding.required and finding.status != "ok" for finding in findings))
