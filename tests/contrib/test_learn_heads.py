"""Heads of `tf.contrib.learn`: losses, metrics and predictions by formula, and several heads at once."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib import layers, learn

pytestmark = pytest.mark.usefixtures("graph")

TRAIN, EVAL, INFER = learn.ModeKeys.TRAIN, learn.ModeKeys.EVAL, learn.ModeKeys.INFER


def values(ops):
    """The loss and the metrics, after one update of each."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())
        found = {key: session.run(update) for key, (_, update) in ops.eval_metric_ops.items()}
        return session.run(ops.loss), found


def test_the_loss_is_the_mean_and_the_reported_one_is_weighted_by_the_sum_of_weights():
    head = learn.regression_head(weight_column_name="w")
    ops = head.create_model_fn_ops(
        {"w": [2.0, 5.0, 0.0]},
        TRAIN,
        [0.0, 1.0, 1.0],
        learn.no_op_train_fn,
        logits=[[1.0], [1.0], [3.0]],
    )
    loss, metrics = values(ops)
    assert loss == pytest.approx(2 / 3) and metrics["loss"] == pytest.approx(2 / 7)


def test_two_classes_have_thresholds_and_names_of_metrics():
    head = learn.multi_class_head(2, head_name="it", thresholds=[0.2, 0.9])
    ops = head.create_model_fn_ops({}, EVAL, [[1.0], [0.0]], None, logits=[[1.0], [1.0]])
    loss, metrics = values(ops)
    p = 1 / (1 + np.exp(-1.0))
    assert loss == pytest.approx(-(np.log(p) + np.log(1 - p)) / 2)
    assert metrics["precision/positive_threshold_0.200000_mean/it"] == 0.5
    assert metrics["recall/positive_threshold_0.900000_mean/it"] == 0.0
    assert metrics["labels/prediction_mean/it"] == pytest.approx(p)
    kind, exported = ops.output_alternatives["it"]
    assert kind == learn.ProblemType.LOGISTIC_REGRESSION
    assert tf.Session().run(exported["classes"]).tolist() == [[b"0", b"1"]] * 2


def test_classes_may_have_names_and_metrics_of_their_own():
    head = learn.multi_class_head(3, label_keys=["a", b"b", "c"], metric_class_ids=[2])
    ops = head.create_model_fn_ops({}, EVAL, ["c", "a"], None, logits=np.eye(3, dtype="f")[[2, 1]])
    loss, metrics = values(ops)
    z = np.log(np.e + 2)
    assert loss == pytest.approx(((z - 1) + z) / 2)
    assert metrics["accuracy"] == 0.5 and metrics["labels/actual_label_mean/class2"] == 0.5
    with pytest.raises(ValueError, match="label_keys must equal n_classes"):
        learn.multi_class_head(3, label_keys=["a"])
    with pytest.raises(ValueError, match="not supported for n_classes=2"):
        learn.multi_class_head(2, label_keys=["a", "b"])


def test_several_labels_may_be_sparse_and_two_classes_may_have_the_hinge_loss():
    labels = tf.SparseTensor([[0, 0]], [2], [1, 1])
    head = learn.multi_label_head(3, metric_class_ids=[0, 2])
    ops = head.create_model_fn_ops({}, EVAL, labels, None, logits=[[1.0, 0.0, 0.0]])
    _, metrics = values(ops)
    assert metrics["accuracy"] == pytest.approx(1 / 3)
    assert metrics["labels/prediction_mean/class0"] == 1.0
    svm = learn.binary_svm_head().create_model_fn_ops({}, EVAL, [0, 1], logits=[[-0.5], [1.2]])
    assert values(svm)[0] == pytest.approx(0.25)
    poisson = learn.poisson_regression_head()
    (rates,) = poisson.create_model_fn_ops({}, INFER, logits=[[0.0]]).predictions.values()
    assert tf.Session().run(rates).tolist() == [1.0]


def test_losses_of_several_heads_are_added():
    heads = [
        learn.multi_class_head(3, label_name="a", head_name="a"),
        learn.regression_head(label_name="b", head_name="b"),
        learn.loss_only_head(lambda: tf.constant(7.0), head_name="c"),
    ]
    both = learn.multi_head(heads, loss_weights=[1.0, 0.5, 2.0])
    assert both.logits_dimension == 4
    features, labels = {}, {"a": [1], "b": [2.0]}
    logits = [[0.0, 0.0, 0.0, 5.0]]
    ops = both.create_model_fn_ops(features, TRAIN, labels, learn.no_op_train_fn, logits)
    assert tf.Session().run(ops.loss) == pytest.approx(np.log(3) + 0.5 * 9 + 14)
    inferred = both.create_model_fn_ops(features, INFER, logits=logits)
    assert ("b", "scores") in inferred.predictions and set(inferred.output_alternatives) == {
        "a",
        "b",
    }
    with pytest.raises(ValueError, match="must have names"):
        learn.multi_head([learn.regression_head()])


