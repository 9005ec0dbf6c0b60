"""In which memory an op on a GPU wants each input, and leaves each output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dataflow as tf
from dataflow.placement.memory import Memory, memory_of

D, H, A = "device", "host", "any"


pytestmark = pytest.mark.usefixtures("graph")


def floats() -> Any:
    return tf.placeholder(tf.float32, [None, 2])


def ints() -> Any:
    return tf.placeholder(tf.int32, [None])


def merged() -> Any:
    x = floats()
    return tf.raw_ops.Merge(inputs=[x, tf.identity(x)])[0]


@pytest.mark.parametrize(
    ("build", "inputs", "outputs", "on_host"),
    [
        # Only how to compute is said in the host's memory, wherever it stands among the inputs.
        (lambda: tf.concat([floats()] * 3, 0), (D, D, D, H), (D,), False),
        (lambda: tf.split(floats(), 2, 1)[0], (H, D), (D, D), False),
        (lambda: tf.reduce_sum(floats(), 1), (D, H), (D,), False),
        (lambda: tf.fill([2], 1.0), (H, D), (D,), False),
        # Shapes come from the host, and need no copy of the value.
        (lambda: tf.shape(floats()), (A,), (H,), True),
        (lambda: tf.shape_n([floats(), floats()])[0], (A, A), (H, H), True),
        # One output on the host does not make it a kernel of the host's.
        (merged, (D, D), (D, H), False),
        # Whole ops on int32 are the host's; on bools that were no int32, or with floats, not.
        (lambda: ints() + 1, (H, H), (H,), True),
        (lambda: tf.equal(ints(), 1), (H, H), (H,), True),
        (lambda: tf.range(3), (H, H, H), (H,), True),
        (lambda: tf.fill([2], 1), (H, H), (H,), True),
        # But for ops that a GPU does on int32, and those that keep a state.
        (lambda: tf.raw_ops.Bincount(arr=ints(), size=4, weights=[]), (D, H, D), (D,), False),
        (lambda: tf.random_uniform([2], 0, 9, tf.int32), (H, H, H), (D,), False),
        (lambda: tf.equal(floats(), 1.0), (D, D), (D,), False),
        (lambda: tf.logical_not(tf.constant([True])), (D,), (D,), False),
        (lambda: tf.cast(ints(), tf.float32), (D,), (D,), False),
        (lambda: tf.cast(floats(), tf.int32), (D,), (D,), False),
        # Text is on the host, numbers beside it are not.
        (lambda: tf.as_string(floats()), (D,), (H,), False),
        (lambda: tf.string_to_number(tf.constant(["1"])), (H,), (D,), False),
        # A variable is wherever it is.
        (lambda: tf.assign(tf.Variable([1.0]), [2.0]), (A, D), (D,), False),
        (lambda: tf.assign(tf.Variable([1], dtype=tf.int32), [2]), (A, D), (D,), False),
    ],
)
def test_memory(
    build: Callable[[], Any], inputs: tuple[str, ...], outputs: tuple[str, ...], on_host: bool
) -> None:
    assert memory_of(build().op, lambda _: False) == Memory(inputs, outputs, on_host)


def test_what_makes_nothing_is_no_work_of_the_hosts() -> None:
    assert memory_of(tf.no_op(), lambda _: False) == Memory((), (), False)


@pytest.mark.parametrize(("where", "on_host"), [("", False), ("a", False), ("ab", True)])
def test_a_truth_value_of_others_is_made_where_they_are(where: str, on_host: bool) -> None:
    a, b = (tf.placeholder(tf.bool, [], name=name) for name in "ab")
    many = tf.placeholder(tf.bool, [2], name="b")
    for op in (tf.logical_and(a, b).op, tf.equal(a, b).op):
        memory = memory_of(op, lambda t: t.op.name in where)
        assert memory == Memory(*((H, H), (H,), True) if on_host else ((D, D), (D,), False))
    assert not memory_of(tf.logical_and(a, many).op, lambda _: True).on_host  # several
