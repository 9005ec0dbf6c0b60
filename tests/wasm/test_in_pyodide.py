"""The engine in real WebAssembly: Pyodide in Node, on our wheel."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import comparison
from tests.wasm import distribution

# Most of it is one run, of half a minute of processor time; a machine may be very busy.
pytestmark = [pytest.mark.wasm, pytest.mark.timeout(1200)]
FAMILIES = comparison.sample_families()


@pytest.fixture(scope="module")
def report(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `in_pyodide.py` reports."""
    from tools import wheels

    folder = tmp_path_factory.mktemp("wasm")
    ours = wheels.for_the_engine(folder / "wheels")
    settings = {
        "pyodide": str(distribution.PYODIDE),
        "wheels": [str(path) for path in [*distribution.wheels(), *ours]],
        "mounts": {"/checkout/tests": str(checkout / "tests"), "/out": str(folder)},
        "script": str(checkout / "tests" / "wasm" / "in_pyodide.py"),
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    done = subprocess.run(
        ["node", str(checkout / "tests" / "wasm" / "pyodide.mjs"), str(folder / "settings.json")],
        capture_output=True,
        text=True,
        timeout=1000,
    )
    assert (folder / "report.json").exists(), done.stdout[-1000:] + done.stderr[-3000:]
    return json.loads((folder / "report.json").read_text())


def test_each_part_runs(report: dict[str, Any]) -> None:
    assert report["errors"] == {}
    parts = report["parts"]
    assert parts["training"] == pytest.approx(3, abs=1e-3)
    assert parts["queues"] == [7] * 10
    assert parts["data"] == 9900
    assert parts["background"] == pytest.approx(3, abs=1e-3)
    assert parts["saver"] == [7, 5]
    assert parts["local_server"] == [101, 101]
    assert parts["tables"][:3] == ["Frame", [120, 4], [2, 1, 2]]
    assert "no threads, nor sockets" in parts["tables"][3]
    assert parts["cluster_spec"] == {"ps": ["a:1"], "worker": ["b:1", "b:2"]}
    assert parts["estimator"] < 0.01
    assert sorted(n for seen in parts["cluster"] for n in seen) == list(range(1, 11))


@pytest.mark.parametrize("part", ["ray", "tensorboard", "cupy", "lab"])
def test_what_cannot_be_had_says_where_it_can(part: str, report: dict[str, Any]) -> None:
    said = report["parts"][part]
    if part == "lab":
        status, said = said
        assert status == 2
    assert "Python runs in a web page here" in said
    assert "on a computer" in said


def test_samples_agree(report: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every op sample gives in WebAssembly what it gives here; prints how many do."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # it is in paths, and not there
    monkeypatch.setenv("TMPDIR", "/tmp")  # where Pyodide has it: files' names are in results
    here = comparison.run_samples("dataflow", FAMILIES)
    differing, number = [], 0
    for family in FAMILIES:
        outcome = comparison.compare_family(family, report["samples"][family], here[family], [])
        number += len(outcome.compared)
        assert outcome.error is None, outcome.error
        differing += [f"{family} {name}: {text}" for name, text in outcome.differing.items()]
    print(f"{number - len(differing)} of {number} op samples agree")
    assert number > 900
    absent = [text for text in differing if "No module named 'sqlite3'" in text]
    assert [text.partition(":")[0] for text in absent] == ["dataset SqlDataset"]
    assert differing == absent  # Pyodide has SQLite as a package of its own
