"""What is free goes back to the system when a plan dies, and a dropped graph leaves nothing behind."""

from __future__ import annotations

import gc
import pathlib
import subprocess
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import malloc_tuning


@pytest.fixture
def given_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Grows by one whenever memory is given back; cycles are collected only where a test says so."""
    calls: list[int] = []
    monkeypatch.setattr(malloc_tuning, "give_back_freed_memory", lambda: calls.append(1))
    gc.collect()
    calls.clear()
    gc.disable()
    yield calls
    gc.enable()


def train(num_steps: int) -> tuple[Any, Any]:
    """A small network, trained with Adam: its session and graph."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3])
        hidden = tf.layers.dense(x, 4, tf.nn.relu)
        loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1)))
        step = tf.train.AdamOptimizer().minimize(loss)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        for _ in range(num_steps):
            session.run([step, loss], {x: np.ones((2, 3), np.float32)})
    return session, graph


@pytest.mark.parametrize("close", [False, True])
def test_a_dropped_graph_leaves_nothing(given_back: list[int], close: bool) -> None:
    session, graph = train(5)
    plans = list(session._plans.values())
    assert any(plan.journal for plan in plans)  # rewritten
    alive = [weakref.ref(one) for one in (session, graph, *plans, *graph.get_operations())]
    del plans
    if close:
        session.close()
    assert not given_back
    del session, graph
    gc.collect()
    assert not any(ref() for ref in alive)
    assert given_back == [1]
    gc.collect()
    assert given_back == [1]


def test_a_graph_that_ran_once_gives_nothing_back(given_back: list[int]) -> None:
    train(1)
    gc.collect()
    assert not given_back


def test_what_compiling_a_large_plan_took_goes_back(given_back: list[int]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        session.run(tf.tanh(x), {x: 1.0})
        assert not given_back
        y = x
        for _ in range(malloc_tuning._MANY_LINES):
            y = tf.tanh(y)
        session.run(y, {x: 1.0})
        assert given_back == [1]


_HEAP = """
import pathlib, re
from dataflow.kernels import malloc_tuning

def heap():
    text = pathlib.Path("/proc/self/smaps").read_text()
    parts = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", text)
    mine = [p for p in parts if "[heap]" in p.partition("\\n")[0] and "VmFlags" in p]
    asked = [p for p in mine if " hg" in p.rpartition("VmFlags")[2]]
    number = lambda name, found: sum(int(re.search(rf"{name}: +([0-9]+)", p)[1]) for p in found)
    return number("Size", asked), number("Rss", mine)

before = heap()
malloc_tuning.keep_freed_memory()
after = heap()
malloc_tuning.keep_freed_memory()
again = heap()
malloc_tuning.give_back_freed_memory()
print(*before, *after, *again, *heap())
"""


@pytest.mark.skipif(malloc_tuning._glibc("mallopt") is None, reason="another C library")
@pytest.mark.skipif(
    not pathlib.Path("/sys/kernel/mm/transparent_hugepage").is_dir(), reason="no huge pages"
)
def test_the_heap_grows_by_huge_pages_and_takes_no_memory_for_it() -> None:
    """The sizes in KB that ask for huge pages, and of memory: before, after, once more, and given back."""
    ran = subprocess.run(
        [sys.executable, "-c", _HEAP], capture_output=True, text=True, check=True, timeout=120
    )
    numbers = [int(x) for x in ran.stdout.split()]
    (none, memory), (reached, taken), again, (left, kept) = zip(
        numbers[::2], numbers[1::2], strict=True
    )
    assert none == 0
    assert reached > 100_000
    assert again[0] == reached
    assert abs(taken - memory) < 4096
    assert left < 4096
    assert kept <= taken


_SOAK = """
import gc, pathlib, threading
import numpy as np
import dataflow as tf
from dataflow.kernels.jit import compiler

compiler.JitEntry.get = lambda entry: None  # LLVM takes memory of its own, at any time

def held():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20

def train(seed, held_then):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 256])
        y = x
        for _ in range(5):
            y = tf.layers.dense(y, 256, tf.nn.relu)
        step = tf.train.AdamOptimizer().minimize(tf.reduce_mean(tf.square(y - x)))
        session.run(tf.global_variables_initializer())
        values = np.random.default_rng(seed).normal(size=(8192, 256)).astype(np.float32)
        for _ in range(4):
            session.run(step, {x: values})
        held_then.append(held())

def rounds(count):
    while_it_ran = []
    for seed in range(count):
        thread = threading.Thread(target=train, args=(seed, while_it_ran))
        thread.start()
        thread.join()
        gc.collect()
    return held(), max(while_it_ran)

first, _ = rounds(1)
last, most = rounds(3)
print(first, last, most)
"""


@pytest.mark.threads
@pytest.mark.skipif(malloc_tuning._glibc("malloc_trim") is None, reason="another C library")
def test_graphs_that_were_trained_and_dropped_leave_no_memory_behind() -> None:
    """Also where a thread trained them, from a heap of its own: what a long-lived kernel does."""
    ran = subprocess.run(
        [sys.executable, "-c", _SOAK], capture_output=True, text=True, check=True, timeout=300
    )
    first, last, most = (int(megabytes) for megabytes in ran.stdout.split())
    assert last < most - 15  # what they took while they ran
    assert last < first + 15
