"""`dataflow doctor`: each finding, and what it advises when a part is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from dataflow.cli import browser, doctor, main

pytestmark = pytest.mark.usefixtures("no_gpus")

NAMES = [
    *(
        "Python",
        "NumPy",
        "CuPy and GPUs",
        "Ray",
        "JupyterLab",
        "Graphviz",
        "TensorBoard",
        "Class server",
        "llvmlite",
        "ml_dtypes",
        "Small data sets",
    ),
    *("Browser for tests", "Data folder"),
]


@pytest.fixture
def bare_machine(monkeypatch):
    """A machine with Python and NumPy only."""
    real = importlib.metadata.version

    def version(name):
        if name == "numpy":
            return real(name)
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(browser, "_APPLICATIONS", ())
    monkeypatch.delenv("DATAFLOW_DATA", raising=False)
    monkeypatch.delenv("DATAFLOW_BROWSER", raising=False)


def test_everything_is_looked_at():
    assert [finding.name for finding in doctor.examine()] == NAMES


def test_what_is_required_is_here():
    by_name = {finding.name: finding for finding in doctor.examine()}
    assert by_name["Python"].status == "ok"
    assert sys.executable in by_name["Python"].found
    assert by_name["NumPy"].status == "ok"
    assert by_name["NumPy"].found.startswith(np.__version__)
    assert "CPU core" in by_name["NumPy"].found


def test_a_bare_machine_gets_advice_on_each_missing_part(bare_machine, capsys):
    findings = doctor.examine()
    missing = [finding for finding in findings if finding.status != "ok"]
    assert [finding.name for finding in missing] == NAMES[2:]
    # Only without JupyterLab can no lesson be opened.
    assert [f.name for f in missing if f.status == "problem"] == ["JupyterLab"]
    assert all(finding.advice for finding in missing)
    # Nothing that is missing is required, so a script that asks goes on.
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    for advice in ("dataflow-learn[lab]", "dataflow-learn[cluster]", "chromium", "graphviz"):
        assert advice in said


def test_what_lessons_need_is_told(monkeypatch, capsys):
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "ray" else real(name))
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "needed by lessons 17, 18, 19 and 20" in said
    assert said.rstrip().endswith("not here; every other lesson can be done.")
    nothing = doctor.Finding("x", "ok", "", lessons=(3,))
    assert doctor.lessons_text([nothing]) == "Every lesson can be done here."
    one = doctor.Finding("x", "problem", "", lessons=(3,))
    assert doctor.lessons_text([one]).startswith("Lesson 3 needs what is not here")
    bad = doctor.Finding("NumPy", "problem", "", required=True)
    assert doctor.lessons_text([bad]).startswith("No lesson")


@pytest.mark.parametrize(
    ("check", "pattern"),
    [
        # A cluster of threads needs no Ray.
        (doctor.check_ray, r'tf\.cluster\.launch\((?!.*backend="threads")'),
        (doctor.check_ml_dtypes, r"tf\.bfloat16"),
        (doctor.check_tables, r"digits\.load_data\(|diabetes\.load|iris\.load_"),
    ],
)
def test_the_lessons_that_need_a_part_are_those_that_use_it(check, pattern, checkout):
    using = []
    for path in sorted((checkout / "lessons").glob("[0-9]*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        if any(re.search(pattern, source) for source in code):
            using.append(int(path.name[:2]))
    assert tuple(using) == check().lessons


def gpu_finding():
    return next(f for f in doctor.examine() if f.name == "CuPy and GPUs")


def test_pretend_gpus_are_named(monkeypatch):
    monkeypatch.setenv("DATAFLOW_PRETEND_GPUS", "2")
    assert gpu_finding().status == "ok"
    assert gpu_finding().found.startswith("2 pretend GPUs made of NumPy (DATAFLOW_PRETEND_GPUS=2)")
    monkeypatch.setenv("DATAFLOW_PRETEND_GPUS", "0")
    assert "pretend GPUs" not in gpu_finding().found


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise ImportError('libcudart.so.12: cannot open shared object file')", "libcudart"),
        (
            "def _fail(): raise RuntimeError('cudaErrorInsufficientDriver: too old')\n"
            "from types import SimpleNamespace\n"
            "cuda = SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=_fail))\n",
            "cudaErrorInsufficientDriver",
        ),
        (
            "def ones(*_): raise OSError('No such file: libnvrtc.so.13')\n"
            "from types import SimpleNamespace\n"
            "float32, __version__ = 'f', '14.2.0'\n"
            "runtime = SimpleNamespace(\n"
            "    getDeviceCount=lambda: 1,\n"
            "    getDeviceProperties=lambda i: dict(name=b'A GPU', totalGlobalMem=1 << 30),\n"
            ")\n"
            "cuda = SimpleNamespace(runtime=runtime, nvrtc=SimpleNamespace(getVersion=ones))\n",
            "sees A GPU and cannot compute: No such file: libnvrtc.so.13",
        ),
    ],
    ids=["library", "driver", "compiler"],
)
def test_cupy_without_a_gpu_is_no_obstacle(source, reason, tmp_path):
    """The report says what CuPy said, and everything runs on the CPU."""
    (tmp_path / "cupy.py").write_text(source)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import dataflow as tf\n"
        "from dataflow.cli import doctor\n"
        "finding = doctor.check_cupy()\n"
        "print(finding.status, finding.found)\n"
        "from dataflow.python.client import device_lib\n"
        "print([d.name for d in device_lib.list_local_devices()], tf.test.is_gpu_available())\n"
        "with tf.Session() as session: print(session.run(tf.constant(1.0) + 1.0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=True
    )
    found, devices, result = done.stdout.splitlines()
    assert found.startswith("problem") and reason in found
    # A GPU that is there and is not used is spoken of, once.
    assert done.stderr.count("A GPU is not used: CuPy does not find") == ("A GPU" in reason)
    assert (devices, result) == ("['/device:CPU:0'] False", "2.0")


def test_json(capsys):
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [finding["name"] for finding in report["findings"]] == NAMES
    assert set(report["findings"][0]) == {
        "name",
        "status",
        "found",
        "advice",
        "required",
        "lessons",
    }


def test_a_check_that_fails_is_a_finding(monkeypatch):
    def check_gremlins():
        print("noise of a library")
        raise OSError("no gremlins")

    monkeypatch.setattr(doctor, "CHECKS", (check_gremlins,))
    (finding,) = doctor.examine()
    assert (finding.name, finding.status) == ("gremlins", "problem")
    assert "no gremlins" in finding.found


def test_something_required_with_a_problem_sets_the_status(monkeypatch, capsys):
    broken = doctor.Finding("NumPy", "problem", "import fails", "pip install numpy", required=True)
    monkeypatch.setattr(doctor, "CHECKS", (lambda: broken,))
    assert main(["doctor"]) == 1
    assert "-> pip install numpy" in capsys.readouterr().out


def test_an_old_python_is_a_problem(monkeypatch):
    monkeypatch.setattr(doctor, "MINIMUM_PYTHON", (99, 0))
    finding = doctor.check_python()
    assert finding.status == "problem"
    assert "99.0" in finding.advice


def test_the_data_folder(monkeypatch, tmp_path):
    (tmp_path / "iris").mkdir()
    monkeypatch.setenv("DATAFLOW_DATA", str(tmp_path))
    assert doctor.check_data().status == "ok"
    assert "iris" in doctor.check_data().found
    monkeypatch.setenv("DATAFLOW_DATA", str(tmp_path / "nothing"))
    assert doctor.check_data().status == "problem"


def test_the_browser_that_is_named_wins(tmp_path):
    program = tmp_path / "my-browser"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert browser.find_browser({"DATAFLOW_BROWSER": str(program), "PATH": ""}) == str(program)
    assert browser.find_browser({"DATAFLOW_BROWSER": str(tmp_path / "gone")}) is None
