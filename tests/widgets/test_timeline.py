"""`Timeline` in Python: the same data as the Chrome trace, copies, waits, the critical path."""

from __future__ import annotations

import json
import textwrap
from typing import Any
from xml.etree import ElementTree

import pytest
from tensorboard.compat.proto.config_pb2 import RunMetadata

import dataflow as tf
from dataflow.python.client import timeline as chrome
from dataflow.runtime.stepper import record
from dataflow_widgets import Timeline
from dataflow_widgets.timeline.analysis import (
    TimedOp,
    _lane_key,
    _transits,
    analyze,
    critical_path,
    short_names,
)
from dataflow_widgets.timeline.picture import duration_text
from tests.widgets.graphs import EVIL

PS, WORKER = "/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"


pytestmark = pytest.mark.usefixtures("graph")


def traced_run() -> Any:
    with tf.name_scope("layer"):
        a = tf.random_uniform([30, 40], name="a")
        product = tf.matmul(a, a, transpose_b=True, name="product")
    result = tf.reduce_sum(tf.nn.relu(product), name="result")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(
            result,
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
            run_metadata=metadata,
        )
    return metadata


def made_up() -> Any:
    """Two tasks: a value goes from the ps to the worker and a result comes back."""
    metadata = RunMetadata()
    for device, nodes in {
        PS: [("w", "Identity", "", 1000, 10, 4000), ("total", "Sum", "product, ^w", 1100, 5, 4)],
        WORKER: [("product", "MatMul", "w", 1040, 30, 400), ("late", "Neg", "product", 1080, 2, 4)],
    }.items():
        stats = metadata.step_stats.dev_stats.add(device=device)
        for name, op, inputs, start, length, size in nodes:
            node = stats.node_stats.add(
                node_name=name,
                all_start_micros=start,
                all_end_rel_micros=length,
                timeline_label=f"{name} = {op}({inputs})",
            )
            description = node.output.add(slot=0).tensor_description
            description.allocation_description.allocated_bytes = size
    return metadata


@pytest.mark.parametrize("make", [traced_run, made_up])
def test_the_widget_holds_what_the_chrome_trace_holds(make: Any) -> None:
    metadata = make()
    widget = Timeline(metadata)
    events = json.loads(chrome.Timeline(metadata.step_stats).generate_chrome_trace_format())[
        "traceEvents"
    ]
    assert widget.to_chrome_trace() == json.dumps({"traceEvents": events}, indent=4)
    sent = widget.payload
    origin = min(e["ts"] for e in events if e["ph"] == "X")
    lanes = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    assert sorted(f"{lane} Compute" for lane in sent["lanes"]) == sorted(lanes.values())
    place = {pid: sent["lanes"].index(n.removesuffix(" Compute")) for pid, n in lanes.items()}
    drawn = {
        (sent["nodes"][node]["name"], sent["nodes"][node]["op"], lane, row, start + origin, length)
        for node, lane, row, start, length, _, _ in sent["ops"]
    }
    assert drawn == {
        (e["args"]["name"], e["name"], place[e["pid"]], e["tid"], e["ts"], e["dur"])
        for e in events
        if e["ph"] == "X"
    }
    arrows = {(e["name"].lstrip("^")) for e in events if e.get("cat") == "DataFlow"}
    sources = {sent["nodes"][sent["ops"][i][0]]["name"] for op in sent["ops"] for i in op[6]}
    assert sources == arrows


def test_bytes_are_those_of_the_outputs() -> None:
    times = Timeline(traced_run()).times
    (product,) = [op for op in times.ops if op.name == "layer/product"]
    assert product.num_bytes == 30 * 30 * 4


def test_copies_and_waits_between_tasks() -> None:
    times = Timeline(made_up()).times
    names = [op.name for op in times.ops]
    assert names == ["w", "product", "late", "total"]
    assert [
        (names[c.source], names[c.target], c.start, c.end, c.num_bytes) for c in times.copies
    ] == [
        ("w", "product", 10, 40, 4000),
        ("product", "total", 70, 100, 400),
    ]
    assert [(times.lanes[w.lane], w.start, w.end, names[w.op], w.source) for w in times.waits] == [
        (PS, 10, 100, "total", 1),
        (WORKER, 0, 40, "product", 0),
        (WORKER, 70, 80, "late", None),
    ]
    assert [names[i] for i in times.critical] == ["w", "product", "total"]
    assert times.critical_waits == [0, 30, 30]
    assert times.duration == 105


def test_messages_are_on_the_critical_path() -> None:
    """A value of another task that comes late: the path goes there, and not along the ops that ran
    meanwhile; what its reader's lane did in that time is not counted as waiting."""

    def op(lane: int, start: int, duration: int, *inputs: int) -> TimedOp:
        return TimedOp("op", "Op", lane, 0, start, duration, 4, inputs)

    ops = [op(0, 0, 10), op(1, 0, 50), op(1, 90, 5), op(1, 95, 10, 0, 1, 2)]
    waits = _transits(ops, 2)
    assert waits == {(0, 3): 40}, "85 µs after the first op, 45 of them with other work"
    assert critical_path(ops, waits) == [1, 3], "as long as the other, and ends later"
    late = [op(0, 0, 30), op(1, 0, 5), op(1, 1000, 2, 0, 1)]
    assert critical_path(late) == critical_path(late, _transits(late, 2)) == [0, 2]
    assert _transits(late, 2) == {(0, 2): 970}


