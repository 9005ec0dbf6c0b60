"""A NaN that is fetched is answered with the node that made it; the watch changes nothing."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus
from dataflow.runtime import nan_origin
from dataflow.runtime.codegen import DEAD
from dataflow.runtime.nonfinite_report import NonFiniteOrigin, NonFiniteWarning, summarize
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING

pytestmark = pytest.mark.usefixtures("graph")


def watched(session: Any, *arguments: Any) -> tuple[Any, list[NonFiniteWarning]]:
    """A run's result, and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = session.run(*arguments)
    told = [w for w in caught if isinstance(w.message, NonFiniteWarning)]
    assert all(w.filename == __file__ for w in told)  # the user's line, not one of ours
    return result, [w.message for w in told]


def network() -> tuple[Any, Any, Any]:
    """x, the loss, and a training step: log(0) where x is large enough."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    W = tf.Variable(np.full((4, 3), 0.5, np.float32), name="W")
    p = tf.nn.relu(1.0 - tf.abs(tf.matmul(x, W)), name="p")
    loss = -tf.reduce_mean(tf.log(p, name="logs"), name="mean")
    return x, loss, tf.train.GradientDescentOptimizer(0.01).minimize(loss)


SMALL, LARGE = np.full((2, 4), 0.1, np.float32), np.full((2, 4), 5.0, np.float32)


@pytest.mark.parametrize("runs_before", [0, RUNS_BEFORE_REWRITING + 1])
def test_the_step_that_breaks_names_the_node_before_the_weights_are_lost(runs_before) -> None:
    x, loss, train = network()
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        for _ in range(runs_before):
            assert watched(s, [train, loss], {x: SMALL})[1] == []
        (_, value), (warning,) = watched(s, [train, loss], {x: LARGE})
        assert np.isinf(value)
        origin = warning.origin
        assert (origin.name, origin.op_type, origin.kind, origin.what) == (
            *("logs", "Log", "made"),
            "infinity",
        )
        (seen,) = origin.inputs
        assert (seen.name, seen.shape, seen.minimum, seen.maximum) == ("p:0", (2, 3), 0.0, 0.0)
        assert seen.is_finite and origin.output.num_inf == 6
        assert f"{__file__.rpartition('/')[2]}, line" in origin.built_at
        assert "Log 'logs' made infinity" in str(warning) and "input p:0: float32[2, 3]" in str(
            warning
        )
        # The weights are NaN now, and that was said once.
        (_, value), again = watched(s, [train, loss], {x: SMALL})
        assert np.isnan(value) and again == []
        origin = s.find_nan(loss, {x: SMALL})
        assert (origin.name, origin.kind, origin.what) == ("W", "variable", "NaN")


def test_in_a_monitored_session_the_warning_is_of_the_users_line() -> None:
    x, loss, train = network()
    tf.train.get_or_create_global_step()
    with tf.train.SingularMonitoredSession() as s:
        _, (warning,) = watched(s, [train, loss], {x: LARGE})
    assert warning.origin.name == "logs"


def test_a_nan_of_infinite_inputs_says_where_those_come_from() -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    big = tf.exp(x * 100.0, name="big")
    y = tf.reduce_sum(tf.subtract(big, big * 2.0, name="difference"))
    with tf.Session() as s:
        _, (warning,) = watched(s, y, {x: [0.0, 1.0, 2.0]})
    origin = warning.origin
    assert (origin.name, origin.what, origin.kind) == ("difference", "NaN", "made")
    assert (origin.cause.name, origin.cause.what, origin.cause.kind) == ("big", "infinity", "made")
    assert origin.cause.inputs[0].maximum == 200.0
    assert "Its infinite input comes from here:\nExp 'big' made infinity" in str(origin)


@pytest.mark.parametrize("kind", ["fed", "constant", "variable"])
def test_what_was_not_finite_from_the_start_is_named_as_such(kind: str) -> None:
    bad = np.array([1.0, np.nan], np.float32)
    x = {
        "fed": lambda: tf.placeholder(tf.float32, [2], name="x"),
        "constant": lambda: tf.constant(bad, name="x"),
        "variable": lambda: tf.Variable(bad, name="x"),
    }[kind]()
    y = tf.reduce_sum(tf.tanh(x * 2.0) + tf.sin(x * 3.0) + 1.0)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        _, (warning,) = watched(s, y, {x: bad} if kind == "fed" else None)
    assert (warning.origin.name, warning.origin.kind) == ("x", kind)
    assert warning.origin.output.num_nan == 1 and warning.origin.inputs == []


@pytest.mark.parametrize("training", [False, True])
def test_the_same_random_numbers_are_drawn_again_and_none_is_lost(training: bool) -> None:
    """What is drawn after a watched step is what an unwatched session draws."""

    def losses(watch: bool) -> tuple[list[float], list[Any]]:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [50])
            W = tf.Variable(tf.ones([50]))
            h = tf.nn.dropout(x * W, 0.5, seed=7)
            noise = tf.random_normal([50], seed=8)
            loss = tf.reduce_sum(tf.log(h + 1.0, name="logs")) + 0.0 * tf.reduce_sum(noise)
            step = tf.train.GradientDescentOptimizer(0.0).minimize(loss) if training else tf.no_op()
            told = []
            with tf.Session(config=tf.ConfigProto(watch_numerics=watch)) as s:
                s.run(tf.global_variables_initializer())
                values = []
                for i in range(6):
                    feed = np.linspace(0.1, 1, 50) if i != 3 else np.full(50, -0.5)
                    (value, _), messages = watched(s, [loss, step], {x: feed})
                    values.append(value)
                    told += messages
        return values, told

    with_watch, told = losses(True)
    without, nothing = losses(False)
    np.testing.assert_array_equal(with_watch, without)
    assert not nothing
    (warning,) = told
    # Only what dropout kept is doubled to -1, where the logarithm is infinite.
    assert (warning.origin.name, warning.origin.what) == ("logs", "infinity")
    assert 0 < warning.origin.output.num_inf < 50
    assert warning.origin.inputs[0].minimum == 0.0


def test_what_a_queue_gave_is_taken_as_it_was() -> None:
    queue = tf.FIFOQueue(10, tf.float32, shapes=[2])
    fill = queue.enqueue_many(np.array([[1, 2], [0, 1], [5, 6]], np.float32))
    x = queue.dequeue(name="next")
    y = tf.reduce_sum(tf.log(x, name="logs") * 2.0 + tf.tanh(x) + x * x)
    with tf.Session() as s:
        s.run(fill)
        assert watched(s, y)[1] == []
        _, (warning,) = watched(s, y)
        assert (warning.origin.name, warning.origin.inputs[0].minimum) == ("logs", 0.0)
        assert s.run(queue.size()) == 1
        with pytest.raises(tf.errors.UnimplementedError, match="Dequeue.* 'next'"):
            s.find_nan(y)
        assert s.run(queue.size()) == 1


def test_a_python_function_is_not_called_again_and_is_named() -> None:
    calls = []

    def bad(a: np.ndarray) -> np.ndarray:
        calls.append(1)
        return a * np.float32(np.nan)

    x = tf.placeholder(tf.float32, [2])
    y = tf.py_func(bad, [x + 1.0], tf.float32, name="mine")
    y.set_shape([2])
    z = tf.reduce_sum(tf.tanh(y) * 2.0 + x * 3.0)
    with tf.Session() as s:
        _, (warning,) = watched(s, z, {x: [1.0, 2.0]})
        assert len(calls) == 1
        with pytest.raises(tf.errors.UnimplementedError, match="'mine'"):
            s.find_nan(z, {x: [1.0, 2.0]})
        assert len(calls) == 1
    assert (warning.origin.name, warning.origin.kind) == ("mine", "given")


def test_of_several_fetches_a_nan_comes_before_an_infinity() -> None:
    x = tf.placeholder(tf.float32, [])
    infinite, undefined = tf.log(x, name="infinite"), tf.sqrt(x - 1.0, name="undefined")
    with tf.Session() as s:
        for fetches in ([infinite, undefined], [undefined, infinite]):
            origin = s.find_nan(fetches, {x: 0.0})
            assert (origin.what, origin.name) == ("NaN", "undefined")


def test_in_a_loop() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    _, y = tf.while_loop(
        lambda i, v: i < 5, lambda i, v: (i + 1, tf.log(v, name="logs") + 1.0), [0, x]
    )
    loss = y * 2.0
    with tf.Session() as s:
        assert watched(s, loss, {x: 1.0})[1] == []
        _, (warning,) = watched(s, loss, {x: 0.5})
    assert (warning.origin.op_type, warning.origin.what) == ("Log", "NaN")
    assert warning.origin.inputs[0].maximum < 0


def test_a_variable_that_is_assigned_first_is_not_looked_at_and_find_nan_says_why() -> None:
    v = tf.Variable(1.0, name="v")
    with tf.control_dependencies([tf.assign(v, 0.0, name="zero")]):
        y = tf.log(tf.identity(v) * 1.0) * 2.0 + tf.tanh(3.0 * tf.identity(v)) + 1.0
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        value, told = watched(s, y)
        assert np.isinf(value) and told == []
        s.run(v.initializer)
        with pytest.raises(tf.errors.UnimplementedError, match="Assign 'zero'"):
            s.find_nan(y)
        assert s.run(v) == 1.0


@pytest.mark.parametrize(
    ("value", "finite"),
    [(DEAD, True), (None, True), (1.0, True), (np.nan, False), (-np.inf, False)],
)
def test_what_was_not_computed_is_not_told_of(value: Any, finite: bool) -> None:
    assert nan_origin._is_finite(value) is finite


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([2.0, np.nan], "x: float64[2] from 2 to 2, 1 NaN"),
        ([-np.inf, 2.0, np.inf], "x: float64[3] from 2 to 2, 2 infinite"),
        ([1.0, 2.0], "x: float64[2] from 1 to 2"),
    ],
)
def test_a_summary_says_what_is_there_and_no_more(numbers: list[float], words: str) -> None:
    assert str(summarize("x", np.array(numbers))) == words


def test_a_summary_of_complex_numbers_is_of_their_size() -> None:
    summary = summarize("z", np.array([3 + 4j, -1, complex(np.nan, 0), complex(0, np.inf)]))
    assert (summary.minimum, summary.maximum) == (1.0, 5.0)
    assert (summary.num_nan, summary.num_inf) == (1, 1)


def test_it_is_switched_off() -> None:
    x, loss, train = network()
    with tf.Session(config=tf.ConfigProto(watch_numerics=False)) as s:
        s.run(tf.global_variables_initializer())
        assert watched(s, [train, loss], {x: LARGE})[1] == []
        assert "isfinite" not in next(iter(s._plans.values())).source


def test_small_plans_and_arrays_have_no_lines_for_it() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.log(x)
    z = tf.placeholder(tf.float32, [3])
    many = z
    for _ in range(10):
        many = tf.sqrt(many)
    with tf.Session() as s:
        assert watched(s, y, {x: 0.0})[1] == []
        assert watched(s, many, {z: [-1.0, 0.0, 1.0]})[1] == []
        assert not any("isfinite" in plan.source for plan in s._plans.values())
        origin = s.find_nan(many, {z: [-1.0, 0.0, 1.0]})
        assert isinstance(origin, NonFiniteOrigin)
        assert (origin.name, origin.what, origin.output.num_nan) == ("Sqrt", "NaN", 1)
        assert s.find_nan(many, {z: [1.0, 0.0, 1.0]}) is None


def test_looking_for_it_leaves_the_next_random_numbers_alone() -> None:
    x = tf.random_uniform([4], seed=3)
    y = tf.reduce_sum(x)

    def values(look: bool) -> list[float]:
        with tf.Session() as s:
            result = []
            for _ in range(4):
                if look:
                    assert s.find_nan(y) is None
                result.append(s.run(y))
            return result

    np.testing.assert_array_equal(values(True), values(False))


@pytest.mark.threads
def test_parts_that_other_threads_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that looks comes after all that it reads."""
    x = tf.placeholder(tf.float32, [300, 300])
    towers = []
    for i in range(2):
        h = x
        for _ in range(4):
            h = tf.tanh(tf.matmul(h, x) * 0.01 * (i + 1))
        towers.append(tf.reduce_mean(h))
    loss = tf.log(towers[0] - towers[0] + 0.0 * towers[1], name="logs")
    monkeypatch.setattr("dataflow.runtime.plan.num_threads", lambda: 2)
    with tf.Session() as s:
        told = []
        for _ in range(RUNS_BEFORE_REWRITING + 2):
            value, messages = watched(s, loss, {x: np.full((300, 300), 0.01, np.float32)})
            assert np.isinf(value)
            told += messages
    (warning,) = told
    assert warning.origin.name == "logs"


