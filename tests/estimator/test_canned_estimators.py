"""Canned estimators: they learn, report and name their variables as TensorFlow's do."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

E, F = tf.estimator, tf.feature_column
RNG = np.random.RandomState(0)
CLASSES = (np.arange(90) % 3).astype(np.int32)
X = RNG.randn(90, 3).astype(np.float32)
X[np.arange(90), CLASSES] += 3.0
FEATURES = {name: X[:, i] for i, name in enumerate("abc")}
COLUMNS = [F.numeric_column(name) for name in "abc"]


def data(labels, epochs=None, features=FEATURES):
    return lambda: tf.data.Dataset.from_tensor_slices((features, labels)).repeat(epochs).batch(30)


def config(folder):
    return E.RunConfig(str(folder), tf_random_seed=3)


MAKE = {
    "dnn": lambda c, n: E.DNNClassifier([8], COLUMNS, n_classes=n, config=c),
    "linear": lambda c, n: E.LinearClassifier(COLUMNS, n_classes=n, config=c),
    "both": lambda c, n: E.DNNLinearCombinedClassifier(
        linear_feature_columns=COLUMNS,
        dnn_feature_columns=COLUMNS,
        dnn_hidden_units=[8],
        dnn_optimizer=tf.train.AdagradOptimizer(0.05),
        n_classes=n,
        config=c,
    ),
}


@pytest.mark.parametrize("kind", MAKE)
def test_classifiers_learn_three_classes(kind, tmp_path):
    model = MAKE[kind](config(tmp_path), 3)
    model.train(data(CLASSES), steps=150)
    report = model.evaluate(data(CLASSES, 1))
    assert report["accuracy"] > 0.9
    assert report["loss"] == pytest.approx(30 * report["average_loss"], rel=1e-4)


def test_two_classes_report_more(tmp_path):
    model = MAKE["linear"](config(tmp_path), 2)
    labels = (CLASSES == 0).astype(np.int32)
    model.train(data(labels), steps=60)
    report = model.evaluate(data(labels, 1))
    assert list(report) == [
        "accuracy",
        "accuracy_baseline",
        "auc",
        "auc_precision_recall",
        "average_loss",
        "label/mean",
        "loss",
        "precision",
        "prediction/mean",
        "recall",
        "global_step",
    ]
    assert report["accuracy_baseline"] == pytest.approx(2 / 3)
    assert report["auc"] > 0.95
    row = next(model.predict(data(labels, 1)))
    assert row["logistic"][0] == pytest.approx(row["probabilities"][1], rel=1e-5)


def test_the_untrained_linear_model_knows_nothing(tmp_path):
    report = MAKE["linear"](config(tmp_path), 3).evaluate(data(CLASSES, 1))
    assert report["average_loss"] == pytest.approx(np.log(3), rel=1e-6)


def test_regressors_learn(tmp_path):
    target = X.sum(1)
    for name, model in {
        "dnn": E.DNNRegressor(
            [16], COLUMNS, str(tmp_path / "dnn"), config=E.RunConfig(tf_random_seed=3)
        ),
        "linear": E.LinearRegressor(COLUMNS, str(tmp_path / "linear")),
    }.items():
        before = model.evaluate(data(target, 1))["average_loss"]
        model.train(data(target), steps=200)
        report = model.evaluate(data(target, 1))
        assert report["average_loss"] < before / 4, name
        assert report["label/mean"] == pytest.approx(target.mean(), rel=1e-4)
        assert next(model.predict(data(target, 1)))["predictions"].shape == (1,)


def test_variables_have_tensorflows_names(tmp_path):
    bucket = F.bucketized_column(COLUMNS[0], [0.0])
    model = E.DNNClassifier(
        [4, 2], [COLUMNS[1], F.embedding_column(bucket, 2)], str(tmp_path / "dnn"), n_classes=3
    )
    model.train(data(CLASSES), steps=1)
    names = [n for n in model.get_variable_names() if "Adagrad" not in n]
    assert sorted(names) == [
        "dnn/hiddenlayer_0/bias",
        "dnn/hiddenlayer_0/kernel",
        "dnn/hiddenlayer_1/bias",
        "dnn/hiddenlayer_1/kernel",
        "dnn/input_from_feature_columns/input_layer/a_bucketized_embedding/embedding_weights",
        "dnn/logits/bias",
        "dnn/logits/kernel",
        "global_step",
    ]
    assert "dnn/logits/kernel/t_0/Adagrad" in model.get_variable_names()
    linear = E.LinearClassifier([bucket], str(tmp_path / "linear"))
    linear.train(data(CLASSES % 2), steps=1)
    assert "linear/linear_model/a_bucketized/weights" in linear.get_variable_names()
    assert linear.get_variable_value("linear/linear_model/a_bucketized/weights").shape == (2, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_have_tensorflows_names_in_a_saved_model(n_classes, tmp_path):
    def serving():
        rows = {"a": tf.placeholder(tf.float32, [None, 1])}
        return E.export.ServingInputReceiver(rows, rows)

    model = E.DNNClassifier([4], COLUMNS[:1], str(tmp_path / "model"), n_classes=n_classes)
    model.train(data(CLASSES % n_classes), steps=1)
    folder = model.export_saved_model(str(tmp_path / "saved"), serving)
    with tf.Graph().as_default(), tf.Session() as sess:
        signatures = tf.saved_model.load(sess, ["serve"], folder).signature_def
    ours = {k: v.name for k, v in signatures["predict"].outputs.items()}
    expected = {  # TensorFlow 1.15.5's
        "all_class_ids": "predictions/Tile:0",
        "all_classes": "predictions/Tile_1:0",
        "class_ids": "predictions/ExpandDims_2:0" if n_classes == 3 else "predictions/ExpandDims:0",
        "classes": "predictions/str_classes:0",
        "probabilities": "predictions/probabilities:0",
    } | ({"logistic": "predictions/logistic:0"} if n_classes == 2 else {})
    assert ours.pop("logits") == "dnn/logits/BiasAdd:0"
    assert ours == {key: f"dnn/head/{name}" for key, name in expected.items()}


def test_label_vocabulary_and_weights(tmp_path):
    words = np.array([b"red", b"green", b"blue"])[CLASSES].astype(object)
    features = {**FEATURES, "weight": np.where(CLASSES == 1, 5.0, 1.0).astype(np.float32)}
    model = E.LinearClassifier(
        COLUMNS,
        str(tmp_path),
        n_classes=3,
        label_vocabulary=["red", "green", "blue"],
        weight_column="weight",
    )
    model.train(data(words, features=features), steps=60)
    rows = list(model.predict(data(words, 1, features)))
    right = [row["classes"][0] == word for row, word in zip(rows, words, strict=True)]
    assert np.mean(right) > 0.9
    report = model.evaluate(data(words, 1, features))
    weighted = np.average(right, weights=features["weight"])
    assert report["accuracy"] == pytest.approx(weighted, rel=1e-5)


def test_the_baseline_learns_the_shares(tmp_path):
    labels = (np.arange(90) % 10 < 3).astype(np.int32)
    model = E.BaselineClassifier(str(tmp_path))
    model.train(data(labels), steps=200)
    assert next(model.predict(data(labels, 1)))["probabilities"][1] == pytest.approx(0.3, abs=0.02)
    assert "baseline/bias/Ftrl" in model.get_variable_names()


def test_batch_norm_and_dropout(tmp_path):
    model = E.DNNClassifier(
        [8], COLUMNS, str(tmp_path), n_classes=3, batch_norm=True, dropout=0.1,
        config=E.RunConfig(tf_random_seed=1),
    )  # fmt: skip
    model.train(data(CLASSES), steps=5)
    moving = model.get_variable_value("dnn/hiddenlayer_0/batchnorm_0/moving_mean")
    assert np.abs(moving).max() > 0  # the averages move with the training steps
    first, again = (
        [row["logits"].tolist() for row in model.predict(data(CLASSES, 1))] for _ in range(2)
    )
    assert first == again


def test_mistakes_are_named(tmp_path):
    model = MAKE["dnn"](config(tmp_path), 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="n_classes - 1"):
        model.train(data(CLASSES + 1), steps=1)
    with pytest.raises(ValueError, match="integer"):
        model.train(data(CLASSES.astype(np.float32)), steps=1)
    with pytest.raises(ValueError, match="labels"):
        model.train(lambda: tf.data.Dataset.from_tensor_slices(FEATURES).batch(3), steps=1)
    with pytest.raises(ValueError, match="Supported names"):
        E.DNNClassifier([2], COLUMNS, str(tmp_path), optimizer="Sgd").train(data(CLASSES), steps=1)
    with pytest.raises(ValueError, match="label_vocabulary"):
        E.LinearClassifier(COLUMNS, n_classes=3, label_vocabulary=["x"]).train(
            data(CLASSES), steps=1
        )


def test_parsing_specs_hold_features_label_and_weight():
    spec = E.classifier_parse_example_spec(COLUMNS, "label", weight_column="weight")
    assert sorted(spec) == ["a", "b", "c", "label", "weight"]
    assert spec["label"].dtype is tf.int64
    spec = E.regressor_parse_example_spec(COLUMNS, "label", label_dimension=2)
    assert tuple(spec["label"].shape) == (2,)
    with pytest.raises(ValueError, match="label should not be used as feature"):
        E.classifier_parse_example_spec(COLUMNS, "a")
