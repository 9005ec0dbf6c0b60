"""`BoundaryExplorer`: a small network learns to separate points, live."""

from __future__ import annotations

from typing import Any

import ipywidgets
import numpy as np

import dataflow as tf
from dataflow_widgets.explorer.base import Explorer
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.panels import HeatMap, Network, Numbers, Panel, Plot

_POINTS = 200  # half of them to train with, half to test
_GRID = 40
_STEPS_PER_FRAME = 10
_RANGE = (-6.0, 6.0)
_ACTIVATIONS: dict[str, Any] = {
    "tanh": tf.tanh,
    "ReLU": tf.nn.relu,
    "sigmoid": tf.sigmoid,
    "linear": tf.identity,
}


def make_points(data: str, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """200 points [200, 2] and their classes [200] (0 or 1), the same each time."""
    rng = np.random.default_rng(1)
    half = _POINTS // 2
    classes = np.arange(_POINTS) % 2
    if data == "circle":
        radius = np.where(classes == 0, rng.uniform(0, 2, _POINTS), rng.uniform(3.2, 5, _POINTS))
        angle = rng.uniform(0, 2 * np.pi, _POINTS)
        points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    elif data == "exclusive or":
        points = rng.uniform(0.5, 5, [_POINTS, 2]) * rng.choice([-1, 1], [_POINTS, 2])
        classes = (points[:, 0] * points[:, 1] > 0).astype(np.int64)
    elif data == "two groups":
        points = np.where(classes[:, None] == 0, -2.2, 2.2) + rng.normal(size=[_POINTS, 2])
    else:  # spiral
        turn = np.linspace(0.2, 1, half).repeat(2)
        angle = turn * 3.2 * np.pi / 1.4 + classes * np.pi
        points = np.stack([5 * turn * np.sin(angle), 5 * turn * np.cos(angle)], 1)
    points = points + noise * rng.normal(size=[_POINTS, 2])
    order = rng.permutation(_POINTS)
    return points[order].astype(np.float32), classes[order]


class BoundaryExplorer(Explorer):
    """A network of a few units learns which side a point is on, and shows what each unit sees.

        BoundaryExplorer(data="spiral", layers=2, units=6)

    Half of the 200 points train it by `tf.train.GradientDescentOptimizer` with the mean logistic
    loss and an L2 penalty on the weights; the other half tests it. Each picture is ten steps.

    Values: ``data`` ("circle", "exclusive or", "two groups", "spiral"), ``noise`` (0 to 1.5),
    ``layers`` (0 to 3 hidden), ``units`` (1 to 8 in each), ``activation`` ("tanh", "ReLU",
    "sigmoid", "linear"), ``rate`` (0.001 to 3), ``penalty`` (0 to 0.1), ``batch`` (1 to 100).
    """

    heading = "Decision boundary"
    lead = "Press Play. Then take the hidden layer away: what can no longer be learned?"
    plays = True
    rebuilds = frozenset({"layers", "units", "activation", "data", "noise"})
    record_steps = 12

    def make_controls(self) -> dict[str, Any]:
        return {
            "data": ipywidgets.Dropdown(
                options=["circle", "exclusive or", "two groups", "spiral"], description="data"
            ),
            "noise": ipywidgets.FloatSlider(0.2, min=0, max=1.5, step=0.1, description="noise"),
            "layers": ipywidgets.IntSlider(1, min=0, max=3, description="hidden layers"),
            "units": ipywidgets.IntSlider(4, min=1, max=8, description="units in each"),
            "activation": ipywidgets.Dropdown(options=list(_ACTIVATIONS), description="activation"),
            "rate": ipywidgets.FloatLogSlider(
                0.1, min=-3, max=np.log10(3), description="learning rate"
            ),
            "penalty": ipywidgets.FloatSlider(
                0, min=0, max=0.1, step=0.002, description="regularization (L2)"
            ),
            "batch": ipywidgets.IntSlider(20, min=1, max=100, description="batch size"),
        }

    def build(self) -> None:
        if self.session is not None:
            self.session.close()
        values = self.values
        points, classes = make_points(values["data"], values["noise"])
        half = _POINTS // 2
        self._train_points, self._test_points = points[:half], points[half:]
        self._train_classes, self._test_classes = classes[:half], classes[half:]
        activation = _ACTIVATIONS[values["activation"]]
        with tf.Graph().as_default() as self.graph:
            tf.set_random_seed(3)
            self._x = tf.placeholder(tf.float32, [None, 2], name="points")
            self._y = tf.placeholder(tf.float32, [None], name="classes")
            self._rate = tf.placeholder(tf.float32, [], name="rate")
            self._penalty = tf.placeholder(tf.float32, [], name="penalty")
            layer: Any = self._x
            self._layers: list[Any] = []
            self._weights: list[Any] = []
            for i in range(values["layers"]):
                with tf.variable_scope(f"hidden{i + 1}"):
                    layer = activation(self._dense(layer, values["units"]))
                    self._layers.append(layer)
            with tf.variable_scope("output"):
                logits = self._dense(layer, 1)[:, 0]
            self._output = tf.tanh(logits / 2, name="output")  # -1 to 1
            self._layers.append(self._output[:, None])
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=self._y, logits=logits)
            self._loss = tf.reduce_mean(losses)
            penalty = self._penalty * tf.add_n([tf.nn.l2_loss(w) for w in self._weights])
            optimizer = tf.train.GradientDescentOptimizer(self._rate)
            self._step = optimizer.minimize(self._loss + penalty)
            initialize = tf.global_variables_initializer()
        self.session = tf.Session(graph=self.graph)
        self.session.run(initialize)
        axis = np.linspace(*_RANGE, _GRID, dtype=np.float32)
        x, y = np.meshgrid(axis, axis)
        self.grid = np.stack([x.ravel(), y.ravel()], 1)

    def _dense(self, inputs: Any, units: int) -> Any:
        w = tf.get_variable(
            "weights", [inputs.shape[1], units], initializer=tf.glorot_uniform_initializer()
        )
        b = tf.get_variable("biases", [units], initializer=tf.constant_initializer(0.1))
        self._weights.append(w)
        return tf.matmul(inputs, w) + b

    def begin(self) -> None:
        self._rng = np.random.default_rng(0)
        self._num_steps = 0
        self.history: list[tuple[int, float, float]] = []
        self._measure()

    def step(self) -> None:
        values, half = self.values, len(self._train_points)
        for _ in range(_STEPS_PER_FRAME):
            chosen = self._rng.integers(0, half, values["batch"])
            self.session.run(self._step, self._feeds(chosen))
        self._num_steps += _STEPS_PER_FRAME
        self._measure()

    def _feeds(self, chosen: np.ndarray) -> dict[Any, Any]:
        return {
            self._x: self._train_points[chosen],
            self._y: self._train_classes[chosen],
            self._rate: self.values["rate"],
            self._penalty: self.values["penalty"],
        }

    def _measure(self) -> None:
        run = self.session.run
        train = run(self._loss, {self._x: self._train_points, self._y: self._train_classes})
        test = run(self._loss, {self._x: self._test_points, self._y: self._test_classes})
        self.history.append((self._num_steps, float(train), float(test)))
        if len(self.history) > 400:  # every second point of a long training is enough
            self.history = [*self.history[:-1:2], self.history[-1]]

    def accuracy(self) -> float:
        """The share of the test points on the right side."""
        output = self.session.run(self._output, {self._x: self._test_points})
        return float(np.mean((output > 0) == (self._test_classes == 1)))

    def boundary(self) -> np.ndarray:
        """The output, -1 to 1, on the 40 x 40 grid of the picture: [40, 40], row 0 at the bottom."""
        output = self.session.run(self._output, {self._x: self.grid})
        return np.reshape(output, [_GRID, _GRID])

    def frame(self) -> list[Panel]:
        layers, weights = self.session.run([self._layers, self._weights], {self._x: self.grid})
        shown = [layer.T.reshape(-1, _GRID, _GRID) for layer in layers]
        inputs = self.grid.T.reshape(2, _GRID, _GRID)
        history = np.array(self.history)
        points = np.concatenate([self._train_points, self._test_points])
        groups = np.concatenate([self._train_classes, self._test_classes])
        return [
            HeatMap(
                title="What the network says",
                values=shown[-1][0],
                x_range=_RANGE,
                y_range=_RANGE,
                value_range=(-1.0, 1.0),
                diverging=True,
                points=(points[:, 0], points[:, 1], groups),
                group_names=["class 0", "class 1"],
            ),
            Network(
                title="What each unit sees",
                units=[inputs, *shown],
                weights=weights,
                names=["x", "y"],
            ),
            Plot(
                title="Loss",
                lines={
                    "training": (history[:, 0], history[:, 1]),
                    "test": (history[:, 0], history[:, 2]),
                },
                x_label="step",
                y_range=(0.0, max(0.8, float(np.nanmax(history[0, 1:])))),
            ),
            Numbers(
                title="Now",
                values={
                    "step": self._num_steps,
                    "training loss": self.history[-1][1],
                    "test loss": self.history[-1][2],
                    "right of the test points": f"{self.accuracy():.0%}",
                },
            ),
        ]

    def sentence(self) -> str:
        _, train, test = self.history[-1]
        return (
            f"Step {self._num_steps}: training loss {train:.3g}, test loss {test:.3g}, "
            f"{self.accuracy():.0%} of the test points right."
        )

    def one_step(self) -> tuple[Any, Any]:
        return self._step, self._feeds(np.arange(self.values["batch"]))

    def code(self) -> str:
        v = self.values
        calls = {"tanh": "tf.tanh", "ReLU": "tf.nn.relu", "sigmoid": "tf.sigmoid", "linear": "None"}
        return f"""import dataflow as tf

x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None])
layer = x
for _ in range({v["layers"]}):
    layer = tf.layers.dense(layer, {v["units"]}, activation={calls[v["activation"]]})
logits = tf.layers.dense(layer, 1)[:, 0]
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
step = tf.train.GradientDescentOptimizer({v["rate"]:.4g}).minimize(loss)
"""


