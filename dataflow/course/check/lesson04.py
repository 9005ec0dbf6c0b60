"""Checks of lesson 4: variables, their initialization, and who shares them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type, wrong
from dataflow.course.variants import drawn
from dataflow.graph.graph import Graph


def _is_variable(name: str, value: Any) -> None:
    expect_type(
        isinstance(value, tf.Variable), f"{name} is {type(value).__name__}, needed a tf.Variable"
    )


def _initialized(graph: Graph) -> Any:
    """A session of ``graph`` in which all of its variables have their initial value."""
    session = tf.Session(graph=graph)
    variables = graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
    session.run([v.initializer for v in variables])
    return session


@exercise(
    "m4 reads m3. Into which graph do new nodes go?",
    "Outside of the block, the default graph is another one than that of m3. Which block makes it "
    "the graph of the starter program?",
    "with graph.as_default(): and in it the sum of m3 and m3, assigned to m4.",
)
def ex1(m3: Any, m4: Any) -> str:
    """The starter program's last node."""
    expect_type(isinstance(m4, tf.Tensor), f"m4 is {type(m4).__name__}, needed a tensor")
    expect(m4.graph is m3.graph, "m4 is in another graph than m3, so no run can compute both")
    expect(m4.shape.as_list() == [4, 3], f"m4 has the shape {m4.shape}, needed (4, 3)")
    with _initialized(m3.graph) as session:
        # A try that made a placeholder of its own has left it in the graph.
        needed = session.needed(m3)
        holes = (op for op in m3.graph.get_operations() if op.type == "Placeholder")
        (fed,) = (op.outputs[0] for op in holes if op.name in needed)
        for scale in (1.0, -2.0):
            given = scale * np.arange(1.0, 9.0).reshape(4, 2)
            try:
                one, two = session.run([m3, m4], {fed: given})
            except tf.errors.InvalidArgumentError as e:
                wrong(f"a run of m4 needs more than m3 needs: {e}")
            expect(
                np.allclose(two, 2 * one, atol=1e-5),
                f"where m3 begins with {one[0, 0]:.3f}, m4 begins with {two[0, 0]:.3f}, needed "
                f"{2 * one[0, 0]:.3f}",
            )
    return "Right: m4 is m3 added to itself, whatever is fed."


@exercise(
    "Run the initializer twice in your head: a gets other numbers. Where do those of b come from?",
    "If b draws random numbers itself, they are others. Its initial value must be computed "
    "from that of a.",
    "a.initialized_value() is a's value once it has one; use it in b's initial value.",
)
def ex2(a: Any, b: Any) -> str:
    """Two variables of which one begins with twice the other."""
    _is_variable("a", a)
    _is_variable("b", b)
    for name, variable in (("a", a), ("b", b)):
        expect(
            variable.shape.as_list() == [3], f"{name} has the shape {variable.shape}, needed (3,)"
        )
    with tf.Session(graph=a.graph) as session:
        try:
            session.run(b.initializer)
        except tf.errors.FailedPreconditionError:
            expect(False, "b reads a, and nothing sees to it that a has a value by then")
    with a.graph.as_default():
        init = tf.variables_initializer([b, a])
    begun = []
    for _ in range(3):
        with tf.Session(graph=a.graph) as session:
            session.run(init)
            begun.append(session.run([a, b]))
    expect(
        any(not np.array_equal(begun[0][0], x) for x, _ in begun[1:]),
        "a begins with the same numbers each time; make them random, without a seed",
    )
    x, y = next(((x, y) for x, y in begun if not np.allclose(y, 2 * x)), begun[0])
    expect(np.allclose(y, 2 * x), f"a begins with {x}, and b with {y}, which is not twice a")
    return f"Right: {x} and {y}, and the like each time."


