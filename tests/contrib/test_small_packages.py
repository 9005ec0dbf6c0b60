"""contrib: vectors in the Poincare ball, and older places of what is elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.running import run

pytestmark = pytest.mark.usefixtures("graph")


def test_vectors_in_the_poincare_ball() -> None:
    x = np.random.RandomState(0).normal(0, 3, [20, 4])
    found = run(tf.contrib.layers.poincare_normalize(tf.constant(x), 1, epsilon=0.04))
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(found, x * np.minimum(0.96 / lengths, 1.0))


def test_older_places() -> None:
    assert tf.contrib.data.ignore_errors is tf.data.experimental.ignore_errors
    assert tf.contrib.signal.stft is tf.signal.stft
    assert tf.contrib.stateless.stateless_random_uniform is tf.random.stateless_uniform
    assert tf.contrib.hooks.ProfilerHook is tf.train.ProfilerHook
    for package in ("signal", "stateless", "hooks", "nn", "sparsemax", "resampler"):
        with pytest.raises(AttributeError, match="no_such_name"):
            getattr(getattr(tf.contrib, package), "no_such_name")  # noqa: B009
