"""Heads, the estimators that take them, more metrics, and exports that train and evaluate.

Their values are held against TensorFlow's in the oracle (estimator_heads).
"""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

E = tf.estimator
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).astype(np.float32)
SCORE = (X @ [1.0, -2.0, 0.5]).astype(np.float32)
TWO = (SCORE > 0).astype(np.int64)
COLUMNS = [tf.feature_column.numeric_column("x", shape=[3])]


def inputs(y, epochs=1):
    return E.inputs.numpy_input_fn({"x": X}, y, batch_size=20, num_epochs=epochs, shuffle=False)


ESTIMATORS = {
    "linear": lambda head, folder: E.LinearEstimator(head, COLUMNS, folder),
    "deep": lambda head, folder: E.DNNEstimator(
        head, [8], COLUMNS, folder, optimizer="Adam", dropout=0.0, batch_norm=False
    ),
    "both": lambda head, folder: E.DNNLinearCombinedEstimator(
        head,
        folder,
        linear_feature_columns=COLUMNS,
        dnn_feature_columns=COLUMNS,
        dnn_optimizer=lambda: tf.train.AdamOptimizer(0.03),
        dnn_hidden_units=[8],
    ),
}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_estimators_learn_with_a_head(kind, tmp_path) -> None:
    estimator = ESTIMATORS[kind](E.BinaryClassHead(), str(tmp_path))
    before = estimator.evaluate(inputs(TWO))
    estimator.train(inputs(TWO, None), steps=100)
    after = estimator.evaluate(inputs(TWO))
    assert after["loss"] < before["loss"]
    assert after["accuracy"] > 0.85
    # The mean over a batch, where the canned estimators sum.
    assert after["loss"] == pytest.approx(after["average_loss"], rel=1e-4)


@pytest.mark.parametrize("kind", ["float", "bool"])
def test_two_classes_may_be_floats_or_bools(kind, tmp_path) -> None:
    plain = E.LinearClassifier(COLUMNS, str(tmp_path / "a"))
    other = E.LinearClassifier(COLUMNS, str(tmp_path / "b"))
    plain.train(inputs(TWO), steps=3)
    other.train(inputs(TWO.astype(kind)), steps=3)
    assert other.evaluate(inputs(TWO.astype(kind))) == plain.evaluate(inputs(TWO))
    three = E.LinearClassifier(COLUMNS, str(tmp_path / "c"), n_classes=3)
    with pytest.raises(ValueError, match="Labels dtype should be integer"):
        three.train(inputs(TWO.astype(kind)), steps=1)


def test_a_canned_estimator_and_the_head_agree(tmp_path) -> None:
    rate = {"optimizer": lambda: tf.train.GradientDescentOptimizer(0.01)}
    canned = E.LinearClassifier(COLUMNS, str(tmp_path / "a"), **rate)
    headed = E.LinearEstimator(
        tf.contrib.estimator.binary_classification_head(loss_reduction=tf.losses.Reduction.SUM),
        COLUMNS,
        str(tmp_path / "b"),
        **rate,
    )
    found = [e.train(inputs(TWO, None), steps=10).evaluate(inputs(TWO)) for e in (canned, headed)]
    assert found[0] == pytest.approx(found[1])


def test_the_baseline_predicts_the_mean_count(tmp_path) -> None:
    counts = RNG.poisson(3.0, 60).astype(np.float32)
    estimator = E.BaselineEstimator(E.PoissonRegressionHead(), str(tmp_path))
    estimator.train(inputs(counts, None), steps=100)
    (first, *_) = estimator.predict(inputs(None))
    assert first["predictions"][0] == pytest.approx(counts.mean(), rel=0.05)


def test_several_heads_of_one_model(tmp_path) -> None:
    labels = {"sign": TWO, "value": SCORE}
    head = tf.contrib.estimator.multi_head(
        [E.BinaryClassHead(name="sign"), E.RegressionHead(name="value")], head_weights=[2.0, 1.0]
    )
    assert head.logits_dimension == 2
    estimator = E.DNNEstimator(head, [8], COLUMNS, str(tmp_path), optimizer="Adam")
    estimator.train(inputs(labels, None), steps=200)
    found = estimator.evaluate(inputs(labels))
    assert found["accuracy/sign"] > 0.85
    assert found["average_loss/value"] < np.var(SCORE) / 2
    assert found["loss"] == pytest.approx(2 * found["loss/sign"] + found["loss/value"], rel=1e-4)
    (first, *_) = estimator.predict(inputs(None))
    assert set(first) >= {("sign", "probabilities"), ("value", "predictions")}
    examples = E.export.build_parsing_serving_input_receiver_fn(
        tf.feature_column.make_parse_example_spec(COLUMNS)
    )
    path = estimator.export_saved_model(str(tmp_path / "export"), examples).decode()
    with tf.Session(graph=tf.Graph()) as session:
        signatures = tf.saved_model.loader.load(session, ["serve"], path).signature_def
    assert set(signatures) >= {"serving_default", "sign", "value", "sign/predict", "predict"}
    assert signatures["serving_default"].method_name.endswith("classify")
    assert signatures["value"].method_name.endswith("regress")


