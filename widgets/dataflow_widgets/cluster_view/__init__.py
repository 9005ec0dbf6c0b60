"""`ClusterView`: a cluster as a picture: machines, their parts of the graph, and what travels."""

from __future__ import annotations

import importlib
import threading
from typing import Any

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.cluster_panel.actions import Actions
from dataflow_widgets.cluster_panel.placed import placed_graph
from dataflow_widgets.cluster_panel.snapshot import Rates, cluster_state, describe_cluster, short
from dataflow_widgets.cluster_view.picture import cluster_svg
from dataflow_widgets.cluster_view.played import describe_recording, played
from dataflow_widgets.cluster_view.scene import scene_of
from dataflow_widgets.words import plural

_POLL_SECONDS = 0.5
_SHORTEST_SECONDS = 0.1  # at most ten updates a second


class ClusterView(Widget):
    """Client, master and tasks as machines, each with its part of the graph, and their messages.

        ClusterView(tf.train.ClusterSpec({"ps": [...], "worker": [...]}))   # nothing has to run
        ClusterView(cluster)                                   # what tf.cluster.launch returned
        ClusterView(recording)                                 # a tf.cluster.Recording, to scrub
        ClusterView(tf.cluster.simulate(4, 1, record=True))    # a simulation

    A recorded or simulated run is played message by message, forward and back: dots are tensors on
    their way, lit parts run, workers carry the version of the parameters that they read and a square
    for each update since, and a synchronous step shows who has arrived at its barrier. A link is as
    wide as what has traveled on it. A running cluster shows states and rates, twice a second while the
    view is in sight, and its tasks can be killed, paused, slowed down and started again; what that did
    is said in a line that stays until it is dismissed.

    Raises TypeError for anything else, ValueError for a simulation without ``record=True``.
    """

    _options = {"title", "height"}

    def __init__(self, subject: Any, **options: Any) -> None:
        self._wake = threading.Event()
        refuse_unknown(ClusterView, self._options, options)
        # Now, so that no two threads of this view are the first to import them.
        importlib.import_module("dataflow.cluster.management.training")
        self._cluster: Any = None
        self._recording: Any = None
        self._states: dict[str, str] = {}
        self._details: dict[str, str] = {}
        if hasattr(subject, "gradients_dropped"):  # a simulation
            if subject.recording is None:
                raise ValueError(
                    "ClusterView: this simulation was not recorded; needed is "
                    "tf.cluster.simulate(..., record=True)."
                )
            self._subject, self._recording = "simulated", subject.recording
        elif hasattr(subject, "steps") and hasattr(subject, "messages"):
            self._subject, self._recording = "recorded", subject
        elif hasattr(subject, "status") and hasattr(subject, "kill"):
            self._subject, self._cluster = "live", subject
        elif hasattr(subject, "task_address"):
            self._subject = "spec"
            self._details = dict(subject.addresses())
        else:
            raise TypeError(
                "ClusterView shows a ClusterSpec, a running cluster, a tf.cluster.Recording or a "
                f"simulation, got {type(subject).__name__}."
            )
        self._rates = Rates()
        self._actions = Actions(self)
        self._said = ""
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()
        self._drawn_key: Any = None
        self._version = 0
        self._scene = self._make_scene(subject)
        super().__init__(
            kind="cluster_view", payload=self._payload(), **({"height": 560} | options)
        )
        self.words = self.describe()[:4000]

    # ---- what is drawn ------------------------------------------------------------------------

    def _make_scene(self, subject: Any = None) -> dict[str, Any]:
        if self._recording is not None:
            pairs = {(m.source, m.target) for m in self._recording.messages()}
            return scene_of(
                self._recording.tasks,
                self._recording.ops,
                self._recording.inputs,
                sorted(pairs) or None,
                with_client=self._subject == "recorded",
            )
        if self._cluster is None:
            return scene_of(list(subject.addresses()), details=self._details)
        return self._live_scene()

    def _live_scene(self) -> dict[str, Any]:
        """The tasks of a running cluster; those that train, with what the training's steps need."""
        cluster = self._cluster
        training = next(iter(self._trainings()), None)
        addresses = cluster.spec.addresses()
        key = (tuple(addresses), None if training is None else (id(training), training.mode))
        if key == self._drawn_key:
            return self._scene
        self._drawn_key = key
        self._version += 1
        ops: dict[str, dict[str, str]] = {}
        inputs: dict[tuple[str, str], list[str]] = {}
        links: set[tuple[str, str]] | None = None
        self._traveling: list[dict[str, Any]] = []
        if training is not None and hasattr(training, "graph"):
            ops, inputs, links = self._placed_training(training)
        return scene_of(
            list(addresses), ops, inputs, None if links is None else sorted(links), addresses
        )

    def _placed_training(self, training: Any) -> Any:
        from dataflow.runtime.session import Session

        ops: dict[str, dict[str, str]] = {}
        inputs: dict[tuple[str, str], list[str]] = {}
        links: set[tuple[str, str]] = set()
        graph, fetches = training.graph()
        with Session(self._cluster.targets["/job:worker/task:0"], graph=graph) as session:
            placed = placed_graph(graph, session.remote.tasks(fetches))
        tasks = list(self._cluster.spec.addresses())
        full = {short(task): task for task in tasks}
        workers = [task for task in tasks if "/job:worker/" in task]
        for node in placed["nodes"]:
            here = full.get(node["device"], "")
            # Each worker builds the same part for itself.
            for task in workers if "/job:worker/" in here else [here]:
                ops.setdefault(task, {})[node["name"]] = node["op"]
                inputs[task, node["name"]] = node["inputs"]
        for transfer in placed["transfers"]:
            self._traveling.append(
                {key: transfer[key] for key in ("tensor", "from", "to", "bytes")}
            )
            ends = full[transfer["from"]], full[transfer["to"]]
            servers = [task for task in ends if "/job:worker/" not in task]
            links |= {(server, worker) for server in servers for worker in workers}
        return ops, inputs, links

    def _payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "nodes": [],
            "scene": self._scene,
            "subject": self._subject,
            "version": self._version,
        }
        if self._recording is not None:
            payload["play"] = played(self._recording, self._scene)
        if self._cluster is not None:
            payload["traveling"] = self._traveling
        return payload

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
            lines += describe_recording(self._recording)
        if self._cluster is not None:
            lines += describe_cluster(cluster_state(self._cluster, "cluster", self._rates))
        return "\n".join(lines)

    def to_svg(self) -> str:
        """The picture as it is now; of a recording, without its messages."""
        return self._draw()

    def _draw(self) -> str:
        busy: Any = ()
        words = self.describe().partition("\n")[0]
        if self._recording is not None:
            busy = played(self._recording, self._scene)["busy"]
            words += " " + describe_recording(self._recording)[0]
        states: dict[str, str] = {}
        if self._cluster is not None and not self._cluster.stopped:
            states = {row["task"]: row["state"] for row in self._cluster.status()}
        return cluster_svg(self._scene, states, words, busy)

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
        self._wake.set()

    def _state(self) -> dict[str, Any]:
        state = cluster_state(self._cluster, "cluster", self._rates)
        return {
            "kind": "state",
            "tasks": state["tasks"],
            "notices": [notice["text"] for notice in state["notices"]],
            "launched": state["launched"],
            "stopped": self._cluster.stopped,
            "trainings": [
                {
                    key: value
                    for key, value in training.status().items()
                    if key in ("name", "state", "mode", "modes", "global_step", "loss", "workers")
                }
                for training in self._trainings()
            ],
            **self._actions.state(),
        }

    def _page_changed(self) -> None:
        if self._cluster is None:
            return
        with self._lock:
            if self._num_open and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(
                    target=self._poll, name="dataflow cluster view", daemon=True
                )
                self._thread.start()
        self._wake.set()

    def _poll(self) -> None:
        while True:
            self._wake.clear()
            with self._lock:
                if not self._num_open:
                    self._thread = None
                    return
            try:
                self._send_state()
                if self.failure:
                    self.failure = ""
            except Exception as e:
                self.failure = f"The cluster could not be looked at: {type(e).__name__}: {e}"
            self._wake.wait(_SHORTEST_SECONDS)
            self._wake.wait(_POLL_SECONDS - _SHORTEST_SECONDS)

    def _send_state(self) -> None:
        if not self._cluster.stopped:
            before = self._version
            self._scene = self._live_scene()
            if self._version != before:
                self.payload = self._payload() | {"replace": True}
        self.send(self._state())

    def _greet(self, version: int, num_runs: int) -> None:
        self.payload = self._payload()
        self._wake.set()

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if question.get("kind") == "act" and self._cluster is not None:
            words = self._actions.begin(question.get("act") or {})
            self._wake.set()
            return {"words": words}
        return super()._answer(question)

    def close(self) -> None:
        """Ends the view; the cluster goes on."""
        self._num_open = 0
        self._wake.set()
        super().close()
