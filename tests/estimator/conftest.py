"""Tests of estimators keep their logs to themselves."""

from __future__ import annotations

import pytest

import dataflow as tf


@pytest.fixture(autouse=True)
def quiet():
    before = tf.logging.get_verbosity()
    tf.logging.set_verbosity(tf.logging.ERROR)
    yield
    tf.logging.set_verbosity(before)