@pytest.mark.threads
def test_a_session_on_a_cluster_says_that_it_does_not() -> None:
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as s:
        with pytest.raises(tf.errors.UnimplementedError, match="is on grpc://"):
            s.find_nan(tf.constant(1.0))


def test_what_a_gpu_computes_is_not_watched_and_a_session_there_says_so() -> None:
    x, loss, train = network()
    with pretend_gpus(1), tf.Session() as s:
        s.run(tf.global_variables_initializer())
        (_, value), told = watched(s, [train, loss], {x: LARGE})
        assert np.isinf(value) and told == []
        with pytest.raises(tf.errors.UnimplementedError, match="is on a GPU"):
            s.find_nan(loss, {x: SMALL})


@pytest.mark.parametrize("on_task", [False, pytest.param(True, marks=pytest.mark.threads)])
def test_functions_of_data_sets_are_not_watched(on_task: bool) -> None:
    def missing(x: Any) -> Any:
        return tf.log(x * 0.0) - tf.log(x * 0.0) + tf.sin(x) * 2.0 + tf.tanh(x * 3.0)

    data = tf.data.Dataset.from_tensor_slices(np.ones(3, np.float32)).map(missing)
    value = data.make_one_shot_iterator().get_next()
    target = tf.train.Server.create_local_server().target if on_task else ""
    with tf.Session(target) as s:
        result, told = watched(s, value)
    assert np.isnan(result) and told == []


