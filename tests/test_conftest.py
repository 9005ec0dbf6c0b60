"""The rule that CI skips nothing for a missing part, checked in pytest runs of their own."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = {
    "test_browser.py": "import pytest\n@pytest.mark.browser\ndef test_x():\n    pass\n",
    "test_missing_module.py": "import pytest\npytest.importorskip('no_such_module_at_all')\n",
    "test_in_body.py": "import pytest\ndef test_x():\n    pytest.skip('Graphviz is missing')\n",
    "test_gpu.py": "import pytest\n@pytest.mark.gpu\ndef test_x():\n    pytest.skip('no GPU')\n",
    "test_simd.py": "import pytest\n@pytest.mark.simd\ndef test_x():\n    pytest.skip('no AVX')\n",
    "test_oracle.py": "import pytest\n@pytest.mark.oracle\ndef test_x():\n    pytest.skip('TF')\n",
    "test_data.py": "def test_x(data_folder):\n    assert data_folder\n",
    "test_data_of_its_own.py": (
        "import pytest\ndef test_x():\n    pytest.skip('set DATAFLOW_DATA to run this')\n"
    ),
    "test_who_sees_a_gpu.py": (
        "import os\nimport pytest\nfrom dataflow.kernels import xp\n"
        "def test_x():\n"
        "    assert xp.gpus() == () and os.environ['CUDA_VISIBLE_DEVICES'] == ''\n"
        "@pytest.mark.gpu\ndef test_y():\n"
        "    assert len(xp.gpus()) == 1 and 'CUDA_VISIBLE_DEVICES' not in os.environ\n"
    ),
    "test_xfail.py": (
        "import pytest\n@pytest.mark.xfail(reason='known')\ndef test_x():\n    assert 0\n"
    ),
}


def run_pytest(tmp_path: Path, case: str, **variables: str) -> dict[str, int]:
    """Run one case under this project's conftest; returns the counts of its last line."""
    tests = tmp_path / "tests"
    tests.mkdir(exist_ok=True)
    root = Path(__file__).resolve().parents[1]
    (tests / "conftest.py").write_text((root / "tests" / "conftest.py").read_text())
    (tests / case).write_text(CASES[case])
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    gpu\n    simd\n    oracle\n    browser\n    cluster\n"
    )
    environment = {
        k: v
        for k, v in os.environ.items()
        if k not in ("CI", "DATAFLOW_DATA", "CUDA_VISIBLE_DEVICES")
    }
    environment = {k: v for k, v in environment.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", "tests"]
    result = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"} | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    last = result.stdout.strip().splitlines()[-1]
    words = last.replace(",", "").strip("= ").split()
    counts = {
        word.rstrip("s"): int(number)
        for number, word in itertools.pairwise(words)
        if number.isdigit()
    }
    assert counts, result.stdout + result.stderr
    return counts


@pytest.mark.parametrize(
    ("case", "counts"),
    [
        ("test_missing_module.py", {"error": 1}),
        ("test_in_body.py", {"failed": 1}),
        ("test_gpu.py", {"skipped": 1}),
        ("test_simd.py", {"skipped": 1}),
        ("test_oracle.py", {"skipped": 1}),
        ("test_data.py", {"skipped": 1}),
        ("test_data_of_its_own.py", {"skipped": 1}),
        ("test_xfail.py", {"xfailed": 1}),
    ],
)
def test_skips_in_ci(tmp_path, case, counts):
    assert run_pytest(tmp_path, case, CI="true").items() >= counts.items()


@pytest.mark.parametrize("case", ["test_missing_module.py", "test_in_body.py", "test_data.py"])
def test_skips_elsewhere(tmp_path, case):
    assert run_pytest(tmp_path, case)["skipped"] == 1


def test_only_tests_marked_gpu_see_a_real_one(tmp_path):
    (tmp_path / "cupy.py").write_text(
        "from types import SimpleNamespace\n"
        "properties = {'name': b'H100', 'totalGlobalMem': 80 << 30}\n"
        "cuda = SimpleNamespace(runtime=SimpleNamespace(\n"
        "    getDeviceCount=lambda: 1, getDeviceProperties=lambda i: properties),\n"
        "    nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)))\n"
    )
    assert run_pytest(tmp_path, "test_who_sees_a_gpu.py", CI="true") == {"passed": 2}


def test_data_may_not_be_skipped_where_it_is(tmp_path):
    (tmp_path / "data").mkdir()
    variables = {"CI": "true", "DATAFLOW_DATA": str(tmp_path / "data")}
    counts = run_pytest(tmp_path, "test_data_of_its_own.py", **variables)
    assert counts["failed"] == 1


def test_a_browser_test_without_a_browser_says_how_to_get_one(tmp_path):
    no_browser = {"DATAFLOW_BROWSER": str(tmp_path / "nothing")}
    (tmp_path / "laptop").mkdir()
    (tmp_path / "ci").mkdir()
    assert run_pytest(tmp_path / "laptop", "test_browser.py", **no_browser)["skipped"] == 1
    assert run_pytest(tmp_path / "ci", "test_browser.py", CI="true", **no_browser)["error"] == 1


def test_tests_of_a_group_run_on_one_worker(tmp_path: Path) -> None:
    """pytest 9.2 with pytest-xdist 3.8 forgot the groups: two browsers, or two Rays, ran at once."""
    (tmp_path / "test_group.py").write_text(
        "import os\nimport pytest\n\n"
        "@pytest.mark.xdist_group('one')\n"
        "@pytest.mark.parametrize('i', range(8))\n"
        "def test(i):\n"
        "    with open('workers.txt', 'a') as file:\n"
        "        file.write(os.environ['PYTEST_XDIST_WORKER'] + chr(10))\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    workers = (tmp_path / "workers.txt").read_text().split()
    assert len(workers) == 8 and len(set(workers)) == 1, workers
