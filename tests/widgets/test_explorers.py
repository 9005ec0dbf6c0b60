"""The eight explorers: their pictures, their challenges, and the numbers that they show."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import dataflow as tf
import dataflow_widgets
from dataflow_widgets.explorer import Explorer, roofline
from dataflow_widgets.explorer.attention import HEADS, embed
from dataflow_widgets.explorer.pipeline import BACKWARD, FORWARD, Task, orders
from dataflow_widgets.explorer.roofline import machine, work_of
from dataflow_widgets.explorer.staleness import stable_rate

NAMES = (
    "OptimizerExplorer",
    "BoundaryExplorer",
    "ConvolutionExplorer",
    "GradientFlowExplorer",
    "AttentionExplorer",
    "RooflineExplorer",
    "StalenessExplorer",
    "PipelineExplorer",
)


@pytest.fixture(params=NAMES)
def explorer(request: pytest.FixtureRequest) -> Iterator[Explorer]:
    made = getattr(dataflow_widgets, request.param)()
    yield made
    made.close()


def test_each_has_a_picture_words_code_graph_and_three_challenges(explorer: Explorer) -> None:
    root = ElementTree.fromstring(explorer.to_svg())
    assert len(root) > 3
    assert explorer.lead and explorer.sentence()[:-1] in explorer.describe()
    assert len(explorer.challenges) == 3
    for index in range(3):
        answer = explorer.check(index)
        assert isinstance(answer["right"], bool) and answer["words"]
    compile(explorer.code(), "code", "exec")
    assert len(explorer.code().splitlines()) <= 16
    names = [type(view).__name__ for view in explorer.graph_views()]
    assert names == ["GraphView", "Stepper"]
    data = explorer._repr_mimebundle_()[0]
    assert "<img" in data["text/html"] or len(explorer.to_svg()) > 20_000


def test_each_survives_every_end_of_every_control(explorer: Explorer) -> None:
    from dataflow_widgets.explorer.controls import control_spec
    from dataflow_widgets.explorer.recording import spread

    for name, control in explorer.controls.items():
        start = explorer.values[name]
        for value in spread(control_spec(name, control), 2):
            explorer.set_values(**{name: value})
            if explorer.plays:
                explorer.step()
            header, buffers = explorer._frame_message(1)
            json.dumps(header, allow_nan=False)
            assert buffers or header["panels"]
        explorer.set_values(**{name: start})


#: A setting that meets each challenge, in order.
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "OptimizerExplorer": [
        {"surface": "ravine", "rate": 0.05, "momentum": 0.9},
        {"surface": "saddle", "rate": 0.1, "start": [-2.5, 0.0005]},
        {"surface": "Beale", "rate": 0.4446},
    ],
    "BoundaryExplorer": [
        {"data": "circle", "layers": 1, "units": 3, "rate": 0.3, "noise": 0.0},
        {"data": "two groups", "layers": 0},
        {"data": "circle", "noise": 1.5, "layers": 2, "units": 8, "rate": 0.3},
    ],
    "ConvolutionExplorer": [
        {"image": "bars", "preset": "vertical edges"},
        {"depth": 2, "dilation": 3, "size": "28"},
        {"depth": 3, "padding": "SAME"},
    ],
    "GradientFlowExplorer": [
        {"activation": "sigmoid", "depth": 20},
        {"activation": "linear", "start": "large (4)", "depth": 20},
        {"activation": "tanh", "shortcuts": True, "depth": 20, "start": "small (0.1)"},
    ],
    "AttentionExplorer": [
        {"masked": True, "sharpness": 8.0},
        {"sharpness": 0.0},
        {"order": 0.0, "sharpness": 5.0},
    ],
    "RooflineExplorer": [
        {"network": "dense layers", "batch": 1},
        {"network": "element-wise", "peak": 10.0},
        {"network": "element-wise", "peak": 0.1, "bandwidth": 100.0},
    ],
    "StalenessExplorer": [
        {"mode": "asynchronous", "workers": 16, "rate": 0.5},
        {"backups": 3, "workers": 12, "straggle": 0.1, "factor": 10.0},
        {"workers": 8, "rate": 0.1, "noise": 1.0},
    ],
    "PipelineExplorer": [
        {"stages": 4, "batches": 16},
        {"schedule": "1F1B", "stages": 4, "batches": 12},
        {"slow": 4.0},
    ],
}


@pytest.mark.parametrize("name", NAMES)
def test_each_challenge_can_be_met(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A quiet laptop: a busy machine's ridge may lie below every product of the network.
    monkeypatch.setattr(roofline, "_measured", roofline.Machine(peak=6e10, bandwidth=8e9))
    for index, setting in enumerate(ANSWERS[name]):
        explorer = getattr(dataflow_widgets, name)(**setting)
        if name == "BoundaryExplorer":
            for _ in range(300):
                explorer.step()
                if explorer.check(index)["right"]:
                    break
        answer = explorer.check(index)
        assert answer["right"], (explorer.challenges[index].text, answer["words"])
        explorer.close()


def _optimizer_paths(rate: float, momentum: float, start: list[float]) -> np.ndarray:
    """The five paths over the ravine 0.1 x^2 + 2 y^2, by their formulas, in float64."""
    curvature = np.array([0.2, 4.0])
    w = np.tile(np.array(start), [5, 1])
    heavy, nesterov, square = np.zeros(2), np.zeros(2), np.ones(2)
    first, second = np.zeros(2), np.zeros(2)
    path = [w.copy()]
    for t in range(1, 61):
        g = w * curvature
        heavy = momentum * heavy + g[1]
        nesterov = momentum * nesterov + g[2]
        square = 0.9 * square + 0.1 * g[3] ** 2
        first, second = 0.9 * first + 0.1 * g[4], 0.999 * second + 0.001 * g[4] ** 2
        scale = rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        w = w - np.stack(
            [
                rate * g[0],
                rate * heavy,
                rate * (g[2] + momentum * nesterov),
                rate * g[3] / np.sqrt(square + 1e-10),
                scale * first / (np.sqrt(second) + 1e-8),
            ]
        )
        path.append(w.copy())
    return np.array(path)


def test_optimizer_paths_are_those_of_the_formulas() -> None:
    explorer = dataflow_widgets.OptimizerExplorer(rate=0.05, momentum=0.9, start=[-4.0, 1.0])
    expected = _optimizer_paths(0.05, 0.9, [-4.0, 1.0])
    np.testing.assert_allclose(explorer.paths, expected, rtol=2e-3, atol=2e-4)
    explorer.close()


def test_the_boundary_is_the_networks_output() -> None:
    explorer = dataflow_widgets.BoundaryExplorer(layers=2, units=3)
    for _ in range(5):
        explorer.step()
    variables = explorer.session.run(explorer.graph.get_collection("trainable_variables"))
    w1, b1, w2, b2, w3, b3 = (np.asarray(v, np.float64) for v in variables)
    hidden = np.tanh(np.tanh(explorer.grid @ w1 + b1) @ w2 + b2)
    expected = np.tanh((hidden @ w3 + b3) / 2).reshape(40, 40)
    np.testing.assert_allclose(explorer.boundary(), expected, atol=1e-5)
    explorer.close()


@pytest.mark.parametrize(("stride", "dilation", "padding"), [(1, 1, "VALID"), (2, 1, "SAME"), (1, 2, "SAME")])  # fmt: skip
def test_a_feature_map_cell_is_the_sum_of_window_times_kernel(
    stride: int, dilation: int, padding: str
) -> None:
    explorer = dataflow_widgets.ConvolutionExplorer(
        stride=stride, dilation=dilation, padding=padding, preset="sharpen", window=[4, 6]
    )
    panels = {panel.title.split(":")[0].split(",")[0]: panel for panel in explorer.frame()}
    row, column = explorer.cell()
    _, top, left, high, _ = panels["Image"].window
    padded = np.pad(panels["Image"].values[0], 8)
    rows = np.arange(0, high, dilation)
    patch = padded[np.ix_(top + 8 + rows, left + 8 + rows)]
    expected = (patch * np.array(explorer.values["kernel"])).sum()
    assert panels["Feature map"].values[0][row, column] == pytest.approx(expected, abs=1e-5)
    assert panels["Window x kernel"].values.sum() == pytest.approx(expected, abs=1e-5)
    explorer.close()


@pytest.mark.parametrize(("stride", "dilation", "depth"), [(1, 1, 3), (1, 2, 2), (2, 1, 2)])
def test_a_receptive_field_is_as_wide_as_the_formula(
    stride: int, dilation: int, depth: int
) -> None:
    explorer = dataflow_widgets.ConvolutionExplorer(
        stride=stride, dilation=dilation, depth=depth, size="64", unit=[0, 4, 4]
    )
    seen = explorer.measured()["seen"]
    side = 1 + sum(2 * dilation * stride**layer for layer in range(depth))
    rows = np.flatnonzero(seen.any(axis=1))
    assert rows[-1] - rows[0] + 1 == side == explorer.field()
    explorer.close()


def test_gradient_sizes_are_those_of_backpropagation() -> None:
    explorer = dataflow_widgets.GradientFlowExplorer(depth=4, activation="tanh")
    variables = explorer.session.run(explorer.graph.get_collection("trainable_variables"))
    weights = [np.asarray(v, np.float64) for v in variables[::2]]
    x = explorer._inputs.astype(np.float64)
    outputs = [x]
    for w in weights:
        outputs.append(np.tanh(outputs[-1] @ w))
    gradient = 2 * (outputs[-1] - np.sign(x)) / x.size
    sizes = []
    for w, output in zip(weights[::-1], outputs[:0:-1], strict=True):
        sizes.append(np.sqrt(np.mean(gradient**2)))
        gradient = (gradient * (1 - output**2)) @ w.T
    np.testing.assert_allclose(explorer.sizes, sizes[::-1], rtol=1e-4)
    explorer.close()


def test_attention_rows_sum_to_one_and_a_mask_hides_what_comes_later() -> None:
    explorer = dataflow_widgets.AttentionExplorer(masked=True, sharpness=5.0)
    weights = explorer.weights()
    np.testing.assert_allclose(weights.sum(axis=2), 1, rtol=1e-5)
    assert np.triu(weights, 1).max() == 0
    x = embed(explorer.tokens()).astype(np.float64)
    kinds = x[:, :6]
    scores = 5.0 * kinds @ kinds.T - 1e9 * np.triu(np.ones([len(x)] * 2), 1)
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weights[HEADS.index("words of its kind")], expected, atol=1e-5)
    explorer.close()


def test_work_of_products_and_convolutions() -> None:
    with tf.Graph().as_default():
        a, b = tf.zeros([8, 5]), tf.zeros([8, 3])
        product = tf.matmul(a, b, transpose_a=True).op
        image, filters = tf.zeros([2, 9, 9, 4]), tf.zeros([3, 3, 4, 6])
        convolution = tf.nn.conv2d(image, filters, [1, 1, 1, 1], "VALID").op
    assert work_of(product) == (2 * 5 * 8 * 3, 4 * (40 + 24 + 15))
    assert work_of(convolution)[0] == 2 * (2 * 7 * 7 * 6) * 3 * 3 * 4


def test_the_roof_is_the_lower_of_peak_and_bandwidth() -> None:
    explorer = dataflow_widgets.RooflineExplorer(peak=2.0, bandwidth=0.5)
    roof = explorer.roof()
    assert roof.peak == 2 * machine().peak and roof.bandwidth == machine().bandwidth / 2
    plot = explorer.frame()[0]
    x, y = plot.lines["roof"]
    np.testing.assert_allclose(y * 1e9, np.minimum(roof.peak, x * roof.bandwidth))
    assert {op.op_type for op in explorer.ops} >= {"MatMul", "Relu", "Softmax"}
    explorer.close()


def test_a_peak_that_was_measured_too_low_rises_to_the_quickest_op(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(roofline, "_measured", roofline.Machine(peak=1.0, bandwidth=8e9))
    explorer = dataflow_widgets.RooflineExplorer(batch=4)
    best = max(op.flops / op.seconds for op in explorer.ops)
    assert machine().peak == best and machine().bandwidth == 8e9
    explorer.close()


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_limit_of_stale_gradients_is_where_theory_puts_it(delay: int) -> None:
    limit = stable_rate(delay)
    assert limit == pytest.approx(2 * np.sin(np.pi / (2 * (2 * delay + 1))))
    ends = []
    for share in (0.9, 1.1):
        explorer = dataflow_widgets.StalenessExplorer(
            mode="asynchronous", workers=delay + 1, straggle=0.0, noise=0.0, rate=share * limit
        )
        late = explorer.simulation.staleness[-100:]
        assert (late == delay).all()
        ends.append(np.abs(explorer.path[-10:, -1]).max())  # the parameter of curvature 1
        explorer.close()
    assert ends[0] < 0.1 and ends[1] > 1


@pytest.mark.parametrize("schedule", ["GPipe", "1F1B"])
@pytest.mark.parametrize(("stages", "batches"), [(1, 4), (3, 5), (4, 8), (8, 2)])
def test_the_bubble_is_that_of_the_formula(schedule: str, stages: int, batches: int) -> None:
    explorer = dataflow_widgets.PipelineExplorer(
        schedule=schedule, stages=stages, batches=batches, backward=2.0
    )
    assert explorer.bubble() == pytest.approx((stages - 1) / (batches + stages - 1))
    assert explorer.difference < 1e-4
    for stage in range(stages):
        mine = sorted((start, end) for t, start, end in explorer.spans if t.stage == stage)
        assert len(mine) == 2 * batches
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(mine))
    kept = [min(batches, stages - s) if schedule == "1F1B" else batches for s in range(stages)]
    assert explorer.kept == kept
    explorer.close()


def test_one_forward_one_backward_alternates() -> None:
    last = orders("1F1B", 3, 4)[-1]
    assert last == [Task(2, kind, b) for b in range(4) for kind in (FORWARD, BACKWARD)]