def _smallest_circle(explorer: Any) -> tuple[bool, str]:
    if explorer.values["data"] != "circle":
        return False, "Choose the circle."
    size = explorer.values["layers"] * explorer.values["units"]
    right = explorer.accuracy()
    words = f"{size} hidden units have {right:.0%} of the test points right."
    return 0 < size <= 3 and right >= 0.95, words


def _memorizes(explorer: Any) -> tuple[bool, str]:
    _, train, test = explorer.history[-1]
    words = f"The test loss is {test:.3g}, the training loss {train:.3g}."
    return explorer._num_steps > 0 and test > 2 * train and train < 0.4, words


def _linear_is_enough(explorer: Any) -> tuple[bool, str]:
    right = explorer.accuracy()
    v = explorer.values
    bends = v["layers"] > 0 and v["activation"] != "linear"
    words = f"This network {'can' if bends else 'cannot'} bend its boundary; {right:.0%} are right."
    return not bends and right >= 0.95, words


BoundaryExplorer.challenges = (
    Challenge(
        "a network of at most three hidden units that gets 95 % of the circle?", _smallest_circle
    ),
    Challenge("data that a network with no bend separates to 95 %?", _linear_is_enough),
    Challenge("a setting that memorizes: the test loss over twice the training loss?", _memorizes),
)
