"""`Timeline`: a run as a Chrome trace."""

from __future__ import annotations

import json

import dataflow as tf
from dataflow.python.client import timeline


def trace(**options):
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.constant([[1.0, 2.0]], name="a")
        b = tf.placeholder_with_default([[3.0], [4.0]], [2, 1], name="b")
        product = tf.matmul(a, b, name="product")
        result = tf.reduce_sum(product, name="result")
        metadata = tf.RunMetadata()
        session.run(
            result,
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
            run_metadata=metadata,
        )
    made = timeline.Timeline(metadata.step_stats)
    return json.loads(made.generate_chrome_trace_format(**options))["traceEvents"]


def test_every_node_is_an_event_on_its_device():
    events = trace()
    names = {e["args"]["name"]: e for e in events if e["ph"] == "X"}
    assert names["product"]["name"] == "MatMul"
    assert {"product", "result"} <= set(names)
    assert names["product"]["ts"] + names["product"]["dur"] <= names["result"]["ts"] + 1
    (process,) = [e for e in events if e["ph"] == "M"]
    assert "CPU:0" in process["args"]["name"]


def test_arrows_follow_the_data_and_can_be_left_out():
    arrows = [e for e in trace() if e.get("cat") == "DataFlow"]
    assert ("product", "s") in [(e["name"], e["ph"]) for e in arrows]
    assert len([e for e in arrows if e["ph"] == "s"]) == len([e for e in arrows if e["ph"] == "t"])
    assert not [e for e in trace(show_dataflow=False) if e.get("cat") == "DataFlow"]


def test_memory_rises_and_falls_to_nothing():
    counters = [e["args"]["bytes"] for e in trace(show_memory=True) if e["ph"] == "C"]
    assert max(counters) > 0
    assert counters[-1] == 0
