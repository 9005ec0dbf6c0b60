"""`tf.contrib.predictor`: predictions out of a SavedModel."""

from __future__ import annotations

from pathlib import Path

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
