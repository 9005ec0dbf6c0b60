"""Losses and metrics that are added to a functional model are layers of it: configs and clones keep them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

keras: Any = tf.keras
layers: Any = keras.layers

X = np.arange(6.0).reshape(2, 3)


def _made() -> Any:
    x = keras.Input((3,))
    y = layers.Dense(2, kernel_initializer="ones")(x)
    model = keras.Model(x, y)
    model.add_loss(tf.reduce_mean(y) * 2.0)
    model.add_metric(tf.reduce_sum(y), name="sum", aggregation="mean")
    return model


def test_copies_of_a_model_have_its_losses_and_metrics(session: Any, tmp_path: Path) -> None:
    model = _made()
    names = [layer.name for layer in model.layers]
    assert names[2:] == [
        "tf_op_layer_Mean",
        "tf_op_layer_mul",
        "add_loss",
        "tf_op_layer_Sum",
        "add_metric",
    ]
    model.compile("sgd", "mse")
    model.save(str(tmp_path / "model.h5"))
    copies = [
        keras.Model.from_config(model.get_config()),
        keras.models.model_from_json(model.to_json()),
        keras.models.clone_model(model),
        keras.models.load_model(str(tmp_path / "model.h5")),
    ]
    for copy in copies:
        assert [layer.name for layer in copy.layers] == names
        assert len(copy.losses) == 1
        copy.compile("sgd", "mse")
        assert copy.metrics_names == ["loss", "sum"]
        # outputs 3 and 12, twice: the added loss is twice their mean, their sum 30
        found = copy.evaluate(X, [[3, 3], [12, 12]], verbose=0)
        np.testing.assert_allclose(found, [15.0, 30.0], rtol=1e-6)


def test_a_second_call_adds_a_loss_of_its_own(session: Any) -> None:
    model = _made()
    z = keras.Input((3,))
    outer = keras.Model(z, model(z))
    outer.compile("sgd", "mse")
    np.testing.assert_allclose(outer.evaluate(X, np.zeros((2, 2)), verbose=0)[0], 76.5 + 15.0)


@pytest.mark.usefixtures("session")
def test_losses_of_other_inputs_and_of_weights_stay_with_the_model() -> None:
    x, other = keras.Input((3,)), keras.Input((3,))
    dense = layers.Dense(2)
    model = keras.Model(x, dense(x))
    model.add_loss(tf.reduce_mean(other))
    model.add_loss(lambda: tf.reduce_sum(dense.kernel))
    assert [layer.name for layer in model.layers] == ["input_1", "dense"] and len(model.losses) == 2
    sequential = keras.Sequential([layers.Dense(2, input_shape=(3,))])
    sequential.add_loss(tf.reduce_mean(sequential.output))
    assert len(sequential.layers) == 1 and len(sequential.losses) == 1


def test_a_loss_that_cannot_be_written_is_left_out_with_a_word(session: Any) -> None:
    x = keras.Input((3,))
    dense = layers.Dense(2)
    y = dense(x)
    model = keras.Model(x, y)
    model.add_loss(tf.reduce_mean(y * dense.bias))
    with pytest.warns(UserWarning, match="add_loss.*left out"):
        config = model.get_config()
    assert keras.Model.from_config(config).losses == []
