"""Public attributes of the classes that programs use: those of TensorFlow are here, or named below."""

from __future__ import annotations

import json
import operator
import subprocess

import pytest

import dataflow as tf
from tests.oracle import comparison

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]

#: class -> the attributes that TensorFlow 2.15's class has and ours does not; most came with TensorFlow 2, and a
#: graph's `operations` and `seed` are attributes of the object here.
ABSENT = {
    "Session": "",
    "InteractiveSession": "",
    "Graph": "Dismantle building_function get new_operations num_operations op_def_for_type "
    "operations seed",
    "Operation": "experimental_set_type from_node_def",
    "Tensor": "OVERLOADABLE_OPERATORS ndim",
    "Variable": "batch_scatter_update",
    "GraphKeys": "TRAINABLE_RESOURCE_VARIABLES",
    "data.Dataset": "as_numpy_iterator bucket_by_sequence_length cardinality choose_from_datasets "
    "counter get_single_element group_by_window load ragged_batch random rebatch "
    "rejection_resample sample_from_datasets save snapshot sparse_batch",
    "data.Iterator": "get_next_as_optional",
    "train.Saver": "",
    "train.Coordinator": "",
    "train.Optimizer": "",
    "train.AdamOptimizer": "",
    "train.QueueRunner": "",
    "train.Supervisor": "",
    "train.Scaffold": "",
    "train.SessionRunHook": "",
    "train.MonitoredSession": "",
    "train.ClusterSpec": "",
    "train.Server": "",
    "train.ExponentialMovingAverage": "",
    "train.SyncReplicasOptimizer": "",
    "estimator.Estimator": "",
    "estimator.EstimatorSpec": "",
    "summary.FileWriter": "",
    "keras.callbacks.Callback": "",
    "FIFOQueue": "",
    "RandomShuffleQueue": "",
    "TFRecordReader": "restore_state serialize_state",
    "python_io.TFRecordWriter": "",
    "gfile.GFile": "next",
    "distributions.Normal": "",
}

PROGRAM = """
import json, operator, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
print(json.dumps({n: dir(operator.attrgetter(n)(tf)) for n in json.loads(sys.argv[1])}))
"""


def test_classes_have_tensorflows_attributes() -> None:
    done = subprocess.run(
        [comparison.ORACLE_PYTHON, "-c", PROGRAM, json.dumps(list(ABSENT))],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    theirs = json.loads(done.stdout.splitlines()[-1])
    missing = {}
    for name in ABSENT:
        ours = set(dir(operator.attrgetter(name)(tf)))
        missing[name] = sorted(a for a in theirs[name] if not a.startswith("_") and a not in ours)
    assert missing == {name: sorted(absent.split()) for name, absent in ABSENT.items()}
