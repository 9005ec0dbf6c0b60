"""Servers and sessions on them: names, placement, variables, sharing, errors, ends."""

import os
import threading
import time

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.management.own_task import visible_tasks
from dataflow.cluster.management.server import Server
from dataflow.cluster_spec import ClusterSpec
from tests.cluster.conftest import KEY, LocalCluster
from tests.cluster.execution.token_steps import token_step

pytestmark = pytest.mark.usefixtures("no_gpus")


def counter(name="counter", value=0.0):
    """A variable on the parameter server and an op that adds one to it from worker 0."""
    with tf.device("/job:ps/task:0"):
        variable = tf.Variable(np.float32(value), name=name)
    with tf.device("/job:worker/task:0"):
        one = tf.identity(tf.constant(1.0), name=f"{name}_one")
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(variable, one)
    return variable, step


def test_pieces_run_where_they_are_pinned(cluster):
    variable, step = counter()
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(variable.initializer)
        assert session.run(step) == 1.0
        assert session.run([step]) == [2.0]
        assert session.run([variable, variable]) == [2.0, 2.0]
        tasks = session.remote.tasks(step)
        assert tasks["counter"] == tasks["AssignAdd"] == "/job:ps/task:0"
        assert tasks["counter_one"] == "/job:worker/task:0"
        trace = session.remote.record(step)
        devices = {s.op_name: s.device for s in trace.steps}
        assert devices["AssignAdd"] == "/job:ps/replica:0/task:0/device:CPU:0"
        assert devices["counter_one"] == "/job:worker/replica:0/task:0/device:CPU:0"
        assert trace.result == 3.0
    assert cluster["ps:0"].status()["variables"] == 1
    assert cluster["worker:0"].status()["variables"] == 0


def test_run_metadata_has_a_lane_for_each_task(cluster):
    pytest.importorskip("tensorboard", reason="tensorboard has the messages: pip install '.[test]'")
    with tf.device("/job:worker/task:0"):
        first = tf.random_normal([20, 20], name="layer_0")
    with tf.device("/job:worker/task:1"):
        second = tf.matmul(first, first, name="layer_1")
    with tf.device("/job:ps/task:0"):
        loss = tf.reduce_sum(second, name="loss")
    metadata = tf.RunMetadata()
    with tf.Session(cluster["worker:0"].target) as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(loss, options=options, run_metadata=metadata)
    lanes = {
        stats.device: {node.node_name: node for node in stats.node_stats}
        for stats in metadata.step_stats.dev_stats
    }
    device = "/job:{}/replica:0/task:{}/device:CPU:0".format
    assert {name for name, nodes in lanes.items() if "layer_1" in nodes} == {device("worker", 1)}
    layers = [
        lanes[device("worker", 0)]["layer_0"],
        lanes[device("worker", 1)]["layer_1"],
        lanes[device("ps", 0)]["loss"],
    ]
    # One after the other, as the layers of a pipeline are.
    starts = [node.all_start_micros for node in layers]
    assert starts == sorted(starts)
    assert "layer_1" in layers[1].timeline_label


def test_the_timeline_shows_both_layers_of_a_pipeline_at_work(cluster):
    pytest.importorskip("tensorboard", reason="tensorboard has the messages: pip install '.[test]'")
    results = []
    for number in range(8):
        with tf.device("/job:worker/task:0"):
            part = tf.random_normal([700, 700], seed=number)
            first = tf.matmul(part, part, name=f"layer_0_of_{number}")
        with tf.device("/job:worker/task:1"):
            results.append(tf.matmul(first, first, name=f"layer_1_of_{number}"))
    metadata = tf.RunMetadata()
    with tf.Session(cluster["ps:0"].target) as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run([r.op for r in results], options=options, run_metadata=metadata)
    nodes = {
        node.node_name: node
        for stats in metadata.step_stats.dev_stats
        for node in stats.node_stats
        if node.node_name.startswith("layer")
    }
    assert len(nodes) == 16
    ends = {name: n.all_start_micros + n.all_end_rel_micros for name, n in nodes.items()}
    for number in range(8):
        assert nodes[f"layer_1_of_{number}"].all_start_micros >= ends[f"layer_0_of_{number}"]
    begun = min(n.all_start_micros for name, n in nodes.items() if name.startswith("layer_1"))
    last = max(end for name, end in ends.items() if name.startswith("layer_0"))
    assert begun < last, "worker 1 waited for the whole batch"


