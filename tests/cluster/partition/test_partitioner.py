"""Cutting graphs: the partitions together compute what the whole graph does, in any message order."""

import contextlib
import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf
from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.partition_run import PartitionRun
from dataflow.cluster.execution.task_session import TaskSession
from dataflow.cluster.partition import graph_codec, pipeline
from dataflow.cluster.partition.partition_codec import decode_partition, encode_partition
from dataflow.cluster.partition.partitioner import partition_graph
from dataflow.graph.graph import Graph
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.resources import ResourceManager

TASKS = ["/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0", "/job:worker/task:1"]

#: The graphs are pinned to tasks; what they give in one process is the reference.
ANYWHERE = tf.ConfigProto(allow_soft_placement=True)


class Mail:
    """Carries messages between the partitions of one step, in an order that a seed decides."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.letters = []
        self.results = {}
        self.errors = []

    def deliver_all(self, runs):
        while self.letters:
            index = self.random.randrange(len(self.letters))
            task, channel, tensors = self.letters.pop(index)
            runs[task].deliver(channel, tensors)


class MailTransport:
    def __init__(self, mail, task):
        self.mail, self.task = mail, task

    def send(self, task, channel, tensors):
        self.mail.letters.append((task, channel, [np.asarray(t) for t in tensors]))

    def done(self, fetches, last):
        assert self.task not in self.mail.results, "done twice"
        for transfer in last:
            self.send(*transfer)
        self.mail.results[self.task] = fetches

    def failed(self, error):
        self.mail.errors.append(error)


def run_cut(cut, fetches, feeds, resources, seed, through_wire, rewritten=False):
    """Run the partitions of a step; return the fetched values."""
    mail = Mail(seed)
    runs = {}
    for task, partition in cut.partitions.items():
        plan = partition
        if through_wire:
            plan = decode_partition(*encode_partition(partition))
        compiled = CompiledPartition(plan, TaskSession(resources[task]), RewriteOptions())
        if rewritten:
            compiled.rewrite()
        runs[task] = PartitionRun(compiled, 1, MailTransport(mail, task))
    order = list(runs)
    mail.random.shuffle(order)
    for task in order:
        runs[task].start([feeds[t] for t in cut.partitions[task].feeds])
    mail.deliver_all(runs)
    if mail.errors:
        raise mail.errors[0]
    assert set(mail.results) == set(cut.partitions), "a partition never ended: the cut has a circle"
    values = []
    for tensor in fetches:
        if tensor in feeds:
            values.append(feeds[tensor])
            continue
        (value,) = [
            mail.results[task][partition.fetches.index(tensor)]
            for task, partition in cut.partitions.items()
            if tensor in partition.fetches
        ]
        values.append(value)
    return values


@st.composite
def programs(draw):
    """A random graph: additions, constants, placeholders, variables and control edges."""
    steps = []
    for index in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(["add", "add", "add", "const", "feed", "read", "after"]))
        task = draw(st.sampled_from([*TASKS, ""]))
        sources = draw(
            st.tuples(st.integers(0, max(0, index - 1)), st.integers(0, max(0, index - 1)))
        )
        steps.append((kind, task, *sources))
    count = draw(st.integers(1, 4))
    return steps, draw(st.lists(st.integers(0, len(steps) - 1), min_size=1, max_size=count))


def build(steps):
    """Return the tensors of a program, and what to feed."""
    tensors, feeds = [], {}
    for number, (kind, task, a, b) in enumerate(steps):
        with tf.device(task or None):
            if kind == "const" or not tensors:
                tensor = tf.constant(float(number + 1))
            elif kind == "feed":
                tensor = tf.placeholder(tf.float32, [], name=f"feed_{number}")
                feeds[tensor] = np.float32(number + 0.5)
            elif kind == "read":
                home = task or TASKS[0]
                with tf.device(home):
                    variable = tf.Variable(float(number), name=f"variable_{number}")
                tensor = tf.identity(variable)
            elif kind == "after":
                with tf.control_dependencies([tensors[b].op]):
                    tensor = tf.add(tensors[a], 1.0)
            else:
                tensor = tf.add(tensors[a], tensors[b])
        tensors.append(tensor)
    return tensors, feeds


@contextlib.contextmanager
def additions_are_heavy(divided):
    """Let the stages of a pipeline begin at any addition."""
    with pytest.MonkeyPatch.context() as patch:
        if divided:
            patch.setattr(pipeline, "is_heavy", lambda op: op.type == "Add")
        yield


@settings(max_examples=120, deadline=None)
@given(programs(), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_pieces_compute_what_the_graph_computes(program, seed, through_wire, divided):
    steps, wanted = program
    with Graph().as_default() as graph:
        tensors, feeds = build(steps)
        fetches = list(dict.fromkeys(tensors[index] for index in wanted))
        init = tf.global_variables_initializer()
    with tf.Session(graph=graph, config=ANYWHERE) as session:
        session.run(init)
        expected = session.run(fetches, feeds)
    resources = {task: ResourceManager() for task in TASKS}
    cut = partition_graph([], [init], [], TASKS, TASKS[2])
    run_cut(cut, [], {}, resources, seed, through_wire)
    with additions_are_heavy(divided):
        cut = partition_graph(fetches, [], list(feeds), TASKS, TASKS[2])
    for attempt in range(3):
        values = run_cut(
            cut, fetches, feeds, resources, seed + attempt, through_wire, rewritten=attempt == 2
        )
        assert [float(v) for v in values] == [float(v) for v in expected]


@settings(max_examples=60, deadline=None)
@given(programs(), st.booleans())
def test_transfers_are_unique_and_pieces_hold_only_their_own(program, divided):
    steps, wanted = program
    with Graph().as_default(), additions_are_heavy(divided):
        tensors, feeds = build(steps)
        fetches = [tensors[index] for index in wanted]
        cut = partition_graph(fetches, [], list(feeds), TASKS, TASKS[2])
    for task, partition in cut.partitions.items():
        for segment in partition.segments:
            for op in segment.ops:
                assert op.type == "Const" or cut.task_of[op] == task
        sent = [
            (transfer.task, slot)
            for segment in partition.segments
            for transfer in segment.transfers
            for slot in transfer.slots
        ]
        assert len(sent) == len(set(sent)), "a tensor travels twice to one task"
        for channel in partition.channels:
            assert channel.wakes, "a message that nobody waits for"


def cut_of(fetches, targets=()):
    return partition_graph(fetches, list(targets), [], TASKS, TASKS[2])


def test_a_training_step_is_two_segments_on_the_ps():
    with tf.device(TASKS[0]):
        w = tf.Variable(np.zeros(3, np.float32), name="w")
    with tf.device(TASKS[2]):
        gradient = tf.add(w, 1.0)
    with tf.device(TASKS[0]):
        update = tf.assign_sub(w, gradient)
    train = tf.group(update)
    cut = cut_of([], [train])
    ps, worker = cut.partitions[TASKS[0]], cut.partitions[TASKS[2]]
    assert [s.num_pending for s in ps.segments] == [0, 1]
    assert [s.num_pending for s in worker.segments] == [1]
    assert [len(s.transfers) for s in ps.segments] == [1, 0]
    assert "group_deps" not in {
        op.name for p in cut.partitions.values() for s in p.segments for op in s.ops
    }


def test_gradients_of_one_worker_travel_in_one_message():
    with tf.device(TASKS[0]):
        variables = [tf.Variable(float(i), name=f"v{i}") for i in range(8)]
    with tf.device(TASKS[2]):
        gradients = [tf.add(v, 1.0) for v in variables]
    with tf.device(TASKS[0]):
        updates = [tf.assign_sub(v, g) for v, g in zip(variables, gradients, strict=True)]
    cut = cut_of([], [u.op for u in updates])
    ps, worker = cut.partitions[TASKS[0]], cut.partitions[TASKS[2]]
    assert len(ps.segments) == 2
    assert len(ps.channels) == 1
    assert len(ps.channels[0].slots) == 8
    assert [len(t.slots) for s in worker.segments for t in s.transfers] == [8]


def test_each_piece_of_a_batch_is_sent_when_it_is_there():
    x = tf.placeholder(tf.float32, [None, 64])
    sums = []
    with tf.device(TASKS[2]):
        w1 = tf.Variable(np.ones([64, 64], np.float32), name="w1")
        parts = tf.split(tf.reshape(x, [4, 100, 64]), 4)
    with tf.device(TASKS[3]):
        w2 = tf.Variable(np.ones([64, 10], np.float32), name="w2")
    for part in parts:
        with tf.device(TASKS[2]):
            hidden = tf.nn.relu(tf.matmul(part[0], w1))
        with tf.device(TASKS[3]):
            sums.append(tf.reduce_sum(tf.matmul(hidden, w2)))
    with tf.device(TASKS[3]):
        total = tf.add_n(sums)
    cut = partition_graph([total], [], [x], TASKS, TASKS[2])
    first, second = cut.partitions[TASKS[2]], cut.partitions[TASKS[3]]
    for partition in (first, second):
        products = [sum(op.type == "MatMul" for op in s.ops) for s in partition.segments]
        assert [n for n in products if n] == [1] * 4
    assert [len(t.slots) for s in first.segments for t in s.transfers] == [1] * 4
    assert all(len(channel.wakes) == 1 for channel in second.channels[:3])
    # The gradients of both layers still travel together.
    with tf.device(TASKS[0]):
        variables = [tf.get_variable(f"v{i}", [64, 64]) for i in range(2)]
    with tf.device(TASKS[2]):
        batch = tf.ones([100, 64])
        loss = tf.reduce_sum(tf.matmul(tf.matmul(batch, variables[0]), variables[1]))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    cut = cut_of([], [step])
    assert [len(t.slots) for s in cut.partitions[TASKS[2]].segments for t in s.transfers] == [2]


def test_two_conditionals_on_one_predicate_are_two_units():
    with tf.device(TASKS[0]):
        pred = tf.placeholder_with_default(True, [])
        a = tf.cond(pred, lambda: tf.constant(1.0), lambda: tf.constant(2.0))
    with tf.device(TASKS[3]):
        b = tf.add(a, 10.0)
    with tf.device(TASKS[0]):
        c = tf.cond(pred, lambda: tf.add(b, 100.0), lambda: tf.add(b, 200.0))
    resources = {task: ResourceManager() for task in TASKS}
    for value, expected in ((True, 111.0), (False, 212.0)):
        feeds = {pred: np.bool_(value)}
        cut = partition_graph([c], [], [pred], TASKS, TASKS[2])
        assert run_cut(cut, [c], feeds, resources, 0, True) == [expected]


def test_what_cannot_travel_is_said_with_the_node():
    with tf.device(TASKS[0]):
        a = tf.identity(tf.constant(1.0), name="odd")
    a.op._set_attr("function", print)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'odd' cannot be sent.*'function'"):
        encode_partition(cut_of([a]).partitions[TASKS[0]])


def test_graphs_survive_the_codec():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.Variable(np.ones((3, 2), np.float32), name="w")
    y = tf.matmul(x, w, name="y")
    text = tf.constant([b"\xff", "grün".encode()], name="text")
    i, _ = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + 2.0), [0, 0.0])
    source = tf.get_default_graph()
    encoded, arrays = graph_codec.encode_operations(source.get_operations())
    copy = Graph()
    graph_codec.decode_operations(copy, encoded, arrays)
    assert [op.name for op in copy.get_operations()] == [op.name for op in source.get_operations()]
    for op in source.get_operations():
        twin = copy.get_operation_by_name(op.name)
        assert twin.type == op.type
        assert twin.device == op.device
        assert [t.name for t in twin.inputs] == [t.name for t in op.inputs]
        assert [(t.dtype, t.dims) for t in twin.outputs] == [(t.dtype, t.dims) for t in op.outputs]
        assert twin.built_at == op.built_at
    with tf.Session(graph=copy, config=ANYWHERE) as session:
        session.run("w/Assign")
        feeds = {"x:0": np.ones((1, 3))}
        assert session.run("y:0", feeds).tolist() == [[3, 3]]
        assert session.run(i.name) == 3
        assert session.run(text.name).tolist() == [b"\xff", "grün".encode()]
    assert y is not None


def test_an_unknown_op_type_is_said():
    with pytest.raises(tf.errors.UnimplementedError, match="op type 'Frobnicate' of node 'f'"):
        graph_codec.decode_operations(Graph(), [{"n": "f", "t": "Frobnicate", "o": []}], [])
    broken = [{"n": "a", "t": "Identity", "o": [["float32", []]], "i": ["missing:0"]}]
    with pytest.raises(tf.errors.InvalidArgumentError, match="'missing:0' was sent without"):
        graph_codec.decode_operations(Graph(), broken, [])
