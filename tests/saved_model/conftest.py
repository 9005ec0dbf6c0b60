"""Fixtures for SavedModels of objects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dataflow as tf
from dataflow.graph import eager


@pytest.fixture
def eagerly() -> Iterator[None]:
    """Eager execution for one test."""
    tf.reset_default_graph()
    tf.enable_eager_execution()
    yield
    eager.disable_eager_execution()
