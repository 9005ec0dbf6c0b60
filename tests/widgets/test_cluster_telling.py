"""What a cluster's view says in a line: what happened, and what follows from it."""

from __future__ import annotations

from typing import Any

from dataflow.cluster.management.cluster_events import Event
from dataflow_widgets.cluster_view.snapshot import Rates, cluster_state
from dataflow_widgets.cluster_view.telling import Telling, sentence
from tests.widgets.fake_cluster import FakeCluster

WORKER, PS = "/job:worker/task:1", "/job:ps/task:0"


def said(kind: str, task: str = WORKER, why: str = "", mode: str = "asynchronous") -> str:
    training = {"mode": mode, "state": "running", "global_step": 40}
    return sentence(Event(1.0, task, kind, why), training, False, 3)


def test_a_death_means_something_else_in_each_mode() -> None:
    assert "the other workers go on" in said("died")
    assert "the step waits for its gradient" in said("died", mode="synchronous")
    assert "while enough others" in said("died", mode="backup workers")
    assert "its variables are gone" in said("died", PS, "killed")
    assert said("died").endswith("It is being started again.")
    still = sentence(Event(1.0, WORKER, "died"), None, True, 3)
    assert still == "worker:1 died: what ran there is lost. It stays dead until Restart."


def test_what_was_done_is_said_with_its_consequence() -> None:
    assert said("restarted", PS).endswith("puts its variables back to those of step 40.")
    assert "restore a checkpoint" in sentence(Event(1.0, PS, "restarted"), None, False, 3)
    assert said("slowed", why="0.5 s a step") == (
        "worker:1 takes 0.5 s longer a step. "
        "Its gradients become stale: the others change the variables meanwhile."
    )
    assert said("slowed", why="0 s a step") == "worker:1 is quick again."
    late = said("delayed", why="0.2 s a message", mode="backup workers")
    assert late.endswith("arrives 0.2 s later. Its gradients come too late, and are dropped.")
    assert (
        said("delayed", why="0 s a message") == "Messages from and to worker:1 are on time again."
    )
    assert "held back" in said("cut") and "arrives now" in said("mended")
    assert "dealt anew" in said("added") and "3 tasks" in said("removed")
    assert said("odd", why="x") == "worker:1: odd (x)."


def state_of(cluster: Any) -> Any:
    return cluster_state(cluster, "cluster", Rates())["tasks"]


def test_lines_stay_until_dismissed_and_replace_their_like() -> None:
    cluster = FakeCluster()
    cluster.events.append(Event(0.5, WORKER, "slowed", "1 s a step"))
    telling = Telling(cluster)
    telling.take(cluster.events, state_of(cluster), None)
    assert telling.lines == [], "what was before the view"
    cluster.die(WORKER, "killed")
    telling.take(cluster.events, state_of(cluster), None)
    telling.take(cluster.events, state_of(cluster), None)
    (line,) = telling.lines
    assert line["level"] == "alarm" and line["text"].startswith("worker:1 died (killed)")
    cluster.events.append(Event(2.0, WORKER, "restarted"))
    telling.take(cluster.events, state_of(cluster), None)
    (line,) = telling.lines
    assert line["text"] == "worker:1 was started again."
    telling.dismiss(line["id"])
    telling.take(cluster.events, state_of(cluster), None)
    assert telling.lines == []


def test_dropped_gradients_and_silence_are_said_once() -> None:
    cluster = FakeCluster()
    telling = Telling(cluster)
    telling.take(cluster.events, state_of(cluster), None)
    for count in (1, 3, 3):
        cluster.rows[PS]["dropped_gradients"] = count
        telling.take(cluster.events, state_of(cluster), None)
    (line,) = telling.lines
    assert line["text"].startswith("3 late gradients have been dropped")
    cluster.rows[WORKER]["steps"] = None
    telling.take(cluster.events, state_of(cluster), None)
    assert "has not answered" in telling.lines[-1]["text"]
    cluster.rows[WORKER]["steps"] = 5
    telling.take(cluster.events, state_of(cluster), None)
    assert len(telling.lines) == 1
    for number in range(20):
        telling.say(f"line {number}")
    assert len(telling.lines) == 5
