"""Checks of lesson 13: control flow and queues."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type, wrong
from dataflow.course.variants import drawn
from dataflow.graph.graph import Graph

_WAIT_MILLISECONDS = 300
_PATIENCE_MILLISECONDS = 20_000
#: A loop in a graph has some thirty nodes, whatever number of turns it takes.
_MOST_NODES = 1000


@exercise(
    "A gradient of 0 times infinity is no number. What must not be computed at all when x is 0?",
    "tf.where computes both of its values. tf.cond computes one, if both are made inside the "
    "functions.",
    "tf.cond(x > 0, lambda: ..., lambda: ...), with the root made inside the first lambda.",
)
def ex1(safe_root: Callable[[Any], Any]) -> str:
    """A square root with a gradient everywhere."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y = safe_root(x)
        expect_type(
            isinstance(y, tf.Tensor), f"safe_root returned {type(y).__name__}, needed a tensor"
        )
        (slope,) = tf.gradients(y, x)
        expect(slope is not None, "what it returns does not depend on x")
        with tf.Session() as session:
            for value in (4.0, 0.25, 0.0, -3.0):
                needed = math.sqrt(value) if value > 0 else 0.0
                got = float(session.run(y, {x: value}))
                expect(
                    abs(got - needed) < 1e-4, f"for {value:g} it gives {got:g}, needed {needed:g}"
                )
                needed = 0.5 / math.sqrt(value) if value > 0 else 0.0
                got = float(session.run(slope, {x: value}))
                expect(
                    abs(got - needed) < 1e-3,
                    f"the value for {value:g} is right, but its gradient is {got:g}, needed "
                    f"{needed:g}",
                )
    return "Right: for 4, 0.25, 0 and -3, the value and the gradient."


class _SmallGraph(Graph):
    """A graph that ends what would add nodes for ever, such as `while b != 0` in Python."""

    def make_op(self, *args: Any, **kwargs: Any) -> Any:
        expect(
            self.version < _MOST_NODES,
            f"it has built {_MOST_NODES:,} nodes and goes on: a loop of Python's that does not end, as it cannot "
            "look at the numbers. The loop has to be in the graph: tf.while_loop",
        )
        return super().make_op(*args, **kwargs)


@exercise(
    "The loop carries two numbers. The body returns the new pair, the condition looks at b.",
    "Three things: when to go on (b is not 0), what comes next (b and the remainder), and "
    "where to begin.",
    "tf.while_loop(lambda a, b: tf.not_equal(b, 0), lambda a, b: ..., [a, b])[0].",
)
def ex2(gcd: Callable[[Any, Any], Any]) -> str:
    """The greatest common divisor, as a loop."""
    with _SmallGraph().as_default():
        a, b = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
        found = gcd(a, b)
        expect_type(
            isinstance(found, tf.Tensor),
            f"gcd returned {type(found).__name__}, needed one tensor",
        )
        with tf.Session() as session:
            for m, n in ((12, 18), (18, 12), (17, 5), (7, 0), (0, 7), (10946, 6765), (2024, 748)):
                try:
                    got = session.run(
                        found,
                        {a: m, b: n},
                        options=tf.RunOptions(timeout_in_ms=_PATIENCE_MILLISECONDS),
                    )
                except tf.errors.DeadlineExceededError:
                    wrong(f"the loop does not end for {m} and {n}")
                expect(
                    got == math.gcd(m, n), f"of {m} and {n} it gives {got}, needed {math.gcd(m, n)}"
                )
    return "Right: seven pairs, the longest with 19 turns of the loop."


@exercise(
    "The queue tells its end by an exception. Which one?",
    "A loop without an end, left by the exception: what was taken until then is the answer.",
    "while True: try to append sess.run(get); except tf.errors.OutOfRangeError: return the list.",
)
def ex3(drain: Callable[[Any, Any], Any]) -> str:
    """All that is left in a closed queue."""
    for values in ([3.0, 1.0, 4.0, 1.0, 5.0], [], [2.0]):
        with tf.Graph().as_default():
            queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
            item = tf.placeholder(tf.float32, [])
            put, get, close = queue.enqueue(item), queue.dequeue(), queue.close()
            config = tf.ConfigProto(operation_timeout_in_ms=_PATIENCE_MILLISECONDS)
            with tf.Session(config=config) as session:
                for value in values:
                    session.run(put, {item: value})
                session.run(close)
                try:
                    got = drain(session, get)
                except tf.errors.OutOfRangeError:
                    wrong("the error that says that the queue is at its end is not caught")
        expect_type(isinstance(got, list), f"it returned {type(got).__name__}, needed a list")
        expect(
            [float(value) for value in got] == values,
            f"the queue held {values}, and it returned {[float(value) for value in got]}",
        )
    return "Right: for queues of five, none and one."


@exercise(
    "Something has to wait in enter. A run waits at a full queue, and at an empty one.",
    lambda v: (
        f"A queue with room for {v.num} is full with {v.num} cars. Which operation puts a car in, and "
        "which takes one out?"
    ),
    lambda v: (
        f"A queue with a capacity of {v.num}: enter enqueues, leave dequeues; open_it may be tf.no_op(). "
        f"(Or {v.num} tokens, and enter takes one.)"
    ),
)
def ex4(car_park: Callable[[], Any]) -> str:
    """At most so many at a time."""
    num = drawn("lesson13.ex4").num
    with tf.Graph().as_default():
        made = car_park()
        expect_type(
            isinstance(made, (tuple, list)) and len(made) == 3,
            "car_park returns three operations: open_it, enter, leave",
        )
        open_it, enter, leave = made
        with tf.Session() as session:
            variables = tf.global_variables()
            if variables:
                session.run(tf.variables_initializer(variables))

            def waits(op: Any) -> bool:
                options = tf.RunOptions(timeout_in_ms=_WAIT_MILLISECONDS)
                try:
                    session.run(op, options=options)
                except tf.errors.DeadlineExceededError:
                    return True
                return False

            expect(not waits(open_it), "open_it waits and does not come back")
            for car in range(1, num + 1):
                expect(not waits(enter), f"car {car} has to wait, though there are places")
            expect(waits(enter), f"one more car gets in while {num} are inside")
            expect(not waits(leave), "a car that wants to leave has to wait")
            expect(not waits(enter), "one has left, and still the next car has to wait")
            expect(waits(enter), "after one has left, two get in")
    return f"Right: {num} get in, the next one waits until one leaves."
