"""ClusterPanel without a browser and without Ray: what is shown, what is asked for, what travels."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import dataflow as tf
import dataflow.cluster
from dataflow.cluster.management.cluster_events import Event
from dataflow_widgets import ClusterPanel
from dataflow_widgets.base import Delivery
from dataflow_widgets.cluster_view.placed import placed_graph
from dataflow_widgets.cluster_view.snapshot import (
    Rates,
    cluster_state,
    describe_cluster,
    size_words,
)
from tests.widgets.fake_cluster import FakeCluster
from tests.widgets.graphs import EVIL
from tests.widgets.waiting import wait_until

PS, W0, W1 = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


@pytest.fixture(autouse=True)
def fresh() -> None:
    tf.reset_default_graph()
    Delivery.begun = True


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `tf.cluster.find` finds."""
    clusters: list[Any] = []
    monkeypatch.setattr(
        dataflow.cluster, "find", lambda: [c for c in clusters if not c.stopped], raising=False
    )
    return clusters


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    messages: list[Any] = []
    monkeypatch.setattr(
        ClusterPanel, "send", lambda self, content, buffers=None: messages.append(content)
    )
    return messages


@pytest.fixture
def panel(found: list[Any], sent: list[Any]) -> Iterator[Any]:
    made = ClusterPanel()
    yield made
    made.close()
    wait_until(lambda: made._follower.thread is None)


def act(panel: Any, **request: Any) -> str:
    """A request of the page, waited for."""
    words: str = panel._answer({"kind": "act", "act": request})["words"]
    wait_until(lambda: not panel._actions.state()["pending"])
    return words


def problem(panel: Any) -> str:
    return str(panel._actions.state()["problem"]["text"])


# ---- what is shown ----------------------------------------------------------------------------


def test_rates_are_of_the_last_seconds_and_never_negative() -> None:
    clock = SimpleNamespace(now=0.0)
    rates = Rates(lambda: clock.now)
    row = {"steps": 0, "received_bytes": 100, "sent_bytes": 0}
    assert set(rates.of("a", row).values()) == {None}
    clock.now = 2.0
    row = {"steps": 10, "received_bytes": 40, "sent_bytes": 8}
    found = {"steps": 5.0, "received_bytes": 0.0, "sent_bytes": 4.0, "processor_seconds": 0.0}
    assert rates.of("a", row) == found
    for now in (3.0, 4.0, 5.0, 6.0):
        clock.now = now
        last = rates.of("a", row)
    assert last["steps"] == 0.0, "a task that stands still is at nothing, whatever it did before"
    clock.now = 7.0
    assert rates.of("a", row | {"steps": 1})["steps"] is None  # another process counts anew
    assert rates.of("a", row | {"steps": None})["steps"] is None


def test_a_state_holds_what_json_holds(found: list[Any], panel: Any) -> None:
    cluster = FakeCluster()
    found.append(cluster)
    cluster.advance(W1, 7, 100, 50)
    cluster.rows[PS] |= {
        "variables": 2, "variable_bytes": 31_400, "variable_sizes": {EVIL: 31_360, "b": 40},
        "staleness": 0.75, "largest_staleness": 3, "queues": {"sync_token_q": 2},
        "shared_sent_bytes": 65_536,
    }  # fmt: skip
    state = json.loads(json.dumps(panel._state()))
    (shown,) = state["clusters"]
    assert state["chosen"] == shown["id"] == "cluster 1"
    assert shown["words"] == "1 ps and 2 workers"
    assert [task["name"] for task in shown["tasks"]] == ["ps:0", "worker:0", "worker:1"]
    ps = shown["tasks"][0]
    assert (ps["variables"], ps["variableBytes"], ps["staleness"]) == (2, 31_400, 0.75)
    assert ps["sizes"] == {EVIL: 31_360, "b": 40}
    assert shown["tasks"][2]["received"] == 100
    assert (ps["sharedSent"], ps["sharedReceived"]) == (65_536, None)
    assert "sent (65,536 of them through shared memory)" in "".join(describe_cluster(shown))
    assert state["problem"] == {"id": 0, "text": ""}


def notices(cluster: Any) -> list[tuple[str, str, list[str]]]:
    return [
        (n["level"], n["text"], [json.dumps(a["act"]) for a in n["actions"]])
        for n in cluster_state(cluster, "c", Rates())["notices"]
    ]


