"""What estimators of other libraries (AdaNet) do: scaffolds of their own, pictures and arrays among the metrics."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.estimator.input_results import parse_input_fn_result
from dataflow.estimator.result_summaries import result_summary

E = tf.estimator


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    x = tf.cast(features, tf.float32)
    loss = tf.reduce_mean(
        tf.square(x * tf.get_variable("w", [], initializer=tf.zeros_initializer()))
    )
    text = tf.constant(
        tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=2.0)]).SerializeToString()
    )
    metrics = {"part": (text, tf.no_op()), "row": (tf.constant([1.0, 2.0]), tf.no_op())}
    counted = tf.get_local_variable("counted", [], initializer=tf.zeros_initializer())
    start = tf.group(counted.assign(7.0), tf.train.Scaffold.default_local_init_op())
    metrics["counted"] = (counted, tf.no_op())
    return E.EstimatorSpec(
        mode,
        loss=loss,
        train_op=tf.train.get_global_step().assign_add(1),
        eval_metric_ops=metrics,
        scaffold=tf.train.Scaffold(local_init_op=start),
    )


def input_fn() -> Any:
    return tf.data.Dataset.from_tensor_slices(np.arange(4)).batch(2)


class Own(E.Estimator):
    steps: list[Any] = []

    def _create_and_assert_global_step(self, graph: tf.Graph) -> Any:
        step = super()._create_and_assert_global_step(graph)
        self.steps.append(step.op.name)
        return step


def test_the_metrics_start_where_a_scaffold_has_its_own_local_init_op(tmp_path):
    estimator = Own(model_fn, str(tmp_path))
    estimator.train(input_fn, steps=2)
    assert Own.steps == ["global_step"]
    results = estimator.evaluate(input_fn)
    assert results["counted"] == 7.0 and results["loss"] == 0.0
    folder = estimator.eval_dir()
    values = {
        value.tag: value
        for name in os.listdir(folder)
        for event in tf.train.summary_iterator(os.path.join(folder, name))
        for value in event.summary.value
    }
    assert values["part/0"].simple_value == 2.0 and "part" not in values
    assert tf.make_ndarray(values["row"].tensor).tolist() == [1.0, 2.0]


def test_other_bytes_among_the_results_are_left_out():
    assert result_summary("text", b"\xff\xff no summary") is None
    assert result_summary("n", np.int64(3)).value[0].simple_value == 3.0


def test_what_an_input_function_returned_is_parsed():
    with tf.Graph().as_default():
        features, labels, hooks = parse_input_fn_result(input_fn())
        assert labels is None
        with tf.train.MonitoredSession(hooks=hooks) as session:
            assert session.run(features).tolist() == [0, 1]
        assert parse_input_fn_result((1, 2)) == (1, 2, [])
        with pytest.raises(ValueError, match="it returned 3 things"):
            parse_input_fn_result((1, 2, 3))
