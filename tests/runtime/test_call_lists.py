"""Lists of calls: the same bits as the lines that they stand for, in every run, and nothing overwritten."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.blas import num_threads
from dataflow.kernels.jit import call_list, call_writers, native_ufunc
from dataflow.kernels.jit.call_list_code import is_available
from dataflow.runtime import plan_recorder, recorded_line
from dataflow.runtime.array_layouts import Layout
from dataflow.runtime.plan_recorder import Recorder
from tests.compiling import MOST_RUNS, wait_for_compiler
from tests.early_recording import record_at_once
from tests.samples import all_samples

pytestmark = pytest.mark.skipif(not is_available(), reason="this machine runs no machine code")

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return np.asarray(RANDOM.standard_normal(shape), np.float32)


@pytest.fixture(autouse=True)
def recorders(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Recorder]]:
    """Plans are recorded at once; their recorders, none of which may have failed."""
    made = record_at_once(monkeypatch)
    with tf.Graph().as_default():
        yield made
    assert not [failure for recorder in made for failure in recorder.failures]


def source(session: Any, fetches: Any, feed: Any = None) -> str:
    """The code that a run has now."""
    return str(session.plan_for(fetches, feed)[0].source)


def has_lists(session: Any, fetches: Any, feed: Any = None) -> int:
    """How many lists a run has."""
    return source(session, fetches, feed).count(" nodes\n")


def run_until_lists(session: Any, fetches: Any, feed: Any = None) -> list[Any]:
    """Runs until there are lists; the results of all runs."""
    results = []
    for count in range(MOST_RUNS):
        results.append(session.run(fetches, feed))
        if has_lists(session, fetches, feed):
            return [*results, session.run(fetches, feed)]
        wait_for_compiler(count)
    raise AssertionError(f"there are no lists:\n{source(session, fetches, feed)}")


def mlp() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [None, 6], "x")
    h = tf.layers.dense(tf.layers.dense(x, 8, tf.tanh), 8, tf.nn.sigmoid)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(h, 2)))
    return loss, {x: normal(5, 6)}


def unrolled() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [4, 7, 3])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(5), tf.nn.rnn_cell.BasicLSTMCell(6)])
    outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
    return tf.reduce_sum(tf.square(tf.stack(outputs))), {x: normal(4, 7, 3)}


def loop() -> tuple[Any, Any]:
    x, w = tf.placeholder(tf.float32, [3, 4]), tf.get_variable("w", [4, 4])

    def body(i: Any, h: Any, total: Any) -> tuple[Any, ...]:
        h = tf.tanh(tf.matmul(h, w) + x) * tf.sigmoid(h) - 0.1 * h
        return i + 1, h, total + tf.reduce_sum(h, 1)

    _, h, total = tf.while_loop(lambda i, *_: i < 9, body, (0, x, tf.zeros([3])))
    return tf.reduce_sum(h) + tf.reduce_sum(total), {x: normal(3, 4)}


def attention() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [2, 5, 8])
    q, k, v = (tf.layers.dense(x, 8) for _ in range(3))
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 2.0)
    h = tf.contrib.layers.layer_norm(x + tf.matmul(weights, v))
    return tf.reduce_mean(tf.nn.softplus(tf.layers.dense(h, 3))), {x: normal(2, 5, 8)}


def any_number_of_rows() -> tuple[Any, Any]:
    """Sums, slices and shapes whose sizes are known in a run alone, and their gradients."""
    x, w = tf.placeholder(tf.float32, [None, 4]), tf.get_variable("w", [4, 4])
    h = tf.matmul(x, w)
    for i in range(3):
        scores = tf.reduce_logsumexp(h[:, :, None] + w[None], 1) * x[:, i : i + 1]
        h = tf.tanh(scores) + tf.reshape(tf.matmul(scores, w), tf.shape(x))
    return tf.reduce_mean(tf.reduce_sum(h * tf.ones_like(x[:, :1]), 1)), {x: normal(5, 4)}


NETWORKS = {f.__name__: f for f in (mlp, unrolled, loop, attention, any_number_of_rows)}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_training_has_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    losses: dict[bool, list[Any]] = {}
    for lists in (True, False):
        if not lists:
            monkeypatch.setattr(plan_recorder, "begin", lambda *_: None)
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            RANDOM.bit_generator.state = np.random.PCG64(1).state
            loss, feed = NETWORKS[name]()
            step = tf.train.AdamOptimizer(0.01).minimize(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                if lists:
                    results = run_until_lists(session, [loss, step], feed)
                    results += [session.run([loss, step], feed) for _ in range(10)]
                else:
                    results = [session.run([loss, step], feed) for _ in losses[True]]
                    assert not has_lists(session, [loss, step], feed)
                losses[lists] = [value for value, _ in results]
    assert losses[True] == losses[False]


def test_lists_can_be_switched_off() -> None:
    loss, feed = mlp()
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = config.graph_options.rewrite_options.OFF
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(30):
            session.run(loss, feed)
        assert not has_lists(session, loss, feed)


@pytest.mark.parametrize("name", NETWORKS)
def test_lists_give_the_bits_of_the_first_run(name: str) -> None:
    loss, feed = NETWORKS[name]()
    gradients = tf.gradients(loss, tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        results = run_until_lists(session, [loss, *gradients], feed)
        results += [session.run([loss, *gradients], feed) for _ in range(3)]
    for result in results[1:]:
        for got, first in zip(result, results[0], strict=True):
            assert np.asarray(got).tobytes() == np.asarray(first).tobytes()
            assert type(got) is type(first)


@pytest.mark.parametrize("rows", [44, 58, 75, 81])
def test_a_sum_that_is_right_by_chance_once_is_tried_again(rows: int) -> None:
    RANDOM.bit_generator.state = np.random.PCG64(rows).state
    bias, y = tf.Variable(tf.zeros([1])), tf.placeholder(tf.float32, [rows, 1])
    (gradient,) = tf.gradients(tf.nn.bias_add(tf.zeros([rows, 1]), bias) * y, bias)
    others = [tf.exp(tf.tanh(y) + 1.0), tf.sigmoid(y) * y]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        run_until_lists(session, [gradient, *others], {y: normal(rows, 1)})
        for _ in range(40):
            feed = {y: normal(rows, 1)}
            got = session.run([gradient, *others], feed)[0]
            assert got.tobytes() == (np.ones(rows, np.float32) @ feed[y]).tobytes()


def test_sums_of_doubles_are_tried_on_numbers_of_full_precision() -> None:
    x = tf.placeholder(tf.float64, [600, 33])
    fetches = [tf.reduce_sum(1.0 / x, 0), tf.exp(tf.tanh(x)) * 2.0]
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.remapping = off.graph_options.rewrite_options.OFF
    with tf.Session() as session, tf.Session(config=off) as plain:
        run_until_lists(session, fetches, {x: np.ones((600, 33))})  # whose sums say nothing
        for _ in range(5):
            feed = {x: RANDOM.standard_normal((600, 33))}
            got, wanted = (s.run(fetches, feed)[0] for s in (session, plain))
            assert got.tobytes() == wanted.tobytes()


def test_other_sizes_run_by_the_lines_themselves() -> None:
    loss, feed = mlp()
    (x,) = feed
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        run_until_lists(session, loss, feed)
        for rows in (3, 5, 1, 9):
            batch = normal(rows, 6)
            with tf.Session() as fresh:
                fresh.run(tf.global_variables_initializer())
                for variable in tf.global_variables():
                    variable.load(session.run(variable), fresh)
                wanted = fresh.run(loss, {x: batch})
            assert session.run(loss, {x: batch}) == wanted
        assert has_lists(session, loss, feed)


def test_what_was_fetched_is_not_overwritten() -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    h = tf.tanh(x) * 2.0
    parts = tf.unstack(h + tf.sigmoid(h))
    fetches = [h, *parts, tf.reshape(h * h, [-1]), tf.reduce_sum(h * h)]
    with tf.Session() as session:
        run_until_lists(session, fetches, {x: normal(3, 4)})
        first = session.run(fetches, {x: normal(3, 4)})
        kept = [np.array(value) for value in first]
        session.run(fetches, {x: normal(3, 4)})
        for value, before in zip(first, kept, strict=True):
            np.testing.assert_array_equal(value, before)


def test_what_a_variable_a_queue_or_a_function_keeps_is_not_overwritten() -> None:
    x = tf.placeholder(tf.float32, [3])
    h = tf.exp(tf.tanh(x) * 2.0) + 1.0
    assigned = tf.Variable(tf.zeros([3]))
    queue = tf.FIFOQueue(1000, tf.float32, [[3]])
    seen: list[Any] = []

    def look(value: Any) -> Any:
        seen.append(value)
        return value

    called = tf.py_func(look, [h * 3.0], tf.float32)
    fetches = [assigned.assign(h * 1.0).op, queue.enqueue(h * 2.0), called.op, tf.reduce_sum(h)]
    taken = queue.dequeue()
    batches = [normal(3) for _ in range(4)]
    with tf.Session() as session:
        session.run(assigned.initializer)
        count = len(run_until_lists(session, fetches, {x: batches[0]}))
        held = []
        for batch in batches:
            session.run(fetches, {x: batch})
            held.append(session.run(assigned))
        for _ in range(count):
            session.run(taken)
        queued = [session.run(taken) for _ in batches]
    for batch, variable, entry, value in zip(batches, held, queued, seen[-4:], strict=True):
        wanted = np.exp(np.tanh(batch) * np.float32(2)) + np.float32(1)
        np.testing.assert_array_equal(variable, wanted)
        np.testing.assert_array_equal(entry, wanted * np.float32(2))
        np.testing.assert_array_equal(value, wanted * np.float32(3))


@pytest.mark.threads
def test_threads_do_not_share_what_a_list_keeps() -> None:
    x = tf.placeholder(tf.float32, [40])
    h = x
    for _ in range(30):
        h = tf.tanh(h) + x * 0.5
        h = tf.reshape(tf.stack(tf.split(h, 4)), [-1])
    total = tf.reduce_sum(h)
    wrong: list[Any] = []
    with tf.Session() as session:
        run_until_lists(session, total, {x: normal(40)})
        batches = [normal(40) for _ in range(4)]
        wanted = [session.run(total, {x: batch}) for batch in batches]

        def work(k: int) -> None:
            for _ in range(100):
                if session.run(total, {x: batches[k]}) != wanted[k]:
                    wrong.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_variable_of_another_layout_is_read_right() -> None:
    w = tf.Variable(tf.ones([4, 6]), validate_shape=False)
    y = tf.sigmoid(tf.tanh(w) * 2.0) + 1.0
    with tf.Session() as session:
        session.run(w.initializer)
        run_until_lists(session, y)
        for value in (normal(6, 4).T, normal(4, 6), normal(4, 12)[:, ::2]):
            w.load(value, session)
            wanted = 1 / (1 + np.exp(-np.tanh(value) * 2)) + 1
            np.testing.assert_allclose(session.run(y), wanted, rtol=1e-6)
        session.run(tf.assign(w, np.ones([2, 2], "f"), validate_shape=False))
        assert session.run(y).shape == (2, 2)


def test_a_slice_that_begins_elsewhere_in_each_run_is_no_view() -> None:
    x, i = tf.placeholder(tf.float32, [6, 3]), tf.placeholder(tf.int32, [])
    h = tf.tanh(x) * 2.0
    y = tf.exp(h[i]) + tf.sigmoid(tf.slice(h, [i, 0], [1, 3]))
    data = normal(6, 3)
    wanted = [2 * np.tanh(row) for row in data]
    with tf.Session() as session:
        run_until_lists(session, y, {x: data, i: 2})
        for k in (4, 0, 2, 5):
            expected = np.exp(wanted[k]) + 1 / (1 + np.exp(-wanted[k]))
            np.testing.assert_allclose(session.run(y, {x: data, i: k})[0], expected, rtol=1e-6)


def test_a_loop_over_the_rows_of_a_matrix_reads_each_of_them() -> None:
    x = tf.placeholder(tf.float32, [6, 3])

    def body(i: Any, total: Any) -> tuple[Any, Any]:
        row = tf.tanh(x)[i]
        return i + 1, total * 0.5 + tf.exp(row) * tf.sigmoid(row) + row

    _, total = tf.while_loop(lambda i, _: i < 6, body, (0, tf.zeros([3])))
    data = normal(6, 3)
    with tf.Session() as session:
        results = run_until_lists(session, total, {x: data})
        other = session.run(total, {x: data[::-1]})
    with tf.Session() as session:
        assert other.tobytes() == session.run(total, {x: data[::-1]}).tobytes()
    assert all(result.tobytes() == results[0].tobytes() for result in results)


def test_shapes_that_are_fed_are_not_written_down() -> None:
    x, shape = tf.placeholder(tf.float32, [12]), tf.placeholder(tf.int32, [2])
    h = tf.tanh(x) * 2.0 + 1.0
    fetches = [
        tf.reduce_sum(tf.exp(tf.reshape(h, shape)) * 0.5, 0),
        tf.broadcast_to(h[:1], shape) * 2.0 + 1.0,
    ]
    data = normal(12)
    with tf.Session() as session:
        run_until_lists(session, fetches, {x: data, shape: [3, 4]})
        got = [session.run(fetches, {x: data, shape: s}) for s in ([4, 3], [2, 6], [3, 4])]
    for s, result in zip(([4, 3], [2, 6], [3, 4]), got, strict=True):
        with tf.Session() as session:
            for a, b in zip(result, session.run(fetches, {x: data, shape: s}), strict=True):
                assert a.tobytes() == b.tobytes()
                assert a.shape == b.shape


def test_a_number_of_rows_is_as_good_as_a_constant_until_it_is_another_one() -> None:
    loss, feed = any_number_of_rows()
    (x,) = feed
    gradients = tf.gradients(loss, [x, *tf.trainable_variables()])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        weights = session.run(tf.trainable_variables())
        run_until_lists(session, gradients, feed)
        code = source(session, gradients, feed).partition("def run(")[2]
        # One list: what lies between two of them would be a line that was refused.
        assert code.count("= list") == 1
        for rows in (5, 2, 1, 9, 5):
            batch = normal(rows, 4)
            got = session.run(gradients, {x: batch})
            with tf.Session() as fresh:
                for variable, value in zip(tf.trainable_variables(), weights, strict=True):
                    variable.load(value, fresh)
                wanted = fresh.run(gradients, {x: batch})
            for a, b in zip(got, wanted, strict=True):
                assert a.tobytes() == b.tobytes()


def test_a_list_asks_for_the_sizes_that_it_was_written_for() -> None:
    """The shape comes from an array that the list does not see: its layout does not tell."""
    x, y = tf.placeholder(tf.float32, [12]), tf.placeholder(tf.float32, [None, None])
    shape = tf.shape(y)
    between = tf.py_func(lambda a, _: a, [x, shape], tf.float32)
    between.set_shape([12])
    h = tf.exp(tf.reshape(tf.tanh(between), shape) * 2.0)
    total = tf.reduce_sum(h * 0.5, 0)
    data = normal(12)
    with tf.Session() as session:
        run_until_lists(session, total, {x: data, y: np.ones((3, 4))})
        for sizes in ((4, 3), (2, 6), (3, 4)):
            wanted = (np.exp(np.tanh(data).reshape(sizes) * 2) * np.float32(0.5)).sum(0)
            got = session.run(total, {x: data, y: np.ones(sizes)})
            np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_check_of_shapes_is_made_when_they_are_others() -> None:
    logits = tf.placeholder(tf.float32, [None, None, 4])
    labels = tf.placeholder(tf.int32)
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.tanh(logits))
    loss = tf.reduce_sum(tf.sqrt(each))
    feed = {logits: normal(2, 3, 4), labels: np.zeros([2, 3], np.int32)}
    with tf.Session() as session:
        assert len(set(run_until_lists(session, loss, feed))) == 1
        lines = source(session, loss, feed).splitlines()
        (with_list,) = (line for line in lines if line.endswith(" nodes"))
        assert "list0(Placeholder, Placeholder_1)" in with_list  # and the check is in it
        for wrong in ([3, 2], [2, 3, 1], [6]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Labels need the shape"):
                session.run(loss, {**feed, labels: np.zeros(wrong, np.int32)})
        assert session.run(loss, feed) == session.run(loss, feed)


def test_a_check_of_values_is_made_in_each_run() -> None:
    x = tf.placeholder(tf.float32, [3])
    positive = tf.Assert(tf.reduce_all(x > 0), ["negative"])
    with tf.control_dependencies([positive]):
        root = tf.sqrt(tf.exp(tf.tanh(x) * 2.0) + 1.0)
    with tf.Session() as session:
        run_until_lists(session, root, {x: np.ones(3)})
        with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
            session.run(root, {x: -np.ones(3)})


def test_shapes_that_are_fetched_belong_to_the_caller() -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    h = tf.exp(tf.tanh(x) * 2.0)
    fetches = [tf.shape(h) * 2, tf.size(h), h + tf.cast(tf.size(h), tf.float32)]
    with tf.Session() as session:
        results = run_until_lists(session, fetches, {x: normal(3, 4)})
        for shape, size, _ in (*results, session.run(fetches, {x: normal(3, 4)})):
            assert shape.tolist() == [6, 8]
            assert size == 12
            shape[:] = 0
        assert session.run(fetches, {x: normal(2, 4)})[0].tolist() == [4, 8]


@pytest.mark.parametrize("in_list", [True, False])
def test_what_is_computed_in_place_is_not_overwritten_in_the_next_run(
    in_list: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise call_writers.CannotWrite

    if not in_list:
        monkeypatch.setattr(call_writers, "by_table", refuse)
    x = tf.placeholder(tf.float32, [None, 64])
    h = tf.exp(tf.tanh(x) * 2.0) + 1.0
    total = tf.tanh(tf.matmul(h, tf.ones([64, 64]) * 0.01))
    seen: list[Any] = []
    run = tf.py_func(lambda a: seen.append(a) or a[0], [total], tf.float32)
    batches = [normal(64, 64) for _ in range(3)]
    with tf.Session() as session:
        wanted = [np.array(session.run(total, {x: batch})) for batch in batches]
        for _ in range(3):
            session.run(run, {x: batches[0]})
        assert session.plan_for(run, {x: batches[0]})[0].generated.reused
        run_until_lists(session, run, {x: batches[0]})
        assert ("= o" in source(session, run, {x: batches[0]})) != in_list
        seen.clear()
        for batch in batches:
            session.run(run, {x: batch})
    for a, b in zip(seen, wanted, strict=True):
        assert a.tobytes() == b.tobytes()


def test_runs_of_other_sizes_in_between_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_recorder, "_LEAST_PER_RUN", 1)
    monkeypatch.setattr(plan_recorder, "_RUNS_OF_RECORDING", 100)
    loss, _ = mlp()
    (x,) = (op.outputs[0] for op in tf.get_default_graph().get_operations() if op.name == "x")
    batches = [normal(rows, 6) for rows in (5, 5, 5, 2)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = [session.run(loss, {x: batch}) for batch in batches]
        for _ in range(200):
            assert [session.run(loss, {x: batch}) for batch in batches] == first
            if has_lists(session, loss, {x: batches[0]}):
                break
        assert has_lists(session, loss, {x: batches[0]})
        assert [session.run(loss, {x: batch}) for batch in batches] == first


def test_sizes_that_depend_on_values_are_left_to_the_lines() -> None:
    x = tf.placeholder(tf.float32, [20])
    kept = tf.boolean_mask(x, x > 0.0)
    y = tf.reduce_sum(tf.exp(tf.tanh(kept) * 2.0) + tf.sigmoid(kept))
    z = y + tf.reduce_sum(tf.exp(tf.tanh(x) * 2.0) + tf.sigmoid(x))
    batches = [normal(20) for _ in range(30)]
    with tf.Session() as session:
        for _ in range(4):
            results = [session.run(z, {x: batch}) for batch in batches]
    for batch, result in zip(batches, results, strict=True):
        with tf.Session() as fresh:
            assert fresh.run(z, {x: batch}) == result


def test_an_error_in_a_line_of_a_list_names_its_node() -> None:
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    h = tf.tanh(x) * 2.0
    bad = tf.add(tf.exp(h), tf.sqrt(y), name="the_sum")
    result = tf.reduce_sum(tf.square(bad))
    with tf.Session() as session:
        run_until_lists(session, result, {x: normal(3), y: np.ones(3)})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"the_sum"):
            session.run(result, {x: normal(3), y: np.ones(4)})
        assert np.isfinite(session.run(result, {x: normal(3), y: np.ones(3)}))


def test_lines_keep_their_numbers() -> None:
    loss, feed = mlp()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(loss, feed)
        plan, _ = session.plan_for(loss, feed)
        before = plan.source.splitlines()
        run_until_lists(session, loss, feed)
        after = plan.source.splitlines()
    assert len(after) == len(before)
    assert after[0] == before[0]
    assert after[-1] == before[-1]
    first = next(i for i, line in enumerate(after) if "= list0(" in line)
    assert plan.generated.line_ops[first + 1].type == "MatMul"


def test_what_recording_compiled_dies_with_it(
    monkeypatch: pytest.MonkeyPatch, recorders: list[Recorder]
) -> None:
    compiled: list[Any] = []
    with_notes = Recorder._with_notes

    def watched(self: Recorder) -> Any:
        function = with_notes(self)
        compiled.append(weakref.ref(function))
        return function

    monkeypatch.setattr(Recorder, "_with_notes", watched)
    loss, feed = mlp()
    gc.disable()  # what dies, dies without it
    try:
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            run_until_lists(session, loss, feed)
            assert len(compiled) == len(recorders) == 1
            assert compiled[0]() is None
    finally:
        gc.enable()


def builders() -> dict[str, Callable[[Any], Any]]:
    """For each op with a writer of its own, what makes it of a [4, 6] matrix."""
    column = tf.constant(normal(6))

    def image(x: Any) -> Any:
        return tf.reshape(tf.concat([x, tf.sin(x), tf.cos(x), tf.square(x)], 0), [1, 4, 4, 6])

    filters = tf.constant(normal(3, 3, 6, 8))

    def convolved(x: Any) -> Any:
        return tf.nn.conv2d(image(x), filters, 1, "SAME")

    return {
        "_FusedRegion": lambda x: tf.add_n([tf.exp(x) * x, tf.exp(x) + 1.0, tf.tanh(x)]),
        "_FusedRows": lambda x: x - tf.reduce_sum(x * x, 1, keepdims=True),
        "_Fused": lambda x: tf.sqrt(tf.exp(x) + 2.0),
        "Softplus": tf.nn.softplus,
        "AddN": lambda x: tf.add_n([x, x * 2.0, tf.tanh(x)]),
        "BiasAdd": lambda x: tf.nn.bias_add(tf.tanh(x), column),
        "Sum": lambda x: tf.reduce_sum(tf.tanh(x), 0),
        "Mean": lambda x: tf.reduce_mean(tf.tanh(x), 1),
        "BiasAddGrad": lambda x: tf.gradients(tf.nn.bias_add(x, column) ** 2.0, column, tf.tanh(x))[
            0
        ],
        "Softmax": lambda x: tf.nn.softmax(tf.tanh(x)),
        "MatMul": lambda x: (
            tf.matmul(x[:1], tf.transpose(x[1:2]))
            + tf.matmul(x[:1], x[2:3], transpose_b=True)
            + tf.matmul(x[:, 1:2], x[:, 2:3], transpose_a=True)
            + tf.matmul(tf.tanh(x), x, transpose_b=True)
        ),
        "BatchMatMulV2": lambda x: tf.matmul(tf.reshape(tf.tanh(x), [2, 2, 6]), tf.ones([2, 6, 3])),
        "Transpose": lambda x: tf.transpose(tf.tanh(x)) * 2.0,
        "BroadcastTo": lambda x: tf.broadcast_to(tf.tanh(x), [3, 4, 6]) * 2.0,
        "ConcatV2": lambda x: tf.concat([x, tf.tanh(x)], 1),
        "Pack": lambda x: tf.stack([x, tf.tanh(x)], 1),
        "_SumOfSlices": lambda x: tf.gradients(tf.tanh(x[:, 1]) + tf.sin(x[:, 3]), x)[0],
        "Roll": lambda x: tf.manip.roll(tf.tanh(x), 2, 1),
        "StridedSliceGrad": lambda x: tf.gradients(tf.tanh(x[1:3, ::2]), x)[0],
        "Pad": lambda x: tf.pad(tf.tanh(x), [[1, 0], [0, 2]]),
        "Reshape": lambda x: tf.reshape(tf.tanh(x), [6, 4]) * 2.0,
        "ExpandDims": lambda x: tf.expand_dims(tf.tanh(x), 1) * 2.0,
        "Squeeze": lambda x: tf.squeeze(tf.tanh(x)[:, None], 1) * 2.0,
        "StridedSlice": lambda x: tf.tanh(x)[1:3] * 2.0,
        "Split": lambda x: tf.split(tf.tanh(x), 2)[1] * 2.0,
        "SplitV": lambda x: tf.split(tf.tanh(x), [1, 5], 1)[1] * 2.0,
        "Unpack": lambda x: tf.unstack(tf.tanh(x))[2] * 2.0,
        "Slice": lambda x: tf.slice(tf.tanh(x), [1, 2], [2, -1]) * 2.0,
        "Tile": lambda x: tf.tile(tf.tanh(x), [2, 3]) * 2.0,
        "Fill": lambda x: tf.fill(tf.shape(tf.concat([x] * 9, 0)), tf.tanh(x[0, 0])) + x[0],
        "ZerosLike": lambda x: tf.zeros_like(tf.concat([tf.tanh(x)] * 9, 0)) + tf.tanh(x[0]),
        "OnesLike": lambda x: tf.ones_like(tf.concat([tf.tanh(x)] * 9, 0)) + tf.tanh(x[0]),
        "MatrixDiagPart": lambda x: tf.matrix_diag_part(tf.tanh(x)) * 2.0,
        "MatrixDiagPartV3": lambda x: tf.matrix_diag_part(tf.tanh(x), k=-1) * 2.0,
        "MatrixSetDiag": lambda x: tf.matrix_set_diag(tf.tanh(x), x[:, 0]) * 2.0,
        "MatrixSetDiagV3": lambda x: tf.matrix_set_diag(tf.tanh(x), x[:, 0], k=2) * 2.0,
        "MatrixBandPart": lambda x: tf.matrix_band_part(tf.tanh(x), 1, 2) * 2.0,
        "Cast": lambda x: tf.cast(
            tf.cast(tf.cast(x > 0.0, "int32")[:, 1:3], "float64") + 0.5, "float32"
        ),
        "Max": lambda x: tf.reduce_max(tf.tanh(x), 1, keepdims=True) * x,
        "Min": lambda x: tf.reduce_min(tf.tanh(x), [0, 1]) * x,
        "Prod": lambda x: tf.reduce_prod(tf.tanh(x), 0) * x,
        "Conv2D": lambda x: convolved(x) * 2.0,
        "Conv2DBackpropInput": lambda x: tf.gradients(tf.tanh(convolved(x)), x)[0],
        "Conv2DBackpropFilter": lambda x: tf.gradients(tf.tanh(convolved(x)), filters)[0],
        "SpaceToBatchND": lambda x: tf.space_to_batch_nd(image(x), [2, 2], [[1, 1], [0, 2]]) * 2.0,
        "BatchToSpaceND": lambda x: (
            tf.batch_to_space_nd(tf.reshape(image(x), [4, 2, 2, 6]), [2, 2], [[1, 0], [0, 1]]) * 2.0
        ),
        "L2Loss": lambda x: tf.nn.l2_loss(tf.tanh(x)) * tf.nn.l2_loss(x[1]) + x,
        "SparseTensorDenseMatMul": lambda x: sparse_products(tf.tanh(x)),
        "GatherV2": lambda x: tf.gather(tf.tanh(x), [[3, 0], [1, 1]]) * 2.0,
        "SparseSoftmaxCrossEntropyWithLogits": lambda x: losses_of(tf.tanh(x), [5, 0, 2, 2]),
        "SoftmaxCrossEntropyWithLogits": lambda x: losses_of(tf.tanh(x), tf.nn.softmax(-x)),
    }


def sparse_products(x: Any) -> Any:
    """A sparse matrix times ``x``, times its transpose, and the gradient by its values and by ``x``."""
    values = tf.constant(normal(5))
    places = [[2, 0], [0, 3], [2, 1], [2, 0], [1, 3]]
    sparse = tf.SparseTensor(places, values, [3, 4])
    y = tf.sparse.sparse_dense_matmul(sparse, x)
    turned = tf.sparse.sparse_dense_matmul(sparse, tf.transpose(y), adjoint_a=True, adjoint_b=True)
    return turned * 2.0 + sum(map(tf.reduce_sum, tf.gradients(tf.tanh(turned), [values, x])))


def losses_of(logits: Any, labels: Any) -> Any:
    """The cross entropy of each row, by numbers of classes or their shares, and its gradient."""
    name = "sparse_softmax_cross_entropy_with_logits"
    if isinstance(labels, tf.Tensor) and labels.dtype.is_floating:
        name = "softmax_cross_entropy_with_logits_v2"
    loss = getattr(tf.nn, name)(labels=labels, logits=logits)
    return loss[:, None] * 2.0 + tf.gradients(loss, logits)[0]


@pytest.mark.parametrize("shape", [(5, 1), (40, 10), (128, 20), (30, 33), (2, 600)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_entropies_of_matrices_tall_and_wide(shape: tuple[int, int], dtype: str) -> None:
    x, y = tf.placeholder(dtype, [None, shape[1]]), tf.placeholder("int64", [None])
    by_number = losses_of(x * 2.0, y)
    by_shares = losses_of(x * 2.0, tf.one_hot(y, shape[1], dtype=dtype) * 0.9)
    feed = {x: normal(*shape).astype(dtype), y: RANDOM.integers(0, shape[1], shape[0])}
    with tf.Session() as session:
        first, *others = run_until_lists(session, [by_number, by_shares], feed)
    for other in others:
        for a, b in zip(first, other, strict=True):
            assert a.tobytes() == b.tobytes()


def test_sparse_products_of_wide_rows_and_indices_out_of_range(recorders: list[Recorder]) -> None:
    x, places = tf.placeholder(tf.float32, [7, 21]), tf.placeholder(tf.int64, [None, 2])
    values = tf.constant(normal(40))
    random = np.random.RandomState(0)
    good = np.stack([random.randint(0, 9, 40), random.randint(0, 7, 40)], 1)
    y = tf.sparse.sparse_dense_matmul(tf.SparseTensor(places, values, [9, 7]), x * 2.0) + 1.0
    feed = {x: normal(7, 21), places: good}
    with tf.Session() as session:
        first, *others = run_until_lists(session, y, feed)
        assert all(other.tobytes() == first.tobytes() for other in others)
        assert "SparseTensorDenseMatMul" in {
            r._lines[i].op.type for r in recorders for i, made in r._recorded.items() if made
        }
        for row, message in (([9, 0], "row index"), ([0, 7], "column index"), ([-1, 0], "row")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(y, {**feed, places: np.concatenate([good[:-1], [row]])})


def test_sums_of_many_columns_in_shares() -> None:
    x = tf.placeholder(tf.float32, [None, 512])
    y = tf.tanh(x * 2.0)
    fetches = [tf.reduce_sum(y, 0), tf.reduce_sum(tf.reshape(y, [4, -1, 64]), [0, 1])]
    with tf.Session() as session:
        first, *others = run_until_lists(session, fetches, {x: normal(128, 512)})
    for other in others:
        for a, b in zip(first, other, strict=True):
            assert a.tobytes() == b.tobytes()


CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 8, 8, 3), (3, 3, 3, 8), {"padding": "SAME"}),
    ((2, 9, 8, 16), (3, 2, 16, 20), {"padding": "VALID"}),
    ((3, 8, 9, 5), (3, 3, 5, 12), {"strides": [1, 2, 2, 1], "padding": "SAME"}),
    ((2, 8, 8, 4), (1, 1, 4, 16), {"padding": "SAME"}),
    ((2, 8, 8, 4), (1, 1, 4, 16), {"strides": [1, 3, 3, 1], "padding": "SAME"}),
    ((2, 8, 8, 6), (2, 2, 6, 16), {"strides": [1, 2, 2, 1], "padding": "VALID"}),
    ((2, 12, 1, 6), (3, 1, 6, 16), {"dilations": [1, 2, 1, 1], "padding": "SAME"}),
    ((2, 8, 8, 6), (3, 3, 6, 8), {"padding": [[0, 0], [2, 0], [1, 3], [0, 0]]}),
    ((2, 8, 8, 8), (3, 3, 8, 1), {"padding": "SAME"}),
    ((2, 8, 8, 8), (3, 3, 4, 8), {"padding": "SAME"}),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("activation", [None, tf.nn.relu])
def test_convolutions_with_biases_and_their_gradients(case: Any, activation: Any) -> None:
    shape, taps, attrs = case
    x, filters = tf.placeholder(tf.float32, [None, *shape[1:]]), tf.constant(normal(*taps))
    bias = tf.constant(normal(taps[-1]))
    y = tf.nn.conv2d(x * 2.0, filters, **{"strides": [1, 1, 1, 1], **attrs}) + bias
    y = activation(y) if activation else y
    fetches = [y, *tf.gradients(tf.tanh(y) * 2.0, [x, filters, bias])]
    with tf.Session() as session:
        run_until_lists(session, fetches, {x: normal(*shape)})
        for batch in (shape[0], shape[0] + 1):
            feed = {x: normal(batch, *shape[1:])}
            with tf.Session() as fresh:
                wanted = fresh.run(fetches, feed)
            for a, b in zip(session.run(fetches, feed), wanted, strict=True):
                assert a.tobytes() == b.tobytes()


def test_an_index_out_of_range_is_told_by_the_kernel() -> None:
    x = tf.placeholder(tf.float32, [None, 6])
    labels, rows = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    table = tf.get_variable("table", [9, 6])
    picked = tf.gather(table, rows) * 2.0 + tf.tanh(x)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=picked) * 2.0
    good = {x: normal(4, 6), labels: [0, 5, 2, 2], rows: [8, 0, 1, 1]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = run_until_lists(session, loss, good)[-1]
        assert "  # 6 nodes" in source(session, loss, good)
        for bad, message in (
            ({labels: [0, 6, 2, 2]}, "label value of 6 which is outside the valid range"),
            ({labels: [0, -1, 2, 2]}, "label value of -1"),
            ({rows: [8, 9, 1, 1]}, r"indices\[1\] = 9 is not in \[0, 9\)"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(loss, {**good, **bad})
            assert session.run(loss, good).tobytes() == value.tobytes()


#: Writers that have no builder: made by rewrites of larger plans, and aliases of one writer.
_ELSEWHERE = {
    *("_PackedProduct", "_MatMulSum", "BatchMatMul", "Identity"),
    *("Gather", "ResourceGather", "_Conv2DBias"),
}


def test_the_writers_that_are_loaded_later_are_known_before() -> None:
    from dataflow.kernels.jit.call_writers import base, convolutions

    assert convolutions.__doc__
    assert call_writers.op_types() == base.writers.keys()


@pytest.mark.parametrize("op_type", sorted(call_writers.op_types() - _ELSEWHERE))
def test_each_writer_gives_the_bits_of_its_kernel(op_type: str, recorders: list[Recorder]) -> None:
    x = tf.placeholder(tf.float32, [4, 6])
    y = tf.identity(builders()[op_type](x * 1.5)) + 0.5
    batches = [normal(4, 6) for _ in range(3)]
    with tf.Session() as fresh:
        wanted = [fresh.run(y, {x: batch}) for batch in batches]
    with tf.Session() as session:
        run_until_lists(session, y, {x: batches[0]})
        for batch, value in zip(batches, wanted, strict=True):
            assert session.run(y, {x: batch}).tobytes() == value.tobytes()


@pytest.mark.parametrize("sample", all_samples(), ids=lambda s: s.id)
def test_samples_give_the_same_bits_when_they_are_recorded(sample: Any) -> None:
    if sample.random or sample.setup is not None or not sample.inputs:
        return
    fed = []
    for value in sample.inputs:
        array = np.asarray(value)
        fed.append(tf.placeholder(array.dtype, array.shape) if array.dtype.kind in "fb" else value)
    feed = {t: v for t, v in zip(fed, sample.inputs, strict=True) if isinstance(t, tf.Tensor)}
    if not feed:
        return
    outputs = sample.build(tf, *[t if isinstance(t, tf.Tensor) else tf.constant(t) for t in fed])
    outputs = outputs if isinstance(outputs, list) else [outputs]
    outputs = [t for t in outputs if isinstance(t, tf.Tensor) and t.dtype.is_floating]
    graph = tf.get_default_graph()
    if not outputs or any(op.op_def.stateful for op in graph.get_operations()):
        return  # a run is not to repeat what the one before it did
    doubled = [t + t for t in outputs]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        results = [session.run(doubled, feed) for _ in range(8)]
    for result in results[1:]:
        for got, first in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(got, first)


def test_results_that_lie_in_another_one() -> None:
    whole = np.zeros((4, 6), np.float32)
    parts = [whole, whole[1:, 2:4], np.zeros((2, 2), np.float32)]
    layouts = [Layout.of(x) for x in parts]
    assert recorded_line.parts_among(parts, layouts) == {1: (0, 24 + 8)}
    apart = [whole, np.zeros((4, 6), np.float32)[:, :2]]
    assert recorded_line.parts_among(apart, [Layout.of(x) for x in apart]) is None


@pytest.mark.parametrize(("microseconds", "gains"), [(70.0, True), (80.0, False)])
def test_plans_whose_kernels_take_long_are_not_recorded(
    microseconds: float, gains: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # as plans are recorded outside of these tests
    x = tf.placeholder(tf.float32, [3, 4])
    y = tf.matmul(tf.matmul(x, tf.ones([4, 4])), tf.ones([4, 5]))
    for size in range(5, 8):
        y = tf.matmul(y, tf.ones([size, size + 1]))
    with tf.Session() as session:
        for _ in range(5):
            session.run(y, {x: normal(3, 4)})
        plan, _ = session.plan_for(y, {x: normal(3, 4)})
        monkeypatch.setattr(plan_recorder, "microseconds", lambda *_: microseconds)
        recorder = plan_recorder._recorder_of(plan.generated, lambda *_: None)
    assert (recorder is not None) == gains


def test_plans_are_recorded_when_their_lists_would_have_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # as plans are recorded outside of these tests
    x = tf.placeholder(tf.float32, [3])
    different = tf.tanh(tf.reduce_sum(x) + tf.nn.softmax(x)[:2])
    equal = x
    for _ in range(200):
        equal = tf.cumsum(equal)
    runs = []
    with tf.Session() as session:
        for y in (different, equal):
            plan, _ = session.plan_for(y, {x: normal(3)})
            runs.append(plan_recorder._runs_that_pay(plan.generated.lines))
    few, many = runs
    assert few > 200
    assert many < 50


def test_a_list_reuses_memory_that_nobody_reads_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    write = call_list.CallWriter.list
    monkeypatch.setattr(
        call_list.CallWriter, "list", lambda w: (made.append(w.num_bytes), write(w))[1]
    )
    x = tf.placeholder(tf.float32, [40, 50])
    y = x
    for _ in range(80):
        y = tf.transpose(tf.matmul(y, tf.fill([int(y.shape[1]), 50], 0.02)))
    with tf.Session() as session:
        run_until_lists(session, tf.reduce_sum(y), {x: normal(40, 50)})
    # Dead values of so many bytes may wait (`side_by_side`).
    assert max(made) < (1 << 17) + 6 * 50 * 50 * 4


def test_an_interrupt_in_a_list_shows_the_program_alone() -> None:
    x = tf.placeholder(tf.float32, [32, 20], name="x")
    w = tf.get_variable("w", [20, 10])
    loss = tf.reduce_mean(tf.square(tf.nn.softmax(tf.matmul(x, w)) - 0.5))
    fetches = [tf.train.GradientDescentOptimizer(0.5).minimize(loss), loss]
    entered: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        entered.add((frame.f_code.co_filename, package))

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feed = {x: normal(32, 20)}
        sys.setprofile(note)  # from the first run on: plans, lines that are tried, lists
        try:
            run_until_lists(session, fetches, feed)
        finally:
            sys.setprofile(None)
    files = {file for file, _ in entered}
    assert {"<dataflow line>", "<dataflow list of calls>"} <= files
    # `notebook_errors` knows the engine's by these; Python writes the constructors of named tuples.
    known = ("<dataflow ", "<frozen ")
    others = [(f, p) for f, p in entered if f.startswith("<") and not f.startswith(known)]
    assert [x for x in others if x[1] != "dataflow" and not x[1].startswith("namedtuple_")] == []


def test_a_loop_with_large_products_is_a_list_each_way() -> None:
    x, w = tf.placeholder(tf.float32, [5, 40, 96]), tf.get_variable("w", [192, 192])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(96) for _ in range(2)])
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)
    loss = tf.reduce_sum(tf.square(outputs)) + tf.reduce_sum(w)
    gradients = tf.gradients(loss, tf.trainable_variables())
    fetches, feed = [loss, *gradients], {x: normal(5, 40, 96)}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(fetches, feed)
        last = run_until_lists(session, fetches, feed)[-1]
        text = source(session, fetches, feed)
    for a, b in zip(first, last, strict=True):
        np.testing.assert_array_equal(a, b)
    for body in text.split("while True")[1:]:  # all products of a round are in one list
        lists = [line for line in body.splitlines() if ".panels(" in line]
        assert len(lists) == 1 and lists[0].endswith(" nodes"), text
        assert lists[0].count(".panels(") == 4


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many calls threads may make at the same time, for each time that a writer says so."""
    found: list[int] = []
    share = call_list.CallWriter.share

    def noting(w: call_list.CallWriter, calls: Any) -> None:
        found.append(len(calls))
        share(w, calls)

    monkeypatch.setattr(call_list.CallWriter, "share", noting)
    return found