def test_what_was_fed_is_not_asked_for_again() -> None:
    """A fed dequeue hangs on no queue, and a fed draw on no stream."""
    queue = tf.FIFOQueue(1, [tf.float32], shapes=[[4]])
    taken = queue.dequeue(name="taken")
    drawn = tf.random_uniform([4], name="drawn")
    logs = tf.log(taken * drawn, name="logs")
    loss = tf.reduce_mean(logs, name="loss")
    with tf.Session() as s:
        origin = s.find_nan(loss, {taken: [1.0, -1.0, 1.0, 1.0], drawn: np.ones(4)})
        assert origin.name == "logs" and origin.output.num_nan == 1
        with pytest.raises(tf.errors.UnimplementedError, match="'taken'"):
            s.find_nan(loss, {drawn: np.ones(4)})


@pytest.mark.parametrize("way", ["merge", "branch"])
def test_a_number_of_a_branch_is_looked_at_where_it_was_computed(way: str) -> None:
    x, p = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
    off, on = tf.raw_ops.Switch(data=x, pred=p)
    logs = tf.log(on, name="logs")
    beside = tf.sin(
        tf.cos(tf.sin(tf.cos(tf.sin(tf.cos(on)))))
    )  # lines that come after, in the same block
    fetches = [logs, beside]
    if way == "merge":
        fetches = [tf.raw_ops.Merge(inputs=[tf.exp(off), logs])[0], tf.sin(tf.cos(x * 2.0 + 1.0))]
    with tf.Session() as s:
        for _ in range(RUNS_BEFORE_REWRITING + 1):
            assert watched(s, fetches, {x: 1.0, p: True})[1] == []
        if way == "merge":
            assert watched(s, fetches, {x: -1.0, p: False})[1] == []
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match="in a branch not taken"):
                watched(s, fetches, {x: -1.0, p: False})
        (value, _), (warning,) = watched(s, fetches, {x: -1.0, p: True})
    assert np.isnan(value) and (warning.origin.name, warning.origin.what) == ("logs", "NaN")


