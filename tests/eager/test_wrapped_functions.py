"""`tf.wrap_function`, argument names of concrete functions, and what a tape makes of variables and texts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dataflow as tf


def test_what_no_result_needs_does_not_run_as_in_a_graph() -> None:
    count = tf.Variable(0)

    def f(x):
        count.assign_add(1, name="increment")
        return x

    wrapped = tf.wrap_function(f, [tf.TensorSpec((), tf.float32)])
    assert wrapped(2.0).numpy() == 2.0
    assert count.numpy() == 0


def test_prune_runs_operations_that_are_fetched() -> None:
    v = tf.Variable(0)

    def f():
        v.assign(1, read_value=False, name="assign_to_v")
        return tf.constant(5, name="other")

    wrapped = tf.wrap_function(f, [])
    assign = wrapped.graph.get_operation_by_name("assign_to_v")
    assert wrapped.prune([], assign)() is None
    assert v.numpy() == 1
    v.assign(0)
    nothing, other = wrapped.prune([], ("assign_to_v", "other:0"))()
    assert nothing is None and other.numpy() == 5 and v.numpy() == 1
    v.assign(0)
    assert wrapped.prune([], "other:0")().numpy() == 5
    assert v.numpy() == 0


def test_a_graph_def_becomes_a_function() -> None:
    from dataflow.python.eager.wrap_function import function_from_graph_def

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.add(x, 1.0, name="y")
    revived = function_from_graph_def(graph.as_graph_def(), "x:0", "y:0")
    np.testing.assert_array_equal(revived(tf.constant([1.0, 2.0])), [2.0, 3.0])


def test_placeholders_have_the_names_of_specs_and_arguments() -> None:
    @tf.function
    def f(x, *args, **kwargs):
        return x + tf.add_n([*args, *kwargs.values()])

    scalar = tf.TensorSpec((), tf.float32)
    one = f.get_concrete_function(
        scalar,
        tf.TensorSpec(None, tf.float32, name="y"),
        scalar,
        tf.TensorSpec((), tf.float32, name="second"),
        z=scalar,
        zz=tf.TensorSpec((), tf.float32, name="cust"),
    )
    names = ["x", "y", "args_1", "second", "z", "cust"]
    assert [node.op.name for node in one.inputs] == names
    assert [node.op.get_attr("_user_specified_name") for node in one.inputs] == [
        name.encode() for name in names
    ]
    assert one.graph.inputs[: len(names)] == one.inputs
    assert one.graph.outputs == one.outputs
    assert one.graph.structured_outputs is one.structured_outputs

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="features")])
    def g(x):
        return x * 2.0

    g(tf.constant([1.0]))
    assert [node.op.name for node in g.get_concrete_function().inputs] == ["features"]


def test_a_variable_as_the_target_of_a_tape() -> None:
    a, b = tf.Variable(2.0), tf.Variable(5.0)
    with tf.GradientTape(persistent=True) as tape:
        largest, square = max([a, b]), b * b
    assert tape.gradient(largest, [a])[0] is None
    assert tape.gradient(largest, b).numpy() == 1.0
    assert tape.gradient([largest, square], b).numpy() == 11.0
    assert tape.gradient(largest, b, output_gradients=[3.0]).numpy() == 3.0


def test_texts_have_no_derivatives() -> None:
    text, x = tf.constant("a"), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([text, x])
        y = x * x
    assert tape.gradient(text, text) is None
    by_x, by_text = tape.gradient([y, text], [x, text])
    assert by_x.numpy() == 6.0 and by_text is None


def test_implicit_gradients_come_in_the_order_of_the_variables() -> None:
    first, second = tf.Variable(1.0), tf.Variable(2.0)
    found = tf.contrib.eager.implicit_gradients(lambda: second * second + first * first)()
    assert [variable is other for (_, variable), other in zip(found, (first, second), strict=True)]
    assert found[0][1] is first and found[0][0].numpy() == 2.0


def test_a_variable_is_pickled_by_its_value() -> None:
    v = tf.Variable([1.5, 2.0], trainable=False, name="v", dtype=tf.float16)
    w = pickle.loads(pickle.dumps(v))
    assert (w.name, w.dtype, w.trainable) == (v.name, v.dtype, False)
    np.testing.assert_array_equal(w.numpy(), [1.5, 2.0])
    with tf.Graph().as_default():
        u = tf.get_variable("u", [])
        with pytest.raises(NotImplementedError, match="node of a graph"):
            pickle.dumps(u)


def test_a_resource_variable_is_assigned_in_its_own_graph() -> None:
    with tf.Graph().as_default() as graph:
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.Graph().as_default():
        assigned = v.assign(2.0)
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        assert session.run(assigned) == 2.0


def test_tests_of_eager_programs_compare_eager_tensors_in_a_graph() -> None:
    from dataflow.python.eager import test

    value = tf.constant([1.0, 2.0])

    class Case(test.TestCase):
        def test_it(self) -> None:
            with tf.Graph().as_default(), self.cached_session():
                self.assertAllEqual(tf.constant([1.0, 2.0]).eval(), value)
                self.assertAllClose(value, [1.0, 2.0])

    Case("test_it").debug()
    assert test.main is not tf.test.main


def test_what_is_marked_as_in_no_checkpoint_is_not_saved_without_a_word(tmp_path) -> None:
    from dataflow.python.training.tracking import tracking

    class First(tracking.NotTrackable, tracking.AutoTrackable):
        pass

    class Last(tracking.AutoTrackable, tracking.NotTrackable):
        pass

    for made in (First(), Last()):
        with pytest.raises(NotImplementedError, match="derives from NotTrackable"):
            tf.train.Checkpoint(x=made).save(str(tmp_path / "model"))