def test_labels_of_several_classes(tmp_path) -> None:
    words = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["b", "c", "a"], [3, 2])
    head = E.MultiLabelHead(3, label_vocabulary=["a", "b", "c"])
    logits = np.array([[-9, 9, 9], [-9, -9, -9], [9, -9, -9]], np.float32)
    dense = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]])
    losses = [head.loss(words, logits), head.loss(dense, logits)]
    wrong = head.loss(tf.placeholder_with_default(dense * 2, [3, 3]), logits)
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        got = session.run(losses)
        with pytest.raises(tf.errors.InvalidArgumentError, match="0 or 1"):
            session.run(wrong)
    np.testing.assert_allclose(got, np.log1p(np.exp(-9.0)), rtol=1e-3)


def test_an_optimizer_instead_of_a_function_and_regularization() -> None:
    with tf.Graph().as_default():
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        head = E.RegressionHead()
        spec = head.create_estimator_spec(
            {},
            E.ModeKeys.TRAIN,
            logits=tf.ones([4, 1]) * w,
            labels=np.full((4, 1), 3.0),
            optimizer=tf.train.GradientDescentOptimizer(0.25),
            update_ops=[tf.assign_add(tf.Variable(0.0, name="seen", collections=["c"]), 1.0)],
            regularization_losses=[tf.constant(2.0)],
        )
        seen = tf.get_collection("c")[0]
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), seen.initializer])
            assert session.run(spec.loss) == 9 + 2
            session.run(spec.train_op)
            assert session.run([w, step, seen]) == [1.5, 1, 1.0]


def test_more_metrics(tmp_path) -> None:
    estimator = E.LinearEstimator(E.RegressionHead(), COLUMNS, str(tmp_path))

    def more(labels, predictions, features):
        error = tf.metrics.mean_absolute_error(labels, predictions["predictions"][:, 0])
        return {"mae": error, "first": tf.metrics.mean(features["x"][:, 0])}

    watched = E.add_metrics(estimator, more)
    watched.train(inputs(SCORE, None), steps=5)
    found = watched.evaluate(inputs(SCORE))
    got = [p["predictions"][0] for p in watched.predict(inputs(None))]
    assert found["mae"] == pytest.approx(np.abs(np.array(got) - SCORE).mean(), rel=1e-4)
    assert found["first"] == pytest.approx(X[:, 0].mean(), rel=1e-4)
    assert "average_loss" in found
    assert watched.model_dir == estimator.model_dir
    with pytest.raises(ValueError, match="not expected args"):
        E.add_metrics(estimator, lambda mode: {})