def test_lanes_have_short_names_in_order() -> None:
    job = "/job:{}/replica:0/task:{}/device:{}".format
    lanes = [job("worker", 10, "CPU:0"), job("worker", 2, "GPU:0"), job("worker", 2, "CPU:0")]
    lanes = sorted([*lanes, job("ps", 0, "CPU:0"), EVIL], key=_lane_key)
    assert short_names(lanes) == ["ps:0", "worker:2 CPU:0", "worker:2 GPU:0", "worker:10", EVIL]
    here = [job("localhost", 0, "CPU:0"), job("localhost", 0, "GPU:1")]
    assert short_names(here) == ["CPU:0", "GPU:1"]


def test_the_critical_path_is_the_chain_that_takes_longest() -> None:
    def op(duration: int, *inputs: int) -> TimedOp:
        return TimedOp("op", "Op", 0, 0, 0, duration, 0, inputs)

    assert critical_path([op(1), op(5), op(1, 0, 1), op(3, 0), op(9)]) == [4]
    assert critical_path([op(1), op(5), op(1, 0, 1), op(8, 0), op(2, 2, 3)]) == [0, 3, 4]


def test_a_training_step_has_one_path_from_its_data_to_its_updates() -> None:
    x = tf.placeholder(tf.float32, [None, 50], name="x")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.dense(x, 40), 1)))
    train = tf.train.AdamOptimizer().minimize(loss)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(
            train,
            {x: [[1.0] * 50] * 64},
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
            run_metadata=metadata,
        )
    times = analyze(metadata.step_stats)
    path = [times.ops[i] for i in times.critical]
    assert "MatMul" in {op.op_type for op in path}
    assert path[-1].name.startswith("Adam")
    assert any(op.name.startswith("gradients/") for op in path), "gradients lie between them"


def test_a_recorded_run_does_as_well() -> None:
    y = tf.add(tf.constant(1.0), 2.0, name="y")
    with tf.Session() as session:
        recorded = record(session, y)
    widget = Timeline(recorded)
    assert "y" in [op.name for op in widget.times.ops]
    assert widget.times.ops[0].start == 0


def test_describe() -> None:
    lines = Timeline(made_up()).describe().splitlines()
    assert lines == [
        "Run of 105 µs: 4 ops on 2 lanes.",
        "  ps:0: 2 ops, busy 15 µs",
        "  worker:0: 2 ops, busy 32 µs",
        "Longest op types: MatMul 30 µs, Identity 10 µs, Sum 5 µs, Neg 2 µs.",
        "Critical path: 3 ops, 45 µs and 2 messages between lanes, 60 µs, from w to total.",
        "  copy of w (4,000 bytes) from ps:0 to worker:0: 30 µs until product began",
        "  copy of product (400 bytes) from worker:0 to ps:0: 30 µs until total began",
        "  ps:0 idle for 90 µs before total, waiting for product",
        "  worker:0 idle for 40 µs before product, waiting for w",
        "  worker:0 idle for 10 µs before late",
    ]


@pytest.mark.parametrize(
    ("us", "text"), [(0, "0 µs"), (999, "999 µs"), (1234, "1.23 ms"), (2_500_000, "2.5 s")]
)
def test_durations(us: int, text: str) -> None:
    assert duration_text(us) == text


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="Timeline takes the RunMetadata"):
        Timeline([1, 2])
    with pytest.raises(ValueError, match="no recorded ops"):
        Timeline(tf.RunMetadata())
    with pytest.raises(TypeError, match="Did you mean title="):
        Timeline(made_up(), titel="x")


def test_what_is_said_of_a_session_records_a_run() -> None:
    with tf.Session() as session:
        with pytest.raises(TypeError, match="got Session") as caught:
            Timeline(session)
        steps = textwrap.dedent(str(caught.value).partition("show it:\n")[2])
        fetches = tf.add(tf.constant(1.0), 2.0, name="told") * 3.0
        found = {"tf": tf, "Timeline": Timeline, "session": session, "fetches": fetches}
        exec(steps.replace("Timeline(", "view = Timeline("), found | {"feed_dict": {}}, found)
    assert "told" in found["view"].describe()


def test_the_picture_without_a_page_is_svg_and_names_are_text() -> None:
    metadata = made_up()
    metadata.step_stats.dev_stats[0].device = EVIL
    metadata.step_stats.dev_stats[1].node_stats[0].node_name = "a<b>&c"
    widget = Timeline(metadata)
    tree = ElementTree.fromstring(widget.to_svg())
    assert EVIL in "".join(tree.itertext())
    assert not list(tree.iter("{http://www.w3.org/2000/svg}script"))
    data, _ = widget._repr_mimebundle_()
    assert '<img alt="Run of 105 µs' in data["text/html"]
    assert "<script" not in data["text/html"]


def test_a_page_that_knows_nothing_is_sent_everything_again() -> None:
    widget = Timeline(made_up())
    sent = widget.payload
    widget._receive(widget, {"kind": "hello", "version": 4}, [])
    assert widget.payload == {}
    widget._receive(widget, {"kind": "hello", "version": 0}, [])
    assert widget.payload == sent
