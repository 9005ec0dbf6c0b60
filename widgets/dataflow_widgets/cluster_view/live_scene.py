"""The picture of a running cluster: its scene, what runs on it, and the messages that travel there.

What `ClusterView` shows, and `ClusterPanel` beside its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow_widgets.cluster_view.placed import placed_graph
from dataflow_widgets.cluster_view.ring import RingBytes, reduced_bytes, sent_in_a_step
from dataflow_widgets.cluster_view.scene import scene_of
from dataflow_widgets.cluster_view.snapshot import short
from dataflow_widgets.text_description import plural

_MOST_MESSAGES = 40  # of a frame
_WORKER_0 = "/job:worker/task:0"


class LiveScene:
    """The scene of a cluster as it is now, with the graph that its training or its last run needs.

    ``version`` counts the scenes; ``drawn`` is what stands on the machines, None for nothing:
    ``{"words", "what", "transfers", "bytes", "unknown", "worker"}`` as of `placed_graph`, with the task
    whose steps it is, or "".
    """

    def __init__(self, cluster: Any, with_client: bool = True) -> None:
        from dataflow.cluster.management.message_watch import MessageWatch

        self.cluster = cluster
        self.version = 0
        self.drawn: dict[str, Any] | None = None
        self.reduced_bytes = 0
        self._slot_bytes = (0, 0)  # of the optimizer: on each worker, undivided
        self._with_client = with_client
        self._watch = MessageWatch(cluster)
        self._run: tuple[dict[str, Any], str] | None = None  # a placed graph and what it is
        self._training_key: Any = None
        self._key: Any = None
        self._still: Any = None
        self.scene: dict[str, Any] = {}
        self.refresh()

    def training(self) -> Any:
        """The training that is drawn, or None."""
        from dataflow.cluster import trainings

        return next(iter(trainings(self.cluster)), None)

    def show_run(self, placed: dict[str, Any], what: str) -> None:
        """Draw a run: a `placed_graph`; until a training begins, or another mode of it."""
        self._run = placed, what
        self.refresh()

    def refresh(self) -> bool:
        """Look at the cluster's size, its training's mode and the run to show; whether that is new."""
        from dataflow.cluster.management.training_options import RING_MODES

        training = self.training()
        training_key = None if training is None else (id(training), training.mode)
        if training_key != self._training_key:
            self._training_key, self._run = training_key, None
        addresses = self.cluster.spec.addresses()
        key = (tuple(addresses), training_key, None if self._run is None else id(self._run[0]))
        if key == self._key:
            return False
        self._key = key
        self.drawn, self.reduced_bytes = None, 0
        if self._run is not None:
            self.scene = self._draw(*self._run, addresses)
        elif training is not None and training.mode in RING_MODES:
            self.scene = self._draw_ring(training, addresses)
        elif training is not None and hasattr(training, "graph"):
            self.scene = self._draw_training(training, addresses)
        else:
            self.scene = self._scene_of(addresses)
        self.version += 1
        return True

    def _scene_of(
        self,
        addresses: dict[str, str],
        ops: Any = None,
        inputs: Any = None,
        links: Any = None,
        ring: Sequence[str] = (),
    ) -> dict[str, Any]:
        tasks, has_client = list(addresses), self._with_client
        return scene_of(tasks, ops, inputs, links, addresses, has_client, ring)

    def _draw_ring(self, training: Any, addresses: dict[str, str]) -> dict[str, Any]:
        """The workers in a circle; worker 0 leaves a copy of the variables at the servers."""
        graph, _ = training.graph()
        self.reduced_bytes, self._slot_bytes = reduced_bytes(graph), training.slot_bytes()
        workers = [task for task in addresses if "/job:worker/" in task]
        links = [(task, workers[0]) for task in addresses if "/job:ps/" in task]
        return self._scene_of(addresses, links=links, ring=workers)

    def _draw_training(self, training: Any, addresses: dict[str, str]) -> dict[str, Any]:
        """What worker 0 runs in the present mode; nothing is run. Every worker builds its like."""
        from dataflow.cluster.management.training_options import SPREAD
        from dataflow.runtime.session import Session

        graph, fetches = training.graph()
        with Session(self.cluster.targets[_WORKER_0], graph=graph) as session:
            placed = placed_graph(graph, session.remote.tasks(fetches))
        if training.mode == SPREAD:
            return self._draw(placed, f"{training.name}, a step of all workers", addresses)
        what = f"{training.name}, {training.mode}, as worker:0 runs it"
        workers = [task for task in addresses if "/job:worker/" in task]
        return self._draw(placed, what, addresses, workers)

    def _draw(
        self, placed: dict[str, Any], what: str, addresses: dict[str, str], alike: Any = ()
    ) -> dict[str, Any]:
        """The machines with their parts of a placed graph; the tasks ``alike`` hold the same part."""
        full = {short(task): task for task in addresses}
        ops: dict[str, dict[str, str]] = {}
        inputs: dict[tuple[str, str], list[str]] = {}
        links: set[tuple[str, str]] = set()
        for node in placed["nodes"]:
            here = full.get(node["device"], "")
            for task in alike if here in alike else [here]:
                ops.setdefault(task, {})[node["name"]] = node["op"]
                inputs[task, node["name"]] = node["inputs"]
        for transfer in placed["transfers"]:
            ends = full[transfer["from"]], full[transfer["to"]]
            apart = [task for task in ends if task not in alike]
            links |= {(one, two) for one in apart for two in alike} if alike else {ends}
        self.drawn = {
            "words": _words(placed, what),
            "what": what,
            "transfers": [
                {key: row[key] for key in ("tensor", "from", "to", "bytes")}
                for row in placed["transfers"]
            ],
            "bytes": placed["bytes"],
            "unknown": placed["unknown"],
            "worker": "worker:0" if alike else "",
        }
        return self._scene_of(addresses, ops, inputs, sorted(links))

    def payload(self) -> dict[str, Any]:
        """What the page draws the picture from."""
        return {
            "scene": self.scene,
            "version": self.version,
            "traveling": self.drawn["transfers"] if self.drawn else [],
            "reducedBytes": self.reduced_bytes,
        }

    def ring_bytes(self, tasks: list[dict[str, Any]]) -> RingBytes | None:
        """What a worker of the ring sends in a step, of rows of `cluster_state`; ``None`` where no ring
        is drawn."""
        if not self.reduced_bytes or not self.scene["ring"]:
            return None
        workers = [task for task in tasks if "/job:worker/" in task["task"]]
        return RingBytes(
            len(workers),
            self.reduced_bytes,
            sent_in_a_step(workers[1:]),  # 0 also leaves copies
            self._slot_bytes,
        )

    def messages(self) -> dict[str, Any] | None:
        """A message for the page with what has traveled since the last time; ``None`` where nothing has,
        and all else is as it was."""
        if self.cluster.stopped:
            return None
        message = self._read()
        still = {k: v for k, v in message.items() if k != "messages"}
        if not message["messages"] and still == self._still:
            return None
        self._still = still
        return message

    def _read(self) -> dict[str, Any]:
        seen = self._watch.read()
        card_of = {card["task"]: i for i, card in enumerate(self.scene["tasks"])}
        lags: dict[int, int] = {}
        in_step = bool(self.scene["ring"])  # a ring's workers are never behind each other
        for server, versions in () if in_step else seen.versions.items():
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


def _words(placed: dict[str, Any], what: str) -> str:
    tasks = sorted({node["device"] for node in placed["nodes"]})
    transfers = placed["transfers"]
    words = (
        f"Graph of {what}: {plural(len(placed['nodes']), 'node')} on {', '.join(tasks)}; "
        f"{plural(len(transfers), 'value travels', 'values travel')}, {placed['bytes']:,} bytes a run"
    )
    if placed["unknown"]:
        words += f" and {placed['unknown']} of a size known only when it runs"
    return f"{words}."


def _label(names: list[str]) -> str:
    """The name that says most about a message: of a gradient, or of the first tensor."""
    if not names:
        return "values"
    name = next((n for n in names if n.startswith("gradients")), names[0])
    name = name.removesuffix(":0").removesuffix("/read")
    return name if len(names) == 1 else f"{name} and {len(names) - 1} more"
