"""Graphs with functions, and SavedModels of TensorFlow 2, give here what they give there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.oracle import comparison

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.timeout(0),
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]
GRAPHS = ["conditional", "loop", "cases", "function", "recurrent", "mapped"]
SAVED_MODELS = ["network", "text", "halving"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("functions")
    program = Path(__file__).with_name("function_programs.py")
    done = subprocess.run(
        [comparison.ORACLE_PYTHON, program, folder],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, json.loads((folder / "values.json").read_text())


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_with_functions(written: tuple[Path, Any], name: str) -> None:
    folder, values = written
    x, expected = values["graphs"][name]
    graph_def = tf.GraphDef.FromString((folder / f"{name}.pb").read_bytes())
    assert graph_def.library.function
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        if "init" in {op.name for op in graph.get_operations()}:
            session.run("init")
        results = session.run([f"result_{i}:0" for i in range(len(expected))], {"x:0": x})
    for got, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", SAVED_MODELS)
def test_saved_models(written: tuple[Path, Any], name: str) -> None:
    folder, values = written
    x, expected = values["saved_models"][name]
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], folder / name)
        signature = meta.signature_def["serving_default"]
        (given,), (result,) = signature.inputs.values(), signature.outputs.values()
        got = session.run(result.name, {given.name: x})
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