def test_an_export_for_all_modes(tmp_path) -> None:
    """What was exported goes on training, evaluates and serves, in three graphs of one SavedModel."""
    estimator = E.LinearEstimator(
        E.RegressionHead(),
        COLUMNS,
        str(tmp_path / "model"),
        optimizer=lambda: tf.train.MomentumOptimizer(0.05, 0.5),
    )
    estimator.train(inputs(SCORE, None), steps=2)
    want = estimator.evaluate(inputs(SCORE))
    with tf.Graph().as_default():
        like = {"x": tf.zeros([1, 3])}, tf.zeros([1, 1])
        supervised = E.experimental.build_raw_supervised_input_receiver_fn(*like)
        serving = E.export.build_raw_serving_input_receiver_fn(like[0])
    path = estimator.experimental_export_all_saved_models(
        str(tmp_path / "export"),
        {
            E.ModeKeys.TRAIN: supervised,
            E.ModeKeys.EVAL: supervised,
            E.ModeKeys.PREDICT: serving,
        },
    ).decode()
    batch = {"x": X, "label": SCORE[:, None]}

    def feeds(signature):
        return {info.name: batch[key] for key, info in signature.inputs.items()}

    with tf.Session(graph=tf.Graph()) as session:
        meta = tf.saved_model.loader.load(session, ["eval"], path)
        signature = meta.signature_def["eval"]
        assert signature.method_name == "tensorflow/supervised/eval"
        outputs = {key: info.name for key, info in signature.outputs.items()}
        assert "predictions" in outputs
        session.run(outputs["metrics/average_loss/update_op"], feeds(signature))
        found = session.run(outputs["metrics/average_loss/value"])
    assert found == pytest.approx(want["average_loss"], rel=1e-4)
    with tf.Session(graph=tf.Graph()) as session:
        meta = tf.saved_model.loader.load(session, ["train"], path)
        signature = meta.signature_def["train"]
        (train_op,) = session.graph.get_collection("saved_model_train_op")
        loss = signature.outputs["loss"].name
        losses = [session.run([loss, train_op], feeds(signature))[0] for _ in range(20)]
    assert losses[0] == pytest.approx(found, rel=1e-4)
    assert losses[-1] < losses[0] / 2
    with tf.Session(graph=tf.Graph()) as session:
        meta = tf.saved_model.loader.load(session, ["serve"], path)
        signature = meta.signature_def["predict"]
        served = session.run(signature.outputs["predictions"].name, {signature.inputs["x"].name: X})
    got = [p["predictions"] for p in estimator.predict(inputs(None))]
    np.testing.assert_allclose(served, got, rtol=1e-5)
    with pytest.raises(ValueError, match="No valid modes"):
        estimator.experimental_export_all_saved_models(str(tmp_path / "no"), {"debug": serving})


MISTAKES = {
    "threshold": (lambda: E.BinaryClassHead(thresholds=[1.0]), r"not in \(0, 1\)"),
    "two classes": (lambda: E.MultiClassHead(2), "n_classes must be > 2"),
    "vocabulary": (
        lambda: E.MultiLabelHead(3, label_vocabulary=["a"]),
        "Length of label_vocabulary",
    ),
    "class": (
        lambda: E.MultiLabelHead(3, classes_for_class_based_metrics=[3]),
        r"in range \[0, 2\]",
    ),
    "no heads": (lambda: E.MultiHead([]), "Must specify heads"),
    "no name": (lambda: E.MultiHead([E.RegressionHead()]), "must have name"),
    "one name": (
        lambda: E.MultiHead([E.RegressionHead(name="a"), E.RegressionHead(name="a")]),
        "names of their own",
    ),
    "weights": (
        lambda: E.MultiHead([E.RegressionHead(name="a")], [1.0, 2.0]),
        "must have the same size",
    ),
    "loss_fn": (lambda: E.RegressionHead(loss_fn=lambda logits: 0), "labels, logits"),
    "reduction": (lambda: E.RegressionHead(loss_reduction="none"), "must not be NONE"),
    "neither": (
        lambda: E.RegressionHead().create_estimator_spec({}, "train", tf.zeros([1, 1]), [[1.0]]),
        "cannot both be None",
    ),
    "logits": (lambda: E.MultiClassHead(3).loss([0], tf.zeros([1, 2])), "logits"),
    "labels of several heads": (
        lambda: E.MultiHead([E.RegressionHead(name="a")]).create_estimator_spec(
            {}, "eval", tf.zeros([1, 1]), [1.0]
        ),
        "dict with a key for each head",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name) -> None:
    call, text = MISTAKES[name]
    with tf.Graph().as_default(), pytest.raises(ValueError, match=text):
        call()


def test_areas_under_precision_and_recall_of_both_kinds_of_heads():
    """Those of canned estimators sum it up plainly: figures of TensorFlow 1.15."""
    from dataflow.python.estimator.canned import head as canned

    def area(head):
        with tf.Graph().as_default(), tf.Session() as session:
            logits = tf.constant([[0.0], [-1.0], [-2.0]])
            labels = tf.constant([[0], [1], [1]])
            spec = head.create_estimator_spec({}, tf.estimator.ModeKeys.EVAL, logits, labels)
            session.run(tf.local_variables_initializer())
            session.run([update for _, update in spec.eval_metric_ops.values()])
            return float(session.run(spec.eval_metric_ops["auc_precision_recall"][0]))

    made = canned._binary_logistic_head_with_sigmoid_cross_entropy_loss()
    assert isinstance(made, canned._Head)
    assert area(made) == pytest.approx(0.41667, abs=1e-4)
    assert area(tf.contrib.estimator.binary_classification_head()) == pytest.approx(
        0.41667, abs=1e-4
    )
    assert area(tf.estimator.BinaryClassHead()) == pytest.approx(0.45069, abs=1e-4)
