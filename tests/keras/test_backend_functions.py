"""`keras.backend` where arguments are unusual; values from TensorFlow 1.15."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.eager import context

K = tf.keras.backend


def test_a_function_runs_more_than_its_outputs():
    x, y = K.variable(0.0), K.variable(0.0)
    a, b = K.placeholder(()), K.placeholder(())
    feed = {b: 3.0}
    call = K.function([a], [a + 1.0], [(x, a + 10.0)], feed_dict=feed, fetches=[tf.assign(y, b * 10.0)])  # fmt: skip
    assert call([10.0]) == [11.0]
    assert K.batch_get_value([x, y]) == [20.0, 30.0]
    feed[b] = 4.0
    assert call([20.0]) == [21.0]
    assert K.batch_get_value([x, y]) == [30.0, 40.0]
    metadata = tf.RunMetadata()
    traced = K.function([a], [a + 1.0], options=tf.RunOptions(trace_level=3), run_metadata=metadata)  # fmt: skip
    assert traced([1.0]) == [2.0]
    assert len(metadata.step_stats.dev_stats) > 0
    with pytest.raises(ValueError, match="not supported at this time"):
        K.function([a], [a], color="red")
    with pytest.raises(TypeError, match="list or tuple"):
        K.function(a, [a])
    with pytest.raises(TypeError, match="list or tuple"):
        K.function([a], [a], updates=tf.assign(y, 1.0))
    with pytest.raises(TypeError, match="list or tuple"):
        K.function([a], [a])(np.float32(1))


def test_arange_is_empty_below_0():
    assert K.eval(K.arange(-3)).tolist() == []
    assert K.eval(K.arange(K.constant(-1, "int32"))).tolist() == []
    assert K.eval(K.arange(K.constant(2, "int32"))).tolist() == [0, 1]
    assert K.eval(K.arange(-5, 5, 4)).tolist() == [-5, -1, 3]


def test_relu_with_everything():
    x = K.constant([-4.0, -2.0, 0.5, 9.0])
    assert np.allclose(K.eval(K.relu(x, 0.1, 5.0, -2.8)), [-0.12, 0, 0.5, 5])
    assert np.allclose(K.eval(K.relu(x, 0.1, 5.0, 1.0)), [-0.5, -0.3, -0.05, 5])
    assert np.allclose(K.eval(K.relu(x, 0.0, None, 0.75)), [0, 0, 0, 9])


def test_a_bias_for_each_place_is_reshaped_where_channels_come_first():
    bias = np.arange(6.0).reshape(3, 2)
    found = K.eval(K.bias_add(K.zeros((1, 2, 3)), K.constant(bias), data_format="channels_first"))
    assert np.array_equal(found, bias.reshape(1, 2, 3))


@pytest.mark.parametrize(
    "padding, strides, rate", [("valid", 1, 1), ("same", 2, 1), ("valid", 1, 2)]
)
def test_separable_convolution_of_sequences(padding, strides, rate):
    random = np.random.RandomState(0)
    x, deep, wide = random.rand(2, 7, 3), random.rand(2, 3, 2), random.rand(1, 6, 4)
    given = map(K.constant, (x, deep, wide))
    found = K.eval(K.separable_conv1d(*given, strides, padding, dilation_rate=rate))
    image = map(K.constant, (x[:, None], deep[None], wide[None]))
    ends = K.separable_conv2d(*image, (1, 1), "valid", dilation_rate=(1, rate))
    if padding == "valid":
        assert np.allclose(found, K.eval(ends)[:, 0])
    else:
        assert found.shape == (2, 4, 4)
    first = [K.constant(v) for v in (x.transpose(0, 2, 1), deep, wide)]
    moved = K.eval(K.separable_conv1d(*first, strides, padding, "channels_first", rate))
    assert np.allclose(moved.transpose(0, 2, 1), found)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_transposed_convolution_with_gaps(data_format):
    kernel = np.arange(1.0, 5.0).reshape(2, 2, 1, 1)
    x, shape = np.zeros((1, 2, 2, 1)), (1, 4, 4, 1)
    x[0, 0, 0] = 1
    expected = np.zeros((4, 4))
    expected[::2, ::2] = kernel[..., 0, 0]
    if data_format == "channels_first":
        x, shape = x.transpose(0, 3, 1, 2), (1, 1, 4, 4)
    made = K.conv2d_transpose(K.constant(x), K.constant(kernel), shape, data_format=data_format, dilation_rate=(2, 2))  # fmt: skip
    assert np.array_equal(K.eval(made).reshape(4, 4), expected)
    assert made.shape.as_list() == list(shape)
    with pytest.raises(ValueError, match="the same for both axes"):
        K.conv2d_transpose(K.constant(x), K.constant(kernel), shape, (2, 2), dilation_rate=(2, 2))


def test_only_tensors_are_asked_whether_they_are_kerass():
    assert not K.is_keras_tensor(K.variable(1.0))
    assert not K.is_keras_tensor(tf.SparseTensor([[0]], [1.0], [2]))
    assert K.is_keras_tensor(tf.keras.Input((2,)))
    with pytest.raises(ValueError, match="instance of type"):
        K.is_keras_tensor(np.zeros(2))


@pytest.mark.parametrize(
    ("a", "b", "axes", "formula"),
    [
        ((2, 3, 4), (2, 3, 4, 5), [2, 2], "bna,bnac->bnc"),
        ((2, 3, 5), (2, 3, 4, 5), [2, 3], "bnc,bnac->bna"),
        ((2, 3, 4, 5), (2, 3, 5), [3, 2], "bnac,bnc->bna"),
        ((2, 3, 4, 5), (2, 3, 5, 6), None, "bnac,bncd->bnad"),
        ((2, 3, 4), (2, 4, 5), [2, 1], "bac,bcd->bad"),
        ((2, 3, 4), (2, 5, 4), -1, "bac,bdc->bad"),
        ((2, 4), (2, 4, 3), [1, 1], "bc,bcd->bd"),
        ((2, 3, 4), (2, 4), [2, 1], "bac,bc->ba"),
    ],
)
def test_batch_dot_multiplies_the_last_two_axes(a, b, axes, formula):
    random = np.random.RandomState(0)
    x, y = random.rand(*a), random.rand(*b)
    known = K.batch_dot(K.constant(x), K.constant(y), axes)
    expected = np.einsum(formula, x, y)
    assert known.shape.as_list() == list(expected.shape)
    assert np.allclose(K.eval(known), expected)
    inputs = K.placeholder(ndim=len(a)), K.placeholder(ndim=len(b))
    found = K.function(list(inputs), [K.batch_dot(*inputs, axes)])([x, y])[0]
    assert np.allclose(found, expected)


def test_batch_dot_of_matrices():
    x, y = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    for axes, expected in ((1, x.sum(1)), (0, x.sum(0)), (None, x.sum(1))):
        found = K.eval(K.batch_dot(K.constant(x), K.constant(y), axes))
        assert np.array_equal(found, expected[:, None])
    turned = K.eval(K.batch_dot(K.constant(x), K.constant(y.T), (0, 1)))
    assert np.array_equal(turned[:, 0], x.sum(0))


def test_a_function_gives_a_dict_where_it_was_given_one():
    x = K.placeholder((None,))
    assert K.function([x], {"twice": 2 * x, "parts": [x + 1, x]})([[1.0]]) == {
        "twice": [2.0],
        "parts": [[2.0], [1.0]],
    }
    assert K.function([x], (x, 2 * x))([[1.0]]) == [[1.0], [2.0]]
    assert K.function([x], x)([[3.0]]) == [3.0]


@pytest.mark.parametrize("dtype", [tf.float64, tf.float16])
def test_a_loss_with_weights_keeps_its_type(dtype):
    truth, guess = tf.constant([[1.0], [2.0]], dtype), tf.constant([[2.0], [4.0]], dtype)
    loss = tf.keras.losses.MeanSquaredError()(truth, guess, tf.constant([[1.0], [0.5]]))
    assert loss.dtype == dtype and K.eval(loss) == 1.5


def test_a_variable_takes_a_dtype_of_tensorflow():
    variable = K.zeros([3], dtype=tf.int32)
    assert K.dtype(variable) == "int32" and K.get_value(variable).tolist() == [0, 0, 0]


def test_losses_and_metrics_take_lists():
    loss = K.eval(tf.keras.losses.KLD([0.4, 0.9, 0.2], [0.5, 0.8, 0.12]))
    np.testing.assert_allclose(loss, 0.11891, rtol=1e-4)
    poisson = K.eval(tf.keras.losses.poisson([1.4, 9.3, 2.2], [4.3, 8.2, 12.2]))
    np.testing.assert_allclose(poisson, -0.80456, rtol=1e-4)
    metric = tf.keras.metrics.Poisson()
    update = metric.update_state([1, 9, 2], [4, 8, 12])
    K.get_session().run([v.initializer for v in metric.variables])
    K.get_session().run(update)
    np.testing.assert_allclose(K.eval(metric.result()), -0.35703, rtol=1e-4)


def test_a_range_keeps_its_fractions():
    assert K.eval(K.arange(start=0, stop=10, step=4.5)).tolist() == [0.0, 4.5, 9.0]
    assert K.eval(K.arange(3, dtype="float64")).dtype == np.float64


@pytest.mark.parametrize("make", [K.random_uniform_variable, K.random_normal_variable])
def test_random_variables_repeat_with_the_seed_of_numpy(make):
    values = []
    for _ in range(2):
        np.random.seed(7)
        values.append(K.get_value(make((2, 3), 0, 1)))
    assert values[0].shape == (2, 3) and values[0].std() > 0
    np.testing.assert_array_equal(values[0], values[1])
    assert not np.array_equal(K.get_value(make((2, 3), 0, 1)), values[0])


def test_random_variables_are_those_of_tensorflow(as_tensorflow):
    np.random.seed(7)
    uniform = K.get_value(K.random_uniform_variable((3,), 0, 1))
    np.testing.assert_allclose(uniform, [0.9650557, 0.2042885, 0.482106], rtol=1e-5)
    normal = K.get_value(K.random_normal_variable((3,), 0, 1))
    np.testing.assert_allclose(normal, [-0.6189654, -0.02235814, -0.8470676], rtol=1e-5)


def test_numbers_other_than_0_are_true_and_beams_merge_repeated_labels() -> None:
    K = tf.keras.backend
    x = K.constant([[0.0, 2.0], [0.0, 0.0]])
    assert K.eval(K.any(x, axis=1)).tolist() == [True, False]
    assert K.eval(K.all(x, axis=1, keepdims=True)).tolist() == [[False], [False]]
    steps = np.full((1, 5, 3), 0.05)
    steps[0, range(5), [0, 2, 0, 0, 1]] = 0.9  # 2 is the blank: the path is 0, 0, 1
    given = (K.constant(steps), K.constant([5], dtype="int32"))
    (merged,), scores = K.ctc_decode(*given, greedy=False)
    assert K.eval(merged).tolist() == [[0, 1]]  # as in TensorFlow 1.15
    np.testing.assert_allclose(K.eval(scores), [[-0.36723]], atol=1e-5)
    (kept,), _ = K.ctc_decode(*given, greedy=True)
    assert K.eval(kept).tolist() == [[0, 0, 1]]


def test_what_is_no_tensor_is_its_own_value() -> None:
    """A list of tensors comes back as it is, as in TensorFlow 1.15; the value of a sparse tensor is a dense array."""
    tensors = [K.constant(1.0), K.constant(2.0)]
    assert K.eval(tensors) is tensors and K.get_value(tensors) is tensors
    assert K.eval(3.0) == 3.0 and K.get_value("text") == "text"
    sparse = tf.SparseTensor([[0, 1]], [2.0], [1, 2])
    assert K.eval(sparse).tolist() == [[0.0, 2.0]]
    assert isinstance(K.get_value(sparse), tf.SparseTensorValue)


def test_a_function_takes_tensors_as_values() -> None:
    x = K.placeholder([None, 2])
    double = K.function([x], [2 * x])
    np.testing.assert_array_equal(double([tf.constant([[1.0, 3.0]])])[0], [[2, 6]])
    with context.eager_mode():
        y = K.placeholder([None, 2])
        triple = K.function([y], [3 * y])
        np.testing.assert_array_equal(triple([tf.constant([[1.0, 3.0]])])[0], [[3, 9]])
