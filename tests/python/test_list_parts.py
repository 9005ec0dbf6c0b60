"""``list_ops``: lists of tensors in the graph, by the functions of TensorFlow's own module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.ops import list_ops

F = tf.float32


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as opened:
        yield opened


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
    with pytest.raises(ValueError, match="num"):
        list_ops.tensor_list_scatter(tf.placeholder(F, [None]), [0], input_handle=new)
    pieces = list_ops.tensor_list_split([1.0, 2.0, 3.0], element_shape=[None], lengths=[1, 2])
    second = list_ops.tensor_list_get_item(pieces, 1, element_dtype=F)
    both = list_ops.tensor_list_concat(pieces, element_dtype=F)
    second, both = session.run([second, both])
    assert second.tolist() == [2.0, 3.0] and both.tolist() == [1.0, 2.0, 3.0]
