"""Keras within a strategy's scope: what trains, and what is refused as it would train something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.eager import context

CPUS = ["/cpu:0", "/cpu:1"]


@pytest.fixture(autouse=True)
def session() -> Any:
    tf.reset_default_graph()
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def test_the_mean_of_a_loss_object_is_refused_outside_of_fit() -> None:
    y = np.asarray([1.0, 0.0], np.float32)
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        for reduction in ("auto", "sum_over_batch_size"):
            with pytest.raises(ValueError, match=r"Please use `tf.keras.losses.Reduction.SUM`"):
                tf.keras.losses.MeanSquaredError(reduction)(y, y)
        total = tf.keras.losses.MeanSquaredError("sum")([[1.0, 3.0]], [[0.0, 0.0]])
        assert float(tf.Session().run(total)) == 5
    tf.keras.losses.MeanSquaredError()(y, y)


def test_a_compiled_loss_object_trains_in_a_scope() -> None:
    with tf.distribute.MirroredStrategy(CPUS).scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), use_bias=False)])
        model.compile(tf.keras.optimizers.SGD(0.1), tf.keras.losses.MeanSquaredError())
    model.set_weights([np.ones((1, 1), np.float32)])
    x = np.asarray([[1.0], [2.0]], np.float32)
    history = model.fit(x, 0 * x, batch_size=2, epochs=1, verbose=0).history
    np.testing.assert_allclose(history["loss"], [2.5])
    np.testing.assert_allclose(model.get_weights()[0], [[0.5]])  # 1 - 0.1 * mean(2 * x * x)


def test_weights_of_another_scope_are_refused() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    with tf.distribute.MirroredStrategy(CPUS).scope():
        with pytest.raises(ValueError, match="was not created in the distribution strategy"):
            model.compile("sgd", "mse")
    model.compile("sgd", "mse")


def test_a_graph_needs_the_inputs_of_a_model() -> None:
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        deferred = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        with pytest.raises(ValueError, match="created without `input_shape`"):
            deferred.compile("sgd", "mse")


def test_line_by_line_is_refused_in_a_scope() -> None:
    with context.eager_mode(), tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        whole = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
        with pytest.raises(ValueError, match="do not support enabling `run_eagerly`"):
            whole.compile("sgd", "mse", run_eagerly=True, experimental_run_tf_function=False)
        deferred = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        deferred.compile("sgd", "mse")


def test_eager_code_iterates_over_the_replicas_parts() -> None:
    with context.eager_mode():
        data = tf.data.Dataset.range(10).batch(4)
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        found = [b.numpy().tolist() for b in strategy.experimental_distribute_dataset(data)]
        assert found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        two = tf.distribute.MirroredStrategy(CPUS)
        parts = [
            [v.numpy().tolist() for v in two.experimental_local_results(b)]
            for b in two.experimental_distribute_dataset(data)
        ]
        assert parts == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], [9]]]
        each = two.experimental_distribute_datasets_from_function(lambda _: data)
        (batch,) = list(each)  # the third has no partner
        assert [v.numpy().tolist() for v in batch.values] == [[0, 1, 2, 3], [4, 5, 6, 7]]