def test_numbers_drawn_in_a_loop_are_not_drawn_again() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    _, y = tf.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, tf.log(v - tf.random_uniform([]) - 9.0)), [0, x]
    )
    with tf.Session() as s:
        _, (warning,) = watched(s, y * 2.0, {x: 0.5})
        assert warning.origin is None
        assert re.search(
            "'mul:0' is NaN or infinite: where it comes from cannot be told: it hangs on RandomUniform "
            "'.*', which draws in a loop",
            str(warning),
        )
        assert s.find_nan(y, {x: 0.5}).op_type == "Log"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "computed once more, it is finite"),
        (ValueError("broken"), "where it comes from cannot be told: ValueError: broken"),
    ],
)
def test_the_run_goes_on_where_the_search_fails(
    monkeypatch: pytest.MonkeyPatch, found: Any, text: str
) -> None:
    def search(*_: Any, **__: Any) -> Any:
        if found is not None:
            raise found

    monkeypatch.setattr(nan_origin, "_find", search)
    x, loss, train = network()
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        (_, value), (warning,) = watched(s, [train, loss], {x: LARGE})
        assert np.isinf(value) and warning.origin is None
        assert str(warning) == f"'{loss.name}' is NaN or infinite: {text}"
        assert watched(s, [train, loss], {x: LARGE})[1] == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_fetched_as_it_was_given(bad: float) -> None:
    x, v = tf.placeholder(tf.float32, [2], name="x"), tf.Variable([1.0, 2.0], name="v")
    what = "NaN" if np.isnan(bad) else "infinity"
    with tf.Session() as s:
        s.run(v.initializer)
        assert s.find_nan([x, v], {x: [1.0, 2.0]}) is None
        origin = s.find_nan(x, {x: [1.0, bad]})
        assert (origin.name, origin.kind, origin.what) == ("x", "fed", what)
        s.run(v.assign([bad, 1.0]))
        origin = s.find_nan(v)
        assert (origin.name, origin.kind, origin.what) == ("v", "variable", what)


