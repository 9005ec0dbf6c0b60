"""Names of ``tf.contrib`` that few programs use: GDN, clipped variables, tables in one call."""

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("fresh_graph")


def run(fetch):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return sess.run(fetch)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("rank", [2, 4])
def test_gdn_divides_and_multiplies(data_format, rank):
    x = np.random.default_rng(0).random((2, 3, 3, 3)[:rank]).astype(np.float32)
    root = np.sqrt(1 + 0.1 * x**2)
    for inverse, expected in ((False, x / root), (True, x * root)):
        found = tf.contrib.layers.gdn(x, inverse=inverse, data_format=data_format)
        assert found.shape == x.shape
        np.testing.assert_allclose(run(found), expected, rtol=1e-4)
    assert [v.name for v in tf.trainable_variables()][:2] == [
        "gdn/reparam_beta:0",
        "gdn/reparam_gamma:0",
    ]
    assert tf.gradients(found, tf.trainable_variables()[-1])[0] is not None


def test_gdn_needs_its_channels():
    with pytest.raises(ValueError, match="channel"):
        tf.contrib.layers.gdn(tf.placeholder(tf.float32, [2, None]))
    with pytest.raises(ValueError, match="data format"):
        tf.contrib.layers.GDN(data_format="NHWC")


@pytest.mark.parametrize("sparse", [False, True])
def test_variables_are_clipped_after_each_step(sparse):
    rows = tf.Variable([[3.0, 4.0], [0.3, 0.4]])
    other = tf.Variable([3.0, 4.0])
    used = tf.gather(rows, [0]) if sparse else rows
    optimizer = tf.contrib.opt.VariableClippingOptimizer(
        tf.train.GradientDescentOptimizer(0.0), {rows: [1]}, 1.0
    )
    train = optimizer.minimize(tf.reduce_sum(used) + tf.reduce_sum(other))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(rows), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
        assert sess.run(other).tolist() == [3, 4]
    if sparse:
        clipped = tf.contrib.opt.VariableClippingOptimizer(
            tf.train.GradientDescentOptimizer(0.1), {rows: [0]}, 1.0
        )
        with pytest.raises(ValueError, match="sparse"):
            clipped.minimize(tf.reduce_sum(used), var_list=[rows])


def test_tables_in_one_call():
    lookup = tf.contrib.lookup
    words = tf.constant(["a", "b"])
    assert run(lookup.string_to_index(tf.constant(["b", "z"]), words)).tolist() == [1, -1]
    texts = lookup.index_to_string(tf.constant([1, 7], tf.int64), words, default_value="?")
    assert run(texts).tolist() == [b"b", b"?"]


def test_losses_in_their_old_order():
    nn = tf.contrib.nn
    logits, labels = [[1.0, 2.0]], [[0.0, 1.0]]
    expected = np.log1p(np.exp(-1.0))
    for loss in (
        nn.deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels),
        nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, [1]),
    ):
        assert run(loss).tolist() == pytest.approx([expected])
    loss = nn.deprecated_flipped_sigmoid_cross_entropy_with_logits([0.0], [1.0])
    assert run(loss).tolist() == pytest.approx([np.log(2)])


def test_a_tensor_that_prints_itself(capfd: pytest.CaptureFixture[str]) -> None:
    show = tf.contrib.framework.print_op
    with tf.Graph().as_default(), tf.Session() as session:
        found = show(tf.constant([False, True], name="truth"), [tf.constant(7)], message="here ")
        assert session.run(found).tolist() == [False, True]
        assert capfd.readouterr().err.startswith(
            "here [Name: truth:0][Type: Tensor (bool)][Shape: [Dimension(2)]]"
            "[First True in Boolean tensor at:][1][Value:]"
        )
        sparse = show(tf.SparseTensor([[0, 1]], [5], [2, 3]))
        assert session.run(sparse).values.tolist() == [5]
        assert (
            "[Type: SparseTensor (int32)][Shape:][2 3][Sparse indices:]" in capfd.readouterr().err
        )
        parts = tf.TensorArray(tf.int32, 2, clear_after_read=False).unstack([3, 4])
        assert session.run(show(parts).stack()).tolist() == [3, 4]
        assert "[Type: TensorArray (int32)][Size:][2][Value:][3 4]" in capfd.readouterr().err
        v = tf.Variable(1.5)
        session.run(tf.global_variables_initializer())
        assert session.run(show(v)) == 1.5
        assert "[Type: Variable (float32" in capfd.readouterr().err
        with pytest.raises(ValueError, match="must be a Tensor"):
            show([1])
