"""Modules that course code reaches through longer paths."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dataflow as tf


def test_protocol_buffers_under_their_old_paths() -> None:
    from dataflow.core.framework import graph_pb2, summary_pb2
    from dataflow.core.protobuf import meta_graph_pb2

    assert graph_pb2.GraphDef is tf.GraphDef
    assert summary_pb2.Summary is tf.Summary
    assert meta_graph_pb2.MetaGraphDef is tf.MetaGraphDef
    assert tf.core.framework.tensor_pb2.DESCRIPTOR is not None
    with tf.Graph().as_default():
        tf.constant(1, name="one")
        text = tf.get_default_graph().as_graph_def().SerializeToString()
    assert graph_pb2.GraphDef.FromString(text).node[0].name == "one"


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"tf\.core\.framework\.nothing_pb2"):
        tf.core.framework.nothing_pb2
    with pytest.raises(AttributeError, match=r"tf\.core\.nothing"):
        tf.core.nothing
    with pytest.raises(AttributeError, match=r"tf\.contrib\.nothing"):
        tf.contrib.nothing


def test_the_question_of_each_import_loads_no_advice() -> None:
    program = (
        "import sys, dataflow.dtypes; del sys.modules['dataflow.missing']\n"
        "print(hasattr(dataflow.dtypes, '__path__'), 'dataflow.missing' in sys.modules)\n"
        "print(hasattr(dataflow.dtypes, 'flaot32'), 'dataflow.missing' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.splitlines() == ["False False", "False True"]


def test_longer_paths_of_course_code() -> None:
    from dataflow.contrib.keras.api.keras import layers
    from dataflow.contrib.keras.python import keras
    from dataflow.contrib.keras.python.keras.layers import Dense

    assert Dense is tf.keras.layers.Dense
    assert keras.models is tf.contrib.keras.python.keras.models is tf.keras.models
    assert layers is tf.contrib.keras.api.keras.layers is tf.keras.layers
    assert tf.contrib.keras.applications is tf.keras.applications
    runner = tf.contrib.learn.python.learn.learn_runner
    assert runner is tf.contrib.learn.learn_runner
    assert callable(tf.examples.tutorials.mnist.input_data.read_data_sets)
    nets = tf.contrib.slim.python.slim.nets
    assert nets.inception_v3 is tf.contrib.slim.nets.inception_v3


@pytest.mark.parametrize(
    ("path", "instead"),
    [
        ("contrib.learn.TensorFlowEstimator", "DNNClassifier"),
        ("contrib.learn.train", "fit"),
        ("contrib.session_bundle", "simple_save"),
        ("profiler.advise", "run_meta"),
        ("summary.create_file_writer", "FileWriter"),
        ("tpu.rewrite", "tf.device"),
    ],
)
def test_what_is_refused_says_what_to_write_instead(path: str, instead: str) -> None:
    *outer, last = path.split(".")
    module = tf
    for part in outer:
        module = getattr(module, part)
    with pytest.raises(AttributeError, match=instead):
        getattr(module, last)


def test_contrib_data_is_tf_data() -> None:
    assert tf.contrib.data.TextLineDataset is tf.data.TextLineDataset
    assert tf.contrib.data.Dataset is tf.data.Dataset


def test_what_is_a_tensor() -> None:
    with tf.Graph().as_default():
        x = tf.constant([1.0])
        v = tf.Variable(1.0)
        sparse = tf.SparseTensor([[0, 0]], [1.0], [1, 1])
        assert all(tf.is_tensor(t) for t in (x, v, sparse, tf.IndexedSlices(x, [0])))
        parts = tf.get_variable("parts", [4], partitioner=tf.fixed_size_partitioner(2))
        for no in (1.0, [x], "x", x.op, None, tf.ragged.constant([[1], [2, 3]]), parts):
            assert not tf.is_tensor(no) and not tf.contrib.framework.is_tensor(no)


def test_graphs_are_built_unless_a_program_says_otherwise() -> None:
    assert tf.executing_eagerly() is False
    assert tf.compat.v1.executing_eagerly() is False
    with tf.Graph().as_default(), pytest.raises(ValueError, match="at program startup"):
        tf.enable_eager_execution()