def test_a_fed_node_that_another_waits_for_is_not_run() -> None:
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    taken = queue.dequeue(name="taken")
    with tf.control_dependencies([taken]):
        y = tf.log(tf.constant(0.0) + taken, name="logs")
    with tf.Session() as s:
        assert s.find_nan(y, {taken: 0.0}).name == "logs"
        assert s.run(queue.size()) == 0


def test_of_several_fetches_each_number_is_looked_at() -> None:
    x, v = tf.placeholder(tf.float32, [2], name="x"), tf.Variable(1.0)
    array = tf.sqrt(tf.exp(x) + 1.0)
    count = tf.cast(tf.reduce_sum(array), tf.int32)
    loss = tf.reduce_mean(tf.log(x, name="logs") + array)
    changed = tf.log(tf.assign(v, 0.0) * 1.0)  # after an assignment: not looked at
    with tf.Session() as s:
        s.run(v.initializer)
        for fetches in ([array, count, v, changed, x[0], loss], [loss, x[0], changed, array]):
            values, (warning,) = watched(s, fetches, {x: [1.0, 0.0]})
            assert (
                warning.origin.name == "logs" and values[0 if fetches[0] is loss else -1] == -np.inf
            )


def test_strings_and_what_was_fed_are_fetched_beside_a_watched_number() -> None:
    x, fed = tf.placeholder(tf.float32, [2], name="x"), tf.placeholder(tf.float32, [], name="fed")
    text = tf.strings.join([tf.as_string(fed), tf.constant("!")])
    loss = tf.reduce_mean(tf.log(x, name="logs") + tf.sqrt(tf.exp(x) + fed))
    with tf.Session() as s:
        (said, same, value), told = watched(s, [text, fed, loss], {x: [1.0, 0.0], fed: 2.0})
    assert (said, same, value) == (b"2.000000!", 2.0, -np.inf)
    assert [warning.origin.name for warning in told] == ["logs"]


def test_a_node_that_gives_other_values_again_is_refused_though_it_never_waits() -> None:
    x = tf.placeholder(tf.float64, [], name="x")
    y = tf.log(x * tf.timestamp(name="now"))
    with tf.Session() as s, pytest.raises(tf.errors.UnimplementedError, match="hangs on Timestamp"):
        s.find_nan(y, {x: 0.0})


def test_a_check_comes_behind_what_only_computes_and_before_what_changes() -> None:
    x = tf.placeholder(tf.float32, [4], "x")
    w = tf.get_variable("w", [4])
    loss = tf.reduce_sum(tf.tanh(tf.tanh(tf.tanh(x * w))))
    (gradient,) = tf.gradients(loss, [w])
    change = w.assign_sub(gradient)
    later = tf.cond(tf.reduce_all(gradient > 0), lambda: tf.exp(gradient), lambda: gradient)
    with tf.Session() as s:
        for fetches in ([loss, gradient], [loss, change], [loss, later]):
            s.run(w.initializer)
            s.run(fetches, {x: [1, 2, 3, 4]})
            source = s.plan_for(fetches, {x: None})[0].source
            lines = [line.strip() for line in source.splitlines()[1:]]
            effects = [i for i, y in enumerate(lines) if y.startswith(("k", "while", "return"))]
            branches = [i for i, y in enumerate(lines) if y.startswith("if ") and "raise" not in y]
            check = next(i for i, y in enumerate(lines) if y.startswith("isfinite("))
            assert check == min(effects + branches) - 1, source
