"""`GradientFlowExplorer`: the size of the gradient, layer by layer and step by step."""

from __future__ import annotations

from typing import Any

import ipywidgets
import numpy as np

import dataflow as tf
from dataflow_widgets.explorer.base import Explorer
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.panels import Bars, HeatMap, Panel, Plot

_WIDTH = 24
_BATCH = 48
_MAX_COLUMNS = 60  # of the history
_ACTIVATIONS: dict[str, Any] = {
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "ReLU": tf.nn.relu,
    "linear": tf.identity,
}
#: Variance of a weight times the number of inputs.
INITIALIZATIONS = {"Glorot (1)": 1.0, "He (2)": 2.0, "small (0.1)": 0.1, "large (4)": 4.0}
_FLOOR = 1e-30


class GradientFlowExplorer(Explorer):
    """How large the gradient is that reaches each layer of a deep or recurrent network.

        GradientFlowExplorer(activation="sigmoid", depth=20)

    A network of ``depth`` layers of 24 units, or a recurrent one of ``depth`` time steps that share
    one matrix, is trained by gradient descent to repeat its inputs' signs. The bars are the root
    mean square of the loss's gradient by each layer's output, by `tf.gradients`.

    Values: ``network`` ("deep", "recurrent"), ``depth`` (2 to 30), ``activation`` ("tanh",
    "sigmoid", "ReLU", "linear"), ``start`` (an initialization by name), ``shortcuts`` (adds each
    layer's input to its output), ``rate`` (0.001 to 1).
    """

    heading = "Gradient flow"
    lead = "Make it deeper. Then choose sigmoid: how much of the gradient reaches layer 1?"
    plays = True
    rebuilds = frozenset({"network", "depth", "activation", "start", "shortcuts"})
    record_steps = 12

    def make_controls(self) -> dict[str, Any]:
        return {
            "network": ipywidgets.ToggleButtons(
                options=["deep", "recurrent"], description="network"
            ),
            "depth": ipywidgets.IntSlider(10, min=2, max=30, description="layers or time steps"),
            "activation": ipywidgets.Dropdown(options=list(_ACTIVATIONS), description="activation"),
            "start": ipywidgets.Dropdown(
                options=list(INITIALIZATIONS), description="initialization",
                tooltip="variance of a weight times the number of inputs",
            ),
            "shortcuts": ipywidgets.Checkbox(False, description="shortcuts (residual)"),
            "rate": ipywidgets.FloatLogSlider(0.05, min=-3, max=0, description="learning rate"),
        }  # fmt: skip

    def build(self) -> None:
        if self.session is not None:
            self.session.close()
        values = self.values
        scale = np.sqrt(INITIALIZATIONS[values["start"]] / _WIDTH)
        activation = _ACTIVATIONS[values["activation"]]
        is_recurrent = values["network"] == "recurrent"
        with tf.Graph().as_default() as self.graph:
            tf.set_random_seed(7)
            self._x = tf.placeholder(tf.float32, [_BATCH, _WIDTH], name="inputs")
            self._rate = tf.placeholder(tf.float32, [], name="rate")
            layer, self._layers = self._x, []
            for i in range(values["depth"]):
                name = "step" if is_recurrent else f"layer{i + 1}"
                with tf.variable_scope(name, reuse=is_recurrent and i > 0):
                    w = tf.get_variable(
                        "w", [_WIDTH, _WIDTH], initializer=tf.random_normal_initializer(0.0, scale)
                    )
                    b = tf.get_variable("b", [_WIDTH], initializer=tf.zeros_initializer())
                    after = activation(tf.matmul(layer, w) + b)
                    layer = layer + after if values["shortcuts"] else after
                self._layers.append(layer)
            self._loss = tf.reduce_mean(tf.square(layer - tf.sign(self._x)))
            gradients = tf.gradients(self._loss, self._layers)
            self._sizes = tf.stack([tf.sqrt(tf.reduce_mean(tf.square(g))) for g in gradients])
            self._outputs = tf.stack([tf.sqrt(tf.reduce_mean(tf.square(v))) for v in self._layers])
            optimizer = tf.train.GradientDescentOptimizer(self._rate)
            self._step = optimizer.minimize(self._loss)
            initialize = tf.global_variables_initializer()
        self.session = tf.Session(graph=self.graph)
        self.session.run(initialize)

    def begin(self) -> None:
        self._rng = np.random.default_rng(0)
        self._inputs = self._rng.normal(size=[_BATCH, _WIDTH]).astype(np.float32)
        self._num_steps = 0
        self.history: list[np.ndarray] = []
        self.losses: list[float] = []
        self._measure()

    def _measure(self) -> None:
        fetches = [self._sizes, self._outputs, self._loss]
        self.sizes, self.outputs, loss = self.session.run(fetches, {self._x: self._inputs})
        self.history.append(self.sizes)
        self.losses.append(float(loss))
        del self.history[:-_MAX_COLUMNS], self.losses[:-_MAX_COLUMNS]

    def step(self) -> None:
        self.session.run(self._step, {self._x: self._inputs, self._rate: self.values["rate"]})
        self._num_steps += 1
        self._measure()

    def ratio(self) -> float:
        """The first layer's gradient divided by the last one's."""
        return float(self.sizes[0] / max(float(self.sizes[-1]), _FLOOR))

    def frame(self) -> list[Panel]:
        names = [str(i + 1) for i in range(self.values["depth"])]
        history = np.log10(np.maximum(np.array(self.history).T, 1e-12))
        first = self._num_steps - len(self.losses) + 1
        steps = np.arange(first, self._num_steps + 1)
        word = "time step" if self.values["network"] == "recurrent" else "layer"
        return [
            Bars(
                title=f"Gradient that reaches each {word}",
                values=np.maximum(self.sizes, _FLOOR),
                labels=names,
                log_y=True,
                y_label="root mean square",
                y_range=(1e-12, 1e3),
                note=f"first to last: {self.ratio():.2g}",
            ),
            Bars(
                title=f"Output of each {word}",
                values=np.minimum(self.outputs, 1e30),
                labels=names,
                log_y=True,
                y_label="root mean square",
                y_range=(1e-3, 1e3),
            ),
            HeatMap(
                title="Gradient, power of ten",
                values=history,
                x_range=(float(first), float(self._num_steps + 1)),
                y_range=(0.5, self.values["depth"] + 0.5),
                value_range=(-9.0, 1.0),
                x_label="training step",
                y_label=word,
                square=False,
                note="dark: a gradient of 1e-9 and less; bright: 10 and more",
            ),
            Plot(
                title="Loss",
                lines={"": (steps, np.array(self.losses))},
                x_label="training step",
                log_y=True,
            ),
        ]

    def sentence(self) -> str:
        return (
            f"After {self._num_steps} steps the loss is {self.losses[-1]:.3g}; the gradient is "
            f"{self.sizes[0]:.2g} at the first and {self.sizes[-1]:.2g} at the last of "
            f"{self.values['depth']}, a ratio of {self.ratio():.2g}."
        )

    def one_step(self) -> tuple[Any, Any]:
        return self._step, {self._x: self._inputs, self._rate: self.values["rate"]}

    def code(self) -> str:
        v = self.values
        calls = {"tanh": "tf.tanh", "sigmoid": "tf.sigmoid", "ReLU": "tf.nn.relu"}
        after = f"{calls.get(v['activation'], 'tf.identity')}(tf.matmul(layer, w))"
        shortcut = "layer + " if v["shortcuts"] else ""
        where = "    " if v["network"] == "deep" else ""
        lines = [
            f"w = tf.Variable(tf.random_normal([{_WIDTH}, {_WIDTH}], "
            f"stddev={np.sqrt(INITIALIZATIONS[v['start']] / _WIDTH):.3g}))"
        ]
        body = f"    layer = {shortcut}{after}\n    layers.append(layer)"
        loop = f"for _ in range({v['depth']}):"
        made = f"{loop}\n{where}{lines[0]}\n" if where else f"{lines[0]}\n{loop}\n"
        return f"""import dataflow as tf

layer = x = tf.random_normal([{_BATCH}, {_WIDTH}])
layers = []
{made}{body}
loss = tf.reduce_mean(tf.square(layer - tf.sign(x)))
sizes = [tf.sqrt(tf.reduce_mean(tf.square(g))) for g in tf.gradients(loss, layers)]
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run(sizes))
"""


def _vanishes(explorer: Any) -> tuple[bool, str]:
    words = f"The first gradient is {explorer.ratio():.2g} of the last."
    return explorer.ratio() < 1e-6, words


def _explodes(explorer: Any) -> tuple[bool, str]:
    ratio = explorer.ratio()
    return ratio > 1e3 or not np.isfinite(
        ratio
    ), f"The first gradient is {ratio:.2g} times the last."


def _flows(explorer: Any) -> tuple[bool, str]:
    depth, ratio = explorer.values["depth"], explorer.ratio()
    words = f"{depth} layers, and the first gradient is {ratio:.2g} of the last."
    if explorer.values["activation"] == "linear":
        return False, words + " With an activation that bends, please."
    return depth >= 20 and 0.1 <= ratio <= 10, words


GradientFlowExplorer.challenges = (
    Challenge(
        "a network whose first layer gets a millionth of the last one's gradient?", _vanishes
    ),
    Challenge("one in which the gradient grows a thousandfold on its way back?", _explodes),
    Challenge("twenty layers or more that bend, and all get about the same?", _flows),
)
