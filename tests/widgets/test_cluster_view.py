"""`ClusterView` in Python: what is drawn of a spec, a recording, a simulation, a running cluster."""

import json
import threading
from xml.etree import ElementTree

import numpy as np
import pytest

import dataflow as tf
from dataflow_widgets import ClusterView
from dataflow_widgets.base import Delivery
from dataflow_widgets.cluster_view.played import played
from dataflow_widgets.cluster_view.ring import RingBytes, ring_words, sent_in_a_step
from dataflow_widgets.cluster_view.scene import parts_of, scene_of
from tests.cluster.conftest import KEY, LocalCluster, free_addresses
from tests.widgets.fake_cluster import FakeCluster

SPEC = {"ps": ["localhost:1"], "worker": ["localhost:2", "localhost:3"]}


@pytest.fixture
def servers():
    addresses = iter(free_addresses(3))
    spec = {"ps": [next(addresses)], "worker": [next(addresses), next(addresses)]}
    cluster = LocalCluster(tf.train.ClusterSpec(spec))
    yield cluster
    cluster.stop()


@pytest.fixture(autouse=True)
def _no_bundle():
    Delivery.begun = True


def simulated(**options):
    return tf.cluster.simulate(**({"workers": 3, "steps": 4, "record": True} | options))


def test_a_spec_alone_is_drawn_in_lanes_with_its_links_and_addresses():
    view = ClusterView(tf.train.ClusterSpec(SPEC))
    scene = view._scene
    assert [lane["label"] for lane in scene["lanes"]] == [
        ["client"],
        ["parameter", "server"],
        ["workers"],
    ]
    names = [card["name"] for card in scene["tasks"]]
    assert names == ["this notebook", "ps:0", "worker:0", "worker:1"]
    assert {(names[link["a"]], names[link["b"]]) for link in scene["links"]} == {
        ("this notebook", "worker:0"),
        ("ps:0", "worker:0"),
        ("ps:0", "worker:1"),
    }
    assert "worker:1 (localhost:3)" in view.describe()
    for i, card in enumerate(scene["tasks"]):
        for other in scene["tasks"][i + 1 :]:
            apart = card["y"] + card["h"] <= other["y"] or card["x"] + card["w"] <= other["x"]
            assert apart, (card["name"], other["name"])


def test_specs_of_any_size_fit_the_width():
    for workers in (1, 4, 5, 8, 9, 50):
        spec = {"ps": ["localhost:1", "localhost:2"]}
        spec["worker"] = [f"localhost:{10 + i}" for i in range(workers)]
        scene = ClusterView(tf.train.ClusterSpec(spec))._scene
        assert len(scene["tasks"]) == workers + 3
        for card in scene["tasks"]:
            assert card["x"] > 100 and card["x"] + card["w"] <= scene["width"] - 8
            assert card["y"] + card["h"] <= scene["height"]


def test_links_between_workers_stay_inside_of_the_picture():
    tasks = [f"/job:worker/task:{i}" for i in range(3)]
    for with_client in (False, True):
        scene = scene_of(tasks, links=[(tasks[0], tasks[2])], with_client=with_client)
        (arc,) = [link for link in scene["links"] if scene["tasks"][link["a"]]["job"] == "worker"]
        (_, y1, _, bend, _, _, _, _) = arc["points"]
        assert bend > y1
        assert 0.25 * y1 + 0.75 * bend + 10 <= scene["height"], "with room for the dots"


def test_a_graph_of_many_parts_has_a_card_with_six_of_them():
    ops = {f"layer{i}/{name}": "MatMul" for i in range(12) for name in "ab"}
    ops |= {"gradients/x": "Mul", "weights": "VariableV2", "shape": "Const"}
    parts = parts_of(ops)
    assert len(parts) == 6 and parts[-1].text == "9 more"
    assert {"weights", "gradients"} <= {part.text for part in parts}
    assert sum(len(part.ops) for part in parts) == len(ops) - 1, "a constant is on no machine"


def test_without_a_parameter_server_all_tasks_are_linked():
    spec = tf.train.ClusterSpec({"worker": [f"localhost:{i}" for i in range(1, 4)]})
    view = ClusterView(spec)
    assert len(view._scene["links"]) == 3 + 1


def test_a_notebook_shows_a_spec_and_a_recording_as_a_view():
    data, _ = tf.train.ClusterSpec(SPEC)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].startswith("ClusterSpec")
    data, _ = simulated().recording._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data


def test_the_static_picture_is_an_svg_with_every_machine():
    view = ClusterView(simulated(workers=2))
    root = ElementTree.fromstring(view.to_svg())
    text = " ".join(root.itertext())
    assert "ps:0" in text and "worker:1" in text and "compute" in text and "busy" in text


def test_a_played_simulation_has_its_barrier_and_what_was_dropped():
    done = simulated(workers=2, backups=1, steps=10)
    play = ClusterView(done)._payload()["play"]
    assert play["sync"]
    outcomes = [step[6] for step in play["steps"]]
    assert outcomes.count("dropped") == done.gradients_dropped
    assert not ClusterView(simulated(mode="async"))._payload()["play"]["sync"]
    json.dumps(play, allow_nan=False)


