"""``tf.contrib.framework``: shapes that are checked when built or when run, graphs of inputs."""

import numpy as np
import pytest

import dataflow as tf
from tests.running import run

pytestmark = pytest.mark.usefixtures("fresh_graph")
framework = tf.contrib.framework


@pytest.mark.parametrize("shape", [[3, 2], (3, None), tf.TensorShape([3, 2]), np.array([3, 2])])
def test_with_shape_lets_the_right_shape_pass(shape):
    values = np.arange(6.0).reshape(3, 2)
    assert run(framework.with_shape(shape, values)).tolist() == values.tolist()
    place = tf.placeholder(tf.float64)
    checked = framework.with_shape(shape, place)
    assert checked.shape.as_list()[0] == 3
    assert run(checked, {place: values}).tolist() == values.tolist()


def test_with_shape_refuses_now_what_is_known():
    for shape in ([2, 3], [3], [3, 2, 1]):
        with pytest.raises(ValueError, match="compatible"):
            framework.with_shape(shape, tf.zeros([3, 2]))
    for shape in (
        5,
        [[3], [2]],
        [3.0, 2.0],
        tf.placeholder(tf.float32),
        tf.placeholder(tf.int32, []),
    ):
        with pytest.raises(ValueError, match="Invalid"):
            framework.with_shape(shape, tf.zeros([3, 2]))
    with pytest.raises(ValueError, match="not supported"):
        framework.with_shape([1], tf.SparseTensor([[0]], [1.0], [1]))


def test_with_shape_refuses_the_rest_in_a_run():
    place, shape = tf.placeholder(tf.float32), tf.placeholder(tf.int32, [None])
    for checked in (
        framework.with_shape([3, 2], place),
        framework.with_shape(shape, place),
        framework.with_same_shape(tf.placeholder_with_default(tf.zeros([3, 2]), None), place),
    ):
        run(checked, {place: np.zeros((3, 2)), shape: [3, 2]})
        for wrong in ((2, 3), (3, 2, 1)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong shape"):
                run(checked, {place: np.zeros(wrong), shape: [3, 2]})
    with pytest.raises(ValueError, match="compatible"):
        framework.with_same_shape(tf.zeros([3]), tf.zeros([2]))


@pytest.mark.parametrize("known", [True, False])
def test_one_dimension_more_is_dropped(known):
    longer, shorter = np.ones((4, 1), np.float32), np.ones(4, np.float32)
    for predictions, labels in ((longer, shorter), (shorter, longer), (shorter, shorter)):
        places = [
            tf.placeholder(tf.float32, a.shape if known else None) for a in (predictions, labels)
        ]
        squeezed = framework.remove_squeezable_dimensions(*places)
        found = run(squeezed, dict(zip(places, (predictions, labels), strict=True)))
        assert [f.shape for f in found] == [(4,), (4,)]


def test_scalars_sums_and_placeholders():
    assert framework.assert_scalar_int(tf.constant(5)).dtype == tf.int32
    for wrong in ([3, 4], 5.0, "a"):
        with pytest.raises(ValueError, match=r"Expected|scalar"):
            framework.assert_scalar_int(wrong)
    assert (
        run(framework.reduce_sum_n([tf.constant(1), tf.constant([2, 3]), tf.constant([[4]])])) == 10
    )
    with pytest.raises(ValueError, match="No tensors"):
        framework.reduce_sum_n([])
    place = tf.placeholder(tf.float32, name="place")
    assert framework.get_placeholders(tf.get_default_graph()) == [place]


def test_the_graph_of_inputs():
    here = tf.constant(1)
    with tf.Graph().as_default() as other:
        there = tf.constant(2)
    assert framework.get_graph_from_inputs([5, there]) is other
    assert framework.get_graph_from_inputs([5]) is tf.get_default_graph()
    with pytest.raises(ValueError, match="same graph"):
        framework.get_graph_from_inputs([here, there])
    with pytest.raises(ValueError, match="graph given"):
        framework.get_graph_from_inputs([there], here.graph)


def test_zero_initializer_and_global_steps():
    variable = tf.Variable([1.0, 2.0])
    with tf.Session() as sess:
        sess.run(framework.zero_initializer(variable))
        assert sess.run(variable).tolist() == [0, 0]
    assert framework.assert_or_get_global_step() is None
    step = tf.train.create_global_step()
    assert framework.assert_or_get_global_step() is step
    assert framework.assert_or_get_global_step(global_step_tensor=step) is step
    with pytest.raises(TypeError):
        framework.assert_or_get_global_step(global_step_tensor=tf.Variable(0.5))


def test_deprecated_values_warn_once(monkeypatch):
    said = []
    monkeypatch.setattr(tf.logging, "warning", lambda text, *args: said.append(text % args))

    @framework.deprecated_arg_values("2030-01-01", "Use 2.", mode=1)
    def double(mode):
        return 2 * mode

    assert [double(2), double(1), double(mode=1)] == [4, 2, 2]
    assert len(said) == 1 and "mode=1" in said[0] and "Use 2." in said[0]
    with pytest.raises(ValueError, match="which argument"):
        framework.deprecated_arg_values(None, "nothing")


def test_arguments_of_checkpoint_functions_have_the_names_of_contrib(tmp_path):
    tf.Variable(3.0, name="v")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    assert framework.list_variables(checkpoint_dir=path) == [("v", [])]
    assert framework.load_variable(checkpoint_dir=path, name="v") == 3.0
    assert framework.load_checkpoint(filepattern=path).get_tensor("v") == 3.0
    with tf.Graph().as_default():
        w = tf.get_variable("w", [])
        framework.init_from_checkpoint(checkpoint_dir=path, assignment_map={"v": w})
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            assert sess.run(w) == 3.0
    assert framework.smart_cond(pred=True, true_fn=lambda: 1, false_fn=lambda: 2) == 1


def test_with_shape_compares_a_tensor_in_the_run_even_where_it_is_a_constant():
    """Programs catch the run's error; a list is refused when the graph is built."""
    values = tf.zeros([2, 3], name="values")
    for wrong in ([3, 2], [6]):
        checked = framework.with_shape(tf.constant(wrong), values)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Wrong shape for .*expected.*actual"
        ):
            run(checked)
    right = framework.with_shape(tf.constant([2, 3]), tf.placeholder_with_default(values, None))
    assert right.shape.as_list() == [2, 3]
    assert run(right).shape == (2, 3)
