"""Every op sample on a GPU against the CPU in double precision, and no array of the host mixed in.

On a pretend GPU here, which computes with NumPy; `test_on_hardware` does the same on a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.introspect import variables
from dataflow.kernels.xp import pretend_gpus
from dataflow.rewrites.prune import needed_operations
from tests.gpu.double import in_double, widen
from tests.samples import all_samples
from tests.samples.base import Sample

SAMPLES = all_samples()
ON_CPU = tf.ConfigProto(device_count={"GPU": 0})
#: Of a result's largest number, by its dtype; a sample may ask for less.
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-5, "bfloat16": 2e-2}
TOLERANCE_OF_DOUBLE = 1e-9


@pytest.fixture(autouse=True)
def one_pretend_gpu() -> Iterator[None]:
    with pretend_gpus(1):
        yield


def outputs_of(sample: Sample) -> list[Any]:
    outputs = sample.build(tf, *[tf.constant(i) for i in sample.inputs])
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def slopes_of(sample: Sample) -> list[Any]:
    inputs = [tf.constant(i) for i in sample.inputs]
    outputs = sample.build(tf, *inputs)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    outputs = [t for t in outputs if isinstance(t, tf.Tensor) and t.dtype.is_floating]
    sources = [t for t in inputs if t.dtype.is_floating]
    found = tf.gradients([tf.square(t) for t in outputs], sources)
    return [tf.convert_to_tensor(g) for g in found if g is not None]


def in_both(
    sample: Sample, build: Callable[[Sample], list[Any]]
) -> tuple[list[Any], list[Any], list[Any]]:
    """What was fetched, its values on the GPU, and those on the CPU in double precision.

    What a sample keeps in tables or queues stays in single precision: they cannot be widened.
    """
    with tf.Graph().as_default() as graph:
        graph.seed = 7
        fetches = build(sample)
        if not fetches:
            return [], [], []
        with tf.Session() as session, tf.Session(config=ON_CPU) as plain:
            for each in (session, plain):
                if sample.setup is not None:
                    sample.setup(tf, each)
            values = session.run(fetches)
            before = variables.snapshot(plain) or {}
            tensors = [t for t in fetches if isinstance(t, tf.Tensor)]
            ops = needed_operations(tensors, [], [])
            has_handles = any(t.dtype.base_dtype.kind == "x" for op in ops for t in op.outputs)
            if len(tensors) < len(fetches) or (has_handles and sample.setup is not None):
                return fetches, values, plain.run(fetches)
    doubled = in_double(ops)
    with tf.Session(graph=doubled.graph, config=ON_CPU) as session:
        for name, value in before.items():
            wide = widen(value)
            session.resources.variable("", name, tf.as_dtype(wide.dtype)).array = wide
        return fetches, values, session.run([doubled.tensors[t] for t in tensors])


def assert_near(value: Any, want: Any, rtol: float, atol: float = 0.0) -> None:
    """``want`` may be in double precision; what only that can hold is infinite in ``value``."""
    value, want = np.asarray(value), np.asarray(want)
    rtol = max(rtol, TOLERANCE.get(value.dtype.name, TOLERANCE_OF_DOUBLE))
    scale = np.max(np.abs(want[np.isfinite(want)]), initial=0.0)
    with np.errstate(over="ignore"):
        want = want.astype(value.dtype)
    np.testing.assert_allclose(value, want, rtol=rtol, atol=max(atol, rtol * scale))


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.id for s in SAMPLES])
def test_same_value_as_on_the_cpu(sample: Sample) -> None:
    for tensor, value, want in zip(*in_both(sample, outputs_of), strict=True):
        if not isinstance(tensor, tf.Tensor):
            continue
        assert isinstance(value, (np.ndarray, np.generic, bytes)) or type(value) is type(want)
        if isinstance(want, (np.ndarray, np.generic)) and not sample.random:
            if np.asarray(want).dtype.kind in "fc":
                assert np.asarray(value).dtype == tensor.dtype.as_numpy_dtype
                assert_near(value, want, sample.rtol)
            else:
                assert np.asarray(value).dtype == np.asarray(want).dtype
                np.testing.assert_array_equal(value, want)


WITH_GRADIENT = [
    s
    for s in SAMPLES
    if s.setup is None
    and not s.random
    and s.gradient != ()
    and any(np.asarray(i).dtype.kind == "f" for i in s.inputs)
]


@pytest.mark.parametrize("sample", WITH_GRADIENT, ids=[s.id for s in WITH_GRADIENT])
def test_same_gradient_as_on_the_cpu(sample: Sample) -> None:
    for _, value, want in zip(*in_both(sample, slopes_of), strict=True):
        assert_near(value, want, max(sample.rtol, 1e-4), 1e-5)
