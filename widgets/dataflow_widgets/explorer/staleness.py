"""`StalenessExplorer`: synchronous and asynchronous training, with workers that are slow or late."""

from __future__ import annotations

import functools
import math
from typing import Any

import ipywidgets
import numpy as np

import dataflow as tf
from dataflow_widgets.explorer.base import Explorer
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.panels import Bars, Numbers, Panel, Plot

_STEPS = 200
_SIZE = 10  # parameters
_CEILING = 1e6


def stable_rate(delay: float) -> float:
    """The largest rate times curvature at which descent with gradients ``delay`` steps old settles:
    2 sin(pi / (2 (2 delay + 1))), from the roots of z^(d+1) = z^d - rate."""
    return 2 * math.sin(math.pi / (2 * (2 * delay + 1)))


@functools.lru_cache(maxsize=8)  # the rate and the noise move nothing in time
def _simulate(needed: int, backups: int, is_sync: bool, straggle: float, factor: float) -> Any:
    """Who computes when: ``needed`` workers and ``backups``, the slow ones ``factor`` times slower."""
    latency = tf.cluster.Latency(
        median_seconds=1.0,
        sigma=0.05 if straggle else 0.0,
        straggler_probability=straggle,
        straggler_factor=factor,
    )
    return tf.cluster.simulate(
        needed,
        backups,
        steps=_STEPS,
        mode="sync" if is_sync else "async",
        latency=latency,
        transfer_seconds=0.005,
    )


class StalenessExplorer(Explorer):
    """Data-parallel training on a simulated cluster: error against wall clock and against steps.

        StalenessExplorer(mode="asynchronous", workers=8)

    `tf.cluster.simulate` says when each gradient arrives and how many steps old its parameters are;
    each update is then one `Session.run` of a quadratic loss of ten parameters, whose largest
    curvature is 1, with the noise of a mini-batch. Simulated are workers, network and stragglers;
    the descent is real.

    Values: ``mode`` ("synchronous", "asynchronous"), ``workers`` (1 to 32), ``backups`` (0 to 8
    workers of a synchronous step whose gradients may come too late), ``straggle`` (0 to 0.5, how
    often a worker is slow), ``factor`` (1 to 10, how slow), ``rate`` (0.01 to 3), ``noise`` (0 to 1).
    """

    heading = "Staleness and stragglers"
    lead = "Raise the number of workers, first synchronous, then asynchronous: what does each pay?"

    def make_controls(self) -> dict[str, Any]:
        return {
            "mode": ipywidgets.ToggleButtons(
                options=["synchronous", "asynchronous"], description="mode"
            ),
            "workers": ipywidgets.IntSlider(4, min=1, max=32, description="workers"),
            "backups": ipywidgets.IntSlider(
                0, min=0, max=8, description="of them backups", tooltip="synchronous only"
            ),
            "straggle": ipywidgets.FloatSlider(
                0.1, min=0, max=0.5, step=0.01, description="chance of a slow step"
            ),
            "factor": ipywidgets.FloatSlider(
                4, min=1, max=10, step=0.1, description="up to so many times slower"
            ),
            "rate": ipywidgets.FloatLogSlider(
                0.1, min=-2, max=np.log10(3), description="learning rate"
            ),
            "noise": ipywidgets.FloatSlider(
                0.2, min=0, max=1, step=0.05, description="noise of a mini-batch"
            ),
        }

    def build(self) -> None:
        with tf.Graph().as_default() as self.graph:
            self._w = tf.placeholder(tf.float32, [_SIZE], name="parameters")
            self._old = tf.placeholder(tf.float32, [_SIZE], name="parameters_read")
            self._rate = tf.placeholder(tf.float32, [], name="rate")
            self._noise = tf.placeholder(tf.float32, [_SIZE], name="noise")
            curvature = tf.constant(np.linspace(0.1, 1.0, _SIZE), tf.float32, name="curvature")
            loss = tf.reduce_sum(curvature * tf.square(self._old)) / 2
            (gradient,) = tf.gradients(loss, self._old)
            ahead = self._w - self._rate * (gradient + self._noise)
            self._next = tf.clip_by_value(ahead, -_CEILING, _CEILING, name="next")
        self.session = tf.Session(graph=self.graph)
        self._advance = self.session.make_callable(
            self._next, [self._w, self._old, self._rate, self._noise]
        )

    def begin(self) -> None:
        self._train()

    def changed(self, names: set[str]) -> None:
        self._train()

    def _train(self) -> None:
        values = self.values
        is_sync = values["mode"] == "synchronous"
        backups = min(values["backups"], values["workers"] - 1) if is_sync else 0
        needed = values["workers"] - backups
        self.simulation = _simulate(needed, backups, is_sync, values["straggle"], values["factor"])
        rng = np.random.default_rng(0)
        # The mean of n gradients has 1/sqrt(n) of the noise of one.
        noise = values["noise"] / np.sqrt(needed if is_sync else 1)
        staleness = self.simulation.staleness
        steps = len(self.simulation.step_seconds)
        noises = (noise * rng.standard_normal((steps, _SIZE))).astype(np.float32)
        path = [np.ones(_SIZE, np.float32)]
        for i in range(steps):
            late = 0 if is_sync else int(staleness[i])
            read = path[max(0, i - late)]
            path.append(self._advance(path[-1], read, values["rate"], noises[i]))
        self.path = np.array(path)
        self.errors = np.sqrt(np.mean(np.square(self.path), axis=1))

    def frame(self) -> list[Panel]:
        steps = np.arange(len(self.errors))
        seconds = np.concatenate([[0.0], np.cumsum(self.simulation.step_seconds)])
        counts = np.bincount(self.simulation.staleness, minlength=1)[:40]
        error: dict[str, Any] = {"y_label": "distance from the minimum", "log_y": True}
        error["y_range"] = (1e-4, 1e2)
        delay = float(self.simulation.staleness.mean()) if len(self.simulation.staleness) else 0.0
        return [
            Plot(
                title="Error against wall clock",
                lines={"": (seconds, self.errors)},
                x_label="simulated seconds",
                x_range=(0.0, 120.0),
                **error,
            ),
            Plot(
                title="Error against steps",
                lines={"": (steps, self.errors)},
                x_label="updates applied",
                **error,
            ),
            Bars(
                title="How old the gradients are",
                values=counts,
                labels=[str(i) for i in range(len(counts))],
                y_label="gradients, by steps of staleness",
            ),
            Numbers(
                title="Measured",
                values={
                    "updates a second": self.simulation.steps_per_second,
                    "gradients dropped": self.simulation.gradients_dropped,
                    "mean staleness": delay,
                    "rate x curvature that settles": stable_rate(round(delay)),
                },
            ),
        ]

    def settles(self) -> bool:
        """Whether the error at the end is below that at the beginning."""
        return bool(self.errors[-1] < self.errors[0])

    def sentence(self) -> str:
        simulation = self.simulation
        late = float(simulation.staleness.mean()) if len(simulation.staleness) else 0.0
        return (
            f"{simulation.steps_per_second:.3g} updates a second, gradients {late:.2g} steps old, "
            f"{simulation.gradients_dropped} dropped; after {_STEPS} updates the error is "
            f"{self.errors[-1]:.2g} ({'it settles' if self.settles() else 'it does not settle'})."
        )

    def one_step(self) -> tuple[Any, Any]:
        w = np.ones(_SIZE, np.float32)
        feeds = {self._w: w, self._old: w, self._rate: self.values["rate"]}
        return self._next, feeds | {self._noise: np.zeros(_SIZE, np.float32)}

    def code(self) -> str:
        v = self.values
        is_sync = v["mode"] == "synchronous"
        backups = min(v["backups"], v["workers"] - 1) if is_sync else 0
        return f"""import dataflow as tf

latency = tf.cluster.Latency(median_seconds=1.0, straggler_probability={v["straggle"]:.3g},
                             straggler_factor={v["factor"]:.3g})
result = tf.cluster.simulate({v["workers"] - backups}, {backups}, steps={_STEPS},
                             mode="{"sync" if is_sync else "async"}", latency=latency)
print(result)
print(result.steps_per_second, result.staleness.mean(), result.gradients_dropped)
"""


