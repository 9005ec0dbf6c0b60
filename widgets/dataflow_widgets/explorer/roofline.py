"""`RooflineExplorer`: the ops of a recorded run under the roof of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import ipywidgets
import numpy as np

import dataflow as tf
from dataflow_widgets.explorer.base import Explorer
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.panels import Bars, Numbers, Panel, Plot

_RUNS = 5  # of which the quickest of each op counts
_PRODUCT = 768  # rows of the product that measures the peak
_COPIED = 4_000_000  # float32 of the addition that measures the bandwidth
_FREE = ("Identity", "Reshape", "Const", "Placeholder", "VariableV2", "NoOp", "ReadVariableOp")
_FEW_PER_ELEMENT = {"Softmax": 5, "Tanh": 10, "Sigmoid": 10, "Exp": 10}


class Machine(NamedTuple):
    """What was measured here: ``peak`` in flop/s, ``bandwidth`` in bytes/s."""

    peak: float
    bandwidth: float


class MeasuredOp(NamedTuple):
    """An op of the recorded run."""

    name: str
    op_type: str
    flops: float
    num_bytes: float
    seconds: float


_measured: Machine | None = None


def machine() -> Machine:
    """The peak of a 768 x 768 product and the bandwidth of adding two arrays of 16 MB, in a session
    of this engine: measured once for a process, the best of six."""
    global _measured
    if _measured is None:
        with tf.Graph().as_default() as graph:
            a = tf.placeholder(tf.float32, [_PRODUCT, _PRODUCT])
            b = tf.placeholder(tf.float32, [_COPIED])
            product, added = tf.matmul(a, a), tf.add(b, b)
        ones = np.ones([_PRODUCT, _PRODUCT], np.float32)
        long = np.ones([_COPIED], np.float32)
        with tf.Session(graph=graph) as session:
            peak = 2 * _PRODUCT**3 / _best(lambda: session.run(product, {a: ones}))
            bandwidth = 8 * _COPIED / _best(lambda: session.run(added, {b: long}))
        _measured = Machine(peak, bandwidth)
    return _measured


def _raise_peak(ops: list[MeasuredOp]) -> None:
    """An op that computed more in a second than the measured peak shows that the peak was measured too low:
    something else was busy then. (The bandwidth stays: what is faster than memory reads from a cache.)"""
    global _measured
    here = machine()
    best = max((op.flops / op.seconds for op in ops), default=0.0)
    if best > here.peak:
        _measured = here._replace(peak=best)


def _best(call: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def work_of(op: Any) -> tuple[float, float]:
    """Floating-point operations and bytes in and out of an op whose shapes are known.

    A product of [m, k] and [k, n] is 2 m k n, a convolution 2 for each output and weight that it
    meets; a reduction one for each input; everything else one for each output, or 5 to 10 for what
    needs an exponential.
    """
    sizes = [[int(d) for d in t.shape.as_list()] for t in op.inputs]
    outputs = [[int(d) for d in t.shape.as_list()] for t in op.outputs]
    num_bytes = 4.0 * sum(float(np.prod(s)) for s in [*sizes, *outputs])
    out = float(np.prod(outputs[0])) if outputs else 0.0
    if op.type in ("MatMul", "BatchMatMul", "BatchMatMulV2"):
        inner = sizes[0][-2] if op.get_attr(_transposes(op)) else sizes[0][-1]
        return 2 * out * inner, num_bytes
    if op.type == "Conv2D":
        height, width, channels, _ = sizes[1]
        return 2 * out * height * width * channels, num_bytes
    if op.type in ("Sum", "Mean", "Max", "MaxPool", "AvgPool"):
        return float(np.prod(sizes[0])), num_bytes
    return out * _FEW_PER_ELEMENT.get(op.type, 1), num_bytes


def _transposes(op: Any) -> str:
    return "transpose_a" if op.type == "MatMul" else "adj_x"


def _mlp(batch: int) -> Any:
    x = tf.random_normal([batch, 784], name="images")
    for units in (512, 512):
        x = tf.layers.dense(x, units, activation=tf.nn.relu)
    return tf.nn.softmax(tf.layers.dense(x, 10))


def _cnn(batch: int) -> Any:
    x = tf.random_normal([batch, 28, 28, 1], name="images")
    for filters in (16, 32):
        x = tf.layers.conv2d(x, filters, 3, activation=tf.nn.relu)
        x = tf.layers.max_pooling2d(x, 2, 2)
    return tf.nn.softmax(tf.layers.dense(tf.layers.flatten(x), 10))


def _elementwise(batch: int) -> Any:
    x = tf.random_normal([batch, 20_000], name="values")
    return tf.reduce_sum(tf.sqrt(tf.square(tf.tanh(x) * 2.0 + 1.0)), axis=1)


def _attention(batch: int) -> Any:
    x = tf.random_normal([batch, 64, 64], name="words")
    weights = tf.nn.softmax(tf.matmul(x, x, transpose_b=True) / 8.0)
    return tf.matmul(weights, x)


NETWORKS = {
    "dense layers": _mlp,
    "convolutions": _cnn,
    "element-wise": _elementwise,
    "attention": _attention,
}


class RooflineExplorer(Explorer):
    """Each op of a traced run as a point: how many flops for a byte, and how many a second.

        RooflineExplorer(network="convolutions", batch=64)

    Times come from a `RunMetadata` of a traced run, in which ops are not fused; flops and bytes from
    the shapes. The roof is measured on this machine (see `machine`); the sliders change it, and what
    they say is a model: an op takes at least the longer of flops / peak and bytes / bandwidth.

    Source: Williams, Waterman, Patterson, "Roofline", Communications of the ACM 52(4), 2009.

    Values: ``network`` ("dense layers", "convolutions", "element-wise", "attention"), ``batch`` (1
    to 128), ``peak`` and ``bandwidth`` (0.1 to 100 times this machine's).
    """

    heading = "Roofline"
    lead = (
        "Under the slope an op waits for memory, under the flat roof it computes. Raise the batch."
    )
    rebuilds = frozenset({"network", "batch"})

    def make_controls(self) -> dict[str, Any]:
        return {
            "network": ipywidgets.Dropdown(options=list(NETWORKS), description="network"),
            "batch": ipywidgets.IntSlider(32, min=1, max=128, description="batch size"),
            "peak": ipywidgets.FloatLogSlider(
                1, min=-1, max=2, description="peak, times this machine's"
            ),
            "bandwidth": ipywidgets.FloatLogSlider(
                1, min=-1, max=2, description="bandwidth, times this machine's"
            ),
        }

    def build(self) -> None:
        if self.session is not None:
            self.session.close()
        with tf.Graph().as_default() as self.graph:
            tf.set_random_seed(0)
            self._output = NETWORKS[self.values["network"]](self.values["batch"])
            initialize = tf.global_variables_initializer()
        self.session = tf.Session(graph=self.graph)
        self.session.run(initialize)
        self.ops = self._record_ops()

    def _record_ops(self) -> list[MeasuredOp]:
        quickest: dict[str, float] = {}
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        for _ in range(_RUNS):
            metadata = tf.RunMetadata()
            self.session.run(self._output, options=options, run_metadata=metadata)
            for device in metadata.step_stats.dev_stats:
                for node in device.node_stats:
                    seconds = max(node.all_end_rel_micros, 1) / 1e6
                    name = node.node_name
                    quickest[name] = min(seconds, quickest.get(name, seconds))
        ops = []
        for op in self.graph.get_operations():
            if op.name not in quickest or op.type in _FREE:
                continue
            if not all(t.shape.is_fully_defined() for t in [*op.inputs, *op.outputs]):
                continue
            flops, num_bytes = work_of(op)
            if flops >= 1000:  # less is the time of a call, not of work
                ops.append(MeasuredOp(op.name, op.type, flops, num_bytes, quickest[op.name]))
        _raise_peak(ops)
        return ops

    def roof(self) -> Machine:
        """The machine that the sliders say."""
        here = machine()
        return Machine(here.peak * self.values["peak"], here.bandwidth * self.values["bandwidth"])

    def least_seconds(self, op: MeasuredOp, roof: Machine) -> float:
        """The time that a machine with this roof needs at least."""
        return max(op.flops / roof.peak, op.num_bytes / roof.bandwidth)

    def bound(self, op: MeasuredOp, roof: Machine) -> str:
        """What an op waits for: ``"memory"`` or ``"arithmetic"``."""
        return "memory" if op.flops / op.num_bytes < roof.peak / roof.bandwidth else "arithmetic"

    def frame(self) -> list[Panel]:
        roof, here = self.roof(), machine()
        intensity = np.geomspace(1e-2, 1e3, 60)
        lines = {"roof": (intensity, np.minimum(roof.peak, intensity * roof.bandwidth) / 1e9)}
        if roof != here:
            measured = np.minimum(here.peak, intensity * here.bandwidth) / 1e9
            lines["this machine"] = (intensity, measured)
        kinds = list(dict.fromkeys(op.op_type for op in self.ops))
        dots, labels = {}, {}
        for kind in kinds:
            ops = [op for op in self.ops if op.op_type == kind]
            rate = np.array([op.flops / op.seconds / 1e9 for op in ops])
            dots[kind] = (np.array([op.flops / op.num_bytes for op in ops]), rate)
            labels[kind] = [kind if i == 0 else "" for i in range(len(ops))]
        slow = sorted(self.ops, key=lambda op: -op.seconds)[:6]
        return [
            Plot(
                title="Ops under the roof",
                lines=lines,
                dots=dots,
                labels=labels,
                rules={"ridge": roof.peak / roof.bandwidth},
                x_label="flops for a byte",
                y_label="Gflop/s",
                log_x=True,
                log_y=True,
                x_range=(1e-2, 1e3),
                y_range=(1e-2, max(1e3, roof.peak / 1e9 * 2)),
                note="An op above the slope has its data in a cache, which is faster than the memory.",
                wide=True,
            ),
            Bars(
                title="The slowest ops: measured, and the roof's least",
                values={
                    "measured": np.array([op.seconds * 1e6 for op in slow]),
                    "at least": np.array([self.least_seconds(op, roof) * 1e6 for op in slow]),
                },
                labels=[op.op_type for op in slow],
                y_label="microseconds",
                log_y=True,
            ),
            Numbers(
                title="The machine",
                values={
                    "peak, Gflop/s": roof.peak / 1e9,
                    "bandwidth, GB/s": roof.bandwidth / 1e9,
                    "all ops, measured, us": sum(op.seconds for op in self.ops) * 1e6,
                    "at least, us": sum(self.least_seconds(op, roof) for op in self.ops) * 1e6,
                },
            ),
        ]

    def sentence(self) -> str:
        roof = self.roof()
        waiting = [op for op in self.ops if self.bound(op, roof) == "memory"]
        return (
            f"{len(waiting)} of {len(self.ops)} ops are bound by memory; the ridge is at "
            f"{roof.peak / roof.bandwidth:.3g} flops for a byte ({roof.peak / 1e9:.3g} Gflop/s, "
            f"{roof.bandwidth / 1e9:.3g} GB/s)."
        )

    def one_step(self) -> tuple[Any, Any]:
        return self._output, None

    def code(self) -> str:
        return """import dataflow as tf

options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
metadata = tf.RunMetadata()
session.run(output, options=options, run_metadata=metadata)
for device in metadata.step_stats.dev_stats:
    for node in device.node_stats:
        op = session.graph.get_operation_by_name(node.node_name)
        print(op.type, node.all_end_rel_micros, [t.shape for t in [*op.inputs, *op.outputs]])
"""


def _product_bound_by_memory(explorer: Any) -> tuple[bool, str]:
    here = machine()
    products = [op for op in explorer.ops if "MatMul" in op.op_type]
    if not products:
        return False, "This network has no matrix product."
    low = min(op.flops / op.num_bytes for op in products)
    words = (
        f"The product of least intensity has {low:.3g} flops for a byte; this machine's ridge is at "
        f"{here.peak / here.bandwidth:.3g}."
    )
    return any(explorer.bound(op, here) == "memory" for op in products), words


def _peak_is_useless(explorer: Any) -> tuple[bool, str]:
    values = explorer.values
    if values["peak"] < 5 or values["bandwidth"] != 1:
        return False, "Raise the peak to 5 times or more, and leave the bandwidth at 1."
    before = sum(explorer.least_seconds(op, machine()) for op in explorer.ops)
    after = sum(explorer.least_seconds(op, explorer.roof()) for op in explorer.ops)
    words = f"At least {before * 1e6:.3g} us become {after * 1e6:.3g} us."
    return after > 0.8 * before, words


def _all_compute(explorer: Any) -> tuple[bool, str]:
    roof = explorer.roof()
    bound = [op.op_type for op in explorer.ops if explorer.bound(op, roof) == "memory"]
    return not bound, f"Bound by memory: {', '.join(dict.fromkeys(bound)) or 'none'}."


RooflineExplorer.challenges = (
    Challenge("a matrix product that is bound by this machine's memory?", _product_bound_by_memory),
    Challenge("a network that a peak five times as high hardly helps?", _peak_is_useless),
    Challenge("a machine on which no op of the network waits for memory?", _all_compute),
)
