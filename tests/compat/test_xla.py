"""`tf.xla.experimental`: programs that ask for XLA run, with the values of TensorFlow 1.15."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.compiler import jit, xla
from tests.running import run_initialized

pytestmark = pytest.mark.usefixtures("graph")


def test_a_scope_leaves_attributes() -> None:
    a = tf.placeholder(tf.float32, [2, 2])
    with jit.experimental_jit_scope():
        b = tf.matmul(a, a)
        with tf.xla.experimental.jit_scope(compile_ops=False):
            c = tf.identity(b)
    with tf.xla.experimental.jit_scope(separate_compiled_gradients=True):
        d = tf.identity(c)
    with tf.xla.experimental.jit_scope(compile_ops=lambda node: True):
        e = tf.identity(d)
    found = [
        tuple(
            x.op.node_def.attr[f"_Xla{n}"]
            for n in ("Compile", "SeparateCompiledGradients", "Scope")
        )
        for x in (b, c, d)
    ]
    assert [f[0].b for f in found] == [True, False, True]
    assert [f[1].b for f in found] == [False, False, True]
    assert [f[2].s for f in found] == [b"jit_scope_0", b"jit_scope_0", b"jit_scope_1"]
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(e, {a: np.eye(2)}), np.eye(2))


def test_a_computation() -> None:
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    def computation(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        w = tf.get_variable("w", [2, 2], initializer=tf.ones_initializer())
        assert isinstance(w, tf.Variable)
        return tf.matmul(x, w) + y, tf.reduce_sum(x)

    product, total = xla.compile(computation, [a, 1.0])
    assert not tf.get_variable_scope().use_resource
    assert (product.name, total.name) == ("output_0:0", "output_1:0")
    (gradient,) = tf.gradients(product, a)
    got = run_initialized([product, total, gradient])
    np.testing.assert_array_equal(got[0], [[4, 4], [8, 8]])
    assert got[1] == 10.0
    np.testing.assert_array_equal(got[2], [[2, 2], [2, 2]])


def test_what_a_computation_may_return() -> None:
    a, v = tf.constant([3.0]), tf.Variable(1.0)
    (single,) = tf.xla.experimental.compile(lambda x: x * 2, [a])
    nested = xla.compile(lambda x: {"u": (x, x + 1)}, [a])
    nothing = xla.compile(lambda: None)
    (after,) = xla.compile(lambda x: (x + 1, tf.group(v.assign_add(1.0))), [a])
    alone = xla.compile(lambda: tf.group(v.assign_add(10.0)))
    assert isinstance(nothing, tf.Operation) and isinstance(alone, tf.Operation)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([single, nested]) == [[6.0], {"u": ([3.0], [4.0])}]
        session.run([after, nothing])
        assert session.run(v) == 2.0
        session.run(alone)
        assert session.run(v) == 12.0


def test_what_a_computation_may_not_return() -> None:
    a = tf.constant([3.0])
    with pytest.raises(ValueError, match="zero or more Tensor values followed by"):
        xla.compile(lambda x: (tf.no_op(), x), [a])
    with pytest.raises(ValueError, match="does not support Operation as return value"):
        xla.compile(lambda x: {"a": tf.no_op()}, [a])
    with pytest.raises(ValueError, match="convertible to Tensors"):
        xla.compile(lambda x: object(), [a])
    with pytest.raises(TypeError, match="inputs must be a list"):
        xla.compile(lambda: 1, 3)  # type: ignore[arg-type]
