"""A result is a function of graph, feeds and state: the same bits on every run, whatever is fetched
beside it, and with the rewrites on and off.

``DATAFLOW_GRAPHS=500 make test ARGS="tests/rewrites/test_same_bits.py"`` draws that many graphs of
each kind. Each runs `RUNS` times: it is rewritten before its third run, and in the few runs of the
everyday suite machine code takes over at a kernel's third call (in a session it is there after some
twenty, whenever it is compiled).
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.jit import compiler
from dataflow.kernels.jit.isa import host
from tests.rewrites.random_graphs import KINDS, RandomGraph, draw

NUM_GRAPHS = int(os.environ.get("DATAFLOW_GRAPHS", "4"))
#: One kind's graphs, where they are few, are others than those of an earlier version.
FIRST = int(os.environ.get("DATAFLOW_FIRST_GRAPH", "0"))
RUNS = 60 if NUM_GRAPHS > 4 else 5
CALLS_BEFORE_MACHINE_CODE = 2
OFF = tf.ConfigProto(
    graph_options=tf.GraphOptions(
        optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    )
)


def bits(value: Any) -> tuple[str, tuple[int, ...], bytes]:
    """What must be equal: dtype, shape and every bit, but that one NaN is as good as another."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.dtype.str, array.shape, array.tobytes()


def results(graph: RandomGraph, which: Sequence[int], config: Any = None) -> list[list[Any]]:
    """The bits of these fetches in each run of a new session, the variables trained meanwhile."""
    fetches = [graph.fetches[i] for i in which]
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        runs = []
        for _ in range(RUNS):
            values, _ = session.run([fetches, graph.trains], graph.feeds)
            runs.append([bits(v) for v in values])
    return runs


def compiled(lazy: compiler.JitEntry[Any]) -> Any:
    """The machine code, compiled now; ``None`` where it is that of another processor."""
    if lazy.function is None:
        with contextlib.suppress(ImportError):
            lazy.function = lazy.build()
    return lazy.function


@pytest.fixture(params=["machine code", "NumPy"])
def numpy_or_machine_code(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code that takes over in the middle of the runs, or none, as without llvmlite."""
    if request.param == "NumPy":
        monkeypatch.setattr(compiler.JitEntry, "get", lambda lazy: None)
        return
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    calls: Counter[compiler.JitEntry[Any]] = Counter()

    def get(lazy: compiler.JitEntry[Any]) -> Any:
        calls[lazy] += 1
        early = calls[lazy] <= CALLS_BEFORE_MACHINE_CODE and not lazy.is_at_once
        return None if early else compiled(lazy)

    monkeypatch.setattr(compiler.JitEntry, "get", get)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + NUM_GRAPHS))
def test_same_bits(numpy_or_machine_code: None, kind: str, seed: int) -> None:
    tf.set_random_seed(seed)
    graph = draw(kind, seed)
    everything = list(range(len(graph.fetches)))
    wanted = results(graph, everything, OFF)
    if not graph.trains:
        assert all(run == wanted[0] for run in wanted), "with rewrites off, runs differ"
    random = np.random.RandomState(seed)
    alone, some = [int(random.choice(everything))], sorted(random.permutation(everything)[:2])
    for which, config in ((everything, None), (alone, None), (alone, OFF), (some, None)):
        for run, (got, want) in enumerate(zip(results(graph, which, config), wanted, strict=True)):
            for i, value in zip(which, got, strict=True):
                assert value == want[i], (
                    f"{graph.fetches[i].name} of run {run + 1}, fetched with {which}, rewrites "
                    f"{'off' if config else 'on'}"
                )


#: Ops whose last digits depend on whether llvmlite is installed, on processors with vectors of our own machine code, and why.
#: Nothing else may be here; on other processors nothing is.
OTHERWISE_WITH_TILES = {
    **dict.fromkeys(
        ("MatMul", "BatchMatMul", "BatchMatMulV2", "BiasAddGrad"),
        "BLAS sums in an order of its own, and machine code takes its place",
    ),
    **dict.fromkeys(
        ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "AvgPool", "AvgPoolGrad"),
        "machine code adds a window up in an order of its own",
    ),
}


def _behind(tensor: Any) -> set[str]:
    """The types of all ops that a value comes from."""
    found, todo = set(), [tensor.op]
    while todo:
        op = todo.pop()
        if op not in found:
            found.add(op)
            todo.extend(t.op for t in op.inputs)
    return {op.type for op in found}


# What a training's variables become hangs on all sums before.
@pytest.mark.parametrize("kind", ["expression"] if host() else KINDS)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + NUM_GRAPHS))
def test_with_and_without_llvmlite(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    tf.set_random_seed(seed)
    graph = draw(kind, seed)
    which = list(range(len(graph.fetches)))
    if host():
        others = OTHERWISE_WITH_TILES.keys()
        which = [i for i in which if not _behind(graph.fetches[i]) & others]
    monkeypatch.setattr(compiler.JitEntry, "get", compiled)
    wanted = results(graph, which)
    monkeypatch.setattr(compiler.JitEntry, "get", lambda lazy: None)
    assert results(graph, which) == wanted


@pytest.mark.parametrize("rewrites", ["on", "off"])
def test_log_of_one_plus_exp(rewrites: str) -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.log(1.0 + tf.exp(x))
    (gradient,) = tf.gradients(y, x)
    feeds = {x: np.array([1000, -20, 0, 88.8, np.nan], np.float32)}
    with tf.Session(config=OFF if rewrites == "off" else None) as s:
        seen = [bits(s.run(y, feeds)) for _ in range(5)]
        seen += [bits(s.run([y, gradient], feeds)[0]) for _ in range(5)]
        assert s.run(y, feeds)[:2].tolist() == [np.inf, 0.0]
    assert len(set(seen)) == 1
