"""Checks of lesson 3: placeholders, feeds, functions as graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_tensor, expect_type, wrong
from dataflow.course.variants import drawn


def _is_hole(name: str, value: Any) -> None:
    expect_tensor(name, value)
    expect(
        value.op.type in ("Placeholder", "PlaceholderWithDefault"),
        f"{name} is made by {value.op.type}, needed a placeholder",
    )


@exercise(
    "tf.placeholder(tf.float32), with no shape at all, takes every shape.",
    "One placeholder, and a formula on it. The formula is the same for a number and for a list.",
    "fahrenheit is built from celsius with *, / and +, as you would write it for a number.",
)
def ex1(celsius: Any, fahrenheit: Any) -> str:
    """Celsius to Fahrenheit, for a number and for lists."""
    _is_hole("celsius", celsius)
    expect_tensor("fahrenheit", fahrenheit)
    with tf.Session(graph=celsius.graph) as session:
        for value in (100.0, [0.0, -40.0, 37.0], [12.5]):
            try:
                got = session.run(fahrenheit, {celsius: value})
            except ValueError as e:
                wrong(f"it does not take {value}: {e}")
            except tf.errors.InvalidArgumentError as e:
                wrong(f"a run of fahrenheit needs more than celsius: {e}")
            needed = np.asarray(value) * 1.8 + 32
            expect(
                np.shape(got) == needed.shape and np.allclose(got, needed, rtol=1e-4),
                f"for {value} it gives {np.asarray(got).tolist()}, needed "
                f"{needed.round(2).tolist()}",
            )
    return "Right: 100 gives 212, -40 stays -40, and a list works as well as a number."


@exercise(
    "The first length is not known, the second is: [None, ...].",
    lambda v: (
        f"The shape has two axes: rows, open, and columns, {v.columns}. The mean is taken along one of "
        "them, which leaves one number a row."
    ),
    "tf.reduce_mean has an axis=; axis 0 goes down the columns, axis 1 along the rows.",
)
def ex2(table: Any, means: Any) -> str:
    """The mean of each row of a table."""
    num = drawn("lesson03.ex2").columns
    _is_hole("table", table)
    expect_tensor("means", means)
    shape = table.shape
    expect(shape.ndims == 2, f"the shape of table is {shape}, needed two axes")
    lengths = shape.as_list()
    expect(lengths[0] is None, f"table takes {lengths[0]} rows only, needed any number")
    expect(lengths[1] == num, f"table has {lengths[1]} columns, needed exactly {num}")
    numbers = np.arange(5.0 * num).reshape(5, num) ** 2
    with tf.Session(graph=table.graph) as session:
        for rows in (numbers, numbers[:1]):
            got = session.run(means, {table: rows})
            needed = rows.mean(axis=1)
            expect(
                np.shape(got) == needed.shape,
                f"for {len(rows)} rows of {num} the means have shape {np.shape(got)}, needed "
                f"{needed.shape}",
            )
            expect(
                np.allclose(got, needed),
                f"for rows whose means are {needed.tolist()} it gives {np.asarray(got).tolist()}; "
                f"table holds {table.dtype.name}",
            )
    return f"Right: {table.shape} goes in, {means.shape} comes out."


@exercise(
    "How many nodes are there after the first call, and after the second?",
    "Building belongs before the function, running inside it. Which of your lines build?",
    "Before the function: a placeholder, its cube, a session. In the function: only session.run with "
    "a feed_dict.",
)
def ex3(cubes: Callable[[list[float]], Any]) -> str:
    """Cubes by the engine, from a graph that does not grow."""
    from dataflow.runtime.events import subscribe

    graph = tf.get_default_graph()
    runs: list[Any] = []
    stop = subscribe(runs.append)
    sizes = []
    try:
        for numbers in ([1.0, 2.0], [3.0], [-2.0, 0.5, 4.0]):
            got = cubes(list(numbers))
            needed = np.power(numbers, 3).tolist()
            expect_type(
                isinstance(got, (list, tuple, np.ndarray)),
                f"cubes({numbers}) returned {got}, needed {needed}",
            )
            values = np.asarray(got)
            expect(
                values.shape == (len(needed),) and np.allclose(values, needed),
                f"cubes({numbers}) returned {values.tolist()}, needed {needed}",
            )
            graphs = {id(run.graph): run.graph for run in runs} or {id(graph): graph}
            sizes.append((len(graphs), sum(len(g.get_operations()) for g in graphs.values())))
    finally:
        stop()
    expect(runs, "the cubes are right, but no session ran: let the engine compute them")
    expect(
        len(set(sizes)) == 1,
        f"the cubes are right, but the graph grew: {' then '.join(str(n) for _, n in sizes)} nodes",
    )
    return f"Right: three calls, and still {sizes[0][1]} nodes."


@exercise(
    "One placeholder is plain, the other has a default.",
    "What must be fed has no value of its own. What may be left out needs one: there is a "
    "placeholder for that.",
    lambda v: f"tf.placeholder_with_default({v.default}.0, []) is the gain.",
)
def ex4(signal: Any, gain: Any, scaled: Any) -> str:
    """A gain with a default."""
    usual = drawn("lesson03.ex4").default
    _is_hole("signal", signal)
    expect_tensor("gain", gain)
    expect_tensor("scaled", scaled)
    expect(gain.shape.is_compatible_with([]), f"gain has the shape {gain.shape}, needed one number")
    # Of the shape that the learner chose, as the exercise asks for none.
    lengths = signal.shape.as_list() if signal.shape.ndims else []
    threes = np.full([2 if length is None else length for length in lengths], 3.0)
    with tf.Session(graph=signal.graph) as session:
        try:
            plain = session.run(scaled, {signal: threes})
        except tf.errors.InvalidArgumentError:
            expect(False, "with the signal alone the run fails: gain has no value of its own")
        expect(
            np.shape(plain) == threes.shape and np.all(plain == 3.0 * usual),
            f"with the signal {threes.tolist()} alone it gives {plain}, needed {3 * usual}",
        )
        louder = session.run(scaled, {signal: -threes, gain: 4.0})
        expect(
            np.shape(louder) == threes.shape and np.allclose(louder, -12.0),
            f"with the signal {(-threes).tolist()} and the gain 4 it gives {louder}, needed -12",
        )
        try:
            session.run(scaled, {gain: 2.0})
        except tf.errors.InvalidArgumentError:
            return f"Right: 3 alone gives {3 * usual}, -3 with a gain of 4 is -12, and the signal must be fed."
    expect(False, "without a signal the run should fail, but it returned a value")
    return ""


@exercise(
    "Think of something that you can do twice, and it is as if you had done nothing.",
    "A mirror does it: twice reflected is where you were. Around which number do you reflect?",
    "y = 10.0 - x: twice gives 10 - (10 - x), which is x. Find another one.",
)
def ex5(x: Any, y: Any) -> str:
    """Any graph that is its own inverse, and not the identity."""
    _is_hole("x", x)
    expect_tensor("y", y)
    expect(x.dtype.is_floating, f"x holds {x.dtype.name}, needed numbers such as 0.5: tf.float32")
    expect(
        x.shape.ndims is None,
        f"x takes the shape {x.shape} only, needed a placeholder of any shape",
    )
    rng = np.random.default_rng(0)
    moved = False
    with tf.Session(graph=x.graph) as session:
        for shape in ((), (4,), (2, 3)):
            value = rng.normal(size=shape).astype(np.float32) * 3 + 0.1
            once = session.run(y, {x: value})
            expect(once.shape == shape, f"for shape {shape} it gives shape {once.shape}")
            twice = session.run(y, {x: once})
            expect(
                np.allclose(twice, value, rtol=1e-3, atol=1e-3),
                f"{value.tolist()} became {np.asarray(once).tolist()}, and that became {twice.tolist()}",
            )
            moved = moved or not np.allclose(once, value)
    expect(moved, "it gives back what went in at once; it has to do something first")
    return "Right: for numbers, rows and tables, twice is as if nothing had been done."