def test_reads_that_came_with_the_last_answer_miss_nothing_done_since(
    cluster, monkeypatch, used_reads
):
    from dataflow.cluster.execution import prefetch

    used = used_reads
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=1.0)
        reset = tf.assign(w, 1.0)
    with tf.device("/job:worker/task:0"):
        gradient = tf.multiply(w, 1.0)
    with tf.device("/job:ps/task:0"):
        double = tf.assign_add(w, gradient)
    with (
        tf.Session(cluster["worker:0"].target) as session,
        tf.Session(cluster["worker:1"].target) as other,
    ):
        session.run(w.initializer)
        assert [session.run(double) for _ in range(20)] == [2.0**n for n in range(1, 21)]
        assert any(used), "no step began with what the last one had brought"
        used.clear()
        for _ in range(5):  # another session of this process comes between
            other.run(reset)
            assert session.run(double) == 2.0
        assert not any(used)
        monkeypatch.setattr(prefetch, "PREFETCH_SECONDS", 0.0)
        session.run([double, double])
        session.run(double)
        assert not any(used), "reads were used that are too old"


def test_a_token_brings_the_reads_of_the_next_step(cluster, monkeypatch, used_reads):
    """As in synchronous training: push, wait for a token, and go on with what came with it."""
    from dataflow.cluster.transport import connection as connection_module

    held, send = [], connection_module.Connection.send

    def counted_send(self, *args, **options):
        held.append(len(args) > 7 and args[7])
        send(self, *args, **options)

    monkeypatch.setattr(connection_module.Connection, "send", counted_send)
    step, w, local, tokens = token_step()
    with tf.device("/job:ps/task:0"):
        put = tokens.enqueue_many([[float(n) for n in range(10)]])
    with tf.Session(cluster["worker:0"].target) as session:
        session.run([w.initializer, local.initializer, put])
        value, last = 1.0, 0.0
        for n in range(10):
            assert session.run(step) == n
            value, last = 2 * value + last, n
        assert used_reads[1:] == [True] * 9
        assert any(held), "the local step went out by itself"
        assert session.run(w) == value
        session.run(put)
        assert session.run(step) == 0.0  # other things were run: the reads are made anew
        assert not used_reads[-1]
        assert session.run(w) == 2 * value + last


def test_the_nodes_of_synchronous_training_are_known_as_what_they_are(cluster):
    """Looking up its accumulators and queue can be done ahead; its updates take no longer than a pass."""
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=tf.zeros([3]))
        global_step = tf.train.get_or_create_global_step()
    with tf.device("/job:worker/task:0"):
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
        train = optimizer.apply_gradients([(tf.negative(w), w)], global_step)
    (chief,) = optimizer.get_chief_queue_runner().enqueue_ops
    service = cluster["ps:0"].service
    with tf.Session(cluster["worker:0"].target) as session:
        master = session.remote.backend.master
        (remote,) = master.prepare([], [train.op], []).remotes
        assert remote.prefetch_channels is not None
        assert all(service._partitions[remote.handle].partition.inline_safe)
        (remote,) = master.prepare([], [chief], []).remotes
        assert all(service._partitions[remote.handle].partition.inline_safe)


@pytest.mark.threads
def test_synchronous_training_with_a_rate_that_decays(cluster):
    """The rate is computed on the worker: the chief's step reads for it, and then waits for gradients."""
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=tf.ones([3]))
        global_step = tf.Variable(0, trainable=False)
    with tf.device("/job:worker/task:0"):
        rate = tf.train.exponential_decay(0.1, global_step, 10, 0.5)
        inner = tf.train.GradientDescentOptimizer(rate)
        optimizer = tf.train.SyncReplicasOptimizer(inner, 1, total_num_replicas=1)
        train = optimizer.apply_gradients([(tf.identity(w), w)], global_step)
    runner = optimizer.get_chief_queue_runner()
    ready = [tf.global_variables_initializer(), tf.local_variables_initializer()]
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(ready)
        coord = tf.train.Coordinator()
        threads = runner.create_threads(session, coord, daemon=True, start=True)
        session.run(optimizer.get_init_tokens_op(0))
        options = tf.RunOptions(timeout_in_ms=20_000)
        for step in range(1, 6):  # each gradient is as new as the step: none is dropped
            session.run(train, options=options)
            assert session.run(optimizer._local_step) == step
        coord.request_stop()
    coord.join(threads, stop_grace_period_secs=10)


