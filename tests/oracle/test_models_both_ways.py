"""A meta graph that one engine wrote trains in the other, and gives the same losses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import comparison, model_programs

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.timeout(0),
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]
NAMES = [program.__name__ for program in model_programs.PROGRAMS]


def run(what: str, engine: str, folder: Path) -> Any:
    python = sys.executable if engine == "dataflow" else comparison.ORACLE_PYTHON
    done = subprocess.run(
        [python, model_programs.__file__, what, engine, str(folder)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module", params=["dataflow", "tensorflow"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the writer of the meta graphs gave, and what the other engine did with them."""
    folder = tmp_path_factory.mktemp(request.param)
    other = "tensorflow" if request.param == "dataflow" else "dataflow"
    return run("save", request.param, folder), run("load", other, folder)


@pytest.mark.parametrize("name", NAMES)
def test_training_gives_the_same_losses(name: str, trained: Any) -> None:
    expected, got = trained[0][name], trained[1][name]
    assert isinstance(expected, list), expected
    assert isinstance(got, list), got
    assert got == pytest.approx(expected, rel=2e-3, abs=1e-4)
    assert expected[0] != expected[-1]
