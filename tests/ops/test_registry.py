"""No op without shape rule, kernel, gradient or explicit refusal, docstring and sample."""

from __future__ import annotations

import pytest

import dataflow as tf
from dataflow.graph.registry import all_ops
from dataflow.kernels.loader import get_kernel
from tests.samples import all_samples

#: Ops that the code generator writes itself, without a kernel.
GENERATED = {
    t for t, op in all_ops().items() if op.control_flow or op.is_alias or op.is_variable
} | {"Const", "NoOp", "ControlTrigger", "Placeholder", "IdentityN"}


def test_every_op_has_a_kernel() -> None:
    missing = [t for t in all_ops() if t not in GENERATED and get_kernel(t) is None]
    assert not missing


def test_every_kernel_has_an_op() -> None:
    from dataflow.kernels.loader import all_kernels

    assert not [t for t, _ in all_kernels() if t not in all_ops()]


def test_every_op_says_whether_it_has_a_gradient() -> None:
    silent = [
        t for t, op in all_ops().items() if op.differentiable and op.gradient_function is None
    ]
    assert not silent, "neither @op.gradient nor not_differentiable(op)"


def test_every_op_has_a_docstring() -> None:
    assert not [t for t, op in all_ops().items() if not (op.__doc__ or "").strip()]


def test_every_op_has_a_sample() -> None:
    sampled = {s.op for s in all_samples()}
    assert not sorted(set(all_ops()) - sampled)


def test_an_op_whose_gradient_nobody_knows_refuses_one() -> None:
    x = tf.constant([1.0, 2.0, 1.0])
    with pytest.raises(LookupError, match="No gradient defined for operation 'Unique'"):
        tf.gradients(tf.unique(x)[0], x)
    assert tf.gradients(tf.round(x), x) == [None]
