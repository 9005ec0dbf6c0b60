"""A step's traces of several tasks, brought together: made by hand, so that all times are known."""

from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution.recording import Recording
from dataflow.cluster.execution.step_tracer import Event, Sent, StepTracer, merge
from dataflow.runtime.stepper import CopyNode

PS, WORKER = "/job:ps/task:0", "/job:worker/task:1"
ON_PS = "/job:ps/replica:0/task:0/device:CPU:0"
ON_WORKER = "/job:worker/replica:0/task:1/device:CPU:0"


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        v = tf.Variable([1.0, 2.0], name="v")
        doubled = tf.multiply(v, 2.0, name="doubled")
        with tf.control_dependencies([doubled]):
            tf.add(doubled, 1.0, name="more")
        yield graph


def tracers(received=(), seconds=0.25):
    """The ps makes v and sends it at 101; the worker computes at 102 and 103."""
    ps, worker = StepTracer(True), StepTracer(True)
    ps.events.append(Event("v", 100.5, 0.25, [np.float32([1, 2])], "CPU:0"))
    ps.sent.append(Sent(WORKER, 3, ["v:0"], [8], 101.0, seconds))
    worker.events.append(Event("more", 103.0, 0.5, [np.float32([3, 5])], "CPU:0"))
    worker.events.append(Event("doubled", 102.0, 0.5, [np.float32([2, 4])], "CPU:0"))
    worker.events.append(Event("nobody", 104.0, 0.5, [], "CPU:0"))
    worker.events.append(Event("doubled", 105.0, 0.5, [], "CPU:0"))  # bound twice: once is enough
    worker.received.update(received)
    return {PS: ps, WORKER: worker}


def test_steps_are_in_the_order_of_their_beginnings_with_what_traveled(graph):
    merged = merge(tracers({3: 101.75}), graph, 100.0)
    assert [(s.op_name, s.op_type, s.device, s.start_seconds, s.seconds) for s in merged.steps] == [
        ("v", "VariableV2", ON_PS, 0.5, 0.25),
        ("send_v_0", "_Send", ON_PS, 1.0, 0.25),
        ("recv_v_0", "_Recv", ON_WORKER, 1.75, 0.0),
        ("doubled", "Mul", ON_WORKER, 2.0, 0.5),
        ("more", "Add", ON_WORKER, 3.0, 0.5),
    ]
    by_name = {s.op_name: s for s in merged.steps}
    assert by_name["send_v_0"].outputs[0].tolist() == by_name["recv_v_0"].outputs[0].tolist()
    assert [(c.name, c.source, c.dtype, c.shape) for c in merged.copies] == [
        ("send_v_0", "v:0", "float32", "(2,)"),
        ("recv_v_0", "send_v_0:0", "float32", "(2,)"),
    ]
    (message,) = merged.messages
    assert (message.source, message.target, message.tensors, message.sizes) == (
        PS,
        WORKER,
        ("v:0",),
        (8,),
    )
    assert (message.sent_seconds, message.received_seconds) == (1.0, 1.75)


def test_what_was_left_out_between_two_tasks_is_looked_through(graph):
    """The worker reads `v`, behind the Identity `v/read` that no task ran."""
    merged = merge(tracers(), graph, 100.0)
    assert merged.inputs["doubled"][0] == "recv_v_0:0"
    assert "more" not in merged.inputs  # all that it reads is its own task's


@pytest.mark.parametrize(
    ("received", "seconds", "arrived", "busy"),
    [
        ({}, 0.25, 1.25, 0.25),  # only the sender told: it has arrived when it has left
        ({3: 99.0}, 0.25, 1.0, 0.0),  # a clock that is behind: not before it was sent
        ({3: 101.1}, 0.25, 1.1, 0.1),  # read while it was still being sent
        ({4: 150.0}, 0.5, 1.5, 0.5),  # another channel
    ],
)
def test_when_a_message_was_there(graph, received, seconds, arrived, busy):
    merged = merge(tracers(received, seconds), graph, 100.0)
    (message,) = merged.messages
    assert message.received_seconds == pytest.approx(arrived)
    by_name = {s.op_name: s for s in merged.steps}
    assert by_name["send_v_0"].seconds == pytest.approx(busy)
    assert by_name["recv_v_0"].start_seconds == pytest.approx(arrived)


