"""Checks of lesson 24: models larger than a machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.course.exercise import exercise, expect, expect_type
from dataflow.course.variants import drawn

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "a sine": np.sin,
    "a relu": lambda x: np.maximum(x, 0),
    "an arctangent": np.arctan,
}


@exercise(
    "How many turns does the whole step take, and how many of them does one worker work?",
    "The last stage begins after stages - 1 turns, and then works for micro_batches turns.",
    "(stages - 1) / (micro_batches + stages - 1).",
)
def ex1(bubble: Callable[[int, int], Any]) -> str:
    """The share of idle time in a pipeline."""
    for stages, pieces in ((4, 1), (1, 5), (4, 4), (8, 64), (2, 3)):
        # Counted: forward in a staircase, a row for each stage.
        busy = np.zeros([stages, stages + pieces - 1])
        for stage in range(stages):
            busy[stage, stage : stage + pieces] = 1
        needed = float(1 - busy.mean())
        got = bubble(stages, pieces)
        expect_type(
            isinstance(got, (int, float, np.number)),
            f"it returned {type(got).__name__}, needed a number",
        )
        expect(
            abs(got - needed) < 1e-9,
            f"bubble({stages}, {pieces}) is {got:.3f}; counted in the schedule it is {needed:.3f}",
        )
    return "Right: four stages need 28 micro-batches until the bubble is below a tenth."


@exercise(
    "Which columns of A and which rows of B belong to worker rank?",
    "np.split(A, num, axis=1) is a list of the workers' columns. The rows of B are those with the "
    "same numbers.",
    "With columns = np.split(A, num, axis=1)[rank]: the activation of x @ columns, and then "
    "@ np.split(B, num, axis=0)[rank].",
)
def ex2(my_part: Callable[[Any, Any, Any, int, int], Any]) -> str:
    """One worker's share of a pair of layers."""
    activation = _ACTIVATIONS[drawn("lesson24.ex2").name]
    rng = np.random.default_rng(10)
    for num in (1, 2, 4):
        x, A, B = rng.normal(size=(5, 6)), rng.normal(size=(6, 8)), rng.normal(size=(8, 3))
        needed = activation(x @ A) @ B
        parts = [my_part(x, A, B, rank, num) for rank in range(num)]
        for rank, part in enumerate(parts):
            expect_type(
                isinstance(part, np.ndarray), f"it returned {type(part).__name__}, needed an array"
            )
            expect(
                part.shape == needed.shape,
                f"the part of worker {rank} of {num} has shape {part.shape}, the result {needed.shape}",
            )
        off = float(np.abs(sum(parts) - needed).max())
        expect(off < 1e-9, f"the sum of {num} parts is off by up to {off:.3g}")
        used = np.abs(parts[0] - activation(x @ A[:, : 8 // num]) @ B[: 8 // num]).max()
        expect(
            used < 1e-9,
            f"the sum is right, but worker 0 of {num} did more than its share: it needs the first "
            f"{8 // num} columns of A and rows of B",
        )
    return "Right: one, two and four workers add up to the whole."


def _bytes_each(num_weights: float, stage: int, num: int) -> float:
    return sum(s * num_weights / (num if stage > i else 1) for i, s in enumerate((8, 4, 4)))


@exercise(
    "Which of the 16 bytes are divided at this stage, and which are on every worker?",
    "Stage 1 divides 8 bytes, stage 2 divides 12, stage 3 all 16. What is not divided has to fit by "
    "itself; the rest of the room has to hold a worker's share.",
    "room = gigabytes * 1e9 - whole; if room > 0 the answer is ceil(divided / room), at least 1.",
)
def ex3(workers_needed: Callable[[float, float, int], Any]) -> str:
    """The least number of workers."""
    for num_weights, gigabytes, stage in (
        (7e9, 80, 3),
        (7e9, 80, 1),
        (7e9, 80, 2),
        (7e9, 80, 0),
        (7e9, 24, 1),
        (1e9, 80, 0),
        (1e9, 80, 3),
        (175e9, 80, 3),
        (7e9, 28, 2),
    ):
        fits = [n for n in range(1, 200) if _bytes_each(num_weights, stage, n) <= gigabytes * 1e9]
        needed = fits[0] if fits else None
        got = workers_needed(num_weights, gigabytes, stage)
        call = f"workers_needed({num_weights:.3g}, {gigabytes}, {stage})"
        expect_type(
            got is None or isinstance(got, (int, np.integer)),
            f"{call} is {got!r}, needed a whole number or None",
        )
        why = (
            f"with {needed} each holds {_bytes_each(num_weights, stage, needed) / 1e9:.1f} GB"
            if needed
            else "what is not divided does not fit"
        )
        expect(got == needed, f"{call} is {got}, needed {needed}: {why}")
    return "Right: 175 billion weights take 35 processors of 80 GB, before any activation."


def _memory(sizes: Sequence[float], kept: Sequence[int]) -> float:
    """What a plan needs: the kept results, and the largest run between them."""
    runs, run = [0.0], 0.0
    for i, size in enumerate(sizes):
        run = 0.0 if i in kept else run + size
        runs.append(run)
    return float(sum(sizes[i] for i in kept) + max(runs))


def _least(sizes: Sequence[int]) -> float:
    """The memory of the best plan: for each limit of a run, the cheapest results to keep."""
    least = float(sum(sizes))
    for limit in sorted(
        {sum(sizes[a:b]) for a in range(len(sizes)) for b in range(a, len(sizes) + 1)}
    ):
        if limit >= least:
            break
        cost = [0.0]  # where the last one kept is i - 1
        for i in range(len(sizes) + 1):
            run, options = 0, []
            for j in range(i, -1, -1):
                if run > limit:
                    break
                options.append(cost[j])
                run += sizes[j - 1] if j else 0
            cost.append(min(options) + (sizes[i] if i < len(sizes) else 0))
        least = min(least, cost[-1] + limit)
    return least


@exercise(
    "Count for a plan of your own first: the kept results, plus the largest run between two of them.",
    "Cheap layers are good places to cut. Fix a limit for the runs: walk along, and keep a layer "
    "before the run gets longer than the limit. Then try many limits.",
    "For a limit, dynamic programming finds the cheapest kept layers: best[i] is the least cost with "
    "layer i kept, over all j before it whose run to i is within the limit. Take the first limit "
    "with cost + limit <= budget.",
)
def ex4(cuts: Callable[[Any, float], Any]) -> str:
    """A plan of checkpoints within a budget."""
    rng = np.random.default_rng(11)
    networks = [[1] * 16, [5, 1, 5, 1, 5, 1, 5], [9] * 12 + [1] * 12]
    networks += [[int(n) for n in rng.integers(1, 30, size=size)] for size in (10, 25, 40)]
    saved = []
    for sizes in networks:
        budget = 1.1 * _least(sizes)
        made = cuts(list(sizes), budget)
        told = f"{len(sizes)} layers of sizes {str(sizes[:8])[1:-1]}{', ...' if len(sizes) > 8 else ''}"
        expect_type(
            isinstance(made, (list, tuple))
            and all(isinstance(i, (int, np.integer)) and 0 <= i < len(sizes) for i in made),
            f"for {told} it returned {made!r}, needed a list of the numbers of layers",
        )
        expect(
            list(made) == sorted(set(made)), f"for {told}: the numbers are not in ascending order"
        )
        memory = _memory(sizes, made)
        expect(
            memory <= budget,
            f"{told}: your plan keeps {len(made)} and needs {memory:g}, the budget is {budget:.1f} "
            f"(all kept: {sum(sizes)})",
        )
        saved.append(memory / sum(sizes))
    return f"Right: within the budget for {len(networks)} networks, down to {min(saved):.0%} of all results."
