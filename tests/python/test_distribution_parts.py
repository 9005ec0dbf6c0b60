"""Functions of ``distributions.util``, ``distribution_util`` and ``special_math``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.distributions.python.ops import distribution_util
from dataflow.python.ops.distributions import special_math, util


def _hidden(value: Any) -> Any:
    return tf.placeholder_with_default(value, None)


def _refused(session: tf.Session, node: Any, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(node)


def test_whole_numbers(session: tf.Session) -> None:
    form, embedded = util.assert_integer_form, util.embed_check_nonnegative_integer_form
    session.run([form([1, 2]), form(tf.constant([1.0, 5.0], tf.float16))])
    _refused(session, form(_hidden([1.1])), "has non-integer components")
    _refused(session, embedded(_hidden([-1.0])), "must be non-negative")
    _refused(session, embedded(_hidden([1.5])), "cannot contain fractional components")
    with pytest.raises(TypeError, match="Unrecognized type complex64"):
        form(tf.constant([1j], tf.complex64))
    _refused(session, util.assert_symmetric(_hidden([[1.0, 2.0], [3.0, 1.0]])), "==")


def test_numbers_that_fit_another_dtype(session: tf.Session) -> None:
    closed = util.embed_check_integer_casting_closed
    half = np.float16([1, 2**11])
    assert session.run(closed(half, tf.int16)).tolist() == half.tolist()
    _refused(session, closed(_hidden(np.float16([-1])), tf.int16), "must be non-negative")
    _refused(session, closed(_hidden(np.float16([1.5])), tf.int16), "must be int16-equivalent")
    _refused(session, closed(_hidden(np.int32([2**11 + 1])), tf.float16), "cannot exceed")
    _refused(session, closed(_hidden(np.int32([-1])), tf.uint8, False), "cannot be smaller than 0")
    with pytest.raises(TypeError, match="must be integer-type"):
        closed(tf.constant([1.0]), tf.float16)
    with pytest.raises(TypeError, match="Unrecognized dtype"):
        closed(tf.constant(["a"]), tf.int32)


def test_probabilities_and_their_logits(session: tf.Session) -> None:
    both = util.get_logits_and_probs
    probs = np.float32([[0.1, 0.9], [0.5, 0.5]])
    logits, _ = both(probs=probs, multidimensional=True, validate_args=True)
    np.testing.assert_allclose(session.run(logits), np.log(probs), rtol=1e-5)
    with pytest.raises(ValueError, match="not both"):
        both()
    with pytest.raises(ValueError, match="at least 2 events"):
        both(probs=[[0.1]], multidimensional=True, validate_args=True)
    with pytest.raises(ValueError, match="at least 1 dimension"):
        both(logits=0.5, multidimensional=True, validate_args=True)
    with pytest.raises(ValueError, match="Number of classes exceeds"):
        many = tf.ones([2**11 + 1], tf.float16)
        both(probs=many, multidimensional=True, validate_args=True)
    for value, text in (([[0.1]], "at least 2 events"), ([[0.1, 0.2]], "does not sum to 1")):
        _, found = both(probs=_hidden(value), multidimensional=True, validate_args=True)
        _refused(session, found, text)
    with pytest.raises(TypeError, match="unrecognized dtype"):
        util.embed_check_categorical_event_shape(tf.constant([1, 2]))


def test_shapes_and_axes(session: tf.Session) -> None:
    a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    same = util.same_dynamic_shape(a, b)
    for other, wanted in (((2, 3), True), ((2,), False), ((2, 4), False)):
        feeds = {a: np.ones((2, 3)), b: np.ones(other)}
        assert session.run(same, feeds) == wanted
    x = np.arange(24).reshape(2, 3, 4)
    for shift in (-4, -1, 0, 1, 5):
        wanted = np.transpose(x, np.roll(np.arange(3), shift))
        for found in (
            util.rotate_transpose(x, shift),
            util.rotate_transpose(_hidden(x), _hidden(shift)),
        ):
            assert session.run(found).tolist() == wanted.tolist()
    for source, target in ((0, 2), (2, 0), (1, 1), (-1, 0), (0, -2)):
        wanted = np.moveaxis(x, source, target)
        for value in (x, _hidden(x)):
            found = session.run(distribution_util.move_dimension(value, source, target))
            assert found.tolist() == wanted.tolist()
    assert util.prefer_static_rank(x) == 3 and util.prefer_static_shape(x).tolist() == [2, 3, 4]
    assert isinstance(util.prefer_static_rank(_hidden(x)), tf.Tensor)
    broadcast = util.prefer_static_broadcast_shape
    assert broadcast([1, 3], tf.TensorShape([2, 3])).as_list() == [2, 3]
    assert session.run(broadcast(_hidden(np.int32([1, 3])), [2, 1])).tolist() == [2, 3]
    with pytest.raises(ValueError, match="partially defined"):
        broadcast(tf.TensorShape([None]), _hidden(np.int32([1])))
    assert util.dimension_size(tf.ones([2, 3]), -1) == 3


def test_values_that_the_graph_knows() -> None:
    with tf.Graph().as_default():
        get = util.maybe_get_static_value
        assert get(None) is None and get(tf.placeholder(tf.int32)) is None
        assert get(tf.constant(2)) == 2 and get(2, np.float64).dtype == np.float64


def test_pad_and_pick(session: tf.Session) -> None:
    x = tf.constant([[1, 2], [3, 4]])
    wide = util.pad(x, -1, front=True, back=True, value=7, count=2)
    assert wide.shape.as_list() == [2, 6]
    below = util.pad(x, _hidden(0), back=True, value=9)
    found = session.run([wide, below])
    assert found[0].tolist() == [[7, 7, 1, 2, 7, 7], [7, 7, 3, 4, 7, 7]]
    assert found[1].tolist() == [[1, 2], [3, 4], [9, 9]]
    condition = tf.placeholder(tf.bool)
    picked = util.pick_vector(condition, np.arange(3), np.arange(7, 9))
    assert session.run(picked, {condition: True}).tolist() == [0, 1, 2]
    assert session.run(picked, {condition: False}).tolist() == [7, 8]
    assert session.run(util.pick_vector(False, [1], [2])).tolist() == [2]
    with pytest.raises(TypeError, match="which is not"):
        util.pick_vector(1, [1], [2])
    with pytest.raises(TypeError, match="does not match"):
        util.pick_vector(condition, [1], [2.0])


def test_scales_and_mixtures(session: tf.Session) -> None:
    tril = distribution_util.make_tril_scale(
        scale_tril=np.float32([[1, 5], [2, 3]]),
        scale_identity_multiplier=np.float32(1),
        scale_diag=np.float32([1, 2]),
    )
    assert session.run(tril.to_dense()).tolist() == [[3, 0], [2, 6]]
    loc = tf.zeros([2, 2])
    scale = distribution_util.make_diag_scale(loc, scale_identity_multiplier=np.float32(3))
    assert session.run(scale.to_dense()).tolist() == [[3, 0], [0, 3]]
    assert distribution_util.is_diagonal_scale(scale)
    assert not distribution_util.is_diagonal_scale(tril)
    with pytest.raises(TypeError, match="LinearOperator"):
        distribution_util.is_diagonal_scale(loc)
    with pytest.raises(ValueError, match="Cannot infer"):
        distribution_util.make_diag_scale(scale_identity_multiplier=1.0)
    for positive, text in ((True, "must be positive"), (False, "must be non-zero")):
        wrong = distribution_util.make_diag_scale(
            scale_diag=_hidden([0.0, 1.0]), validate_args=True, assert_positive=positive
        )
        _refused(session, wrong.to_dense(), text)
    shapes = distribution_util.shapes_from_loc_and_scale
    wide = distribution_util.make_diag_scale(scale_diag=np.ones([5, 1, 2], np.float32))
    batch, event = shapes(loc, wide)
    assert batch.as_list() == [5, 2] and event.tolist() == [2]
    batch, _ = shapes(_hidden(np.zeros([2, 2], np.float32)), wide)
    assert session.run(batch).tolist() == [5, 2]
    assert shapes(None, wide)[0].tolist() == [5, 1]
    with pytest.raises(ValueError, match="could not be broadcast"):
        shapes(tf.zeros([3]), wide)
    shape = distribution_util.get_broadcast_shape
    assert shape(tf.ones([5, 1]), tf.ones([3])) == [5, 3]
    assert session.run(shape(_hidden(np.ones([5, 1])), tf.ones([3]))).tolist() == [5, 3]
    weights, means, deviations = (
        tf.constant([[0.5, 0.5]]),
        tf.constant([[1.0, 3.0]]),
        tf.constant([[1.0, 2.0]]),
    )
    found = session.run(distribution_util.mixture_stddev(weights, means, deviations))
    np.testing.assert_allclose(found, [np.sqrt(0.5 * 2 + 0.5 * 13 - 4)], rtol=1e-6)
    with pytest.raises(ValueError, match="Expecting means"):
        distribution_util.mixture_stddev(weights, means[:, :1], deviations)


def test_quadratures(session: tf.Session) -> None:
    process = util.process_quadrature_grid_and_probs
    grid, probs = session.run(process(None, tf.float64, False))
    assert len(grid) == 8 and abs(probs.sum() - 1) < 1e-12
    np.testing.assert_allclose((probs * grid**2).sum(), 0.5, rtol=1e-12)
    assert session.run(process(([1.0, 2.0], [1.0, 3.0]), tf.float32, False)[1]).tolist() == [
        0.25,
        0.75,
    ]
    with pytest.raises(ValueError, match="saw lengths 1, 2"):
        process(([1.0, 2.0], [1.0]), tf.float32, False)
    fed = process((_hidden(np.float32([1, 2])), _hidden(np.float32([1]))), tf.float32, True)
    _refused(session, fed[0], "same-length")


def test_arguments_and_docstrings() -> None:
    def function(a: int, b: int = 1, *rest: int, **more: int) -> dict[str, Any]:
        return util.parent_frame_arguments()

    assert function(1, 2, 9, z=3) == {"a": 1, "b": 2, "z": 3}

    @util.AppendDocstring("A note.", {"foo": " An extra arg."})
    def documented() -> None:
        """First."""

    assert documented.__doc__ == "First.\nA note.\n\n##### `kwargs`:\n\n*  `foo`: An extra arg."
    with pytest.raises(ValueError, match="whitespace"):
        util.AppendDocstring(kwargs_dict={"a b": "x"})
    with pytest.raises(ValueError, match="newlines"):
        util.AppendDocstring(kwargs_dict={"a": "x\ny"})


def test_the_inverse_of_erf(session: tf.Session) -> None:
    x = np.linspace(-2.0, 2.0, 9)
    found = session.run(special_math.erfinv(tf.math.erf(tf.constant(x))))
    np.testing.assert_allclose(found, x, atol=1e-6)
    with pytest.raises(TypeError, match="float"):
        special_math.erfinv([1])


def test_the_masks_of_a_flow() -> None:
    from dataflow.contrib.distributions.python.ops.bijectors.masked_autoregressive import _gen_mask

    exclusive = [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    assert _gen_mask(3, 4, 6, "exclusive").tolist() == exclusive
    inclusive = [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 0, 0, 0]]
    assert _gen_mask(2, 5, 4, "inclusive").shape == (4, 5) and len(inclusive) == 4
