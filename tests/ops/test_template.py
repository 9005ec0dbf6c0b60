"""`tf.make_template` and the partitioners."""

from __future__ import annotations

import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_calls_share_variables():
    def linear(x, times):
        return x * tf.get_variable("w", [], initializer=tf.ones_initializer()) * times

    template = tf.make_template("linear", linear, times=2.0)
    a, b = template(1.0), template(5.0)
    assert [v.name for v in tf.global_variables()] == ["linear/w:0"]
    assert template.variables == tf.global_variables()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([a, b]) == [2.0, 10.0]


def test_templates_of_one_name_stay_apart():
    def make():
        return tf.get_variable("w", [])

    tf.make_template("t", make)()
    tf.make_template("t", make)()
    tf.make_template("t", make, unique_name_="own")()
    assert [v.name for v in tf.global_variables()] == ["t/w:0", "t_1/w:0", "own/w:0"]


def test_a_later_call_may_not_make_variables():
    names = iter("ab")
    template = tf.make_template("t", lambda: tf.get_variable(next(names), []))
    template()
    with pytest.raises(ValueError, match="first called"):
        template()


def test_partitioners_count_parts():
    fixed = tf.fixed_size_partitioner(3)
    assert fixed(shape=[10, 4], dtype=tf.float32) == [3, 1]
    assert fixed(shape=[2, 4], dtype=tf.float32) == [2, 1]
    by_bytes = tf.variable_axis_size_partitioner(64)
    assert by_bytes(shape=[10, 4], dtype=tf.float32) == [3, 1]
    assert by_bytes(shape=[10, 4], dtype=tf.float64) == [5, 1]
    at_least = tf.min_max_variable_partitioner(max_partitions=8, min_slice_size=32)
    assert at_least(shape=[10, 4], dtype=tf.float32) == [5, 1]
    with pytest.raises(ValueError, match="fully defined"):
        fixed(shape=[None, 4], dtype=tf.float32)


def test_parts_hold_the_rows_in_order():
    tf.get_variable(
        "v", [5], initializer=tf.constant_initializer(2.0), partitioner=tf.fixed_size_partitioner(2)
    )
    assert [(v.name, v.shape.as_list()) for v in tf.global_variables()] == [
        ("v/part_0:0", [3]),
        ("v/part_1:0", [2]),
    ]


def test_variables_of_a_template_by_kind():
    def function(x):
        still = tf.get_variable("still", [], trainable=False)
        local = tf.get_variable("local", [], collections=[tf.GraphKeys.LOCAL_VARIABLES])
        return x * tf.get_variable("v", []) + still + local

    template = tf.make_template("foo", function)
    assert template.variable_scope_name is None
    template(1.0)

    def names(variables):
        return [v.op.name for v in variables]

    assert names(template.non_trainable_variables) == ["foo/still"]
    assert names(template.local_variables) == ["foo/local"]
    assert names(template.global_variables) == names(template.weights) == ["foo/still", "foo/v"]
    assert template.variable_scope_name == "foo/"
    with pytest.raises(ValueError, match="None"):
        tf.make_template(None, function)


def test_a_later_call_may_not_make_what_is_trained():
    template = tf.make_template("t", lambda: tf.Variable(1.0))
    template()
    with pytest.raises(ValueError, match="perhaps you used tf.Variable"):
        template()
    counter = tf.make_template("c", lambda: tf.Variable(0, trainable=False))
    assert counter() is not counter()


def test_names_of_a_scope_made_at_once():
    """The first call has the name of the scope of the variables, as in TensorFlow 1.15."""

    def module():
        return tf.add(tf.get_variable("w", []), 1.0, name="sum")

    first, second = (tf.make_template("foo", module, create_scope_now_=True) for _ in range(2))
    names = [first().name, first().name, second().name, second().name]
    assert names == ["foo/sum:0", "foo_1/sum:0", "foo_1_1/sum:0", "foo_1_2/sum:0"]
    assert [v.name for v in tf.global_variables()] == ["foo/w:0", "foo_1/w:0"]
