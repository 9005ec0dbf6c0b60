"""Every test of rewrites builds in a graph of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dataflow as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as g:
        yield g
