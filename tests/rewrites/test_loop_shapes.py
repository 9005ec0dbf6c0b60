"""Symbolic shapes through loops: what is known in every round, and what only seems to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites.loop_shapes import Scaled, parts
from dataflow.rewrites.symbolic_shapes import Shapes
from tests.rewrites.test_multi_output_fusion import both, same, types

RNG = np.random.default_rng(0)


def _symbols(t: Any, feeds: list[Any]) -> Any:
    return Shapes(tf.get_default_graph().get_operations(), feeds).of(t)


@pytest.mark.parametrize("kind", ["BasicLSTMCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("with_lengths", [False, True])
def test_a_recurrent_networks_gradient_sums_nothing_over_the_batch(
    kind: str, with_lengths: bool
) -> None:
    x = tf.placeholder(tf.float32, [None, None, 3])
    lengths = tf.placeholder(tf.int32, [None])
    cell = tf.nn.rnn_cell.MultiRNNCell([getattr(tf.nn.rnn_cell, kind)(4) for _ in range(2)])
    outputs, last = tf.nn.dynamic_rnn(cell, x, lengths if with_lengths else None, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs)) + sum(tf.reduce_sum(t) for t in tf.nest.flatten(last))
    fetched = [loss, *tf.gradients(loss, [x, *tf.trainable_variables()])]
    rng = np.random.default_rng(1)
    initial = [rng.normal(size=v.shape.as_list()).astype("f") for v in tf.trainable_variables()]
    given = dict(zip([v.value() for v in tf.trainable_variables()], initial, strict=True))
    for batch, steps in ((5, 6), (1, 4), (3, 1)):
        feeds = {x: rng.normal(size=(batch, steps, 3)).astype("f"), **given}
        if with_lengths:
            feeds[lengths] = rng.integers(0, steps + 1, batch)
        plan, got, wanted = both(fetched, feeds)
        same(got, wanted)
        assert [v.shape for v in got] == [v.shape for v in wanted]
        assert "BroadcastGradientArgs" not in types(plan)


def test_a_variable_that_comes_round_with_another_shape_has_a_symbol_of_its_own() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    _, same_rows, more_rows = tf.while_loop(
        lambda i, *_: i < 3,
        lambda i, a, b: (i + 1, tf.tanh(a), tf.concat([b, b], 0)),
        [0, x, x],
        shape_invariants=[tf.TensorShape([]), x.shape, tf.TensorShape([None, 2])],
    )
    (batch, _) = _symbols(x, [x])
    assert _symbols(same_rows, [x]) == (batch, 2)
    assert _symbols(more_rows, [x])[0] != batch


@pytest.mark.parametrize("first_is_vector", [True, False])
def test_a_value_that_a_branch_gives_another_rank_has_no_symbols(first_is_vector: bool) -> None:
    flag, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [None, 2])
    vector = tf.reduce_sum(x, 1)
    one, other = (vector, x) if first_is_vector else (x, vector)
    y = tf.cond(flag, lambda: other * 1.5, lambda: one * 2.5)
    assert _symbols(y, [x, flag]) is None
    for value in (True, False):
        _, got, wanted = both([y * 2.0, tf.shape(y)], {x: np.ones((3, 2), "f"), flag: value})
        same(got, wanted)


def test_what_grows_from_round_to_round_is_summed_over_its_axes() -> None:
    """The operand has one row where the other has more: only in the first round."""
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 2])
    _, product, _ = tf.while_loop(
        lambda i, *_: i < 3,
        lambda i, a, b: (i + 1, a + tf.reduce_sum(tf.tanh(b * y)), tf.concat([b, y], 0)[-3:]),
        [0, tf.constant(0.0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([]), tf.TensorShape([None, 2])],
    )
    feeds = {x: RNG.normal(size=(3, 2)).astype("f"), y: RNG.normal(size=(1, 2)).astype("f")}
    plan, got, wanted = both(tf.gradients(product, [x, y]), feeds)
    same(got, wanted)
    assert [v.shape for v in got] == [(3, 2), (1, 2)]
    assert "BroadcastGradientArgs" in types(plan)


@pytest.mark.parametrize("alike", [True, False])
def test_elements_of_an_array_have_what_all_of_them_have(alike: bool) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False, infer_shape=False)
    array = array.write(0, x).write(1, x * 2 if alike else tf.reduce_sum(x, 0, keepdims=True))
    elements = [array.read(i) for i in range(2)]
    for element in elements:
        element.set_shape([None, 3])
    tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0])  # arrays are for loops
    (batch, _) = _symbols(x, [x])
    # Not even the one that was written with this very size: another one may be read here.
    assert [_symbols(t, [x])[0] == batch for t in elements] == [alike, alike]


def test_elements_gathered_have_the_size_of_those_written() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    array = tf.TensorArray(tf.float32, 2, infer_shape=False)
    stacked = array.write(0, x).write(1, x * 2.0).stack()
    stacked.set_shape([None, None, 3])
    tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0])  # arrays are for loops
    (batch, _) = _symbols(x, [x])
    assert _symbols(stacked, [x])[1:] == (batch, 3)


def test_an_element_that_nobody_writes_has_a_size_of_its_own() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False, infer_shape=False)

    def body(i: Any, total: Any) -> Any:
        element = array.read(i)
        element.set_shape([None, 3])
        seen.append(element)
        return i + 1, total + tf.reduce_sum(element)

    seen: list[Any] = []
    tf.while_loop(lambda i, _: i < 2, body, [0, 0.0])
    (batch, _) = _symbols(x, [x])
    assert _symbols(seen[0], [x])[1] == 3 and _symbols(seen[0], [x])[0] != batch


def test_an_arrays_gradients_have_sizes_of_their_own() -> None:
    x, y = (tf.placeholder(tf.float32, [None, 3]) for _ in range(2))
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False, infer_shape=False)
    array = array.write(0, x).write(1, x)
    gradients = array.grad("one").write(0, y).write(1, y)
    read = gradients.read(0)
    read.set_shape([None, 3])
    element = array.read(0)
    element.set_shape([None, 3])
    tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0])  # arrays are for loops
    # A gradient that was never written reads as zeros of the element's shape.
    assert _symbols(read, [x, y])[0] not in (_symbols(x, [x, y])[0], _symbols(y, [x, y])[0])
    assert _symbols(element, [x, y])[0] == _symbols(x, [x, y])[0]


def test_nested_loops_settle() -> None:
    x = tf.placeholder(tf.float32, [None, 2])

    def inner(a: Any) -> Any:
        return tf.while_loop(lambda j, _: j < 2, lambda j, b: (j + 1, tf.tanh(b) * x), [0, a])[1]

    _, result = tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, inner(a) + a), [0, x])
    (batch, _) = _symbols(x, [x])
    assert _symbols(result, [x]) == (batch, 2)
    # Of lists on lists nothing is known.
    _, got, wanted = both(tf.gradients(result, x), {x: RNG.normal(size=(3, 2)).astype("f")})
    same(got, wanted)


def test_elements_gathered_may_have_any_rank() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    array = tf.TensorArray(tf.float32, 2, infer_shape=False)
    stacked = array.write(0, x).write(1, x * 2.0).stack()
    assert stacked.shape.dims is None
    tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0])  # arrays are for loops
    assert _symbols(stacked, [x]) is None


def test_the_symbols_that_a_size_depends_on() -> None:
    assert parts(7) == parts(None) == frozenset()
    assert parts("n") == parts(Scaled("n", 1, 2)) == {"n"}
    assert parts(frozenset({"n", Scaled("m", 3, 1)})) == {"n", "m"}
