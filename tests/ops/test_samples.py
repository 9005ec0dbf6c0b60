"""Every sample: value, dtype, static shape, and first and second gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.gradient_check import assert_gradients
from tests.samples import all_samples
from tests.samples.base import Sample

SAMPLES = all_samples()


def run_sample(sample: Sample) -> tuple[list[Any], list[Any]]:
    """The tensors that the sample builds, and their values."""
    with tf.Graph().as_default():
        outputs = sample.build(tf, *[tf.constant(i) for i in sample.inputs])
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        with tf.Session() as session:
            if sample.setup is not None:
                sample.setup(tf, session)
            return outputs, session.run(outputs)


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.id for s in SAMPLES])
def test_value_dtype_and_shape(sample: Sample) -> None:
    tensors, values = run_sample(sample)
    for tensor, value in zip(tensors, values, strict=True):
        if not isinstance(tensor, tf.Tensor):
            continue
        assert tensor.shape.is_compatible_with(np.shape(value)), (
            f"static shape {tensor.shape}, value of shape {np.shape(value)}"
        )
        if tensor.dtype.base_dtype == tf.string:
            assert isinstance(value, bytes) or value.dtype == object
        elif tensor.dtype.is_numpy_compatible:
            assert np.asarray(value).dtype == tensor.dtype.base_dtype.as_numpy_dtype
    if sample.expected is None or sample.random:
        return
    expected = sample.expected
    if callable(expected):
        expected = expected(*sample.arrays())
    if len(values) == 1 and not isinstance(expected, (list, tuple)):
        expected = [expected]
    assert len(expected) == len(values)
    for value, want in zip(values, expected, strict=True):
        if np.asarray(want).dtype.kind in "fc":
            np.testing.assert_allclose(value, want, rtol=sample.rtol, atol=sample.atol)
        else:
            np.testing.assert_array_equal(value, want)


def differentiable(sample: Sample) -> bool:
    if sample.gradient is not None:
        return bool(sample.gradient)
    return not sample.random and any(np.asarray(i).dtype.kind == "f" for i in sample.inputs)


WITH_GRADIENT = [s for s in SAMPLES if differentiable(s)]


@pytest.mark.parametrize("sample", WITH_GRADIENT, ids=[s.id for s in WITH_GRADIENT])
def test_gradients(sample: Sample) -> None:
    assert_gradients(
        tf,
        sample.build,
        sample.inputs,
        sample.gradient,
        2 if sample.second else 1,
        sample.gradient_tolerance,
    )