def test_variables_live_on_their_task_and_are_shared(cluster):
    variable, step = counter()
    with tf.Session(cluster["worker:0"].target) as first:
        first.run(variable.initializer)
        first.run(step)
        with tf.Session(cluster["worker:1"].target) as second:
            assert second.run(variable) == 1.0
            second.run(step)
        assert first.run(variable) == 2.0
    with tf.Session(cluster["ps:0"].target) as third:
        assert third.run(variable) == 2.0
    tf.Session.reset(cluster["worker:1"].target)
    with tf.Session(cluster["ps:0"].target) as fourth:
        with pytest.raises(tf.errors.FailedPreconditionError, match="counter"):
            fourth.run(variable)


def test_a_reset_ends_the_sessions_on_its_target(cluster):
    variable, step = counter()
    queue = tf.FIFOQueue(1, tf.float32, [], shared_name="never filled")
    waiting = queue.dequeue()
    ended, errors = tf.Session(cluster["worker:0"].target), []

    def wait():
        try:
            ended.run(waiting)
        except tf.errors.OpError as error:
            errors.append(type(error))

    ended.run(variable.initializer)
    assert ended.run(step) == 1.0
    thread = threading.Thread(target=wait)
    thread.start()
    deadline = time.monotonic() + 60
    while "never filled" not in cluster["worker:0"].status()["queues"]:
        assert time.monotonic() < deadline and thread.is_alive()
        time.sleep(0.01)
    tf.Session.reset(cluster["worker:0"].target)
    thread.join(20)
    assert errors == [tf.errors.CancelledError]
    for fetch in (variable, step, variable.initializer):
        with pytest.raises(
            tf.errors.AbortedError, match="ended by tf.Session.reset on /job:worker"
        ):
            ended.run(fetch)
    ended.close()
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(variable.initializer)
        assert session.run(step) == 1.0


@pytest.mark.parametrize("num_runs", [1, 30])
def test_a_session_on_another_task_goes_on_after_a_reset(cluster, num_runs):
    """It finds no value, and then shares that of those who made one: plans that it kept hold no variable of before."""
    variable, step = counter()
    with tf.Session(cluster["worker:1"].target) as other:
        other.run(variable.initializer)
        for _ in range(num_runs):
            other.run(step)
        tf.Session.reset(cluster["worker:0"].target)
        for fetch in (variable, step):
            with pytest.raises(tf.errors.FailedPreconditionError, match="counter"):
                other.run(fetch)
        with tf.Session(cluster["worker:0"].target) as session:
            session.run(variable.initializer)
            session.run(step)
            other.run(step)
            assert session.run(variable) == other.run(variable) == 2.0


def test_after_a_reset_a_variable_may_be_of_another_shape_and_type(cluster):
    for value in (1.0, [1, 2, 3]):
        with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
            variable = tf.Variable(value, name="of_two_kinds")
            with tf.Session(cluster["worker:0"].target) as session:
                session.run(variable.initializer)
                assert session.run(variable).tolist() == value
        tf.Session.reset(cluster["worker:0"].target)


def test_placements_are_logged_once_for_what_is_run(cluster, capsys):
    variable, step = counter()
    config = tf.ConfigProto(log_device_placement=True)
    with tf.Session(cluster["worker:0"].target, config=config) as session:
        session.run(variable.initializer)
        capsys.readouterr()
        session.run(step)
        logged = capsys.readouterr().err
        assert "AssignAdd: (AssignAdd): /job:ps/replica:0/task:0/device:CPU:0" in logged
        assert "counter_one: (Identity): /job:worker/replica:0/task:0/device:CPU:0" in logged
        session.run(step)
        assert not capsys.readouterr().err


