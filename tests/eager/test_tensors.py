"""Tensors of eager code have values, and Python sees them."""

import copy
import gc
import inspect
import pickle
import weakref

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime import eager as runner


def test_a_tensor_has_its_value_at_once():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.matmul(x, x) + 1
    np.testing.assert_array_equal(y.numpy(), [[8.0, 11.0], [16.0, 23.0]])
    assert y.shape.as_list() == [2, 2]
    assert y.dtype is tf.float32


def test_numbers_texts_and_what_numpy_sees():
    three = tf.constant(3)
    assert (int(three), float(three), bool(three), [0, 1, 2, 3][three]) == (3, 3.0, True, 3)
    assert tf.constant("hi").numpy() == b"hi"
    assert isinstance(three.numpy(), np.int32)
    assert np.sum(tf.ones([3])) == 3.0
    assert f"{tf.constant(0.5):.2f}" == "0.50"
    assert [int(row) for row in tf.constant([4, 5])] == [4, 5]
    assert len(tf.zeros([4, 2])) == 4
    with pytest.raises(TypeError, match="calar tensor"):
        len(three)
    with pytest.raises(TypeError, match="calar tensor"):
        iter(three)


def test_how_a_tensor_is_written():
    assert str(tf.constant(3.0)) == "tf.Tensor(3.0, shape=(), dtype=float32)"
    assert repr(tf.constant([1, 2])).endswith(
        "shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"
    )
    assert repr(tf.constant(True)).endswith("numpy=True>")
    assert "numpy=\narray([[" in repr(tf.ones([2, 2]))


def test_a_value_cannot_be_changed_through_numpy():
    x = tf.constant([1.0, 2.0])
    x.numpy()[0] = 9.0
    assert x.numpy()[0] == 1.0


def test_copies_and_pickles():
    x = tf.constant([1.0, 2.0])
    assert copy.copy(x) is x and copy.deepcopy(x) is x
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).numpy(), [1.0, 2.0])


def test_control_flow_is_pythons():
    x = tf.constant(3.0)
    assert tf.cond(x > 2, lambda: x * 2, lambda: x).numpy() == 6.0
    assert tf.cond(False, lambda: 1, lambda: 2) == 2
    assert tf.while_loop(lambda i: i < 10, lambda i: i + 3, [tf.constant(0)]).numpy() == 12
    i, total = tf.while_loop(
        lambda i, t: i < 5, lambda i, t: (i + 1, t + i), [0, 0], maximum_iterations=3
    )
    assert (i.numpy(), total.numpy()) == (3, 3)
    np.testing.assert_array_equal(tf.map_fn(lambda a: a * a, tf.constant([1, 2, 3])), [1, 4, 9])
    np.testing.assert_array_equal(tf.scan(lambda a, b: a + b, tf.constant([1, 2, 3])), [1, 3, 6])
    assert tf.case([(tf.constant(True), lambda: 1)], default=lambda: 2) == 1


def test_a_function_runs_as_it_is_written():
    @tf.function
    def positive(x):
        if x > 0:
            return x * 2
        return -x

    assert positive(tf.constant(3.0)).numpy() == 6.0
    assert positive(tf.constant(-3.0)).numpy() == 3.0


def test_a_recurrent_network_of_the_old_api():
    cell = tf.nn.rnn_cell.LSTMCell(4)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 3, 5]), dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 3, 4]
    np.testing.assert_allclose(outputs.numpy()[:, -1], state.h.numpy())


def test_errors_name_the_operation():
    with pytest.raises(ValueError, match=r"MatMul.*inner dimensions differ"):
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.assert_equal(1, 2)
    with pytest.raises(RuntimeError, match="not compatible with eager"):
        tf.placeholder(tf.float32)
    with pytest.raises(RuntimeError, match="Use tf.GradientTape instead"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))


def test_graphs_are_built_as_before():
    eager = tf.constant(2.0)
    with tf.Graph().as_default():
        assert not tf.executing_eagerly()
        x = tf.placeholder(tf.float32, [])
        y = x * tf.Variable(3.0) + eager  # a value of eager code is a constant of the graph
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(y, {x: 1.0}) == 5.0
        with pytest.raises(TypeError, match="symbolic tensor of a graph"):
            symbolic = x
            from dataflow.python.eager import context

            with context.eager_mode():
                tf.stack([tf.constant(1.0), symbolic])
    assert tf.executing_eagerly()


def test_random_numbers_begin_anew_with_a_seed():
    def draw():
        tf.set_random_seed(7)
        return [tf.random_normal([2]).numpy(), tf.random_normal([2]).numpy()]

    (a, b), (c, d) = draw(), draw()
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b, d)
    assert not np.array_equal(a, b)


def test_nothing_is_kept_of_what_nobody_holds():
    gc.collect()
    gc.disable()  # a value goes at once, not when cycles are looked for
    try:
        h = first = tf.ones([3])
        with tf.GradientTape() as tape:
            tape.watch(first)
            for _ in range(5):
                h = tf.tanh(h)
        gone = [weakref.ref(t) for t in (first, tf.constant(1.0), *tf.split(h, 3), h)]
        assert gone[0]() is first and not any(ref() for ref in gone[1:-1])
        assert tape.gradient(h, first) is not None
        del first, h, tape
        assert not any(ref() for ref in gone)
    finally:
        gc.enable()
    h = tf.ones([3])
    h = tf.tanh(h)
    kinds = len(runner.runner().graph.operations)
    for _ in range(50):
        h = tf.tanh(h)
    assert len(runner.runner().graph.operations) == kinds  # a kind of operation is one node


