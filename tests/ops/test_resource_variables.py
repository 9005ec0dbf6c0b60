"""Variables made with ``use_resource``; tests/oracle/programs/resource_variables.py compares them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dataflow as tf


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    tf.disable_resource_variables()


def test_a_use_reads_after_its_control_dependencies() -> None:
    """A reference variable has one node that reads it, which need not wait."""
    v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        y = v * 2.0
    changed = v.assign_sub([1.0, 1.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y).tolist() == [4.0, 6.0]
        assert session.run(changed).tolist() == [1.0, 2.0]
        assert session.run(changed.read_value()).tolist() == [0.0, 1.0]
        assert session.run(v).tolist() == [0.0, 1.0]
    assert changed.op.type == "AssignSub"


def test_who_says_that_a_variable_is_a_resource() -> None:
    with tf.variable_scope("s", use_resource=True):
        kinds = [tf.get_variable("a", []), tf.Variable(0.0), tf.Variable(0.0, use_resource=False)]
    tf.enable_resource_variables()
    kinds.append(tf.Variable(0.0))
    tf.disable_resource_variables()
    kinds.append(tf.Variable(0.0))
    assert [hasattr(v, "handle") for v in kinds] == [True, True, False, True, False]
    assert [v.dtype.name for v in kinds[:3]] == ["float32", "float32", "float32_ref"]


def test_gradients_by_the_handle_and_slots_of_the_same_kind() -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    loss = tf.reduce_sum(v * v)
    optimizer = tf.train.MomentumOptimizer(0.5, 0.9)
    step = optimizer.minimize(loss)
    (gradient,) = tf.gradients(loss, v.handle)
    assert hasattr(optimizer.get_slot(v, "momentum"), "handle")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(gradient).tolist() == [2.0, 4.0]
        session.run(step)
        assert session.run(v).tolist() == [0.0, 0.0]


def test_a_meta_graph_keeps_the_kind() -> None:
    tf.Variable(1.0, name="v", use_resource=True)
    tf.Variable(1.0, name="w")
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        assert {v.op.name: hasattr(v, "handle") for v in tf.global_variables()} == {
            "v": True,
            "w": False,
        }


def test_what_an_assignment_in_a_dataset_function_gives_can_be_used() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        total = tf.get_variable("total", [], tf.int64, tf.zeros_initializer(), use_resource=True)
        sums = tf.data.Dataset.range(1, 4).map(lambda x: total.assign_add(x) + 0)
        iterator = sums.make_initializable_iterator()
        following = iterator.get_next()
        session.run([total.initializer, iterator.initializer])
        assert [session.run(following) for _ in range(3)] == [1, 3, 6]