def test_mistakes_with_heads_are_named():
    head = learn.regression_head()
    with pytest.raises(ValueError, match="Both logits and logits_input"):
        head.create_model_fn_ops({}, EVAL, [1.0], logits=[[1.0]], logits_input=[[1.0]])
    with pytest.raises(ValueError, match="train_op_fn can not be None"):
        head.create_model_fn_ops({}, TRAIN, [1.0], logits=[[1.0]])
    with pytest.raises(ValueError, match="not compatible"):
        head.create_model_fn_ops({}, EVAL, [1.0], logits=[[1.0, 2.0]])
    with pytest.raises(ValueError, match="Weights w missing"):
        learn.regression_head(weight_column_name="w").create_model_fn_ops(
            {}, EVAL, [1.0], logits=[[1.0]]
        )


def test_an_estimator_reports_the_heads_loss_and_its_checkpoint_has_tensorflows_names(tmp_path):
    # Names as TensorFlow 1.15 writes them: the head's variables are in the scope of the network.
    column = layers.real_valued_column("x")
    model = learn.DNNEstimator(
        learn.multi_class_head(2, weight_column_name="w", enable_centered_bias=True),
        [2],
        [column],
        str(tmp_path),
    )

    def data():
        return {"x": tf.constant([[1.0], [2.0]]), "w": tf.constant([3.0, 1.0])}, tf.constant([0, 1])

    model.fit(input_fn=data, steps=2)
    names = model.get_variable_names()
    assert "dnn/binary_logistic_head/centered_bias_weight" in names
    assert "dnn/binary_logistic_head/dnn/learning_rate" in names
    found = model.evaluate(input_fn=data, steps=1)
    p = np.array([row["logistic"][0] for row in model.predict(input_fn=data)])
    losses = np.array([-np.log(1 - p[0]), -np.log(p[1])])
    assert found["loss"] == pytest.approx((losses * [3, 1]).sum() / 4, rel=1e-4)
    assert found["labels/actual_label_mean"] == pytest.approx(0.25)


def test_gradients_of_an_embedding_may_be_scaled(tmp_path):
    words = layers.sparse_column_with_hash_bucket("word", 10)
    embedding = layers.embedding_column(words, 1, initializer=tf.constant_initializer(0.1))
    model = learn.DNNClassifier(
        [2], [embedding], str(tmp_path), embedding_lr_multipliers={embedding: 0.0}
    )

    def data():
        word = tf.SparseTensor([[0, 0], [1, 0]], ["a", "b"], [2, 1])
        return {"word": word}, tf.constant([0, 1])

    model.fit(input_fn=data, steps=3)
    name = "dnn/input_from_feature_columns/word_embedding/weights"
    assert np.all(model.get_variable_value(name) == np.float32(0.1))
    wrong = learn.DNNClassifier([2], [embedding], embedding_lr_multipliers={words: 0.0})
    with pytest.raises(ValueError, match="only be defined for embedding columns"):
        wrong.fit(input_fn=data, steps=1)


def test_a_cluster_of_before_needs_no_chief(monkeypatch):
    jobs = {"ps": ["host1:1"], "worker": ["host2:2", "host3:3"], "master": ["host4:4"]}

    def config(environment="local", **task):
        text = json.dumps({"cluster": jobs, "task": task, "environment": environment})
        monkeypatch.setenv("TF_CONFIG", text)
        return learn.RunConfig()

    second = config(type="worker", index=1)
    assert (second.master, second.is_chief, second.num_worker_replicas) == (
        "grpc://host3:3",
        False,
        2,
    )
    assert config(type="worker", index=0).is_chief
    assert config("cloud", type="master", index=0).is_chief
    assert not config("cloud", type="worker", index=0).is_chief
    assert config().master == "" and config().task_type is None
    with pytest.raises(ValueError, match="5 is not a valid task_id"):
        config(type="worker", index=5)
    monkeypatch.setenv("TF_CONFIG", json.dumps({"model_dir": "/tmp/a"}))
    assert learn.RunConfig().model_dir == "/tmp/a"
    assert learn.RunConfig(tf_random_seed=1).uid() == learn.RunConfig(tf_random_seed=2).uid()
    with pytest.raises(ValueError, match="the same value as the model_dir in TF_CONFIG"):
        learn.RunConfig(model_dir="/tmp/b")
    monkeypatch.delenv("TF_CONFIG")
    assert learn.RunConfig().cluster_spec == {} and learn.RunConfig().is_chief
