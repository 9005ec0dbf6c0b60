"""SavedModels of objects that either engine writes, loaded in the other: `tf.saved_model.save` and `load`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import comparison, object_model_program

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
        [python, object_model_program.__file__, what, engine, str(folder)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module", params=["dataflow", "tensorflow"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the writer finds in its files, and what the other does."""
    folder = tmp_path_factory.mktemp(request.param)
    other = "tensorflow" if request.param == "dataflow" else "dataflow"
    run("write", request.param, folder)
    return run("run", request.param, folder), run("run", other, folder)


@pytest.mark.parametrize(
    "what", ["predict again choose twice bias text trainable words", "keras", "sessions"]
)
def test_either_finds_what_the_writer_finds(what: str, found: Any) -> None:
    own, others = found
    for name in what.split():
        assert others[name] == own[name], name
        assert others[name]
