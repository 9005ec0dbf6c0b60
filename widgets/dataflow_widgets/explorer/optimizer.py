"""`OptimizerExplorer`: the paths of five optimizers over a loss surface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ipywidgets
import numpy as np

import dataflow as tf
from dataflow_widgets.explorer.base import Explorer
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.panels import HeatMap, Panel, Plot

STEPS = 60
_GRID = 60


class Surface(NamedTuple):
    """A loss of two parameters: its range, its minima, and where a path begins at first."""

    loss: Callable[[Any, Any], Any]
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    minima: tuple[tuple[float, float], ...]
    start: tuple[float, float]


def _ravine(x: Any, y: Any) -> Any:
    return 0.1 * tf.square(x) + 2.0 * tf.square(y)


def _ridge(x: Any, y: Any) -> Any:  # Rosenbrock's valley, less steep
    return tf.square(1.0 - x) + 5.0 * tf.square(y - tf.square(x))


def _saddle(x: Any, y: Any) -> Any:
    return 0.5 * tf.square(x) - 0.5 * tf.square(y) + 0.05 * tf.square(tf.square(y))


def _beale(x: Any, y: Any) -> Any:  # E. M. L. Beale, 1958
    terms = [(1.5, y), (2.25, tf.square(y)), (2.625, y * tf.square(y))]
    return tf.add_n([tf.square(constant - x + x * power) for constant, power in terms])


_ROOT5 = 5**0.5
SURFACES = {
    "ravine": Surface(_ravine, (-6, 6), (-3, 3), ((0, 0),), (-5, 2)),
    "ridge": Surface(_ridge, (-2, 2), (-1, 3), ((1, 1),), (-1.5, 2.5)),
    "saddle": Surface(_saddle, (-3, 3), (-4, 4), ((0, _ROOT5), (0, -_ROOT5)), (-2.5, 0.01)),
    "Beale": Surface(_beale, (-4.5, 4.5), (-4.5, 4.5), ((3, 0.5),), (1, 1.5)),
}
OPTIMIZERS = ("SGD", "momentum", "Nesterov", "RMSProp", "Adam")


class OptimizerExplorer(Explorer):
    """Five optimizers go down the same loss, from the same place, with the same rate.

        OptimizerExplorer(surface="saddle", rate=0.1)

    The loss is a graph of two parameters; each path is 60 runs of `one of `tf.train`'s
    optimizers. ``start`` is dragged in the picture. ``noise`` is the standard
    deviation of what is added to each gradient, as a mini-batch would; its seed is fixed, so that
    only what was moved changes the picture.

    Values: ``surface`` ("ravine", "ridge", "saddle", "Beale"), ``rate`` (0.001 to 1), ``momentum``
    (0 to 0.99), ``noise`` (0 to 2), ``start`` [x, y]. A new surface has a start of its own.
    """

    heading = "Optimizer paths"
    lead = "Raise the rate slowly: which path is the first to overshoot? Then drag the white dot."
    plays = True
    state = {"start": [-5.0, 2.0]}
    rebuilds = frozenset({"surface"})
    record_steps = STEPS

    def make_controls(self) -> dict[str, Any]:
        return {
            "surface": ipywidgets.Dropdown(options=list(SURFACES), description="surface"),
            "rate": ipywidgets.FloatLogSlider(
                0.02, min=-3, max=0, description="learning rate", tooltip="the same for all"
            ),
            "momentum": ipywidgets.FloatSlider(
                0.5, min=0, max=0.99, step=0.01, description="momentum",
                tooltip="of momentum, Nesterov and RMSProp's own",
            ),
            "noise": ipywidgets.FloatSlider(
                0, min=0, max=2, step=0.05, description="noise of a mini-batch"
            ),
        }  # fmt: skip

    def build(self) -> None:
        if self.session is not None:
            self.session.close()
        surface = SURFACES[self.values["surface"]]
        with tf.Graph().as_default() as self.graph:
            self._rate = tf.placeholder(tf.float32, [], name="rate")
            momentum = self._momentum = tf.placeholder(tf.float32, [], name="momentum")
            self._noise = tf.placeholder(tf.float32, [2], name="noise")
            self._start = tf.placeholder(tf.float32, [2], name="start")
            makers: dict[str, Callable[[], Any]] = {
                "SGD": lambda: tf.train.GradientDescentOptimizer(self._rate),
                "momentum": lambda: tf.train.MomentumOptimizer(self._rate, momentum),
                "Nesterov": lambda: tf.train.MomentumOptimizer(
                    self._rate, momentum, use_nesterov=True
                ),
                "RMSProp": lambda: tf.train.RMSPropOptimizer(self._rate),
                "Adam": lambda: tf.train.AdamOptimizer(self._rate),
            }
            places = []
            for name in OPTIMIZERS:
                with tf.variable_scope(name):
                    places.append(tf.get_variable("w", [2], initializer=tf.zeros_initializer()))
            w = tf.stack(places, name="places")  # one loss of all: none feels another's place
            loss = surface.loss(w[:, 0], w[:, 1]) + tf.reduce_sum(self._noise * w, 1)
            gradients = tf.gradients(loss, places)
            steps = []
            for name, place, gradient in zip(OPTIMIZERS, places, gradients, strict=True):
                with tf.name_scope(f"{name}/"):
                    steps.append(makers[name]().apply_gradients([(gradient, place)]))
            self._initialize = tf.global_variables_initializer()
            self._place = tf.group(*[tf.assign(w, self._start) for w in places])
            self._places = tf.stack([w.read_value() for w in places])
            self._step = tf.group(*steps)
            with tf.control_dependencies([self._step]):
                self._stepped = tf.stack([w.read_value() for w in places], name="stepped")
            self._points = tf.placeholder(tf.float32, [None, 2], name="points")
            self._losses = surface.loss(self._points[:, 0], self._points[:, 1])
        self.session = tf.Session(graph=self.graph)
        x, y = np.meshgrid(
            np.linspace(*surface.x_range, _GRID), np.linspace(*surface.y_range, _GRID)
        )
        points = np.stack([x.ravel(), y.ravel()], 1)
        heights = self.session.run(self._losses, {self._points: points}).reshape(_GRID, _GRID)
        self._heights = np.log1p(heights - heights.min())

    def begin(self) -> None:
        self._shown = STEPS
        self._walk()

    def changed(self, names: set[str]) -> None:
        if "surface" in names and "start" not in names:
            self.adjust(start=SURFACES[self.values["surface"]].start)
        self._walk()

    def step(self) -> None:
        self._shown = self._shown % STEPS + 1

    def _walk(self) -> None:
        """Runs all optimizers from the start: ``self.paths`` [steps + 1, optimizers, 2]."""
        values, run = self.values, self.session.run
        noise = np.random.default_rng(0).normal(size=(STEPS, 2)).astype(np.float32)
        noise *= values["noise"]
        rates = {self._rate: values["rate"], self._momentum: values["momentum"]}
        run(self._initialize)
        run(self._place, {self._start: values["start"]})
        self.paths = np.empty([STEPS + 1, len(OPTIMIZERS), 2], np.float32)
        self.paths[0] = run(self._places)
        for i in range(STEPS):
            self.paths[i + 1] = run(self._stepped, {**rates, self._noise: noise[i]})
        with np.errstate(over="ignore", invalid="ignore"):
            flat = self.paths.reshape(-1, 2)
            losses = run(self._losses, {self._points: flat})
        self.losses = losses.reshape(STEPS + 1, len(OPTIMIZERS))

    def frame(self) -> list[Panel]:
        surface = SURFACES[self.values["surface"]]
        n = self._shown + 1
        paths = {o: (self.paths[:n, i, 0], self.paths[:n, i, 1]) for i, o in enumerate(OPTIMIZERS)}
        steps = np.arange(n)
        with np.errstate(invalid="ignore"):
            lowest = min(0.0, float(np.nanmin(self.losses)))
            above = np.maximum(self.losses[:n] - lowest, 1e-8)
        curves = {o: (steps, above[:, i]) for i, o in enumerate(OPTIMIZERS)}
        return [
            HeatMap(
                title=f"Paths over the {self.values['surface']}",
                values=self._heights,
                x_range=surface.x_range,
                y_range=surface.y_range,
                bands=14,
                paths=paths,
                handle=("start", *self.values["start"]),
                x_label="first parameter",
                y_label="second parameter",
            ),
            Plot(
                title="Loss by step",
                lines=curves,
                x_label="step",
                y_label="loss" if lowest == 0 else f"loss above {lowest:.3g}",
                log_y=True,
                x_range=(0, STEPS),
                y_range=(1e-6, 1e3),
            ),
        ]

    def distances(self) -> dict[str, float]:
        """How far from a minimum each optimizer ends, by name; inf where it is gone."""
        minima = np.array(SURFACES[self.values["surface"]].minima)
        ends = self.paths[-1]
        away = np.linalg.norm(ends[:, None] - minima[None], axis=2).min(axis=1)
        return {o: float(np.nan_to_num(away[i], nan=np.inf)) for i, o in enumerate(OPTIMIZERS)}

    def sentence(self) -> str:
        told = ", ".join(f"{name} {away:.2g}" for name, away in self.distances().items())
        return f"Distance from the nearest minimum after {STEPS} steps: {told}."

    def one_step(self) -> tuple[Any, Any]:
        feeds = {self._rate: self.values["rate"], self._momentum: self.values["momentum"]}
        return self._step, feeds | {self._noise: np.zeros(2, np.float32)}

    def code(self) -> str:
        x, y = self.values["start"]
        return f"""import dataflow as tf

w = tf.Variable([{x:.3g}, {y:.3g}])
loss = {_CODE[self.values["surface"]]}
step = tf.train.MomentumOptimizer({self.values["rate"]:.4g}, {self.values["momentum"]:.3g}).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i in range({STEPS}):
        session.run(step)
        print(i, session.run([w, loss]))
"""


_CODE = {
    "ravine": "0.1 * w[0] ** 2 + 2 * w[1] ** 2",
    "ridge": "(1 - w[0]) ** 2 + 5 * (w[1] - w[0] ** 2) ** 2",
    "saddle": "0.5 * w[0] ** 2 - 0.5 * w[1] ** 2 + 0.05 * w[1] ** 4",
    "Beale": "sum((c - w[0] + w[0] * w[1] ** k) ** 2 for c, k in [(1.5, 1), (2.25, 2), (2.625, 3)])",
}


def _crosses(path: np.ndarray) -> bool:
    """Whether a path to the origin crosses an axis of the ravine, by more than rounding."""
    sides = path * np.sign(path[0])
    return bool((sides < -0.01).any())


def _momentum_overshoots(explorer: Any) -> tuple[bool, str]:
    if explorer.values["surface"] != "ravine":
        return False, "Choose the ravine: there it is plain which side of the minimum a path is on."
    if explorer.values["noise"]:
        return False, "Without noise, please: with it everything crosses once."
    plain, heavy = explorer.paths[:, 0], explorer.paths[:, 1]
    if not np.isfinite(plain).all() or not np.isfinite(heavy).all():
        return False, "One of the two has left for infinity."
    words = [
        f"{name} {'crosses' if _crosses(path) else 'does not cross'} the minimum"
        for name, path in (("plain descent", plain), ("momentum", heavy))
    ]
    return _crosses(heavy) and not _crosses(plain), f"Here {words[0]}, and {words[1]}."


def _plain_is_stuck(explorer: Any) -> tuple[bool, str]:
    if explorer.values["surface"] != "saddle":
        return False, "Choose the saddle."
    away = explorer.distances()
    words = f"From the minimum, plain descent is {away['SGD']:.2f} away, Adam {away['Adam']:.2f}."
    return away["SGD"] > 1.5 and away["Adam"] < 0.5, words


def _beale_is_found(explorer: Any) -> tuple[bool, str]:
    if explorer.values["surface"] != "Beale":
        return False, "Choose Beale's function."
    away = explorer.distances()
    best = min(away, key=away.__getitem__)
    return away[best] < 0.1, f"{best} comes nearest to (3, 0.5): {away[best]:.2g} away."


OptimizerExplorer.challenges = (
    Challenge(
        "a rate at which momentum overshoots and plain descent does not?", _momentum_overshoots
    ),
    Challenge(
        "a start and rate on the saddle where plain descent is stuck and Adam is not?",
        _plain_is_stuck,
    ),
    Challenge(
        "a setting on Beale's function that comes within 0.1 of the minimum?", _beale_is_found
    ),
)
