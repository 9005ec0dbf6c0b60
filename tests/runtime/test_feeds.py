"""Feeds: keys that stand for several tensors, and values of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.feeds import make_feed_converter

pytestmark = pytest.mark.usefixtures("graph")


def run(fetch: Any, feeds: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetch, feeds)


def test_a_tuple_of_placeholders_takes_a_tuple_of_values() -> None:
    a, b, c = (tf.placeholder(tf.float32, [2], name=n) for n in "abc")
    total = a + 10.0 * b + 100.0 * c
    want = [531.0, 642.0]
    for key, value in (
        ((a, b, c), ([1, 2], [3, 4], [5, 6])),
        ((a, (b, c)), ([1, 2], [[3, 4], [5, 6]])),
        ((a, (b, c)), [[1, 2], np.array([[3, 4], [5, 6]])]),
        ((a, b, c), np.array([[1, 2], [3, 4], [5, 6]])),  # an array counts as its rows
    ):
        assert run(total, {key: value}).tolist() == want


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ([[1, 2]], "got 1 values"),
        (np.zeros((3, 2)), "got 3 values"),
        (7, "got int"),
        ({"a": 1, "b": 2}, "got 2 values"),
    ],
)
def test_another_number_of_values_is_refused(value: Any, got: str) -> None:
    a, b = (tf.placeholder(tf.float32, [2]) for _ in range(2))
    with pytest.raises(ValueError, match=f"stands for 2 tensors, {got} for it"):
        run(a + b, {(a, b): value})


def test_a_state_takes_what_a_run_of_a_list_of_it_gives() -> None:
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(2) for _ in range(2)])
    state = cell.zero_state(1, tf.float32)
    total = sum(t for layer in state for t in layer)
    with tf.Session() as session:
        got = session.run([state], {state[0].c: [[1.0, 2.0]]})
        assert session.run(total, {state: got}).tolist() == [[1.0, 2.0]]
        assert session.run(total, {state: [t + 1 for t in got[0][0]] * 2}).tolist() == [[6.0, 8.0]]


def test_a_sparse_key_within_a_tuple() -> None:
    a = tf.placeholder(tf.float32, [])
    s = tf.sparse_placeholder(tf.float32, [2, 2])
    value = tf.SparseTensorValue([[0, 1]], [3.0], [2, 2])
    assert run(a + tf.sparse_reduce_sum(s), {(a, s): (1.0, value)}) == 4.0


@pytest.mark.parametrize("key", ["x", "x:1", "nobody:0", 3, None])
def test_keys_that_are_no_tensors(key: Any) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
        run(x, {key: 1.0})


@pytest.mark.parametrize("feeds", [[("x:0", 1.0)], 3, "x:0"])
def test_feeds_that_are_no_dictionary(feeds: Any) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    with pytest.raises(TypeError, match=r"must be a dictionary .* got (list|int|str)"):
        run(x, feeds)


def test_text_comes_back_byte_by_byte() -> None:
    one = tf.placeholder(tf.string, [])
    many = tf.placeholder(tf.string, [None])
    for value in (b"plain", b"ends in nul\0", b"", b"\xff\x00\x01", np.bytes_(b"numpy")):
        assert run(tf.identity(one), {one: value}) == bytes(value)
    assert run(tf.identity(one), {one: "gr\u00fcn"}) == "gr\u00fcn".encode()
    mixed = [b"a\0", "b", np.str_("c")]
    assert run(tf.identity(many), {many: mixed}).tolist() == [b"a\0", b"b", b"c"]
    assert run(tf.identity(many), {many: np.array(["a", "bc"])}).tolist() == [b"a", b"bc"]


@pytest.mark.parametrize("value", [1, 1.5, 2j, np.float32(3), np.bool_(True)])
def test_numbers_are_no_text(value: Any) -> None:
    one = tf.placeholder(tf.string, [])
    with pytest.raises(TypeError, match="not compatible with Tensor type string"):
        run(one, {one: value})


@pytest.mark.parametrize(
    ("dtype", "fits", "too_large"),
    [
        (tf.int8, (-128, 127), (-129, 128)),
        (tf.uint8, (0, 255), (-1, 256)),
        (tf.int32, (-(2**31), 2**31 - 1), (-(2**31) - 1, 2**31)),
        (tf.uint64, (0, 2**64 - 1), (-1, 2**64)),
        (tf.bool, (0, 1, False, True), (2, -1)),
        (tf.float16, (2048, True), (2049, 10**6)),
        (tf.bfloat16, (256,), (257,)),
        (tf.float32, (2**24, 2**24 + 2, 2**100), (2**24 + 1, 10**400)),
        (tf.float64, (2**53,), (10**400,)),
        (tf.complex64, (2**24,), (2**24 + 1,)),
    ],
)
def test_integers_that_do_not_fit_are_refused(dtype: Any, fits: Any, too_large: Any) -> None:
    x = tf.placeholder(dtype, [])
    for value in fits:
        assert run(tf.identity(x), {x: value}) == value
    for value in too_large:
        with pytest.raises(TypeError, match="the number does not fit"):
            run(tf.identity(x), {x: value})


def test_float64_rounds_an_integer_as_tensorflow_does() -> None:
    x = tf.placeholder(tf.float64, [])
    assert run(tf.identity(x), {x: 2**53 + 1}) == 2.0**53


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (["a", None], "None"),
        ([1], "1"),
        ([[b"a"], [b"b", b"c"]], r"\[b'a'\]"),
        (np.array([b"a", 2.5], object), "2.5"),
        (np.array([True]), "True"),
        (None, "None"),
    ],
)
def test_lists_with_elements_that_are_no_text_are_refused(value: Any, named: str) -> None:
    many = tf.placeholder(tf.string)
    with pytest.raises(TypeError, match=f"feed value {named} .* type string of 'Placeholder:0'"):
        run(tf.identity(many), {many: value})
    assert run(tf.identity(many), {many: np.zeros(0)}).tolist() == []  # has none


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2j, TypeError),
        ({"a": 1}, TypeError),
        ([2**40], TypeError),
        ([float("inf")], TypeError),
        (float("nan"), ValueError),
        ("text", ValueError),
        ([[1], [2, 3]], ValueError),
    ],
)
def test_values_that_are_no_numbers_name_the_tensor(value: Any, kind: Any) -> None:
    x = tf.placeholder(tf.int32, name="x")
    with pytest.raises(kind, match="Cannot feed value for Tensor 'x:0', int32"):
        run(tf.identity(x), {x: value})


@pytest.mark.parametrize("kind", ["U", "S"])
def test_an_array_of_text_is_read_as_numbers_for_a_bool(kind: str) -> None:
    x = tf.placeholder(tf.bool, name="x")
    texts = np.array(["0", "2"]).astype(kind)
    assert run(tf.identity(x), {x: texts}).tolist() == [False, True]
    assert not run(tf.identity(x), {x: texts[0]})
    for refused in (np.array(["x"]), np.array(["1", ""])):
        with pytest.raises(ValueError, match="Cannot feed value for Tensor 'x:0', bool.*invalid"):
            run(tf.identity(x), {x: refused.astype(kind)})
    # A list is an array of objects, whose truth counts.
    assert run(tf.identity(x), {x: ["0", ""]}).tolist() == [True, False]


def test_shapes_are_checked_where_they_are_known() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    exact = tf.placeholder(tf.float32, [2], name="exact")
    free = tf.placeholder(tf.float32, name="free")
    assert run(tf.shape(x), {x: np.ones((4, 3))}).tolist() == [4, 3]
    assert run(tf.shape(free), {free: np.ones((1, 2, 3))}).tolist() == [1, 2, 3]
    for tensor, wrong in (
        (x, np.ones((4, 2))),
        (x, np.ones(3)),
        (x, np.ones((1, 4, 3))),
        (exact, [1.0]),
        (exact, 1.0),
        (exact, [[1.0, 2.0]]),
    ):
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            run(tf.identity(tensor), {tensor: wrong})


def test_rows_of_different_lengths_are_called_that() -> None:
    x = tf.placeholder(tf.float32, [None, None], name="x")
    with pytest.raises(ValueError, match="have different shapes. Pad them") as error:
        run(x, {x: [[1], [2, 3]]})
    assert "got: list [[1], [2, 3]]" in str(error.value)
    assert "built at" in str(error.value)


def test_an_array_of_bytes_is_text() -> None:
    x = tf.placeholder(tf.string, [None])
    assert run(tf.identity(x), {x: np.array([b"a", b"bc"])}).tolist() == [b"a", b"bc"]
    one = tf.placeholder(tf.string, [])
    assert run(tf.identity(one), {one: np.array(b"abc")}) == b"abc"


def test_a_handle_is_passed_on_as_it_is() -> None:
    queue = tf.FIFOQueue(3, tf.float32, shapes=[[]])
    given = tf.placeholder(tf.resource, [], name="given")
    size = tf.raw_ops.QueueSizeV2(handle=given)
    with tf.Session() as session:
        session.run(queue.enqueue_many([[1.0, 2.0]]))
        kept = session.run(queue.queue_ref)
        assert session.run(size, {given: kept}) == 2


def test_an_array_that_fits_is_taken_as_it_is() -> None:
    exact, free = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32)
    one, text = tf.placeholder(tf.float32, []), tf.placeholder(tf.string, [])
    array = np.zeros(2, np.float32)
    for tensor in (exact, free):
        assert make_feed_converter(tensor)(array) is array
    for number in (3, 3.0, np.array(3.0), np.float64(3.0)):  # kernels compute faster with scalars
        for tensor in (one, free):
            got = make_feed_converter(tensor)(number)
            assert type(got) is np.float32 and got == 3.0
    got = make_feed_converter(text)("word")
    assert type(got) is np.ndarray and got[()] == b"word"


def test_what_is_wrong_with_a_name_is_told_as_it_is() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    for told in (
        "feed_dict key as Tensor: The name 'nobody:0' ",
        "as a Tensor. (The name 'nobody:0' ",
    ):
        with pytest.raises((TypeError, ValueError)) as e:
            run("nobody:0" if "(" in told else x, {"nobody:0": 1.0} if "(" not in told else {})
        assert told in str(e.value)
