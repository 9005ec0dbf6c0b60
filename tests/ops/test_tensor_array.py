"""`TensorArray`, `map_fn`, `scan` and folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_writes_and_reads() -> None:
    ta = tf.TensorArray(tf.float32, size=3)
    ta = ta.write(0, [1.0, 2.0]).write(2, [5.0, 6.0]).write(1, [3.0, 4.0])
    assert ta.element_shape.as_list() == [2]
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(ta.stack()), [[1, 2], [3, 4], [5, 6]])
        np.testing.assert_array_equal(session.run(ta.gather([2, 0])), [[5, 6], [1, 2]])
        np.testing.assert_array_equal(session.run(ta.concat()), [1, 2, 3, 4, 5, 6])
        assert session.run(ta.size()) == 3


def test_strings_and_bools() -> None:
    ta = tf.TensorArray(tf.string, 2).unstack(["a", "b"])
    flags = tf.TensorArray(tf.bool, 2).unstack([True, False])
    with tf.Session() as session:
        assert session.run(ta.stack()).tolist() == [b"a", b"b"]
        assert session.run(ta.read(1)) == b"b"
        assert session.run(flags.stack()).tolist() == [True, False]


def test_elements_of_several_lengths() -> None:
    ta = tf.TensorArray(tf.int32, 3, infer_shape=False).split([1, 2, 3, 4], [1, 3, 0])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(ta.read(1)), [2, 3, 4])
    ta = tf.TensorArray(tf.int32, 3, infer_shape=False).split([1, 2, 3, 4], [1, 3, 0])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(ta.concat()), [1, 2, 3, 4])


@pytest.mark.parametrize(
    "use, message",
    [
        (lambda ta: ta.write(3, 1.0).flow, "not resizeable"),
        (lambda ta: ta.write(0, 1.0).write(0, 2.0).flow, "already been written"),
        (lambda ta: ta.read(0), "has not been written"),
        (lambda ta: ta.read(7), "array size is: 3"),
        (lambda ta: ta.write(-1, 1.0).flow, "negative"),
    ],
)
def test_errors_at_run_time(use: Any, message: str) -> None:
    ta = tf.TensorArray(tf.float32, size=3)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(use(ta))


def test_arrays_of_functions_keep_their_elements() -> None:
    def twice(x: Any) -> Any:
        ta = tf.TensorArray(tf.int64, size=1, dynamic_size=True).write(0, x)
        _, ta = tf.while_loop(
            lambda i, _: i < 3, lambda i, t: (i + 1, t.write(i, t.read(i - 1) + 1)), [1, ta]
        )
        return ta.stack() + ta.stack()

    dataset = tf.data.Dataset.range(5, 7).map(twice)
    traced = tf.function(twice)(tf.constant(5, tf.int64))
    plain = twice(tf.constant(5, tf.int64))
    with tf.Session() as session:
        first = session.run(dataset.make_one_shot_iterator().get_next())
        assert first.tolist() == [10, 12, 14]
        assert session.run(traced).tolist() == [10, 12, 14]
        with pytest.raises(tf.errors.InvalidArgumentError, match="twice"):
            session.run(plain)


def test_an_element_is_cleared_by_its_first_read() -> None:
    ta = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    first = ta.read(0)
    with tf.control_dependencies([first]):
        second = ta.read(0)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="clear_after_read"):
            session.run(second)


def test_errors_while_building() -> None:
    ta = tf.TensorArray(tf.float32, size=2).write(0, [1.0, 2.0])
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        ta.write(1, [1.0])
    with pytest.raises(TypeError, match="float32"):
        ta.write(1, tf.constant([1, 2]))
    with pytest.raises(ValueError, match="Size must be provided"):
        tf.TensorArray(tf.float32)


def test_a_dynamic_array_grows_in_a_loop() -> None:
    n = tf.placeholder(tf.int32, [])
    ta = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    _, ta = tf.while_loop(
        lambda i, _: i < n, lambda i, t: (i + 1, t.write(i, i * i)), [tf.constant(0), ta]
    )
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(ta.stack(), {n: 4}), [0, 1, 4, 9])
        np.testing.assert_array_equal(session.run(ta.stack(), {n: 2}), [0, 1])


def test_runs_do_not_share_an_array() -> None:
    ta = tf.TensorArray(tf.float32, size=2, clear_after_read=False).unstack([1.0, 2.0])
    x = ta.stack()
    with tf.Session() as session:
        for _ in range(3):
            np.testing.assert_array_equal(session.run(x), [1, 2])


def test_names_of_a_map_are_tensorflows() -> None:
    tf.map_fn(lambda v: v * 2.0, tf.placeholder(tf.float32, [None], name="x"))
    names = {op.name for op in tf.get_default_graph().get_operations()}
    assert {
        "map/TensorArray",
        "map/TensorArrayUnstack/TensorArrayScatter/TensorArrayScatterV3",
        "map/TensorArray_1",
        "map/while/TensorArrayReadV3",
        "map/while/TensorArrayWrite/TensorArrayWriteV3",
        "map/while/Identity",
        "map/TensorArrayStack/TensorArrayGatherV3",
    } <= names


def test_map_over_several_tensors_to_other_dtypes() -> None:
    a, b = tf.constant([1, 2, 3]), tf.constant([[1.0], [2.0], [3.0]])
    result = tf.map_fn(
        lambda e: {"sum": tf.cast(e[0], tf.float32) + e[1], "odd": tf.equal(e[0] % 2, 1)},
        (a, b),
        dtype={"sum": tf.float32, "odd": tf.bool},
    )
    assert result["sum"].shape.as_list() == [3, 1]
    with tf.Session() as session:
        values = session.run(result)
    np.testing.assert_array_equal(values["sum"], [[2], [4], [6]])
    assert values["odd"].tolist() == [True, False, True]


def test_scan_with_a_structured_state() -> None:
    x = tf.constant([1, 2, 3, 4])
    fib = tf.scan(lambda a, _: (a[1], a[0] + a[1]), x, initializer=(tf.constant(0), tf.constant(1)))
    with tf.Session() as session:
        first, second = session.run(fib)
    np.testing.assert_array_equal(first, [1, 1, 2, 3])
    np.testing.assert_array_equal(second, [1, 2, 3, 5])


def test_scan_in_reverse_and_folds() -> None:
    x = tf.placeholder(tf.float32, [None])
    value = np.array([1, 2, 3, 4], np.float32)
    reverse = tf.scan(lambda a, v: a + v, x, reverse=True)
    left = tf.foldl(lambda a, v: a * 2.0 - v, x)
    right = tf.foldr(lambda a, v: a * 2.0 - v, x, initializer=tf.constant(1.0))
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(reverse, {x: value}), [10, 9, 7, 4])
        assert session.run(left, {x: value}) == ((1 * 2 - 2) * 2 - 3) * 2 - 4
        expected = 1.0
        for v in value[::-1]:
            expected = expected * 2 - v
        assert session.run(right, {x: value}) == expected


def test_map_of_nothing() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.map_fn(lambda v: v * 2.0, x)
    with tf.Session() as session:
        assert session.run(y, {x: np.zeros((0, 2))}).shape == (0, 2)


def test_what_map_refuses() -> None:
    with pytest.raises(TypeError, match="callable"):
        tf.map_fn(3, tf.constant([1.0]))
    with pytest.raises(ValueError, match="1\\+ dimensional"):
        tf.map_fn(lambda v: v, tf.constant(1.0))
    with pytest.raises(ValueError, match="first dimension"):
        tf.map_fn(lambda e: e[0], (tf.zeros([2]), tf.zeros([3])))
    with pytest.raises(TypeError, match="TensorArray"):
        tf.map_fn(lambda v: tf.cast(v, tf.int32), tf.constant([1.0]))


def test_hessian_of_a_vector_of_unknown_size() -> None:
    x = tf.placeholder(tf.float32, [None])
    (h,) = tf.hessians(tf.reduce_sum(x**3.0), x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(h, {x: [1.0, 2.0]}), [[6, 0], [0, 12]])


def test_an_element_that_was_not_written_is_zeros_of_the_shape_of_the_others() -> None:
    written = tf.TensorArray(tf.float32, 3, clear_after_read=False).write(0, [1.0, 2.0])
    any_shape = tf.TensorArray(tf.float32, 3, infer_shape=False).write(0, [1.0, 2.0])
    with tf.Session() as sess:
        assert sess.run(written.stack()).tolist() == [[1, 2], [0, 0], [0, 0]]
        assert sess.run(written.read(1)).tolist() == [0, 0]
        for unknown in (any_shape.read(1), tf.TensorArray(tf.float32, 3).read(1)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not been written to yet"):
                sess.run(unknown)


def test_lengths_of_pieces_may_be_int32() -> None:
    pieces = tf.TensorArray(tf.float32, 2, infer_shape=False)
    pieces.mark_used()
    piece = pieces.split([1.0, 2.0, 3.0], tf.constant([1, 2])).read(1)
    with tf.Session() as sess:
        assert sess.run(piece).tolist() == [2.0, 3.0]


def test_a_split_into_fewer_parts_than_the_array_has() -> None:
    array = tf.TensorArray(tf.float32, 2, infer_shape=False).split([1.0], [1])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(2 vs\. 1\)"):
            session.run(array.flow)


def _losses():
    """Losses of four examples, the variable that they depend on, and the gradient of each by hand."""
    v = tf.Variable([1.0, 2.0])
    data = np.array([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [-1.0, 0.0]], np.float32)
    losses = 0.5 * tf.reduce_sum(tf.squared_difference(data, v), axis=1)
    return v, losses, np.array([1.0, 2.0], np.float32) - data


def test_vectorized_map_gives_gradients_of_each_example() -> None:
    with tf.Graph().as_default():
        v, losses, expected = _losses()
        slopes = tf.vectorized_map(lambda loss: tf.gradients(loss, v)[0], losses)
        pair = tf.vectorized_map(
            lambda e: {"sum": e[0] + e[1]}, (tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
        )
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        squares = tf.vectorized_map(lambda row: tf.reduce_sum(row * row), x)
        outer = tf.convert_to_tensor(tf.gradients(squares, x)[0])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            np.testing.assert_allclose(session.run(slopes), expected)
            assert session.run(pair)["sum"].tolist() == [4.0, 6.0]
            assert session.run(outer).tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_gradients_of_each_example_within_map_fn_are_refused() -> None:
    """The array of gradients is read and written in turns: sums so far looked like gradients."""
    with tf.Graph().as_default():
        v, losses, _ = _losses()
        slopes = tf.map_fn(lambda loss: tf.gradients(loss, v)[0], losses)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError, match="already been read"):
                session.run(slopes)


def test_a_read_of_another_dtype_and_a_split_of_a_scalar_are_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        array = tf.TensorArray(tf.float32, size=2).write(0, 1.0)
        wrong = tf.raw_ops.TensorArrayReadV3(
            handle=array.handle, index=0, flow_in=array.flow, dtype=tf.float64
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="float32.*float64"):
            session.run(wrong)
        array = tf.TensorArray(tf.float32, size=1, infer_shape=False)
        value, lengths = tf.placeholder(tf.float32), tf.placeholder(tf.int64)
        split = array.split(value, lengths).flow
        with pytest.raises(tf.errors.InvalidArgumentError, match="value.*vector"):
            session.run(split, {value: 1.0, lengths: [1]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="lengths.*vector"):
            session.run(split, {value: [1.0], lengths: 1})


def test_the_gradient_of_a_split_has_its_rows_alone() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0, 3.0])
        array = tf.TensorArray(tf.float32, size=2, dynamic_size=True, infer_shape=False)
        joined = array.split(x, [1, 2]).write(2, [4.0]).concat()
        (grad,) = tf.gradients(joined * joined, x)
        assert session.run(grad).tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    "elements, message",
    [
        ([[1.0], 2.0], "Concat saw a scalar shape at index 1 but requires at least vectors"),
        ([[1.0], [[2.0]]], r"inconsistent shapes.*shape: \[\] but index 1 .*shape: \[1\]"),
    ],
)
def test_what_cannot_be_concatenated_is_named(elements: list[Any], message: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        array = tf.TensorArray(tf.float32, size=2, infer_shape=False)
        for i, element in enumerate(elements):
            array = array.write(i, element)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(array.concat())
