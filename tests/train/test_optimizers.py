"""Optimizers: protocol, slots and names, updates in place, and what bad input gets."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def initialized() -> tf.Session:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def makers():
    return {
        "sgd": tf.train.GradientDescentOptimizer(0.1),
        "momentum": tf.train.MomentumOptimizer(0.1, 0.9),
        "nesterov": tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        "adagrad": tf.train.AdagradOptimizer(0.1),
        "adadelta": tf.train.AdadeltaOptimizer(1.0),
        "rmsprop": tf.train.RMSPropOptimizer(0.1, momentum=0.5),
        "centered": tf.train.RMSPropOptimizer(0.1, centered=True),
        "adam": tf.train.AdamOptimizer(0.1),
        "ftrl": tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
        "proximal_sgd": tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
        "proximal_adagrad": tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.01),
    }


@pytest.mark.parametrize("name", list(makers()))
def test_a_large_variable_is_updated_as_its_parts_would_be(name):
    # Large ones are worked on in blocks; 40,000 elements are more than one.
    start = np.linspace(-1, 1, 40_000).astype(np.float32)
    gradient = np.cos(np.arange(40_000)).astype(np.float32)
    whole = tf.Variable(start.reshape(200, 200))
    part = tf.Variable(start[-100:])
    optimizer = makers()[name]
    train = optimizer.apply_gradients(
        [(tf.constant(gradient.reshape(200, 200)), whole), (tf.constant(gradient[-100:]), part)]
    )
    with initialized() as session:
        for _ in range(3):
            session.run(train)
        large, small = session.run([whole, part])
    np.testing.assert_array_equal(large.reshape(-1)[-100:], small)
    assert not np.array_equal(small, start[-100:])


def test_a_gradient_that_is_not_contiguous_is_read_in_its_own_order():
    gradient = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)
    variable = tf.Variable(np.zeros((200, 300), np.float32))
    train = tf.train.GradientDescentOptimizer(1.0).apply_gradients(
        [(tf.transpose(tf.constant(gradient)), variable)]
    )
    with initialized() as session:
        session.run(train)
        np.testing.assert_array_equal(session.run(variable), -gradient.T)


def test_who_has_read_a_variable_keeps_what_he_saw():
    variable = tf.Variable(np.ones(4, np.float32))
    train = tf.train.AdamOptimizer(0.5).minimize(tf.reduce_sum(variable * variable))
    with initialized() as session:
        before = session.run(variable)
        session.run(train)
        np.testing.assert_array_equal(before, np.ones(4))
        assert not np.array_equal(session.run(variable), before)


def test_an_update_that_fails_changes_neither_variable_nor_slots():
    variable = tf.Variable(np.ones((2, 2), np.float32))
    rows = tf.placeholder(tf.int32, [None])
    slices = tf.IndexedSlices(tf.ones([2, 2]), rows, tf.constant([2, 2]))
    optimizer = tf.train.AdagradOptimizer(1.0)
    train = optimizer.apply_gradients([(slices, variable)])
    slot = optimizer.get_slot(variable, "accumulator")
    with initialized() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Index 7.*out of range"):
            session.run(train, {rows: [0, 7]})
        np.testing.assert_array_equal(session.run(variable), np.ones((2, 2)))
        np.testing.assert_allclose(session.run(slot), np.full((2, 2), 0.1))
        session.run(train, {rows: [0, 1]})
        assert not np.array_equal(session.run(variable), np.ones((2, 2)))


def test_sparse_updates_touch_only_their_rows_and_sum_repeated_ones():
    table = tf.Variable(np.ones((1000, 3), np.float32))
    loss = tf.reduce_sum(tf.gather(table, [5, 7, 5]))
    train = tf.train.MomentumOptimizer(0.5, 0.9).minimize(loss)
    with initialized() as session:
        session.run(train)
        changed = session.run(table)
    expected = np.ones((1000, 3))
    expected[5] -= 1.0
    expected[7] -= 0.5
    np.testing.assert_allclose(changed, expected)


def test_a_repeated_row_given_to_the_op_itself_is_updated_once_for_each():
    from dataflow.ops.optimizer_updates import sparse_apply_adagrad

    variable = tf.Variable(np.zeros((2, 1), np.float32))
    slot = tf.Variable(np.ones((2, 1), np.float32))
    op = sparse_apply_adagrad(variable, slot, 1.0, [[1.0], [1.0]], [1, 1])
    with initialized() as session:
        session.run(op)
        np.testing.assert_allclose(session.run(slot), [[1.0], [3.0]])
        np.testing.assert_allclose(
            session.run(variable), [[0.0], [-(1 / np.sqrt(2) + 1 / np.sqrt(3))]], rtol=1e-6
        )


def test_a_subclass_written_for_tensorflow_works():
    class HalfStep(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "HalfStep")

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "seen", self._name)

        def _prepare(self):
            self._rate = tf.convert_to_tensor(0.5, name="rate")

        def _apply_dense(self, grad, var):
            count = tf.assign_add(self.get_slot(var, "seen"), tf.ones_like(grad))
            with tf.control_dependencies([count]):
                return tf.assign_sub(var, self._rate * grad)

        def _apply_sparse(self, grad, var):
            return tf.scatter_sub(var, grad.indices, self._rate * grad.values)

    dense, table = tf.Variable([4.0], name="w"), tf.Variable([[1.0], [2.0]], name="t")
    optimizer = HalfStep()
    train = optimizer.minimize(
        tf.reduce_sum(tf.square(dense)) + tf.reduce_sum(tf.gather(table, [1, 1]))
    )
    assert train.name == "HalfStep"
    assert [v.name for v in optimizer.variables()] == ["t/HalfStep:0", "w/HalfStep:0"]
    with initialized() as session:
        session.run(train)
        assert session.run([dense, table, optimizer.get_slot(dense, "seen")]) == [
            [0.0],
            pytest.approx(np.array([[1.0], [1.0]])),
            [1.0],
        ]


def test_constraints_are_applied_after_the_step():
    variable = tf.get_variable(
        "w", initializer=[1.0, -1.0], constraint=lambda w: tf.clip_by_value(w, -0.5, 0.5)
    )
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(variable))
    with initialized() as session:
        session.run(train)
        np.testing.assert_allclose(session.run(variable), [0.5, -0.5])


def test_a_constraint_on_a_sparse_variable_is_refused():
    variable = tf.get_variable("w", initializer=[[1.0]], constraint=lambda w: w)
    with pytest.raises(RuntimeError, match="sparse variable"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(variable, [0])))


@pytest.mark.parametrize("gate", [0, 1, 2])
def test_every_kind_of_gating_gives_the_same_step(gate):
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(x * y, gate_gradients=gate)
    with initialized() as session:
        session.run(train)
        first, second = session.run([x, y])
    if gate:
        np.testing.assert_allclose([first, second], [1.7, 2.8], rtol=1e-6)
    else:  # nothing says whether x is read for y's gradient before or after its own update
        assert first == pytest.approx(1.7) or second == pytest.approx(2.8)


def test_the_global_step_counts_after_the_update():
    step = tf.train.get_or_create_global_step()
    x = tf.Variable(1.0)
    train = tf.train.AdamOptimizer().minimize(x * x, global_step=step)
    with initialized() as session:
        for _ in range(3):
            session.run(train)
        assert tf.train.global_step(session, step) == 3
    assert tf.get_collection("train_op") == [train]


def test_slots_of_a_partitioned_variable_are_saved_as_parts():
    with tf.variable_scope("s", partitioner=lambda shape, dtype: [2, 1]):
        table = tf.get_variable("t", [4, 2])
    optimizer = tf.train.AdagradOptimizer(0.1)
    optimizer.minimize(tf.reduce_sum(tf.square(table)))
    slot = optimizer.get_slot(next(iter(table)), "accumulator")
    info = slot._get_save_slice_info()
    assert info.full_name == "s/t/Adagrad"
    assert info.spec == "4 2 0,2:0,2"


@pytest.mark.threads
def test_many_threads_lose_no_step():
    variable = tf.Variable(np.zeros(50_000, np.float32))
    train = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(tf.ones([50_000]), variable)])
    with initialized() as session:

        def work():
            for _ in range(20):
                session.run(train)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        np.testing.assert_array_equal(session.run(variable), np.full(50_000, -80))


def test_errors():
    x = tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.minimize(tf.constant(1.0))
    with pytest.raises(ValueError, match="Invalid type 'int32'"):
        optimizer.compute_gradients(tf.constant(1))
    with pytest.raises(ValueError, match="gate_gradients must be one of"):
        optimizer.compute_gradients(x * x, gate_gradients=5)
    with pytest.raises(NotImplementedError, match="only variables can be optimized"):
        optimizer.apply_gradients([(tf.constant(1.0), tf.constant(1.0))])
    with pytest.raises(ValueError, match="optimizer name"):
        tf.train.GradientDescentOptimizer(0.1, name="")
    with pytest.raises(ValueError, match="must be positive"):
        tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.0)
    with pytest.raises(ValueError, match="needs to be negative or zero"):
        tf.train.FtrlOptimizer(0.1, learning_rate_power=1.0)
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
        with tf.Session() as session:
            session.run(optimizer.minimize(x * x))


def test_shapes_that_do_not_fit_are_found_when_the_node_is_made():
    from dataflow.ops.optimizer_updates import apply_gradient_descent

    x = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match=r"shape \[2\].*gradient \[3\]"):
        apply_gradient_descent(x, 0.1, tf.ones([3]))
    with pytest.raises(ValueError, match="alpha must be a scalar"):
        apply_gradient_descent(x, tf.ones([1]), tf.ones([2]))


def test_loss_given_as_a_function() -> None:
    read, _ = tf.Variable(3.0), tf.Variable(5.0, name="not_read")
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(lambda: read * read)
    assert [v for _, v in pairs] == [read]
    step = optimizer.minimize(lambda: read * read, var_list=[read])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        assert sess.run(read) == pytest.approx(2.4)


def test_gradients_of_tensors_are_computed_and_not_applied():
    with tf.Graph().as_default(), tf.Session() as sess:
        picture = tf.constant([1.0, -2.0])
        opt = tf.train.GradientDescentOptimizer(1.0)
        pairs = opt.compute_gradients(tf.reduce_sum(picture**2), [picture])
        assert pairs[0][1] is picture
        np.testing.assert_allclose(sess.run(pairs[0][0]), [2.0, -4.0])
        with pytest.raises(NotImplementedError, match="only variables can be optimized"):
            opt.apply_gradients(pairs)


def test_ftrl_of_half_precision_rounds_as_tensorflow_does():
    # The numbers are those of TensorFlow 1.15: in float16 the order of the sums decides about them.
    for power, expected in ((-0.5, [-7.66015625, -10.90625]), (-0.6, [-9.265625, -12.4296875])):
        weights = tf.Variable([1.0, 2.0], dtype=tf.float16)
        gradient = tf.constant([0.1, 0.2], tf.float16)
        optimizer = tf.train.FtrlOptimizer(3.0, power, 0.1, 0.001, 0.0)
        update = optimizer.apply_gradients([(gradient, weights)])
        with initialized() as session:
            for _ in range(10):
                session.run(update)
            assert session.run(weights).tolist() == expected