def test_only_the_last_200_steps_are_sent():
    view = ClusterView(simulated(workers=4, steps=100))
    assert len(view._recording) > 300
    assert len(view._payload()["play"]["steps"]) == 200
    assert played(view._recording, view._scene)["duration"] > 0


def test_a_recorded_run_has_the_graphs_parts_on_their_machines(servers):
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps/task:0"):
            weights = tf.Variable(np.ones([4, 2], np.float32), name="weights")
        with tf.device("/job:worker/task:0"):
            loss = tf.reduce_sum(tf.square(weights), name="loss")
    recording = tf.cluster.Recording()
    with tf.Session(servers["worker:0"].target, graph=graph) as session:
        session.run(weights.initializer)
        recording.run(session, loss)
    view = ClusterView(recording)
    parts = {c["name"]: [p["text"] for p in c["parts"]] for c in view._scene["tasks"]}
    assert parts["ps:0"] == ["weights"]
    assert {"Square", "loss"} <= set(parts["worker:0"])
    play = view._payload()["play"]
    (message,) = play["messages"]
    assert play["names"][message[3]] == "weights/read:0" and message[4] == 32
    assert "step 1 of worker:0" in view.describe()


def test_a_running_cluster_shows_states_and_takes_orders():
    cluster = FakeCluster()
    view = ClusterView(cluster)
    state = view._state()
    assert [task["name"] for task in state["tasks"]] == ["ps:0", "worker:0", "worker:1"]
    done = threading.Event()
    view._actions._panel = view
    before = view._changed
    view._changed = lambda: (before(), done.set())
    view._receive(view, {"kind": "act", "id": 1, "act": {"do": "pause", "task": "worker:1"}}, [])
    assert done.wait(60)
    assert cluster.calls == [("pause", "worker:1")]
    assert view._state()["news"]["text"] == "worker:1 is paused."
    ElementTree.fromstring(view.to_svg())


def test_servers_that_were_started_by_hand_are_watched(servers):
    attached = tf.cluster.attach(servers.spec, KEY)
    view = ClusterView(attached)
    assert {task["state"] for task in view._state()["tasks"]} == {"running"}


def test_what_is_no_cluster_is_refused():
    with pytest.raises(TypeError, match="a running cluster, a tf.cluster.Recording"):
        ClusterView({"ps": ["a:1"]})
    with pytest.raises(ValueError, match="record=True"):
        ClusterView(tf.cluster.simulate(2, steps=2))
    with pytest.raises(TypeError, match="Did you mean title="):
        ClusterView(tf.train.ClusterSpec(SPEC), titel="x")


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 9, 16])
def test_a_ring_of_workers_stands_in_a_circle(count):
    """Each is linked to the next, the last to the first; no two cards touch; all of it has room."""
    workers = [f"/job:worker/task:{i}" for i in range(count)]
    links = [("/job:ps/task:0", workers[0])]
    scene = scene_of(["/job:ps/task:0", *workers], links=links, ring=workers)
    cards, arcs = scene["tasks"], [link for link in scene["links"] if "arrow" in link]
    names = [(cards[arc["a"]]["name"], cards[arc["b"]]["name"]) for arc in arcs]
    assert names == [(f"worker:{i}", f"worker:{(i + 1) % count}") for i in range(count)]
    for i, card in enumerate(cards):
        assert card["x"] > 100 and card["x"] + card["w"] <= scene["width"] - 8
        for other in cards[i + 1 :]:
            apart = (
                abs(card["y"] - other["y"]) >= max(card["h"], other["h"])
                or card["x"] + card["w"] <= other["x"]
                or other["x"] + other["w"] <= card["x"]
            )
            assert apart, (card["name"], other["name"])
    lane = scene["lanes"][-1]
    for arc in arcs:
        ys = arc["points"][1], arc["points"][7], arc["arrow"][1]
        assert all(lane["y"] <= y <= lane["y"] + lane["h"] for y in ys)
    # So many do not fit a circle: they stand in rows.
    many = [f"/job:worker/task:{i}" for i in range(25)]
    scene = scene_of(many, links=[], ring=many, with_client=False)
    assert scene["ring"] is None and len(scene["links"]) == 25


def test_the_middle_of_a_ring_says_what_is_sent_measured_and_in_theory():
    assert ring_words(None) == []
    lines = ring_words(RingBytes(4, 4096, 6400.0))
    assert "4.0 KB" in lines[0] and lines[1] == "measured: 6.2 KB, 1.56 of it"
    assert "2(n−1)/n = 1.50 of it: 6.0 KB" in lines[2] and "16 KB" in lines[-1]
    assert not any("measured" in line for line in ring_words(RingBytes(2, 4096, None)))
    divided = ring_words(RingBytes(4, 4096, None, (2048, 8192)))
    assert divided[-1] == "optimizer's slots: 2.0 KB a worker of 8.0 KB"
    rows = [
        {"stepsPerSecond": s, "sentPerSecond": b} for s, b in ((10, 50.0), (0, 7.0), (None, None))
    ]
    assert sent_in_a_step(rows) == 5.0 and sent_in_a_step(rows[1:]) is None
