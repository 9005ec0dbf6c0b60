"""``tf.contrib``: the older layers, argument scopes, sequence losses, vocabularies."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import dataflow as tf

layers = tf.contrib.layers


pytestmark = pytest.mark.usefixtures("graph")


def names() -> list[str]:
    return [v.op.name for v in tf.global_variables()]


def test_fully_connected() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = layers.fully_connected(x, 2)
    layers.fully_connected(x, 2, scope="mine", activation_fn=None)
    layers.fully_connected(x, 2, scope="mine", reuse=True)
    assert names() == [
        "fully_connected/weights",
        "fully_connected/biases",
        "mine/weights",
        "mine/biases",
    ]
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        w, out = s.run(["fully_connected/weights:0", y], {x: np.eye(3)})
    np.testing.assert_allclose(out, np.maximum(w, 0), rtol=1e-6)


def test_arg_scopes() -> None:
    x = tf.zeros([1, 3])
    scope = tf.contrib.framework.arg_scope
    with scope([layers.fully_connected], activation_fn=None, biases_initializer=None):
        a = layers.fully_connected(x, 2)
        with scope([layers.fully_connected], activation_fn=tf.nn.tanh) as kept:
            b = layers.fully_connected(x, 2)
    c = layers.fully_connected(x, 2)
    with scope(kept):
        d = layers.fully_connected(x, 2, activation_fn=tf.nn.sigmoid)
    assert [t.op.type for t in (a, b, c, d)] == ["MatMul", "Tanh", "Relu", "Sigmoid"]
    assert sum(n.endswith("biases") for n in names()) == 1
    with pytest.raises(ValueError, match="add_arg_scope"), scope([tf.matmul], name="x"):
        pass


def test_restoring_a_part_of_a_network(tmp_path: Path) -> None:
    framework = tf.contrib.framework
    with tf.Graph().as_default(), tf.Session() as s:
        tf.get_variable("kept/w", initializer=[1.0, 2.0, 3.0, 4.0])
        s.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(s, str(tmp_path / "model"))
    assert framework.list_variables(path) == [("kept/w", [4])]
    assert framework.load_variable(path, "kept/w").tolist() == [1, 2, 3, 4]
    w = tf.get_variable("kept/w", [2, 2])
    head = tf.get_variable("head/w", [3], initializer=tf.ones_initializer())
    restore = framework.assign_from_checkpoint_fn
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        restore(path, [w, head], ignore_missing_vars=True, reshape_variables=True)(s)
        assert s.run(w).tolist() == [[1, 2], [3, 4]] and s.run(head).tolist() == [1, 1, 1]
        restore(path, {"kept/w": w}, reshape_variables=True)(s)
        with pytest.raises(tf.errors.NotFoundError, match="head/w"):
            restore(path, [head])(s)
    assert restore(path, [head], ignore_missing_vars=True) is None
    with pytest.raises(ValueError, match="var_list cannot be empty"):
        restore(path, [])


def test_structures_and_order() -> None:
    framework = tf.contrib.framework
    assert framework.nest.flatten({"b": (1, [2]), "a": 3}) == [3, 1, 2]
    assert framework.is_tensor(tf.zeros([])) and not framework.is_tensor(np.zeros([]))
    with tf.Session() as s:
        assert s.run(framework.argsort([3, 1, 2])).tolist() == [1, 2, 0]


def test_convolutions_and_batch_norm() -> None:
    x = tf.ones([2, 8, 8, 3])
    y = layers.conv2d(x, 4, 3, normalizer_fn=layers.batch_norm, scope="c")
    assert y.shape.as_list() == [2, 8, 8, 4]
    assert names() == [
        "c/weights",
        "c/BatchNorm/beta",
        "c/BatchNorm/moving_mean",
        "c/BatchNorm/moving_variance",
    ]
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2
    assert layers.max_pool2d(y, 2).shape.as_list() == [2, 4, 4, 4]
    assert layers.flatten(y).shape.as_list() == [2, 256]


def test_updates_inside_the_layer() -> None:
    x = tf.constant(np.random.RandomState(0).randn(50, 2).astype(np.float32) + 5)
    y = layers.batch_norm(x, decay=0.5, updates_collections=None)
    assert not tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        s.run(y)
        mean = s.run("BatchNorm/moving_mean:0")
    np.testing.assert_allclose(mean, [2.5, 2.5], atol=0.3)


def test_regularizers() -> None:
    w = tf.constant([3.0, -4.0])
    with tf.Session() as s:
        values = s.run(
            [
                layers.l2_regularizer(0.5)(w),
                layers.l1_regularizer(0.5)(w),
                layers.l1_l2_regularizer(0.5, 0.5)(w),
            ]
        )
    assert values == pytest.approx([6.25, 3.5, 9.75])
    assert layers.l2_regularizer(0.0)(w) is None
    with pytest.raises(ValueError, match="less than 0"):
        layers.l2_regularizer(-1.0)


def test_initializers_have_their_spread() -> None:
    shape = [400, 300]
    with tf.Session() as s:
        xavier = s.run(layers.xavier_initializer(seed=1)(shape))
        he = s.run(layers.variance_scaling_initializer(seed=1)(shape))
    assert np.abs(xavier).max() <= np.sqrt(6 / 700)
    assert xavier.std() == pytest.approx(np.sqrt(2 / 700), rel=0.02)
    assert he.std() == pytest.approx(np.sqrt(2 / 400), rel=0.02)
    # Not as precisely cut as tf.variance_scaling_initializer, so that seeds give TensorFlow's numbers.
    stddev = tf.get_default_graph().get_tensor_by_name("truncated_normal/stddev:0")
    assert tf.contrib.util.constant_value(stddev) == pytest.approx(np.sqrt(2.6 / 400), rel=1e-6)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", tf.train.AdagradOptimizer])
def test_optimize_loss(optimizer) -> None:
    w = tf.Variable([2.0, -3.0])
    step = tf.train.get_or_create_global_step()
    train = layers.optimize_loss(tf.reduce_sum(w * w), step, 0.1, optimizer, clip_gradients=1.0)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        losses = [s.run(train) for _ in range(5)]
        assert s.run(step) == 5
        assert losses[-1] < losses[0]
    with pytest.raises(ValueError, match="should be one of"):
        layers.optimize_loss(tf.reduce_sum(w * w), step, 0.1, "Newton")


def test_sequence_losses_agree() -> None:
    rng = np.random.RandomState(0)
    logits = rng.randn(2, 3, 5).astype(np.float32)
    targets = rng.randint(0, 5, (2, 3))
    weights = np.array([[1, 1, 0], [1, 0, 0]], np.float32)
    e = np.exp(logits - logits.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    nll = -np.log(np.take_along_axis(p, targets[..., None], -1))[..., 0]
    loss = tf.contrib.seq2seq.sequence_loss(logits, targets, weights)
    steps = tf.contrib.legacy_seq2seq.sequence_loss_by_example(
        tf.unstack(tf.constant(logits), axis=1),
        tf.unstack(tf.constant(targets), axis=1),
        tf.unstack(tf.constant(weights), axis=1),
    )
    with tf.Session() as s:
        a, b = s.run([loss, steps])
    assert a == pytest.approx((nll * weights).sum() / weights.sum(), rel=1e-5)
    np.testing.assert_allclose(b, (nll * weights).sum(1) / weights.sum(1), rtol=1e-5)


def test_vocabularies(tmp_path) -> None:
    processor = tf.contrib.learn.preprocessing.VocabularyProcessor(4)
    rows = np.array(list(processor.fit_transform(["a bad movie", "a good good movie it was"])))
    assert rows.tolist() == [[1, 2, 3, 0], [1, 4, 4, 3]]
    assert len(processor.vocabulary_) == 7
    assert next(processor.transform(["unseen good"])).tolist() == [0, 4, 0, 0]
    assert next(processor.reverse(rows)) == "a bad movie <UNK>"
    path = str(tmp_path / "vocab")
    processor.save(path)
    again = tf.contrib.learn.preprocessing.VocabularyProcessor.restore(path)
    assert next(again.transform(["bad movie"])).tolist() == [2, 3, 0, 0]
    (tmp_path / "other").write_bytes(b"\x80\x03c")
    with pytest.raises(ValueError, match="pickle"):
        tf.contrib.learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "other"))


def test_what_is_missing_is_said() -> None:
    with pytest.raises(AttributeError, match="contrib.nothing"):
        tf.contrib.nothing


@pytest.mark.parametrize(("begin", "same"), [(-1, 2), (-2, 1), (-3, 0)])
def test_layer_norm_counts_axes_from_the_end(begin: int, same: int) -> None:
    x = np.random.RandomState(0).standard_normal((2, 3, 4)).astype(np.float32)
    got, wanted = (
        tf.contrib.layers.layer_norm(tf.constant(x), begin_norm_axis=axis) for axis in (begin, same)
    )
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        values = s.run([got, wanted])
    np.testing.assert_array_equal(*values)
    axes = tuple(range(same, 3))
    deviation = x.std(axes, keepdims=True)
    np.testing.assert_allclose(values[0], (x - x.mean(axes, keepdims=True)) / deviation, atol=1e-5)


def test_layer_norm_says_what_it_needs() -> None:
    x = tf.placeholder(tf.float32, [2, None, 4])
    with pytest.raises(ValueError, match="begin_norm_axis must be from -3 to 2 .* got 3"):
        tf.contrib.layers.layer_norm(x, begin_norm_axis=3)
    with pytest.raises(ValueError, match="begin_params_axis must be from -3 to 2 .* got -4"):
        tf.contrib.layers.layer_norm(x, begin_params_axis=-4)
    with pytest.raises(ValueError, match="must be known"):
        tf.contrib.layers.layer_norm(x, begin_params_axis=1)
    with pytest.raises(ValueError, match="undefined rank"):
        tf.contrib.layers.layer_norm(tf.placeholder(tf.float32))


@pytest.mark.parametrize("scale", [0, 1, "0.1", -1.0])
def test_scales_of_regularizers_are_floats(scale) -> None:
    for regularizer in (layers.l1_regularizer, layers.l2_regularizer):
        with pytest.raises(ValueError, match="scale"):
            regularizer(scale)


def test_regularization_that_is_off_or_no_scalar() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.ones([2])
        penalty = layers.apply_regularization(layers.l2_regularizer(0.0), [w, w])
        assert sess.run(penalty) == 0.0
        half = layers.l2_regularizer(tf.constant(0.5))
        assert sess.run(half(w)) == 0.5
        with pytest.raises(ValueError, match="rank 1"):
            layers.apply_regularization(lambda w: w, [w])


def test_outputs_are_collected_by_name() -> None:
    with tf.Graph().as_default():
        with tf.variable_scope("net"):
            x = tf.ones([1, 4, 4, 3])
            h = layers.conv2d(x, 2, 3, outputs_collections="ends", scope="conv1")
            p = layers.max_pool2d(h, 2, outputs_collections="ends", scope="pool1")
        assert h.aliases == ["net/conv1"]
        found = tf.contrib.slim.utils.convert_collection_to_dict("ends", clear_collection=True)
        assert found == {"net/conv1": h, "net/pool1": p}
        assert tf.get_collection("ends") == []
        with pytest.raises(ValueError, match="NCHW or NHWC"):
            layers.max_pool2d(x, 2, data_format="CHWN")
        with pytest.raises(TypeError, match="stack_args"):
            layers.stack(tf.ones([2, 3]), layers.relu, 3)


def test_optimize_loss_writes_summaries() -> None:
    with tf.Graph().as_default():
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        step = tf.train.get_or_create_global_step()
        layers.optimize_loss(
            w * w,
            step,
            0.1,
            "SGD",
            summaries=layers.OPTIMIZER_SUMMARIES,
            clip_gradients=0.5,
            learning_rate_decay_fn=lambda rate, step: rate / 2,
        )
        assert [v.op.name for v in tf.global_variables()][-1] == "OptimizeLoss/learning_rate"
        summaries = tf.summary.merge_all()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            from tensorboard.compat.proto.summary_pb2 import Summary

            values = {
                v.tag.removeprefix("OptimizeLoss/"): v.simple_value
                for v in Summary.FromString(sess.run(summaries)).value
            }
    assert values.pop("gradients/w_0") == 0.0  # a histogram
    assert values == {
        # Only a rate that decays is shown; the variable has the name itself, as in TensorFlow 1.15.
        "learning_rate_1": pytest.approx(0.05),
        "loss": 1.0,
        "global_norm/gradient_norm": 2.0,
        "global_norm/clipped_gradient_norm": 0.5,
        "gradient_norm/w_0": 0.5,
    }


def test_optimize_loss_adds_noise() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(1)
        w = tf.get_variable("w", [1000], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        train = layers.optimize_loss(
            tf.reduce_sum(w), step, 1.0, "SGD", gradient_noise_scale=0.1, summaries=[]
        )
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        moved = sess.run(w)
    assert moved.mean() == pytest.approx(-1.0, abs=0.02)
    assert 0.05 < moved.std() < 0.1  # normal noise, cut at two deviations


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"learning_rate": -0.1}, "must not be negative"),
        ({"learning_rate": "0.1"}, "a number or a tensor"),
        ({"summaries": ["bad"]}, "you provided bad"),
        ({"clip_gradients": 5}, "Unknown type int for clip_gradients"),
    ],
)
def test_optimize_loss_refuses(given, match) -> None:
    arguments = {"learning_rate": 0.1, **given}
    with tf.Graph().as_default():
        w = tf.get_variable("w", [])
        with pytest.raises(ValueError, match=match):
            layers.optimize_loss(w * w, None, optimizer="SGD", **arguments)


@pytest.mark.parametrize("num_outputs", [5, None])
def test_a_separable_convolution_is_its_two_parts(num_outputs: int | None) -> None:
    images = np.random.RandomState(0).rand(2, 6, 6, 3).astype(np.float32)
    found = tf.contrib.slim.separable_conv2d(
        tf.constant(images), num_outputs, [3, 3], 2, stride=2, scope="conv"
    )
    made = {v.op.name: v for v in tf.contrib.slim.get_model_variables()}
    wanted = tf.nn.depthwise_conv2d(images, made["conv/depthwise_weights"], [1, 2, 2, 1], "SAME")
    if num_outputs is None:
        assert list(made) == ["conv/depthwise_weights", "conv/biases"]
    else:
        assert list(made) == ["conv/depthwise_weights", "conv/pointwise_weights", "conv/biases"]
        wanted = tf.nn.conv2d(wanted, made["conv/pointwise_weights"], [1, 1, 1, 1], "SAME")
    assert found.shape.as_list() == [2, 3, 3, num_outputs or 6]
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        one, other = s.run([found, tf.nn.relu(wanted)])
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_separable_convolution_takes_scopes_and_normalizers() -> None:
    slim = tf.contrib.slim
    with slim.arg_scope(
        [slim.separable_conv2d, slim.conv2d],
        normalizer_fn=slim.batch_norm,
        weights_regularizer=slim.l2_regularizer(0.1),
        weights_initializer=slim.initializers.xavier_initializer(),
    ):
        slim.separable_convolution2d(tf.zeros([1, 4, 4, 2]), 3, 3, scope="conv")
    assert names() == [
        "conv/depthwise_weights",
        "conv/pointwise_weights",
        "conv/BatchNorm/beta",
        "conv/BatchNorm/moving_mean",
        "conv/BatchNorm/moving_variance",
    ]
    assert len(tf.losses.get_regularization_losses()) == 2
    with pytest.raises(ValueError, match="Invalid data_format: 'HW'"):
        slim.separable_conv2d(tf.zeros([1, 4, 4, 2]), 3, 3, data_format="HW")


def test_texts_as_bytes_and_the_paths_of_preprocessing() -> None:
    path = "dataflow.contrib.learn.python.learn.preprocessing"
    preprocessing, text = (importlib.import_module(path + tail) for tail in ("", ".text"))
    assert preprocessing.VocabularyProcessor is tf.contrib.learn.preprocessing.VocabularyProcessor
    processor = text.ByteProcessor(max_document_length=4)
    rows = list(processor.fit_transform(["ab", "\u00e9\u00e9\u00e9", b"xyzuv"]))
    assert [row.tolist() for row in rows] == [
        [97, 98, 0, 0],
        [195, 169, 195, 169],
        [120, 121, 122, 117],
    ]
    assert {row.dtype for row in rows} == {np.dtype(np.uint8)}
    assert list(processor.reverse(rows)) == ["ab", "\u00e9\u00e9", "xyzu"]
    assert list(processor.reverse([np.array([97, 0, 98, 0]), np.array([195])])) == ["a\0b", ""]
