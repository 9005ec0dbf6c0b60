"""The classes that errors of kernels become, and what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime import run_errors

pytestmark = pytest.mark.usefixtures("graph")


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Any:
    """What a run raises whose square root raises ``error``."""
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.lgamma(x, name="y")

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    from dataflow.runtime import plan

    monkeypatch.setattr(plan, "bind_node", lambda *_: fail)
    with tf.Session() as session, pytest.raises(tf.errors.OpError) as e:
        session.run(y, {x: [1.0, 2.0]})
    assert e.value.op is y.op
    assert "Lgamma 'y'" in e.value.message and "test_run_errors" in e.value.message
    assert "input 'x:0': float32, now of shape (2,)" in e.value.message
    return e.value


@pytest.mark.parametrize(
    ("error", "becomes", "text"),
    [
        (ValueError("wrong"), tf.errors.InvalidArgumentError, "wrong"),
        (TypeError("wrong"), tf.errors.InvalidArgumentError, "wrong"),
        (IndexError("beyond"), tf.errors.InvalidArgumentError, "beyond"),
        (ZeroDivisionError("by zero"), tf.errors.InvalidArgumentError, "by zero"),
        (np.linalg.LinAlgError("singular"), tf.errors.InvalidArgumentError, "singular"),
        (ImportError("no SciPy"), tf.errors.UnimplementedError, "no SciPy"),
        (NotImplementedError("not here"), tf.errors.UnimplementedError, "not here"),
        (MemoryError("9 GB"), tf.errors.ResourceExhaustedError, "out of memory: 9 GB"),
        (KeyError("a"), tf.errors.UnknownError, "KeyError: 'a'"),
        (RuntimeError("else"), tf.errors.UnknownError, "RuntimeError: else"),
        (tf.errors.DataLossError(None, None, "torn"), tf.errors.DataLossError, "torn"),
    ],
)
def test_what_errors_become(
    monkeypatch: pytest.MonkeyPatch, error: Exception, becomes: Any, text: str
) -> None:
    got = failing(monkeypatch, error)
    assert type(got) is becomes and text in got.message


def test_shapes_that_do_not_match_say_what_they_were() -> None:
    a = tf.placeholder(tf.float32, [None, None], name="a")
    b = tf.placeholder(tf.float32, [None, None], name="b")
    y = tf.matmul(a, b, name="y")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as e:
        session.run(y, {a: np.ones((2, 3)), b: np.ones((4, 5))})
    failed = e.value.failed_node
    assert failed is not None and [one.shape for one in failed.inputs] == ["[2, 3]", "[4, 5]"]


def test_an_error_about_something_else_shows_no_shapes() -> None:
    x = tf.placeholder(tf.int32, [])
    with tf.Session() as session, pytest.raises(tf.errors.OpError) as e:
        session.run(tf.gather([1, 2], x), {x: 7})
    assert e.value.failed_node is None or len(e.value.failed_node.inputs) == 2
    assert run_errors._OF_SHAPES.search("index 7") is None


def test_inputs_that_were_dropped_have_no_shape_and_variables_theirs() -> None:
    v = tf.Variable(tf.ones([2, 3]), name="v")
    x = tf.placeholder(tf.float32, [None, None], name="x")
    plain, changed = tf.matmul(x, v, name="plain"), tf.assign_add(v, x, name="changed")
    with tf.control_dependencies([tf.assign(v, tf.zeros([2, 3]))]):
        after = tf.matmul(x, v, name="after")
    with tf.Session() as session:
        session.run(v.initializer)
        for fetch in (plain, changed, after):
            with pytest.raises(tf.errors.InvalidArgumentError) as e:
                session.run(fetch, {x: np.ones((4, 5))})
            assert e.value.op is fetch.op
            assert "(2, 3)" in e.value.message and "(4, 5)" in e.value.message


def test_a_check_of_numbers_says_how_to_see_where_it_began() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    checked = tf.check_numerics(tf.log(x, name="made"), "of mine")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as e:
        session.run(checked, {x: [1.0, -1.0]})
    assert "of mine : Tensor had NaN values" in e.value.message
    assert "Stepper(sess, 'made:0', feed_dict)" in e.value.message


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("kind", ["local", "global"])
def test_an_uninitialized_variable_names_the_initializer_that_has_it(
    kind: str, use_resource: bool
) -> None:
    collections = [getattr(tf.GraphKeys, f"{kind.upper()}_VARIABLES")]
    v = tf.get_variable("a/v", [2], collections=collections, use_resource=use_resource)
    initializer = f"{kind}_variables_initializer"
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError) as e:
            session.run(v + 1.0)
        assert f"sess.run(tf.{initializer}())" in e.value.message
        session.run(getattr(tf, initializer)())
        session.run(v + 1.0)


@pytest.mark.parametrize("value", [np.float32(1.0), np.zeros(3), 2])
def test_a_fetched_value_is_told_from_a_node(value: Any) -> None:
    tf.constant(1.0)
    with tf.Session() as session:
        with pytest.raises(TypeError, match="must be a string or Tensor") as e:
            session.run([value])
        assert "`loss = sess.run(loss)`" in str(e.value)
        with pytest.raises(TypeError, match="has invalid type") as e:
            session.run([None])
        assert "sess.run(loss)" not in str(e.value)


@pytest.mark.parametrize(
    ("wrap", "place"),
    [
        (lambda t: None, "fetches is None"),
        (lambda t: [t, None], "fetches[1] is None"),
        (lambda t: {"a": t, "b": (t, [None])}, "fetches['b'][1][0] is None"),
    ],
)
def test_none_among_the_fetches_is_found(wrap: Any, place: str) -> None:
    with tf.Session() as session, pytest.raises(TypeError) as e:
        session.run(wrap(tf.constant(1.0)))
    assert str(e.value).startswith("Fetch argument None has invalid type <class 'NoneType'>\n")
    assert place in str(e.value) and "tf.gradients gives None" in str(e.value)


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ((4, 5), "axis 1 is 5 long and must be 3. Feed another value"),
        ((3, 4), "Transposed it would fit: value.T"),
        ((3,), "Did you forget the batch dimension"),
        ((1, 4, 3), "3 axes where 2 are needed: np.reshape(value, [-1, 3]) has them."),
        ((7, 2, 2), "3 axes where 2 are needed, and no shape of that kind holds its 28 numbers"),
        ((), "no shape of that kind holds its 1 numbers"),
        ((5,), "If these are the numbers of classes, np.eye(3)[value] makes a row of each."),
    ],
)
def test_a_wrong_shape_says_what_to_do(shape: tuple[int, ...], told: str) -> None:
    _feed_wrongly([None, 3], shape, told)


@pytest.mark.parametrize(
    ("dims", "shape", "told"),
    [
        ([None, 1], (4,), "The value has no last axis: value[..., np.newaxis] has one"),
        ([2, 3], (6,), "1 axis where 2 are needed: np.reshape(value, [2, 3]) has them."),
        ([2, 3], (12,), "no shape of that kind holds its 12 numbers"),
        ([None, 4, None], (8,), "no shape of that kind holds"),
        ([None, 784], (32, 28, 28), "np.reshape(value, [-1, 784]) has them."),
        ([], (1,), "1 axis where 0 are needed: np.reshape(value, []) has them."),
    ],
)
def test_what_is_advised_makes_the_shape_that_is_needed(
    dims: list[int | None], shape: tuple[int, ...], told: str
) -> None:
    _feed_wrongly(dims, shape, told)


def _feed_wrongly(dims: list[int | None], shape: tuple[int, ...], told: str) -> None:
    x = tf.placeholder(tf.float32, dims, name="x")
    with tf.Session() as session, pytest.raises(ValueError, match="Cannot feed value") as e:
        session.run(x + 1.0, {x: np.zeros(shape)})
    assert told in str(e.value) and "built at" in str(e.value)


def test_an_optimizers_variable_without_a_value_is_named_without_its_ten_inputs() -> None:
    weight = tf.Variable([1.0], name="weight")
    begin = tf.global_variables_initializer()
    step = tf.train.AdamOptimizer().minimize(tf.reduce_sum(weight * weight))
    with tf.Session() as session:
        session.run(begin)
        with pytest.raises(tf.errors.FailedPreconditionError, match="beta1_power") as e:
            session.run(step)
    assert "made after the last variable" in str(e.value)
    assert "\n  input" not in str(e.value) and "\n  built at" in str(e.value)


def test_a_session_that_has_ended_says_how_it_ended() -> None:
    a = tf.constant(1.0)
    with tf.Session() as session:
        pass
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session") as e:
        session.run(a)
    assert "`with` block" in str(e.value) and "tf.Session()" in str(e.value)
