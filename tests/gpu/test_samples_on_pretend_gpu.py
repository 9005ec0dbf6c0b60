"""Every op sample on a pretend GPU: the same values as on the CPU, and no array of the host mixed in.

A pretend GPU computes with NumPy, so that the results are the CPU's up to the order of sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus
from tests.samples import all_samples
from tests.samples.base import Sample

SAMPLES = all_samples()


@pytest.fixture(autouse=True)
def one_pretend_gpu() -> Iterator[None]:
    with pretend_gpus(1):
        yield


def run(sample: Sample, on_gpu: bool) -> tuple[list[Any], list[Any]]:
    count = {} if on_gpu else {"GPU": 0}
    with tf.Graph().as_default() as graph:
        graph.seed = 7
        outputs = sample.build(tf, *[tf.constant(i) for i in sample.inputs])
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        with tf.Session(config=tf.ConfigProto(device_count=count)) as session:
            if sample.setup is not None:
                sample.setup(tf, session)
            return outputs, session.run(outputs)


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.id for s in SAMPLES])
def test_same_value_as_on_the_cpu(sample: Sample) -> None:
    tensors, values = run(sample, on_gpu=True)
    _, expected = run(sample, on_gpu=False)
    for tensor, value, want in zip(tensors, values, expected, strict=True):
        if not isinstance(tensor, tf.Tensor):
            continue
        assert isinstance(value, (np.ndarray, np.generic, bytes)) or type(value) is type(want)
        if isinstance(want, (np.ndarray, np.generic)) and not sample.random:
            assert np.asarray(value).dtype == np.asarray(want).dtype
            if np.asarray(want).dtype.kind in "fc":
                np.testing.assert_allclose(value, want, rtol=sample.rtol, atol=sample.atol)
            else:
                np.testing.assert_array_equal(value, want)


WITH_GRADIENT = [
    s
    for s in SAMPLES
    if s.setup is None
    and not s.random
    and s.gradient != ()
    and any(np.asarray(i).dtype.kind == "f" for i in s.inputs)
]


def slopes(sample: Sample, on_gpu: bool) -> list[Any]:
    count = {} if on_gpu else {"GPU": 0}
    with tf.Graph().as_default():
        inputs = [tf.constant(i) for i in sample.inputs]
        outputs = sample.build(tf, *inputs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        outputs = [t for t in outputs if isinstance(t, tf.Tensor) and t.dtype.is_floating]
        sources = [t for t in inputs if t.dtype.is_floating]
        found = [g for g in tf.gradients([tf.square(t) for t in outputs], sources) if g is not None]
        with tf.Session(config=tf.ConfigProto(device_count=count)) as session:
            return session.run([tf.convert_to_tensor(g) for g in found])


@pytest.mark.parametrize("sample", WITH_GRADIENT, ids=[s.id for s in WITH_GRADIENT])
def test_same_gradient_as_on_the_cpu(sample: Sample) -> None:
    for value, want in zip(slopes(sample, True), slopes(sample, False), strict=True):
        np.testing.assert_allclose(value, want, rtol=max(sample.rtol, 1e-4), atol=1e-5)
