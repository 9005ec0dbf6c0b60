"""What the generated function of a plan looks like."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.nonfinite_report import NonFiniteWarning
from dataflow.runtime.plan import Plan


def plan(session: tf.Session, fetches: Any, feeds: list[Any]) -> Plan:
    return Plan(session, FetchPlan(session.graph, fetches, session), feeds)


@pytest.mark.parametrize("branches", [False, True])
def test_a_value_that_nobody_reads_is_dropped_at_once(branches: bool, session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [4], name="x")
    first, second = tf.split(tf.exp(x), 2)
    y = tf.sin(first)
    if branches:
        y = tf.cond(x[0] > 0, lambda: tf.sin(first), lambda: tf.cos(first))
    made = plan(session, y, [x])
    (line,) = [text for text in made.source.splitlines() if made.generated.values[first] in text][
        :1
    ]
    assert made.generated.values[second] in line.partition("del ")[2]
    np.testing.assert_allclose(made.run([np.ones(4, np.float32)]), np.sin([np.e] * 2), rtol=1e-6)


def test_lists_of_tensors_are_made_without_a_kernel(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    empty = tf.raw_ops.EmptyTensorList(
        element_shape=-1, max_num_elements=-1, element_dtype=tf.float32
    )
    full = tf.raw_ops.TensorListPushBack(input_handle=empty, tensor=x)
    _, last = tf.raw_ops.TensorListPopBack(
        input_handle=full, element_shape=-1, element_dtype=tf.float32
    )
    made = plan(session, last, [x])
    assert not re.search(r"\bk\d+\(", made.source)
    assert made.run([np.array([1, 2], np.float32)]).tolist() == [1, 2]


#: Words of generated code, and names like those of what a plan computes.
WORDS = (
    *("DEAD", "allocator", "contiguous", "error", "feed", "future", "hook", "int32", "isfinite"),
    *("run", "stop", "uninitialized", "value", "lambda", "print", "t", "targets", "t1", "t1_0"),
    *("c1", "f0", "g1", "k1", "v1", "nonfinite0", "block0"),
)


@pytest.mark.parametrize("word", WORDS)
def test_what_is_fed_may_have_any_name(word: str, session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [], name=word)
    v = tf.Variable(2.0)
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    rounds = tf.while_loop(lambda i: i < x, lambda i: i + v, [0.0])
    either, index = tf.raw_ops.Merge(inputs=list(tf.raw_ops.Switch(data=x, pred=rounds > 3.0)))
    passed = tf.identity(tf.raw_ops.Switch(data=x, pred=x > 3.0)[1])
    plain = tf.log(tf.tanh(tf.exp(x * 0.0) - 1.0) + x * v - x * v)  # the logarithm of 0
    taken, closed = queue.dequeue(name="taken"), queue.close()
    session.run(v.initializer)
    for _ in range(4):  # by the plan that was rewritten, too
        assert session.run([rounds, either, index, passed], {x: 4.0}) == [4.0, 4.0, 1, 4.0]
    with pytest.warns(NonFiniteWarning, match="'Log' made infinity"):
        assert session.run(plain, {x: 4.0}) == -np.inf
    with pytest.raises(tf.errors.OutOfRangeError, match="'taken'"):
        session.run([taken + x, closed], {x: 4.0})


def test_an_unfed_placeholder_may_have_any_name(session: tf.Session) -> None:
    for word in WORDS:
        x = tf.placeholder(tf.float32, [], name=word)
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"placeholder tensor '{word}'"):
            session.run(tf.exp(x))


@pytest.mark.parametrize(
    ("dtype", "by_operator"),
    [
        (tf.float32, True),
        (tf.float64, True),
        (tf.int32, True),
        (tf.complex64, True),
        (tf.float16, False),
        (tf.bfloat16, False),
        (tf.string, False),
    ],
)
def test_by_what_numbers_are_added(dtype: Any, by_operator: bool, session: tf.Session) -> None:
    x, y = (tf.placeholder(dtype, [1], name=name) for name in "xy")
    source = plan(session, tf.raw_ops.Add(x=x, y=y), [x, y]).source
    assert ("x + y" in source, bool(re.search(r"k\d+\(x, y\)", source))) == (
        by_operator,
        not by_operator,
    )
