"""Fixtures of the tests of tf.keras."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dataflow as tf
from dataflow.keras import backend


@pytest.fixture
def new_keras_session() -> Iterator[None]:
    """A new default graph and session of Keras's, where names of layers begin anew; its seed is 0."""
    backend.clear_session()
    tf.set_random_seed(0)
    yield
    backend.clear_session()
