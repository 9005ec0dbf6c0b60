"""`PipelineExplorer`: a model cut into stages, micro-batches, and the bubble between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import ipywidgets
import numpy as np

import dataflow as tf
from dataflow_widgets.explorer.base import Explorer
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.panels import Bars, Lanes, Numbers, Panel

_WIDTH = 8
_EXAMPLES = 4  # of a micro-batch
FORWARD, BACKWARD = "forward", "backward"


class Task(NamedTuple):
    """One pass of one micro-batch through one stage."""

    stage: int
    kind: str
    batch: int


def orders(schedule: str, stages: int, batches: int) -> list[list[Task]]:
    """What each stage does, in order.

    GPipe (Huang et al., 2019): all forward passes, then all backward. 1F1B (PipeDream, Narayanan et
    al., 2019): after as many forward passes as there are stages behind it, one forward, one backward.
    """
    result = []
    for stage in range(stages):
        ahead = batches if schedule == "GPipe" else min(batches, stages - stage)
        forward = [Task(stage, FORWARD, b) for b in range(batches)]
        backward = [Task(stage, BACKWARD, b) for b in range(batches)]
        tasks = forward[:ahead]
        for b in range(batches):
            tasks.append(backward[b])
            tasks += forward[ahead + b : ahead + b + 1]
        result.append(tasks)
    return result


class PipelineExplorer(Explorer):
    """The schedule of a pipeline: stages, micro-batches, GPipe and 1F1B, and the bubble.

        PipelineExplorer(schedule="1F1B", stages=4, batches=8)

    The model is a graph of one `tf.tanh` layer for each stage, with a loss for each micro-batch;
    which pass needs which is read from that graph. Each stage does its passes in the order of the
    schedule, as soon as what they need is there; times are the sliders'. The gradient that the
    pipeline sums over its micro-batches equals that of the whole batch, which is computed and shown.

    Values: ``schedule`` ("GPipe", "1F1B"), ``stages`` (1 to 8), ``batches`` (1 to 16),
    ``backward`` (0.5 to 4, time of a backward pass; a forward one is 1), ``transfer`` (0 to 1, time
    from a stage to the next), ``slow`` (1 to 4, how many times slower the middle stage is).
    """

    heading = "Pipeline schedule"
    lead = "Raise the number of micro-batches: the empty time, in which a stage waits, shrinks."
    rebuilds = frozenset({"stages", "batches"})

    def make_controls(self) -> dict[str, Any]:
        return {
            "schedule": ipywidgets.ToggleButtons(
                options=["GPipe", "1F1B"], description="schedule"
            ),
            "stages": ipywidgets.IntSlider(4, min=1, max=8, description="stages"),
            "batches": ipywidgets.IntSlider(2, min=1, max=16, description="micro-batches"),
            "backward": ipywidgets.FloatSlider(
                2, min=0.5, max=4, step=0.1, description="backward / forward time"
            ),
            "transfer": ipywidgets.FloatSlider(
                0, min=0, max=1, step=0.05, description="time between stages"
            ),
            "slow": ipywidgets.FloatSlider(
                1, min=1, max=4, step=0.1, description="middle stage, times slower"
            ),
        }  # fmt: skip

    def build(self) -> None:
        if self.session is not None:
            self.session.close()
        stages, batches = self.values["stages"], self.values["batches"]
        rng = np.random.default_rng(0)
        inputs = rng.normal(size=[batches, _EXAMPLES, _WIDTH]).astype(np.float32)
        with tf.Graph().as_default() as self.graph:
            weights = []
            for stage in range(stages):
                with tf.variable_scope(f"stage{stage + 1}"):
                    start = tf.constant_initializer(rng.normal(size=[_WIDTH, _WIDTH]) / 3)
                    weights.append(tf.get_variable("w", [_WIDTH, _WIDTH], initializer=start))
            self._passes: dict[Task, Any] = {}  # the tensor that each forward pass makes
            total = [tf.zeros([_WIDTH, _WIDTH]) for _ in weights]
            for b in range(batches):
                x = tf.constant(inputs[b], name=f"micro_batch{b + 1}")
                for stage, w in enumerate(weights):
                    with tf.name_scope(f"stage{stage + 1}/forward{b + 1}/"):
                        x = tf.tanh(tf.matmul(x, w))
                    self._passes[Task(stage, FORWARD, b)] = x
                loss = tf.reduce_sum(tf.square(x))
                with tf.name_scope(f"backward{b + 1}"):
                    parts = tf.gradients(loss, weights)
                total = [a + g for a, g in zip(total, parts, strict=True)]
            whole = tf.constant(inputs.reshape(-1, _WIDTH), name="whole_batch")
            for w in weights:
                whole = tf.tanh(tf.matmul(whole, w))
            self._whole = tf.gradients(tf.reduce_sum(tf.square(whole)), weights)
            self._summed = total
            initialize = tf.global_variables_initializer()
        self.session = tf.Session(graph=self.graph)
        self.session.run(initialize)
        summed, whole_value = self.session.run([self._summed, self._whole])
        self.difference = max(
            float(np.abs(a - b).max()) for a, b in zip(summed, whole_value, strict=True)
        )
        self._needs = self._read_needs()

    def _read_needs(self) -> dict[Task, list[Task]]:
        """What each pass waits for: a forward one for those that it reads in the graph, a backward
        one for those that read its forward pass, backward, and for that pass itself."""
        made = {tensor.op: task for task, tensor in self._passes.items()}
        needs: dict[Task, list[Task]] = {}
        for task, tensor in self._passes.items():
            needs[task] = [made[i.op] for op in [tensor.op.inputs[0].op] for i in op.inputs
                           if i.op in made]  # fmt: skip
        for task in list(needs):
            back = Task(task.stage, BACKWARD, task.batch)
            needs.setdefault(back, []).append(task)
            for before in needs[task]:
                needs.setdefault(Task(before.stage, BACKWARD, before.batch), []).append(back)
        return needs

    def begin(self) -> None:
        self._arrange()

    def changed(self, names: set[str]) -> None:
        self._arrange()

    def _seconds(self, task: Task) -> float:
        seconds = 1.0 if task.kind == FORWARD else float(self.values["backward"])
        return seconds * (self.values["slow"] if task.stage == self.values["stages"] // 2 else 1.0)

    def _arrange(self) -> None:
        values = self.values
        queues = orders(values["schedule"], values["stages"], values["batches"])
        ends: dict[Task, float] = {}
        self.spans: list[tuple[Task, float, float]] = []
        at = [0] * len(queues)
        free = [0.0] * len(queues)
        while any(i < len(queue) for i, queue in zip(at, queues, strict=True)):
            for stage, queue in enumerate(queues):
                while at[stage] < len(queue):
                    task = queue[at[stage]]
                    if any(need not in ends for need in self._needs[task]):
                        break
                    ready = [
                        ends[n] + (values["transfer"] if n.stage != stage else 0.0)
                        for n in self._needs[task]
                    ]
                    start = max([free[stage], *ready])
                    ends[task] = free[stage] = start + self._seconds(task)
                    self.spans.append((task, start, ends[task]))
                    at[stage] += 1
        self.makespan = max(ends.values())
        self.kept = [_most_kept(queue) for queue in queues]

    def bubble(self) -> float:
        """The share of the stages' time in which they wait."""
        busy = sum(end - start for _, start, end in self.spans)
        return float(1 - busy / (self.makespan * self.values["stages"]))

    def formula(self) -> float:
        """(stages - 1) / (micro-batches + stages - 1): the bubble where all stages take the same
        time and transfers none."""
        stages, batches = self.values["stages"], self.values["batches"]
        return float((stages - 1) / (batches + stages - 1))

    def frame(self) -> list[Panel]:
        stages = [f"stage {i + 1}" for i in range(self.values["stages"])]
        spans = [(t.stage, start, end, str(t.batch + 1), int(t.kind == BACKWARD))
                 for t, start, end in self.spans]  # fmt: skip
        return [
            Lanes(
                title="Who works when",
                lanes=stages,
                spans=spans,
                group_names=[FORWARD, BACKWARD],
                x_label="time, in forward passes",
                x_range=(0.0, self.makespan),
                note="the number is that of the micro-batch",
                wide=True,
            ),
            Numbers(
                title="The bubble",
                values={
                    "waiting, of all time": f"{self.bubble():.1%}",
                    "by the formula": f"{self.formula():.1%}",
                    "time of a step": self.makespan,
                    "gradient, largest difference to the whole batch's": self.difference,
                },
            ),
            Bars(
                title="Outputs kept at once for the backward passes",
                values=np.array(self.kept),
                labels=stages,
                y_label="micro-batches",
                y_range=(0.0, float(max(4, *self.kept))),
            ),
        ]

    def sentence(self) -> str:
        v = self.values
        return (
            f"{v['schedule']} with {v['stages']} stages and {v['batches']} micro-batches takes "
            f"{self.makespan:.3g}, of which {self.bubble():.1%} is waiting; the first stage keeps "
            f"{self.kept[0]} outputs at once."
        )

    def one_step(self) -> tuple[Any, Any]:
        return self._summed, None

    def code(self) -> str:
        v = self.values
        return f"""import dataflow as tf

weights = [tf.Variable(tf.random_normal([{_WIDTH}, {_WIDTH}])) for _ in range({v["stages"]})]
total = [tf.zeros([{_WIDTH}, {_WIDTH}]) for _ in weights]
for x in tf.split(tf.random_normal([{v["batches"] * _EXAMPLES}, {_WIDTH}]), {v["batches"]}):  # micro-batches
    for stage, w in enumerate(weights):
        with tf.device(f"/job:worker/task:{{stage}}"):
            x = tf.tanh(tf.matmul(x, w))
    gradients = tf.gradients(tf.reduce_sum(tf.square(x)), weights)
    total = [a + g for a, g in zip(total, gradients)]
"""


