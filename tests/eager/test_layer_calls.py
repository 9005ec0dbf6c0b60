"""Layers that eager code calls again and again: what they keep, and what is found only once."""

import gc
import threading

import numpy as np
import pytest

import dataflow as tf

L = tf.keras.layers


def lists_of(layer):
    return {k: len(v) for k, v in vars(layer).items() if isinstance(v, (list, dict, set))}


class _Adds(tf.keras.layers.Layer):
    def call(self, x):
        self.add_update(tf.ones([]))
        self.add_loss(tf.reduce_sum(x))
        return x


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.layers.BatchNormalization(),
        lambda: L.BatchNormalization(),
        lambda: tf.layers.Dense(2),
        lambda: tf.keras.Sequential([L.Dense(2), L.Dropout(0.1)]),
        _Adds,
    ],
)
def test_calls_leave_nothing_behind(make):
    layer, x = make(), tf.ones([4, 3])
    layer(x, training=True)
    before = lists_of(layer)
    gc.collect()
    for _ in range(3):
        layer(x, training=True)
    assert lists_of(layer) == before
    assert layer.updates == []


def test_an_update_that_is_a_function_is_called_with_each_call():
    calls = []

    class Counts(tf.keras.layers.Layer):
        def call(self, x):
            self.add_update(lambda: calls.append(1))
            return x

    layer = Counts()
    layer(tf.ones([1]))
    layer(tf.ones([1]))
    assert calls == [1, 1]


def test_layers_of_eager_code_know_no_inputs():
    layer = tf.layers.Dense(2)
    layer(tf.ones([1, 2]))
    with pytest.raises(AttributeError, match="not connected"):
        _ = layer.input


def test_a_stateful_layer_may_be_called_and_then_trained():
    model = tf.keras.Sequential(
        [L.GRU(3, stateful=True, batch_input_shape=(2, None, 1)), L.Dense(1)]
    )
    x = np.ones((2, 4, 1), np.float32)
    first, second = model(x).numpy(), model(x).numpy()
    assert not np.allclose(first, second)
    model.reset_states()
    np.testing.assert_allclose(model(x).numpy(), first, rtol=1e-6)
    model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
    losses = model.fit(x, np.ones((2, 1)), batch_size=2, epochs=3, verbose=0, shuffle=False)
    assert losses.history["loss"][-1] < losses.history["loss"][0]


def test_a_loss_of_ones_own_takes_labels_of_another_rank():
    def loss(labels, logits):
        return tf.keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)

    model = tf.keras.Sequential([L.Embedding(5, 4, batch_input_shape=(2, None)), L.Dense(5)])
    model.compile(tf.train.GradientDescentOptimizer(0.5), loss)
    x, y = np.array([[0, 1, 2], [2, 3, 4]]), np.array([[1, 2, 3], [3, 4, 0]])
    history = model.fit(x, y, batch_size=2, epochs=30, verbose=0).history["loss"]
    direct = tf.reduce_mean(loss(y, model(x))).numpy()
    assert direct < history[-1] < history[0] * 0.9
    assert model.evaluate(x, y, batch_size=2, verbose=0) == pytest.approx(direct, rel=1e-5)


def test_layers_of_tf_layers_in_a_model_are_restored_when_they_are_made(tmp_path):
    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first = tf.layers.Dense(3)
            self.second = tf.layers.Dense(1)

        def call(self, x):
            return self.second(self.first(x))

    x = tf.ones([2, 2])
    model, other = Net(), Net()
    expected = model(x).numpy()
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "net"))
    tf.train.Checkpoint(model=other).restore(path)
    np.testing.assert_array_equal(other(x).numpy(), expected)


def test_a_sequential_model_draws_its_weights_where_its_layers_are_called():
    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.parts = [L.Dense(3), L.Dropout(0.3), L.Dense(2)]

        def call(self, x, training=False):
            first, drop, last = self.parts
            return last(drop(first(x), training=training))

    kernels = []
    for model in (Net(), tf.keras.Sequential([L.Dense(3), L.Dropout(0.3), L.Dense(2)])):
        tf.set_random_seed(1)
        model(tf.ones([1, 2]), training=True)
        kernels.append([v.numpy() for v in model.trainable_variables if "kernel" in v.name])
    for one, other in zip(*kernels, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [t.shape.as_list() for t in model.inputs] == [[1, 2]]


def test_attributes_that_a_program_changes_are_read_anew():
    image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    ones, strides = tf.ones([1, 1, 1, 1]), [1, 1, 1, 1]
    shapes = []
    for step in (1, 2, 1):
        strides[1] = step
        shapes.append(tf.nn.conv2d(image, ones, strides, "VALID").shape.as_list())
    assert shapes == [[1, 4, 4, 1], [1, 2, 4, 1], [1, 4, 4, 1]]
    pooled = [tf.nn.max_pool(image, [1, k, k, 1], [1, k, k, 1], "VALID") for k in (2, 4, 2)]
    assert [p.numpy().max() for p in pooled] == [15, 15, 15]
    assert [p.shape.as_list()[1] for p in pooled] == [2, 1, 2]


def test_attributes_that_are_equal_but_not_alike_are_told_apart():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert tf.reduce_sum(x, 0, keepdims=True).shape.as_list() == [1, 2]
    assert tf.reduce_sum(x, 0, keepdims=False).shape.as_list() == [2]
    np.testing.assert_array_equal(tf.matmul(x, x, transpose_b=True).numpy(), [[5, 11], [11, 25]])
    np.testing.assert_array_equal(tf.matmul(x, x).numpy(), [[7, 10], [15, 22]])
    for dtype in (tf.float32, tf.float64, tf.int32):
        assert tf.bitcast(tf.zeros([2], tf.int32), tf.float32).dtype == tf.float32
        assert tf.argmax(x, 0, output_type=tf.int32).dtype == tf.int32
        assert tf.argmax(x, 0).dtype == tf.int64
        assert tf.cast(x, dtype).dtype == dtype


def test_slices_by_large_numbers_and_by_tensors():
    x = tf.range(5)
    assert x[1 : 2**40].numpy().tolist() == [1, 2, 3, 4]
    assert x[-(2**40) : 2].numpy().tolist() == [0, 1]
    assert x[tf.constant(1) : 3].numpy().tolist() == [1, 2]
    assert x[tf.constant(1, tf.int64) :: 2].numpy().tolist() == [1, 3]
    assert x[np.int64(2)].numpy() == 2
    assert tf.reshape(x, [1, 5])[0, ::-1].numpy().tolist() == [4, 3, 2, 1, 0]


@pytest.mark.threads
def test_threads_call_layers_side_by_side():
    """How deep a thread is in calls is its own: each call from outside begins with no losses."""
    layer = _Adds()
    inside, go_on, counts = threading.Event(), threading.Event(), []

    class Waits(tf.keras.layers.Layer):
        def call(self, x):
            inside.set()
            go_on.wait(10)
            return x

    thread = threading.Thread(target=lambda: Waits()(tf.ones([1])))
    thread.start()
    inside.wait(10)
    for _ in range(3):
        layer(tf.ones([1]))
        counts.append(len(layer.losses))
    go_on.set()
    thread.join()
    assert counts == [1, 1, 1]


def test_a_list_that_an_operation_gives_is_one_s_own():
    image, ones = tf.ones([1, 4, 4, 1]), tf.ones([1, 1, 1, 1])
    for _ in range(2):
        made = tf.nn.conv2d(image, ones, [1, 2, 2, 1], "VALID")
        assert made.op.get_attr("strides") == [1, 2, 2, 1]
        made.op.get_attr("strides")[1] = 7