def _late_is_unstable(explorer: Any) -> tuple[bool, str]:
    if explorer.values["mode"] != "asynchronous":
        return False, "Choose the asynchronous mode."
    alone = explorer.twin(mode="synchronous", backups=0)
    words = (
        f"At this rate the asynchronous training {'settles' if explorer.settles() else 'diverges'}, "
        f"the synchronous one {'settles' if alone.settles() else 'diverges'}."
    )
    right = not explorer.settles() and alone.settles()
    alone.close()
    return right, words


def _backups_help(explorer: Any) -> tuple[bool, str]:
    if explorer.values["mode"] != "synchronous" or not explorer.values["backups"]:
        return False, "Choose the synchronous mode with backups."
    without = explorer.twin(backups=0)
    gain = explorer.simulation.steps_per_second / without.simulation.steps_per_second
    without.close()
    return gain >= 1.5, f"With the backups there are {gain:.2f} times as many updates a second."


def _sync_ends_better(explorer: Any) -> tuple[bool, str]:
    ends = {}
    for mode in ("synchronous", "asynchronous"):
        other = explorer.twin(mode=mode, backups=0)
        tail = other.errors[-50:]
        ends[mode] = (float(np.mean(tail)), other.simulation.steps_per_second)
        other.close()
    (a, slow), (b, quick) = ends["synchronous"], ends["asynchronous"]
    words = f"Error at the end {a:.2g} against {b:.2g}, {slow:.2g} against {quick:.2g} updates/s."
    return a < b / 2 and quick > 2 * slow, f"Synchronous against asynchronous: {words}"


StalenessExplorer.challenges = (
    Challenge(
        "a rate at which asynchronous training diverges and synchronous settles?", _late_is_unstable
    ),
    Challenge("stragglers for which backups give half as many updates again?", _backups_help),
    Challenge(
        "a setting in which asynchronous is twice as quick, and its error at the end twice as large?",
        _sync_ends_better,
    ),
)