def test_feeds_and_fetches_of_every_kind(cluster):
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        doubled = tf.add(x, x, name="doubled")
    with tf.device("/job:ps/task:0"):
        text = tf.placeholder(tf.string, [2], name="text")
        same_text = tf.identity(text)
        flag = tf.identity(tf.constant([True, False]))
    value = np.arange(6, dtype=np.float32).reshape(3, 2)
    feeds = {x: value, text: ["grün", b"\x00"]}
    with tf.Session(cluster["worker:0"].target) as session:
        result = session.run(
            {"d": doubled, "x": x, "rest": (same_text, [flag, "doubled:0"]), "op": doubled.op},
            feeds,
        )
        np.testing.assert_array_equal(result["d"], 2 * value)
        np.testing.assert_array_equal(result["x"], value)
        assert result["rest"][0].tolist() == ["grün".encode(), b"\x00"]
        assert result["rest"][1][0].tolist() == [True, False]
        assert result["op"] is None
        # Feeding what is in between cuts what comes before it off.
        assert session.run(doubled, {doubled: [[7.0, 7.0]]}).tolist() == [[7, 7]]
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\)"):
            session.run(doubled, {x: [1.0, 2.0, 3.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="feed.*'x'|'x'.*feed"):
            session.run(doubled)
        np.testing.assert_array_equal(session.run(doubled, feeds), 2 * value)


def test_one_transfer_per_tensor_and_destination(cluster):
    with tf.device("/job:ps/task:0"):
        source = tf.identity(tf.constant([1.0, 2.0]), name="source")
    with tf.device("/job:worker/task:1"):
        uses = [tf.add(source, float(i)) for i in range(5)]
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(uses)
        prepared = next(iter(session.remote._combinations.values())).prepared
        segments = [
            s for remote in prepared.remotes if remote.task == "/job:ps/task:0" for s in [remote]
        ]
        assert len(segments) == 1
    from dataflow.cluster.partition.partitioner import partition_graph

    cut = partition_graph(uses, [], [], sorted(cluster.servers), "/job:worker/task:0")
    transfers = [t for s in cut.partitions["/job:ps/task:0"].segments for t in s.transfers]
    assert [(t.task, len(t.slots)) for t in transfers] == [("/job:worker/task:1", 1)]


def test_values_go_straight_from_task_to_task(cluster):
    with tf.device("/job:worker/task:1"):
        a = tf.identity(tf.constant(np.ones(100_000, np.float32)), name="a")
    with tf.device("/job:ps/task:0"):
        b = tf.add(a, 1.0)
    with tf.device("/job:worker/task:1"):
        c = tf.add(b, 1.0)[:3]
    with tf.device("/job:worker/task:0"):
        d = tf.add(c, 1.0)
    with tf.Session(cluster["worker:0"].target) as session:
        for _ in range(5):
            assert session.run(d).tolist() == [4, 4, 4]
    # The master (worker 0) saw three numbers a step, not a hundred thousand.
    assert cluster["worker:0"].status()["received_bytes"] < 10_000


def test_control_dependencies_across_tasks(cluster):
    with tf.device("/job:ps/task:0"):
        a = tf.Variable(0.0, name="a")
        set_a = tf.assign(a, 5.0)
    with tf.device("/job:worker/task:1"):
        with tf.control_dependencies([set_a]):
            b = tf.Variable(0.0, name="b")
            set_b = tf.assign(b, 7.0)
    with tf.device("/job:ps/task:0"):
        with tf.control_dependencies([set_b]):
            read = tf.identity(a)
    everything = tf.group(set_b, read.op)
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(everything)
        assert session.run([a, b]) == [5.0, 7.0]
        assert session.run(read) == 5.0


def test_loops_and_conditionals_run_in_one_place_and_values_cross(cluster):
    with tf.device("/job:ps/task:0"):
        n = tf.identity(tf.constant(5), name="n")
    with tf.device("/job:worker/task:1"):
        i, total = tf.while_loop(
            lambda i, total: i < n, lambda i, total: (i + 1, total + i), [0, 0]
        )
    with tf.device("/job:ps/task:0"):
        result = tf.cond(
            tf.greater(total, 5), lambda: tf.add(total, 100), lambda: tf.add(total, -100)
        )
    with tf.Session(cluster["worker:0"].target) as session:
        assert session.run([i, total, result]) == [5, 10, 110]
        assert session.run(result, {n: 2}) == -99


def test_a_loop_changes_variables_of_one_task_wherever_its_nodes_are_pinned(cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(0.0, name="v")
    with tf.device("/job:worker/task:1"):
        w = tf.Variable(3.0, name="w")

    def body(i):
        with tf.device("/job:worker/task:1"), tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 5, body, [0])
    branch = tf.cond(tf.greater(w, 2.0), lambda: tf.assign_add(v, w), lambda: tf.identity(w))
    both = tf.cond(
        tf.greater(w, 2.0),
        lambda: tf.identity(tf.assign(v, 1.0)),
        lambda: tf.identity(tf.assign(w, 1.0)),
    )
    with tf.Session(cluster["worker:0"].target) as session:
        session.run([v.initializer, w.initializer])
        assert session.run(loop) == 5
        assert session.run(branch) == 8.0
        assert {session.remote.tasks(loop)[name] for name in ("v", "while/Exit")} == {
            "/job:ps/task:0"
        }
        words = "One loop or conditional uses what '[vw]' and '[vw]' hold: .*runs on one task"
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(both)
        assert session.run([v, w]) == [8.0, 3.0]


def test_queues_are_shared_and_waiting_is_no_deadlock(cluster):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]], shared_name="q")
    value = tf.placeholder(tf.float32, [])
    put, get = queue.enqueue([value]), queue.dequeue()
    got = []
    with tf.Session(cluster["worker:0"].target) as consumer:
        with tf.Session(cluster["worker:1"].target) as producer:
            thread = threading.Thread(target=lambda: got.append(consumer.run(get)))
            thread.start()
            time.sleep(0.1)
            assert not got
            producer.run(put, {value: 3.0})
            thread.join(60)
            assert got == [3.0]
            # Both in one step: the dequeue waits, and what it waits for runs.
            assert producer.run([put, get], {value: 4.0})[1] == 4.0


