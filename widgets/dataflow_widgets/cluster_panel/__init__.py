"""`ClusterPanel`: start clusters, watch their tasks, disturb them, and see what travels."""

from __future__ import annotations

import importlib
import itertools
import threading
import time
import weakref
from typing import Any

from dataflow_widgets.base import Widget, refuse_unknown
from dataflow_widgets.cluster_view.actions import Actions
from dataflow_widgets.cluster_panel.picture import panel_svg
from dataflow_widgets.cluster_view.follower import Follower
from dataflow_widgets.cluster_view.live_scene import LiveScene
from dataflow_widgets.cluster_view.placed import placed_graph
from dataflow_widgets.cluster_view.ring import ring_words
from dataflow_widgets.cluster_view.snapshot import (
    Rates,
    cluster_state,
    describe_cluster,
    log_lines,
)
from dataflow_widgets.text_description import plural

_SECONDS_BETWEEN_PICTURES = 5.0
_MOST_LOSSES = 400


class ClusterPanel(Widget):
    """Clusters of this process: launched here, in code, or of servers that live in it.

        panel = ClusterPanel()          # launch one in the page
        panel.cluster                   # what was launched, for code to use

        cluster = tf.cluster.launch(ps=1, workers=2)
        ClusterPanel(cluster)

    Every task shows its state, device, variables, steps a second, staleness, bytes and log, and can
    be paused, slowed down, killed and started again. Its picture is `ClusterView`'s: the machines with
    what a training's steps, or the last run of this process, need on each, and messages as they travel;
    `show_graph` draws one run. A machine that is pressed can also be cut off, and its messages delayed.
    Trainings of `tf.cluster.Training`, and what `follow` is given, can be switched to another mode while
    they run; the training of a session of your own cannot: its graph is built for one mode.

    What is asked for in the page runs in a thread; the page says so at once. Tasks are looked at
    twice a second, their messages ten times, and only while the panel is in sight.
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
        self._follower = Follower(self, "dataflow cluster panel")
        self._unsubscribe: Any = None
        self._live: LiveScene | None = None
        self._sent_scene: int | None = None
        self._run_key: Any = None  # of the run that is drawn, where one is
        self._num_runs = 0
        self._runs_seen: tuple[float, int] = (0.0, 0)
        self._runs_per_second: float | None = None
        self._kept_at = float("-inf")
        super().__init__(kind="cluster_panel", **({"height": 440} | options))

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
        """Draws what a run of ``fetches`` needs of each task, and lists what travels.

        Nothing is run. Returns the same in words. Raises ValueError for a session that is on no
        cluster, and for more than 600 nodes.
        """
        remote = getattr(session, "remote", None)
        if remote is None:
            raise ValueError("This session runs in this process alone; show_graph needs a target.")
        cluster = next(
            (c for c in self.clusters if session.sess_str in c.targets.values()), self.cluster
        )
        if cluster is None:
            raise ValueError("The session's cluster is not among those of this panel.")
        self._selected = cluster
        task_of = remote.tasks(fetches, feed_dict)
        feeds = frozenset(getattr(key, "name", str(key)) for key in feed_dict or {})
        live = self._live_scene()
        if live is None:
            raise ValueError("The session's cluster has ended.")
        self._show_run(live, placed_graph(session.graph, task_of, feeds), "a run of this session")
        return str((live.drawn or {})["words"])

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
        live = self._live_scene()
        if live is not None and live.drawn is not None:
            lines.append(live.drawn["words"])
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
            "ringWords": self._ring_words(states),
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

    def _ring_words(self, states: list[dict[str, Any]]) -> list[str]:
        live = self._live
        if live is None:
            return []
        name = self._name_of(live.cluster)
        rows = [task for state in states if state["id"] == name for task in state["tasks"]]
        return ring_words(live.ring_bytes(rows))

    def _rate_of_graph(self, states: list[dict[str, Any]]) -> float | None:
        """How often the run that is drawn is made: counted here, or by the worker that makes it."""
        drawn = self._live.drawn if self._live is not None else None
        if drawn is None:
            return None
        if drawn["worker"]:
            rows = [task for state in states for task in state["tasks"]]
            return next(
                (row["stepsPerSecond"] for row in rows if row["name"] == drawn["worker"]), None
            )
        now = time.monotonic()
        since, runs = self._runs_seen
        if now - since >= 1.0:
            if since:
                self._runs_per_second = (self._num_runs - runs) / (now - since)
            self._runs_seen = (now, self._num_runs)
        return self._runs_per_second

    # ---- the picture --------------------------------------------------------------------------

    def _live_scene(self) -> LiveScene | None:
        """The picture of the chosen cluster; another one for another cluster."""
        chosen = self.cluster
        with self._lock:
            if chosen is None or chosen.stopped:
                self._live = None
            elif self._live is None or self._live.cluster is not chosen:
                self._live = LiveScene(chosen, with_client=False)
                self._sent_scene = None
                self._run_key = None
            return self._live

    def _draw_training(self, training: Any) -> None:
        """The next look at the cluster finds it."""
        self._changed()

    def _show_run(self, live: LiveScene, placed: dict[str, Any], what: str) -> None:
        with self._lock:
            live.show_run(placed, what)
            self._num_runs = 0
            self._runs_seen, self._runs_per_second = (0.0, 0), None
        self._changed()

    def _after_run(self, event: Any) -> None:
        """Draws runs of this process on the chosen cluster; called after every `Session.run`."""
        remote = getattr(event.session, "remote", None)
        if remote is None or self._selected is None:
            return
        live = self._live or self._live_scene()
        if live is None or live.cluster.stopped:
            return
        if event.session.sess_str not in live.cluster.targets.values():
            return
        key = (id(event.graph), tuple(event.fetches), tuple(event.feeds), len(event.needed))
        if key == self._run_key:
            self._num_runs += 1
            return
        if live.training() is not None:
            return  # its steps say more
        placed = remote.tasks_of_run(event.fetches, event.feeds)
        if len(set(placed.values())) < 2 and live.drawn is not None:
            return  # an initializer or a look at one variable: what is drawn says more
        try:
            graph = placed_graph(event.graph, placed, frozenset(event.feeds))
        except ValueError:
            return
        self._show_run(live, graph, f"session.run({', '.join(event.fetches)[:80]})")
        self._run_key, self._num_runs = key, 1

    # ---- to and from the page -----------------------------------------------------------------

    def _acted(self, act: dict[str, Any], done: str) -> None:
        """The state says how it ended."""

    def _changed(self) -> None:
        self._follower.wake()

    def _page_changed(self) -> None:
        """Looks at the tasks only while a page shows them."""
        from dataflow.runtime.events import subscribe

        with self._lock:
            if self._num_open and self._unsubscribe is None:
                self._unsubscribe = subscribe(self._after_run)
            if not self._num_open and self._unsubscribe is not None:
                self._unsubscribe()
                self._unsubscribe = None
        self._follower.page_changed()

    def _send_messages(self) -> None:
        """Show what has traveled since the last time; nothing where nothing has."""
        live = self._live_scene()
        message = live.messages() if live is not None else None
        if message is not None:
            self.send(message)

    def _send_state(self) -> None:
        live = self._live_scene()
        if live is not None:
            live.refresh()
            if self._sent_scene != live.version:
                self._sent_scene = live.version
                self.send(self._scene_message(live))
        self.send(self._state())
        now = time.monotonic()
        if now - self._kept_at >= _SECONDS_BETWEEN_PICTURES:
            self._kept_at = now
            self._keep_picture()

    def _scene_message(self, live: LiveScene) -> dict[str, Any]:
        words = live.drawn["words"] if live.drawn else ""
        return {"kind": "scene", "words": words, **live.payload()}

    def _greet(self, version: int, num_runs: int) -> None:
        self._sent_scene = None
        self._follower.wake()

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        kind = question.get("kind")
        if kind == "act":
            words = self._actions.begin(question.get("act") or {})
            self._follower.wake()
            return {"words": words}
        if kind == "choose":
            self._selected = self._cluster_called(str(question.get("cluster")))
            self._follower.wake()
            return {}
        if kind == "log":
            self._log_task = str(question.get("task") or "")
            self._follower.wake()
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
            self._follower.wake()
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