@exercise(
    "A ticket needs something that remembers how many were printed.",
    "Only a variable outlives a run. An operation that adds to it also returns its new value.",
    lambda v: (
        "assign_add returns the new value. With which number must the variable begin, so that the first "
        f"new value is {v.first}?"
    ),
)
def ex3(ticket: Any) -> str:
    """Ticket numbers from a given one on."""
    first = drawn("lesson04.ex3").first
    expect_type(
        isinstance(ticket, (tf.Tensor, tf.Operation, tf.Variable)),
        f"ticket is {type(ticket).__name__}, needed a node that a session can run",
    )
    with _initialized(ticket.graph) as session:
        numbers = [session.run(ticket) for _ in range(4)]
    expect(all(n is not None for n in numbers), "a run of ticket returns nothing")
    expect(
        np.ndim(numbers[0]) == 0,
        f"a run of ticket returns {numbers[0]}, needed one number without an axis",
    )
    told = ", ".join(str(n) for n in numbers)
    expect(len({int(n) for n in numbers}) > 1, f"every run prints the same ticket: {told}")
    expect(
        [int(n) for n in numbers] == list(range(first, first + 4)),
        f"the tickets are {told}; the first must be {first}, and each one more",
    )
    with _initialized(ticket.graph) as session:
        again = int(session.run(ticket))
    expect(again == first, f"a new session begins with ticket {again}, needed {first}")
    return f"Right: {told}, and a new session begins with {first} again."


@exercise(
    "How many variables are there after two calls? tf.Variable makes a new one each time.",
    "tf.Variable makes a new variable each time. Which function finds one again by its name, "
    "and what must its scope allow?",
    "tf.get_variable inside tf.variable_scope(name, reuse=tf.AUTO_REUSE) finds it again.",
)
def ex4(layer: Callable[[Any], Any]) -> str:
    """A function whose calls share one weight."""
    with tf.Graph().as_default() as graph:
        try:
            first = layer(tf.constant(3.0))
        except ValueError as e:
            outside = "another graph" in str(e)
            expect(
                not outside,
                "the weight was made outside of layer, in another graph than the one in which layer is "
                "called now: let layer make it, or find it by its name",
            )
            raise
        expect_type(
            isinstance(first, tf.Tensor), f"layer returned {type(first).__name__}, needed a tensor"
        )
        second = layer(tf.constant([1.0, -4.0]))
        variables = graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
        expect(variables, "there is no variable in the graph: the weight cannot be trained")
        expect(
            len(variables) == 1,
            f"two calls made {len(variables)} variables ({', '.join(v.op.name for v in variables)}); "
            "they do not share",
        )
        with _initialized(graph) as session:
            before = session.run([first, second])
            expect(
                np.allclose(before[0], 6.0) and np.allclose(before[1], [2.0, -8.0]),
                f"with the initial weight it gives {before[0]} for 3 and {before[1]} for [1, -4]; "
                "needed 6 and [2, -8]",
            )
            session.run(variables[0].assign(10.0))
            after = session.run([first, second])
        expect(
            np.allclose(after[0], 30.0) and np.allclose(after[1], [10.0, -40.0]),
            "after the weight was set to 10, not both calls use it",
        )
    return f"Right: one variable, {variables[0].op.name}, for both calls."


@exercise(
    "What comes back by itself when it goes on and on?",
    "The remainder of a division comes back; so does a row of numbers that is shifted in a circle.",
    lambda v: (
        f"state = tf.Variable(0); tick = state.assign((state + 1) % {v.hours}). Find one of your own."
    ),
)
def ex5(state: Any, tick: Any) -> str:
    """Any machine with a given period."""
    hours = drawn("lesson04.ex5").hours
    expect_type(isinstance(state, tf.Variable), f"state is {type(state).__name__}, not a variable")
    expect_type(isinstance(tick, tf.Tensor | tf.Operation), "tick is not an operation")
    with tf.Session(graph=state.graph) as session:
        session.run(state.initializer)
        seen = [np.copy(session.run(state))]
        for _ in range(3 * hours):
            session.run(tick)
            seen.append(np.copy(session.run(state)))
    for i, value in enumerate(seen):
        first = next(j for j, other in enumerate(seen) if np.array_equal(other, value))
        expect(
            first == i or i >= hours,
            f"tick {i} leaves {value} in state, as tick {first} did: too soon",
        )
        expect(
            first == i % hours,
            f"tick {i} leaves {value} in state, needed {seen[i % hours]}, as {hours} ticks before",
        )
    return f"Right: {hours} different states, and the next one is the first."
