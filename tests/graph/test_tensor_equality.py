"""``==`` of tensors after `enable_tensor_equality` and `enable_v2_behavior`, as in TensorFlow 1.15.5."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow

tf: Any = dataflow


@pytest.fixture
def version_2() -> Iterator[None]:
    tf.reset_default_graph()  # it can be enabled before a graph has nodes
    tf.enable_v2_behavior()
    yield
    tf.disable_v2_behavior()


def test_classes_are_untouched_until_it_is_enabled(graph: Any) -> None:
    for kind in (tf.Tensor, tf.Variable):
        assert kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__
    tf.enable_tensor_equality()
    try:
        assert tf.Tensor.__eq__ is not object.__eq__
    finally:
        tf.disable_tensor_equality()
        tf.disable_tensor_equality()
    for kind in (tf.Tensor, tf.Variable):
        assert kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__


def test_graphs_keep_identity(graph: Any) -> None:
    tf.enable_tensor_equality()
    try:
        x, y, v = tf.constant([1, 2]), tf.constant([1, 3]), tf.Variable(1.0)
        assert (x == x, x == y, x != y, x is None, v == v) == (True, False, True, False, True)
        assert (x == "a", x == [1, 2]) == (False, False)
        assert {x: 1, v: 2}[x] == 1 and x not in [y]
    finally:
        tf.disable_tensor_equality()


def test_eager_tensors_compare_their_elements(version_2: None) -> None:
    x, v = tf.constant([1, 2]), tf.Variable([1.0, 2.0])
    assert (x == tf.constant([1, 3])).numpy().tolist() == [True, False]
    assert (x != [1, 3]).numpy().tolist() == [False, True]
    assert (v == 1.0).numpy().tolist() == [True, False]
    assert bool(tf.constant(1) == 1) and tf.constant(1) in [tf.constant(2), tf.constant(1)]
    with pytest.raises(tf.errors.InvalidArgumentError):
        x == tf.constant([1, 2, 3])  # noqa: B015
    with pytest.raises(ValueError):
        x == None  # noqa: B015, E711

    ones = tf.function(lambda a: a == 1)
    assert ones(x).numpy().tolist() == [True, False]
    with tf.Graph().as_default():
        z = tf.constant([1, 2])
        assert (z == z) is True and z in {z}


def test_eager_tensors_are_no_keys_but_their_references_are(version_2: None) -> None:
    x, v = tf.constant([1, 2]), tf.Variable([1.0, 2.0])
    with pytest.raises(
        TypeError, match="Tensor is unhashable if Tensor equality is enabled. Instead"
    ):
        hash(x)
    with pytest.raises(TypeError, match="Variable is unhashable"):
        {v: 1}
    assert {x.experimental_ref(): 1}[x.experimental_ref()] == 1
    assert x.experimental_ref() != tf.constant([1, 2]).experimental_ref()
    assert v.experimental_ref().deref() is v
    assert repr(v.experimental_ref()).startswith("<Reference wrapping <tf.Variable")


def test_the_engine_works_with_them(version_2: None) -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
    tf.keras.optimizers.SGD(0.1).apply_gradients([(tape.gradient(loss, v), v)])
    assert np.allclose(v.numpy(), [0.8, 1.6])
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(2, input_shape=(3,)), tf.keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"])
    history = model.fit(np.ones((4, 3), "f"), np.ones((4, 1), "f"), verbose=0)
    assert len(history.history["loss"]) == 1
    assert [int(n) for n in tf.data.Dataset.range(3).map(lambda n: n + 1)] == [1, 2, 3]
    assert tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)]).numpy() == 3
    assert copy.copy(v) is not None and weakref.ref(v)() is v


def test_what_version_2_turns_on(version_2: None) -> None:
    assert tf.executing_eagerly() and tf.resource_variables_enabled()
    assert tf.TensorShape([3])[0] == 3 and isinstance(tf.TensorShape([3])[0], int)
    tf.compat.v1.disable_v2_behavior()
    assert not tf.executing_eagerly() and not tf.resource_variables_enabled()
    assert isinstance(tf.TensorShape([3])[0], tf.Dimension)
    assert tf.Tensor.__eq__ is object.__eq__
