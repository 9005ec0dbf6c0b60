"""Specs of values, `tf.raw_ops`, `tf.grad_pass_through` and `tf.init_scope`."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import dataflow as tf


def test_specs_compare_by_their_parts() -> None:
    spec = tf.TensorSpec([None, 3], tf.float32, "x")
    assert spec == tf.TensorSpec([None, 3], "float32", "x")
    assert hash(spec) == hash(tf.TensorSpec([None, 3], "float32", "x"))
    different = [
        tf.TensorSpec([None, 3]),
        tf.TensorSpec([2, 3], tf.float32, "x"),
        tf.TensorSpec(None, tf.float32, "x"),
        tf.SparseTensorSpec([None, 3]),
    ]
    assert all(spec != other for other in different)
    assert tf.TensorSpec(None) != tf.TensorSpec([])
    assert repr(tf.TensorSpec([2])) == "TensorSpec(shape=(2,), dtype=tf.float32, name=None)"


def test_what_fits_a_spec() -> None:
    with tf.Graph().as_default():
        spec = tf.TensorSpec([None, 3])
        assert spec.is_compatible_with(tf.zeros([5, 3]))
        assert not spec.is_compatible_with(tf.zeros([5, 4]))
        assert not spec.is_compatible_with(tf.zeros([5, 3], tf.int32))
        sparse = tf.SparseTensor([[0, 0]], [1.0], [2, 3])
        assert tf.SparseTensorSpec([2, 3]).is_compatible_with(sparse)
        assert not tf.SparseTensorSpec([2, 3]).is_compatible_with(tf.zeros([2, 3]))


def test_raw_ops_take_names_only() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        product = tf.raw_ops.MatMul(a=[[1.0, 2.0]], b=[[3.0, 4.0]], transpose_b=True, name="mine")
        assert product.op.name == "mine" and sess.run(product) == [[11.0]]
        with pytest.raises(TypeError, match="keyword arguments only"):
            tf.raw_ops.Add(1.0, 2.0)
        with pytest.raises(AttributeError, match="Did you mean tf.raw_ops.MatMul"):
            tf.raw_ops.Matmul(a=1.0)
        assert "MatMul" in dir(tf.raw_ops)


def test_raw_ops_rename_as_tensorflow_does() -> None:
    raw = tf.raw_ops
    with tf.Graph().as_default(), tf.Session() as sess:
        any_, where, chosen, total = sess.run(
            [
                raw.Any(input=[[True, False]], axis=1),
                raw.Where(condition=[False, True]),
                raw.Select(condition=True, x=1, y=2),
                raw.Sum(input=[[1.0, 2.0]], axis=1, keep_dims=True),
            ]
        )
    assert (any_.tolist(), where.tolist(), chosen, total.tolist()) == ([True], [[1]], 1, [[3.0]])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("QuantizedAdd", "was arithmetic on quantized tensors; use tf.dequantize"),
        ("While", "was control flow over functions; use tf.cond"),
        ("FIFOQueue", "use tf.raw_ops.FIFOQueueV2"),
        ("ResourceApplyPowerSign", "use_resource=True"),
    ],
)
def test_absent_raw_ops_say_what_to_write(name: str, said: str) -> None:
    with pytest.raises(
        AttributeError, match=rf"^tf\.raw_ops\.{name} is not part .*{re.escape(said)}"
    ):
        getattr(tf.raw_ops, name)


def test_gradients_pass_through_rounding() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant([1.2, 2.7])
        y = tf.grad_pass_through(tf.round)(x)
        got = sess.run([y, *tf.gradients(y * [2.0, 3.0], x)])
        np.testing.assert_array_equal(got, [[1.0, 3.0], [2.0, 3.0]])


def test_initializers_leave_control_dependencies() -> None:
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.float32)
        with tf.control_dependencies([fed]), tf.name_scope("outer"), tf.init_scope():
            free = tf.constant(1.0)
        assert not free.op.control_inputs and free.op.name == "outer/Const"


def test_a_spec_with_bounds() -> None:
    Spec = tf.contrib.framework.BoundedTensorSpec
    spec = Spec([2, 3], tf.int32, 0, [1, 2, 3], name="a")
    assert spec.shape == [2, 3] and spec.dtype is tf.int32 and isinstance(spec, tf.TensorSpec)
    assert spec.minimum == 0 and spec.maximum.tolist() == [1, 2, 3]
    assert spec.maximum.dtype == np.int32 and not spec.maximum.flags.writeable
    assert spec == Spec([2, 3], tf.int32, 0, [1, 2, 3], name="a")
    assert spec != Spec([2, 3], tf.int32, 0, [1, 2, 4], name="a")
    assert spec != tf.TensorSpec([2, 3], tf.int32, "a")
    assert hash(spec) == hash(pickle.loads(pickle.dumps(spec))) and spec == pickle.loads(
        pickle.dumps(spec)
    )
    assert repr(Spec([2], tf.float32, 0, 1)) == (
        "BoundedTensorSpec(shape=(2,), dtype=tf.float32, name=None, "
        "minimum=array(0., dtype=float32), maximum=array(1., dtype=float32))"
    )
    with pytest.raises(ValueError, match="minimum is not compatible with shape"):
        Spec([2, 3], tf.int32, [0, 0], 1)
    with pytest.raises(ValueError, match="must be provided"):
        Spec([2], tf.int32, None, 1)


def test_the_bounds_of_a_spec_without_are_those_of_its_dtype() -> None:
    spec = tf.contrib.framework.BoundedTensorSpec.from_spec(tf.TensorSpec([2], tf.int8, "a"))
    assert (spec.minimum, spec.maximum, spec.name) == (-128, 127, "a")
