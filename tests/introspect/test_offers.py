"""Forms that a graph could have instead: told by `Session.explain`, never put in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (
            lambda x: tf.log(1.0 + tf.exp(x)),
            "log(1 + exp(x)) overflows for x > 88.7; tf.nn.softplus",
        ),
        (lambda x: tf.log(tf.exp(x) + 1.0), "tf.nn.softplus(x) does not"),
        (lambda x: tf.log(tf.constant(1.0) + x), "tf.log1p(x) does not"),
        (lambda x: tf.exp(x) - 1.0, "tf.expm1(x) does not"),
        (lambda x: tf.log(tf.nn.softmax(x)), "tf.nn.log_softmax(x) is finite"),
        (lambda x: tf.log(tf.reduce_sum(tf.exp(x))), "tf.reduce_logsumexp(x) does not"),
    ],
)
def test_what_is_offered(build: Callable[[Any], Any], text: str) -> None:
    y = build(tf.placeholder(tf.float32, [None, 3]))
    with tf.Session() as s:
        told = s.explain(y)
    (offer,) = told.offers
    assert text in offer.text
    assert offer.node == y.op.name
    assert offer.built_at == y.op.built_at and "test_offers.py" in offer.built_at
    assert told.to_dict()["offers"] == [offer._asdict()]
    assert "offers (1)" in repr(told) and offer.text in repr(told)


def test_the_largest_number_is_that_of_the_type() -> None:
    x = tf.placeholder(tf.float64, [])
    with tf.Session() as s:
        (offer,) = s.explain(tf.log(1.0 + tf.exp(x))).offers
    assert "x > 709.8" in offer.text


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.log(2.0 + tf.exp(x)),
        lambda x: tf.log(tf.reduce_sum(x)),
        lambda x: 1.0 - tf.exp(x),
        lambda x: tf.nn.softplus(x),
    ],
)
def test_what_is_fine_as_it_is(build: Callable[[Any], Any]) -> None:
    with tf.Session() as s:
        told = s.explain(build(tf.placeholder(tf.float32, [None])))
    assert told.offers == []
    assert "offers" not in repr(told)


def test_what_was_offered_was_not_taken() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.log(1.0 + tf.exp(x))
    with tf.Session() as s:
        assert [s.run(y, {x: 1000.0}) for _ in range(4)] == [np.inf] * 4
