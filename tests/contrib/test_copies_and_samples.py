"""`contrib.copy_graph`, `bayesflow`, `optimizer_v2`, `deprecated`, `autograph` and `saved_model`."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib import bayesflow, copy_graph, deprecated, optimizer_v2, saved_model


def test_an_expression_is_copied_with_what_it_needs():
    source, target = tf.Graph(), tf.Graph()
    with source.as_default():
        v = tf.Variable(3.0, name="v")
        gate, two = tf.constant(0.0, name="gate"), tf.constant(2.0)
        with tf.control_dependencies([gate]):
            product = tf.multiply(v, two, name="product")
        tf.add_to_collection("outputs", product)
    copied = copy_graph.copy_variable_to_graph(v, target, "copy")
    result = copy_graph.copy_op_to_graph(product, target, [copied], "copy")
    assert result.name == "copy/product:0" and result.graph is target
    assert [op.name for op in result.op.control_inputs] == ["copy/gate"]
    assert target.get_collection("copy/outputs") == [result]
    assert copied in target.get_collection("trainable_variables")
    assert copy_graph.copy_op_to_graph(product, target, [copied], "copy") is result
    assert copy_graph.get_copied_op(product.op, target, "copy") is result.op
    with tf.Session(graph=target) as sess:
        sess.run(copied.initializer)
        assert sess.run(result) == 6.0
        sess.run(copied.assign(5.0))
        assert sess.run(result) == 10.0


def test_copies_without_a_scope_and_what_is_no_copy():
    source, target = tf.Graph(), tf.Graph()
    with source.as_default():
        total = tf.add(tf.constant(1, name="one"), tf.constant(2, name="two"), name="total")
    assert copy_graph.copy_op_to_graph(total.op, target, []).name == "total"
    with tf.Session(graph=target) as sess:
        assert sess.run("total:0") == 3
    with pytest.raises(TypeError, match="is not a Variable"):
        copy_graph.copy_variable_to_graph(total, target)
    with pytest.raises(TypeError, match="Could not copy instance: 3"):
        copy_graph.copy_op_to_graph(3, target, [])
    with pytest.raises(KeyError):
        copy_graph.get_copied_op(total, tf.Graph())


def test_means_over_samples_and_their_gradients():
    with tf.Graph().as_default(), tf.Session() as sess:
        rate = tf.constant(2.0)
        q = tf.distributions.Normal(rate, 1.0)
        z = tf.constant([0.5, 1.5, 4.0])
        mean = bayesflow.expectation(tf.square, z)
        np.testing.assert_allclose(sess.run(mean), np.mean([0.25, 2.25, 16.0]))
        score = bayesflow.monte_carlo.expectation(tf.square, z, q.log_prob, False)
        np.testing.assert_allclose(sess.run(score), sess.run(mean))
        (gradient,) = tf.gradients(score, rate)
        expected = np.mean(np.array([0.25, 2.25, 16.0]) * (np.array([0.5, 1.5, 4.0]) - 2.0))
        np.testing.assert_allclose(sess.run(gradient), expected, rtol=1e-5)
        with pytest.raises(ValueError, match="`f` must be a callable function, got 3"):
            bayesflow.expectation(3, z)
        with pytest.raises(ValueError, match="`log_prob` must be a callable function"):
            bayesflow.expectation(tf.square, z, use_reparametrization=False)


def test_importance_samples():
    with tf.Graph().as_default(), tf.Session() as sess:
        p, q = tf.distributions.Normal(1.0, 1.0), tf.distributions.Normal(0.8, 1.3)
        mean = bayesflow.expectation_importance_sampler(lambda x: x, p.log_prob, q, n=50000, seed=3)
        logs = bayesflow.expectation_importance_sampler_logspace(
            lambda x: 2 * tf.log(tf.abs(x)), p.log_prob, q, n=50000, seed=3
        )
        np.testing.assert_allclose(sess.run([mean, tf.exp(logs)]), [1.0, 2.0], atol=0.05)
        with pytest.raises(ValueError, match='exactly one of arguments "n" and "z"'):
            bayesflow.expectation_importance_sampler(lambda x: x, p.log_prob, q)


@pytest.mark.parametrize("known", [True, False])
def test_rmsprop_of_the_second_interface_begins_at_epsilon(known):
    with tf.Graph().as_default(), tf.Session() as sess:
        start = np.array([1.0, 2.0], np.float32)
        given = tf.placeholder_with_default(start, [2] if known else None)
        var = tf.Variable(given, validate_shape=known)
        opt = optimizer_v2.RMSPropOptimizer(0.1, 0.9, epsilon=1e-3)
        train = opt.apply_gradients([(tf.constant([0.1, 0.2]), var)])
        sess.run(tf.global_variables_initializer())
        np.testing.assert_allclose(sess.run(opt.get_slot(var, "rms")), [1e-3, 1e-3])
        sess.run(train)
        squares = 0.9 * 1e-3 + 0.1 * np.array([0.01, 0.04])
        np.testing.assert_allclose(
            sess.run(var), start - 0.1 * np.array([0.1, 0.2]) / np.sqrt(squares + 1e-3), rtol=1e-5
        )


def test_older_names_of_summaries_and_of_autograph():
    with tf.Graph().as_default(), tf.Session() as sess:
        deprecated.scalar_summary(["a", "b"], [1.0, 2.0])
        summary = tf.Summary.FromString(sess.run(deprecated.merge_all_summaries()))
        assert [(v.tag, v.simple_value) for v in summary.value] == [("a", 1.0), ("b", 2.0)]

        def half(x):
            if x > 2:
                x = x / 2
            return x

        converted = tf.contrib.autograph.to_graph(half)
        assert sess.run([converted(tf.constant(4.0)), converted(tf.constant(1.0))]) == [2.0, 1.0]


def test_a_model_of_keras_as_a_saved_model(tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    path = saved_model.save_keras_model(model, tmp_path / "model")
    x = np.ones([1, 3], np.float32)
    np.testing.assert_allclose(saved_model.load_keras_model(path).predict(x), model.predict(x))


def test_the_decorator_that_converts_when_it_is_called():
    @tf.contrib.autograph.convert()
    def largest(a, b):
        """The larger."""
        if a > b:
            return a
        return b

    @tf.contrib.autograph.convert(optional_features=tf.contrib.autograph.Feature.ALL)
    def collatz(n):
        steps = 0
        while n > 1:
            if n % 2 > 0:
                n = 3 * n + 1
            else:
                n = n // 2
            steps += 1
        return steps

    assert largest.__name__ == "largest" and largest.__doc__ == "The larger."
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.int32, [])
        assert sess.run([largest(x, 3), largest(2, x), collatz(x)], {x: 6}) == [6, 6, 8]
