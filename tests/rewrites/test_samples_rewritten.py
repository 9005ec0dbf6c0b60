"""Every op sample gives the same with rewrites on as with rewrites off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan
from tests.samples import all_samples
from tests.samples.base import Sample

SAMPLES = [s for s in all_samples() if not s.random]


def values(sample: Sample, rewrite: bool) -> list[Any]:
    """The sample's values, from fed inputs where they can be fed, so that not all is folded."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        inputs = [tf.constant(i) for i in sample.inputs]
        outputs = sample.build(tf, *inputs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        with tf.Session() as session:
            if sample.setup is not None:
                sample.setup(tf, session)
            plan = Plan(session, FetchPlan(session.graph, outputs, session), inputs)
            if rewrite:
                plan.rewrite()
            return plan.run(sample.inputs)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.id for s in SAMPLES])
def test_same_with_rewrites_on_and_off(sample: Sample) -> None:
    plain, rewritten = leaves(values(sample, False)), leaves(values(sample, True))
    assert len(plain) == len(rewritten)
    for want, got in zip(plain, rewritten, strict=True):
        want, got = np.asarray(want), np.asarray(got)
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        if want.dtype.kind in "fc":
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        elif want.dtype != object or all(isinstance(v, (bytes, str)) for v in want.reshape(-1)):
            np.testing.assert_array_equal(got, want)