def test_what_died_and_what_to_press() -> None:
    cluster = FakeCluster()
    assert notices(cluster) == []
    cluster.die(W1, "its process was killed")
    assert notices(cluster) == [
        (
            "alarm",
            "worker:1 is dead: its process was killed. Restart begins it again at its address.",
            ['{"do": "restart", "task": "worker:1"}'],
        )
    ]
    cluster.die(PS, "out of memory")
    assert "ps:0 is dead: out of memory. Its variables are lost." in notices(cluster)[0][1]
    cluster.die(W0, "Ray's head is gone")
    ((level, text, actions),) = notices(cluster)
    assert level == "alarm" and actions == ['{"do": "stop"}']
    assert text.startswith("All tasks of this cluster are dead: Ray's head is gone.")
    cluster.stopped = True
    assert notices(cluster)[0][1] == "This cluster was stopped. Launch starts a new one."


def test_who_stands_still_and_who_lost_its_variables() -> None:
    cluster = FakeCluster()
    cluster.pause("worker:0")
    cluster.rows[W1]["steps"] = None  # runs, and does not answer
    cluster.events.append(Event(2.0, PS, "restarted"))
    texts = [text for _, text, _ in notices(cluster)]
    assert texts[0].startswith("ps:0 died and was started again. It has no variables of before:")
    assert texts[1].startswith("worker:0 is paused")
    assert texts[2] == "worker:1 runs, but has not answered for a second."
    cluster.rows[W0]["state"] = "restarting"
    assert notices(cluster)[1][1] == "worker:0 died and is being started again."
    # Who was started again between two looks is spoken of for a while all the same.
    cluster.rows[W0]["state"] = "running"
    cluster.die(W0, "its process was killed")
    cluster.restart("worker:0")
    cluster.events.append(Event(2.5, W0, "restarted"))
    cluster.seconds = 4.0
    assert notices(cluster)[1][1] == "worker:0 died (its process was killed) and was started again."
    cluster.seconds = 30.0
    assert not any("died" in text for _, text, _ in notices(cluster))
    plain = FakeCluster(launched=False)
    plain.die(W1, "its process has ended")
    ((_, text, actions),) = notices(plain)
    assert "Who started this server must start it again" in text and actions == []


def test_servers_that_were_stopped() -> None:
    plain = FakeCluster(launched=False)
    for row in plain.rows.values():
        row["steps"] = None
    ((level, text, actions),) = notices(plain)
    assert level == "alarm" and text.startswith("No task of this cluster answers")
    assert actions == ['{"do": "stop"}']


def test_sizes_in_words() -> None:
    assert size_words({"ps": 1, "worker": 1}) == "1 ps and 1 worker"
    assert size_words({"ps": 2, "worker": 3, "evaluator": 1}) == "2 ps, 3 workers and 1 evaluator"
    assert size_words({"ps": 0, "worker": 2}) == "2 workers"


def test_words_picture_and_fallback(found: list[Any], panel: Any) -> None:
    assert panel.describe() == "Cluster panel: no cluster runs in this process."
    cluster = FakeCluster()
    found.append(cluster)
    cluster.slow_down("worker:0", 0.5)
    cluster.die(W1, EVIL)
    words = panel.describe()
    assert "  worker:0: running; slowed by 0.5 s a step; on CPU:0; 0 steps" in words
    assert f"! worker:1 is dead: {EVIL}." in words
    assert f"after 1.2 s worker:1 died: {EVIL}" in words
    tree = ElementTree.fromstring(panel.to_svg())
    assert EVIL in "".join(tree.itertext())
    assert not list(tree.iter("{http://www.w3.org/2000/svg}image"))
    data, _ = panel._repr_mimebundle_()
    assert 'src="data:image/svg+xml' in data["text/html"] and '<img alt="' in data["text/html"]
    assert EVIL not in data["text/html"]
    state = panel.get_state()
    assert len(json.dumps(state, default=str)) < 60_000


# ---- what is asked for ------------------------------------------------------------------------


