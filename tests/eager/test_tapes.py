"""What a tape records, and the derivatives that it gives."""

import numpy as np
import pytest

import dataflow as tf

tfe = tf.contrib.eager


def test_only_what_is_watched_has_derivatives():
    x, other = tf.constant(3.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * other
    dx, dother = tape.gradient(y, [x, other])
    assert dx.numpy() == 12.0
    assert dother is None


def test_trainable_variables_are_watched():
    v, frozen = tf.Variable(2.0), tf.Variable(5.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * v * frozen
    assert tape.watched_variables() == (v,)
    assert [g if g is None else g.numpy() for g in tape.gradient(y, [v, frozen])] == [20.0, None]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = v * v
    assert tape.gradient(y, v) is None


def test_second_derivatives():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        first = inner.gradient(y, x)
    assert first.numpy() == 27.0
    assert outer.gradient(first, x).numpy() == 18.0


def test_a_tape_is_used_once_unless_persistent():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert (tape.gradient(z, x).numpy(), tape.gradient(y, x).numpy()) == (108.0, 6.0)
    assert tape.gradient(z, y).numpy() == 18.0


def test_recording_stops_and_begins_anew():
    v = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        with tape.stop_recording():
            unseen = v * 3.0
        y = v * v
    assert tape.gradient(unseen, v) is None
    assert tape.gradient(y, v).numpy() == 4.0
    with tf.GradientTape() as tape:
        before = v * v
        tape.reset()
        after = v * 7.0
    assert tape.gradient([before, after], v).numpy() == 7.0


def test_unconnected_and_given_gradients():
    v, w = tf.Variable([1.0, 2.0]), tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
        tf.identity(w)
    np.testing.assert_array_equal(
        tape.gradient(y, v, output_gradients=tf.constant([1.0, 0.0])).numpy(), [2.0, 0.0]
    )
    zero = tape.gradient(y, w, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert zero.numpy() == 0.0


def test_structures_of_sources():
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = a * b
    found = tape.gradient(y, {"a": a, "b": [b]})
    assert (found["a"].numpy(), found["b"][0].numpy()) == (2.0, 1.0)


@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_jacobians(method):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.stack([x[:, 0] * x[:, 1], x[:, 0] + x[:, 1], x[:, 1] ** 2], axis=1)
    found = getattr(tape, method)(y, x).numpy()
    each = np.array([[[2, 1], [1, 1], [0, 4]], [[4, 3], [1, 1], [0, 8]]], "f")
    if method == "jacobian":
        assert found.shape == (2, 3, 2, 2)
        found = np.stack([found[i, :, i] for i in range(2)])
    np.testing.assert_array_equal(found, each)


def test_gradients_of_rows_and_through_loops():
    table = tf.Variable(tf.ones([5, 2]))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 3, 1]))
    rows = tape.gradient(y, table)
    assert isinstance(rows, tf.IndexedSlices)
    tf.train.GradientDescentOptimizer(1.0).apply_gradients([(rows, table)])
    np.testing.assert_array_equal(table.numpy()[:, 0], [1.0, -1.0, 1.0, 0.0, 1.0])
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, y = tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, p * x), [0, tf.constant(1.0)])
    assert tape.gradient(y, x).numpy() == 12.0


def test_a_gradient_of_ones_own():
    @tf.custom_gradient
    def clipped(x):
        return tf.identity(x), lambda dy: tf.clip_by_value(dy, -0.5, 0.5)

    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = clipped(v * v)
    assert tape.gradient(y, v).numpy() == 2.0


def test_py_function_of_eager_code():
    assert tf.py_function(lambda a: a.numpy() * 2, [tf.constant(3.0)], tf.float32).numpy() == 6.0


def test_functions_that_return_gradients():
    assert tfe.gradients_function(lambda x: x * x)(3.0)[0].numpy() == 6.0
    same = tf.constant(3.0)  # two arguments, though one tensor
    assert [d.numpy() for d in tfe.gradients_function(lambda x, y: x * x * y)(same, same)] == [
        18.0,
        9.0,
    ]
    value, (grad,) = tfe.value_and_gradients_function(lambda x, y: x * y, params=[1])(3.0, 2.0)
    assert (value.numpy(), grad.numpy()) == (6.0, 3.0)
    v = tfe.Variable(2.0)
    value, ((grad, of),) = tfe.implicit_value_and_gradients(lambda: v * v * v)()
    assert (value.numpy(), grad.numpy(), of) == (8.0, 12.0, v)
    (pair,) = tfe.implicit_gradients(lambda: v * 5.0)()
    assert pair[0].numpy() == 5.0
    with pytest.raises(ValueError, match="No trainable variables"):
        tfe.implicit_gradients(lambda: tf.constant(1.0))()
