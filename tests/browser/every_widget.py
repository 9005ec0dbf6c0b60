"""A notebook with every widget in it: for Notebook 7, and for the pictures in lessons/widgets.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tests.browser.lab_page import LabPage


class Shown(NamedTuple):
    """A widget's cell, and a selector of what it draws last."""

    source: str
    drawn: str


SETUP = """import numpy as np
import dataflow as tf
from dataflow_widgets import (ClusterView, EmbeddingView, GraphView, RewritePlayer, Stepper, Timeline,
                              TrainingMonitor, predict)
rng = np.random.default_rng(0)
with tf.Graph().as_default() as five:
    x = tf.constant(2, name="x"); y = tf.constant(3, name="y")
    add_op = tf.add(x, y, name="add_op"); mul_op = tf.multiply(x, y, name="mul_op")
    useless = tf.multiply(x, add_op, name="useless")
    pow_op = tf.pow(add_op, mul_op, name="pow_op")
    five_session = tf.Session()
with tf.Graph().as_default() as layer:
    inputs = tf.placeholder(tf.float32, [None, 256], name="inputs")
    powers = tf.pow(tf.multiply(inputs, 1.0, name="once"), 2.0, name="powers")
    total = tf.reduce_sum(tf.square(tf.tanh(powers) * 2.0 + 1.0), name="total")
    layer_session = tf.Session()"""

WIDGETS = {
    "graph_view": Shown(
        "view = GraphView(five, height=420)\nview.highlight(pow_op)\nview",
        '.df-graph-view[data-drawn="6"] .df-node.df-pruned',
    ),
    "stepper": Shown(
        "Stepper(five_session, pow_op, height=420)",
        ".df-stepper[data-step] .df-node",
    ),
    "rewrite_player": Shown(
        "RewritePlayer(layer_session, total, {inputs: np.ones((512, 256))}, height=620)",
        ".df-rewrite-player .df-column:not([hidden]) .df-pane[data-attempt] .df-node",
    ),
    "timeline": Shown(
        """metadata = tf.RunMetadata()
layer_session.run(total, {inputs: np.ones((512, 256))},
                  options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
                  run_metadata=metadata)
Timeline(metadata)""",
        ".df-timeline[data-drawn] .df-bar",
    ),
    "training_monitor": Shown(
        """monitor = TrainingMonitor(title="Two learning rates")
with tf.Graph().as_default(), tf.Session() as session:
    w = tf.Variable(4.0, name="w")
    error = tf.subtract(w * 0.5, 1.0, name="error")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(error, name="loss"))
    session.run(w.initializer)
    for k, run in enumerate(["0.01", "0.1"]):
        monitor.start(run, steps=400)
        for step in range(1, 401):
            noise = rng.normal() * 0.03
            loss = 2.3 * np.exp(-step * (2 * k + 1) / 300) + 0.05 + abs(noise)
            monitor.log(step, loss=loss, accuracy=min(1 - loss / 3 + noise, 1.0), run=run)
            if step % 20 == 0:
                held = loss + 0.08 + 0.2 * k * (step / 400) ** 2
                monitor.log(step, val_loss=held, val_accuracy=1 - held / 3, run=run)
            if step % 40 == 0:
                weights = rng.normal(size=2000) * (0.05 + step / 800)
                monitor.log(step, {"weights/dense": weights}, run=run)
            if step % 100 == 0 and k:
                monitor.record(step, session, train, run=run)
        monitor.finish(run)
monitor""",
        ".df-training-monitor .df-ridge",
    ),
    "embedding_view": Shown(
        """words = ["king", "queen", "man", "woman", "prince", "princess", "boy", "girl"]
directions = rng.normal(size=(7, 24))
a, b, c = directions[3:6]
royal, female, young = (a - b) * 0.8, (c - (a + b) / 2) * 0.7, directions[0] * 0.5
known = [directions[6] * 1.2 + royal * (w in ("king", "queen", "prince", "princess"))
         + female * (w in ("queen", "woman", "princess", "girl"))
         + young * (w in ("prince", "princess", "boy", "girl"))
         + rng.normal(size=24) * 0.12 for w in words]
rest = [directions[3 + i % 3] * 1.5 + rng.normal(size=24) * 0.6 for i in range(90)]
groups = ["people"] * 8 + [["animals", "plants", "tools"][i % 3] for i in range(90)]
EmbeddingView(np.array(known + rest), words + [f"{g} {i}" for i, g in enumerate(groups[8:])],
              groups=groups, title="Words")""",
        ".df-embedding-view .df-scatter[data-drawn]",
    ),
    "cluster_view": Shown(
        "ClusterView(tf.cluster.simulate(4, 1, steps=20, record=True, transfer_seconds=0.06))",
        ".df-cluster-view[data-drawn] .df-cv-card",
    ),
    "predict": Shown(
        'predict.pruned(pow_op, session=five_session, name="lesson02.q1")',
        ".df-predict .df-node",
    ),
}


def cells() -> list[str]:
    """The notebook's cells: the setup, then one for each widget."""
    return [SETUP, *(shown.source for shown in WIDGETS.values())]


def pose(page: LabPage, widget: str) -> None:
    """What a learner would have done before the picture was taken."""
    output = page.page.locator(f".df-{widget.replace('_', '-')}")
    if widget == "stepper":
        for _ in range(4):
            output.get_by_role("button", name="One step forward").click()
    elif widget == "rewrite_player":
        output.get_by_role("button", name="x * 1 -> x").click()
        output.locator(".df-node.df-goes").wait_for()
        output.locator(".df-timed:not(:empty)").filter(has_not_text="Measuring").wait_for()
    elif widget == "timeline":
        output.get_by_role("button", name="Critical path", exact=True).click()
        output.locator(".df-bar").first.click(force=True)  # a narrow bar, beside another one
    elif widget == "embedding_view":
        output.get_by_role("button", name="Analogy").click()
        box = output.get_by_role("searchbox", name="search labels")
        for word in ("man", "woman", "king"):
            box.fill(word)
            box.press("Enter")
        output.locator(".df-scatter[data-parallelogram]").wait_for()
    elif widget == "predict":
        output.locator('.df-node:has(> title:text-is("mul_op"))').click()
        output.get_by_role("button", name="Check", exact=True).click()
        output.locator('xpath=self::*[@data-state="wrong"]').wait_for()