def test_an_error_names_node_and_task_and_the_session_goes_on(cluster):
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [None, None], name="x")
        product = tf.matmul(x, x, name="product")
    with tf.Session(cluster["worker:0"].target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as info:
            session.run(product, {x: np.ones((2, 3))})
        message = str(info.value)
        assert "MatMul 'product'" in message
        assert "test_server.py" in message
        assert "/job:worker/task:1" in message
        assert info.value.op is product.op
        assert session.run(product, {x: np.eye(2)}).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("/job:gpu_farm", "pinned to /job:gpu_farm.*has only /job:ps/task:0, /job:worker/task:0"),
        ("/job:worker/task:7", "operation 'Const'.*pinned to /job:worker/task:7"),
    ],
)
def test_unknown_jobs_and_tasks(cluster, device, words):
    with tf.device(device):
        a = tf.identity(tf.constant(1.0), name="a")
    with tf.Session(cluster["worker:0"].target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(a)


def test_an_assignment_runs_where_its_variable_is(cluster):
    with tf.device("/job:ps/task:0"):
        variable = tf.Variable(1.0, name="variable")
    with tf.device("/job:worker/task:0"):
        step = tf.assign_add(variable, 1.0, name="step")
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(variable.initializer)
        assert session.run(step) == 2.0
        assert session.remote.tasks(step)["step"] == "/job:ps/task:0"
    with tf.device("/job:worker/task:1"):
        other = tf.Variable(1.0, name="other")
    other.op._set_attr("_class", [b"loc:@variable"])
    with tf.Session(cluster["worker:0"].target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="colocate.*'variable'.*'other'"):
            session.run(tf.group(variable.initializer, other.initializer))


def test_partial_names_and_soft_placement(cluster):
    with tf.device("/job:ps"):
        a = tf.identity(tf.constant(1.0), name="a")
    with tf.device("/task:1"):
        b = tf.identity(a, name="b")
    with tf.device("/device:GPU:0"):
        c = tf.identity(b, name="c")
    soft = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(cluster["worker:0"].target, config=soft) as session:
        tasks = session.remote.tasks(b)
        assert tasks["a"] == "/job:ps/task:0"
        assert tasks["b"] == "/job:worker/task:1"
        assert session.remote.tasks(c)["c"] == "/job:worker/task:0"


def test_device_filters_hide_tasks(cluster):
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with tf.device("/job:worker/task:1"):
        a = tf.identity(tf.constant(1.0))
    with tf.Session(cluster["worker:0"].target, config=config) as session:
        names = [device.name for device in session.list_devices()]
        assert len(names) == 2
        assert not any("task:1" in name for name in names)
        with pytest.raises(tf.errors.InvalidArgumentError, match="device_filters"):
            session.run(a)


def test_visible_tasks():
    tasks = {"/job:ps/task:0": "a", "/job:ps/task:1": "b", "/job:worker/task:3": "c"}
    own = "/job:worker/task:3"
    assert visible_tasks(tasks, own, []) == tasks
    assert visible_tasks(tasks, own, ["/job:ps/task:1"]) == {
        "/job:ps/task:1": "b",
        "/job:worker/task:3": "c",
    }
    assert set(visible_tasks(tasks, own, ["/job:ps"])) == set(tasks)


def test_a_task_that_never_appears_is_named_with_its_address(make_spec, monkeypatch):
    from dataflow.cluster.transport import connection_pool

    spec = make_spec(ps=1, worker=1)
    with Server(spec, "worker", 0) as server:
        with tf.device("/job:ps/task:0"):
            a = tf.identity(tf.constant(1.0))
        with tf.Session(server.target) as session:
            address = spec.task_address("ps", 0)
            with monkeypatch.context() as impatient:
                impatient.setattr(connection_pool, "FIRST_CONTACT_SECONDS", 0.3)
                with pytest.raises(tf.errors.UnavailableError, match=f"ps/task:0.*tried {address}"):
                    session.run(a)
            assert session.run(tf.constant(3.0)) == 3.0
            with Server(spec, "ps", 0):
                assert session.run(a) == 1.0


def test_mixed_cluster_specs_are_refused_and_the_tasks_stay_up(make_spec):
    spec = make_spec(ps=1, worker=2)
    ps, first, second = spec.addresses().values()
    mixed = ClusterSpec({"ps": [second], "worker": [first, ps]})  # ps and worker 1 changed places
    with tf.device("/job:ps/task:0"):
        a = tf.identity(tf.constant(1.0))
    with (
        Server(spec, "ps", 0, key=KEY),
        Server(mixed, "worker", 0, key=KEY) as wrong,
        Server(spec, "worker", 1, key=KEY) as right,
    ):
        with tf.Session(wrong.target) as session:
            words = (
                f"/job:worker/task:0 looks for /job:ps/task:0 at {second}, and the task that "
                "listens there is /job:worker/task:1: their ClusterSpecs differ"
            )
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(a)
            assert session.run(tf.constant(2.0)) == 2.0
        with tf.Session(right.target) as session:
            assert session.run(a) == 1.0
    with pytest.raises(ValueError, match="Two cluster specs disagree: /job:ps/task:0"):
        spec.merge(mixed)


def test_a_tensor_above_the_limit_is_refused_and_the_tasks_stay_up(make_spec, monkeypatch):
    monkeypatch.setenv("DATAFLOW_MAX_MESSAGE_BYTES", "100000")
    servers = LocalCluster(make_spec(ps=1, worker=2))
    texts = tf.placeholder(tf.string, [None])  # not shared between processes, as between machines
    with tf.device("/job:worker/task:0"):
        there = tf.identity(texts)
    with tf.device("/job:worker/task:1"):
        count = tf.size(there)
    try:
        with tf.Session(servers["ps:0"].target) as session:
            feeds = {texts: ["x" * 1000] * 200}
            words = r"A message of 2\d+ bytes to .* limit of 100000 .*string\(200,\)"
            with pytest.raises(tf.errors.ResourceExhaustedError, match=words):
                session.run(count, feeds)
            assert session.run(count, {texts: ["x" * 1000] * 20}) == 20
    finally:
        servers.stop()


def test_containers_are_cleared_by_name(cluster):
    with tf.device("/job:ps/task:0"):
        with tf.container("experiment"):
            a = tf.Variable(1.0, name="a")
        b = tf.Variable(2.0, name="b")
    with tf.device("/job:worker/task:1"), tf.container("experiment"):
        c = tf.Variable(3.0, name="c")
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        assert session.run([a, b, c]) == [1.0, 2.0, 3.0]
    tf.Session.reset(cluster["worker:0"].target, ["experiment"])
    with tf.Session(cluster["worker:0"].target) as session:
        assert session.run(b) == 2.0
        for gone in (a, c):
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                session.run(gone)


def test_a_server_that_stops_is_noticed_and_a_new_one_is_another(cluster, make_spec):
    variable, step = counter()
    session = tf.Session(cluster["worker:0"].target)
    session.run(variable.initializer)
    session.run(step)
    cluster["ps:0"].stop()
    with pytest.raises(tf.errors.UnavailableError, match="/job:ps/task:0"):
        session.run(step)
    again = Server(cluster.spec, "ps", 0, key="a key for tests")
    try:
        for _ in range(2):
            with pytest.raises(tf.errors.AbortedError, match="uninitialized.*counter") as caught:
                session.run(step)
            assert "/job:ps/task:0 was restarted" in str(caught.value)
        session.run(variable.initializer)  # which was used in the server's first life, too
        assert session.run(step) == 1.0
    finally:
        session.close()
        again.stop()


def test_time_outs(cluster):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shared_name="empty")
        get = queue.dequeue()
    config = tf.ConfigProto(operation_timeout_in_ms=3000)  # connecting is within it
    with tf.Session(cluster["worker:0"].target, config=config) as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="waiting for /job:ps/task:0"):
            session.run(get)
        assert session.run(tf.constant(1.0)) == 1.0
    with tf.Session(cluster["worker:0"].target) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(get, options=tf.RunOptions(timeout_in_ms=200))


