"""What a graph does not know of shapes is checked when it runs, instead of being broadcast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.test import TestCase


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _refused(fetch: Any, feed: dict[Any, Any], match: str) -> None:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            session.run(fetch, feed)


@pytest.mark.parametrize("name", ["update", "add", "sub", "min", "max"])
def test_slices_of_updates_are_counted(name: str) -> None:
    updates = tf.placeholder(tf.float32)
    scatter = getattr(tf, f"tensor_scatter_nd_{name}")
    result = scatter(tf.zeros([4, 3]), [[0], [1]], updates)
    _refused(result, {updates: np.ones([1, 3])}, r"updates has shape \[1, 3\], expected \[2, 3\]")
    with tf.Session() as session:
        assert session.run(result, {updates: np.ones([2, 3])}).shape == (4, 3)


@pytest.mark.parametrize("name", ["update", "add", "sub"])
def test_slices_of_updates_of_a_variable_are_counted(name: str) -> None:
    variable = tf.Variable(tf.zeros([4, 3]))
    updates = tf.placeholder(tf.float32)
    changed = getattr(tf, f"scatter_nd_{name}")(variable, [[0], [1]], updates)
    _refused(changed, {updates: np.ones([3])}, r"updates has shape \[3\], expected \[2, 3\]")


def test_rows_to_be_stitched_have_the_shape_of_the_first() -> None:
    first, second = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    stitched = tf.dynamic_stitch([[0, 2], [1]], [first, second])
    feed = {first: np.ones([2, 3]), second: np.ones([1, 3])}
    with tf.Session() as session:
        assert session.run(stitched, feed).shape == (3, 3)
    feed[second] = np.ones([3])
    _refused(stitched, feed, r"data of shape \[3\] belongs to indices of shape \[1\]")


def test_a_gradient_fits_the_slice_that_it_belongs_to() -> None:
    grad = tf.placeholder(tf.float32)
    (found,) = tf.gradients((x := tf.ones([4, 3]))[1:3], [x], [grad])
    _refused(found, {grad: np.ones([1, 3])}, r"the slice has shape \[2, 3\]")


class SoftmaxTest(TestCase):
    """Losses of logits whose rank is known at run time only."""

    def test_labels_need_the_shape_of_the_logits(self) -> None:
        for shape in (None, [None, None, 4]):
            logits, labels = tf.placeholder(tf.float32, shape), tf.placeholder(tf.int32)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            feed = {logits: np.zeros([2, 3, 4]), labels: np.zeros([2, 3])}
            with self.test_session() as session:
                self.assertAllClose(session.run(loss, feed), np.full([2, 3], np.log(4)))
            for wrong in ([3, 2], [2, 3, 1], [6]):
                _refused(loss, {**feed, labels: np.zeros(wrong)}, "Labels need the shape")

    def test_an_axis_of_logits_of_unknown_rank(self) -> None:
        rng = np.random.default_rng(3)
        values = rng.normal(size=[2, 3, 4]).astype(np.float32)
        targets = rng.dirichlet(np.ones(3), [2, 4]).swapaxes(1, 2).astype(np.float32)
        known = tf.nn.softmax_cross_entropy_with_logits(labels=targets, logits=values, dim=1)
        logits, labels = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        feed = {logits: values, labels: targets}
        with self.test_session() as session:
            for axis in (1, -2):
                loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels, logits, axis)
                self.assertAllClose(session.run(loss, feed), session.run(known))
                (slope,) = tf.gradients(loss, [logits])
                self.assertAllClose(tf.reduce_sum(slope, 1).eval(feed), np.zeros([2, 4]), atol=1e-6)


def test_repetitions_and_reversals_of_tensors_of_unknown_rank() -> None:
    x = tf.placeholder(tf.float32)
    assert tf.tile(x, [2, 0]).shape.as_list() == [None, 0]
    assert tf.tile(tf.placeholder(tf.float32, [0, 3]), tf.placeholder(tf.int32, [2])).shape[0] == 0
    assert tf.raw_ops.Reverse(tensor=x, dims=[True, False]).shape.as_list() == [None, None]
    with pytest.raises(ValueError, match="dims has 1 elements for a tensor of rank 2"):
        tf.raw_ops.Reverse(tensor=tf.ones([2, 3]), dims=[True])


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([2], [None], None),
        ([None, 2], [2], [None, 2]),
        ([None, 2], [1, 2], [None, 2]),
        ([2], [3], []),
        (None, [2], None),
    ],
)
def test_equality_that_allows_other_shapes(x: Any, y: Any, expected: Any) -> None:
    made = [tf.placeholder(tf.int32, shape) for shape in (x, y)]
    same = tf.raw_ops.Equal(x=made[0], y=made[1], incompatible_shape_error=False)
    assert (same.shape.as_list() if expected is not None else same.shape.ndims) == expected


@pytest.mark.parametrize(
    ("type", "norm"),
    [(1, None), *((type, norm) for type in (2, 3, 4) for norm in (None, "ortho"))],
)
def test_cosine_transforms_of_axes_of_unknown_size(type: int, norm: str | None) -> None:
    values = np.random.default_rng(5).normal(size=[2, 3, 6]).astype(np.float32)
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        found = session.run(tf.signal.dct(x, type, norm=norm), {x: values})
        wanted = session.run(tf.signal.dct(values, type, norm=norm))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("rank", "rate"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)])
def test_convolutions_of_images_of_unknown_rank(rank: int, rate: int) -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(size=[2, *range(6, 6 + rank), 3]).astype(np.float32)
    taps = rng.normal(size=[*[2] * rank, 3, 4]).astype(np.float32)
    x = tf.placeholder(tf.float32)
    for padding in ("SAME", "VALID"):
        options: dict[str, Any] = {"padding": padding, "dilation_rate": [rate] * rank}
        with tf.Session() as session:
            found = session.run(tf.nn.convolution(x, taps, **options), {x: values})
            wanted = session.run(tf.nn.convolution(values, taps, **options))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_diagonals_are_counted() -> None:
    x, diagonal = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    assert tf.matrix_set_diag(x, tf.ones([5, 2])).shape.as_list() == [5, None, None]
    changed = tf.matrix_set_diag(x, diagonal)
    text = r"must have shape \[4, 2\], got \[2\]"
    _refused(changed, {x: np.zeros([4, 3, 2]), diagonal: np.ones([2])}, text)
    with pytest.raises(ValueError, match=r"must have shape \[4, 2\], got \[3\]"):
        tf.matrix_set_diag(tf.zeros([4, 3, 2]), tf.ones([3]))
    band = tf.linalg.set_diag(tf.zeros([4, 3, 3]), diagonal, k=(-1, 0))
    text = r"must have shape \[4, 2, 3\], got \[4, 3, 3\]"
    _refused(band, {diagonal: np.ones([4, 3, 3])}, text)
    made = tf.linalg.diag(diagonal, k=(-1, 0))
    _refused(made, {diagonal: np.ones([3, 3])}, "expected 2 diagonals, got 3")
    with tf.Session() as session:
        assert session.run(band, {diagonal: np.ones([4, 2, 3])}).sum() == 4 * 5


def test_shapes_follow_from_whichever_input_has_them() -> None:
    unknown, matrix = tf.placeholder(tf.float32), tf.ones([2, 4, 3])
    product = tf.raw_ops.BatchMatMul
    assert product(x=matrix, y=unknown).shape.as_list() == [2, 4, None]
    assert product(x=unknown, y=matrix, adj_y=True).shape.as_list() == [2, None, 4]
    with pytest.raises(ValueError, match="y must have at least 2 axes"):
        product(x=unknown, y=tf.ones([3]))
    assert tf.matrix_solve(unknown, matrix).shape.as_list() == [2, 4, 3]
    assert tf.matrix_solve(tf.eye(3), unknown).shape.as_list() == [3, None]
    assert tf.nn.local_response_normalization(unknown).shape.as_list() == [None] * 4
    colors = tf.placeholder(tf.float32, [2, None, None])
    assert tf.image.rgb_to_hsv(colors).shape.as_list() == [2, None, 3]
    boxes = tf.placeholder(tf.float32)
    crops = tf.image.crop_and_resize(unknown, boxes, [0, 1], [3, 4])
    assert crops.shape.as_list() == [2, 3, 4, None]
    glimpses = tf.image.extract_glimpse(unknown, [3, 4], tf.zeros([5, 2]))
    assert glimpses.shape.as_list() == [5, 3, 4, None]


@pytest.mark.parametrize("is_initialized", [False, True])
def test_a_variable_keeps_its_shape_from_its_first_value_on(is_initialized: bool) -> None:
    variable = tf.get_variable("v", [3, 2], use_resource=False)
    value = tf.placeholder(tf.float32)
    changed = variable.assign(value)
    with tf.Session() as session:
        if is_initialized:
            session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"lhs shape= \[3, 2\]"):
            session.run(changed, {value: np.ones([4, 2])})
        assert session.run(changed, {value: np.ones([3, 2])}).shape == (3, 2)


@pytest.mark.parametrize("name", ["update", "add", "sub", "mul", "div", "min", "max"])
@pytest.mark.parametrize("use_resource", [False, True])
def test_rows_of_updates_have_the_shape_of_the_indices(name: str, use_resource: bool) -> None:
    variable = tf.get_variable("v", [4, 3], use_resource=use_resource)
    updates = tf.placeholder(tf.float32)
    changed = getattr(tf, f"scatter_{name}")(variable, [0, 1], updates)
    _refused(changed, {updates: np.ones([2, 1, 3])}, r"updates must have shape \[2, 3\]")
    with tf.Session() as session:
        session.run(variable.initializer)
        for value in (np.ones([2, 3]), 2.0):
            assert session.run(changed, {updates: value}).shape == (4, 3)


@pytest.mark.parametrize("loss", [tf.nn.nce_loss, tf.nn.sampled_softmax_loss])
def test_sampled_losses_of_weights_of_unknown_shape(loss: Any) -> None:
    rng = np.random.default_rng(7)
    weights, biases = rng.normal(size=[9, 3]).astype("f"), rng.normal(size=[9]).astype("f")
    inputs, labels = rng.normal(size=[4, 3]).astype("f"), np.arange(4)[:, None]
    sampled = tf.nn.learned_unigram_candidate_sampler(labels, 1, 5, True, 9, seed=1)
    given = [weights, biases, labels, inputs]
    places = [tf.placeholder(tf.as_dtype(v.dtype)) for v in given]
    found = loss(*places, num_sampled=5, num_classes=9, sampled_values=sampled)
    wanted = loss(*given, num_sampled=5, num_classes=9, sampled_values=sampled)
    with tf.Session() as session:
        a, b = session.run([found, wanted], dict(zip(places, given, strict=True)))
    np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_convolution_of_another_rank_says_so() -> None:
    x = tf.placeholder(tf.float32)
    y = tf.nn.conv2d(x, tf.ones([2, 2, 3, 4]), [1, 1, 1, 1], "SAME")
    _refused(y, {x: np.ones([1, 2, 5, 6, 3])}, r"the input must have rank 4, .* got shape \[1, 2")
