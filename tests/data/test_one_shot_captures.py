"""What a dataset uses of the graph around it is copied into a one-shot iterator's function."""

from __future__ import annotations

import pytest

import dataflow as tf


def elements(tensor, number):
    with tf.Session() as session:
        return [int(session.run(tensor)) for _ in range(number)]


def test_captured_tensors_become_part_of_the_function() -> None:
    start = tf.constant(5, tf.int64)
    doubled = start * 2
    both = doubled + start  # shares a node with what it is added to
    ds = tf.data.Dataset.range(3).map(lambda x: x + both).map(lambda x: x - doubled)
    following = ds.make_one_shot_iterator().get_next()
    assert elements(following, 3) == [5, 6, 7]
    node = next(n for n in tf.get_default_graph().as_graph_def().node if "OneShot" in n.op)
    assert list(node.input) == []
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta)
        assert elements(graph.get_tensor_by_name(following.name), 3) == [5, 6, 7]


def test_branches_stay_outside() -> None:
    chosen = tf.cond(tf.constant(True), lambda: tf.constant(3), lambda: tf.constant(4))
    ds = tf.data.Dataset.from_tensors(1).map(lambda x: x + chosen)
    assert elements(ds.make_one_shot_iterator().get_next(), 1) == [4]


def test_state_behind_a_computed_tensor_is_refused() -> None:
    fed = tf.placeholder(tf.int32, []) + 1
    ds = tf.data.Dataset.from_tensors(1).map(lambda x: x + fed)
    with pytest.raises(ValueError, match="cannot capture a placeholder"):
        ds.make_one_shot_iterator()


@pytest.mark.parametrize("draw", [tf.random_uniform, tf.truncated_normal])
def test_numbers_drawn_outside_of_the_function_are_refused(draw) -> None:
    drawn = draw([])
    ds = tf.data.Dataset.from_tensors(1.0).map(lambda x: x + drawn)
    with pytest.raises(ValueError, match="cannot capture a stateful node"):
        ds.make_one_shot_iterator()
