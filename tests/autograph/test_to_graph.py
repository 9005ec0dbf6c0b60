"""`tf.autograph.to_graph`: branches and loops of Python on tensors."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.autograph import loops
from tests.autograph import language
from tests.autograph.programs import PROGRAMS, helper


def run(function: Any, *args: Any, dtype: Any = tf.int32) -> Any:
    """What the converted function gives for placeholders that are fed ``args``."""
    with tf.Graph().as_default(), tf.Session() as sess:
        given = [tf.placeholder(dtype, np.shape(a)) for a in args]
        result = tf.autograph.to_graph(function)(*given)
        return sess.run(result, dict(zip(given, args, strict=True)))


@pytest.mark.parametrize(("function", "args"), [*PROGRAMS, *language.PROGRAMS])
def test_tensors_give_what_numbers_give(function: Any, args: tuple[int, ...]) -> None:
    with tf.Graph().as_default():
        expected = function(*args)
    assert run(function, *args) == expected
    made = tf.autograph.to_graph(function)(*args)  # Python's own on Python's numbers
    with tf.Session() as sess:
        assert (sess.run(made) if isinstance(made, tf.Tensor) else made) == expected


def test_a_loop_over_a_tensor() -> None:
    def largest(rows):
        best = tf.reduce_sum(rows[0])
        for row in rows:
            total = tf.reduce_sum(row)
            if total > best:
                best = total
            if best > 100.0:
                break
        return best, tf.constant(len(rows))

    rows = np.array([[1.0, 2.0], [5.0, 1.0], [0.0, 3.0]], np.float32)
    assert run(largest, rows, dtype=tf.float32) == (6.0, 3)
    rows[1] = 70.0, 70.0
    assert run(largest, rows, dtype=tf.float32)[0] == 140.0


def test_a_range_of_tensors_and_its_length_at_run_time() -> None:
    def powers(x):
        values = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(1, len(x) * 2, 2):
            values = values.write(values.size(), i * x[0])
        return values.stack()

    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.int32, [None])
        result = tf.autograph.to_graph(powers)(x)
        assert sess.run(result, {x: [3, 0, 0]}).tolist() == [3, 9, 15]


def test_the_gradient_of_a_loop() -> None:
    def power(x, n):
        result = x
        for _ in tf.range(n - 1):
            result = result * x
        return result

    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(2.0)
        y = tf.autograph.to_graph(power)(x, tf.constant(3))
        assert sess.run([y, tf.gradients(y, x)[0]]) == [8.0, 12.0]


class Counter:
    """A class with state, private names and a base."""

    def __init__(self) -> None:
        self.total = 0
        self.__step = 2

    def add(self, x: Any, times: int = 1) -> Any:
        if x > 3:
            self.total = self.total + x * self.__step
        return self.total * times


class LoudCounter(Counter):
    def add(self, x: Any, times: int = 2) -> Any:
        value = super().add(x, times)
        return value + 1 if x > 3 else value


def test_methods_keep_their_object_its_attributes_and_defaults() -> None:
    assert run(LoudCounter().add, 5) == 21
    assert run(LoudCounter().add, 1) == 0
    assert LoudCounter().add(5) == 21


def test_a_variable_without_a_value_is_named() -> None:
    def branch(x):
        if x > 0:
            y = x
        return y

    def loop(x):
        while x > 0:
            y = x
            x -= 1
        return y

    def returns(x):
        while x > 0:
            if x > 5:
                return x
            x -= 1
        return x

    with pytest.raises(ValueError, match="'y' must also be initialized in the else branch"):
        run(branch, 1)
    with pytest.raises(ValueError, match="'y' must also be initialized before the loop"):
        run(loop, 1)
    with pytest.raises(NotImplementedError, match="return statements are not supported"):
        run(returns, 1)
    with pytest.raises(UnboundLocalError, match="'y' is used before it has a value"):
        tf.autograph.to_graph(branch)(-1)


def test_what_changes_its_kind_is_refused() -> None:
    def dtype(x):
        s = 0
        while x > 0:
            s = s + 0.5 * tf.cast(x, tf.float32)
            x -= 1
        return s

    def appends(x):
        found = []
        for i in tf.range(x):
            found.append(i)
        return found

    def none(x):
        y = None
        if x > 0:
            y = x
        return y

    with pytest.raises(TypeError, match=r"'s' is int32 before the loop and float32|int32"):
        run(dtype, 3)
    with pytest.raises(NotImplementedError, match=r"list changes within the loop.*TensorArray"):
        run(appends, 3)
    with pytest.raises(TypeError, match=r"'y' has incompatible values in the two branches.*None"):
        run(none, 3)


def test_an_assert_and_an_assignment_in_a_branch_run_with_the_result() -> None:
    def checked(x):
        assert x < 10, "too large"
        return x + 1

    def counted(x, v):
        if x > 0:
            v.assign_add(x)
        return x

    assert run(checked, 3) == 4
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        run(checked, 30)
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(1)
        x = tf.placeholder(tf.int32, [])
        result = tf.autograph.to_graph(counted)(x, v)
        sess.run(v.initializer)
        for value in (4, -7):
            sess.run(result, {x: value})
        assert sess.run(v) == 5


def test_an_error_shows_the_users_line() -> None:
    def wrong(x):
        if x > 0:
            x = x + tf.ones([2, 3]) @ tf.ones([2, 3])  # this line
        return x

    with pytest.raises(ValueError) as caught:
        run(wrong, 1.0, dtype=tf.float32)
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__]
    assert "# this line" in (frames[-1].line or "")


def test_what_is_not_converted() -> None:
    @tf.autograph.experimental.do_not_convert
    def alone(x):
        return 1 if x is not None and isinstance(x, tf.Tensor) else 0

    assert tf.autograph.to_graph(alone) is alone
    assert run(lambda x: x + alone(x), 1) == 2
    with pytest.raises(TypeError, match="no truth value"), tf.Graph().as_default():
        tf.autograph.to_graph(lambda x: helper(x), recursive=False)(tf.constant(1))
    with pytest.raises(NotImplementedError, match="classes are not rewritten"):
        tf.autograph.to_graph(Counter)
    names: dict[str, Any] = {}
    exec("def nowhere(x):\n    return x", names)
    with pytest.raises(NotImplementedError, match="source of nowhere"):
        tf.autograph.to_graph(names["nowhere"])


def test_a_loop_with_options() -> None:
    def grow(x):
        while tf.shape(x)[0] < 5:
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))], parallel_iterations=2
            )
            x = tf.concat([x, x[:1]], 0)
        return x

    assert run(grow, [7, 8]).tolist() == [7, 8, 7, 7, 7]


def test_the_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = tf.autograph.to_code(helper, indentation="\t")
    assert code.startswith("def helper(x):\n\t") and "ag__.if_stmt(x > 2, " in code
    tf.autograph.trace("traced", 3)
    assert capsys.readouterr().out == "traced 3\n"
    assert tf.autograph.experimental.Feature.LISTS.value == "LISTS"


def test_tf_function_converts() -> None:
    @tf.function
    def halved(x):
        while x > 3:
            x //= 2
        return x

    @tf.function(autograph=False)
    def plain(x):
        return x if x > 0 else -x

    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(halved(tf.constant(40))) == 2
        with pytest.raises(TypeError, match="no truth value"):
            plain(tf.constant(1))


def test_functions_of_datasets_are_converted() -> None:
    def halve(x):
        while x > 3:
            x //= 2
        return x if x > 2 else -x

    with tf.Graph().as_default(), tf.Session() as sess:
        dataset = tf.data.Dataset.range(20, 24).map(halve)
        dataset = dataset.concatenate(tf.data.Dataset.range(5))
        dataset = dataset.filter(lambda x: x < 0 or x > 3)
        item = dataset.make_one_shot_iterator().get_next()
        assert [sess.run(item) for _ in range(5)] == [-2, -2, -2, -2, 4]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(item)


def test_the_call_of_a_users_layer_is_converted() -> None:
    class Signed(tf.keras.layers.Layer):
        def call(self, inputs):
            if tf.reduce_sum(inputs) > 0.0:
                return inputs
            return -inputs

    class Twice(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.signed = Signed()

        def call(self, inputs, training=None):
            for _ in tf.range(1):
                inputs = self.signed(inputs) * 2.0
            return inputs

    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(Twice()(tf.constant([[-1.0, -2.0]]))).tolist() == [[2.0, 4.0]]


def test_a_loop_that_python_runs_forever_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(loops, "_MANY_ROUNDS", 20)
    monkeypatch.setattr(tf.logging, "warning", lambda text, *args: told.append(text % args))

    def count_down(x):
        rounds = 0
        while x != 0 and rounds < 30:  # whether they are one object, which they are not
            x -= 1
            rounds += 1
        return x

    assert run(count_down, 3) == -27
    assert len(told) == 1 and "write tf.equal" in told[0]


def test_len_of_a_tensor_array_and_int_of_a_base() -> None:
    def count(n):
        values = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(n):
            values = values.write(i, i)
        return len(values)

    n = tf.placeholder(tf.int32, [])
    counted = tf.autograph.to_graph(count)(n)
    text = tf.autograph.to_graph(lambda t: int(t, 10))(tf.constant("12"))
    with tf.Session() as session:
        assert session.run(counted, {n: 5}) == 5
        assert session.run(text) == 12
    with pytest.raises(NotImplementedError, match="base 10 only"):
        tf.autograph.to_graph(lambda t: int(t, 2))(tf.constant("12"))
