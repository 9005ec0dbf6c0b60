"""What TensorFlow 1.15's own tests of ops, distributions and its framework found; the values are TensorFlow 1.15's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.ops.partition_info import PartitionInfo
from dataflow.ops.random import parameterized_truncated_normal
from dataflow.python import meta_graphs, private, sparse_names, variable_classes
from dataflow.runtime.nan_origin import NonFiniteWarning


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as sess:
        return sess.run(fetches, feed)


def test_checks_of_all_numbers_name_the_node_where_the_fetched_value_is_bad_itself():
    with tf.Graph().as_default():  # it checks all that is in the graph
        quotient = tf.div(tf.constant(0.0), tf.constant(0.0))
        with tf.control_dependencies([tf.add_check_numerics_ops()]):
            checked = tf.identity(quotient)
        with pytest.raises(tf.errors.InvalidArgumentError, match="div:0 : Tensor had NaN values"):
            with pytest.warns(NonFiniteWarning):
                run(checked)


@pytest.mark.parametrize("form", ["1-D", "2-D"])
@pytest.mark.parametrize("class_id", [3, None])
def test_precision_at_k_of_one_sparse_label_for_each_example(form, class_id):
    indices, size = ([[0], [1]], [2]) if form == "1-D" else ([[0, 0], [1, 0]], [2, 1])
    labels = tf.SparseTensor(indices, tf.constant([3, 2], tf.int64), size)
    predictions = tf.constant([[0.1, 0.3, 0.2, 0.4], [0.1, 0.2, 0.3, 0.4]])
    value, update = tf.metrics.precision_at_k(labels, predictions, 1, class_id)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update) == 0.5
        assert sess.run(value) == 0.5


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (lambda a, b: a + b, [6, 10]),
        (lambda a, b: a - b, [2, 6]),
        (lambda a, b: a * b, [22, 34]),
        (tf.maximum, [4, 8]),
    ],
)
def test_a_gradient_of_shape_1_reaches_a_scalar(of, expected):
    x = tf.constant([1.0, 2.0])
    y = of(tf.reduce_sum(x * x), tf.reduce_sum(x))
    np.testing.assert_allclose(run(tf.gradients(y, x, [tf.constant([2.0])]))[0], expected)


def test_arrays_of_numbers_are_flags_where_they_are_not_zero():
    assert run(tf.reduce_all(np.ones([2, 3]), [0])).tolist() == [True] * 3
    assert not run(tf.reduce_all(np.array([0.0, 2.0], np.float32)))
    assert run(tf.reduce_any(np.array([0, 2])))
    assert run(tf.reduce_all([]))
    with pytest.raises(TypeError, match="bool"):
        tf.reduce_all([0.0, 2.0])


def test_the_absolute_value_of_complex_sparse_tensors_is_real():
    result = run(tf.abs(tf.SparseTensor([[0]], tf.constant([3 + 4j]), [2])))
    assert result.values.dtype == np.float64
    assert result.values.tolist() == [5.0]


@pytest.mark.parametrize(
    ("low", "high", "mean"), [(7.0, np.inf, 7.1372), (-np.inf, -7.0, -7.1372), (4.0, 8.0, 4.2256)]
)
def test_truncated_normal_numbers_of_a_tail_are_finite(low, high, mean):
    drawn = run(parameterized_truncated_normal([20000], minvals=low, maxvals=high, seed=3))
    assert np.isfinite(drawn).all()
    assert drawn.min() >= low
    assert drawn.max() <= high
    assert abs(drawn.mean() - mean) < 0.01


class _Seeded(tf.test.TestCase):
    def runTest(self) -> None:
        first = self._draw()
        self.setUp()
        assert first == self._draw()

    def _draw(self) -> Any:
        with self.cached_session():
            drawn = float(tf.random_normal([]).eval())
        return random.random(), float(np.random.rand()), drawn


def test_every_test_case_draws_the_same_numbers_of_python_numpy_and_the_graph():
    _Seeded().debug()


def test_hessians_of_a_variable_of_the_tensorflow_python_path():
    w = variable_classes.Variable(np.array([1.0, 2.0], np.float32))
    hessian = tf.hessians(tf.reduce_sum(w * w * w), w)[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(hessian).tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_part_of_a_variable():
    part = PartitionInfo(full_shape=[9, 3], var_offset=[4, 0])
    assert part.single_slice_dim([2, 3]) == 0
    assert part.single_offset([2, 3]) == 4
    assert PartitionInfo([9, 3], [0, 0]).single_slice_dim([9, 3]) is None
    assert PartitionInfo([9, 3], [0, 0]).single_offset([9, 3]) == 0
    with pytest.raises(ValueError, match="either dimension 0 or 1"):
        part.single_slice_dim([2, 2])
    with pytest.raises(ValueError, match="would exceed"):
        part.single_slice_dim([6, 3])
    with pytest.raises(ValueError, match="equal length"):
        part.single_slice_dim([2])
    with pytest.raises(TypeError, match="must be a sequence"):
        part.single_slice_dim(2)


@pytest.mark.parametrize(
    ("shape", "offset", "error"),
    [
        ("25", [1], TypeError),
        ([9], 1, TypeError),
        ([9], [1, 2], ValueError),
        ([9], [9], ValueError),
    ],
)
def test_part_of_a_variable_that_cannot_be(shape, offset, error):
    with pytest.raises(error):
        PartitionInfo(shape, offset)


def test_the_older_names_of_crosses_and_of_the_sparse_sum():
    cross = sparse_names._sparse_cross([tf.constant([["a"]]), tf.constant([["b"]])])
    assert run(cross).values.tolist() == [b"a_X_b"]
    sp = tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2])
    assert run(sparse_names.sparse_dense_cwise_add(sp, [10])).values.tolist() == [11, 12]


def test_shape_that_a_reduction_keeps():
    assert run(private.reduced_shape([2, 3, 5, 7], [1, -2])).tolist() == [2, 1, 1, 7]


def test_counts_are_checked_where_that_is_asked_for():
    counts = tf.placeholder(tf.float32, [2])
    poisson = tf.contrib.distributions.Poisson([3.0, 3.0], validate_args=True)
    binomial = tf.contrib.distributions.Binomial([4.0, 4.0], probs=[0.5, 0.5], validate_args=True)
    for result in (poisson.log_prob(counts), poisson.cdf(counts), binomial.cdf(counts)):
        assert np.isfinite(run(result, {counts: [2, 3]})).all()
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(result, {counts: [2.5, 3]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="not less than or equal to n"):
        run(binomial.log_prob(counts), {counts: [2, 5]})


def test_vectors_of_another_space_are_refused_where_that_is_asked_for():
    known = tf.contrib.distributions.VectorDeterministic([1.0, 2.0], validate_args=True)
    assert run(known.prob([1.0, 2.0])) == 1.0
    x = tf.placeholder(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not defined in the same space"):
        run(known.prob(x), {x: [1.0]})


def test_wishart_of_a_scale_without_shape():
    scale = tf.placeholder(tf.float32)
    df = tf.placeholder(tf.float32, [])
    factor = np.array([[1.0, 0.0], [0.5, 2.0]], np.float32)
    known = tf.contrib.distributions.WishartCholesky(4.0, factor)
    fed = tf.contrib.distributions.WishartCholesky(df, scale, validate_args=True)
    x = np.array([[2.0, 0.3], [0.3, 1.0]], np.float32)
    feed = {scale: factor, df: 4.0}
    assert run(fed.event_shape_tensor(), feed).tolist() == [2, 2]
    for member in ("entropy", "mean", "mean_log_det", "log_normalization"):
        np.testing.assert_allclose(
            run(getattr(fed, member)(), feed), run(getattr(known, member)()), rtol=1e-5
        )
    np.testing.assert_allclose(run(fed.log_prob(x), feed), run(known.log_prob(x)), rtol=1e-5)
    assert run(fed.sample(3, seed=1), feed).shape == (3, 2, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be less than"):
        run(fed.log_prob(x), {scale: factor, df: 1.0})


def test_a_graph_imported_below_the_current_scope_with_chosen_collections():
    with tf.Graph().as_default() as graph:
        tf.Variable(1.0, name="myvar")
        meta, _ = meta_graphs.export_scoped_meta_graph(
            graph=graph, collection_list=["variables", "trainable_variables"]
        )
    with tf.Graph().as_default(), tf.name_scope("foo"):
        found = meta_graphs.import_scoped_meta_graph(meta, import_scope="bar")
        assert [v.name for v in found.values()] == ["foo/bar/myvar:0"]
    with tf.Graph().as_default() as graph:
        meta_graphs.import_scoped_meta_graph(
            meta, restore_collections_predicate=lambda key: key == "variables"
        )
        assert len(graph.get_collection("variables")) == 1
        assert not graph.get_collection("trainable_variables")


@pytest.mark.parametrize("axis", [[], [1, 2, 3], [[1]], [[1], [2]], [3.1415], [1, 1], 0.5, "0"])
def test_axes_of_a_norm_that_cannot_be(axis):
    with pytest.raises(ValueError, match="'axis' must be None, an integer, or a tuple of 2 unique"):
        tf.norm([[0.0, 1.0], [2.0, 3.0]], axis=axis)


def test_error_of_a_gradient_is_a_number_of_numpys():
    x = tf.constant([1.0, 2.0])
    with tf.Session():
        error = tf.test.compute_gradient_error(x, [2], tf.square(x), [2])
    assert isinstance(error, np.floating)


def test_the_quantile_of_a_normal_number_has_a_finite_gradient_at_its_ends():
    p = tf.constant([0.0, 0.5, 1.0], tf.float64)
    loc, scale = tf.constant(0.0, tf.float64), tf.constant(1.0, tf.float64)
    x = tf.contrib.distributions.Normal(loc, scale).quantile(p)
    value, grad = run([x, tf.gradients(x, p)[0]])
    np.testing.assert_allclose(value, [-np.inf, 0.0, np.inf])
    assert np.isfinite(grad).all()
    assert abs(grad[1] - np.sqrt(2 * np.pi)) < 1e-12


def test_counts_of_a_negative_binomial_are_checked_where_that_is_asked_for():
    counts = tf.placeholder(tf.float32, [])
    known = tf.contrib.distributions.NegativeBinomial(3.0, probs=0.4, validate_args=True)
    for result in (known.log_prob(counts), known.cdf(counts)):
        assert np.isfinite(run(result, {counts: 2.0}))
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(result, {counts: 2.5})


def test_protocol_buffers_are_equal_up_to_the_digits_of_their_text():
    case = _Seeded()
    message = tf.Summary()
    message.value.add(tag="h").histo.bucket_limit.extend([9.938094902880265, 10.93190439316888])
    case.assertProtoEquals(
        'value { tag: "h" histo { bucket_limit: 9.93809490288 bucket_limit: 10.9319043932 } }',
        message,
    )
    with pytest.raises(AssertionError):
        case.assertProtoEquals('value { tag: "h" histo { bucket_limit: 9.9 } }', message)
