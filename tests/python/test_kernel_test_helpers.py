"""Private names and helpers that TensorFlow's tests of kernels import."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.framework import constant_op, test_util
from dataflow.python.kernel_tests.random import util
from dataflow.python.ops import (
    init_ops_v2,
    nn_impl,
    numerics,
    spectral_ops_test_util,
    state_ops,
    weights_broadcast_ops,
)
from dataflow.python.ops.linalg import linear_operator_circulant
from dataflow.python.ops.signal import util_ops


@pytest.mark.parametrize(
    "path",
    [
        *("ops.while_v2", "ops.control_flow_util_v2", "framework.test_ops", "module.module"),
        *(
            "ops.gen_audio_ops",
            "ops.gen_rnn_ops",
            "framework.config",
            "kernel_tests.signal.test_util",
        ),
    ],
)
def test_modules_that_tests_import(path: str) -> None:
    module = importlib.import_module(f"dataflow.python.{path}")
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name


def test_variables_by_their_ops(session: tf.Session) -> None:
    known = state_ops.variable_op([1, 2], tf.float32)
    unknown = state_ops.variable_op([1, 2], tf.float32, set_shape=False)
    assert known.shape.as_list() == [1, 2] and unknown.shape.ndims is None
    session.run(tf.assign(unknown, [[1.0, 2.0]]))
    assert session.run(unknown).tolist() == [[1.0, 2.0]]
    second = state_ops.variable_op_v2([2], tf.float32, name="second")
    session.run(state_ops.init_variable(second, lambda shape, dtype: tf.ones(shape, dtype)))
    assert session.run(second).tolist() == [1.0, 1.0]
    first = state_ops.init_variable(second, [3.0, 4.0], name="again")
    assert session.run(first).tolist() == [3.0, 4.0] and first.op.name == "second/again"
    with pytest.raises(ValueError, match="shape unknown"):
        state_ops.init_variable(unknown, tf.ones)


def test_weights_that_fit_and_those_that_do_not(session: tf.Session) -> None:
    values = np.ones((3, 2, 4), np.float32)
    fed_weights, fed_values = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    check = weights_broadcast_ops.assert_broadcastable(fed_weights, fed_values)
    assert isinstance(weights_broadcast_ops.assert_broadcastable(5.0, values), tf.Operation)
    for shape in ((), (1, 1, 1), (3, 1, 4), (3, 2, 4)):
        session.run(check, {fed_weights: np.ones(shape), fed_values: values})
        wide = weights_broadcast_ops.broadcast_weights(2 * np.ones(shape, np.float32), values)
        assert session.run(wide).tolist() == (2 * values).tolist()
    for shape in ((1, 4), (3, 2, 4, 1), (2, 2, 4)):
        with pytest.raises(ValueError, match="weights can not be broadcast to values"):
            weights_broadcast_ops.assert_broadcastable(np.ones(shape, np.float32), values)
        with pytest.raises(tf.errors.InvalidArgumentError, match="can not be broadcast"):
            session.run(check, {fed_weights: np.ones(shape), fed_values: values})


def test_logits_of_drawn_classes(session: tf.Session) -> None:
    rng = np.random.default_rng(0)
    weights, inputs = rng.standard_normal((20, 5)), rng.standard_normal((3, 5))
    biases, labels = rng.standard_normal(20), np.array([[1], [5], [9]])
    sampled = np.array([1, 0, 2])
    logits, wanted = session.run(
        nn_impl._compute_sampled_logits(
            tf.constant(weights),
            tf.constant(biases),
            tf.constant(labels),
            tf.constant(inputs),
            num_sampled=3,
            num_classes=20,
            sampled_values=(sampled, np.full((3, 1), 0.5), np.full(3, 0.25)),
        )
    )
    true = (inputs * weights[labels[:, 0]]).sum(1, keepdims=True) + biases[labels]
    others = inputs @ weights[sampled].T + biases[sampled]
    np.testing.assert_allclose(
        logits, np.concatenate([true - np.log(0.5), others - np.log(0.25)], 1), rtol=1e-6
    )
    assert wanted.tolist() == [[1.0, 0.0, 0.0, 0.0]] * 3


def test_small_functions(session: tf.Session) -> None:
    assert session.run(util_ops.gcd(8, 12)) == 4
    assert session.run(util_ops.gcd(tf.placeholder_with_default(18, []), 12)) == 6
    with pytest.raises(ValueError, match="integer type"):
        util_ops.gcd(1.0, 2.0)
    with pytest.raises(ValueError, match="rank 0"):
        util_ops.gcd([1], 2)
    assert linear_operator_circulant._to_complex(np.float64([1.0])).dtype == tf.complex128
    assert linear_operator_circulant._to_complex(np.complex64([1.0])).dtype == tf.complex64
    assert session.run(constant_op.constant_v1(5, shape=[1, 2])).tolist() == [[5, 5]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        session.run(numerics.verify_tensor_all_finite_v2([np.nan], "bad"))
    ones = init_ops_v2.ones_initializer()([2])
    assert session.run(ones).tolist() == [1.0, 1.0]
    assert session.run(init_ops_v2.identity_initializer()((2, 2))).tolist() == np.eye(2).tolist()
    with spectral_ops_test_util.fft_kernel_label_map():
        tf.fft(np.complex64([1.0]))


def test_statistics_of_random_numbers() -> None:
    rng = np.random.default_rng(4)
    normal, uniform = rng.standard_normal(20000), rng.uniform(size=20000)

    class Standard:
        @staticmethod
        def moment(i: int) -> float:
            return float(np.prod(np.arange(1, i, 2))) if i % 2 == 0 else 0.0

    assert max(util.test_moment_matching(normal, 4, Standard)) < 5
    assert max(util.test_moment_matching(normal + 0.2, 4, Standard, stride=1)) > 10
    assert util.anderson_darling(normal) < 4 < util.anderson_darling(normal * 1.2)
    assert util.chi_squared(uniform, 100) < 200 < util.chi_squared(uniform**1.2, 100)
    inside = rng.standard_normal(200000)
    inside = inside[abs(inside) <= 2]

    def equal(a: Any, b: Any) -> None:
        assert a == b

    close = np.testing.assert_allclose
    loose = {"mean_atol": 0.01, "median_atol": 0.01, "variance_rtol": 0.01}
    util.test_truncated_normal(equal, close, len(inside), inside, **loose)
    with pytest.raises(AssertionError):
        util.test_truncated_normal(equal, close, len(inside), inside * 0.9, **loose)


def test_decorators_and_orders_of_axes(session: tf.Session) -> None:
    ran = []

    class Case(test_util.TensorFlowTestCase):
        @test_util.no_xla_auto_jit("why")
        @test_util.enable_tf_xla_constant_folding("why")
        @test_util.use_deterministic_cudnn
        def test_it(self) -> None:
            ran.append(1)

    assert Case("test_it").run().wasSuccessful() and ran == [1]
    x = np.arange(2 * 3 * 8).reshape(1, 2, 3, 8)
    split = test_util.NHWCToNCHW_VECT_C(tf.constant(x))
    assert split.shape.as_list() == test_util.NHWCToNCHW_VECT_C([1, 2, 3, 8]) == [1, 2, 2, 3, 4]
    assert test_util.NCHW_VECT_CToNHWC([1, 2, 2, 3, 4]) == [1, 2, 3, 8]
    assert session.run(test_util.NCHW_VECT_CToNHWC(split)).tolist() == x.tolist()
    with pytest.raises(ValueError, match="divisible by 4"):
        test_util.NHWCToNCHW_VECT_C([1, 2, 3, 7])
    with pytest.raises(ValueError, match="must be 4"):
        test_util.NCHW_VECT_CToNHWC([1, 2, 2, 3, 3])
    graph = tf.get_default_graph().as_graph_def()
    assert test_util.get_node_def_from_graph("no_such_node", graph) is None
    assert test_util.get_node_def_from_graph(graph.node[0].name, graph) is not None
    assert test_util.IsGoogleCudaEnabled() is tf.test.is_gpu_available()
