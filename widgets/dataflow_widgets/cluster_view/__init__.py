"""`ClusterView`: a cluster as a picture: machines, their parts of the graph, and what travels."""

from __future__ import annotations

import importlib
from typing import Any

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.cluster_view.actions import Actions
from dataflow_widgets.cluster_view.follower import Follower
from dataflow_widgets.cluster_view.live_scene import LiveScene
from dataflow_widgets.cluster_view.picture import cluster_svg
from dataflow_widgets.cluster_view.played import describe_recording, played
from dataflow_widgets.cluster_view.ring import RingBytes, ring_words
from dataflow_widgets.cluster_view.scene import scene_of
from dataflow_widgets.cluster_view.snapshot import Rates, cluster_state, describe_cluster
from dataflow_widgets.cluster_view.telling import Telling
from dataflow_widgets.text_description import plural

_SHOWN = (
    *("name", "state", "mode", "modes", "num_backups", "batch_size", "global_step", "loss"),
    *("workers", "errors", "trouble"),
)


class ClusterView(Widget):
    """Client, master and tasks as machines, each with its part of the graph, and their messages.

        ClusterView(tf.train.ClusterSpec({"ps": [...], "worker": [...]}))   # nothing has to run
        ClusterView(cluster)                                   # what tf.cluster.launch returned
        ClusterView(recording)                                 # a tf.cluster.Recording, to scrub
        ClusterView(tf.cluster.simulate(4, 1, record=True))    # a simulation

    A recorded or simulated run is played message by message, forward and back: dots are tensors on
    their way, lit parts run, workers carry the version of the parameters that they read and a square
    for each update since, and a synchronous step shows who has arrived at its barrier. A link is as
    wide as what has traveled on it. Workers that train in the mode "all-reduce" stand in a circle, the
    chunks travel around it, and in its middle is what a worker sends in a step, measured and in theory.

    A running cluster is followed while the view is in sight: a sample of its messages as dots, ten times
    a second, and states and rates, twice a second. Its tasks can be killed, paused, slowed down, cut off
    and started again, their messages delayed; the mode, the numbers of workers and of backup workers and
    the batch of a `tf.cluster.Training` changed. What that did is said in a line that stays until it is
    dismissed. With ``auto_restart=False`` a task that dies stays dead until Restart is pressed.

    Raises TypeError for anything else, ValueError for a simulation without ``record=True``.
    """

    _options = {"title", "height", "auto_restart"}

    def __init__(self, subject: Any, **options: Any) -> None:
        self._follower = Follower(self, "dataflow cluster view")
        auto_restart = options.pop("auto_restart", None)
        refuse_unknown(ClusterView, self._options, options)
        # Now, so that no two threads of this view are the first to import them.
        importlib.import_module("dataflow.cluster.management.training")
        self._cluster: Any = None
        self._recording: Any = None
        self._live: Any = None  # the LiveScene of a running cluster
        if hasattr(subject, "gradients_dropped"):  # a simulation
            if subject.recording is None:
                raise ValueError(
                    "ClusterView: this simulation was not recorded; use "
                    "tf.cluster.simulate(..., record=True)."
                )
            self._subject, self._recording = "simulated", subject.recording
        elif hasattr(subject, "steps") and hasattr(subject, "messages"):
            self._subject, self._recording = "recorded", subject
        elif hasattr(subject, "status") and hasattr(subject, "kill"):
            self._subject, self._cluster = "live", subject
            if auto_restart is not None:
                subject.auto_restart = bool(auto_restart)
            self._live = LiveScene(subject)
            self._telling = Telling(subject)
        elif hasattr(subject, "task_address"):
            self._subject = "spec"
        else:
            raise TypeError(
                "ClusterView shows a ClusterSpec, a running cluster, a tf.cluster.Recording or a "
                f"simulation, got {type(subject).__name__}."
            )
        self._rates = Rates()
        self._actions = Actions(self)
        self._scene = self._make_scene(subject)
        super().__init__(
            kind="cluster_view", payload=self._payload(), **({"height": 560} | options)
        )
        self.words = self.describe()[:4000]

    # ---- what is drawn ------------------------------------------------------------------------

    def _make_scene(self, subject: Any) -> dict[str, Any]:
        if self._live is not None:
            scene: dict[str, Any] = self._live.scene
            return scene
        if self._recording is None:
            return scene_of(list(subject.addresses()), details=dict(subject.addresses()))
        ring = self._recording.ring
        hops = set(self._recording.next_in_ring.items())
        pairs = {(m.source, m.target) for m in self._recording.messages()} - hops
        return scene_of(
            self._recording.tasks,
            self._recording.ops,
            self._recording.inputs,
            sorted(pairs) or (() if ring else None),
            with_client=self._subject == "recorded",
            ring=ring,
        )

    def _payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = {"nodes": [], "scene": self._scene, "subject": self._subject}
        if self._recording is not None:
            payload["play"] = played(self._recording, self._scene)
            payload["ringWords"] = ring_words(self._recorded_ring())
        return payload | (self._live.payload() if self._live is not None else {})

    def describe(self) -> str:
        """The machines, their links and what happened, in words."""
        cards = self._scene["tasks"]
        names = [card["name"] for card in cards]
        tasks = [card for card in cards if card["job"] != "client"]
        lines = [f"Cluster of {plural(len(tasks), 'task')}: {', '.join(c['name'] for c in tasks)}."]
        for card in tasks:
            parts = ", ".join(part["text"] for part in card["parts"])
            detail = f" ({card['detail']})" if card["detail"] else ""
            lines.append(f"  {card['name']}{detail}" + (f": {parts}" if parts else ""))
        for link in self._scene["links"][:60]:
            lines.append(f"  {names[link['a']]} and {names[link['b']]} are linked")
        if self._recording is not None:
            lines += ring_words(self._recorded_ring()) + describe_recording(self._recording)
        if self._cluster is not None:
            state = cluster_state(self._cluster, "cluster", self._rates)
            lines += describe_cluster(state)
            lines += ring_words(self._live.ring_bytes(state["tasks"]))
        return "\n".join(lines)

    def to_svg(self) -> str:
        """The picture as it is now; of a recording, without its messages."""
        return self._draw()

    def _draw(self) -> str:
        busy: Any = ()
        middle: list[str] = []
        words = self.describe().partition("\n")[0]
        if self._recording is not None:
            busy = played(self._recording, self._scene)["busy"]
            words += " " + describe_recording(self._recording)[0]
            middle = ring_words(self._recorded_ring())
        states: dict[str, str] = {}
        if self._cluster is not None and not self._cluster.stopped:
            rows = cluster_state(self._cluster, "cluster", self._rates)["tasks"]
            states = {row["task"]: row["state"] for row in rows}
            middle = ring_words(self._live.ring_bytes(rows))
        return cluster_svg(self._scene, states, words, busy, middle)

    # ---- of a running cluster -----------------------------------------------------------------

    @property
    def cluster(self) -> Any:
        """The running cluster that is shown, or None."""
        return self._cluster

    def _cluster_called(self, name: str) -> Any:
        return self._cluster

    def _trainings(self) -> list[Any]:
        from dataflow.cluster import trainings

        found: list[Any] = trainings(self._cluster)
        return found

    def _draw_training(self, training: Any) -> None:
        self._changed()

    def _changed(self) -> None:
        self._follower.wake()

    def _acted(self, act: dict[str, Any], done: str) -> None:
        if not act.get("task"):  # what is done to a task is an event of the cluster
            self._telling.say(done, key=str(act.get("do")))

    def _state(self) -> dict[str, Any]:
        events = list(self._cluster.events)  # first: what they say is in the state, then
        state = cluster_state(self._cluster, "cluster", self._rates)
        trainings = [training.status() for training in self._trainings()]
        self._telling.take(events, state["tasks"], trainings[0] if trainings else None)
        return {
            "kind": "state",
            "tasks": state["tasks"],
            "jobs": state["jobs"],
            "lines": self._telling.lines,
            "launched": state["launched"],
            "autoRestart": self._cluster.auto_restart,
            "stopped": self._cluster.stopped,
            "ringWords": ring_words(self._live.ring_bytes(state["tasks"])),
            "trainings": [
                {key: value for key, value in training.items() if key in _SHOWN}
                for training in trainings
            ],
            **self._actions.state(),
        }

    def _recorded_ring(self) -> RingBytes | None:
        ring = self._recording.ring
        if not ring or not self._recording.reduced_bytes:
            return None
        hops = set(self._recording.next_in_ring.items())
        sent = sum(m.num_bytes for m in self._recording.messages() if (m.source, m.target) in hops)
        return RingBytes(len(ring), self._recording.reduced_bytes, sent / len(self._recording))

    def _page_changed(self) -> None:
        if self._cluster is not None:
            self._follower.page_changed()

    def _send_messages(self) -> None:
        """Show what has traveled since the last time; nothing where nothing has."""
        message = self._live.messages() if self._live is not None else None
        if message is not None:
            self.send(message)

    def _send_state(self) -> None:
        if not self._cluster.stopped and self._live.refresh():
            self._scene = self._live.scene
            self.payload = self._payload() | {"replace": True}
        self.send(self._state())

    def _greet(self, version: int, num_runs: int) -> None:
        self.payload = self._payload()
        self._follower.wake()

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if question.get("kind") == "dismiss" and self._cluster is not None:
            self._telling.dismiss(int(question.get("line", 0)))
            return {}
        if question.get("kind") == "act" and self._cluster is not None:
            words = self._actions.begin(question.get("act") or {})
            self._follower.wake()
            return {"words": words}
        return super()._answer(question)

    def close(self) -> None:
        """Ends the view; the cluster goes on."""
        self._num_open = 0
        self._follower.wake()
        super().close()
