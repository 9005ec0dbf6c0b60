"""`tf.gradients` and its options, and sparse gradients through lookups and optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

pytestmark = pytest.mark.usefixtures("graph")


def test_grad_ys_weigh_the_outputs() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    (grad,) = tf.gradients([x * x, 3.0 * x], x, grad_ys=[tf.constant([1.0, 0.0, 2.0]), None])
    np.testing.assert_allclose(run_initialized(grad), [2 + 3, 0 + 3, 12 + 3])


def test_grad_ys_must_fit() -> None:
    x = tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match=r"grad_ys|gradient"):
        tf.gradients([x * x], [x], grad_ys=[None, None])
    with pytest.raises((TypeError, ValueError), match=r"int|float"):
        tf.gradients(x * x, x, grad_ys=tf.constant([1, 2]))


def test_stop_gradients_hold_tensors_constant() -> None:
    a = tf.constant(2.0)
    b = 2.0 * a
    y = a + b * a
    total, partial = tf.gradients(y, [a, b]), tf.gradients(y, [a, b], stop_gradients=[a, b])
    assert run_initialized(total) == [9.0, 2.0]
    assert run_initialized(partial) == [1.0 + 4.0, 2.0]


@pytest.mark.parametrize(
    "method",
    [
        None,
        tf.AggregationMethod.DEFAULT,
        tf.AggregationMethod.ADD_N,
        tf.AggregationMethod.EXPERIMENTAL_TREE,
        tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
    ],
)
def test_every_aggregation_method_sums(method: Any) -> None:
    x = tf.constant([1.0, -2.0])
    y = tf.exp(x) + tf.sin(x) + x * x
    (grad,) = tf.gradients(y, x, aggregation_method=method)
    point = np.array([1.0, -2.0])
    np.testing.assert_allclose(
        run_initialized(grad), np.exp(point) + np.cos(point) + 2 * point, rtol=1e-6
    )


def test_an_aggregation_method_that_is_none() -> None:
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="aggregation"):
        tf.gradients(x * x + x, x, aggregation_method=99)


def test_unconnected_is_none_or_zeros() -> None:
    x, other = tf.constant([1.0, 2.0]), tf.constant([[5.0]])
    y = x * x
    assert tf.gradients(y, [other]) == [None]
    assert tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), [x]) == [None]
    zeros = tf.gradients(y, [other], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    np.testing.assert_array_equal(run_initialized(zeros[0]), [[0.0]])


def test_stop_gradient_passes_values_only() -> None:
    x = tf.constant(3.0)
    (grad,) = tf.gradients(x * tf.stop_gradient(x), x)
    assert run_initialized(grad) == 3.0
    assert tf.gradients(tf.stop_gradient(x) * 2.0, x) == [None]


def test_a_gradient_by_itself_is_one() -> None:
    x = tf.constant([4.0, 5.0])
    np.testing.assert_array_equal(run_initialized(tf.gradients(x, x)[0]), [1.0, 1.0])


def test_third_derivative() -> None:
    x = tf.constant(2.0)
    y = x**4.0
    for _ in range(3):
        (y,) = tf.gradients(y, x)
    assert run_initialized(y) == pytest.approx(48.0)


def test_hessians_of_several() -> None:
    x, z = tf.constant([1.0, 2.0]), tf.constant([3.0])
    y = tf.reduce_sum(x * x * x) + tf.reduce_sum(z * z) * tf.reduce_sum(x)
    for_x, for_z = run_initialized(tf.hessians(y, [x, z]))
    np.testing.assert_allclose(for_x, [[6.0, 0.0], [0.0, 12.0]])
    np.testing.assert_allclose(for_z, [[6.0]])


def test_hessians_of_many_numbers_are_taken_in_a_loop(graph: tf.Graph) -> None:
    """A gradient for each of them would make a graph of millions of nodes."""
    x = tf.placeholder(tf.float32, [20, 10])
    hessian = tf.hessians(tf.reduce_sum(x**3.0) + tf.reduce_sum(x) ** 2.0, x)[0]
    assert hessian.shape.as_list() == [20, 10, 20, 10]
    assert len(graph.get_operations()) < 400
    given = np.arange(200.0).reshape(20, 10)
    with tf.Session() as sess:
        found = sess.run(hessian, {x: given})
    np.testing.assert_allclose(found.reshape(200, 200), np.diag(6.0 * given.ravel()) + 2.0)


def test_gradient_override_map(graph: tf.Graph) -> None:
    @tf.RegisterGradient("TestTenfoldSquare")
    def tenfold(op: Any, grad: Any) -> Any:
        return 10.0 * grad * op.inputs[0]

    x = tf.constant(3.0)
    with graph.gradient_override_map({"Square": "TestTenfoldSquare"}):
        inside = tf.square(x, name="inside")
    outside = tf.square(x)
    assert inside.op.get_attr("_gradient_op_type") == b"TestTenfoldSquare"
    assert run_initialized(tf.gradients(inside, x)) == [30.0]
    assert run_initialized(tf.gradients(outside, x)) == [6.0]
    with pytest.raises(KeyError):
        tf.RegisterGradient("TestTenfoldSquare")(tenfold)
    with graph.gradient_override_map({"Square": "NobodyRegisteredThis"}):
        lost = tf.square(x)
    with pytest.raises(LookupError, match="NobodyRegisteredThis"):
        tf.gradients(lost, x)


def test_a_python_function_passes_no_gradient() -> None:
    x = tf.constant([2.0, 1.0])
    y = tf.py_func(lambda a: a, [x], tf.float32, name="opaque")
    assert tf.gradients(y, x) == [None]


# -- sparse gradients end to end -----------------------------------------------------------------

ROWS, WIDTH = 50, 3
TOUCHED = [4, 7, 4]

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.3),
    "momentum": lambda: tf.train.MomentumOptimizer(0.5, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.5, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.5),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.5),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.5),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.5),
    "adam": lambda: tf.train.AdamOptimizer(0.5),
}


def lookup_loss(table: Any) -> Any:
    return tf.reduce_sum(tf.nn.embedding_lookup(table, TOUCHED) ** 2.0)


def gather_loss(table: Any) -> Any:
    return tf.reduce_sum(tf.gather(table, TOUCHED) ** 2.0)


def nce_loss(table: Any) -> Any:
    return tf.reduce_mean(
        tf.nn.nce_loss(
            table,
            tf.zeros([ROWS]),
            labels=tf.constant([[4], [7]], tf.int64),
            inputs=tf.ones([2, WIDTH]),
            num_sampled=2,
            num_classes=ROWS,
            sampled_values=sampled(),
        )
    )


def sampled_softmax_loss(table: Any) -> Any:
    return tf.reduce_mean(
        tf.nn.sampled_softmax_loss(
            table,
            tf.zeros([ROWS]),
            labels=tf.constant([[4], [7]], tf.int64),
            inputs=tf.ones([2, WIDTH]),
            num_sampled=2,
            num_classes=ROWS,
            sampled_values=sampled(),
        )
    )


def sampled() -> Any:
    return (
        tf.constant([7, 4], tf.int64),
        tf.constant([[0.2], [0.3]]),
        tf.constant([0.3, 0.2]),
    )


LOSSES = (lookup_loss, gather_loss, nce_loss, sampled_softmax_loss)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_only_the_rows_that_were_read_change(name: str, loss: Callable[[Any], Any]) -> None:
    start = np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)
    # Would not survive an addition of 0. (A subnormal one counts as zero where Adam moves all rows.)
    start[0] = [-0.0, np.finfo(np.float32).tiny, 3.0]
    table = tf.Variable(start)
    optimizer = OPTIMIZERS[name]()
    ((grad, _),) = optimizer.compute_gradients(loss(table), [table])
    assert isinstance(grad, tf.IndexedSlices)
    train = optimizer.apply_gradients([(grad, table)])
    slots = [optimizer.get_slot(table, n) for n in optimizer.get_slot_names()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        slots_before = session.run(slots)
        for _ in range(2):
            session.run(train)
        changed, slots_after = session.run([table, slots])
    others = [i for i in range(ROWS) if i not in TOUCHED]
    assert changed[others].tobytes() == start[others].tobytes()
    assert (changed[TOUCHED] != start[TOUCHED]).any(axis=1).all()
    for before, after in zip(slots_before, slots_after, strict=True):
        assert after[others].tobytes() == before[others].tobytes()
        assert not np.array_equal(after, before)


def test_adam_moves_all_rows_that_have_momentum_as_tensorflow_does() -> None:
    ids = tf.placeholder(tf.int32, [None])
    table = tf.Variable(np.ones((4, 2), np.float32))
    train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(table, ids)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {ids: [1]})
        once = session.run(table)
        session.run(train, {ids: [2]})
        twice = session.run(table)
    assert (twice[1] != once[1]).all()  # its first moment has not decayed to 0
    assert (twice[[0, 3]] == 1.0).all()


def test_a_partitioned_table_gets_sparse_gradients_for_each_part() -> None:
    table = tf.get_variable(
        "table",
        [10, 2],
        initializer=tf.ones_initializer(),
        partitioner=tf.fixed_size_partitioner(3),
    )
    parts = list(table)
    looked_up = tf.nn.embedding_lookup(parts, [0, 9, 9], partition_strategy="div")
    grads = tf.gradients(tf.reduce_sum(looked_up), parts)
    assert all(isinstance(g, tf.IndexedSlices) for g in grads)
    dense = run_initialized([tf.convert_to_tensor(g) for g in grads])
    whole = np.concatenate(dense)
    expected = np.zeros((10, 2))
    expected[0], expected[9] = 1.0, 2.0
    np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize(
    ("total", "expected"),  # as TensorFlow gives them
    [
        (lambda m, b: m + b, 2.0),
        (lambda m, b: m + 1.0, 0.0),
        (lambda m, b: 1.0 - m * b, -8.0),
        (lambda m, b: tf.squared_difference(m, b), -12.0),
        (lambda m, b: m - tf.reduce_mean(b, 0), -2.0),
    ],
)
def test_rows_of_what_was_broadcast(total: Any, expected: float) -> None:
    """The gradient of a gather is sparse, the sum over what was repeated is of the whole."""
    m = tf.constant([[5.0], [7.0], [3.0]])
    b = tf.constant([1.0])
    (grad,) = tf.gradients(tf.gather(total(m, b), [0, 2]), b, unconnected_gradients="zero")
    np.testing.assert_allclose(run_initialized(grad), [expected])


def test_sparse_gradients_stay_sparse_where_shapes_are_equal() -> None:
    table = tf.Variable([[1.0], [2.0]])
    same = tf.identity(-(table + table))
    (grad,) = tf.gradients(tf.gather(same, [1]), table)
    assert isinstance(grad, tf.IndexedSlices)


def _refusal(loss: tf.Tensor) -> str:
    with pytest.raises(ValueError, match="No gradients provided for any variable") as error:
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return str(error.value).partition("\n")[2]


def test_where_the_way_of_a_gradient_ends_is_said() -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    chosen = tf.argmax(w, name="chosen")
    told = _refusal(tf.square(tf.cast(chosen, tf.float32)) + 1.0)
    assert "only through what passes no gradient on: ArgMax 'chosen', built at" in told
    assert "test_gradients.py" in told
    told = _refusal(tf.reduce_sum(tf.stop_gradient(w, name="held")) + tf.floor(w, name="whole")[0])
    assert "StopGradient 'held'" in told and "Floor 'whole'" in told
    assert _refusal(tf.constant(1.0)) == "  The loss depends on none of them."


def test_a_number_with_a_fraction_beside_integers_is_told_of_tf_cast() -> None:
    counts = tf.placeholder(tf.int32, [None])
    with pytest.raises(TypeError, match=r"got float 0\.5") as error:
        counts * 0.5
    assert "other tensors of this op are int32" in str(error.value)
    assert "tf.cast(t, tf.float32)" in str(error.value)
    with pytest.raises(TypeError) as error:
        counts * "a"
    assert "fractions" not in str(error.value)
