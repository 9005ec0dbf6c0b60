"""HDF5 files of Keras models written here are read by TensorFlow, with the optimizer's state."""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pytest

import dataflow as tf
from tests.keras import file_models

pytestmark = pytest.mark.oracle


def test_tensorflow_reads_what_is_written_here(tmp_path):
    python = os.environ.get("DATAFLOW_ORACLE_PYTHON")
    if not python:
        pytest.skip("DATAFLOW_ORACLE_PYTHON does not name a Python with TensorFlow (make oracle)")
    expected = {}
    for name in file_models.NAMES:
        tf.keras.backend.clear_session()
        model, inputs, targets = file_models.build(tf.keras, name)
        model.save(tmp_path / f"{name}.h5")
        expected[name] = file_models.answers(model, inputs, targets)
    tf.keras.backend.clear_session()
    done = subprocess.run(
        [python, file_models.__file__, "read", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    for name in file_models.NAMES:
        for when in ("before", "after"):
            for a, b in zip(found[name][when], expected[name][when], strict=True):
                np.testing.assert_allclose(
                    a, b, rtol=2e-4, atol=2e-5, err_msg=f"{name}, {when} two more steps"
                )
