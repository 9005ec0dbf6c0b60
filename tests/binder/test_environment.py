"""The environment that `binder/` describes, built in a virtual environment: two lessons in 2 GB.

`make binder` builds `.venv-binder` from `binder/requirements.txt`, as repo2docker does, and runs these
tests. What repo2docker adds (its base image, Debian's packages of `apt.txt`) is not built here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

pytestmark = pytest.mark.binder

LIMIT_BYTES = 2_000_000_000
LESSONS = ["02_sessions.ipynb", "17_cluster.ipynb"]
HERE = Path(__file__).parent


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def outside(python: Path, folder: Path) -> dict[str, str]:
    """The environment variables of a session on Binder: nothing of this checkout's own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "JUPYTER", "RAY_", "DATAFLOW_", "VIRTUAL_ENV", "PYTEST_"))
    }
    (folder / "runtime").mkdir()
    return kept | {
        "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]]),
        "HOME": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "MPLBACKEND": "agg",
    }


@pytest.fixture(scope="module")
def python(checkout: Path) -> Path:
    named = os.environ.get("DATAFLOW_BINDER_PYTHON")
    return Path(named) if named else checkout / ".venv-binder" / "bin" / "python"


@pytest.fixture(scope="module")
def session(python: Path, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Both lessons run under the limit: what `run_within` told, and the folder they ran in."""
    folder = tmp_path_factory.mktemp("binder")
    shutil.copytree(checkout / "lessons", folder / "lessons", ignore=shutil.ignore_patterns(".*"))
    told = folder / "told.json"
    command = [
        *(sys.executable, HERE / "run_within.py", str(LIMIT_BYTES), told),
        *("bash", checkout / "binder" / "start"),
        *(python, HERE / "run_lessons.py", folder / "lessons", *LESSONS),
    ]
    done = subprocess.run(
        command, cwd=folder, env=outside(python, folder), capture_output=True, text=True,
        timeout=240,
    )  # fmt: skip
    assert told.exists(), done.stderr[-3000:]
    return json.loads(told.read_text()), folder, done


def test_it_is_the_python_of_runtime_txt(python: Path, checkout: Path) -> None:
    wanted = (checkout / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    found = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == wanted, f"make binder PYTHON=python{wanted}"


def test_post_build_ends_well(python: Path, checkout: Path, tmp_path: Path) -> None:
    environment = outside(python, tmp_path) | {"NB_PYTHON_PREFIX": str(tmp_path)}
    command = ["bash", checkout / "binder" / "postBuild"]
    subprocess.run(command, cwd=checkout, env=environment, check=True, timeout=120)
    assert list((tmp_path / "etc" / "jupyter" / "labconfig").glob("*.json"))


def test_the_lessons_run_within_two_gigabytes(session: Any) -> None:
    told, folder, done = session
    table = "\n".join(f"{n / 1e6:7.0f} MB  {name}" for name, n in told["peak_processes"].items())
    print(f"{done.stdout}{told['peak_bytes'] / 1e6:.0f} MB at the peak:\n{table}")
    assert told["returncode"] is not None, f"over {LIMIT_BYTES / 1e9:.0f} GB:\n{table}"
    assert told["returncode"] == 0, done.stderr[-3000:]
    for name in LESSONS:
        cells = nbformat.read(folder / "lessons" / name, as_version=4).cells
        code = [c for c in cells if c.cell_type == "code" and c.source.strip()]
        assert code and all(c.execution_count for c in code)


def test_the_cluster_of_lesson_17_was_measured(session: Any) -> None:
    """One parameter server and two workers were there at the peak, and Ray's own processes."""
    names = [name.rpartition(" ")[0] for name in session[0]["peak_processes"]]
    assert names.count("ray::RayTask") == 3
    assert {"raylet", "gcs_server"} <= set(names)


def test_nothing_runs_on_when_the_kernels_have_ended(session: Any) -> None:
    assert session[0]["left_over"] == []


def test_who_takes_more_is_ended(tmp_path: Path) -> None:
    """The limit itself: a process that has left its parent is counted and killed too."""
    grandchild = "import time; held = b'x' * 300_000_000; time.sleep(120)"
    program = (
        "import subprocess, sys, time; "
        f"subprocess.Popen([sys.executable, '-c', {grandchild!r}], start_new_session=True); "
        "time.sleep(120)"
    )
    command = [sys.executable, HERE / "run_within.py", "200000000", tmp_path / "told.json"]
    done = subprocess.run([*command, sys.executable, "-c", program], timeout=60)
    told = json.loads((tmp_path / "told.json").read_text())
    assert done.returncode == 1
    assert told["returncode"] is None
    assert told["peak_bytes"] > 200_000_000
    assert len(told["peak_processes"]) == 2
    assert not [pid for pid in (int(n.split()[-1]) for n in told["peak_processes"]) if alive(pid)]
