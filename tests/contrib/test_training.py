"""`tf.contrib.training`, `tf.contrib.losses`, older metrics and `slim.learning`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

slim = tf.contrib.slim


pytestmark = pytest.mark.usefixtures("graph")


def run(tensors: Any) -> Any:
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return sess.run(tensors)


def test_hyperparameters_as_text() -> None:
    hparams = tf.contrib.training.HParams(b=2, a=[1, 2])
    assert str(hparams) == "b=2,a=[1, 2]" and repr(hparams) == "HParams([('a', [1, 2]), ('b', 2)])"


def test_hyperparameters() -> None:
    hparams = tf.contrib.training.HParams(lr=0.1, steps=10, name="a", flag=False, sizes=[64, 32])
    assert hparams.lr == 0.1 and hparams.sizes == [64, 32] and "lr" in hparams
    hparams.parse("lr=0.3,name=b c,flag=true,sizes=[1,2,3]")
    expected = {"lr": 0.3, "steps": 10, "name": "b c", "flag": True, "sizes": [1, 2, 3]}
    assert hparams.values() == expected
    hparams.parse("sizes[1]=7, steps=12").parse_json('{"lr": 2}')
    assert hparams.sizes == [1, 7, 3] and hparams.steps == 12
    assert hparams.lr == 2.0 and isinstance(hparams.lr, float)
    assert hparams.get("lr") == 2.0 and hparams.get("other", 3) == 3
    assert hparams.to_json(sort_keys=True).startswith('{"flag": true, "lr": 2.0')
    hparams.add_hparam("more", 1)
    hparams.del_hparam("more")
    assert "more" not in hparams and not hasattr(hparams, "more")
    for bad in ("steps=1.5", "unknown=1", "flag=maybe", "lr=[1,2]", "steps", "lr=1,lr=2"):
        with pytest.raises(ValueError, match=r"\w"):
            hparams.parse(bad)
    for name, value in (("steps", 1.5), ("flag", 1), ("lr", "x"), ("lr", [1.0]), ("sizes", 1)):
        with pytest.raises(ValueError, match="hparam"):
            hparams.set_hparam(name, value)
    with pytest.raises(ValueError, match="reserved"):
        hparams.add_hparam("lr", 1)
    with pytest.raises(ValueError, match="empty"):
        tf.contrib.training.HParams(sizes=[])


def test_sequences_of_similar_length_come_together() -> None:
    lengths = [1, 5, 2, 6, 1, 7, 2, 5, 9, 10]
    queue = tf.train.slice_input_producer([tf.constant(lengths)], num_epochs=1, shuffle=False)
    length = queue[0]
    sequence = tf.range(length)
    got_lengths, (padded, label) = tf.contrib.training.bucket_by_sequence_length(
        length,
        [sequence, length * 10],
        batch_size=2,
        bucket_boundaries=[4, 8],
        dynamic_pad=True,
        allow_smaller_final_batch=True,
    )
    assert padded.shape.as_list() == [None, None] and label.shape.as_list() == [None]
    seen = []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                ls, xs, ys = sess.run([got_lengths, padded, label])
                assert xs.shape == (len(ls), max(ls))
                for n, row, y in zip(ls, xs, ys, strict=True):
                    np.testing.assert_array_equal(row, list(range(n)) + [0] * (max(ls) - n))
                    assert y == 10 * n
                assert len({np.digitize(n, [4, 8]) for n in ls}) == 1
                seen += list(ls)
        coord.request_stop()
        coord.join(threads)
    assert sorted(seen) == sorted(lengths)
    with pytest.raises(ValueError, match="increasing"):
        tf.contrib.training.bucket_by_sequence_length(length, [sequence], 2, [8, 4])
    with pytest.raises(TypeError, match="list or tuple"):
        tf.contrib.training.bucket_by_sequence_length(length, [sequence], 2, 8)


def test_older_losses_take_predictions_first() -> None:
    logits = tf.constant([[2.0, -1.0], [0.5, 0.3]])
    onehot = tf.constant([[1.0, 0.0], [0.0, 1.0]])
    losses = tf.contrib.losses
    pairs = {
        "softmax_cross_entropy": (logits, onehot),
        "sigmoid_cross_entropy": (logits, onehot),
        "sparse_softmax_cross_entropy": (logits, tf.constant([0, 1])),
        "mean_squared_error": (logits, onehot),
        "absolute_difference": (logits, onehot),
        "log_loss": (tf.sigmoid(logits), onehot),
    }
    for name, (predictions, labels) in pairs.items():
        mine, theirs = run(
            [
                getattr(losses, name)(predictions, labels),
                getattr(tf.losses, name)(labels, predictions),
            ]
        )
        assert mine == theirs, name
    assert len(losses.get_losses()) == 2 * len(pairs)
    # Of n elements it counts n**2 pairs, tf.losses n (n - 1): values of TensorFlow 1.15.
    wanted = tf.constant([[4.0, 8.0, 12.0], [8.0, 1.0, 3.0]])
    given = tf.constant([[1.0, 9.0, 2.0], [-5.0, -2.0, 6.0]])
    np.testing.assert_allclose(run(losses.mean_pairwise_squared_error(given, wanted)), 128.44444)
    np.testing.assert_allclose(run(tf.losses.mean_pairwise_squared_error(wanted, given)), 192.66667)
    known = len(losses.get_losses())
    hinge = losses.hinge_loss(logits, onehot)
    np.testing.assert_allclose(run(hinge), [[0, 0], [1.5, 0.7]], rtol=1e-6)
    assert len(losses.get_losses()) == known
    # Weights of whole examples; 1.15 gives the same.
    weighted = run(losses.mean_squared_error(logits, onehot, weights=tf.constant([0.0, 3.0])))
    np.testing.assert_allclose(weighted, 3 * (0.25 + 0.49) / 2, rtol=1e-6)
    assert slim.losses is losses and slim.layers is tf.contrib.layers


def test_older_metrics_take_predictions_first() -> None:
    metrics = tf.contrib.metrics
    predictions, labels = tf.constant([0, 1, 1, 1]), tf.constant([0, 0, 1, 1])
    scores = tf.constant([[0.1, 0.5, 0.4], [0.6, 0.3, 0.1]])
    values, updates = metrics.aggregate_metric_map(
        {
            "precision": metrics.streaming_precision(predictions, labels),
            "recall": metrics.streaming_recall(predictions, labels),
            "iou": metrics.streaming_mean_iou(predictions, labels, 2),
            "top": metrics.streaming_recall_at_k(scores, tf.constant([2, 2], tf.int64), 2),
            "sparse": metrics.streaming_sparse_recall_at_k(
                scores, tf.constant([[2], [2]], tf.int64), 2
            ),
            "mean": metrics.streaming_mean([1.0, 3.0]),
            "less": metrics.streaming_percentage_less([1.0, 3.0], 2.0),
            "at": metrics.streaming_precision_at_thresholds([0.2, 0.8], [False, True], [0.1, 0.5]),
        }
    )
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run(updates)
        got = sess.run(values)
    assert np.isclose(got["precision"], 2 / 3) and got["recall"] == 1.0
    assert np.isclose(got["iou"], (1 / 2 + 2 / 3) / 2)
    assert got["top"] == got["sparse"] == 0.5 and got["mean"] == 2.0 and got["less"] == 0.5
    np.testing.assert_allclose(got["at"], [0.5, 1.0], atol=1e-6)
    with pytest.raises(ValueError, match="at least one"):
        metrics.aggregate_metrics()


def model() -> Any:
    x = tf.constant(np.random.RandomState(0).randn(32, 3).astype(np.float32))
    y = tf.matmul(x, tf.constant([[1.0], [-2.0], [0.5]]))
    hidden = slim.batch_norm(slim.fully_connected(x, 8), is_training=True)
    return slim.losses.mean_squared_error(slim.fully_connected(hidden, 1, activation_fn=None), y)


def test_slim_trains_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    losses = []
    for steps in (30, 60):
        with tf.Graph().as_default():
            tf.set_random_seed(0)
            train_op = slim.learning.create_train_op(
                model(),
                tf.train.AdamOptimizer(0.05),
                clip_gradient_norm=5.0,
                summarize_gradients=True,
            )
            logdir = str(tmp_path / "train")
            losses.append(slim.learning.train(train_op, logdir, number_of_steps=steps))
            assert tf.train.latest_checkpoint(logdir).endswith(f"model.ckpt-{steps}")
    assert losses[1] < losses[0]
    with pytest.raises(ValueError, match="train_op"):
        slim.learning.train(None, None)


def test_a_train_op_runs_updates_first_and_checks_the_loss() -> None:
    w = tf.Variable([1.0, 1.0])
    counted = tf.Variable(0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(counted, 1))
    scale = tf.placeholder_with_default(1.0, [])
    train_op = slim.learning.create_train_op(
        tf.reduce_sum(w * [2.0, 4.0]) * scale,
        tf.train.GradientDescentOptimizer(1.0),
        gradient_multipliers={w.op.name: 0.5},
    )
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(train_op) == 6.0
        np.testing.assert_allclose(sess.run(w), [0.0, -1.0])
        assert sess.run([counted, tf.train.get_global_step()]) == [1, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="LossTensor is inf or nan"):
            sess.run(train_op, {scale: np.inf})
    assert train_op in tf.get_collection(tf.GraphKeys.TRAIN_OP)


def small_train_op(optimizer: Any = None) -> Any:
    w = tf.Variable([3.0])
    loss = slim.losses.mean_squared_error(w * [2.0], [4.0])
    return slim.learning.create_train_op(loss, optimizer or tf.train.GradientDescentOptimizer(0.05))


def test_slim_training_begins_anew_and_ends_with_its_input(tmp_path: Path) -> None:
    seen: list[int] = []

    def step(session: Any, train_op: Any, global_step: Any, arguments: dict[str, Any]) -> Any:
        found = slim.learning.train_step(session, train_op, global_step, arguments)
        seen.append(int(session.run(global_step)))
        if len(seen) == 2:
            raise tf.errors.AbortedError(None, None, "a task is gone")
        if len(seen) == 5:
            raise tf.errors.OutOfRangeError(None, None, "no more input")
        return found

    slim.learning.train(small_train_op(), str(tmp_path), step, number_of_steps=50)
    assert seen == [1, 2, 1, 2, 3]
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-3")


@pytest.mark.threads
def test_slim_trains_with_a_synchronous_optimizer(tmp_path: Path) -> None:
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.05), replicas_to_aggregate=1, total_num_replicas=1
    )
    train_op = small_train_op(optimizer)
    train = slim.learning.train
    loss = train(train_op, str(tmp_path), number_of_steps=20, sync_optimizer=optimizer)
    assert loss < 0.01
    with pytest.raises(ValueError, match="startup_delay_steps"):
        train(train_op, None, sync_optimizer=optimizer, startup_delay_steps=3)
    with pytest.raises(ValueError, match="SyncReplicasOptimizer"):
        train(train_op, None, sync_optimizer=[tf.train.GradientDescentOptimizer(0.1)])


def test_slim_traces_some_steps(tmp_path: Path) -> None:
    slim.learning.train(small_train_op(), str(tmp_path), number_of_steps=5, trace_every_n_steps=2)
    assert sorted(p.name for p in tmp_path.glob("tf_trace-*")) == [
        "tf_trace-1.json",
        "tf_trace-3.json",
        "tf_trace-5.json",
    ]
    assert "traceEvents" in (tmp_path / "tf_trace-3.json").read_text()
    for name in ("summary_op", "saver", "trace_every_n_steps"):
        with pytest.raises(ValueError, match=f"{name} writes to logdir"):
            slim.learning.train("op", None, number_of_steps=5, **{name: 3})
    with pytest.raises(ValueError, match="should_trace"):
        slim.learning.train_step(None, None, None, {"should_trace": True})


def test_multipliers_of_gradients_are_a_dict_for_a_list() -> None:
    v = tf.Variable([1.0])
    pair = (tf.constant([1.0]), v)
    multiply = tf.contrib.training.multiply_gradients
    for pairs, multipliers in (
        (pair, {v: 2.0}),
        ([pair], {}),
        ([pair], 3),
        ([(None, v)], {v: 2.0}),
    ):
        with pytest.raises(ValueError):
            multiply(pairs, multipliers)
    assert run(multiply([pair], {v: 2.0})[0][0]) == [2.0]


def test_texts_that_assign_hyperparameters() -> None:
    parse_values = tf.contrib.training.parse_values
    kinds = {"a": int, "b": bool, "c": str, "d": float}
    assert parse_values("a[0]=5,b[1]=true,c[2]=abc,d[3]=3.14", kinds) == {
        "a": {0: 5},
        "b": {1: True},
        "c": {2: "abc"},
        "d": {3: 3.14},
    }
    assert parse_values("a=[1,2],z=3", kinds, ignore_unknown=True) == {"a": [1, 2]}
    for text in (
        "z=1",
        "a[1]=[1,2]",
        "a=1,a=1",
        "a=[1],a[0]=1",
        "a[0]=1,a[0]=2",
        "a[0]=1,a=2",
        "a=x",
    ):
        with pytest.raises(ValueError):
            parse_values(text, kinds)
    hparams = tf.contrib.training.HParams(aaa=[1], b=2.0)
    assert hparams.set_from_map({"b": 3.0}).b == 3.0
    with pytest.raises(ValueError):
        hparams.parse("aaa=123")
    assert hparams.get("b", 1.0) == 3.0
    for name, default in (("b", False), ("aaa", 1), ("aaa", [1.5])):
        with pytest.raises(ValueError, match="default"):
            hparams.get(name, default)
    with pytest.raises(AssertionError, match="HParamDef"):
        tf.contrib.training.HParams(hparam_def=hparams)


def test_hyperparameters_as_tensorflows_message() -> None:
    values = {"rate": 0.5, "layers": [3, 4], "name": "x", "is_deep": True, "names": ["a", "b"]}
    values |= {"number": 7, "rates": [0.25], "truths": [True, False]}
    message = tf.contrib.training.HParams(**values).to_proto()
    # As TensorFlow 1.15 serializes one of them.
    assert tf.contrib.training.HParams(a=[1, 2]).to_proto().SerializeToString() == (
        b'\n\x0b\n\x01a\x12\x06"\x04\n\x02\x01\x02'
    )
    again = tf.contrib.training.HParams(
        hparam_def=type(message).FromString(message.SerializeToString())
    )
    assert again.values() == values
    assert again.parse("layers=[5],rate=2").values() == {**values, "layers": [5], "rate": 2.0}
    with pytest.raises(ValueError, match="Unsupported parameter type"):
        tf.contrib.training.HParams(none=None).to_proto()


def test_training_ends_when_a_hook_says_so(tmp_path: Path) -> None:
    loss = model()
    train_op = tf.contrib.training.create_train_op(
        loss,
        tf.train.GradientDescentOptimizer(0.1),
        transform_grads_fn=tf.contrib.training.clip_gradient_norms_fn(1.0),
    )
    hooks = [tf.train.StopAtStepHook(num_steps=20)]
    last = tf.contrib.training.train(train_op, str(tmp_path), hooks=hooks)
    assert np.isfinite(last)
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-20")


def test_embeddings_of_a_class_come_together() -> None:
    learning = tf.contrib.losses.metric_learning
    e = np.random.RandomState(0).randn(7, 3).astype(np.float32)
    labels = np.array([0, 0, 1, 1, 2, 2, 2])
    d = ((e[:, None] - e[None]) ** 2).sum(-1)
    terms = []
    for a in range(7):
        for p in range(7):
            if a != p and labels[a] == labels[p]:
                others = d[a][labels != labels[a]]
                beyond = others[others > d[a, p]]
                negative = beyond.min() if len(beyond) else others.max()
                terms.append(max(1 + d[a, p] - negative, 0))
    tensor = tf.constant(e)
    triplet = learning.triplet_semihard_loss(labels, tensor)
    got, slope = run([triplet, tf.gradients(triplet, tensor)[0]])
    np.testing.assert_allclose(got, np.mean(terms), rtol=1e-4)
    assert np.isfinite(slope).all() and slope.any()
    pairs = np.sqrt(((e[:3] - e[3:6]) ** 2).sum(1))
    expected = np.mean([pairs[0] ** 2, max(3 - pairs[1], 0) ** 2, pairs[2] ** 2])
    contrastive = learning.contrastive_loss([1, 0, 1], e[:3], e[3:6], margin=3.0)
    np.testing.assert_allclose(run(contrastive), expected, rtol=1e-5)
    similarity = e[:3] @ e[3:6].T
    logs = similarity - np.log(np.exp(similarity).sum(1, keepdims=True))
    norms = (e[:3] ** 2).sum(1).mean() + (e[3:6] ** 2).sum(1).mean()
    expected = -np.diag(logs).mean() + 0.25 * 0.002 * norms
    np.testing.assert_allclose(
        run(learning.npairs_loss([0, 1, 2], e[:3], e[3:6])), expected, rtol=1e-5
    )


def test_losses_of_lifted_structures_and_of_several_labels():
    """Values of TensorFlow 1.15."""
    learning = tf.contrib.losses.metric_learning
    draws = np.random.RandomState(0)
    anchor = tf.constant(draws.randn(8, 4).astype(np.float32))
    other = tf.constant(draws.randn(8, 4).astype(np.float32))
    labels = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    lifted = learning.lifted_struct_loss(labels, anchor)
    second = [1, 2, 0, 2, 2, 0, 1, 0]
    several = [
        tf.SparseTensor([[int(a)], [int(b)]], [1, 1], [3])
        if a < b
        else tf.SparseTensor([[int(a)]], [1], [3])
        for a, b in zip(labels, second, strict=True)
    ]
    shared = learning.npairs_loss_multilabel(several, anchor, other)
    (slope,) = tf.gradients(lifted, anchor)
    with tf.Session() as session:
        found = session.run([lifted, learning.lifted_struct_loss(labels, anchor, 2.0), shared])
        np.testing.assert_allclose(found, [6.2780194, 10.28028, 3.1506956], rtol=1e-5)
        expected = [-0.08432, 0.42266, 0.12201, 0.45682]
        np.testing.assert_allclose(session.run(slope)[0], expected, atol=1e-4)
        point = tf.ones([3, 2])
        same = learning.lifted_struct_loss([1, 1, 2], point)  # no slope at no distance
        assert np.isfinite(session.run(tf.gradients(same, point)[0])).all()
    with pytest.raises(TypeError, match="list of SparseTensors"):
        learning.npairs_loss_multilabel([anchor], anchor, other)


def test_losses_of_contrib_collect_as_the_scope_of_add_loss_says() -> None:
    losses = tf.contrib.losses
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.contrib.framework.arg_scope([losses.add_loss], loss_collection=None):
            losses.absolute_difference([1.0], [2.0])
            losses.log_loss([0.5], [1.0])
        assert losses.get_losses() == []
        found = losses.mean_squared_error([[1.0], [2.0]], [[3.0], [2.0]], weights=[1.0, 0.0])
        assert losses.get_losses() == [found] and sess.run(found) == 4.0
        # Weights of whole examples; 1.15 gives the same.
        predictions = tf.constant([[4.0, 8.0, 12.0], [8.0, 1.0, 3.0]])
        labels = tf.constant([[1.0, 9.0, 2.0], [-5.0, -2.0, 6.0]])
        pairs = losses.mean_pairwise_squared_error(predictions, labels, weights=[2.0, 3.0])
        assert sess.run(pairs) == pytest.approx(344.0, rel=1e-6)


def test_accuracy_of_a_batch_needs_one_dtype() -> None:
    accuracy = tf.contrib.metrics.accuracy
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(accuracy(["a", "b"], ["a", "c"])) == 0.5
        for predictions, labels in (([1, 2], [1.0, 2.0]), ([1.0, 2.0], [1, 2])):
            with pytest.raises(ValueError, match="[Dd]type"):
                accuracy(predictions, labels)
