"""The seeds' iris program: it runs as printed, and reads 0.93 of the test flowers or more."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dataflow as tf
from tests.conftest import default_data_folder

NAMES = ["SepalLength", "SepalWidth", "PetalLength", "PetalWidth", "Species"]
SPECIES = ["Setosa", "Versicolor", "Virginica"]


def flowers():
    folder = os.environ.get("DATAFLOW_DATA") or default_data_folder()
    if folder is None or not (Path(folder) / "iris" / "iris_training.csv").exists():
        pytest.skip("iris is not here: set DATAFLOW_DATA to the folder that holds iris/")
    tables = []
    for name in ("iris_training.csv", "iris_test.csv"):
        frame = pd.read_csv(Path(folder) / "iris" / name, names=NAMES, header=0)
        tables.append((frame, frame.pop("Species")))
    return tables


def train_input_fn(features, labels, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices((dict(features), labels))
    return dataset.shuffle(1000).repeat().batch(batch_size)


def eval_input_fn(features, labels, batch_size):
    features = dict(features)
    inputs = features if labels is None else (features, labels)
    return tf.data.Dataset.from_tensor_slices(inputs).batch(batch_size)


@pytest.mark.parametrize("seed", range(5))
def test_iris_program(seed, tmp_path):
    (train_x, train_y), (test_x, test_y) = flowers()
    my_feature_columns = []
    for key in train_x.keys():  # noqa: SIM118 - as the slides print it
        my_feature_columns.append(tf.feature_column.numeric_column(key=key))
    classifier = tf.estimator.DNNClassifier(
        feature_columns=my_feature_columns,
        hidden_units=[10, 10],
        n_classes=3,
        config=tf.estimator.RunConfig(str(tmp_path), tf_random_seed=seed),
    )
    classifier.train(input_fn=lambda: train_input_fn(train_x, train_y, 100), steps=1000)
    eval_result = classifier.evaluate(input_fn=lambda: eval_input_fn(test_x, test_y, 100))
    assert sorted(eval_result) == ["accuracy", "average_loss", "global_step", "loss"]
    assert eval_result["global_step"] == 1000
    assert eval_result["accuracy"] >= 0.93
    assert (
        "Test set accuracy: 0.9" in "Test set accuracy: {accuracy:0.3f}".format(**eval_result)
        or eval_result["accuracy"] == 1.0
    )
    if seed:
        return
    predict_x = {
        "SepalLength": [5.1, 5.9, 6.9],
        "SepalWidth": [3.3, 3.0, 3.1],
        "PetalLength": [1.7, 4.2, 5.4],
        "PetalWidth": [0.5, 1.5, 2.1],
    }
    predictions = list(
        classifier.predict(input_fn=lambda: eval_input_fn(predict_x, labels=None, batch_size=100))
    )
    assert [SPECIES[p["class_ids"][0]] for p in predictions] == SPECIES
    assert [p["classes"][0] for p in predictions] == [b"0", b"1", b"2"]
    for prediction in predictions:
        assert prediction["probabilities"].shape == (3,)
        exponents = np.exp(prediction["logits"] - prediction["logits"].max())
        np.testing.assert_allclose(
            prediction["probabilities"], exponents / exponents.sum(), rtol=1e-5
        )
