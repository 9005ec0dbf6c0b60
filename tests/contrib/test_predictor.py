"""`tf.contrib.predictor`: predictions out of a SavedModel, or of an estimator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dataflow as tf


def test_a_saved_model_predicts(tmp_path: Path) -> None:
    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], "x")
        w = tf.get_variable("w", initializer=3.0)
        session.run(w.initializer)
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": tf.multiply(x, w, "y")})
    predict = tf.contrib.predictor.from_saved_model(
        folder.encode()
    )  # as export_savedmodel gives it
    assert predict({"x": [1.0, 2.0]})["y"].tolist() == [3.0, 6.0]
    assert predict.feed_tensors["x"].name == "x:0" and list(predict.fetch_tensors) == ["y"]
    named = tf.contrib.predictor.from_saved_model(
        folder, input_names={"in": "x:0"}, output_names={"out": "y:0"}, tags="serve"
    )
    assert named({"in": [2.0]})["out"].tolist() == [6.0]
    with pytest.raises(ValueError, match=r"unexpected keys.*\['z'\]"):
        predict({"z": [1.0]})
    with pytest.raises(ValueError, match=r"'classify'. Available signatures are \['serving_def"):
        tf.contrib.predictor.from_saved_model(folder, "classify")


def receiver():
    x = tf.placeholder(tf.float32, [None, 1], "given")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def test_an_estimator_predicts_with_its_latest_checkpoint(tmp_path: Path) -> None:
    columns = [tf.feature_column.numeric_column("x")]
    estimator = tf.estimator.LinearRegressor(columns, str(tmp_path))

    def inputs():
        return {"x": tf.constant([[1.0], [2.0]])}, tf.constant([[3.0], [5.0]])

    estimator.train(inputs, steps=5)
    predict = tf.contrib.predictor.from_estimator(estimator, receiver, output_key="predict")
    weight = estimator.get_variable_value("linear/linear_model/x/weights")[0, 0]
    bias = estimator.get_variable_value("linear/linear_model/bias_weights")[0]
    found = predict({"x": [[1.0], [7.0]]})
    expected = [[weight + bias], [7 * weight + bias]]
    np.testing.assert_allclose(found["predictions"], expected, rtol=1e-5)
    assert predict.graph is not tf.get_default_graph()
    with pytest.raises(ValueError, match="unexpected keys"):
        predict({"y": [1.0]})
    with pytest.raises(KeyError, match="output_key must be one of"):
        tf.contrib.predictor.from_estimator(estimator, receiver, output_key="none")


def test_a_single_output_of_an_estimator_is_the_default(tmp_path: Path) -> None:
    def model_fn(features, labels, mode):
        w = tf.get_variable("w", initializer=2.0)
        doubled = {"y": features["x"] * w}
        export = {"only": tf.estimator.export.PredictOutput(doubled)}
        step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        return tf.estimator.EstimatorSpec(
            mode, doubled, tf.reduce_sum(w), step, export_outputs=export
        )

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    estimator.train(lambda: ({"x": tf.constant([[1.0]])}, tf.constant([1.0])), steps=1)
    predict = tf.contrib.predictor.from_estimator(estimator, receiver)
    assert predict({"x": [[3.0]]})["y"].tolist() == [[6.0]]
