"""``tf.contrib.quantize``: graphs that train, and compute, as with integers of few bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.quantize.folding import fold_batch_norms

L = tf.contrib.layers
Q = tf.contrib.quantize

pytestmark = pytest.mark.usefixtures("graph")
X = np.random.default_rng(0).normal(size=(6, 4, 8, 8, 3)).astype(np.float32)


def separable(x: Any, training: bool) -> Any:
    """A convolution, a depthwise and a pointwise one, each with its normalization."""
    normal = {
        "normalizer_fn": L.batch_norm,
        "normalizer_params": {"is_training": training, "decay": 0.9, "scale": True},
    }
    h = L.conv2d(x, 4, 3, scope="c1", **normal)
    h = L.separable_conv2d(h, None, 3, depth_multiplier=1, scope="dw", **normal)
    h = L.conv2d(h, 4, 1, activation_fn=tf.nn.relu6, scope="pw", **normal)
    h = tf.reduce_mean(h, [1, 2], keepdims=True)
    h = L.conv2d(h, 3, 1, activation_fn=None, normalizer_fn=None, scope="out")
    return tf.squeeze(h, [1, 2])


def residual(x: Any, training: bool) -> Any:
    """A convolution with its normalization, another with a bypass around it, a dense layer."""
    h = tf.layers.conv2d(x, 4, 3, use_bias=False, name="c1")
    h = tf.nn.relu(tf.layers.batch_normalization(h, training=training, momentum=0.9, name="b1"))
    h = tf.nn.relu(tf.layers.conv2d(h, 4, 3, padding="same", name="c2") + h)
    return tf.layers.dense(tf.layers.flatten(h), 3, name="d")


def fake_quantizations() -> list[str]:
    ops = tf.get_default_graph().get_operations()
    return [op.name for op in ops if op.type == "FakeQuantWithMinMaxVars"]


def test_quantizations_are_where_tensorflow_has_them() -> None:
    residual(tf.placeholder(tf.float32, [4, 8, 8, 3]), True)
    Q.create_training_graph()
    assert sorted(fake_quantizations()) == [  # those of TensorFlow 1.15.5
        f"{name}/FakeQuantWithMinMaxVars"
        for name in (
            "act_quant",
            "c1/act_quant",
            "c1/weights_quant",
            "c2/conv_quant",
            "c2/weights_quant",
            "d/act_quant",
            "d/weights_quant",
        )
    ]
    names = [v.name for v in tf.global_variables() if "quant" in v.name]
    assert "c1/weights_quant/max:0" in names and "c2/conv_quant/min:0" in names
    assert "act_quant/act_quant/max/biased:0" in names


@pytest.mark.parametrize("net", [separable, residual])
@pytest.mark.parametrize("training", [True, False])
def test_folding_changes_no_number(net: Any, training: bool) -> None:
    def outputs_and_gradients(is_folded: bool) -> Any:
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            tf.set_random_seed(3)
            x = tf.placeholder(tf.float32, [4, 8, 8, 3])
            y = net(x, training)
            if is_folded:
                before = len(graph.get_operations())
                fold_batch_norms(graph, None)
                assert len(graph.get_operations()) > before
            grads = tf.gradients(tf.reduce_sum(tf.square(y)), tf.trainable_variables())
            sess.run(tf.global_variables_initializer())
            for v in tf.trainable_variables():  # the same in both graphs
                size = v.shape.num_elements()
                v.load(np.sin(np.arange(size)).reshape(v.shape.as_list()), sess)
            return sess.run([y, *grads], {x: X[0]})

    for plain, folded in zip(
        outputs_and_gradients(False), outputs_and_gradients(True), strict=True
    ):
        scale = np.abs(plain).max() + 1e-6
        np.testing.assert_allclose(folded / scale, plain / scale, atol=2e-4)


@pytest.mark.parametrize(
    "how", [{}, {"quant_delay": 3}, {"freeze_bn_delay": 3, "symmetric": True, "weight_bits": 6}]
)
def test_a_network_learns_and_its_limits_follow(how: dict[str, Any]) -> None:
    labels = np.array([0, 1, 2, 0])
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [4, 8, 8, 3])
        loss = tf.losses.sparse_softmax_cross_entropy(labels, residual(x, True))
        Q.experimental_create_training_graph(**how)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(updates):
            step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
        sess.run(tf.global_variables_initializer())
        losses = [sess.run([loss, step], {x: X[0]})[0] for _ in range(12)]
        assert losses[-1] < losses[0] / 2
        trained = {v.name: v.eval(sess) for v in tf.global_variables()}
    low, high = trained["c1/weights_quant/min:0"], trained["c1/weights_quant/max:0"]
    assert low < 0 < high and (low == -high) == bool(how.get("symmetric"))
    assert trained["c1/act_quant/max:0"] > 0
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [4, 8, 8, 3])
        y = residual(x, False)
        bits = {"weight_bits": how["weight_bits"]} if "weight_bits" in how else {}
        Q.experimental_create_eval_graph(symmetric=bool(how.get("symmetric")), **bits)
        for v in tf.global_variables():
            v.load(trained[v.name], sess)
        assert np.isfinite(sess.run(y, {x: X[0]})).all()
        weights = sess.run("c1/weights_quant/FakeQuantWithMinMaxVars:0")
        assert len(np.unique(weights)) <= 2 ** how.get("weight_bits", 8)


def test_rewriting_twice_is_rewriting_once() -> None:
    separable(tf.placeholder(tf.float32, [4, 8, 8, 3]), False)
    Q.create_eval_graph()
    once = [op.name for op in tf.get_default_graph().get_operations()]
    Q.create_eval_graph()
    assert [op.name for op in tf.get_default_graph().get_operations()] == once


def test_a_scope_alone_is_rewritten() -> None:
    h = L.conv2d(tf.ones([1, 8, 8, 3]), 2, 3, scope="one")
    L.conv2d(h, 2, 3, scope="two")
    Q.experimental_create_training_graph(scope="one", activation_bits=4)
    names = fake_quantizations()
    assert len(names) == 2 and all(name.startswith("one/") for name in names)
    op = tf.get_default_graph().get_operation_by_name("one/act_quant/FakeQuantWithMinMaxVars")
    assert op.get_attr("num_bits") == 4


def test_what_comes_after_an_activation_is_quantized() -> None:
    h = L.conv2d(tf.ones([1, 8, 8, 3]), 2, 3, scope="c")
    with tf.name_scope("later"):
        tf.identity(h * 2.0 + h, name="used")
    Q.create_training_graph()
    assert "later/mul/activation_Mul_quant/FakeQuantWithMinMaxVars" in fake_quantizations()


def test_graphs_with_gradients_are_refused() -> None:
    loss = tf.reduce_sum(L.conv2d(tf.ones([1, 8, 8, 3]), 2, 3))
    tf.train.AdamOptimizer().minimize(loss)
    with pytest.raises(ValueError, match=r"ApplyAdam.*before minimize"):
        Q.create_training_graph()


def test_a_normalization_without_its_updates_is_refused() -> None:
    y = tf.nn.conv2d(tf.ones([1, 4, 4, 2]), tf.Variable(tf.ones([1, 1, 2, 3])), [1] * 4, "SAME")
    tf.nn.relu(tf.nn.fused_batch_norm(y, [1.0] * 3, [0.0] * 3)[0])
    with pytest.raises(ValueError, match="moving averages"):
        Q.create_training_graph()
