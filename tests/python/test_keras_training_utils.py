"""``keras.engine.training_utils``: shuffled datasets, and inputs by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import dataflow as tf
from dataflow import logging
from dataflow.python import keras_training_utils as training_utils
from dataflow.python.eager import context

RANGE = tf.data.Dataset.range


@pytest.mark.parametrize(
    ("make", "is_kept"),
    [
        (lambda: RANGE(5), True),
        (lambda: RANGE(5).batch(2).cache().prefetch(1), True),
        (lambda: RANGE(5).concatenate(RANGE(3)), True),
        (lambda: tf.data.Dataset.zip((RANGE(5), RANGE(3))), True),
        (lambda: RANGE(5).filter(lambda _: True).map(lambda x: x + 1).repeat(2), True),
        (lambda: RANGE(5).map(lambda x: x, num_parallel_calls=2).skip(1).take(2).window(2), True),
        (lambda: RANGE(5).flat_map(lambda _: RANGE(2)), False),
        (lambda: RANGE(5).shuffle(1).batch(2), False),
        (lambda: RANGE(3).concatenate(RANGE(3).shuffle(2)), False),
    ],
)
def test_what_keeps_the_order_of_elements(make: Callable[[], Any], is_kept: bool) -> None:
    data = make()
    with mock.patch.object(logging, "warning") as warned:
        training_utils.verify_dataset_shuffled(data)
    assert warned.called == is_kept
    if is_kept:
        training_utils.assert_not_shuffled(data)
    else:
        with pytest.raises(ValueError, match="Could not assert"):
            training_utils.assert_not_shuffled(data)


def test_inputs_by_name() -> None:
    one = training_utils.ModelInputs(np.ones(10))
    assert one.get_input_names() == ["input_1"]
    made = one.get_symbolic_inputs()
    assert made.shape.as_list() == [None, 1] and made.dtype == tf.float32
    assert one.get_symbolic_inputs(return_single_as_list=True) == [made] == one.as_list()
    listed = training_utils.ModelInputs([np.ones((4, 3), np.int32), np.ones(20)])
    first, _ = listed.get_symbolic_inputs()
    assert first.shape.as_list() == [None, 3] and first.dtype == tf.int32
    with context.eager_mode():
        spec = tf.TensorSpec([8, 2], tf.float64)
        named = training_utils.ModelInputs({"b": tf.constant([1.0]), "a": spec})
        assert named.get_input_names() == ["a", "b"]
        found = named.get_symbolic_inputs()
        assert found["a"].dtype == tf.float64 and found["a"].shape.as_list() == [None, 2]
        assert dict(named.as_dict()) == found


def test_arrays_become_a_generator_of_batches() -> None:
    x, y = np.arange(10).reshape(5, 2), np.arange(5)
    made, steps = training_utils.convert_to_generator_like((x, y, None), batch_size=2, epochs=2)
    found = list(made)
    assert steps == 3 and len(found) == 6
    np.testing.assert_array_equal(found[2][0], [[8, 9]])
    np.testing.assert_array_equal(found[3][1], [0, 1])
    mixed, _ = training_utils.convert_to_generator_like((x, y), batch_size=5, shuffle=True)
    (batch,) = list(mixed)
    np.testing.assert_array_equal(np.sort(batch[1]), y)
    np.testing.assert_array_equal(batch[0][:, 0], 2 * batch[1])
    assert training_utils.convert_to_generator_like(made, steps_per_epoch=4) == (made, 4)
    with pytest.raises(ValueError, match="use `batch_size` instead"):
        training_utils.convert_to_generator_like((x, y))


def test_no_pools_of_processes_are_left() -> None:
    assert tf.keras.experimental.terminate_keras_multiprocessing_pools(use_sigkill=True) == []
