"""Assertions, printing, numeric checks and Python functions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.logging_ops import summarize_value

pytestmark = pytest.mark.usefixtures("graph")


# Recorded from tf.Print of tensorflow.compat.v1 2.15.
@pytest.mark.parametrize(
    "value, limit, text",
    [
        ([1, 2, 3, 4, 5], 3, "1 2 3..."),
        ([[1, 2, 3], [4, 5, 6]], 3, "[1 2 3]..."),
        ([[1, 2, 3], [4, 5, 6]], 2, "[1 2...]..."),
        ([[1, 2, 3], [4, 5, 6]], -1, "[1 2 3][4 5 6]"),
        ([True, False], 3, "1 0"),
        (3.14159, 3, "3.14159"),
        (np.float32(1e10), 3, "1e+10"),
        (np.float32(1 / 3), 3, "0.333333343"),
        (1 / 3, 3, "0.33333333333333331"),
        ([], 3, ""),
        (np.array([b"a", b"b"], object), 1, "a..."),
    ],
)
def test_values_are_written_as_tensorflow_writes_them(value: Any, limit: int, text: str) -> None:
    assert summarize_value(np.asarray(value), limit) == text


def test_print_writes_to_standard_error_and_passes_on(capsys: Any) -> None:
    x = tf.constant([1.5, 2.0])
    y = tf.Print(x, [x, tf.shape(x)], "x is ", first_n=2)
    with tf.Session() as session:
        for _ in range(3):
            np.testing.assert_array_equal(session.run(y), [1.5, 2.0])
    assert capsys.readouterr().err == "x is [1.5 2][2]\n" * 2


def test_print_of_structures(capsys: Any) -> None:
    t = tf.constant([[1, 2], [3, 4]])
    op = tf.print("t:", t, [t[0], "s", 3], {"b": t[1, 1], "a": None}, sep="|", end="!\n")
    out = tf.print(tf.range(10), output_stream=sys.stdout)
    with tf.Session() as session:
        session.run([op, out])
    captured = capsys.readouterr()
    assert captured.err == "t:|[[1 2]\n [3 4]]|[[1 2], 's', 3]|{'a': None, 'b': 4}!\n"
    assert captured.out == "[0 1 2 ... 7 8 9]\n"


def test_assert_stops_the_run_with_its_data() -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0), ["x:", x], summarize=2)]):
        y = x * 2.0
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(y, {x: [1.0]}), [2.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[x:\] \[1 -2\.\.\.\]"):
            session.run(y, {x: [1.0, -2.0, 3.0]})


@pytest.mark.parametrize(
    "name, good, bad",
    [
        ("assert_equal", (1, 1), (1, 2)),
        ("assert_none_equal", (1, 2), (1, 1)),
        ("assert_less", (1, 2), (2, 2)),
        ("assert_less_equal", (2, 2), (3, 2)),
        ("assert_greater", (3, 2), (2, 2)),
        ("assert_greater_equal", (2, 2), (1, 2)),
        ("assert_near", (1.0, 1.0 + 1e-7), (1.0, 1.1)),
        ("assert_positive", (1,), (0,)),
        ("assert_negative", (-1,), (0,)),
        ("assert_non_negative", (0,), (-1,)),
        ("assert_non_positive", (0,), (1,)),
    ],
)
def test_assert_functions(name: str, good: Any, bad: Any) -> None:
    function = getattr(tf, name)
    feeds = [tf.placeholder(tf.float32, [None]) for _ in good]
    op = function(*feeds, message="my message")
    with tf.Session() as session:
        session.run(op, {f: [v] for f, v in zip(feeds, good, strict=True)})
        with pytest.raises(tf.errors.InvalidArgumentError, match="my message"):
            session.run(op, {f: [v] for f, v in zip(feeds, bad, strict=True)})


def test_what_is_known_already_fails_while_building() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        tf.assert_less(tf.constant([3.0]), 2.0)
    with pytest.raises(ValueError, match="must have rank 2"):
        tf.assert_rank(tf.zeros([3]), 2)
    with pytest.raises(ValueError, match="at least 2"):
        tf.assert_rank_at_least(tf.zeros([3]), 2)
    tf.assert_rank_in(tf.zeros([3]), (1, 2))
    with pytest.raises(TypeError, match="integer"):
        tf.assert_integer(tf.zeros([3]))
    with pytest.raises(TypeError, match="must be of type"):
        tf.assert_type(tf.zeros([3]), tf.int32)
    with pytest.raises(ValueError, match="scalar"):
        tf.assert_scalar(tf.zeros([3]))
    with pytest.raises(TypeError, match="proper"):
        tf.assert_proper_iterable(tf.zeros([3]))


def test_rank_of_a_tensor_of_unknown_rank() -> None:
    x = tf.placeholder(tf.float32, None)
    op = tf.assert_rank(x, 1)
    with tf.Session() as session:
        session.run(op, {x: [1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank"):
            session.run(op, {x: 1.0})


def test_monotone() -> None:
    with tf.Session() as session:
        assert session.run(tf.is_non_decreasing([1, 1, 2]))
        assert not session.run(tf.is_strictly_increasing([1, 1, 2]))


@pytest.mark.parametrize(
    "value, found",
    [([np.nan], "NaN"), ([np.inf], "Inf"), ([np.inf, np.nan], "Inf and NaN")],
)
def test_check_numerics(value: Any, found: str) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"here : Tensor had {found}"):
            session.run(tf.check_numerics(x, "here"), {x: value})


def test_check_numerics_of_every_tensor() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.log(x, name="suspect")
    checks = tf.add_check_numerics_ops()
    with tf.Session() as session:
        session.run([y, checks], {x: [1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="suspect:0"):
            session.run([y, checks], {x: [0.0]})
    tf.cond(x[0] > 0, lambda: x, lambda: -x)
    with pytest.raises(ValueError, match="control flow"):
        tf.add_check_numerics_ops()


def test_py_func_gets_arrays_and_bytes() -> None:
    seen: list[Any] = []

    def note(a: Any, s: Any, n: Any) -> Any:
        seen.extend([type(a), s, n])
        return np.array([s.decode() + "!"]), n

    text, n = tf.py_func(note, [[1.0, 2.0], "hello", 3], [tf.string, tf.int32])
    with tf.Session() as session:
        assert session.run(text).tolist() == [b"hello!"]
        assert session.run(n) == 3
    assert seen[0] is np.ndarray
    assert seen[1:3] == [b"hello", 3]


@pytest.mark.parametrize(
    "error, expected",
    [
        (ValueError("v"), tf.errors.InvalidArgumentError),
        (TypeError("v"), tf.errors.InvalidArgumentError),
        (StopIteration("v"), tf.errors.OutOfRangeError),
        (MemoryError("v"), tf.errors.ResourceExhaustedError),
        (NotImplementedError("v"), tf.errors.UnimplementedError),
        (KeyError("v"), tf.errors.UnknownError),
    ],
)
def test_errors_of_py_func(error: Exception, expected: Any) -> None:
    def fail(_: Any) -> Any:
        raise error

    y = tf.py_func(fail, [1.0], tf.float32, name="mine")
    with tf.Session() as session, pytest.raises(expected, match="mine") as caught:
        session.run(y)
    assert type(error).__name__ in caught.value.message


def test_py_func_must_return_what_it_declared() -> None:
    wrong = tf.py_func(lambda x: np.float64(x), [1.0], tf.float32)
    many = tf.py_func(lambda x: (x, x), [1.0], [tf.float32])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="float64, but expects float32"):
            session.run(wrong)
        with pytest.raises(tf.errors.InvalidArgumentError, match="returns 2 values"):
            session.run(many)


def test_a_py_func_without_results() -> None:
    seen: list[Any] = []
    op = tf.py_func(lambda x: seen.append(float(x)), [2.0], [])
    with tf.Session() as session:
        session.run(op)
    assert seen == [2.0]


def test_the_function_may_keep_its_result() -> None:
    state = np.zeros(2, np.float32)

    def advance() -> Any:
        state[:] += 1
        return state

    y = tf.py_func(advance, [], tf.float32)
    with tf.Session() as session:
        first, second = session.run(y), session.run(y)
    np.testing.assert_array_equal(first, [1, 1])
    np.testing.assert_array_equal(second, [2, 2])


def test_braces_in_what_is_printed(capfd) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.print("{}", {"{}": tf.constant(1)}, output_stream=sys.stdout))
        assert capfd.readouterr().out == "{} {'{}': 1}\n"
        with pytest.raises(ValueError, match="Unknown output stream 'elsewhere'"):
            tf.print("x", output_stream="elsewhere")


def test_checks_that_need_no_run() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        assert tf.assert_equal(x, x).type == "NoOp"
        with pytest.raises(TypeError, match="whole number"):
            tf.assert_rank(x, 0.5)
        with pytest.raises(ValueError, match="one number or a vector"):
            tf.reduce_sum(tf.ones([2, 2]), [[0], [1]])
        with pytest.raises(ValueError, match="names an axis twice"):
            tf.einsum("a->aa", x)
        with pytest.raises(TypeError, match="must be a list"):
            tf.decode_csv(["1"], record_defaults=np.zeros(1))
        tf.NotDifferentiable("NobodysOp")
        unknown = tf.placeholder(tf.float32)
        crops = [[0, 0], [0, 0]]
        assert tf.batch_to_space(unknown, crops, block_size=2).shape.ndims == 4
        assert tf.space_to_batch(unknown, crops, block_size=2).shape.ndims == 4
