"""Which element-wise nodes become one kernel, and how large and how long it has to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan

#: So many elements are worth a kernel of their own.
ENOUGH = [128, 256]


def types(fetches: Any, feeds: list[Any] | None = None, arguments: Any = None) -> list[str]:
    """The types of a rewritten plan's nodes."""
    with tf.Session() as session:
        plan = Plan(session, FetchPlan(session.graph, fetches, session), feeds or [])
        plan.rewrite(arguments=arguments)
        return [op.type for op in plan.compiled_ops]


def image(dtype: Any = tf.float32, dims: Any = (2, 16, 16, 64), name: str = "x") -> Any:
    return tf.placeholder(dtype, dims, name=name)


def after(node: Any, make: Any) -> Any:
    with tf.control_dependencies([node]):
        return make()


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_variable_is_read_into_a_kernel_unless_the_step_changes_it(is_changed: bool) -> None:
    x, v = image(), tf.Variable(tf.ones([2, 16, 16, 64]))
    y = tf.tanh(tf.exp(tf.sin(v.op.outputs[0] * x)))
    found = types([y, v.assign(x)] if is_changed else y, [x])
    assert ("Mul" in found) == is_changed
    assert any(name.startswith("_Fused") for name in found), found


@pytest.mark.parametrize(
    ("build", "left"),
    [
        (lambda x: tf.nn.bias_add(x, np.ones(64, np.float32)), []),
        (lambda x: tf.pow(x, 0.5), []),
        (lambda x: tf.pow(x, 5.0), []),
        (lambda x: tf.pow(x, np.full([64], 2.0, np.float32)), []),
        (lambda x: tf.pow(x, tf.placeholder_with_default([2.0], [1])), []),
        (lambda x: tf.pow(x, tf.placeholder_with_default(2.0, [])), ["Pow"]),
        (lambda x: tf.where(x > 0.0, x, -x), []),
        (lambda x: tf.where(tf.logical_not(x > 0.0), x, -x), ["LogicalNot", "Greater"]),
        (lambda x: after(tf.Variable(0.0).initializer, lambda: tf.square(x)), ["Square"]),
        (lambda x: tf.cast(tf.square(tf.cast(x, tf.float64) + 1.0), tf.float32), ["Cast"]),
    ],
)
def test_which_nodes_fit(build: Any, left: list[str]) -> None:
    x = image()
    found = types(tf.cos(tf.exp(build(tf.sin(tf.tanh(x))))), [x])
    assert any(name.startswith("_Fused") for name in found), found
    known = {"Pow", "BiasAdd", "Select", "SelectV2", "LogicalNot", "Square", "Cast", "Greater"}
    assert known.intersection(found) == set(left)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16, tf.int32, tf.complex64])
def test_which_numbers_are_computed_so(dtype: Any) -> None:
    x = image(dtype)
    found = types(tf.square(x * x + x), [x])
    assert any(name.startswith("_Fused") for name in found) is (dtype in (tf.float32, tf.float64))


def test_a_bias_of_channels_that_come_first_stays() -> None:
    x = image(dims=(2, 64, 16, 16))
    found = types(tf.exp(tf.nn.bias_add(tf.tanh(x), np.ones(64, np.float32), "NCHW")), [x])
    assert "BiasAdd" in found


@pytest.mark.parametrize(
    ("dims", "is_fused"),
    [
        ([128, 256], True),
        ([32_767], False),
        ([32_768], True),
        ([None, 128], True),  # a dimension that is not known counts as 256
        ([None, 127], False),
        ([None, None], True),
        ([], False),
        (None, True),
    ],
)
def test_how_large_a_value_must_be(
    dims: Any, is_fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.rewrites.multi_output_fusion.run", lambda *_, **__: iter(()))
    x = tf.placeholder(tf.float32, dims, name="x")
    assert ("_Fused" in types(tf.exp(tf.tanh(x)), [x])) is is_fused


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, 4.0])
def test_exponents_for_which_the_kernel_multiplies_stay(exponent: float) -> None:
    x = image()
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.arithmetic_optimization = 2  # OFF, or a rule is quicker
    y = tf.exp(tf.tanh(tf.pow(tf.sin(x), exponent)))
    with tf.Session(config=config) as session:
        plan = Plan(session, FetchPlan(session.graph, y, session), [x])
        plan.rewrite()
        assert "Pow" in [op.type for op in plan.compiled_ops]
