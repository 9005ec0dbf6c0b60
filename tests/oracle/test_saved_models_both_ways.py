"""SavedModels that either engine writes, in each way that there is, run in the other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import comparison, saved_model_program

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.timeout(0),
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]


def run(what: str, engine: str, folder: Path) -> Any:
    python = sys.executable if engine == "dataflow" else comparison.ORACLE_PYTHON
    done = subprocess.run(
        [python, saved_model_program.__file__, what, engine, str(folder)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module", params=["dataflow", "tensorflow"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The files of our variables, what the writer finds in the models, and what the other does."""
    folder = tmp_path_factory.mktemp(request.param)
    other = "tensorflow" if request.param == "dataflow" else "dataflow"
    files = run("write", request.param, folder)
    if request.param == "tensorflow":
        files = {}  # 1.15 writes those of Keras in two shards
    return files, run("run", request.param, folder), run("run", other, folder)


@pytest.mark.parametrize("name", list(saved_model_program.MODELS))
def test_the_variables_are_tensorflows_files_and_are_found(name: str, written: Any) -> None:
    files, own, others = written
    expected = ["variables.data-00000-of-00001", "variables.index"]
    assert files.get(name, expected) == expected
    assert others[name] == own[name]
    assert any(value for values in own[name].values() for value in values)
