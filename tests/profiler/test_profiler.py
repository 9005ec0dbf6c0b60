"""`tf.profiler`: parameters, operations, times; the counts are those of TensorFlow 1.15's profiler."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

Builder = tf.profiler.ProfileOptionBuilder


def quiet(options: dict[str, Any]) -> Any:
    return Builder(options).with_empty_output()


pytestmark = pytest.mark.usefixtures("graph")


def network() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [2, 8])
    w = tf.get_variable("w", [8, 16])
    images = tf.zeros([2, 10, 10, 3])
    k = tf.get_variable("k", [3, 3, 3, 4])
    seen = tf.nn.bias_add(tf.nn.conv2d(images, k, [1, 2, 2, 1], "SAME"), tf.zeros([4]))
    pooled = tf.nn.max_pool(seen, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return tf.matmul(x, w), pooled


def test_operations_by_name() -> None:
    network()
    root = tf.profiler.profile(options=quiet(Builder.float_operation()).build())
    found = {node.name: node.float_ops for node in root.children}
    assert found == {
        "Conv2D": 2 * (2 * 5 * 5 * 4) * 27,
        "MatMul": 2 * 2 * 16 * 8,
        "w/Initializer/random_uniform": 128,
        "k/Initializer/random_uniform": 108,
        "BiasAdd": 200,
        "MaxPool": 4 * 32,
    }
    assert [c.name for c in root.children][:2] == ["Conv2D", "MatMul"]  # the largest first
    weights = next(c for c in root.children if c.name.startswith("w/"))
    assert {c.name: c.float_ops for c in weights.children} == {
        "w/Initializer/random_uniform/sub": 1,
        "w/Initializer/random_uniform/mul": 128,
    }
    assert weights.total_float_ops == 257
    assert root.total_float_ops == 10800 + 512 + 257 + 217 + 200 + 128


def test_operations_of_gradients_by_type() -> None:
    product, pooled = network()
    tf.gradients(tf.reduce_sum(pooled) + tf.reduce_sum(product), tf.trainable_variables())
    node = tf.profiler.profile(cmd="op", options=quiet(Builder.float_operation()).build())
    total, found = node.total_float_ops, {}
    while node.children:
        (node,) = node.children
        found[node.name] = (node.float_ops, node.run_count)
    assert found["Conv2DBackpropFilter"] == (10800, 1)
    assert found["MaxPoolGrad"] == (128 + 32, 1)
    assert found["MatMul"] == (3 * 512, 3)
    assert total == sum(flops for flops, _ in found.values())


def test_parameters_are_those_of_trainable_variables() -> None:
    network()
    tf.get_variable("step", [5], trainable=False)
    root = tf.profiler.profile(
        options=quiet(Builder.trainable_variables_parameter()).order_by("params").build()
    )
    assert root.total_parameters == 128 + 108
    assert [(c.name, c.parameters) for c in root.children] == [("w", 128), ("k", 108)]
    every = quiet(Builder.trainable_variables_parameter()).with_accounted_types(["VariableV2"])
    assert tf.profiler.profile(options=every.build()).total_parameters == 128 + 108 + 5


def test_names_that_are_hidden_trimmed_and_started_from() -> None:
    with tf.variable_scope("a"):
        tf.get_variable("v", [2])
        with tf.variable_scope("deep"):
            tf.get_variable("v", [3])
    tf.get_variable("v", [4])

    def count(**names: list[str]) -> int:
        options = quiet(Builder.trainable_variables_parameter()).with_node_names(**names)
        return int(tf.profiler.profile(options=options.build()).total_parameters)

    assert count() == 9
    assert count(hide_name_regexes=["a/v"]) == 7
    assert count(trim_name_regexes=["a"]) == 4
    assert count(start_name_regexes=["a"]) == 5
    assert count(show_name_regexes=["a/.*"]) == 5


def test_a_batch_of_unknown_size_counts_nothing() -> None:
    tf.matmul(tf.placeholder(tf.float32, [None, 8]), tf.ones([8, 16]))
    assert (
        tf.profiler.profile(options=quiet(Builder.float_operation()).build()).total_float_ops == 0
    )


def test_times_and_bytes_of_the_steps_that_are_asked_for(graph: Any) -> None:
    y = tf.square(tf.placeholder_with_default(tf.zeros([100]), [100]), name="y")
    profiler = tf.profiler.Profiler(graph)
    with tf.Session() as session:
        for step in (1, 2):
            metadata = tf.RunMetadata()
            session.run(y, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
            profiler.add_step(step, metadata)
    options = quiet(Builder.time_and_memory())
    root = profiler.profile_operations(options.with_step(2).build())
    squares = root
    while squares.name != "Square":
        (squares,) = squares.children
    assert squares.requested_bytes == 400
    assert squares.exec_micros >= 1
    assert profiler.profile_operations(options.with_step(7).build()).total_exec_micros == 0
    below = profiler.profile_graph(options.with_step(1).build()).children
    assert below[0].name == "y"


def test_lines_of_the_program() -> None:
    tf.get_variable("v", [3])
    tf.get_variable("w", [4])
    root = tf.profiler.profile(
        cmd="code", options=quiet(Builder.trainable_variables_parameter()).build()
    )
    assert sorted(c.parameters for c in root.children) == [3, 4]
    assert all("test_profiler.py" in c.name for c in root.children)


def test_the_report_is_printed_or_written(graph: Any, capsys: Any, tmp_path: Path) -> None:
    network()
    tf.profiler.profile(graph, options=Builder.float_operation())
    printed = capsys.readouterr().out
    assert "_TFProfRoot (--/12.11k flops)" in printed
    assert "\n  Conv2D (10.80k/10.80k flops)\n" in printed
    path = tmp_path / "report.txt"
    tf.profiler.profile(options=Builder().select(["params"]).with_file_output(str(path)).build())
    assert "  w (8x16, 128/128 params)" in path.read_text()
    assert capsys.readouterr().out == ""


def test_a_timeline_is_written_for_each_step(tmp_path: Path, graph: Any) -> None:
    y = tf.matmul(tf.ones([4, 4]), tf.Variable(tf.ones([4, 4]), name="w"), name="product")
    options = Builder(Builder.time_and_memory()).with_timeline_output(str(tmp_path / "trace"))
    profiler = tf.profiler.Profiler(graph)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in (3, 7):
            metadata = tf.RunMetadata()
            sess.run(y, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
            profiler.add_step(step, metadata)
    profiler.profile_name_scope(options.with_step(7).build())
    assert [path.name for path in tmp_path.iterdir()] == ["trace_7"]
    profiler.profile_graph(options.with_step(-1).build())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace_3", "trace_7"]
    events = json.loads((tmp_path / "trace_3").read_text())["traceEvents"]
    assert "product" in {event.get("args", {}).get("name") for event in events}


def test_the_builder_sets_every_option() -> None:
    options = Builder({}).with_max_depth(3).with_min_memory(1, 2, 3, 4)
    options.with_min_execution_time(5, 6, 7).with_min_parameters(8).with_min_occurrence(9)
    options.with_min_float_operations(10).with_accounted_types(["t"]).with_stdout_output()
    options.with_node_names(["a"], ["b"], ["c"], ["d"])
    built = options.build()
    names = "max_depth bytes peak_bytes residual_bytes output_bytes micros accelerator_micros cpu_micros"
    keys = [f"min_{n}" if n != "max_depth" else n for n in names.split()]
    keys += ["min_params", "min_occurrence", "min_float_ops"]
    assert [built[key] for key in keys] == [3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    names = "start_name_regexes show_name_regexes hide_name_regexes trim_name_regexes"
    assert [built[name] for name in names.split()] == [["a"], ["b"], ["c"], ["d"]]
    assert built["account_type_regexes"] == ["t"]
    assert built["output"] == "stdout"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cmd": "tree"}, "views"),
        ({"options": {"selct": []}}, "selct"),
        ({"options": {"select": ["speed"]}}, "speed"),
        ({"options": {"output": "timeline:outfile=x"}}, "needs the tf.RunMetadata"),
        ({"options": {"output": "timeline:outfile=x"}, "cmd": "op"}, "'graph' and 'scope'"),
        ({"options": {"output": "pprof:outfile=x"}}, "pprof"),
        ({"op_log": object()}, "op_log"),
    ],
)
def test_what_it_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.profiler.profile(**arguments)


def test_old_paths() -> None:
    model_analyzer = importlib.import_module("dataflow.python.profiler.model_analyzer")
    option_builder = importlib.import_module("dataflow.python.profiler.option_builder")
    assert model_analyzer.profile is tf.profiler.profile
    assert option_builder.ProfileOptionBuilder is Builder


@pytest.mark.parametrize(
    ("make", "flops"),
    [
        (lambda x: tf.nn.softmax(x), 60),
        (lambda x: tf.nn.l2_loss(x), 35),
        (lambda x: tf.reduce_mean(x, 0), 12),
        (lambda x: tf.reduce_sum(x, 0), 12 - 4),
        (lambda x: tf.argmax(x, 1), 12 - 3),
        (lambda x: tf.add_n([x, x, x]), 24),
        (lambda x: tf.squared_difference(x, x), 24),
        (lambda x: tf.matmul(x, x, transpose_a=True), 2 * 16 * 3),
        (lambda x: tf.rsqrt(x), 24),
        (lambda x: tf.nn.relu(x), 0),
    ],
)
def test_rules_of_counting(make: Any, flops: int) -> None:
    make(tf.constant(np.ones([3, 4], np.float32)))
    root = tf.profiler.profile(options=quiet(Builder.float_operation()).build())
    assert root.total_float_ops == flops