def test_a_name_that_the_graph_has_already_is_not_taken(graph):
    tf.constant(1.0, name="send_v_0")
    names = {s.op_name for s in merge(tracers(), graph, 100.0).steps}
    assert "_send_v_0" in names and "send_v_0" not in names


def test_copies_of_one_name_are_counted(graph):
    traces = tracers()
    copy = CopyNode("moved", "_CopyToHost", ON_PS, "v:0", "float32", "[2]")
    for start in (100.6, 100.7, 100.8):
        traces[PS].events.append(Event("moved", start, 0.01, [], "GPU:0", copy=copy))
    names = [s.op_name for s in merge(traces, graph, 100.0).steps]
    assert [name for name in names if name.startswith("moved")] == ["moved", "moved_1", "moved_2"]


def test_a_trace_travels():
    before = tracers({3: 101.75})[PS]
    before.received[7] = 9.5
    head, arrays = before.encode()
    after = StepTracer(True)
    after.decode({k: [list(row) for row in v] for k, v in head.items()}, arrays)
    assert after.sent == before.sent and after.received == {7: 9.5}
    (event,) = after.events
    assert event.name == "v" and event.outputs[0].tolist() == [1, 2]
    handle = StepTracer(True)
    handle.events.append(Event("queue", 1.0, 2.0, [None, np.float32(3)], "CPU:0"))
    head, arrays = handle.encode()
    assert len(arrays) == 1
    after = StepTracer(True)
    after.decode(head, arrays)
    assert after.events[0].outputs == [None, np.float32(3)]


def test_what_is_sent_is_noted_with_its_sizes():
    tracer, gone = StepTracer(False), []
    slots = {tf.constant(1.0, name=name): slot for slot, name in enumerate(("a", "b"))}
    transfers = [(WORKER, 2, [1, 0])]
    tracer.begin(SimpleNamespace(slots=slots, segments=[SimpleNamespace(transfers=transfers)]))
    tracer.send(lambda *each: gone.append(each), WORKER, 2, [np.zeros(3, np.float32), None])
    tracer.send(lambda *each: gone.append(each), PS, 9, [np.zeros(1)])
    assert [each[:2] for each in gone] == [(WORKER, 2), (PS, 9)]
    first, second = tracer.sent
    assert (first.target, first.channel, first.tensors, first.bytes) == (
        WORKER,
        2,
        ["b:0", "a:0"],
        [12, 0],
    )
    assert (second.tensors, second.bytes) == ([], [8])
    assert first.start > 1e9 and first.seconds >= 0


# What a recording makes of traces


def trace(started, steps, messages=(), hops=(), graph=None, inputs=None):
    return SimpleNamespace(
        started=started,
        steps=[SimpleNamespace(**each) for each in steps],
        messages=[SimpleNamespace(**each) for each in messages],
        hops=[SimpleNamespace(**each) for each in hops],
        graph=graph or tf.Graph(),
        inputs=inputs or {},
    )


def step(name, start, seconds, device=ON_WORKER, kind="Mul", outputs=()):
    return {
        "op_name": name,
        "op_type": kind,
        "device": device,
        "start_seconds": start,
        "seconds": seconds,
        "outputs": list(outputs),
    }


def test_times_are_counted_from_the_first_run():
    recording = Recording()
    message = {
        "source": PS,
        "target": WORKER,
        "tensors": ("v:0", "w:0"),
        "sizes": (8, 16),
        "sent_seconds": 0.5,
        "received_seconds": 0.75,
    }
    recording.add(trace(1000.0, [step("a", 1.0, 0.5), step("b", 0.25, 0.25)], [message]), WORKER)
    recording.add(trace(1010.0, [step("a", 1.0, 0.5, ON_PS)]), WORKER)
    first, second = recording.steps()
    assert (first.begin, first.end, second.begin, second.end) == (0.25, 1.5, 11.0, 11.5)
    assert [(m.name, m.num_bytes, m.sent, m.received) for m in recording.messages()] == [
        ("v:0", 8, 0.5, 0.75),
        ("w:0", 16, 0.5, 0.75),
    ]
    assert [(s.step, s.task, s.name, s.start, s.end) for s in recording.spans()] == [
        (1, WORKER, "a", 1.0, 1.5),
        (1, WORKER, "b", 0.25, 0.5),
        (2, PS, "a", 11.0, 11.5),
    ]
    assert recording.tasks == [WORKER, PS] and recording.ops[WORKER] == {"a": "Mul", "b": "Mul"}
    assert repr(recording) == f"<tf.cluster.Recording of 2 steps on {WORKER}, {PS}>"
    assert repr(Recording()) == "<tf.cluster.Recording of 0 steps on no task>"