def test_many_threads_run_steps_at_once(cluster):
    variable, step = counter()
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(variable.initializer)
        threads = [
            threading.Thread(target=lambda: [session.run(step.op) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert session.run(variable) == 200.0


def test_the_graph_may_grow_and_change_between_runs(cluster):
    variable, step = counter()
    with tf.Session(cluster["worker:1"].target) as session:
        session.run(variable.initializer)
        session.run(step)
        with tf.device("/job:ps/task:0"):
            more = tf.assign_add(variable, 10.0)
        assert session.run(more) == 11.0
        assert session.run(step) == 12.0


def test_server_arguments(make_spec):
    spec = make_spec(ps=1, worker=2)
    with pytest.raises(ValueError, match=r"job_name must be given.*\['ps', 'worker'\]"):
        Server(spec)
    with pytest.raises(tf.errors.InvalidArgumentError, match='"evaluator" is not in the cluster'):
        Server(spec, "evaluator", 0)
    with pytest.raises(ValueError, match=r"task_index must be given.*\[0, 1\]"):
        Server(spec, "worker")
    with pytest.raises(tf.errors.InvalidArgumentError, match='task 5 is not in the job "worker"'):
        Server(spec, "worker", 5)
    with pytest.raises(ValueError, match="'tcp'"):
        Server(spec, "ps", protocol="tcp")
    server = Server(spec, "ps", start=False)
    assert server.target == f"grpc://{spec.task_address('ps', 0)}"
    server.start()
    server.start()
    assert server.server_def.job_name == "ps"
    assert ClusterSpec(server.server_def.cluster) == spec
    with pytest.raises(tf.errors.UnavailableError, match="cannot listen.*another task"):
        Server(spec, "ps")
    server.stop()
    server.stop()
    with pytest.raises(RuntimeError, match="was stopped"):
        server.start()
    copy = Server(server.server_def)
    assert copy.task == "/job:ps/task:0"
    copy.stop()


def test_beyond_loopback_only_with_a_key(monkeypatch):
    monkeypatch.delenv("DATAFLOW_CLUSTER_KEY", raising=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="DATAFLOW_CLUSTER_KEY"):
        Server({"ps": ["0.0.0.0:0"]}, "ps", 0)


def test_local_server_and_join():
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as session:
        assert session.run(tf.add(1, 2)) == 3
    thread = threading.Thread(target=server.join)
    thread.start()
    assert thread.is_alive()
    tf.cluster.shutdown(server.target)
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("where", ["/job:ps/task:0", "/job:worker/task:0"])
def test_closing_a_session_cancels_its_steps(cluster, where, eventually):
    with tf.device(where):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="nothing")
        get = queue.dequeue()
    with tf.device("/job:ps/task:0"):
        other = tf.add(get, 1.0)
    session = tf.Session(cluster["worker:0"].target)
    outcome = []

    def wait():
        try:
            session.run(other)
        except tf.errors.OpError as error:
            outcome.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: session.remote.backend.master._active)
    session.close()
    thread.join(60)
    assert not thread.is_alive()
    assert isinstance(outcome[0], tf.errors.CancelledError)


def test_closing_a_session_wakes_a_step_that_is_about_to_wait(cluster, monkeypatch):
    """Its connection's number must not be given to another connection in the meantime."""
    from dataflow.cluster.transport import connection as connection_module

    with tf.device("/job:ps/task:0"):
        get = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="nothing").dequeue()
    session = tf.Session(cluster["worker:0"].target)
    began, closed, outcome = threading.Event(), threading.Event(), []
    real = connection_module.wait_readable

    def wait_late(fds, timeout_seconds=None):
        if threading.current_thread() is thread:
            began.set()
            closed.wait(60)
        return real(fds, timeout_seconds)

    def wait():
        try:
            session.run(get, options=tf.RunOptions(timeout_in_ms=60_000))
        except tf.errors.OpError as error:
            outcome.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    monkeypatch.setattr(connection_module, "wait_readable", wait_late)
    thread.start()
    assert began.wait(60)
    session.close()
    pipes = [os.pipe() for _ in range(20)]  # take the numbers that are free now
    closed.set()
    thread.join(60)
    woken = not thread.is_alive()
    for fd in (fd for pipe in pipes for fd in pipe):
        os.close(fd)
    assert woken, "it waits on a connection that is not its own"
    assert isinstance(outcome[0], tf.errors.CancelledError)


