"""A seeded graph for each test of sequences."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dataflow as tf


@pytest.fixture
def fresh_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        yield
