"""Which nodes go to a GPU, and where copies are put: seen on pretend GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.registry import cpu_only_reason
from dataflow.kernels.xp import gpus, num_pretend_gpus, pretend_gpus
from dataflow.placement.memory import memory_of
from dataflow.placement.placer import place
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan
from dataflow.runtime.stepper import record

ON_CPU = tf.ConfigProto(device_count={"GPU": 0})


@pytest.fixture(autouse=True)
def one_gpu() -> Iterator[Any]:
    with pretend_gpus(1), tf.Graph().as_default() as graph:
        yield graph


def devices_of(session: Any, fetches: Any, feeds: Any = None) -> dict[str, str]:
    """Runs, and gives for each node of the recorded run the short name of its device."""
    trace = record(session, fetches, feeds)
    return {s.op_name: s.device.rpartition("device:")[2] for s in trace.steps}


def test_pretend_gpus_hold_in_their_block_only() -> None:
    with pretend_gpus(2):
        assert num_pretend_gpus() == 2 and len(gpus()) == 2
        with pretend_gpus(0):
            assert num_pretend_gpus() == 0
        assert num_pretend_gpus() == 2
    assert num_pretend_gpus() == 1
    with pytest.raises(ValueError, match="negative"):
        pretend_gpus(-1)
    assert tf.test.pretend_gpus is pretend_gpus


def test_listed_among_the_devices() -> None:
    from dataflow.python.client import device_lib

    listed = device_lib.list_local_devices()
    assert [d.device_type for d in listed] == ["CPU", "GPU"]
    assert "pretend" in listed[1].physical_device_desc
    assert tf.test.is_gpu_available() and tf.test.gpu_device_name() == "/device:GPU:0"
    with tf.Session() as session:
        assert [d.name for d in session.list_devices()][1].endswith("/device:GPU:0")


def test_what_has_a_kernel_goes_to_the_gpu_and_the_rest_does_not() -> None:
    x = tf.constant([[1.0, 2.0]], name="x")
    y = tf.square(x, name="y")
    text = tf.as_string(y, name="text")
    with tf.Session() as session:
        found = devices_of(session, text)
        assert session.run(text)[0, 0].startswith(b"1.0")
    assert found["x"] == found["y"] == "GPU:0"
    assert found["text"] == "CPU:0"
    assert found["y/copy_to_host"] == "GPU:0"


def test_a_pin_decides() -> None:
    with tf.device("/cpu:0"):
        a = tf.constant([1.0, 2.0], name="a")
    with tf.device("/gpu:0"):
        b = tf.identity(a * 2.0, name="b")
    with tf.device("/cpu:0"):
        c = tf.identity(b, name="c")
    with tf.Session() as session:
        found = devices_of(session, c)
        assert session.run(c).tolist() == [2, 4]
    assert (found["a"], found["b"], found["c"]) == ("CPU:0", "GPU:0", "CPU:0")
    assert "a/copy_to_gpu_0" in found and "b/copy_to_host" in found


def test_a_value_is_copied_once_for_all_that_use_it() -> None:
    with tf.device("/cpu:0"):
        a = tf.placeholder(tf.float32, [3], name="a")
    with tf.device("/gpu:0"):
        total = (a + 1.0) * (a - 1.0) + a
    with tf.Session() as session:
        trace = record(session, total, {a: np.arange(3, dtype=np.float32)})
    copies = [s for s in trace.steps if s.op_type == "_CopyToDevice"]
    assert len(copies) == 1
    assert trace.result.tolist() == [-1, 1, 5]


def test_shapes_and_axes_stay_on_the_host() -> None:
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.reshape(x, [-1, tf.shape(x)[0] * 2], name="y")
    z = tf.reduce_sum(y, axis=1, name="z")
    with tf.Session() as session:
        trace = record(session, z, {x: np.ones((2, 4), np.float32)})
    assert trace.result.tolist() == [4, 4]
    kinds = [s.op_type for s in trace.steps]
    assert kinds.count("_CopyToDevice") == 1 and "_CopyToHost" not in kinds


def test_int32_arithmetic_is_the_hosts() -> None:
    a = tf.constant([1, 2, 3])
    b = tf.add(a, 1, name="b")
    memory = memory_of(b.op, lambda _: False)
    assert memory.on_host and set(memory.inputs) == set(memory.outputs) == {"host"}
    c = tf.cast(b, tf.float32)
    assert memory_of(c.op, lambda _: False).outputs == ("device",)
    with tf.Session() as session:
        assert session.run(c).tolist() == [2, 3, 4]


def test_integer_variables_and_strings_are_refused_on_a_gpu() -> None:
    with tf.device("/gpu:0"):
        count = tf.Variable(0, name="count")
        text = tf.constant("a", name="text")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            session.run(count.initializer)
        for part in ("count", "int32", "VariableV2", "/cpu:0"):
            assert part in str(e.value)
        assert "allow_soft_placement" in str(e.value) and "test_gpu_placement" in str(e.value)
        with pytest.raises(tf.errors.InvalidArgumentError, match="strings live in the host"):
            session.run(text)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(count.initializer)
        assert session.run([count, text]) == [0, b"a"]


def test_an_op_without_a_kernel_is_named() -> None:
    with tf.device("/gpu:0"):
        y, _ = tf.unique([1.0, 1.0, 2.0], name="distinct")
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"distinct.*Unique.*CPU only \(sets are built in order of first appearance",
        ):
            session.run(y)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(y).tolist() == [1, 2]


def test_ops_on_a_variable_stay_with_it() -> None:
    with tf.device("/gpu:0"):
        v = tf.Variable(tf.zeros([2]), name="v")
    with tf.device("/cpu:0"):
        step = tf.assign_add(v, [1.0, 2.0], name="step")
    with tf.Session() as session:
        session.run(v.initializer)
        assert devices_of(session, step)["step"] == "GPU:0"
        assert session.run(v).tolist() == [1, 2]


def test_a_variable_stays_where_every_op_on_it_can_run() -> None:
    """In every run, also in one without the op that has no kernel for a GPU."""
    v = tf.Variable(np.int64(3), name="v")
    step = tf.assign_add(v, 1, name="step")
    with tf.Session() as session:
        session.run(v.initializer)
        assert devices_of(session, step)["step"] == "GPU:0"
    counted = tf.count_up_to(v, 9)
    with tf.Session() as session:
        session.run(v.initializer)
        assert devices_of(session, step)["step"] == "CPU:0"
        assert session.run(counted) == 4


def test_a_variable_alone_is_where_it_is_with_every_op_on_it() -> None:
    v = tf.Variable(np.int64(3), name="v")
    devices = ["/device:CPU:0", "/device:GPU:0"]
    assert place([v.op], devices, tf.ConfigProto())[v.op] == "/device:GPU:0"
    counted = tf.count_up_to(v, 9)
    assert place([v.op], devices, tf.ConfigProto())[v.op] == "/device:CPU:0"
    assert place([v.op, counted.op], devices, tf.ConfigProto())[v.op] == "/device:CPU:0"


def test_what_a_run_sees_of_a_variable_is_not_changed_later() -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.Session() as session:
        session.run(v.initializer)
        before = session.run(v)
        session.run(tf.assign_add(v, [1.0, 1.0]))
        assert before.tolist() == [1, 2] and session.run(v).tolist() == [2, 3]


def test_placement_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    y = tf.square(tf.constant(2.0, name="x"), name="y")
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
        for _ in range(5):  # rewritten on the way
            session.run(y)
    lines = capsys.readouterr().err.splitlines()
    assert lines.count("y: (Square): /job:localhost/replica:0/task:0/device:GPU:0") == 1


def test_no_gpu_where_the_config_says_so() -> None:
    y = tf.square(tf.constant(2.0, name="x"), name="y")
    with tf.Session(config=ON_CPU) as session:
        assert set(devices_of(session, y).values()) == {""}  # as they were built: not pinned


def test_two_gpus_hand_values_over() -> None:
    with pretend_gpus(2):
        with tf.device("/gpu:0"):
            a = tf.constant([1.0, 2.0]) * 3.0
        with tf.device("/gpu:1"):
            b = a + 1.0
        with tf.Session() as session:
            trace = record(session, b)
            assert session.run(b).tolist() == [4, 7]
    copies = [s for s in trace.steps if s.op_type == "_CopyToDevice"]
    assert [s.device.rpartition("device:")[2] for s in copies] == ["GPU:1"]


def test_copies_are_seen_in_run_metadata() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.square(x, name="y")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: [1.0, 2.0]}, options=options, run_metadata=metadata)
    names = {n.node_name: d.device for d in metadata.step_stats.dev_stats for n in d.node_stats}
    copy = next(name for name in names if name.endswith("copy_to_gpu_0"))
    assert copy == "x/copy_to_gpu_0" and names[copy].endswith("GPU:0")


def train(config: Any, optimizer: Any) -> tuple[list[float], np.ndarray]:
    with tf.Graph().as_default():
        return _train(config, optimizer)


def _train(config: Any, optimizer: Any) -> tuple[list[float], np.ndarray]:
    tf.set_random_seed(3)
    rng = np.random.RandomState(0)
    data = rng.rand(64, 8, 8, 1).astype(np.float32)
    target = rng.randint(0, 3, 64)
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    labels = tf.placeholder(tf.int64, [None])
    h = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
    h = tf.layers.batch_normalization(h, training=True)
    h = tf.layers.flatten(tf.layers.max_pooling2d(h, 2, 2))
    logits = tf.layers.dense(tf.nn.dropout(h, 0.9, seed=5), 3)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
    step = optimizer().minimize(loss, global_step=tf.train.get_or_create_global_step())
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        losses = []
        for i in range(6):
            part = slice(8 * i, 8 * i + 8)
            feeds = {x: data[part], labels: target[part]}
            losses.append(session.run([loss, accuracy, step], feeds)[0])
        assert session.run(tf.train.get_global_step()) == 6
        return losses, session.run(tf.trainable_variables()[0])


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        lambda: tf.train.AdamOptimizer(0.01),
        lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5, centered=True),
        lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    ],
    ids=["sgd", "nesterov", "adam", "rmsprop", "ftrl"],
)
def test_training_on_the_gpu_is_training_on_the_cpu(optimizer: Any) -> None:
    losses, weights = train(None, optimizer)
    expected, expected_weights = train(ON_CPU, optimizer)
    np.testing.assert_allclose(losses, expected, rtol=2e-4)
    np.testing.assert_allclose(weights, expected_weights, rtol=2e-3, atol=2e-5)


def test_waiting_for_what_is_fed() -> None:
    """A fed node that others wait for is among the nodes of a rewritten plan."""
    x = tf.placeholder(tf.float32, [2], name="x")
    fed = tf.square(x, name="fed")
    with tf.control_dependencies([fed]):
        y = tf.add(tf.multiply(x, 2.0), 0.0, name="y")
    z = y + fed
    with tf.Session() as session:
        for _ in range(5):
            assert session.run([y, z], {x: [1, 2], fed: [5, 6]})[1].tolist() == [7, 10]


def test_loops_and_branches_on_the_gpu() -> None:
    x = tf.placeholder(tf.float32, [2])

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.reduce_sum(y) < 20.0, lambda: y * 2.0, lambda: y - 1.0)

    _, y = tf.while_loop(lambda i, _: i < 5, body, [tf.constant(0), x])
    slope = tf.gradients(y, x)[0]
    feeds = {x: np.array([1.0, 2.0], np.float32)}
    with tf.Session() as session, tf.Session(config=ON_CPU) as plain:
        for got, want in zip(
            session.run([y, slope], feeds), plain.run([y, slope], feeds), strict=True
        ):
            np.testing.assert_array_equal(got, want)


def test_branches_on_one_predicate_copy_it_once() -> None:
    """Each conditional has an Identity of its own of the predicate: the host tests what is behind."""
    x = tf.placeholder(tf.float32, [2])
    positive = tf.greater(tf.reduce_sum(x), 0.0, name="positive")
    y = tf.cond(positive, lambda: x * 2.0, lambda: x - 1.0)
    z = tf.cond(positive, lambda: x * 3.0, lambda: x + 1.0)
    with tf.Session() as session:
        trace = record(session, [y, z], {x: [1.0, 2.0]})
    assert [a.tolist() for a in trace.result] == [[2, 4], [3, 6]]
    copied = [s.op_name for s in trace.steps if s.op_type == "_CopyToHost"]
    assert copied.count("positive/copy_to_host") == 1
    assert not any("pred_id" in name for name in copied)


def test_embeddings_and_sparse_updates_on_the_gpu() -> None:
    def run(config: Any) -> Any:
        table = tf.get_variable("table", initializer=np.arange(12, dtype=np.float32).reshape(6, 2))
        rows = tf.nn.embedding_lookup(table, [1, 4, 1])
        step = tf.train.AdagradOptimizer(0.5).minimize(tf.reduce_sum(tf.square(rows)))
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(4):
                session.run(step)
            return session.run(table)

    result = run(None)
    with tf.Graph().as_default():
        np.testing.assert_allclose(result, run(ON_CPU), rtol=1e-6)


def test_queues_and_callables_feed_a_gpu() -> None:
    queue = tf.FIFOQueue(4, [tf.float32], shapes=[[2]])
    put = queue.enqueue_many([[[1.0, 2.0], [3.0, 4.0]]])
    y = tf.square(queue.dequeue(), name="y")
    x = tf.placeholder(tf.float32, [2])
    z = x + 1.0
    with tf.Session() as session:
        session.run(put)
        assert session.run(y).tolist() == [1, 4]
        call = session.make_callable(z, [x])
        assert [call(np.float32([i, i])).tolist() for i in range(4)][3] == [4, 4]


def test_an_error_of_a_kernel_names_the_users_node() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.placeholder(tf.float32, [None, 2], name="w")
    y = tf.matmul(x, w, name="product")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="product") as e:
            session.run(y, {x: np.ones((2, 3)), w: np.ones((4, 2))})
    assert e.value.op is y.op


def test_a_gpu_without_memory_says_who_holds_it_and_the_session_goes_on() -> None:
    with pretend_gpus(1, memory_bytes=200_000):
        w = tf.get_variable("w", initializer=np.ones((100, 200), np.float32))
        x = tf.placeholder(tf.float32, [None, 100], name="x")
        y = tf.matmul(x, w, name="product")
        with tf.Session() as session:
            session.run(w.initializer)
            with pytest.raises(tf.errors.ResourceExhaustedError) as e:
                session.run(y, {x: np.ones((50, 100))})
            for part in ("MatMul 'product'", "40,000 bytes", "limit set to: 200,000", "'w' 0.1 MB"):
                assert part in str(e.value)
            assert e.value.op is y.op
            assert session.run(y, {x: np.ones((1, 100))})[0, 0] == 100
            assert tf.test.is_gpu_available()
        from dataflow.runtime.devices import list_local_devices

        assert list_local_devices()[1].memory_limit == 200_000


def test_the_stepper_and_the_timeline_show_copies() -> None:
    from dataflow_widgets import GraphView, Stepper, Timeline

    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.square(x, name="y")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        stepper = Stepper(session, y, {x: [1.0, 2.0]})
        stepper.record({x: [3.0, 4.0]})
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: [1.0, 2.0]}, options=options, run_metadata=metadata)
        view = GraphView()
        assert view.profile(session, y, {x: [1.0, 2.0]}).tolist() == [1, 4]
        view.close()
    nodes = {n["name"]: n for n in stepper._nodes}
    assert nodes["x/copy_to_gpu_0"]["inputs"] == ["x:0"]
    assert nodes["y"]["inputs"] == ["x/copy_to_gpu_0:0"]
    assert "_CopyToDevice x/copy_to_gpu_0: [1.0, 2.0]" in stepper.describe()
    labels = [n.timeline_label for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert "y = Square(x/copy_to_gpu_0)" in labels
    assert "GPU:0" in Timeline(metadata).describe()


def types_of(session: Any, fetches: Any, feeds: Any = None) -> list[str]:
    return [s.op_type for s in record(session, fetches, feeds).steps]


def test_what_runs_on_the_host_only_stays_on_the_cpu_it_is_pinned_to() -> None:
    with tf.device("/cpu:1"):
        text = tf.as_string(tf.constant([1.0]), name="text")
    other = tf.as_string(tf.constant([2.0]), name="other")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        found = devices_of(session, [text, other])
    assert (found["text"], found["other"]) == ("CPU:1", "CPU:0")


def test_an_error_names_who_is_pinned_and_who_keeps_it_from_there() -> None:
    with tf.device("/gpu:0"):
        v = tf.Variable(np.int64(3), name="v")
        counted = tf.count_up_to(v, 9, name="counted")
        values = tf.constant([1.0, 1.0], name="values")
        with tf.colocate_with(values):
            distinct, _ = tf.unique(values, name="distinct")
        alone, _ = tf.unique(values + 1.0, name="alone")
    for fetched, pinned, kind, beside in (
        (counted, "v", "CountUpTo with T=int64 runs", "It stays with 'counted'"),
        (distinct, "values", "Unique with T=float32, out_idx=int32", "It stays with 'distinct'"),
        (alone, "alone", "Unique with", None),
    ):
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as e:
            session.run(fetched)
        assert e.value.op.name == pinned
        assert f"operation {pinned}:" in str(e.value) and kind in str(e.value)
        assert ("It stays with" in str(e.value)) is (beside is not None)
        assert beside is None or beside in str(e.value)


def test_types_without_kernels_stay_on_the_host() -> None:
    x = tf.constant([1.0, 2.0], name="x")
    short = tf.cast(x, tf.bfloat16, name="short")
    few, _, _ = tf.quantize(x, 0.0, 2.0, tf.quint8, name="few")
    byte = tf.cast(x, tf.uint8, name="byte")
    with tf.Session() as session:
        assert devices_of(session, [tf.cast(short, tf.float32), few])["short"] == "CPU:0"
        assert devices_of(session, few)["few"] == "CPU:0"
        assert devices_of(session, byte)["byte"] == "GPU:0"  # a type that has kernels
    with tf.device("/gpu:0"):
        pinned = tf.cast(x, tf.bfloat16)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="no kernels for bfloat16"):
            session.run(pinned)


def test_a_shape_is_asked_for_where_the_value_is() -> None:
    with tf.device("/cpu:0"):
        y = tf.add(tf.placeholder(tf.float32, [None], name="x"), 1.0, name="y")
    with tf.device("/gpu:0"):
        size = tf.shape(y, name="size")
    with tf.Session() as session:
        kinds = types_of(session, size, {"x:0": [1.0, 2.0]})
    assert "Shape" in kinds and not any(kind.startswith("_Copy") for kind in kinds)


def test_a_fed_predicate_is_tested_where_it_is() -> None:
    """Not copied to the GPU, for the Identity in front of the switches, and back again."""
    x = tf.placeholder(tf.float32, [2])
    which = tf.placeholder(tf.bool, [])
    y = tf.cond(which, lambda: x * 2.0, lambda: x - 1.0)
    with tf.Session() as session:
        for value, want in ((True, [2, 4]), (False, [0, 1])):
            trace = record(session, y, {x: [1.0, 2.0], which: value})
            assert trace.result.tolist() == want
            assert "_CopyToHost" not in [s.op_type for s in trace.steps]


@pytest.mark.parametrize("where", ["/gpu:1", "/cpu:0", ""])
def test_an_op_comes_to_the_variable_that_it_changes_from_where_it_is_pinned(where: str) -> None:
    with pretend_gpus(2):
        with tf.device("/gpu:0"):
            before = tf.square(2.0, name="before")
        with tf.device(where):
            v = tf.get_variable("v", initializer=np.float32([1.0]))
        with tf.device("/gpu:0"):
            changed = tf.assign_add(v, [1.0], name="changed")
        with tf.Session() as session:
            session.run(v.initializer)
            found = devices_of(session, [changed, before])
    wanted = {"/gpu:1": "GPU:1", "/cpu:0": "CPU:0", "": "GPU:0"}[where]
    assert found["changed"] == wanted and found["before"] == "GPU:0"


def test_beside_others_only_what_has_no_kernel_there_leaves_the_gpu() -> None:
    x = tf.constant([1.0, 2.0], name="x")
    with tf.colocate_with(x.op):
        text = tf.as_string(x, name="text")
    with tf.Session() as session:
        found = devices_of(session, text)
        assert session.run(text).tolist() == [b"1.000000", b"2.000000"]
    assert (found["x"], found["text"]) == ("GPU:0", "CPU:0")


def test_a_kernel_that_a_gpu_has_not_is_refused_with_the_reason() -> None:
    text = tf.as_string(tf.constant(1.0), name="text")
    with tf.Session() as session:
        plan = Plan(session, FetchPlan(session.graph, text, session), [])
        with pytest.raises(tf.errors.UnimplementedError) as e:
            plan.bind_kernel(text.op, "gpu:0")
    reason = cpu_only_reason("AsString")
    assert reason
    assert f"There is no gpu kernel for AsString (node 'text'): {reason}" in str(e.value)
    assert "test_gpu_placement" in str(e.value)
