"""Private parts of metrics and of other modules, as tf_slim and its like use them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def values(fetches: Any, before: Any = ()) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for op in before:
            session.run(op)
        return session.run(fetches)


def test_counts_at_thresholds() -> None:
    from dataflow.python.ops import metrics_impl

    found, updates = metrics_impl._confusion_matrix_at_thresholds(
        [True, False, True], [0.9, 0.6, 0.2], [0.5, 0.95], includes=("tp", "fp")
    )
    assert {k: v.tolist() for k, v in values(found, [updates]).items()} == {
        "tp": [1.0, 0.0],
        "fp": [1.0, 0.0],
    }
    with pytest.raises(ValueError, match="Invalid key: x"):
        metrics_impl._confusion_matrix_at_thresholds([True], [0.5], [0.5], includes=("x",))


def test_precision_of_ranked_classes() -> None:
    from dataflow.python.ops import metrics_impl

    labels = np.int64([[0, 2], [1, 1]])
    scores = np.float32([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
    ranked = np.argsort(-scores)[:, :2]
    mine = metrics_impl._streaming_sparse_average_precision_at_top_k(labels, ranked)
    public = tf.metrics.average_precision_at_k(labels, scores, 2)
    a, b = values([mine[0], public[0]], [mine[1], public[1]])
    assert a == b and 0 < a < 1
    with pytest.raises(ValueError, match="last dimension"):
        metrics_impl._streaming_sparse_average_precision_at_top_k(
            labels, tf.placeholder(tf.int64, [2, None])
        )


def test_variables_and_ratios_of_metrics() -> None:
    from dataflow.python.ops import confusion_matrix, metrics_impl, weights_broadcast_ops

    v = metrics_impl.metric_variable([2], tf.float32, name="total")
    assert v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)
    shown = metrics_impl._aggregate_variable(v, ["mine"])
    assert tf.get_collection("mine") == [shown]
    ratio = metrics_impl._safe_scalar_div([1.0, 1.0], [2.0, 0.0], "ratio")
    weights = weights_broadcast_ops.broadcast_weights([[2.0]], tf.ones([2, 2]))
    labels, scores = confusion_matrix.remove_squeezable_dimensions(tf.ones([3, 1]), tf.ones([3]))
    kept = confusion_matrix.remove_squeezable_dimensions(tf.ones([3]), tf.ones([3, 1]), 1)
    assert [t.shape.as_list() for t in (labels, scores, *kept)] == [[3], [3], [3], [3, 1]]
    found = values([shown, ratio, weights])
    assert [x.tolist() for x in found] == [[0, 0], [0.5, 0], [[2, 2], [2, 2]]]


def test_shapes_and_cells_of_recurrent_networks() -> None:
    from dataflow.python.ops import math_ops, rnn_cell_impl

    size = tf.shape(tf.placeholder_with_default(np.ones(5, "f"), [None]))[0]
    assert values(rnn_cell_impl._concat(size, [4, 2])).tolist() == [5, 4, 2]
    assert rnn_cell_impl._concat(3, tf.TensorShape([4, None]), static=True) == [3, 4, None]
    with pytest.raises(ValueError, match="unknown rank"):
        rnn_cell_impl._concat(3, tf.TensorShape(None))
    x = tf.placeholder_with_default(np.zeros((2, 3, 4), "f"), None)
    assert values(rnn_cell_impl._transpose_batch_time(x)).shape == (3, 2, 4)
    assert rnn_cell_impl._transpose_batch_time(tf.ones([7])).shape == (7,)
    assert rnn_cell_impl._like_rnncell(tf.nn.rnn_cell.GRUCell(2))
    assert not rnn_cell_impl._like_rnncell(len)
    assert values(math_ops._bucketize([1.0, 5.0], boundaries=[2.0])).tolist() == [0, 1]


def test_graphs_of_inputs() -> None:
    from dataflow.python.framework import ops

    here = tf.constant(1.0)
    assert ops._get_graph_from_inputs([3, here]) is here.graph
    assert ops._get_graph_from_inputs([]) is tf.get_default_graph()
    with pytest.raises(ValueError, match="not from the passed-in graph"):
        ops._get_graph_from_inputs([here], tf.Graph())
    with tf.Graph().as_default():
        there = tf.constant(0)
    with pytest.raises(ValueError, match="same graph"):
        ops._get_graph_from_inputs([here, there])


def test_what_functions_take_and_are_called() -> None:
    from dataflow.python.util import function_utils

    def f(a: Any, b: Any, *rest: Any, c: Any = 1, **more: Any) -> None: ...

    class Called:
        def __call__(self, x: Any) -> None: ...

    assert function_utils.fn_args(f) == ("a", "b", "c")
    assert function_utils.fn_args(functools.partial(f, 1, c=2)) == ("b",)
    assert function_utils.fn_args(Called()) == ("x",)
    assert function_utils.has_kwargs(f) and not function_utils.has_kwargs(Called())
    assert function_utils.get_func_name(functools.partial(f)) == "f"
    assert function_utils.get_func_code(f) is f.__code__
    with pytest.raises(TypeError, match="function-like"):
        function_utils.has_kwargs(1)


def test_files_by_functions(tmp_path: Path) -> None:
    from dataflow.python.lib.io import file_io

    path = str(tmp_path / "a.txt")
    file_io.write_string_to_file(path, "text")
    assert file_io.read_file_to_string(path) == "text"
    assert file_io.read_file_to_string(path, binary_mode=True) == b"text"
    assert file_io.get_matching_files([str(tmp_path / "*.txt")]) == [path]
    assert list(file_io.walk(str(tmp_path / "none"))) == []
    with pytest.raises(tf.errors.NotFoundError):
        file_io.read_file_to_string(str(tmp_path / "none"))


def test_older_names_of_layers_and_hooks() -> None:
    from dataflow.python.layers import convolutional
    from dataflow.python.training import device_setter, evaluation

    assert convolutional.Convolution2D is tf.layers.Conv2D
    assert convolutional.Deconvolution2D is tf.layers.Conv2DTranspose
    assert callable(evaluation._evaluate_once) and "VariableV2" in device_setter.STANDARD_PS_OPS
    from dataflow.python.framework import dtypes

    assert dtypes.float32_ref == tf.Variable(1.0).dtype


def test_variables_that_a_tape_saw() -> None:
    seen, other = tf.Variable([1.0], name="seen"), tf.Variable([1.0], name="other")
    with tf.GradientTape() as tape:
        _ = seen * 2.0
    _ = other * 2.0
    assert tape.watched_variables() == (seen,)


def test_op_types_and_private_attributes_of_graphs() -> None:
    from dataflow.python.framework import op_def_registry

    op_def_registry.sync()
    assert "MatMul" in op_def_registry.get_registered_ops()
    assert op_def_registry.get("NoSuchOp") is None
    x = tf.constant(1.0, name="x")
    y = x + 1.0
    assert (y.op._inputs, y.op._outputs, y.op._original_op) == (y.op.inputs, [y], None)
    assert x.graph._nodes_by_name["x"] is x.op and "x" in x.graph._names_in_use


def test_control_inputs_by_the_graph_editor() -> None:
    editor = tf.contrib.graph_editor
    v = tf.Variable(0.0)
    step, result = tf.assign(v, 3.0), tf.identity(v._ref())
    editor.add_control_inputs(result.op, [step.op])
    with pytest.raises(ValueError, match="already a control_input"):
        editor.add_control_inputs(result.op, step.op)
    assert values(result) == 3.0
    editor.remove_control_inputs(result.op, step.op)
    assert values(result) == 0.0
    with pytest.raises(ValueError, match="is not a control_input"):
        editor.remove_control_inputs(result.op, step.op)


def test_a_dimension_of_1_is_dropped_where_the_run_finds_it() -> None:
    from dataflow.python.ops.confusion_matrix import remove_squeezable_dimensions

    labels, predictions = tf.placeholder(tf.int64), tf.placeholder(tf.int64)
    both = remove_squeezable_dimensions(labels, predictions)
    _, update = tf.metrics.accuracy(labels, predictions)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for fed in ([[1], [2]], [1, 2]), ([1, 2], [[1], [2]]), ([1, 2], [1, 2]):
            feeds = dict(zip((labels, predictions), fed, strict=True))
            assert [x.tolist() for x in session.run(both, feeds)] == [[1, 2], [1, 2]]
            assert session.run(update, feeds) == 1.0