def _most_kept(queue: Sequence[Task]) -> int:
    """How many forward outputs a stage keeps at once until their backward pass."""
    kept = most = 0
    for task in queue:
        kept += 1 if task.kind == FORWARD else -1
        most = max(most, kept)
    return most


def _small_bubble(explorer: Any) -> tuple[bool, str]:
    words = f"The bubble is {explorer.bubble():.1%} with {explorer.values['stages']} stages."
    return explorer.values["stages"] >= 4 and explorer.bubble() < 0.2, words


def _less_memory(explorer: Any) -> tuple[bool, str]:
    other = explorer.twin(schedule="GPipe")
    right = max(explorer.kept) * 2 <= max(other.kept) and explorer.makespan <= other.makespan + 1e-9
    words = (
        f"Kept at once: {max(explorer.kept)}, with GPipe {max(other.kept)}; "
        f"time {explorer.makespan:.3g}, with GPipe {other.makespan:.3g}."
    )
    other.close()
    return right, words


def _slowest_rules(explorer: Any) -> tuple[bool, str]:
    other = explorer.twin(slow=1.0)
    times = explorer.makespan / other.makespan
    other.close()
    words = f"With the middle stage {explorer.values['slow']:.3g} times slower a step takes {times:.3g} times as long."
    return times >= 2, words


PipelineExplorer.challenges = (
    Challenge("four stages or more that wait less than a fifth of the time?", _small_bubble),
    Challenge("a schedule that keeps half of GPipe's outputs and is no slower?", _less_memory),
    Challenge("one slow stage that makes the whole step take twice as long?", _slowest_rules),
)
