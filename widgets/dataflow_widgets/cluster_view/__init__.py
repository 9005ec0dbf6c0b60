"""`ClusterView`: a cluster as a picture: machines, their parts of the graph, and what travels."""

from __future__ import annotations

import importlib
import threading
import time
from typing import Any

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.cluster_panel.actions import Actions
from dataflow_widgets.cluster_panel.placed import placed_graph
from dataflow_widgets.cluster_panel.snapshot import Rates, cluster_state, describe_cluster, short
from dataflow_widgets.cluster_view.picture import cluster_svg
from dataflow_widgets.cluster_view.played import describe_recording, played
from dataflow_widgets.cluster_view.ring import (
    RingBytes,
    reduced_bytes,
    ring_words,
    sent_in_a_step,
)
from dataflow_widgets.cluster_view.scene import scene_of
from dataflow_widgets.cluster_view.telling import Telling
from dataflow_widgets.words import plural

_POLL_SECONDS = 0.5
_FRAME_SECONDS = 0.1
_MOST_MESSAGES = 40  # of a frame
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
        self._wake = threading.Event()
        auto_restart = options.pop("auto_restart", None)
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
            if auto_restart is not None:
                subject.auto_restart = bool(auto_restart)
            from dataflow.cluster.management.message_watch import MessageWatch

            self._watch = MessageWatch(subject)
            self._telling = Telling(subject)
            self._quiet: Any = None
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
        self._reduced_bytes = 0
        if training is not None and training.mode == "all-reduce":
            return self._ring_scene(training, addresses)
        if training is not None and hasattr(training, "graph"):
            ops, inputs, links = self._placed_training(training)
        return scene_of(
            list(addresses), ops, inputs, None if links is None else sorted(links), addresses
        )

    def _ring_scene(self, training: Any, addresses: dict[str, str]) -> dict[str, Any]:
        """The workers in a circle; worker 0 leaves a copy of the variables at the servers."""
        graph, _ = training.graph()
        self._reduced_bytes = reduced_bytes(graph)
        workers = [task for task in addresses if "/job:worker/" in task]
        links = [(task, workers[0]) for task in addresses if "/job:ps/" in task]
        return scene_of(list(addresses), links=links, details=addresses, ring=workers)

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
            payload["ringWords"] = ring_words(self._recorded_ring())
        if self._cluster is not None:
            payload["traveling"] = self._traveling
            payload["reducedBytes"] = self._reduced_bytes
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
            lines += ring_words(self._recorded_ring()) + describe_recording(self._recording)
        if self._cluster is not None:
            state = cluster_state(self._cluster, "cluster", self._rates)
            lines += describe_cluster(state)
            lines += ring_words(self._ring_bytes(state["tasks"]))
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
            middle = ring_words(self._ring_bytes(rows))
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
        self._wake.set()

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
            "ringWords": ring_words(self._ring_bytes(state["tasks"])),
            "trainings": [
                {key: value for key, value in training.items() if key in _SHOWN}
                for training in trainings
            ],
            **self._actions.state(),
        }

    def _ring_bytes(self, tasks: list[dict[str, Any]]) -> RingBytes | None:
        """What a worker of the ring sends in a step; ``None`` where no ring is drawn."""
        if not self._reduced_bytes or not self._scene["ring"]:
            return None
        workers = [task for task in tasks if "/job:worker/" in task["task"]]
        return RingBytes(
            len(workers),
            self._reduced_bytes,
            sent_in_a_step(workers[1:]),  # 0 also leaves copies
        )

    def _recorded_ring(self) -> RingBytes | None:
        ring = self._recording.ring
        if not ring or not self._recording.reduced_bytes:
            return None
        hops = set(self._recording.next_in_ring.items())
        sent = sum(m.num_bytes for m in self._recording.messages() if (m.source, m.target) in hops)
        return RingBytes(len(ring), self._recording.reduced_bytes, sent / len(self._recording))

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
            until = time.monotonic() + _POLL_SECONDS
            time.sleep(_FRAME_SECONDS)
            while not self._wake.is_set() and time.monotonic() < until and self._num_open:
                began = time.monotonic()
                self._send_messages()
                # On a machine that is too busy for ten frames a second there are fewer.
                took = time.monotonic() - began
                self._wake.wait(max(_FRAME_SECONDS - took, 2 * took, 0.01))

    def _send_messages(self) -> None:
        """Show what has traveled since the last time; nothing where nothing has."""
        if self._cluster.stopped:
            return
        try:
            message = self._messages()
        except Exception as e:
            self.failure = f"Its messages could not be looked at: {type(e).__name__}: {e}"
            return
        still = {k: v for k, v in message.items() if k != "messages"}
        if message["messages"] or still != self._quiet:
            self._quiet = still
            self.send(message)

    def _messages(self) -> dict[str, Any]:
        seen = self._watch.read()
        card_of = {card["task"]: i for i, card in enumerate(self._scene["tasks"])}
        lags: dict[int, int] = {}
        for server, versions in seen.versions.items():
            for task, version in versions.items():
                if task in card_of and task != server:
                    behind = seen.updates[server] - version
                    lags[card_of[task]] = max(behind, lags.get(card_of[task], 0))
        rows = [
            [m.number, card_of[m.source], card_of[m.target], _label(m.names), m.num_bytes,
             round(m.sent, 4), None if m.received is None else round(m.received, 4)]
            for m in seen.messages
            if m.source in card_of and m.target in card_of
        ]  # fmt: skip
        return {
            "kind": "messages",
            "messages": rows[-_MOST_MESSAGES:],
            "lags": lags,
            "versions": {card_of[t]: n for t, n in seen.updates.items() if t in card_of},
            "waiting": [card_of[task] for task in seen.waiting if task in card_of],
            "tokens": seen.tokens,
        }

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
        if question.get("kind") == "dismiss" and self._cluster is not None:
            self._telling.dismiss(int(question.get("line", 0)))
            return {}
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


def _label(names: list[str]) -> str:
    """The name that says most about a message: of a gradient, or of the first tensor."""
    if not names:
        return "values"
    name = next((n for n in names if n.startswith("gradients")), names[0])
    name = name.removesuffix(":0").removesuffix("/read")
    return name if len(names) == 1 else f"{name} and {len(names) - 1} more"
