"""Every test has a graph of its own."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph
