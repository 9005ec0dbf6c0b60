"""Answers that are right though unusual pass, and wrong ones are told what is wrong, also where they never end."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dataflow.compat.v1 as tf
from dataflow.course import attempts, exercise as exercises
from dataflow.course.check import (
    lesson00,
    lesson02,
    lesson07,
    lesson15,
    lesson17,
    lesson18,
    lesson19,
    lesson20,
    lesson23,
)
from dataflow.course.exercise import WrongAnswer, exercise, expect_number, expect_whole


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    attempts.forget()
    yield
    attempts.forget()


@pytest.fixture
def session() -> Iterator[tf.Session]:
    """Lesson 2's graph."""
    with tf.Graph().as_default() as graph:
        x, y = tf.constant(2, name="x"), tf.constant(3, name="y")
        add_op, mul_op = tf.add(x, y, name="add_op"), tf.multiply(x, y, name="mul_op")
        tf.multiply(x, add_op, name="useless")
        tf.pow(add_op, mul_op, name="pow_op")
        with tf.Session(graph=graph) as made:
            yield made


def test_what_is_one_whole_number() -> None:
    for value in (71, 71.0, np.int64(71), np.float32(71), np.array(71), Fraction(142, 2)):
        assert expect_whole("it", value) == 71
    for other in (None, "71", 70.5, True, [71], math.nan, math.inf, 71j, tf.constant(71)):
        with pytest.raises(WrongAnswer, match="needed a whole number"):
            expect_whole("it", other)
    assert expect_number("it", 10**400) == math.inf, "larger than any float"


def test_whole_numbers_may_be_floats() -> None:
    assert lesson00.ex1(2410.0) and lesson00.ex1(np.array(2410))
    assert lesson15.ex3(71.0)
    assert lesson18.ex4(3.0)
    assert lesson20.ex2(np.array(632)) and lesson20.ex2(Fraction(1264, 2))


def test_lesson_2_takes_any_set_and_says_that_no_run_gave_the_values(session: tf.Session) -> None:
    names = ["x", "y", "add_op"]
    assert lesson02.ex1(session, dict.fromkeys(names).keys())
    assert lesson02.ex1(session, np.array(names))
    assert "no run computed mul_op" in lesson02.ex3(session, lambda session: [6, 15625]).words


def border(key: str, at: float) -> Any:
    column = tf.feature_column
    return column.bucketized_column(column.numeric_column(key), [at])


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["PetalWidth", "PetalLength"], "columns has a str, needed feature columns"),
        (
            [border("petalwidth", 0.8), border("PetalLength", 5)],
            "the columns read petalwidth and PetalLength",
        ),
        (
            [border("PetalWidth", 0.8), border("PetalWidth", 0.8)],
            "the columns read PetalWidth and PetalWidth",
        ),
    ],
)
def test_lesson_7_names_what_columns_read(columns: Any, told: str) -> None:
    assert told in lesson07.ex1(columns).words


def test_lesson_7_says_what_it_needs_of_each_flower() -> None:
    def species(flowers: Any) -> list[int]:
        rows = zip(flowers.PetalLength, flowers.PetalWidth, strict=True)
        return [0 if length < 2.5 else 1 if width < 1.7 else 2 for length, width in rows]

    assert lesson07.ex5(lambda flowers: iter(species(flowers)))
    words = lesson07.ex5(lambda flowers: ["Setosa"] * len(flowers)).words
    assert "needed the number of its species: 0, 1 or 2" in words
    words = lesson07.ex5(lambda flowers: 0).words
    assert "needed a number for each of them" in words


def by_einsum(x: Any) -> Any:
    with tf.device("/gpu:0"):
        middle = tf.nn.relu(tf.einsum("ij,jk->ik", x, x))
        return tf.einsum("ij,jk->ik", middle, middle)


def test_lesson_15_takes_any_matrix_product() -> None:
    assert lesson15.ex1(by_einsum)

    def by_hand(x: Any) -> Any:
        def square(m: Any) -> Any:
            return tf.reduce_sum(m[:, :, None] * m[None], 1)

        return square(tf.nn.relu(square(x)))

    assert "no matrix product as a node" in lesson15.ex1(by_hand).words


def test_lesson_17_says_whose_error_it_is() -> None:
    made_up = tf.errors.InvalidArgumentError(None, None, "task:7")
    assert "nothing has raised this error" in lesson17.ex3(made_up).words
    with tf.Graph().as_default(), tf.device("/job:worker/task:7"):
        lost = tf.constant(1.0)
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(lost)
    assert "needed that of tf.Session(cluster.target)" in lesson17.ex3(caught.value).words
    assert "the loss is 'a', needed a number" in lesson17.ex2(("a", 300)).words


def test_lesson_18_asks_for_the_smallest_number() -> None:
    assert "fewer are enough" in lesson18.ex4(100).words
    for rate in (0, -0.1, math.nan, math.inf):
        assert "goes nowhere" in lesson18.ex3(rate).words


def test_lesson_19_takes_tasks_as_whole_numbers_in_any_sequence() -> None:
    def divide(sizes: list[int], num_tasks: int) -> Any:
        before = np.cumsum([0, *sizes[:-1]]) / (sum(sizes) / num_tasks)
        return np.minimum(before.astype(int), num_tasks - 1)

    assert lesson19.ex5(divide)
    assert lesson19.ex5(lambda sizes, num_tasks: tuple(divide(sizes, num_tasks)))
    assert "whole numbers" in lesson19.ex5(lambda sizes, num_tasks: [0.5] * len(sizes)).words
    told = lesson19.ex3(lambda seconds, num_workers: [0] * num_workers).words
    assert "what finished_at returned is [0, 0], needed a number" in told


def test_lesson_23_takes_an_array_of_arrays_and_whole_bytes() -> None:
    def all_gather(worker: Any, mine: Any) -> Any:
        rank, num = worker.rank, worker.num
        found = np.zeros((num, *mine.shape))
        found[rank] = mine
        for step in range(num - 1):
            worker.send((rank + 1) % num, found[(rank - step) % num])
            found[(rank - step - 1) % num] = worker.receive((rank - 1) % num)
        return found

    assert lesson23.ex1(all_gather)
    told = lesson23.ex1(lambda worker, mine: print(end="")).words
    assert "returns NoneType, needed a list of 2" in told

    def even_size(num: int, bandwidth: float, latency: float) -> int:
        rounds = math.log2(num)
        slower = latency * (num - 1 - rounds)
        return math.ceil(slower * bandwidth / (rounds - (num - 1) / num))

    assert lesson23.ex2(even_size)
    told = lesson23.ex3(lambda worker, array: worker.send(1.5, array)).words
    assert "sends to 1.5; there are 0 to 1" in told


#: Threads that wait for it go on waiting: nobody can stop them from outside.
ended = threading.Event()


def forever(*given: Any) -> Any:
    while True:
        pass


def too_far(folder: str, last_step: int) -> int:
    """Counts before it looks, so a second call to the same step never meets it."""
    num_runs = 0
    with tf.Graph().as_default():
        count = tf.train.get_or_create_global_step().assign_add(1)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, log_step_count_steps=None
        ) as session:
            while session.run(count) != last_step:
                num_runs += 1
    return num_runs + 1


@pytest.mark.threads
@pytest.mark.parametrize(
    ("module", "check", "answer"),
    [
        (lesson07, lambda a: lesson07.ex3(a, None), forever),
        (lesson19, lesson19.ex3, forever),
        (lesson20, lesson20.ex1, too_far),
        (lesson20, lesson20.ex4, forever),
        (lesson23, lesson23.ex3, lambda worker, array: ended.wait()),
    ],
)
def test_what_never_ends_is_told_so(
    module: Any, check: Callable[[Any], Any], answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    ended.clear()

    def soon(seconds: float) -> Any:
        asked.append(seconds)
        return exercises.limited(1)

    monkeypatch.setattr(module, "limited", soon)
    told = check(answer)
    assert told.state == "wrong" and "loop that never ends" in told.words
    assert told.hint and max(asked) < exercises.LIMIT_SECONDS
    ended.set()  # so that its threads go home


def test_every_check_ends_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    check = exercise("a", "b", "c")(lambda function: function())
    monkeypatch.setattr(exercises, "LIMIT_SECONDS", 0.2)
    scope: dict[str, Any] = {}
    exec(compile("def f():\n    while True:\n        pass\n", "<cell 3>", "exec"), scope)
    told = check(scope["f"])
    assert told.words.startswith("your answer had not come to an end when it was stopped (line ")
    assert told.hint == "a"

    def swallows() -> None:
        try:
            forever()
        except Exception:
            raise AssertionError("an answer may not hide it") from None

    assert "had not come to an end" in check(swallows).words


def test_stopping_the_kernel_ends_a_check_with_a_sentence() -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    told = exercise("a", "b", "c")(lambda function: function())(stopped)
    assert told.state == "wrong" and "when it was stopped" in told.words
