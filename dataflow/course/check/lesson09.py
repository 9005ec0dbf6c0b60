"""Checks of lesson 9: checkpoints and summaries."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_number, expect_type, wrong
from dataflow.course.variants import drawn


def _checkpoint(path: Path, values: dict[str, Any]) -> str:
    """Saves variables of these names and values."""
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in values.items():
            tf.get_variable(name, initializer=np.asarray(value, np.float32))
        session.run(tf.global_variables_initializer())
        return str(tf.train.Saver().save(session, str(path)))


#: What exercise 4 asks for, by the name of the scalar.
_CURVES: dict[str, Callable[[int], int]] = {
    "square": lambda i: i * i,
    "double": lambda i: i + i,
    "cube": lambda i: i**3,
    "opposite": lambda i: -i,
}


@exercise(
    "The names in the file and the names of your variables differ. How can a saver be told which is "
    "which?",
    "A saver can be given a dictionary: the name in the file on the left, your variable on "
    "the right.",
    "tf.train.Saver({'Variable': slope, 'Variable_1': offset}), with slope and offset made by "
    "tf.get_variable under these names.",
)
def ex1(read_line: Callable[[], Any]) -> str:
    """Restoring under other names."""
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        path = _checkpoint(Path(folder) / "other", {"Variable": -4.0, "Variable_1": 9.0})
        made = read_line()
        expect_type(
            isinstance(made, (tuple, list)) and len(made) == 3,
            f"read_line returned {type(made).__name__}, needed slope, offset, saver",
        )
        slope, offset, saver = made
        for name, variable in (("slope", slope), ("offset", offset)):
            expect_type(
                isinstance(variable, tf.Variable),
                f"{name} is {type(variable).__name__}, needed a variable",
            )
            expect(
                variable.op.name == name,
                f"the variable for the {name} is called {variable.op.name} in the graph",
            )
        expect(
            hasattr(saver, "restore"),
            f"the third is {type(saver).__name__}, needed a tf.train.Saver",
        )
        with tf.Session() as session:
            saver.restore(session, path)
            found = [float(x) for x in session.run([slope, offset])]
    expect(
        found != [9.0, -4.0],
        "slope and offset are exchanged: for a line of slope -4 and offset 9 they came back as 9 and -4",
    )
    expect(
        found == [-4.0, 9.0],
        f"of another line, slope -4 and offset 9, they came back as {found}",
    )
    return "Right: tried with another line, of slope -4 and offset 9."


@exercise(
    "tf.train.list_variables(path) gives names and shapes. How many elements has a shape?",
    "The largest of several by some measure: max with a key. The measure of a shape is the "
    "product of its lengths.",
    "The number of elements is the product of the shape, np.prod(shape), which is 1 for a single number.",
)
def ex2(largest: Callable[[str], Any]) -> str:
    """The largest variable of a checkpoint."""
    cases: list[dict[str, Any]] = [
        {"a/few": np.zeros(3), "b/many": np.zeros((4, 5)), "c/long": np.zeros(12)},
        {"tall": np.zeros((9, 1)), "one": 3.0},
        {"x": np.zeros((2, 2, 2, 2)), "y": np.zeros(15)},
    ]
    told = []
    with tempfile.TemporaryDirectory() as folder:
        for i, values in enumerate(cases):
            path = _checkpoint(Path(folder) / f"case{i}", values)
            with tf.Graph().as_default():
                found = largest(path)
            needed = max(values, key=lambda name: np.size(values[name]))
            shapes = {name: list(np.shape(value)) for name, value in values.items()}
            expect_type(
                isinstance(found, str),
                f"largest returned {type(found).__name__}, needed a name",
            )
            expect(
                found == needed,
                f"of a checkpoint with {shapes} it says {found!r}, which has "
                f"{np.size(values[found]) if found in values else 'no'} elements; {needed!r} has "
                f"{np.size(values[needed])}",
            )
            told.append(needed)
    return f"Right for three checkpoints: {', '.join(told)}."


@exercise(
    "Is there a checkpoint in the folder already? tf.train.latest_checkpoint says None if not.",
    "Two cases: the folder has a checkpoint, or it has none. After either of them the "
    "variable has a value, and the rest is the same.",
    "Restore if there is one, initialize if not; then run assign_add(1), save, and return the value.",
)
def ex3(count_up: Callable[[Any], Any]) -> str:
    """A counter kept in a checkpoint."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        counted = []
        for folder in (one, one, one, two, one):
            # Each call as in a new program: nothing is left of the graph of the call before.
            with tf.Graph().as_default():
                counted.append(int(expect_number("what count_up returned", count_up(folder))))
        kept = tf.train.latest_checkpoint(one)
    told = ", ".join(map(str, counted))
    expect(
        counted[:3] == [1, 2, 3],
        f"three calls for a new folder return {', '.join(map(str, counted[:3]))}; needed 1, 2, 3",
    )
    expect(counted[3] == 1, f"for another, empty folder it returned {counted[3]}, needed 1")
    expect(counted[4] == 4, f"back in the first folder it returned {counted[4]}, needed 4 ({told})")
    expect(kept is not None, "there is no checkpoint in the folder: it is kept somewhere else")
    return "Right: 1, 2, 3 in one folder, 1 in another, and 4 in the first again."


