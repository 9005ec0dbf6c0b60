"""Checks of lesson 19: ways to split work."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_number, expect_type, limited, wrong
from dataflow.course.variants import drawn

#: What a matrix product may be: tf.matmul, of many at once, or tf.einsum.
_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum")


@exercise(
    "A product of matrices is a sum over the inner axis. Half of a sum here, half of it there: how "
    "do they become one?",
    "Each worker's product has the full shape already, but only half of each sum. What makes "
    "one sum of two halves?",
    "tf.split(a, 2, axis=1) and tf.split(b, 2, axis=0); one product in each worker's tf.device; "
    "tf.add_n puts them together.",
)
def ex1(cluster: Any, split_inside: Callable[[Any, Any], Any]) -> str:
    """A matrix product whose inner axis is split over two workers."""
    rng = np.random.RandomState(4)
    left, right = rng.rand(3, 6).astype(np.float32), rng.rand(6, 5).astype(np.float32)
    with tf.Graph().as_default() as graph:
        product = split_inside(tf.constant(left), tf.constant(right))
        expect_type(
            isinstance(product, tf.Tensor),
            f"split_inside returned {type(product).__name__}, needed a tensor",
        )
        with tf.Session(cluster.target, graph=graph) as session:
            value = session.run(product)
        expect(
            value.shape == (3, 5),
            f"[3, 6] times [6, 5] is {list(value.shape)}, needed [3, 5]",
        )
        expect(np.allclose(value, left @ right, rtol=1e-4), "the values are not those of a @ b")
        products = [op for op in graph.get_operations() if op.type in _PRODUCTS]
        expect(products, "there is no matrix product in the graph: use tf.matmul, on each worker")
        homes = {op.device for op in products}
        for i in range(2):
            expect(
                any(f"/job:worker/task:{i}" in home for home in homes),
                f"no product is computed on worker {i}; they are on "
                f"{', '.join(sorted(h or 'no task in particular' for h in homes))}",
            )
        sizes = {op.inputs[0].shape.num_elements() for op in products}  # [3, 3] each
        expect(
            sizes == {9}, "a product is not of half of the inner axis: needed are two halves of 6"
        )
    return (
        "Right: each worker sums over its half, and the halves are added. Split this way, all of the "
        "result travels, from both; split by columns, half of it from each."
    )


@exercise(
    "Set the two counts equal: 2 * 4 * batch * hidden on one side. How many workers are on the other?",
    "Bytes by layer grow with the batch; bytes by data do not, but two workers each need all "
    "parameters. Solve for the batch.",
    "All parameters are num_inputs * hidden + hidden * num_classes, and they go to two workers; divide "
    "by hidden.",
)
def ex2(break_even: Callable[[int, int, int], float]) -> str:
    """The batch at which both ways move the same bytes between two workers and the rest."""
    for case in ((64, 32, 10), (784, 100, 10), (10, 5, 3), (1000, 1000, 2)):
        batch = break_even(*case)
        batch = expect_number("what break_even returned", batch)
        inputs, hidden, classes = case
        layer = 8 * batch * hidden
        data = 2 * 8.0 * (inputs * hidden + hidden * classes)
        expect(
            abs(layer - data) <= 8 * hidden,
            f"for {inputs} inputs, {hidden} hidden and {classes} classes you say {batch:g}; by layer "
            f"that is {layer:,.0f} bytes, by data {data:,.0f}",
        )
    return (
        "Right: twice the sum of inputs and classes, 148 for the digits. The size of the hidden layer "
        "drops out: twice as many neurons are twice the bytes for both."
    )


def _last(seconds: list[float], num_workers: int) -> float:
    free_at = [0.0] * num_workers
    for duration in seconds:
        heapq.heappush(free_at, heapq.heappop(free_at) + duration)
    return max(free_at)


@exercise(
    "Keep for each worker when it is free. Who takes the next training?",
    "Keep a list of when each worker is free, all 0 at first. Each training goes to the "
    "smallest of them.",
    "The worker that is free first takes it: min(free_at) + duration is its new time; the answer is "
    "the largest in the end.",
)
def ex3(finished_at: Callable[[list[float], int], float]) -> str:
    """When the last of a list of trainings is done."""
    cases: list[tuple[list[float], int]] = [
        ([3, 1, 1, 1], 2),
        ([2, 2, 2], 1),
        ([1, 1, 4], 2),
        ([5], 3),
        ([2, 3, 1, 2, 4, 1], 3),
        ([], 2),
    ]
    for seconds, num_workers in cases:
        with limited(20):
            last = finished_at(list(seconds), num_workers)
        got = expect_number("what finished_at returned", last)
        want = _last(seconds, num_workers)
        expect(
            abs(got - want) < 1e-6,
            f"{seconds} and num_workers = {num_workers}: you say {got:g}, the last is done at {want:g}",
        )
    return (
        "Right. [1, 1, 4] ends at 5, but [4, 1, 1] at 4: begin with the longest, if you know which "
        "that is."
    )


@exercise(
    "How many of the models have class 3 as their most probable one? Count for every class.",
    "A vote is a place: the argmax of a row. Count the votes of each class for each picture, "
    "and take the largest count.",
    "p.argmax(1) is one model's votes; np.eye(num_classes)[votes] turns them into rows that can be "
    "added; argmax takes the smallest of equals. (Turned round, the largest.)",
)
def ex4(majority: Callable[[list[Any]], Any]) -> str:
    """One vote for each model."""
    smallest = drawn("lesson19.ex4").which == "smallest"
    sure = np.array([[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]])
    torn = np.array([[0.4, 0.6, 0.0], [0.3, 0.4, 0.3]])
    also = np.array([[0.1, 0.5, 0.4], [0.6, 0.3, 0.1]])
    tied = [np.array([[0.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])]
    rng = np.random.RandomState(5)
    many = [rng.dirichlet(np.ones(10), size=40) for _ in range(7)]
    for answers in ([sure, torn, also], [sure], tied, many):
        got = majority(answers)
        expect(got is not None, "majority returned nothing")
        got = np.asarray(got)
        num_pictures, num_classes = answers[0].shape
        expect(
            got.shape == (num_pictures,),
            f"for {num_pictures} pictures it returned shape {got.shape}, needed ({num_pictures},)",
        )
        counts = sum(np.eye(num_classes, dtype=int)[p.argmax(1)] for p in answers)
        want = np.argmax(counts, axis=1)
        if not smallest:
            want = num_classes - 1 - np.argmax(np.asarray(counts)[:, ::-1], axis=1)
        for picture in np.flatnonzero(got != want):
            wrong(
                f"{len(answers)} models, picture {picture}: you say class {got[picture]}; the votes "
                f"for the classes are {np.asarray(counts)[picture].tolist()}"
            )
    return (
        "Right. One vote each forgets how sure a model was: in the first case two unsure models "
        "outvote a sure one, which the average would not have let them."
    )


@exercise(
    "How much would each task hold if layers could be cut anywhere?",
    "Walk along the layers and add up. When is it time for the next task?",
    "task = int(bytes before this layer / (sum(sizes) / num_tasks)), at most num_tasks - 1.",
)
def ex5(divide: Callable[[Any, int], Any]) -> str:
    """Any division in order whose largest part is bounded."""
    rng = np.random.default_rng(0)
    networks = [
        (2, 1, [2, 1]),
        (3, 2, [4, 1, 1]),
        (5, 3, [1, 1, 1, 1, 8]),
    ]  # these are told of first
    for _ in range(60):
        num_tasks, num_layers = int(rng.integers(1, 7)), int(rng.integers(1, 25))
        sizes = [int(n) for n in rng.integers(1, 1000, num_layers) ** int(rng.integers(1, 3))]
        networks.append((num_layers, num_tasks, sizes))
    for num_layers, num_tasks, sizes in sorted(networks):
        tasks = divide(list(sizes), num_tasks)
        tasks = tasks.tolist() if isinstance(tasks, np.ndarray) else tasks
        told = f"for {sizes} on {num_tasks} tasks it gives {tasks}"
        expect_type(
            isinstance(tasks, (list, tuple)) and len(tasks) == num_layers,
            f"{told}: a task for each layer",
        )
        expect_type(
            all(isinstance(t, Real) and t % 1 == 0 for t in tasks),
            f"{told}: tasks are whole numbers",
        )
        expect(all(0 <= t < num_tasks for t in tasks), f"{told}: tasks are 0 to {num_tasks - 1}")
        expect(all(a <= b for a, b in itertools.pairwise(tasks)), f"{told}: not in order")
        loads = [
            sum(s for s, t in zip(sizes, tasks, strict=True) if t == i) for i in range(num_tasks)
        ]
        limit = sum(sizes) / num_tasks + max(sizes)
        expect(
            max(loads) <= limit * (1 + 1e-9),
            f"{told}: the fullest holds {max(loads):,}, at most {limit:,.0f} is allowed",
        )
    return "Right: in order, and no task has more than its share and a layer."