def test_closing_a_session_cancels_a_step_that_is_being_prepared(cluster, monkeypatch):
    from dataflow.cluster.execution import master

    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="nothing")
        get = queue.dequeue()
    session = tf.Session(cluster["worker:0"].target)
    real = master.MasterSession.prepare

    def prepare_slowly(self, *arguments):
        prepared = real(self, *arguments)
        session.close()
        return prepared

    monkeypatch.setattr(master.MasterSession, "prepare", prepare_slowly)
    with pytest.raises(tf.errors.CancelledError, match="closed"):
        session.run(get)
    assert not cluster["ps:0"].service._partitions


def test_closing_a_queue_wakes_who_waits_in_another_session(cluster):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="to_close")
        get, close = queue.dequeue(), queue.close(cancel_pending_enqueues=True)
    outcome = []
    with tf.Session(cluster["worker:1"].target) as waiting:

        def wait():
            try:
                waiting.run(get)
            except tf.errors.OpError as error:
                outcome.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
        with tf.Session(cluster["worker:0"].target) as session:
            session.run(close)
        thread.join(60)
    assert isinstance(outcome[0], tf.errors.OutOfRangeError)


def test_the_functions_of_a_dataset_run_in_the_task(cluster):
    """More rounds than a plan runs before it is rewritten."""
    with tf.device("/job:worker/task:0"):
        dataset = tf.data.Dataset.range(40).map(lambda x: x * x + 1).filter(lambda x: x > 1)
        following = dataset.make_one_shot_iterator().get_next()
    with tf.Session(cluster["worker:0"].target) as session:
        got = [session.run(following) for _ in range(39)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following)
    assert got == [x * x + 1 for x in range(1, 40)]


def test_a_combination_that_was_run_before_is_found_as_it_was(cluster):
    """Nested fetches, values fed in another order, a graph that grows, one that is changed, a closed session."""
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    with tf.device("/job:ps/task:0"):
        difference = tf.subtract(x, y)
    sparse = tf.sparse_placeholder(tf.float32)
    with tf.device("/job:ps/task:0"):
        total = tf.sparse_reduce_sum(sparse)
    value = tf.SparseTensorValue([[0], [2]], [1.0, 2.0], [4])
    session = tf.Session(cluster["worker:0"].target)
    for _ in range(3):
        assert session.run({"d": difference, "xs": [x, x]}, {x: 5, y: 2}) == {"d": 3, "xs": [5, 5]}
        assert session.run(difference, {y: 2, x: 5}) == 3
        assert session.run(difference, {x: 2, y: 5}) == -3
        assert session.run(total, {sparse: value}) == 3
    twice = difference * 2
    for _ in range(2):
        assert session.run(twice, {x: 5, y: 2}) == 6
        with pytest.raises(ValueError, match="shape"):
            session.run(difference, {x: [1.0, 2.0], y: 1})
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(difference, {x: 5, y: 2})