def assert_same_bits(session: Any, fetches: Any, feeds: list[Any], wanted: list[Any]) -> None:
    for feed, values in zip(feeds, wanted, strict=True):
        for a, b in zip(session.run(fetches, feed), values, strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.threads
def test_independent_lines_are_made_side_by_side(shared: list[int]) -> None:
    x, labels = tf.placeholder(tf.float32, [40, 6, 96]), tf.placeholder(tf.int32, [40, 6])
    W, U, V = (tf.get_variable(name, [96, 96]) for name in "WUV")
    h, losses = tf.zeros([40, 96]), []
    for k in range(6):
        h = tf.tanh(tf.matmul(x[:, k], W) + tf.matmul(h, U))
        losses.append(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels[:, k], logits=tf.matmul(h, V)
            )
        )
    fetches = [tf.add_n(losses), *tf.gradients(losses, [W, U, V])]
    feeds = [
        {x: normal(40, 6, 96) * scale, labels: np.arange(240).reshape(40, 6) % count}
        for scale, count in ((1, 96), (3, 7))
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        wanted = [session.run(fetches, feed) for feed in feeds]
        run_until_lists(session, fetches, feeds[0])
        assert num_threads() < 2 or max(shared, default=0) > 1
        for _ in range(20):
            assert_same_bits(session, fetches, feeds, wanted)


def test_steps_that_take_slices_of_a_large_array_are_one_list() -> None:
    x = tf.placeholder(tf.float32, [8, 500, 24])
    h = tf.zeros([8, 24])
    W = tf.get_variable("W", [24, 24])
    for k in range(12):
        h = tf.tanh(tf.matmul(x[:, k] * 0.5 + h, W))
    feeds = [{x: normal(8, 500, 24)} for _ in range(2)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        wanted = [session.run([h], feed) for feed in feeds]
        run_until_lists(session, [h], feeds[0])
        assert has_lists(session, [h], feeds[0]) == 1
        assert_same_bits(session, [h], feeds, wanted)


@pytest.mark.threads
def test_loops_that_threads_share_are_part_of_a_list(
    shared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_ufunc, "_SHARED_BYTES", 1 << 12)
    x = tf.placeholder(tf.float32, [60, 200])
    y = x
    for k in range(6):
        y = tf.nn.softplus(y * 0.5 - tf.reduce_mean(y, 0)) * (k + 1.5)
    feeds = [{x: normal(60, 200)} for _ in range(2)]
    with tf.Session() as session:
        wanted = [session.run([y], feed) for feed in feeds]
        run_until_lists(session, [y], feeds[0])
        assert num_threads() < 2 or max(shared, default=0) > 1
        assert_same_bits(session, [y], feeds, wanted)