def test_every_action_reaches_the_cluster(found: list[Any], panel: Any) -> None:
    cluster = FakeCluster()
    found.append(cluster)
    assert act(panel, do="pause", task="worker:1") == "pausing worker:1…"
    assert cluster.rows[W1]["state"] == "paused"
    act(panel, do="resume", task="worker:1")
    act(panel, do="slow_down", task="worker:1", seconds=0.5)
    assert cluster.rows[W1]["delay_seconds"] == 0.5
    act(panel, do="kill", task="worker:1")
    act(panel, do="restart", task="worker:1")
    assert cluster.rows[W1]["restarts"] == 1
    assert act(panel, do="resize", jobs={"worker": "3"}) == "resizing to 1 ps and 3 workers…"
    assert len(cluster.rows) == 4
    act(panel, do="stop")
    assert [call[0] for call in cluster.calls] == [
        "pause", "resume", "slow_down", "kill", "restart", "resize", "stop"
    ]  # fmt: skip
    assert problem(panel) == ""
    assert panel._actions.state()["news"]["text"] == "The cluster is stopped."
    assert panel._state()["clusters"][0]["state"] == "stopped"


def test_a_launch_is_said_at_once_and_becomes_the_panels_cluster(
    found: list[Any], panel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, asked = threading.Event(), []

    def launch(**options: Any) -> Any:
        asked.append(options)
        gate.wait(60)
        found.append(FakeCluster())
        return found[-1]

    monkeypatch.setattr(dataflow.cluster, "launch", launch, raising=False)
    request = {"do": "launch", "ps": "1", "workers": "2", "address": " 10.0.0.1:6379 "}
    words = panel._answer({"kind": "act", "act": request})["words"]
    assert words == "launching 1 ps and 2 workers at 10.0.0.1:6379…"
    assert panel._state()["pending"] == [words], "the page shows it while the cluster starts"
    panel._answer({"kind": "act", "act": request})  # pressed twice
    gate.set()
    wait_until(lambda: not panel._actions.state()["pending"])
    assert asked[0].pop("progress")
    assert asked == [
        {"ps": 1, "workers": 2, "address": "10.0.0.1:6379", "restart": True, "logs": False}
    ]
    assert panel.cluster is found[0]
    assert panel._actions.state()["news"]["text"] == "Launched 1 ps and 2 workers in 1.5 s."


def test_a_launch_tells_of_its_phases_and_ends_when_it_is_canceled(
    found: list[Any], panel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    phase, gate = threading.Event(), threading.Event()

    def launch(progress: Any, **options: Any) -> Any:
        progress.say("Starting Ray on this machine.")
        progress.say("/job:ps/task:0 is ready, 1 of 3.")
        phase.set()
        gate.wait(60)
        while True:  # a task that never is
            progress.check()

    monkeypatch.setattr(dataflow.cluster, "launch", launch, raising=False)
    panel._answer({"kind": "act", "act": {"do": "launch"}})
    assert phase.wait(60)
    state = panel._state()
    (first, second) = state["progress"].splitlines()[:2]
    assert re.fullmatch(r"\d+\.\d s: Starting Ray on this machine\.", first)
    assert re.fullmatch(r"\d+\.\d s: ps:0 is ready, 1 of 3\.", second)
    assert state["news"]["text"] == "ps:0 is ready, 1 of 3.", "it is heard, too"
    wait_until(lambda: re.fullmatch(r"[1-9] s so far", panel._state()["progress"].split("\n")[-1]))
    assert panel._answer({"kind": "act", "act": {"do": "cancel"}})["words"] == (
        "canceling the launch…"
    )
    gate.set()
    wait_until(lambda: not panel._actions.state()["pending"])
    state = panel._state()
    assert state["news"]["text"] == "The launch was canceled; nothing of it is left running."
    assert (state["progress"], state["problem"]["text"], found) == ("", "", [])


def test_errors_are_shown_and_nonsense_is_refused(found: list[Any], panel: Any) -> None:
    with pytest.raises(ValueError, match="launch one first"):
        panel._answer({"kind": "act", "act": {"do": "stop"}})
    found.append(FakeCluster())
    act(panel, do="kill", task="worker:7")
    assert problem(panel) == "ValueError: no task 'worker:7'"
    for request, words in (
        ({"do": "explode"}, "A panel cannot 'explode'"),
        ({"do": "launch", "ps": "-1"}, "The number of ps is from 0 to 64, not '-1'"),
        ({"do": "launch", "workers": "many"}, "not 'many'"),
        ({"do": "slow_down", "task": "ps:0", "seconds": 1e9}, "0 to 60 seconds"),
        ({"do": "stop", "cluster": "cluster 9"}, "no 'cluster 9' any more"),
        ({"do": "switch", "mode": "synchronous"}, "That training is gone"),
    ):
        with pytest.raises(ValueError, match=words):
            panel._answer({"kind": "act", "act": request})


def test_an_error_of_a_message_is_answered(found: list[Any], panel: Any, sent: list[Any]) -> None:
    found.append(FakeCluster())
    panel._receive(panel, {"kind": "act", "id": 3, "act": {"do": "explode"}}, [])
    assert sent[-1] == {
        "kind": "answer", "id": 3, "error": "ValueError: A panel cannot 'explode'."
    }  # fmt: skip


# ---- looking only while it is in sight ---------------------------------------------------------


def test_tasks_are_looked_at_while_a_page_shows_them(
    found: list[Any], panel: Any, sent: list[Any]
) -> None:
    cluster = FakeCluster()
    found.append(cluster)
    assert panel._follower.thread is None and sent == []
    panel._receive(panel, {"kind": "opened"}, [])
    wait_until(lambda: sum(m["kind"] == "state" for m in sent) >= 3)
    panel._receive(panel, {"kind": "closed"}, [])
    wait_until(lambda: panel._follower.thread is None)
    count = len(sent)
    found.append(FakeCluster())
    panel._changed()
    assert len(sent) == count and panel._unsubscribe is None
    panel._receive(panel, {"kind": "opened"}, [])  # scrolled into sight again
    wait_until(lambda: len(sent[-1].get("clusters", ())) == 2)


def test_a_cluster_that_cannot_be_looked_at_is_said_in_the_page(
    found: list[Any], panel: Any
) -> None:
    cluster = FakeCluster()
    found.append(cluster)
    cluster.status = lambda: 1 / 0  # type: ignore[assignment, return-value]
    panel._receive(panel, {"kind": "opened"}, [])
    wait_until(lambda: "ZeroDivisionError" in panel.failure)
    del cluster.status
    panel._changed()
    wait_until(lambda: panel.failure == "")


def test_the_log_of_the_opened_task(found: list[Any], panel: Any) -> None:
    cluster = FakeCluster()
    found.append(cluster)
    cluster.lines["worker:1"] = [f"line {i}" for i in range(200)] + ["x" * 5000]
    assert panel._state()["log"] is None
    panel._answer({"kind": "log", "task": "worker:1"})
    log = panel._state()["log"]
    assert log["task"] == "worker:1" and len(log["lines"]) == 60
    assert log["lines"][-2] == "line 199" and len(log["lines"][-1]) == 500


def test_a_cluster_is_chosen(found: list[Any], panel: Any) -> None:
    found += [FakeCluster(), FakeCluster(ps=2)]
    assert panel.cluster is found[0]
    names = [c["id"] for c in panel._state()["clusters"]]
    panel._answer({"kind": "choose", "cluster": names[1]})
    assert panel.cluster is found[1]
    found[1].stopped = True
    assert panel._state()["clusters"][-1]["state"] == "stopped", "it says what became of it"


def test_what_it_refuses(found: list[Any]) -> None:
    with pytest.raises(TypeError, match="ClusterPanel shows what tf.cluster.launch or attach"):
        ClusterPanel(tf.Graph())
    with pytest.raises(TypeError, match="Did you mean title="):
        ClusterPanel(titel="x")
    panel = ClusterPanel()
    with pytest.raises(
        TypeError, match="cannot be followed: it has no status, switch, start, stop"
    ):
        panel.follow(SimpleNamespace(cluster=None))
    with tf.Session() as session, pytest.raises(ValueError, match="show_graph needs a target"):
        panel.show_graph(session, tf.constant(1.0))


# ---- trainings --------------------------------------------------------------------------------


class MyTraining:
    """A training of a user: switched by what the panel asks."""

    def __init__(self, cluster: Any) -> None:
        self.cluster, self.calls = cluster, []

    def status(self) -> dict[str, Any]:
        return {
            "name": EVIL, "state": "running", "mode": "asynchronous", "num_backups": 1,
            "modes": ["asynchronous", "synchronous"], "global_step": np.int64(12),
            "loss": np.float32(0.5), "workers": [W0], "errors": {}, "trouble": "",
        }  # fmt: skip

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")

    def switch(self, mode: str, num_backups: int) -> None:
        if mode == "no mode":
            raise ValueError("there is no such mode")
        self.calls.append((mode, num_backups))


def test_a_training_of_ones_own_is_followed_and_switched(found: list[Any], panel: Any) -> None:
    found.append(FakeCluster())
    training = MyTraining(found[0])
    panel.follow(training)
    (shown,) = json.loads(json.dumps(panel._state()))["trainings"]
    assert (shown["name"], shown["global_step"], shown["loss"]) == (EVIL, 12, 0.5)
    assert shown["cluster"] == "cluster 1"
    assert f"Training {EVIL}: running, asynchronous, step 12, loss 0.5." in panel.describe()
    act(panel, do="switch", training=0, mode="synchronous", backups=1)
    act(panel, do="stop training", training=0)
    act(panel, do="start", training=0)
    assert training.calls == [("synchronous", 1), "stop", "start"]
    act(panel, do="switch", training=0, mode="no mode")
    assert problem(panel) == "ValueError: there is no such mode"


# ---- the graph by task ------------------------------------------------------------------------


def two_tasks() -> tuple[Any, dict[str, str]]:
    w = tf.Variable(np.zeros((784, 10), np.float32), name="w")
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    k = tf.constant(2.0, name="k")
    y = tf.matmul(x, w, name="y")
    z = tf.multiply(y, k, name="layer/z")
    w.assign_add(tf.matmul(x, z, transpose_a=True, name="grad"), name="add")
    names = ["w", "w/read", "x", "k", "y", "layer/z", "grad", "w/read", "add"]
    on_ps = {"w", "w/read", "k", "add"}
    ops = {op.name for op in tf.get_default_graph().get_operations()}
    assert set(names) <= ops
    return tf.get_default_graph(), {n: PS if n in on_ps else W0 for n in names}


def test_each_value_goes_once_to_a_task_and_constants_do_not() -> None:
    graph, task_of = two_tasks()
    second = tf.matmul(graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("w/read:0"))
    task_of[second.op.name] = W0
    placed = placed_graph(graph, task_of)
    assert [(t["tensor"], t["from"], t["to"], t["bytes"]) for t in placed["transfers"]] == [
        ("w/read:0", "ps:0", "worker:0", 31_360),
        ("grad:0", "worker:0", "ps:0", 31_360),
    ]
    assert (placed["bytes"], placed["unknown"]) == (62_720, 0)
    nodes = {node["name"]: node for node in placed["nodes"]}
    first = placed["transfers"][0]
    assert nodes[first["send"]]["inputs"] == ["w/read:0"]
    assert nodes[first["send"]]["device"] == "ps:0" and nodes[first["send"]]["op"] == "_Send"
    assert nodes[first["recv"]]["device"] == "worker:0"
    assert nodes["y"]["inputs"] == ["x:0", f"{first['recv']}:0"]
    assert nodes[second.op.name]["inputs"] == ["x:0", f"{first['recv']}:0"]
    assert nodes["layer/z"]["inputs"] == ["y:0", "k:0"]
    assert not any("Initializer" in name for name in nodes), "what the run does not need"


def test_sizes_known_only_at_run_time_and_fed_values() -> None:
    graph, task_of = two_tasks()
    task_of["layer/z"] = W1
    placed = placed_graph(graph, task_of)
    unknown = [t for t in placed["transfers"] if t["bytes"] is None]
    assert {t["tensor"] for t in unknown} == {"y:0", "layer/z:0"} and placed["unknown"] == 2
    fed = placed_graph(graph, task_of, frozenset(["y:0"]))
    assert "y:0" not in {t["tensor"] for t in fed["transfers"]}


def test_a_run_of_too_many_nodes_is_refused() -> None:
    for i in range(601):
        tf.constant(i)
    graph = tf.get_default_graph()
    with pytest.raises(ValueError, match="601 nodes; at most 600"):
        placed_graph(graph, {op.name: PS for op in graph.get_operations()})