def test_arrays_of_tensors():
    array = tf.TensorArray(tf.float32, 2, dynamic_size=True, clear_after_read=False)
    for i in range(3):
        array = array.write(i, float(i))
    np.testing.assert_array_equal(array.stack().numpy(), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(array.gather([2, 0]).numpy(), [2.0, 0.0])
    assert array.size().numpy() == 3
    fixed = tf.TensorArray(tf.float32, 1)
    with pytest.raises(tf.errors.OutOfRangeError, match="not resizeable"):
        fixed.write(1, 1.0)
    with pytest.raises(tf.errors.OutOfRangeError, match="array size is: 1"):
        fixed.read(1)
    fixed.write(0, 5.0).read(0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="twice"):
        fixed.read(0)
    split = tf.TensorArray(tf.int32, 2, infer_shape=False).split([1, 2, 3], [1, 2])
    np.testing.assert_array_equal(split.concat().numpy(), [1, 2, 3])
    rows = tf.TensorArray(tf.int32, 2).unstack([[1, 2], [3, 4]])
    np.testing.assert_array_equal(rows.read(1).numpy(), [3, 4])


def test_tables_and_sparse_tensors():
    table = tf.contrib.lookup.index_table_from_tensor(["x", "y"])
    np.testing.assert_array_equal(table.lookup(tf.constant(["y", "z"])).numpy(), [1, -1])
    sparse = tf.SparseTensor([[0, 1]], [2.0], [2, 3])
    np.testing.assert_array_equal(tf.sparse_tensor_to_dense(sparse).numpy()[0], [0.0, 2.0, 0.0])


def test_what_only_stands_for_other_operations_is_none() -> None:
    x = tf.constant(1.0)
    assert tf.group(x) is None and tf.no_op() is None
    assert tf.Assert(x > 0, [x]) is None and tf.assert_positive(x) is None
    assert tf.tuple([x])[0] is x
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[1 2\.\.\.\]"):
        tf.Assert(x < 0, [tf.constant([1.0, 2.0, 3.0])], summarize=2)


def test_outputs_of_an_operation_after_some_are_gone():
    first, second = tf.split(tf.constant([1.0, 2.0]), 2)
    op = second.op
    del first
    assert op.outputs[1] is second and op.outputs[0].shape == (1,)
    assert "unprintable" in str(op.outputs[0])


def test_a_kind_that_was_met_is_checked_as_the_first():
    x = tf.constant(np.arange(6.0))
    assert tf.reshape(x, [2, 3]).shape == (2, 3)
    assert tf.reshape(x, [3, 2]).shape == (3, 2)
    for _ in range(2):
        with pytest.raises(ValueError, match="reshape|Reshape"):
            tf.reshape(x, [4, 2])
    for _ in range(2):
        with pytest.raises(ValueError, match="MatMul"):
            tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
        assert tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]), transpose_b=True).shape == (2, 2)
        assert tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]), transpose_a=True).shape == (3, 3)
    assert [tf.reduce_sum(x, keepdims=k).shape.as_list() for k in (True, False, True)] == [
        [1],
        [],
        [1],
    ]


def test_errors_name_the_line_that_fails_not_the_first_of_its_kind():
    def check(value):
        return tf.check_numerics(tf.constant(value), "no number")

    check(1.0)
    line = inspect.currentframe().f_lineno + 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="no number") as info:
        tf.check_numerics(tf.constant(np.nan, tf.float32), "no number")
    assert f"test_tensors.py, line {line}" in str(info.value)


def test_kinds_of_operations_go_with_their_variable():
    graph = tf.ones([]).graph
    v = tf.Variable(1.0)
    before = len(graph._kinds)
    for _ in range(3):
        v.assign_add(v * 1.0)
    name = v.handle.op.attrs["shared_name"]
    assert len(graph._kinds) > before and graph._keys_of[name]
    keys = graph._keys_of[name]
    del v
    gc.collect()
    assert name not in graph._keys_of and not any(key in graph._kinds for key in keys)


def test_numpy_s_settings_are_as_before():
    before = np.geterr()
    with np.errstate(divide="raise", over="warn"):
        inside = np.geterr()
        assert np.isinf((tf.constant(1.0) / tf.constant(0.0)).numpy())
        assert np.geterr() == inside
        with pytest.raises(FloatingPointError):
            np.float32(1) / np.float32(0)
    assert np.geterr() == before


def test_names_that_no_node_may_have_and_defaults_of_placeholders():
    x = tf.constant(2.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.multiply(tf.placeholder_with_default(x, []), 3.0, name="_my product")
        assert tape.gradient(y, x).numpy() == 3
    assert tf.Variable(1.0, name="_0").numpy() == 1
    with pytest.raises(RuntimeError, match="placeholder"):
        tf.placeholder(tf.float32)
