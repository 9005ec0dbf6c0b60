"""`ClusterPanel`: start clusters, watch their tasks, disturb them, and see what travels."""

from __future__ import annotations

import importlib
import itertools
import threading
import time
import weakref
from typing import Any

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.cluster_panel.actions import Actions
from dataflow_widgets.cluster_panel.picture import panel_svg
from dataflow_widgets.cluster_panel.placed import placed_graph
from dataflow_widgets.cluster_panel.snapshot import (
    Rates,
    cluster_state,
    describe_cluster,
    log_lines,
)
from dataflow_widgets.words import plural

_POLL_SECONDS = 0.5
_SHORTEST_SECONDS = 0.1  # at most ten updates a second
_SECONDS_BETWEEN_PICTURES = 5.0
_MOST_LOSSES = 400


class ClusterPanel(Widget):
    """Clusters of this process: launched here, in code, or of servers that live in it.

        panel = ClusterPanel()          # launch one in the page
        panel.cluster                   # what was launched, for code to use

        cluster = tf.cluster.launch(ps=1, workers=2)
        ClusterPanel(cluster)

    Every task shows its state, device, variables, steps a second, staleness, bytes and log, and can
    be paused, slowed down, killed and started again. Sessions of this process that run on the
    cluster are drawn by task, with what travels; `show_graph` does so for one run. Trainings of
    `tf.cluster.Training`, and what `follow` is given, can be switched between asynchronous,
    synchronous and backup workers while they run; the training of a session of your own cannot: its
    graph is built for one mode.

    What is asked for in the page runs in a thread; the page says so at once. Tasks are looked at
    twice a second, and only while the panel is in sight.
    """

    _options = {"title", "height"}

    def __init__(self, cluster: Any = None, **options: Any) -> None:
        refuse_unknown(ClusterPanel, self._options, options)
        if cluster is not None and not (hasattr(cluster, "status") and hasattr(cluster, "kill")):
            raise TypeError(
                f"ClusterPanel shows what tf.cluster.launch or attach returns, got "
                f"{type(cluster).__name__}."
            )
        # Now, so that no two threads of this panel are the first to import them.
        importlib.import_module("dataflow.cluster.management.training")
        importlib.import_module("dataflow.cluster.management.launcher")
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._numbers = itertools.count(1)
        self._losses: weakref.WeakKeyDictionary[Any, list[list[float]]] = (
            weakref.WeakKeyDictionary()
        )
        self._selected: Any = cluster
        self._followed: list[Any] = []
        self._rates = Rates()
        self._actions = Actions(self)
        self._log_task = ""
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._unsubscribe: Any = None
        self._graph: dict[str, Any] | None = None
        self._graph_of: Any = None  # the training or session that is drawn
        self._graph_key: Any = None
        self._graph_version = 0
        self._graph_runs = 0
        self._runs_seen: tuple[float, int] = (0.0, 0)
        self._runs_per_second: float | None = None
        self._sent_version = -1
        self._kept_at = float("-inf")
        super().__init__(kind="cluster_panel", **({"height": 240} | options))

    # ---- for code -----------------------------------------------------------------------------

    @property
    def clusters(self) -> list[Any]:
        """The clusters that are shown."""
        import dataflow.cluster

        found = list(dataflow.cluster.find())
        if self._selected is not None and not any(c is self._selected for c in found):
            found.append(self._selected)  # one that has ended says so until another is chosen
        return found

    @property
    def cluster(self) -> Any:
        """The cluster that is chosen, or None where there is none."""
        clusters = self.clusters
        if self._selected is None and clusters:
            self._selected = clusters[0]
        return self._selected

    def follow(self, training: Any) -> None:
        """Shows a training of your own, to be switched in the page.

        It has ``cluster``, ``status()`` (name, state, mode, modes, num_backups, global_step, loss,
        workers, errors, as of `tf.cluster.Training`), ``switch(mode, num_backups)``, ``start()`` and
        ``stop()``. Raises TypeError for what has not.
        """
        missing = [
            name
            for name in ("cluster", "status", "switch", "start", "stop")
            if not hasattr(training, name)
        ]
        if missing:
            raise TypeError(
                f"{type(training).__name__} cannot be followed: it has no {', '.join(missing)}."
            )
        self._followed.append(training)
        self._changed()

    def show_graph(self, session: Any, fetches: Any, feed_dict: Any = None) -> str:
        """Draws what a run of ``fetches`` needs, colored by task, with its Sends and Recvs.

        Nothing is run. Returns the same in words. Raises ValueError for a session that is on no
        cluster, and for more than 600 nodes.
        """
        remote = getattr(session, "remote", None)
        if remote is None:
            raise ValueError("This session runs in this process alone; show_graph needs a target.")
        task_of = remote.tasks(fetches, feed_dict)
        feeds = frozenset(getattr(key, "name", str(key)) for key in feed_dict or {})
        self._draw_graph(
            session, placed_graph(session.graph, task_of, feeds), "a run of this session"
        )
        self._changed()
        return str((self._graph or {})["words"])

    def describe(self) -> str:
        """Every cluster in words: tasks, what needs attention, what has happened, trainings."""
        states = self._states()
        if not states:
            return "Cluster panel: no cluster runs in this process."
        lines = [f"Cluster panel: {plural(len(states), 'cluster')}."]
        for state in states:
            lines += describe_cluster(state)
        for training in self._trainings():
            lines.append(_training_words(training.status()))
        if self._graph is not None:
            lines.append(self._graph["words"])
        return "\n".join(lines)

    # ---- what is looked at --------------------------------------------------------------------

    def _name_of(self, cluster: Any) -> str:
        with self._lock:
            if cluster not in self._names:
                self._names[cluster] = f"cluster {next(self._numbers)}"
            return self._names[cluster]

    def _cluster_called(self, name: str) -> Any:
        for cluster in self.clusters:
            if self._name_of(cluster) == name:
                return cluster
        raise ValueError(f"There is no {name!r} any more.")

    def _states(self) -> list[dict[str, Any]]:
        return [cluster_state(c, self._name_of(c), self._rates) for c in self.clusters]

    def _trainings(self) -> list[Any]:
        from dataflow.cluster import trainings

        found = [t for t in trainings() if t.cluster in self.clusters]
        return found + [t for t in self._followed if t not in found]

    def _state(self) -> dict[str, Any]:
        chosen = self.cluster
        states = self._states()
        name = None if chosen is None else self._name_of(chosen)
        log = None
        if chosen is not None and self._log_task and not chosen.stopped:
            if self._log_task in [task["name"] for state in states for task in state["tasks"]]:
                log = {"task": self._log_task, "lines": log_lines(chosen, self._log_task)}
        return {
            "kind": "state",
            "clusters": states,
            "chosen": name,
            "log": log,
            "trainings": [
                {
                    "id": i,
                    "cluster": self._name_of(t.cluster),
                    "losses": self._losses_of(t),
                    **_plain(t.status()),
                }
                for i, t in enumerate(self._trainings())
            ],
            "graphVersion": self._graph_version,
            "runsPerSecond": self._rate_of_graph(states),
            **self._actions.state(),
        }

    def _losses_of(self, training: Any) -> list[list[float]]:
        """(seconds, step, loss) as far as this panel has seen them, at most 400, evenly thinned."""
        status = training.status()
        with self._lock:
            rows = self._losses.setdefault(training, [])
            step, loss = int(status["global_step"]), status["loss"]
            if loss is not None and (not rows or rows[-1][1] != step):
                rows.append([round(training.cluster.seconds, 1), step, float(loss)])
            if len(rows) > _MOST_LOSSES:
                del rows[1::2]
            return list(rows)

    def _rate_of_graph(self, states: list[dict[str, Any]]) -> float | None:
        """How often the run that is drawn is made: counted here, or by the worker that makes it."""
        if self._graph is None:
            return None
        if self._graph.get("worker"):
            for state in states:
                for task in state["tasks"]:
                    if task["name"] == self._graph["worker"]:
                        rate: float | None = task["stepsPerSecond"]
                        return rate
            return None
        now = time.monotonic()
        since, runs = self._runs_seen
        if now - since >= 1.0:
            if since:
                self._runs_per_second = (self._graph_runs - runs) / (now - since)
            self._runs_seen = (now, self._graph_runs)
        return self._runs_per_second

    # ---- the graph by task --------------------------------------------------------------------

    def _draw_graph(self, owner: Any, graph: dict[str, Any], what: str, worker: str = "") -> None:
        tasks = sorted({node["device"] for node in graph["nodes"]})
        words = (
            f"Graph of {what}: {plural(len(graph['nodes']), 'node')} on {', '.join(tasks)}; "
            f"{plural(len(graph['transfers']), 'value travels', 'values travel')}, "
            f"{graph['bytes']:,} bytes a run"
        )
        if graph["unknown"]:
            words += f" and {graph['unknown']} of a size known only when it runs"
        with self._lock:
            self._graph = graph | {"words": f"{words}.", "what": what, "worker": worker}
            self._graph_of = owner
            self._graph_runs = 0
            self._runs_seen, self._runs_per_second = (0.0, 0), None
            self._graph_version += 1

    def _draw_training(self, training: Any) -> None:
        """The graph that worker 0 runs in the present mode; nothing is run."""
        if not hasattr(training, "graph"):
            return
        from dataflow.runtime.session import Session

        graph, fetches = training.graph()
        task = "/job:worker/task:0"
        with Session(training.cluster.targets[task], graph=graph) as session:
            task_of = session.remote.tasks(fetches)
        what = f"{training.name}, {training.mode}, as worker:0 runs it"
        self._draw_graph(training, placed_graph(graph, task_of), what, "worker:0")

    def _after_run(self, event: Any) -> None:
        """Draws runs of this process on the chosen cluster; called after every `Session.run`."""
        remote = getattr(event.session, "remote", None)
        if remote is None or self._selected is None or self._selected.stopped:
            return
        if event.session.sess_str not in self._selected.targets.values():
            return
        key = (id(event.graph), tuple(event.fetches), tuple(event.feeds), len(event.needed))
        if key == self._graph_key and self._graph_of is event.session:
            self._graph_runs += 1
            return
        placed = remote.tasks_of_run(event.fetches, event.feeds)
        if len(set(placed.values())) < 2 and self._graph is not None:
            return  # an initializer or a look at one variable: what is drawn says more
        self._graph_key = key
        try:
            graph = placed_graph(event.graph, placed, frozenset(event.feeds))
        except ValueError:
            return
        self._draw_graph(event.session, graph, f"session.run({', '.join(event.fetches)[:80]})")
        self._graph_runs = 1
        self._changed()

    # ---- to and from the page -----------------------------------------------------------------

    def _acted(self, act: dict[str, Any], done: str) -> None:
        """The state says how it ended."""

    def _changed(self) -> None:
        self._wake.set()

    def _page_changed(self) -> None:
        """Looks at the tasks only while a page shows them."""
        from dataflow.runtime.events import subscribe

        with self._lock:
            if self._num_open and self._unsubscribe is None:
                self._unsubscribe = subscribe(self._after_run)
            if not self._num_open and self._unsubscribe is not None:
                self._unsubscribe()
                self._unsubscribe = None
            if self._num_open and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(
                    target=self._poll, name="dataflow cluster panel", daemon=True
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
                self.failure = f"The clusters could not be looked at: {type(e).__name__}: {e}"
            time.sleep(_SHORTEST_SECONDS)
            self._wake.wait(_POLL_SECONDS - _SHORTEST_SECONDS)

    def _send_state(self) -> None:
        with self._lock:
            if self._graph is not None and self._sent_version != self._graph_version:
                self._sent_version = self._graph_version
                self.send(self._graph_message())
        self.send(self._state())
        now = time.monotonic()
        if now - self._kept_at >= _SECONDS_BETWEEN_PICTURES:
            self._kept_at = now
            self._keep_picture()

    def _graph_message(self) -> dict[str, Any]:
        return {"kind": "placed", "version": self._graph_version, **(self._graph or {})}

    def _greet(self, version: int, num_runs: int) -> None:
        self._sent_version = -1
        self._wake.set()

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        kind = question.get("kind")
        if kind == "act":
            words = self._actions.begin(question.get("act") or {})
            self._wake.set()
            return {"words": words}
        if kind == "choose":
            self._selected = self._cluster_called(str(question.get("cluster")))
            self._wake.set()
            return {}
        if kind == "log":
            self._log_task = str(question.get("task") or "")
            self._wake.set()
            return {}
        return super()._answer(question)

    # ---- showing ------------------------------------------------------------------------------

    def to_svg(self) -> str:
        """The clusters as a picture, as they are now."""
        return self._draw()

    def _draw(self) -> str:
        return panel_svg(self._states(), self.title)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._keep_picture()
        return super()._repr_mimebundle_(**kwargs)

    def close(self) -> None:
        """Ends the panel; clusters and trainings go on."""
        if hasattr(self, "_actions"):  # not after a constructor that refused its arguments
            self._num_open = 0
            if self._unsubscribe is not None:
                self._unsubscribe()
                self._unsubscribe = None
            self._wake.set()
        super().close()


def _plain(status: dict[str, Any]) -> dict[str, Any]:
    """Numbers that JSON knows."""
    return status | {
        "global_step": int(status["global_step"]),
        "loss": None if status["loss"] is None else float(status["loss"]),
    }


def _training_words(status: dict[str, Any]) -> str:
    loss = "" if status["loss"] is None else f", loss {status['loss']:.4g}"
    words = f"Training {status['name']}: {status['state']}, {status['mode']}"
    if status["mode"] == "backup workers":
        words += f" ({status['num_backups']})"
    words += f", step {status['global_step']}{loss}."
    for task, error in status["errors"].items():
        words += f" {task}: {error}."
    return words
