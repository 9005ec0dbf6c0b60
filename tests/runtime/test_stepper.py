"""`record`: a run node by node, and what is kept of its values."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime import stepper
from dataflow.runtime.codegen import DEAD
from dataflow.runtime.stepper import record
from dataflow.runtime.value_sample import ValueSample, not_finite, sample_of

pytestmark = pytest.mark.usefixtures("graph")


def test_handles_have_no_value_to_show() -> None:
    queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]], name="queue")
    put, taken = queue.enqueue(3.0), queue.dequeue(name="taken")
    with tf.Session() as session:
        session.run(put)
        steps = {s.op_name: s.outputs for s in record(session, taken).steps}
    assert steps["taken"] == [3.0]
    assert steps["queue"] == [None]


def test_the_traced_plan_is_made_once_for_each_combination() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    doubled = tf.multiply(x, 2.0, name="doubled")
    with tf.Session() as session:
        made = []
        for value in (1.0, 2.0, 3.0):
            assert record(session, doubled, {x: value}).result == 2 * value
            (plan,) = session._plans.values()
            made.append(stepper._traced_plans[plan][True])
        assert made[0] is made[1] is made[2]
        record(session, tf.add(doubled, 1.0), {x: 1.0})  # the graph grew
        assert len(session._plans) == 2


def test_state_changes_as_in_a_run() -> None:
    v = tf.Variable(1.0, name="v")
    bump = tf.assign_add(v, 1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        for number, values in enumerate((True, "sampled", "sizes", False)):
            assert record(session, bump, values=values).result == 2.0 + number
        assert session.run(v) == 5.0


def test_whole_values_are_copies() -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    bump = tf.assign_add(v, [1.0, 1.0])
    with tf.Session() as session:
        session.run(v.initializer)
        trace = record(session, [v, bump])
        before = {s.op_name: s.outputs[0].tolist() for s in trace.steps}
        session.run(bump)
        assert before[bump.op.name] == [2.0, 3.0]
        assert {s.op_name: s.outputs[0].tolist() for s in trace.steps} == before


@pytest.mark.parametrize("values", ["sampled", "sizes"])
def test_large_values_are_not_kept(values: str) -> None:
    x = tf.placeholder(tf.float32, [300, 400], name="x")
    with tf.Session() as session:
        trace = record(session, tf.negative(x, name="y"), {x: np.ones([300, 400])}, values=values)
    (step,) = [s for s in trace.steps if s.op_name == "y"]
    (kept,) = step.outputs
    assert isinstance(kept, ValueSample)
    assert (kept.shape, kept.nbytes, kept.size) == ((300, 400), 480_000, 120_000)
    assert not kept.is_whole
    if values == "sampled":
        assert kept.sample.size <= 24 * 32
        assert set(kept.sample.ravel()) == {-1.0}
    else:
        assert kept.sample is None


def test_a_node_that_only_a_control_edge_asks_for_is_in_the_full_recording_alone() -> None:
    a = tf.constant(1.0, name="a")
    unread = tf.negative(a, name="unread")
    with tf.control_dependencies([unread]):
        b = tf.add(a, 1.0, name="b")
    with tf.Session() as session:
        full = [s.op_name for s in record(session, b).steps]
        lean = [s.op_name for s in record(session, b, values="sizes").steps]
        config = tf.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(config=config) as session:
        plain = [s.op_name for s in record(session, b, values="sizes").steps]
    assert "unread" in full
    assert "unread" not in lean
    assert "b" in lean
    assert plain == full


@pytest.mark.parametrize("values", [True, "sampled"])
def test_an_error_names_the_users_node(values: object) -> None:
    x = tf.placeholder(tf.int32, [], name="x")
    y = tf.floordiv(tf.constant([1, 2]), x, name="quotient")
    z = tf.add(y, 1)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            record(session, z, {x: 0}, values=values)
        assert error.value.op is y.op
        trace = record(session, z, {x: 0}, values=values, catch=True)
        assert trace.error.op is y.op
        assert z.op.name not in [s.op_name for s in trace.steps]


@pytest.mark.parametrize("shape", [(), (5,), (64,), (65,), (30, 40), (3, 50, 60), (0, 7), (7, 0)])
def test_samples_of_every_shape(shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    kept = sample_of(array)
    assert (kept.shape, kept.nbytes) == (shape, array.nbytes)
    assert kept.is_whole == (array.size <= 64)
    assert set(kept.sample.ravel()) <= set(array.ravel())
    if array.size > 64:
        assert kept.sample.ravel()[0] == 0
        assert 0 < kept.sample.size <= 24 * 32


def test_samples_of_values_that_are_not_in_one_piece() -> None:
    array = np.arange(6000.0).reshape(30, 20, 10).transpose(2, 0, 1)
    kept = sample_of(array)
    assert kept.sample.shape[0] <= 24
    assert kept.sample[0].tolist() == array[0, 0].tolist()
    assert set(kept.sample.ravel()) <= set(array.ravel())


def test_not_finite_is_exact() -> None:
    array = np.full((100, 100), 1e30, np.float32)  # whose squares overflow
    assert not_finite(array) == (0, 0)
    array[3, 4] = np.nan
    array[50, :] = -np.inf
    assert not_finite(array) == (1, 100)
    assert not_finite(np.arange(5)) == (0, 0)
    assert not_finite(np.array(np.nan, np.float16)) == (1, 0)
    assert not_finite(array.T) == (1, 100)


@pytest.mark.parametrize("taken", [True, False])
def test_the_output_of_a_switch_that_is_not_taken_is_dead(taken: bool) -> None:
    flag = tf.placeholder(tf.bool, [])
    x = tf.constant(9.0)
    y = tf.cond(flag, lambda: tf.sqrt(x), lambda: -x)
    with tf.Session() as session:
        steps = record(session, y, {flag: taken}).steps
    switches = [step.outputs for step in steps if step.op_type == "Switch"]
    assert len(switches) == 2  # of x, once for each branch
    for outputs in switches:
        assert outputs[not taken] is None
        assert outputs[taken] is not None


@pytest.mark.parametrize("check", [True, False])
def test_nan_and_infinities_are_counted_when_asked(check: bool) -> None:
    sample = sample_of(np.array([np.nan, np.inf, -np.inf, 1.0]), check)
    assert (sample.num_nan, sample.num_inf) == ((1, 2) if check else (0, 0))


def test_what_is_not_finite_is_counted_at_every_node() -> None:
    """A value that is handed on is looked at once; the next one anew."""
    x = tf.placeholder(tf.float32, [3], name="x")
    logs = tf.log(x, name="logs")
    same = tf.reshape(logs, [3], name="same")
    mended = tf.where(x > 0.0, same, tf.zeros([3]), name="mended")
    broken = tf.divide(mended, x, name="broken")
    with tf.Session() as session:
        trace = record(session, [same, broken], {x: [1.0, 0.0, -1.0]}, values="sampled")
    counts = {s.op_name: [(v.num_nan, v.num_inf) for v in s.outputs] for s in trace.steps}
    assert counts["logs"] == counts["same"] == [(1, 1)]
    assert counts["mended"] == [(0, 0)] and counts[broken.op.name] == [(1, 0)]


def test_text_is_recorded_and_truth_values_and_whole_numbers() -> None:
    words = tf.string_join([tf.placeholder(tf.string, [], name="x"), "b"], name="words")
    one = tf.strings.length(words, name="one")
    with tf.Session() as session:
        trace = record(session, [words, one], {"x:0": "gr\u00fcn"})
        steps = {s.op_name: s.outputs[0] for s in trace.steps}
    assert steps["words"].dtype == object and steps["words"][()] == "gr\u00fcnb".encode()
    assert steps["one"] == 6 and steps["one"].shape == () and steps["one"].dtype == np.int32


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (None, None),
        (DEAD, None),
        ([1, 2], None),  # a list of tensors
        (b"text", b"text"),
        ("text", "text"),
        (np.float32(2.0), 2.0),
        (np.bool_(True), True),
    ],
)
def test_what_is_kept_of_a_value(value: object, kept: object) -> None:
    got = stepper.copy_on_host(value)
    if kept is None:
        assert got is None
    else:
        assert type(got) is np.ndarray and got.shape == () and got[()] == kept


def test_a_recording_says_when_each_node_ran() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.exp(tf.sin(x, name="first"), name="second")
    tf.square(x, name="unused")
    with tf.Session() as session:
        trace = record(session, y, {x: 1.0})
    assert [s.op_name for s in trace.steps] == ["first", "second"]
    first, second = trace.steps
    assert 0 <= first.start_seconds <= second.start_seconds and trace.started > 1e9
    assert min(first.seconds, second.seconds) >= 0
    assert (trace.fetches, trace.feeds, trace.feed_values) == (["second:0"], ["x:0"], {"x:0": 1.0})
    assert trace.needed == {"first", "second"} and trace.pruned == {"x", "unused"}
    assert (trace.error, trace.copies, trace.inputs, trace.messages) == (None, (), {}, ())


def test_a_recording_that_fails_keeps_what_came_before() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.sin(tf.check_numerics(tf.log(x, name="logs"), "no number", name="checked"))
    with tf.Session() as session:
        trace = record(session, y, {x: -1.0}, catch=True)
        assert [s.op_name for s in trace.steps] == ["logs"] and trace.result is None
        assert isinstance(trace.error, tf.errors.InvalidArgumentError)
        assert trace.error.op is y.op.inputs[0].op
        with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
            record(session, y, {x: -1.0})
        assert record(session, y, {x: 1.0}).result == 0.0