def test_a_message_without_names_is_one_row():
    recording = Recording()
    message = {
        "source": PS,
        "target": WORKER,
        "tensors": (),
        "sizes": (),
        "sent_seconds": 0.5,
        "received_seconds": 0.75,
    }
    recording.add(trace(1000.0, [], [message]), WORKER)
    (row,) = recording.messages()
    assert (row.name, row.num_bytes) == ("", 0)
    (only,) = recording.steps()
    assert (only.begin, only.end, only.outcome, only.staleness) == (0.0, 0.75, "", None)


def test_a_synchronous_step_has_its_tokens_version():
    recording = Recording()
    name = "sync_token_q_Dequeue"
    for value, start in ((SimpleNamespace(sample=np.int64(7)), 1.0), (None, 2.0)):
        recording.add(
            trace(1000.0, [step(name, start, 0.5, kind="QueueDequeueV2", outputs=[value])]), WORKER
        )
    first, second = recording.steps()
    assert (first.token, first.version) == (1.5, 7)
    assert (second.token, second.version) == (2.5, 0)  # counted, as nobody told
    other = Recording()
    other.add(trace(1000.0, [step(name, 1.0, 0.5, kind="QueueEnqueueV2")]), WORKER)
    assert other.steps()[0].token is None


def test_an_update_makes_a_step_one_that_was_applied(graph):
    with graph.as_default():
        v = graph.get_tensor_by_name("v:0")
        tf.assign_add(v, [1.0, 1.0], name="added")
    recording = Recording()
    recording.add(trace(0.0, [step("doubled", 1.0, 0.5)], graph=graph), WORKER)
    recording.add(
        trace(0.0, [step("added", 2.0, 0.5, ON_PS), step("doubled", 3.0, 0.5)], graph=graph), WORKER
    )
    first, second = recording.steps()
    assert (first.outcome, first.staleness, second.outcome, second.staleness) == (
        "",
        None,
        "applied",
        0,
    )
    assert recording.inputs[WORKER, "doubled"] == ["v/read:0", "doubled/y:0"]


def hop(number, seconds, is_sent, source="a", target="b"):
    return {
        "exchange": 5,
        "number": number,
        "source": source,
        "target": target,
        "name": f"chunk {number}",
        "num_bytes": 4,
        "seconds": seconds,
        "is_sent": is_sent,
    }


def test_the_two_ends_of_a_hop_meet_in_either_order():
    recording = Recording()
    recording.add(trace(0.0, [], hops=[hop(0, 1.0, True)]), "a")
    assert [(m.sent, m.received) for m in recording.messages()] == [(1.0, 1.0)]
    recording.add(trace(0.0, [], hops=[hop(0, 3.0, False), hop(1, 4.0, False)]), "b")
    assert [(m.sent, m.received) for m in recording.messages()] == [(1.0, 3.0)]
    recording.add(trace(0.0, [], hops=[hop(1, 2.0, True), hop(2, 5.0, True)]), "a")
    recording.add(trace(0.0, [], hops=[hop(2, 4.5, False)]), "b")  # by a clock that is behind
    assert [(m.name, m.sent, m.received) for m in recording.messages()] == [
        ("chunk 0", 1.0, 3.0),
        ("chunk 1", 2.0, 4.0),
        ("chunk 2", 5.0, 5.0),
    ]


def test_a_ring_is_one_that_closes():
    recording = Recording()
    assert recording.ring == []
    for number, (source, target) in enumerate((("b", "c"), ("a", "b"))):
        recording.add(trace(0.0, [], hops=[hop(number, 1.0, True, source, target)]), source)
        assert recording.ring == []
    recording.add(trace(0.0, [], hops=[hop(9, 1.0, True, "c", "a")]), "c")
    assert recording.ring == ["a", "b", "c"]
