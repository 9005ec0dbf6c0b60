"""`tf.contrib.gan.features`: numbers that TensorFlow 1.15 with TFGAN gives, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

features = tf.contrib.gan.features
pytestmark = pytest.mark.usefixtures("session")


def normal(seed: int, *shape: int) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def test_a_tensor_by_a_condition(session: Any) -> None:
    labels = np.eye(3, dtype=np.float32)[[2, 0]]
    tensor = tf.zeros([2, 2, 2])
    result = features.condition_tensor_from_onehot(tensor, tf.constant(labels), embedding_size=4)
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["embedding", "fully_connected/weights", "fully_connected/biases"]
    session.run(tf.global_variables_initializer())
    value, embedding, weights = session.run([result, *tf.global_variables()[:2]])
    expected = (embedding[[2, 0]] @ weights).reshape(2, 2, 2)
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="conditioning must be at least 2D"):
        features.condition_tensor(tensor, tf.zeros([2]))


def test_a_batch_of_unknown_size_by_a_condition(session: Any) -> None:
    tensor = tf.placeholder(tf.float32, [None, 2, 2])
    result = features.condition_tensor(
        tensor, tf.placeholder_with_default(np.eye(3, dtype="f"), [None, 3])
    )
    session.run(tf.global_variables_initializer())
    assert session.run(result, {tensor: np.zeros([3, 2, 2])}).shape == (3, 2, 2)


def test_the_spectral_norm(session: Any) -> None:
    tf.get_variable("norm/spectral_norm_u", initializer=np.ones((4, 1), np.float32))
    with tf.variable_scope("", reuse=True):
        norm = features.compute_spectral_norm(
            tf.constant(normal(8, 4, 3)), 3, training=False, name="norm"
        )
    session.run(tf.global_variables_initializer())
    assert session.run(norm) == pytest.approx(4.67729, rel=1e-5)


def test_iterations_go_on_while_training(session: Any) -> None:
    w = normal(0, 2, 3, 4)
    normalized = features.spectral_normalize(tf.constant(w))
    assert [v.trainable for v in tf.global_variables()] == [False]
    session.run(tf.global_variables_initializer())
    for _ in range(100):
        value = session.run(normalized)
    assert value.shape == (2, 3, 4)
    assert np.linalg.svd(value.reshape(6, 4))[1][0] == pytest.approx(1.0, rel=1e-4)


def test_layers_whose_weights_are_normalized(session: Any) -> None:
    getter = features.spectral_normalization_custom_getter()
    with tf.variable_scope("net", custom_getter=getter):
        output = tf.layers.dense(tf.eye(3), 2)
    assert sorted(v.op.name for v in tf.global_variables()) == [
        "net/dense/bias",
        "net/dense/kernel",
        "net/dense/net/dense/kernel/spectral_normalize/spectral_norm/spectral_norm_u",
    ]
    session.run(tf.global_variables_initializer())
    for _ in range(100):
        value = session.run(output)
    assert np.linalg.svd(value)[1][0] == pytest.approx(1.0, rel=1e-4)
    with tf.variable_scope("refused", custom_getter=getter):
        with pytest.raises(ValueError, match="multi-dimensional"):
            tf.get_variable("kernel", [3])
        with pytest.raises(ValueError, match="Disallowed data type"):
            tf.get_variable("kernel", [3, 3], tf.int32)
    with pytest.raises(ValueError, match="name_filter must be callable"):
        features.spectral_normalization_custom_getter("kernel")


def test_the_spectral_norm_as_a_regularizer(session: Any) -> None:
    regularizer = features.spectral_norm_regularizer(0.5)
    kernel = tf.get_variable(
        "v", initializer=np.diag([3.0, 1.0]).astype("f"), regularizer=regularizer
    )
    loss = tf.losses.get_regularization_loss()
    session.run(tf.global_variables_initializer())
    for _ in range(50):
        value = session.run(loss)
    assert value == pytest.approx(1.5, rel=1e-4) and kernel.shape == (2, 2)
    assert features.spectral_norm_regularizer(0.0)(kernel) is None
    with pytest.raises(ValueError, match="cannot be an integer"):
        features.spectral_norm_regularizer(1)
    with pytest.raises(ValueError, match="less than 0"):
        features.spectral_norm_regularizer(-0.5)


X, Y = normal(9, 5, 2, 3), normal(10, 2, 2, 3)


def test_normalization_by_a_reference_batch(session: Any) -> None:
    norm = features.VBN(tf.constant(X))
    reference, value = norm.reference_batch_normalization(), norm(tf.constant(Y))
    assert [v.op.name for v in tf.global_variables()] == ["VBN/beta", "VBN/gamma"]
    session.run(tf.global_variables_initializer())
    mean, variance = X.mean((0, 1)), X.var((0, 1))
    expected = (X - mean) / np.sqrt(variance + 1e-3)
    np.testing.assert_allclose(session.run(reference), expected, rtol=1e-4, atol=1e-6)
    by_tensorflow = [
        [[1.95575, 0.492761, -1.16713], [-0.0908542, 0.359135, -0.456962]],
        [[0.589585, -0.279929, -0.0857772], [-0.228713, 0.18815, 0.984442]],
    ]
    np.testing.assert_allclose(session.run(value), by_tensorflow, rtol=1e-4)


def test_the_axes_of_normalization(session: Any) -> None:
    second = features.VBN(tf.constant(X), axis=1)(tf.constant(Y))
    swapped = features.VBN(tf.constant(X.transpose(1, 0, 2)), axis=0, batch_axis=1, name="swapped")
    again = swapped(tf.constant(Y.transpose(1, 0, 2)))
    session.run(tf.global_variables_initializer())
    by_tensorflow = [
        [[1.34731, 0.67063, -1.81151], [-0.0651228, 0.643793, -0.866331]],
        [[0.221212, 0.0143693, -0.123018], [-0.344705, 0.328323, 1.18121]],
    ]
    np.testing.assert_allclose(session.run(second), by_tensorflow, rtol=1e-4)
    np.testing.assert_allclose(session.run(again).transpose(1, 0, 2), by_tensorflow, rtol=1e-4)


def test_what_is_no_reference_batch() -> None:
    with pytest.raises(ValueError, match="`axis` and `batch_axis` cannot be the same"):
        features.VBN(tf.constant(X), axis=0)
    with pytest.raises(ValueError, match="3 is out of range for input with rank 3"):
        features.VBN(tf.constant(X), axis=3)
    with pytest.raises(ValueError, match="incompatible"):
        features.VBN(tf.constant(X))(tf.zeros([2, 2, 4]))


def test_weights_of_a_largest_norm(session: Any) -> None:
    v = tf.Variable([3.0, 4.0])
    optimizer = features.clip_variables(tf.train.GradientDescentOptimizer(0.0), [v], 1.0)
    step = optimizer.minimize(tf.reduce_sum(v))
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run(v), [0.6, 0.8], rtol=1e-6)
    with pytest.raises(ValueError, match="must be positive"):
        features.clip_variables(optimizer, [v], -1)


def test_a_pool_of_earlier_tensors(session: Any) -> None:
    counter = tf.Variable(0.0)
    now = counter.assign_add(1.0)
    pooled = features.tensor_pool({"a": now, "b": tf.stack([now, -now])}, 2, 1.0)
    assert pooled["b"].shape == (2,)
    session.run(tf.global_variables_initializer())
    seen = [session.run(pooled) for _ in range(6)]
    assert [value["a"] for value in seen[:2]] == [1.0, 2.0], "until the pool is full, what comes"
    for step, value in enumerate(seen, start=1):
        assert value["b"].tolist() == [value["a"], -value["a"]], "all of one step"
        assert value["a"] < step or step <= 2
    assert features.tensor_pool(now, 0) is now
    with pytest.raises(ValueError, match="`pool_size` is negative"):
        features.tensor_pool(now, -1)
