"""``list_ops``: lists of tensors in the graph, by the functions of TensorFlow's own module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.eager.context import eager_mode
from dataflow.python.ops import list_ops

F = tf.float32


def _stacked(session: tf.Session, handle: Any) -> Any:
    return session.run(list_ops.tensor_list_stack(handle, element_dtype=F)).tolist()


def test_push_pop_and_stack(session: tf.Session) -> None:
    handle = list_ops.empty_tensor_list(element_shape=[], element_dtype=F, max_num_elements=3)
    for value in (1.0, 2.0, 3.0):
        handle = list_ops.tensor_list_push_back(handle, tf.constant(value))
    rest, last = list_ops.tensor_list_pop_back(handle, element_dtype=F)
    assert session.run(last) == 3.0 and _stacked(session, rest) == [1.0, 2.0]
    empty = list_ops.empty_tensor_list(element_shape=[1, 2], element_dtype=F)
    whole = list_ops.tensor_list_stack(empty, element_dtype=F, element_shape=[1, 2])
    assert session.run(whole).shape == (0, 1, 2)


def test_elements_by_their_index(session: tf.Session) -> None:
    handle = list_ops.tensor_list_from_tensor([1.0, 2.0, 4.0], element_shape=[])
    handle = list_ops.tensor_list_set_item(handle, 0, 3.0)
    item = list_ops.tensor_list_get_item(handle, 2, element_dtype=F)
    some = list_ops.tensor_list_gather(handle, [1, 0], element_dtype=F)
    item, some = session.run([item, some])
    assert item == 4.0 and some.tolist() == [2.0, 3.0]
    longer = list_ops.tensor_list_set_item(handle, 4, 5.0, resize_if_index_out_of_bounds=True)
    assert _stacked(session, longer) == [3.0, 2.0, 4.0, 0.0, 5.0]


def test_elements_without_a_value_are_zeros(session: tf.Session) -> None:
    handle = list_ops.tensor_list_reserve(None, 3, element_dtype=F)
    handle = list_ops.tensor_list_set_item(handle, 1, [1.0, 2.0])
    assert _stacked(session, handle) == [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]
    unknown = list_ops.tensor_list_reserve([None, 3], 1, element_dtype=F)
    item = list_ops.tensor_list_get_item(unknown, 0, element_dtype=F, element_shape=[2, 3])
    assert session.run(item).tolist() == np.zeros((2, 3)).tolist()


def test_scatter_concat_and_split(session: tf.Session) -> None:
    rows = tf.constant([1.0, 2.0])
    new = list_ops.tensor_list_scatter(rows, [3, 1], element_shape=[])
    assert _stacked(session, new) == [0.0, 2.0, 0.0, 1.0]
    changed = list_ops.tensor_list_scatter(rows, [0, 2], input_handle=new)
    assert _stacked(session, changed) == [1.0, 2.0, 2.0, 1.0]
    fed = tf.placeholder(F, [None])
    longer = list_ops.tensor_list_scatter(fed, [4], input_handle=new)
    stacked = list_ops.tensor_list_stack(longer, element_dtype=F)
    assert session.run(stacked, {fed: [7.0]}).tolist() == [0.0, 2.0, 0.0, 1.0, 7.0]
    pieces = list_ops.tensor_list_split([1.0, 2.0, 3.0], element_shape=[None], lengths=[1, 2])
    second = list_ops.tensor_list_get_item(pieces, 1, element_dtype=F)
    both = list_ops.tensor_list_concat(pieces, element_dtype=F)
    second, both = session.run([second, both])
    assert second.tolist() == [2.0, 3.0] and both.tolist() == [1.0, 2.0, 3.0]


def test_a_list_holds_elements_of_its_shape_alone(session: tf.Session) -> None:
    handle = list_ops.empty_tensor_list([2, None], F, max_num_elements=1)
    with pytest.raises(ValueError, match="2"):
        list_ops.tensor_list_push_back(handle, tf.zeros([3, 4]))
    fed = tf.placeholder(F)
    full = list_ops.tensor_list_push_back(handle, fed)
    last = list_ops.tensor_list_pop_back(full, element_dtype=F)[1]
    assert last.shape.as_list() == [2, None]
    with pytest.raises(tf.errors.InvalidArgumentError, match="incompatible shape"):
        session.run(last, {fed: np.zeros(3)})
    more = list_ops.tensor_list_push_back(full, tf.zeros([2, 1]))
    length = list_ops.tensor_list_length(more)
    with pytest.raises(tf.errors.InvalidArgumentError, match="full list"):
        session.run(length, {fed: np.zeros([2, 1])})
    nothing = list_ops.tensor_list_stack(handle, element_dtype=F)
    with pytest.raises(tf.errors.InvalidArgumentError, match="all known"):
        session.run(nothing)
    other = list_ops.tensor_list_reserve([], 1, F)
    with pytest.raises(ValueError, match="rank|shape|dims"):
        list_ops.tensor_list_get_item(other, 0, element_dtype=F, element_shape=[1])


def test_an_element_without_a_value_is_popped_as_zeros(session: tf.Session) -> None:
    handle = list_ops.tensor_list_reserve([2], 3, F)
    rest, last = list_ops.tensor_list_pop_back(handle, element_dtype=F)
    assert session.run(last).tolist() == [0.0, 0.0]
    assert session.run(list_ops.tensor_list_length(rest)) == 2


def test_a_list_without_a_limit_that_ops_count(session: tf.Session) -> None:
    handle = list_ops.empty_tensor_list([], F)
    size = list_ops.tensor_list_length(handle)
    _, many = tf.while_loop(
        lambda i, _: i < 5,
        lambda i, list_: (i + 1, list_ops.tensor_list_push_back(list_, tf.cast(i, F))),
        (tf.constant(0), handle),
    )
    assert session.run(size) == 0 and _stacked(session, many) == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_zeros_of_lists_keep_their_elements(session: tf.Session) -> None:
    inner = list_ops.tensor_list_from_tensor([1.0, 2.0], element_shape=[])
    outer = list_ops.empty_tensor_list([], tf.variant)
    zeros = tf.zeros_like(list_ops.tensor_list_push_back(outer, inner))
    _, found = list_ops.tensor_list_pop_back(zeros, element_dtype=tf.variant)
    assert _stacked(session, found) == [0.0, 0.0]
    assert session.run(list_ops.tensor_list_length(tf.zeros_like(outer))) == 0


def test_lists_of_other_shapes_are_neither_added_nor_joined(session: tf.Session) -> None:
    sizes = tf.placeholder(tf.int32)
    first = list_ops.tensor_list_reserve(sizes, 2, F)
    second = list_ops.tensor_list_reserve([], 2, F)
    total = list_ops.tensor_list_stack(tf.add_n([first, second]), element_dtype=F)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible"):
        session.run(total, {sizes: [3]})
    whole = list_ops.tensor_list_from_tensor([1, 2], element_shape=[])
    with pytest.raises(ValueError, match="int32"):
        list_ops.tensor_list_concat_lists(second, whole, element_dtype=F)
    with pytest.raises(ValueError, match="int32"):
        list_ops.tensor_list_push_back_batch(tf.stack([whole]), [1.0])
    parts = list_ops.tensor_list_split([1.0, 2.0], element_shape=sizes, lengths=[1, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank 1"):
        session.run(list_ops.tensor_list_length(parts), {sizes: []})
    with pytest.raises(ValueError):
        list_ops.tensor_list_split([[1.0], [2.0]], element_shape=[1], lengths=[1, 1])


def test_lists_are_values_with_eager_execution() -> None:
    with eager_mode():
        handle = list_ops.empty_tensor_list(None, F, max_num_elements=2)
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            handle = list_ops.tensor_list_push_back(handle, tf.constant(5.0))
            handle = list_ops.tensor_list_push_back(handle, x * x)
            item = list_ops.tensor_list_get_item(handle, 1, element_dtype=F)
        assert item.numpy().tolist() == [1.0, 4.0]
        assert tape.gradient(item, x).numpy().tolist() == [2.0, 4.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="full list"):
            list_ops.tensor_list_push_back(handle, 1.0)
        assert int(list_ops.tensor_list_length(handle)) == 2