@exercise(
    "A summary is made by a run, and written with add_summary(summary, step).",
    "Build once: a placeholder and its summary. Then one run and one add_summary for each step.",
    lambda v: (
        f"tf.summary.scalar('{v.tag}', placeholder) once, then for each step: run it, add_summary(made, i); "
        "close the writer at the end."
    ),
)
def ex4(log: Callable[[Any, int], Any]) -> str:
    """A scalar written for TensorBoard."""
    tag = drawn("lesson09.ex4").tag
    with tempfile.TemporaryDirectory() as folder:
        with tf.Graph().as_default():
            log(folder, 7)
        files = sorted(Path(folder).rglob("*tfevents*"))
        expect(files, "there is no file of events in the folder")
        points: dict[str, list[tuple[int, float]]] = {}
        for file in files:
            for event in tf.train.summary_iterator(str(file)):
                for value in event.summary.value:
                    points.setdefault(value.tag, []).append((event.step, value.simple_value))
    expect(points, "the file holds no values: was the writer closed, and add_summary called?")
    expect(
        tag in points,
        f"there is no scalar {tag} in it, but {', '.join(sorted(points))}",
    )
    needed = [(i, float(_CURVES[tag](i))) for i in range(7)]
    expect(
        sorted(points[tag]) == needed,
        f"for 7 steps it holds the points {sorted(points[tag])}, needed {needed}",
    )
    return f"Right: seven points, from (0, 0) to (6, {needed[-1][1]:g})."


@exercise(
    "What is there to be kept: which values, and how do you find out which belongs where?",
    "A saver does all of it, if both functions use the same path. With NumPy, a name for each array is needed.",
    "In the graph of sess: tf.train.Saver().save(sess, os.path.join(folder, 'all')), and restore in put_back.",
)
def ex5(keep: Callable[[Any, str], Any], put_back: Callable[[Any, str], Any]) -> str:
    """Any way to keep the variables, as long as no bit is lost."""
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {
        "net/weights": rng.normal(size=(3, 2)).astype(np.float32),
        "net/bias": np.array([np.inf, -0.0, 1e-42], np.float32),
        "steps": np.int64(2**62 + 1),
        "done": np.array([True, False]),
    }
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        variables = [tf.Variable(np.zeros_like(v), name=k) for k, v in made.items()]
        with tf.Session() as first:
            for variable, value in zip(variables, made.values(), strict=True):
                variable.load(value, first)
            keep(first, folder)
            first.run(tf.global_variables_initializer())
        with tf.Session(graph=graph) as second:
            put_back(second, folder)
            for variable, (name, value) in zip(variables, made.items(), strict=True):
                try:
                    got = np.asarray(second.run(variable))
                except tf.errors.FailedPreconditionError:
                    wrong(f"put_back left {name} without a value")
                expect(
                    got.dtype == value.dtype and got.tobytes() == value.tobytes(),
                    f"{name} was {value.tolist()}, and came back as {got.tolist()}",
                )
    return "Right: four variables of three types, and every bit came back."
